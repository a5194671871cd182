//! A peer's process: requests as lines of JSON to its standard input, one line of JSON back for each.
//!
//! It is ended when it is dropped. What it says on standard error is told if it ends by itself.

use super::{Beside, Equality, PeerResult, PeerRound, Tried};
use crate::dataset::Dataset;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::progress::Progress;
use crate::results::Round;
use crate::run::Runner;
use crate::scenario::Scenario;
use crate::summary::Spread;
use damacy::{Error, Status};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// The peers that there are.
const NAMES: [&str; 3] = ["tensorstore", "zarr", "zarrs"];
/// What a peer's process runs.
const MODULE: &str = "damacy.bench.peer";
/// Passes of each setting in the search, after one to warm up.
const SEARCH_REPEATS: u64 = 3;
/// Bytes of standard error that are told.
const MOST_TOLD: u64 = 2000;

/// Peers to start, and the Python to do it with.
pub struct Python {
    names: Vec<String>,
    program: PathBuf,
}

impl Python {
    /// Checks the names; without a program it is the active virtual environment's, or `python3`.
    ///
    /// # Errors
    /// `Inval` for an unknown name, and for a Python that has no damacy.
    pub fn new(names: &[String], program: Option<&Path>) -> Result<Python> {
        let mut wanted: Vec<String> = Vec::new();
        for name in names {
            if !NAMES.contains(&name.as_str()) {
                return Err(Failure::inval(format!("{name:?} is no peer; accepted are {}", NAMES.join(", "))));
            }
            if !wanted.contains(name) {
                wanted.push(name.clone());
            }
        }
        let active = std::env::var_os("VIRTUAL_ENV").map(|folder| PathBuf::from(folder).join("bin/python"));
        let program = program.map(Path::to_owned).or(active).unwrap_or_else(|| "python3".into());
        if !wanted.is_empty() {
            can_import(&program)?;
        }
        Ok(Python { names: wanted, program })
    }

    /// Starts all peers for one scenario: each searches its best setting, and its batches are compared with ours.
    ///
    /// # Errors
    /// A Python that does not start, a process that ends by itself; an interruption.
    pub fn start(
        &self,
        scenario: &Scenario,
        dataset: &Dataset,
        runner: &Runner<'_>,
        progress: &Progress,
    ) -> Result<Vec<Box<dyn Beside>>> {
        let one = |name: &String| {
            if scenario.store.is_some() {
                let reason = "the scenario models a slow store, which peers do not read through";
                return Ok(Box::new(Absent { name: name.clone(), reason: reason.to_owned() }) as Box<dyn Beside>);
            }
            self.peer(name, scenario, dataset, runner, progress)
        };
        self.names.iter().map(one).collect()
    }

