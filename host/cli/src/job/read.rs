//! A job in JSON -> a [`Job`], or everything that is wrong with it at once.

use super::agree::contradictions;
use super::check::{Members, Place, Problems};
use super::{Advise, Crops, Job, JobArray, Origin, Store};
use crate::failure::Failure;
use crate::parse;
use damacy::{BatchSpec, Dtype, PlanLimits};
use damacy_bench::json::Json;
use damacy_core::cost::Encoded;
use damacy_core::metadata::ZarrFormat;
use damacy_core::planner::SampleBox;

const KEYS: [&str; 10] =
    ["spec", "arrays", "crops", "window", "seed", "workers", "memory", "cache", "limits", "advise"];
const ACCEPTED_CROPS: &str =
    "\"uniform\", \"grid\", {\"grid\": {\"stride\": [...]}} or {\"boxes\": [[[start, stop], ...], ...]}";
const ACCEPTED_BOX: &str = "a list of [start, stop] for each axis, or {\"array\": 0, \"box\": [[start, stop], ...]}";

/// Reads a job.
pub fn read(text: &[u8]) -> Result<Job, Failure> {
    let json: Json =
        serde_json::from_slice(text).map_err(|error| Failure::inval(format!("the job is no JSON: {error}")))?;
    let mut problems = Problems::default();
    let job = job(&json, &mut problems);
    problems.finish()?;
    // Only of a job that is well formed: what stands in for a malformed value would be a fault once more.
    let mut problems = Problems::default();
    contradictions(&job, &mut problems);
    problems.finish()?;
    Ok(job)
}

fn job(json: &Json, problems: &mut Problems) -> Job {
    let root = Place::ROOT;
    let members = problems.object(&root, json, &KEYS).unwrap_or(Members(&[]));
    let mut job = Job { origin: Origin::Json, ..Job::default() };
    match members.get("spec") {
        Some(json) => job.spec = spec(&root.key("spec"), json, problems),
        None => problems
            .add(&root.key("spec"), "missing; accepted is {\"samples\": 8, \"shape\": [64, 64], \"dtype\": \"f32\"}"),
    }
    match members.get("arrays") {
        Some(json) => job.arrays = arrays(&root.key("arrays"), json, problems),
        None => problems.add(&root.key("arrays"), "missing; accepted is a list of URIs and objects"),
    }
    if let Some(json) = members.get("crops") {
        job.crops = crops(&root.key("crops"), json, job.arrays.len(), problems);
    }
    for (key, target, least) in
        [("window", &mut job.window, 1), ("seed", &mut job.seed, 0), ("workers", &mut job.workers, 1)]
    {
        if let Some(json) = members.get(key) {
            *target = problems.integer(&root.key(key), json, least);
        }
    }
    for (key, target) in [("memory", &mut job.memory_bytes), ("cache", &mut job.chunk_cache_bytes)] {
        if let Some(json) = members.get(key) {
            *target = problems.value(&root.key(key), json, parse::ACCEPTED_BYTES, parse::bytes).unwrap_or_default();
        }
    }
    if let Some(json) = members.get("limits") {
        job.limits = limits(&root.key("limits"), json, problems);
    }
    if let Some(json) = members.get("advise") {
        job.advise = advise(&root.key("advise"), json, job.arrays.len(), problems);
    }
    job
}

fn spec(place: &Place<'_>, json: &Json, problems: &mut Problems) -> BatchSpec {
    let mut spec = BatchSpec { samples: 1, shape: Vec::new(), dtype: Dtype::F32 };
    let Some(members) = problems.object(place, json, &["samples", "shape", "dtype"]) else { return spec };
    if let Some(json) = members.get("samples") {
        spec.samples = problems.integer(&place.key("samples"), json, 1);
    }
    match members.get("shape") {
        Some(json) => {
            spec.shape = problems.integers(&place.key("shape"), json, 1, "a list with the extent of each axis");
        }
        None => problems.add(&place.key("shape"), "missing; accepted is a list with the extent of each axis"),
    }
    if let Some(json) = members.get("dtype") {
        let found = problems.value(&place.key("dtype"), json, "an output type's name or value", parse::dtype);
        spec.dtype = found.unwrap_or(spec.dtype);
    }
    spec
}

