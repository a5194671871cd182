//! A peer at work beside our rounds: its passes -> rates, ratios, and what share of our lead decodes avoided explain.

use super::process::Process;
use super::{Beside, PeerResult, PeerRound};
use crate::failure::{Failure, Result};
use crate::results::Round;
use crate::summary::Spread;
use serde_json::{Map, Value, json};

/// A peer at work.
pub(super) struct Running {
    process: Process,
    samples: usize,
    /// The pass after our last one, which is the one before the next.
    last: Option<f64>,
    before: Option<f64>,
    result: PeerResult,
}

/// One pass of a peer.
pub(super) struct Pass {
    pub seconds: f64,
    /// How far it made the process grow, if that is known.
    peak_bytes: Option<u64>,
}

impl Process {
    /// A timed pass with a setting, over all batches or so many of the first ones.
    pub(super) fn pass(&mut self, setting: &Map<String, Value>, batches: Option<u64>) -> Result<Pass> {
        let answer = self.ask(&json!({"do": "pass", "setting": setting, "batches": batches}))?;
        let seconds = answer["pass_s"].as_f64().filter(|seconds| *seconds > 0.0);
        let seconds = seconds.ok_or_else(|| self.strange(&answer))?;
        Ok(Pass { seconds, peak_bytes: answer["peak_bytes"].as_u64() })
    }
}

impl Running {
    /// With what is known before the first round.
    pub(super) fn new(process: Process, samples: usize, result: PeerResult) -> Running {
        Running { process, samples, last: None, before: None, result }
    }

    /// A pass's seconds; `None` from the one on in which the peer failed.
    fn pass(&mut self) -> Result<Option<f64>> {
        if self.result.unavailable.is_some() {
            return Ok(None);
        }
        match self.process.pass(&self.result.setting, None) {
            Ok(pass) => {
                self.result.peak_memory_bytes = self.result.peak_memory_bytes.max(pass.peak_bytes);
                Ok(Some(pass.seconds))
            }
            Err(Failure::Peer(reason)) => {
                let name = std::mem::take(&mut self.result.name);
                self.result = PeerResult { name, unavailable: Some(reason), ..PeerResult::default() };
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }
}

impl Beside for Running {
    fn before(&mut self) -> Result<()> {
        self.before = match self.last.take() {
            Some(seconds) => Some(seconds),
            None => self.pass()?,
        };
        Ok(())
    }

    fn after(&mut self) -> Result<()> {
        self.last = self.pass()?;
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