    fn peer(
        &self,
        name: &str,
        scenario: &Scenario,
        dataset: &Dataset,
        runner: &Runner<'_>,
        progress: &Progress,
    ) -> Result<Box<dyn Beside>> {
        let mut process = Process::start(&self.program, name)?;
        let samples: Vec<Value> = runner
            .samples()
            .iter()
            .map(|sample| {
                let array = dataset.uris.iter().position(|uri| *uri == sample.uri);
                json!([array, sample.bounds.iter().map(|(start, _)| start).collect::<Vec<_>>()])
            })
            .collect();
        let sources: Vec<&str> =
            dataset.arrays.iter().map(|array| array.source.map_or("", |source| source.full_name())).collect();
        let uris: Vec<&str> = dataset.uris.iter().map(|uri| &**uri).collect();
        let started = process.ask(&json!({
            "do": "start", "peer": name, "arrays": uris, "sources": sources, "crop": scenario.sampling.crop,
            "batch": scenario.sampling.samples, "samples": samples, "dtype": scenario.pipeline.dtype,
            "memory_bytes": scenario.pipeline.memory.0, "threads": runner.threads(), "repeats": SEARCH_REPEATS,
            "hold_s": scenario.consumer.hold, "touch": scenario.consumer.touch,
        }))?;
        if let Some(reason) = started["unavailable"].as_str() {
            return Ok(Box::new(Absent { name: name.to_owned(), reason: reason.to_owned() }));
        }
        progress.step(|| format!("{}: comparing batches with {name}'s", scenario.name));
        let bytes = runner.output_bytes();
        process.send(&json!({"do": "compare", "bytes": bytes}))?;
        runner.pass(&mut |batch| process.write(batch.bytes()))?;
        let equality: Equality = process.answer_as()?;
        progress.say(&format!("{}: searching the best setting of {name}", scenario.name));
        let mut found = process.ask(&json!({"do": "search"}))?;
        let setting = found["setting"].as_object().cloned().unwrap_or_default();
        let search: Vec<Tried> = process.parse(found["search"].take())?;
        let result = PeerResult {
            name: name.to_owned(),
            version: started["version"].as_str().map(str::to_owned),
            setting,
            search,
            equality: Some(equality),
            ..PeerResult::default()
        };
        Ok(Box::new(Running { process, samples: runner.samples().len(), last: None, before: 0.0, result }))
    }
}

/// Refuses a Python that cannot run peers, before any data is generated.
fn can_import(program: &Path) -> Result<()> {
    let tried = Command::new(program).args(["-c", &format!("import {MODULE}")]).stdin(Stdio::null()).output();
    let tried =
        tried.map_err(|error| Failure::file(program, "cannot be started; name a Python with --python", error))?;
    if tried.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&tried.stderr);
    let last = said.trim().rsplit('\n').next().unwrap_or_default();
    Err(Failure::inval(format!(
        "{} cannot import {MODULE} ({last}); accepted is a Python with damacy, named with --python",
        program.display()
    )))
}

/// A peer that cannot run.
struct Absent {
    name: String,
    reason: String,
}

impl Beside for Absent {
    fn before(&mut self) -> Result<()> {
        Ok(())
    }

    fn after(&mut self) -> Result<()> {
        Ok(())
    }

    fn result(&mut self, _: &[Round], _: u64) -> PeerResult {
        PeerResult { name: self.name.clone(), unavailable: Some(self.reason.clone()), ..PeerResult::default() }
    }
}

/// A peer at work.
struct Running {
    process: Process,
    samples: usize,
    /// The pass after our last one, which is the one before the next.
    last: Option<f64>,
    before: f64,
    result: PeerResult,
}

impl Running {
    fn pass(&mut self) -> Result<f64> {
        let answer = self.process.ask(&json!({"do": "pass"}))?;
        let seconds = answer["pass_s"].as_f64().filter(|seconds| *seconds > 0.0);
        seconds.ok_or_else(|| self.process.strange(&answer))
    }
}

impl Beside for Running {
    fn before(&mut self) -> Result<()> {
        self.before = match self.last.take() {
            Some(seconds) => seconds,
            None => self.pass()?,
        };
        Ok(())
    }

    fn after(&mut self) -> Result<()> {
        let after_s = self.pass()?;
        self.last = Some(after_s);
        self.result.rounds.push(PeerRound { before_s: self.before, after_s });
        Ok(())
    }

    fn result(&mut self, ours: &[Round], threads: u64) -> PeerResult {
        let mut result = std::mem::take(&mut self.result);
        let passes: Vec<f64> = result.rounds.iter().map(|round| (round.before_s + round.after_s) / 2.0).collect();
        let rates: Vec<f64> = passes.iter().map(|seconds| self.samples as f64 / seconds).collect();
        let ratios: Vec<f64> = passes.iter().zip(ours).map(|(theirs, ours)| theirs / ours.pass_s).collect();
        result.samples_per_s = Spread::of(&rates);
        result.ratio = Spread::of(&ratios);
        result.lead_from_decodes_avoided = lead_from_decodes_avoided(&passes, ours, threads);
        result
    }
}

