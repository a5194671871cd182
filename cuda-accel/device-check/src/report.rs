//! What was found so far: printed at once, and saved as JSON after each part, so that a run that is stopped keeps it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use damacy_cuda::Result;
use serde_json::{Value, json};

/// The report of a run.
#[derive(Debug)]
pub struct Report {
    /// The results.
    pub json: Value,
    failures: Vec<String>,
    incomplete: Vec<String>,
    started: Instant,
    path: Option<PathBuf>,
}

impl Report {
    /// An empty one, to be saved at `path`.
    pub fn new(path: Option<PathBuf>) -> Report {
        let (json, started) = (json!({}), Instant::now());
        Report { json, failures: Vec::new(), incomplete: Vec::new(), started, path }
    }

    /// Runs a part, which is to end by the time that it is given, and saves what it has found. Its error is a failure; the
    /// next part is worth running unless the context is lost.
    ///
    /// # Errors
    /// An error after which every call fails.
    pub fn part(
        &mut self,
        name: &str,
        limit: Duration,
        run: impl FnOnce(&mut Report, Instant) -> Result<()>,
    ) -> Result<()> {
        println!("\n{:6.1} s  {name}", self.seconds());
        let start = Instant::now();
        let done = run(self, start + limit);
        self.json["part_seconds"][name] = json!(start.elapsed().as_secs_f64());
        if let Err(error) = &done {
            self.fail(&format!("{name}: {error}"));
        }
        self.save();
        match done {
            Err(error) if error.is_sticky() => Err(error),
            _ => Ok(()),
        }
    }

    /// Prints and keeps a check's outcome: how many elements were compared, and what was wrong.
    pub fn check(&mut self, name: &str, (compared, wrong): (u64, Vec<String>)) {
        let verdict = if wrong.is_empty() { "ok" } else { "WRONG" };
        println!("         {name}: {compared} elements, {verdict}");
        for text in wrong.iter().take(20) {
            println!("          {text}");
        }
        self.json["checks"][name] = json!({ "elements": compared, "wrong": wrong });
        self.failures.extend(wrong.first().map(|text| format!("{name}: {text}")));
    }

    /// A part that its time was too short for.
    pub fn count(&mut self, name: &str, done: usize, of: usize) {
        if done < of {
            println!("         stopped in time: {done} of {of} {name}");
            self.incomplete.push(format!("{done} of {of} {name}"));
        }
    }

    /// Something is wrong.
    pub fn fail(&mut self, text: &str) {
        println!("         WRONG: {text}");
        self.failures.push(text.to_owned());
    }

    /// Writes the JSON as it is so far. False if that fails.
    pub fn save(&mut self) -> bool {
        self.json["failures"] = json!(self.failures);
        self.json["incomplete"] = json!(self.incomplete);
        let Some(path) = &self.path else { return true };
        let written = std::fs::write(path, format!("{:#}\n", self.json));
        if let Err(error) = &written {
            println!("{}: {error}", path.display());
        }
        written.is_ok()
    }

    /// Says how it went. True if nothing was wrong.
    pub fn finish(&mut self) -> bool {
        let seconds = self.seconds();
        self.json["seconds"] = json!(seconds);
        println!("\n{seconds:6.1} s  {}", if self.failures.is_empty() { "all checks passed" } else { "FAILED" });
        for text in self.failures.iter().chain(&self.incomplete) {
            println!("          {text}");
        }
        self.failures.is_empty()
    }

    fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }
}
