//! What was run, and where: machine, versions and command of the results; arrays, crops and pipeline of a run.

use super::html::Html;
use super::numbers::{count, data, memory, plural, seconds};
use super::parts::{Table, facts, folded, hint, section, verbatim};
use crate::results::{ArrayFacts, Results, Run};
use crate::scenario::{Engine, Executor, Mode};
use std::collections::BTreeMap;

/// Arrays that are listed.
const MOST: usize = 40;

/// Machine, versions, command.
pub(super) fn machine(results: &Results) -> Html {
    let machine = &results.machine;
    let versions = results.versions.iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>();
    facts([
        ("processor".into(), machine.cpu.clone()),
        ("cores".into(), count(machine.cores)),
        ("memory".into(), memory(machine.memory_bytes as f64)),
        ("system".into(), machine.kernel.clone()),
        ("instruction set".into(), machine.simd.clone()),
        ("versions".into(), versions.join(", ")),
        ("ended".into(), results.created.clone()),
        ("command".into(), command(&results.command)),
    ])
}

/// A command as a shell would take it.
fn command(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    let quoted = |word: &String| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn extents(extents: &[u64]) -> String {
    if extents.is_empty() { "()".into() } else { extents.iter().map(|&n| count(n)).collect::<Vec<_>>().join(" × ") }
}

/// Arrays, crops, pipeline, consumer, store.
pub(super) fn scenario(run: &Run, cores: u64) -> Html {
    let (scenario, crops) = (&run.scenario, &run.crops);
    let lead = "A scenario says which arrays are read, which crops of them make a batch, and what the pipeline may use. A round is one \
                pass over all crops with a new pipeline.";
    let pipeline = &scenario.pipeline;
    let threads = pipeline.threads.map_or_else(|| format!("{cores}, one for each core"), count);
    let executor = match (pipeline.executor, pipeline.engine) {
        (Executor::Cuda, _) => "the CPU decodes, a GPU assembles",
        (Executor::Cpu, Engine::Native) => "CPU, native code",
        (Executor::Cpu, Engine::Sandbox) => "CPU, conversion in the WebAssembly sandbox",
    };
    let mode = match scenario.sampling.mode {
        Mode::Random => "anywhere, at random",
        Mode::Aligned => "a scan from one end to the other",
        Mode::Clustered => "close together within a batch",
        Mode::Disjoint => "so that no two share a chunk",
    };
    let ahead = pipeline.lookahead.unwrap_or(run.forecast.window);
    let hold = scenario.consumer.hold.0.as_secs_f64();
    let held = if hold == 0.0 {
        "lets go of each batch at once".into()
    } else {
        format!("holds each batch for {}", seconds(hold))
    };
    let touch = if scenario.consumer.touch { "reads every element" } else { "reads nothing" };
    let mut rows = vec![
        ("crops".into(), format!("{} elements each, {mode}", extents(&scenario.sampling.crop))),
        (
            "pass".into(),
            format!("{} of {}", plural(crops.batches, "batch", "batches"), plural(crops.samples, "sample", "samples")),
        ),
        ("output".into(), format!("{}, {} a pass", run.dtype, data(crops.output_bytes as f64))),
        ("source".into(), format!("{} a pass, as stored", data(crops.source_bytes as f64))),
        ("executor".into(), executor.into()),
        ("worker threads".into(), threads),
        ("memory budget".into(), memory(run.memory.budget_bytes as f64)),
        ("of it for a chunk cache".into(), pipeline.cache.map_or("none".into(), |cache| memory(cache.0 as f64))),
        ("look-ahead window".into(), plural(ahead, "sample", "samples")),
        ("consumer".into(), format!("{touch}, {held}")),
    ];
    if let Some(store) = &scenario.store {
        let time = |time: std::time::Duration| seconds(time.as_secs_f64());
        let words = format!(
            "each read waits {} and a random time of median {}, at most {}",
            time(store.floor.0),
            time(store.median.0),
            time(store.cap.0)
        );
        rows.push(("modelled store".into(), words));
    }
    let mut content = vec![facts(rows), arrays(run)];
    if let Ok(text) = serde_json::to_string_pretty(scenario) {
        content.push(folded("The scenario as JSON, to run it again", verbatim("Scenario as JSON", &text)));
    }
    section("scenario", "What was run", lead, content)
}

/// Arrays; those that are alike but for their names are one row.
fn arrays(run: &Run) -> Html {
    let mut alike: BTreeMap<Vec<String>, Vec<&ArrayFacts>> = BTreeMap::new();
    for array in &run.dataset.arrays {
        let shards = array.shards.as_ref().map_or_else(|| "-".to_owned(), |shards| extents(shards));
        let key = vec![
            array.data_type.clone(),
            extents(&array.shape),
            extents(&array.chunks),
            shards,
            array.codecs.join(", "),
        ];
        alike.entry(key).or_default().push(array);
    }
    let rows = alike.iter().take(MOST).map(|(key, arrays)| {
        let decoded: f64 = arrays.iter().map(|array| array.decoded_bytes as f64).sum();
        let encoded: Option<f64> = arrays.iter().map(|array| array.encoded_bytes.map(|bytes| bytes as f64)).sum();
        let name = match arrays.as_slice() {
            [one] => one.name.clone(),
            several => format!("{} and {} alike", several[0].name, several.len() - 1),
        };
        let sizes = [data(decoded), encoded.map_or_else(|| "unknown".to_owned(), data)];
        [vec![name], key.clone(), sizes.to_vec()].concat()
    });
    let head = ["array", "type", "shape", "chunk", "shard", "codecs", "decoded", "encoded"];
    let table = Table::new("Arrays", &head).words(&[1, 2, 3, 4, 5]).rows(rows).html();
    let made = match (&run.dataset.fingerprint, run.dataset.generate_s) {
        (Some(_), Some(time)) => format!("The data was generated in {}.", seconds(time)),
        (Some(_), None) => "The data was generated, and was there already.".to_owned(),
        (None, _) => "The arrays were given.".to_owned(),
    };
    let mut content = vec![table];
    if alike.len() > MOST {
        content.push(hint(format!("Shown are {MOST} kinds of array; results.json has all.")));
    }
    content.push(hint(made));
    Html::all(content)
}

#[cfg(test)]
mod tests {
    #[test]
    fn commands_can_be_pasted() {
        let words = ["damacy", "bench", "my scenario.json", "it's", ""].map(str::to_owned);
        assert_eq!(super::command(&words), r"damacy bench 'my scenario.json' 'it'\''s' ''");
    }
}