/// The part of our lead that decodes avoided explain; `None` where there is no lead.
fn lead_from_decodes_avoided(theirs: &[f64], ours: &[Round], threads: u64) -> Option<f64> {
    let median =
        |of: &dyn Fn(&Round) -> f64| Spread::of(&ours.iter().map(of).collect::<Vec<f64>>()).map(|spread| spread.median);
    let lead = Spread::of(theirs)?.median - median(&|round| round.pass_s)?;
    let saved = median(&|round| {
        let each = round.stages.decode.busy_s / round.chunks_decoded.max(1) as f64;
        round.decodes_avoided as f64 * each / threads as f64
    })?;
    (lead > 0.0).then(|| (saved / lead).min(1.0))
}

/// A process and its pipes.
struct Process {
    name: String,
    child: Child,
    input: ChildStdin,
    answers: Receiver<String>,
    errors: File,
}

impl Process {
    fn start(program: &Path, name: &str) -> Result<Process> {
        let errors =
            tempfile::tempfile().map_err(|error| Failure::file(&std::env::temp_dir(), "cannot be written", error))?;
        let copy = errors.try_clone().map_err(|error| Failure::file(program, "cannot be started", error))?;
        let mut child = Command::new(program)
            .args(["-m", MODULE])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(copy)
            .spawn()
            .map_err(|error| Failure::file(program, "cannot be started; name a Python with --python", error))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::internal("a child process without pipes"));
        };
        let (send, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(std::result::Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Process { name: name.to_owned(), child, input, answers, errors })
    }

    fn ask(&mut self, request: &Value) -> Result<Value> {
        self.send(request)?;
        self.answer()
    }

    fn send(&mut self, request: &Value) -> Result<()> {
        self.write(format!("{request}\n").as_bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.input.write_all(bytes).and_then(|()| self.input.flush());
        written.map_err(|_| self.ended())
    }

    fn answer(&mut self) -> Result<Value> {
        loop {
            match self.answers.recv_timeout(Duration::from_millis(50)) {
                Ok(line) => {
                    interrupt::check()?;
                    let answer: Value = serde_json::from_str(&line).map_err(|_| self.strange(&line.into()))?;
                    return match answer["error"].as_str() {
                        Some(error) => Err(self.failed(error)),
                        None => Ok(answer),
                    };
                }
                Err(RecvTimeoutError::Timeout) => interrupt::check()?,
                Err(RecvTimeoutError::Disconnected) => {
                    interrupt::check()?;
                    return Err(self.ended());
                }
            }
        }
    }

    fn answer_as<T: serde::de::DeserializeOwned>(&mut self) -> Result<T> {
        let answer = self.answer()?;
        self.parse(answer)
    }

    fn parse<T: serde::de::DeserializeOwned>(&self, answer: Value) -> Result<T> {
        serde_json::from_value(answer.clone()).map_err(|_| self.strange(&answer))
    }

    fn strange(&self, answer: &Value) -> Failure {
        let shown: String = answer.to_string().chars().take(200).collect();
        Failure::internal(format!("the peer {} answered {shown}", self.name))
    }

    fn failed(&self, why: &str) -> Failure {
        Failure::Error(Error::new(Status::Io, "bench", format!("the peer {}: {why}", self.name)))
    }

    /// With the end of what it said on standard error.
    fn ended(&mut self) -> Failure {
        let mut said = String::new();
        let len = self.errors.seek(std::io::SeekFrom::End(0)).unwrap_or(0);
        let _ = self.errors.seek(std::io::SeekFrom::Start(len.saturating_sub(MOST_TOLD)));
        let _ = self.errors.read_to_string(&mut said);
        let last = said.trim().rsplit('\n').next().unwrap_or_default();
        self.failed(&format!("its process has ended: {last}"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
