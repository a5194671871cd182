//! A peer at work beside our rounds: its passes -> rates, ratios, and what share of our lead decodes avoided explain.

use super::process::Process;
use super::stop::{self, Stop};
use super::{Beside, PeerResult, PeerRound, Turn};
use crate::failure::Result;
use crate::results::Round;
use crate::summary::Spread;
use serde_json::{Map, Value, json};

/// A peer at work.
pub(super) struct Running {
    /// Until it fails.
    process: Option<Process>,
    samples: usize,
    /// Its cache can hold all arrays.
    caches_all: bool,
    /// The pass after our last one, which is the one before the next.
    last: Option<f64>,
    before: Option<f64>,
    result: PeerResult,
}

/// One pass of a peer.
pub(super) struct Pass {
    pub seconds: f64,
    /// How much more memory the process took than after its start, at most, if that is known.
    peak_bytes: Option<u64>,
}

impl Process {
    /// A timed pass with a setting, over all batches or so many of the first ones.
    pub(super) fn pass(&mut self, setting: &Map<String, Value>, batches: Option<u64>) -> stop::Result<Pass> {
        let answer = self.ask(&json!({"do": "pass", "setting": setting, "batches": batches}))?;
        let seconds = answer["pass_s"].as_f64().filter(|seconds| *seconds > 0.0);
        let seconds = seconds.ok_or_else(|| self.strange(&answer))?;
        Ok(Pass { seconds, peak_bytes: answer["peak_bytes"].as_u64() })
    }
}

impl Running {
    /// With what is known before the first round.
    pub(super) fn new(process: Process, samples: usize, caches_all: bool, result: PeerResult) -> Running {
        Running { process: Some(process), samples, caches_all, last: None, before: None, result }
    }

    /// A pass's seconds; `None` from the one on in which the peer failed, whose process is then ended.
    fn pass(&mut self, turn: &Turn<'_>) -> Result<Option<f64>> {
        let Some(process) = &mut self.process else { return Ok(None) };
        match process.pass(&self.result.setting, None) {
            Ok(pass) => {
                self.result.peak_memory_bytes = self.result.peak_memory_bytes.max(pass.peak_bytes);
                Ok(Some(pass.seconds))
            }
            Err(Stop::Peer(reason)) => {
                self.process = None;
                let reason = format!("{reason} in round {} of {}", turn.round, turn.of);
                let name = std::mem::take(&mut self.result.name);
                turn.progress.say(&format!("note: {} goes on without {name}: {reason}", turn.scenario));
                self.result = PeerResult { name, unavailable: Some(reason), ..PeerResult::default() };
                Ok(None)
            }
            Err(Stop::Run(failure)) => Err(failure),
        }
    }
}

impl Beside for Running {
    fn before(&mut self, turn: &Turn<'_>) -> Result<()> {
        self.before = match self.last.take() {
            Some(seconds) => Some(seconds),
            None => self.pass(turn)?,
        };
        Ok(())
    }

    fn after(&mut self, turn: &Turn<'_>) -> Result<()> {
        self.last = self.pass(turn)?;
        if let (Some(before_s), Some(after_s)) = (self.before, self.last) {
            self.result.rounds.push(PeerRound { before_s, after_s });
        }
        Ok(())
    }

    fn result(&mut self, ours: &[Round], threads: u64) -> PeerResult {
        let mut result = std::mem::take(&mut self.result);
        let passes: Vec<f64> = result.rounds.iter().map(|round| (round.before_s + round.after_s) / 2.0).collect();
        let rates: Vec<f64> = passes.iter().map(|seconds| self.samples as f64 / seconds).collect();
        let ratios: Vec<f64> = passes.iter().zip(ours).map(|(theirs, ours)| theirs / ours.pass_s).collect();
        result.samples_per_s = Spread::of(&rates);
        result.ratio = Spread::of(&ratios);
        result.lead_from_decodes_avoided = lead_from_decodes_avoided(&passes, ours, threads, self.caches_all);
        result
    }
}

/// The part of our lead that decodes avoided explain at most; `None` where there is no lead. A peer whose cache holds all
/// arrays avoids them too.
fn lead_from_decodes_avoided(theirs: &[f64], ours: &[Round], threads: u64, caches_all: bool) -> Option<f64> {
    let median =
        |of: &dyn Fn(&Round) -> f64| Spread::of(&ours.iter().map(of).collect::<Vec<f64>>()).map(|spread| spread.median);
    let lead = Spread::of(theirs)?.median - median(&|round| round.pass_s)?;
    let saved = median(&|round| {
        let each = round.stages.decode.busy_s / round.chunks_decoded.max(1) as f64;
        round.decodes_avoided as f64 * each / threads as f64
    })?;
    (lead > 0.0).then(|| if caches_all { 0.0 } else { (saved / lead).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Stage, Stages};

    /// Two threads; 100 chunks decoded in 0.5 s, 60 decodes avoided: worth 0.15 s of a pass of 1 s.
    fn round() -> Round {
        let stages = Stages { decode: Stage { busy_s: 0.5, bytes: 1 }, ..Stages::default() };
        Round { pass_s: 1.0, chunks_decoded: 100, decodes_avoided: 60, stages, ..Round::default() }
    }

    #[test]
    fn decodes_avoided_explain_no_lead_over_a_peer_that_avoids_them_too() {
        let share = |theirs, caches_all| lead_from_decodes_avoided(&[theirs], &[round()], 2, caches_all);
        assert!((share(1.6, false).unwrap() - 0.25).abs() < 1e-9);
        assert_eq!((share(1.1, false), share(1.6, true), share(1.1, true)), (Some(1.0), Some(0.0), Some(0.0)));
        assert_eq!((share(0.9, false), share(0.9, true)), (None, None));
    }
}