fn arrays(place: &Place<'_>, json: &Json, problems: &mut Problems) -> Vec<JobArray> {
    let entries = problems.list(place, json, "a list of URIs and objects");
    if matches!(json, Json::List(entries) if entries.is_empty()) {
        problems.add(place, "an empty list was given; accepted is at least one array");
    }
    entries.iter().enumerate().map(|(index, entry)| array(&place.index(index), entry, index, problems)).collect()
}

fn array(place: &Place<'_>, json: &Json, index: usize, problems: &mut Problems) -> JobArray {
    let mut array = JobArray::new(Store::Uri(String::new()));
    if let Json::Text(uri) = json {
        array.store = Store::Uri(uri.clone());
        return array;
    }
    if !matches!(json, Json::Object(_)) {
        problems.refuse(place, json, "a path or file:// URI, or an object with \"uri\" or \"metadata\"");
        return array;
    }
    let Some(members) = problems.object(place, json, &["uri", "metadata", "weight", "ratio", "sizes"]) else {
        return array;
    };
    match (members.get("uri"), members.get("metadata")) {
        (Some(Json::Text(uri)), None) => array.store = Store::Uri(uri.clone()),
        (Some(other), None) => problems.refuse(&place.key("uri"), other, "a path or file:// URI"),
        (None, Some(document)) => array.store = inline(&place.key("metadata"), document, index, problems),
        _ => problems.add(place, "accepted is an object with one of \"uri\" and \"metadata\""),
    }
    if let Some(json) = members.get("weight") {
        array.weight = problems.integer(&place.key("weight"), json, 0);
    }
    match (members.get("ratio"), members.get("sizes")) {
        (Some(_), Some(_)) => problems.add(place, "accepted is one of \"ratio\" and \"sizes\""),
        (Some(json), None) => {
            let ratio = problems.value(&place.key("ratio"), json, "a number above 0", parse::ratio);
            array.encoded = ratio.map_or(Encoded::Unknown, Encoded::Ratio);
        }
        (None, Some(json)) => {
            let accepted = "a list with the encoded bytes of each chunk in C order";
            array.encoded = Encoded::Chunks(problems.integers(&place.key("sizes"), json, 0, accepted));
        }
        (None, None) => {}
    }
    array
}

