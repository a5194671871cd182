//! Other loaders beside ours: what was found about each. Each runs in a Python process of its own (`damacy.bench.peer`), which
//! [`process`] talks to; `docs/bench.md` has the protocol.

mod process;
mod python;
mod running;
mod search;
mod stop;

pub use python::Python;

use crate::failure::Result;
use crate::progress::Progress;
use crate::results::{Dataset, Round, Run};
use crate::summary::Spread;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A round of a run.
pub struct Turn<'a> {
    /// The scenario's name.
    pub scenario: &'a str,
    /// Its number, from 1 on.
    pub round: u64,
    /// How many there are.
    pub of: u64,
    /// Is told of peers that cannot go on.
    pub progress: &'a Progress,
}

/// A peer that runs beside ours: one pass right before each of our passes, and one right after.
pub trait Beside {
    /// A timed pass.
    ///
    /// # Errors
    /// What stopped it.
    fn before(&mut self, turn: &Turn<'_>) -> Result<()>;

    /// A timed pass.
    ///
    /// # Errors
    /// What stopped it.
    fn after(&mut self, turn: &Turn<'_>) -> Result<()>;

    /// What was found, beside our rounds with so many threads.
    fn result(&mut self, ours: &[Round], threads: u64) -> PeerResult;
}

/// One peer in one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeerResult {
    /// `tensorstore`, `zarr`, `zarrs`.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// Why it could not run; all else is then empty.
    pub unavailable: Option<String>,
    /// The setting that the rounds used, as found by the search.
    pub setting: Map<String, Value>,
    /// Everything that was tried, in turns; what was far behind the best, once.
    pub search: Vec<Tried>,
    /// Batches of the first look at each setting, the first ones of the pass; null if each was a whole pass.
    #[serde(default)]
    pub sample_batches: Option<u64>,
    /// How long the search took.
    #[serde(default)]
    pub search_s: f64,
    /// One for each of our rounds.
    pub rounds: Vec<PeerRound>,
    /// Samples a second over its passes.
    pub samples_per_s: Option<Spread>,
    /// Our samples a second / its own, of each round.
    pub ratio: Option<Spread>,
    /// The most resident memory of its process during a pass of the rounds, less that after its start, before it opened an
    /// array; null where the system does not tell.
    pub peak_memory_bytes: Option<u64>,
    /// How its batches compare with ours, element by element, with the setting that the rounds used.
    pub equality: Option<Equality>,
    /// Of the time by which our median pass is shorter than its own, the part that decodes avoided explain:
    /// `decodes_avoided x decode busy time / chunks decoded / threads`, at most 1; 0 where its cache can hold all arrays, so that
    /// it avoids the same decodes. Null where it is not slower.
    pub lead_from_decodes_avoided: Option<f64>,
}

impl PeerResult {
    /// Whether its cache could hold all arrays decoded, so that it decodes no chunk twice, however long a pass is.
    pub(crate) fn caches_all(&self, dataset: &Dataset) -> bool {
        let decoded = dataset.arrays.iter().map(|array| array.decoded_bytes).fold(0, u64::saturating_add);
        self.setting.get("cache_bytes").and_then(Value::as_u64).is_some_and(|cache| cache >= decoded)
    }

    /// How its setting was found, in a pass of so many batches.
    pub(crate) fn search_in_words(&self, batches: u64) -> String {
        let count = self.search.len() as u64;
        let all = if count == 1 { "the one setting".to_owned() } else { format!("all {count} settings") };
        let whole = self.search.iter().filter(|tried| !tried.pass_s.is_empty()).count();
        match self.sample_batches {
            None => format!("{all} tried on the whole pass"),
            Some(sample) => {
                format!(
                    "{all} looked at on the first {sample} of {batches} batches, {whole} of them then tried on the whole pass"
                )
            }
        }
    }
}

/// Which peers did not run beside which runs, and why: a sentence for each run and reason.
pub(crate) fn absences(runs: &[Run]) -> Vec<String> {
    let mut sentences = Vec::new();
    for run in runs {
        let mut absent: Vec<(&str, Vec<&str>)> = Vec::new();
        for peer in &run.peers {
            let Some(reason) = &peer.unavailable else { continue };
            match absent.iter_mut().find(|(of, _)| of == reason) {
                Some((_, names)) => names.push(&peer.name),
                None => absent.push((reason, vec![&peer.name])),
            }
        }
        let sentence = |(reason, names): (&str, Vec<&str>)| {
            format!("{} in {} ran without {}: {reason}", run.name, run.dtype, names.join(", "))
        };
        sentences.extend(absent.into_iter().map(sentence));
    }
    sentences
}

/// A setting that was tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The setting.
    pub setting: Map<String, Value>,
    /// The first look: a pass over `sample_batches` alone; null if it was a whole pass.
    #[serde(default)]
    pub sample_s: Option<f64>,
    /// Each whole pass; none, if the first look was too slow.
    pub pass_s: Vec<f64>,
}

/// The peer's passes around one of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeerRound {
    /// The pass before ours.
    pub before_s: f64,
    /// The pass after ours.
    pub after_s: f64,
}

/// Element by element, in an untimed pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Equality {
    /// Elements compared.
    pub elements: u64,
    /// Of them, those whose bits differ.
    pub differing: u64,
    /// Why they differ, or where its own cast would have, in words; null if neither.
    pub note: Option<String>,
}
