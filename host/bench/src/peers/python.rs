//! The peers of a command: names and a Python -> processes that are ready to run beside a scenario.

use super::process::{MODULE, Process};
use super::running::Running;
use super::search::search;
use super::stop::{self, Stop};
use super::{Beside, Equality, PeerResult, Turn};
use crate::dataset::Dataset;
use crate::failure::{Failure, Result};
use crate::progress::Progress;
use crate::results::Round;
use crate::run::Runner;
use crate::scenario::{Executor, Scenario};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The peers that there are.
const NAMES: [&str; 3] = ["tensorstore", "zarr", "zarrs"];

/// Peers to start, and the Python to do it with.
pub struct Python {
    names: Vec<String>,
    program: PathBuf,
    search: Duration,
}

impl Python {
    /// Checks the names; without a program it is the active virtual environment's, or `python3`. The search of each peer's
    /// best setting takes about `search`.
    ///
    /// # Errors
    /// `Inval` for an unknown name, and for a Python that has no damacy.
    pub fn new(names: &[String], program: Option<&Path>, search: Duration) -> Result<Python> {
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
        Ok(Python { names: wanted, program, search })
    }

    /// Says, before anything runs, beside which scenarios no peer will.
    pub fn announce(&self, scenarios: &[Scenario], progress: &Progress) {
        for scenario in scenarios.iter().filter(|_| !self.names.is_empty()) {
            if let Some(reason) = alone(scenario) {
                progress.say(&format!("note: {} will run without {}: {reason}", scenario.name, self.names.join(", ")));
            }
        }
    }

    /// Starts all peers for one scenario: each searches its best setting, and its batches are compared with ours. One that
    /// fails is absent.
    ///
    /// # Errors
    /// A Python that does not start; our own pipeline's; an interruption.
    pub fn start(
        &self,
        scenario: &Scenario,
        dataset: &Dataset,
        runner: &Runner<'_>,
        progress: &Progress,
    ) -> Result<Vec<Box<dyn Beside>>> {
        let one = |name: &String| match alone(scenario) {
            Some(reason) => Ok(Box::new(Absent { name: name.clone(), reason: reason.to_owned() }) as Box<dyn Beside>),
            None => self.peer(name, scenario, dataset, runner, progress).or_else(|stop| match stop {
                Stop::Peer(reason) => {
                    progress.say(&format!("note: {} goes on without {name}: {reason}", scenario.name));
                    Ok(Box::new(Absent { name: name.clone(), reason }))
                }
                Stop::Run(failure) => Err(failure),
            }),
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
    ) -> stop::Result<Box<dyn Beside>> {
        let mut process = Process::start(&self.program)?;
        let numbers: HashMap<&str, usize> = dataset.uris.iter().map(|uri| &**uri).zip(0..).collect();
        let starts = |bounds: &[(u64, u64)]| bounds.iter().map(|(start, _)| *start).collect::<Vec<u64>>();
        let samples: Vec<Value> =
            runner.samples().iter().map(|s| json!([numbers[&*s.uri], starts(&s.bounds)])).collect();
        let sources: Vec<&str> =
            dataset.arrays.iter().map(|array| array.source.map_or("", |source| source.full_name())).collect();
        let uris: Vec<&str> = dataset.uris.iter().map(|uri| &**uri).collect();
        let started = process.ask(&json!({
            "do": "start", "peer": name, "arrays": uris, "sources": sources, "crop": scenario.sampling.crop,
            "batch": scenario.sampling.samples, "samples": samples, "dtype": scenario.pipeline.dtype.0.full_name(),
            "memory_bytes": scenario.pipeline.memory.0, "threads": runner.threads(),
            "hold_s": scenario.consumer.hold, "touch": scenario.consumer.touch,
        }))?;
        if let Some(reason) = started["unavailable"].as_str() {
            return Ok(Box::new(Absent { name: name.to_owned(), reason: reason.to_owned() }));
        }
        let settings: Vec<Map<String, Value>> = process.parse(&started["settings"])?;
        progress.say(&format!("{}: searching the best setting of {name}", scenario.name));
        let begun = Instant::now();
        let found = search(settings, scenario.sampling.batches, self.search, &mut |setting, batches, what| {
            progress.step(|| format!("{}: searching the best setting of {name}, {what}", scenario.name));
            Ok(process.pass(setting, Some(batches))?.seconds)
        })?;
        let search_s = begun.elapsed().as_secs_f64();
        progress.step(|| format!("{}: comparing batches with {name}'s", scenario.name));
        process.send(&json!({"do": "compare", "setting": found.setting}))?;
        let mut ended = None;
        let compared = runner.bytes(&mut |bytes| {
            process.write(bytes).map_err(|stop| match stop {
                Stop::Peer(reason) => Failure::internal(ended.insert(reason).as_str()),
                Stop::Run(failure) => failure,
            })
        });
        match ended {
            Some(reason) => return Err(Stop::Peer(reason)),
            None => compared?,
        }
        let equality: Value = process.answer()?;
        let equality: Equality = process.parse(&equality)?;
        let result = PeerResult {
            name: name.to_owned(),
            version: started["version"].as_str().map(str::to_owned),
            setting: found.setting,
            search: found.tried,
            sample_batches: found.sample_batches,
            search_s,
            equality: Some(equality),
            ..PeerResult::default()
        };
        let caches_all = result.caches_all(&dataset.facts());
        Ok(Box::new(Running::new(process, runner.samples().len(), caches_all, result)))
    }
}

/// Why no peer can run beside a scenario, if that is so.
fn alone(scenario: &Scenario) -> Option<&'static str> {
    if scenario.store.is_some() {
        return Some("the scenario models a slow store, which peers do not read through");
    }
    let cuda = scenario.pipeline.executor == Executor::Cuda;
    cuda.then_some("the scenario's batches lie in GPU memory, and peers make theirs in host memory")
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
        "{} cannot import {MODULE} ({last}); accepted is a Python with damacy and the peers (pip install \
         ./python tensorstore zarr zarrs), named with --python",
        program.display()
    )))
}

/// A peer that cannot run.
struct Absent {
    name: String,
    reason: String,
}

impl Beside for Absent {
    fn before(&mut self, _: &Turn<'_>) -> Result<()> {
        Ok(())
    }

    fn after(&mut self, _: &Turn<'_>) -> Result<()> {
        Ok(())
    }

    fn result(&mut self, _: &[Round], _: u64) -> PeerResult {
        PeerResult { name: self.name.clone(), unavailable: Some(self.reason.clone()), ..PeerResult::default() }
    }
}