/// A `zarr.json` or `.zarray` inside the job.
fn inline(place: &Place<'_>, json: &Json, index: usize, problems: &mut Problems) -> Store {
    let format = match json {
        Json::Object(members) => match Members(members).get("zarr_format") {
            Some(Json::Number(number)) => match number.as_u64() {
                Some(2) => Some(ZarrFormat::V2),
                Some(3) => Some(ZarrFormat::V3),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    let Some(format) = format else {
        problems.refuse(place, json, "an array's zarr.json or .zarray, with \"zarr_format\" 2 or 3");
        return Store::Uri(String::new());
    };
    // A tree of texts and finite numbers can be written.
    Store::Document { name: format!("array {index}"), format, bytes: serde_json::to_vec(json).unwrap_or_default() }
}

fn crops(place: &Place<'_>, json: &Json, arrays: usize, problems: &mut Problems) -> Crops {
    let members = match json {
        Json::Text(text) if text == "uniform" => return Crops::Uniform,
        Json::Text(text) if text == "grid" => return Crops::Grid(Vec::new()),
        Json::Object(members) => Members(members),
        _ => {
            problems.refuse(place, json, ACCEPTED_CROPS);
            return Crops::Uniform;
        }
    };
    match members.0 {
        [(key, Json::Object(none))] if key == "uniform" && none.is_empty() => Crops::Uniform,
        [(key, grid)] if key == "grid" => {
            let place = place.key("grid");
            let stride = problems.object(&place, grid, &["stride"]).and_then(|members| members.get("stride"));
            let accepted = "a list with a step of at least 1 for each axis";
            Crops::Grid(stride.map_or(Vec::new(), |json| problems.integers(&place.key("stride"), json, 1, accepted)))
        }
        [(key, boxes)] if key == "boxes" => {
            let place = place.key("boxes");
            let entries = problems.list(&place, boxes, "a list of boxes").iter().enumerate();
            Crops::Boxes(entries.map(|(index, json)| sample(&place.index(index), json, arrays, problems)).collect())
        }
        _ => {
            problems.refuse(place, json, ACCEPTED_CROPS);
            Crops::Uniform
        }
    }
}

fn sample(place: &Place<'_>, json: &Json, arrays: usize, problems: &mut Problems) -> SampleBox {
    let mut sample = SampleBox { array: 0, bounds: Vec::new() };
    match json {
        Json::List(axes) => {
            if arrays > 1 {
                problems
                    .add(place, format_args!("which of {arrays} arrays? accepted is {{\"array\": 0, \"box\": [...]}}"));
            }
            sample.bounds = bounds(place, axes, problems);
        }
        Json::Object(_) => {
            let Some(members) = problems.object(place, json, &["array", "box"]) else { return sample };
            if let Some(json) = members.get("array") {
                let index = problems.integer(&place.key("array"), json, 0);
                if index >= arrays as u64 && arrays > 0 {
                    problems.refuse(&place.key("array"), json, format_args!("an index below {arrays}"));
                }
                sample.array = u32::try_from(index).unwrap_or(u32::MAX);
            } else if arrays > 1 {
                problems.add(&place.key("array"), format_args!("missing; accepted is an index below {arrays}"));
            }
            match members.get("box") {
                Some(Json::List(axes)) => sample.bounds = bounds(&place.key("box"), axes, problems),
                Some(other) => problems.refuse(&place.key("box"), other, "a list of [start, stop] for each axis"),
                None => problems.add(&place.key("box"), "missing; accepted is a list of [start, stop] for each axis"),
            }
        }
        _ => problems.refuse(place, json, ACCEPTED_BOX),
    }
    sample
}

fn bounds(place: &Place<'_>, axes: &[Json], problems: &mut Problems) -> Vec<(u64, u64)> {
    let mut interval = |(axis, json): (usize, &Json)| {
        let place = place.index(axis);
        match json {
            Json::List(pair) if pair.len() == 2 => {
                (problems.integer(&place.index(0), &pair[0], 0), problems.integer(&place.index(1), &pair[1], 0))
            }
            _ => {
                problems.refuse(&place, json, "[start, stop]");
                (0, 0)
            }
        }
    };
    axes.iter().enumerate().map(&mut interval).collect()
}

fn limits(place: &Place<'_>, json: &Json, problems: &mut Problems) -> PlanLimits {
    let mut limits = PlanLimits::default();
    let Some(members) = problems.object(place, json, &["memory", "deadline", "chunks"]) else { return limits };
    if let Some(json) = members.get("memory") {
        let found = problems.value(&place.key("memory"), json, parse::ACCEPTED_BYTES, parse::bytes);
        limits.memory_bytes = found.unwrap_or_default();
    }
    if let Some(json) = members.get("deadline") {
        let found = problems.value(&place.key("deadline"), json, parse::ACCEPTED_TIME, parse::duration);
        limits.deadline = found.unwrap_or_default();
    }
    if let Some(json) = members.get("chunks") {
        limits.max_chunks = problems.integer(&place.key("chunks"), json, 0);
    }
    limits
}

fn advise(place: &Place<'_>, json: &Json, arrays: usize, problems: &mut Problems) -> Advise {
    let mut advise = Advise::default();
    let Some(members) = problems.object(place, json, &["layout", "lookahead"]) else { return advise };
    if let Some(json) = members.get("layout") {
        let index = problems.integer(&place.key("layout"), json, 0);
        if index >= arrays as u64 && arrays > 0 {
            problems.refuse(&place.key("layout"), json, format_args!("an array's index, below {arrays}"));
        }
        advise.layout = u32::try_from(index).ok();
    }
    match members.get("lookahead") {
        None => {}
        Some(Json::Bool(wanted)) => advise.lookahead = *wanted,
        Some(other) => problems.refuse(&place.key("lookahead"), other, "true or false"),
    }
    advise
}
