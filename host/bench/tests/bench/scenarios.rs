//! What scenarios are accepted, and what is said of the others.

use damacy::{Dtype, Status};
use damacy_bench::failure::Failure;
use damacy_bench::scenario::{NAMES, Scenario, builtin, read, schema_text};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios")
}

/// A scenario with nothing wrong.
fn good() -> Value {
    json!({
        "dataset": {"generate": {"shape": [64, 64], "chunks": [16, 16]}},
        "sampling": {"crop": [8, 8]},
    })
}

fn accepted(json: &Value) -> Scenario {
    read("test", json.to_string().as_bytes()).unwrap_or_else(|failure| panic!("{failure:?}"))
}

/// Status and faults, each as `place: message`.
fn refused(text: &str) -> (Status, Vec<String>) {
    match read("test", text.as_bytes()) {
        Err(Failure::Faults { status, head, faults }) => {
            assert!(head.starts_with(&format!("the scenario test has {} fault", faults.len())), "{head}");
            (status, faults)
        }
        other => panic!("{other:?}"),
    }
}

/// `good` with one value changed.
fn with(place: &str, value: Value) -> Value {
    let mut scenario = good();
    let mut at = &mut scenario;
    for key in place.split('/').skip(1) {
        at = &mut at[key];
    }
    *at = value;
    scenario
}

#[test]
fn those_of_the_repository_are_good_and_built_in() {
    let mut files: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .filter(|name| !name.ends_with(".schema"))
        .collect();
    files.sort();
    let mut names = NAMES.to_vec();
    names.sort_unstable();
    assert_eq!(files, names);
    for name in NAMES {
        let text = std::fs::read_to_string(folder().join(format!("{name}.json"))).unwrap();
        assert_eq!(builtin(name), Some(&*text));
        let scenario = read(name, text.as_bytes()).unwrap_or_else(|failure| panic!("{name}: {failure:?}"));
        assert!(scenario.name == name && !scenario.description.is_empty());
    }
}

#[test]
fn the_committed_schema_is_that_of_the_types() {
    let committed = std::fs::read_to_string(folder().join("scenario.schema.json")).unwrap_or_default();
    assert!(committed == schema_text(), "run: damacy bench schema > host/scenarios/scenario.schema.json");
}

#[test]
fn defaults_are_filled_in_and_read_again_as_they_are_written() {
    let scenario = accepted(&good());
    assert_eq!((scenario.name.as_str(), scenario.pipeline.dtype.0), ("test", Dtype::F32));
    assert_eq!((scenario.pipeline.memory.0, scenario.sampling.samples, scenario.consumer.touch), (1 << 30, 8, true));
    let written = serde_json::to_value(&scenario).unwrap();
    assert_eq!(accepted(&written), scenario);
}

#[test]
fn types_have_either_name_in_any_case_and_sizes_and_times_units() {
    for (given, dtype) in [
        (json!("f32"), Dtype::F32),
        (json!("Float32"), Dtype::F32),
        (json!("BF16"), Dtype::Bf16),
        (json!("bfloat16"), Dtype::Bf16),
        (json!("UINT8"), Dtype::U8),
        (json!(9), Dtype::I64),
    ] {
        assert_eq!(accepted(&with("/pipeline/dtype", given)).pipeline.dtype.0, dtype);
    }
    let sources = accepted(&with("/dataset/generate/dtypes", json!(["U8", "Float16", "int64"])));
    let written = serde_json::to_value(&sources).unwrap();
    assert_eq!(written["dataset"]["generate"]["dtypes"], json!(["uint8", "float16", "int64"]));
    assert_eq!(accepted(&with("/pipeline/memory", json!("64MiB"))).pipeline.memory.0, 64 << 20);
    assert_eq!(accepted(&with("/pipeline/memory", json!(67108864))).pipeline.memory.0, 64 << 20);
    assert_eq!(accepted(&with("/consumer/hold", json!("20ms"))).consumer.hold.0.as_millis(), 20);
    assert_eq!(accepted(&with("/consumer/hold", json!(0.5))).consumer.hold.0.as_millis(), 500);
    // Null is as good as missing.
    assert_eq!(accepted(&with("/pipeline/threads", Value::Null)).pipeline.threads, None);
}

#[test]
fn every_fault_is_told_at_once_with_its_place_and_what_is_accepted() {
    let (status, faults) = refused(
        r#"{"datset": {}, "name": "a/b",
            "dataset": {"generate": {"shape": [64, 64], "chunks": [16], "dtypes": ["u16", "f64"], "entropy": 1.5,
                                     "codecs": ["zstd", "blosc_lz4", "bz2"], "shape": [1, 1]}},
            "sampling": {"crop": [8, 0], "batches": 4, "warmup": 4, "mode": "disjoin", "samples": -1},
            "pipeline": {"dtype": "float64", "memory": "1GB!", "threads": 0, "executor": "gpu", "lookahead": 1.5},
            "consumer": {"hold": "-1s", "touch": "yes"},
            "store": {"floor": "2s", "cap": "1s", "sigma": 9}}"#,
    );
    let expected = [
        ("/datset", "did you mean dataset?"),
        ("/dataset/generate/dtypes/1", "\"f64\" is no source type; accepted are uint8 (u8)"),
        ("/dataset/generate/codecs/1", "did you mean blosc-lz4?"),
        ("/dataset/generate/codecs/2", "it is v2's alone"),
        ("/dataset/generate/entropy", "1.5 was given; accepted is a number from 0 to 1"),
        ("/dataset/generate/shape", "given twice"),
        ("/sampling/crop/1", "0 was given; accepted is a whole number from 1 to 2^64 - 1"),
        ("/sampling/mode", "accepted is one of random, aligned, clustered, disjoint; did you mean disjoint?"),
        ("/sampling/samples", "-1 was given; accepted is a whole number from 1 to 1000000"),
        ("/sampling/warmup", "4 was given for 4 batches; accepted is a whole number from 0 to 3"),
        ("/pipeline/dtype", "bfloat16 (bf16)"),
        ("/pipeline/memory", "\"1GB!\" is no size"),
        ("/pipeline/threads", "0 was given; accepted is a whole number from 1 to 1024"),
        ("/pipeline/lookahead", "1.5 was given; accepted is a whole number from 1"),
        ("/pipeline/executor", "accepted is one of cpu, cuda"),
        ("/consumer/hold", "accepted are seconds from 0 on"),
        ("/consumer/touch", "\"yes\" was given; accepted is true or false"),
        ("/store/floor", "accepted is at most the cap, 1s"),
        ("/store/sigma", "9 was given; accepted is a number from 0 to 5"),
        ("/name", "\"a/b\" was given"),
    ];
    for (place, part) in expected {
        let told = faults.iter().any(|fault| fault.starts_with(&format!("{place}: ")) && fault.contains(part));
        assert!(told, "{place}: {part} is not in {faults:#?}");
    }
    assert_eq!((status, faults.len()), (Status::Inval, expected.len()), "{faults:#?}");
}

#[test]
fn values_that_do_not_fit_each_other_are_found() {
    for (place, value, at, part) in [
        ("/dataset/generate/chunks", json!([16]), "/dataset/generate/chunks", "each of the 2 axes"),
        ("/dataset/generate/shards", json!([40, 32]), "/dataset/generate/shards/0", "a multiple of the chunk's 16"),
        ("/dataset/generate/codecs", json!(["zlib"]), "/dataset/generate/codecs/0", "v2's alone"),
        (
            "/dataset",
            json!({"uris": ["a"], "generate": {"shape": [64, 64], "chunks": [16, 16]}}),
            "/dataset",
            "one of them",
        ),
        ("/dataset", json!({}), "/dataset", "one of them"),
        ("/dataset/uris", json!([]), "/dataset/uris", "a list of 1 to 4096"),
        ("/sampling/crop", json!([8, 65]), "/sampling/crop/1", "from 1 to 64"),
        ("/sampling", json!({"crop": [9, 9], "mode": "disjoint", "batches": 5, "samples": 1}), "", ""),
        (
            "/sampling",
            json!({"crop": [17, 9], "mode": "disjoint", "batches": 2, "samples": 5}),
            "/sampling/batches",
            "at most 8",
        ),
        (
            "/sampling",
            json!({"crop": [8, 8], "batches": 1000000, "samples": 2}),
            "/sampling/batches",
            "1000000 samples",
        ),
    ] {
        let scenario = with(place, value);
        if at.is_empty() {
            accepted(&scenario);
            continue;
        }
        let (status, faults) = refused(&scenario.to_string());
        assert_eq!(status, Status::Inval, "{faults:?}");
        assert!(
            faults.len() == 1 && faults[0].starts_with(&format!("{at}: ")) && faults[0].contains(part),
            "{faults:?}"
        );
    }
}

#[test]
fn a_memory_that_carries_no_two_batches_is_refused_with_the_arithmetic() {
    let mut scenario = with("/pipeline/memory", json!("1MiB"));
    scenario["sampling"]["samples"] = json!(16);
    let (status, faults) = refused(&scenario.to_string());
    assert_eq!(status, Status::Budget);
    // 16 samples of 8 x 8 float32; a chunk of 16 x 16 uint16 and the most it may have encoded, 64 KiB and 1 MiB.
    let decode = 512 + 576 + (64 << 10) + (1 << 20);
    let need = 2 * 4096 + decode;
    let said =
        format!("accepted are {need} bytes or more: 2 x 4096 (batches of 16 samples of [8, 8] in float32) + {decode}");
    assert!(faults[0].starts_with("/pipeline/memory: 1048576 bytes") && faults[0].contains(&said), "{faults:?}");
    scenario["pipeline"]["memory"] = json!(need);
    accepted(&scenario);
    scenario["pipeline"]["memory"] = json!(need - 1);
    refused(&scenario.to_string());
}

#[test]
fn sizes_beyond_all_bounds_are_faults_and_no_overflow() {
    let huge = u64::MAX;
    for (place, value) in [
        ("/dataset/generate/shape", json!([huge, huge])),
        ("/dataset/generate/chunks", json!([huge, 1])),
        ("/dataset/generate/shards", json!([huge - 15, 16])),
        ("/dataset/generate/arrays", json!(huge)),
        ("/dataset/generate/chunks", json!([1, 1])),
        ("/sampling/crop", json!([huge, huge])),
        ("/sampling/crop", json!([])),
        ("/pipeline/lookahead", json!(0)),
    ] {
        let mut scenario = with(place, value);
        if place.ends_with("chunks") {
            scenario["dataset"]["generate"]["shape"] = json!([4096, 4096]);
        }
        refused(&scenario.to_string());
    }
    accepted(&with("/pipeline/lookahead", json!(huge)));
}

#[test]
fn what_is_no_scenario_at_all_is_refused() {
    for text in ["", "{", "nonsense", "\u{0}", &"[".repeat(100_000)] {
        match read("test", text.as_bytes()) {
            Err(Failure::Error(error)) => assert!(error.message().contains("is no JSON"), "{error}"),
            other => panic!("{other:?}"),
        }
    }
    assert!(refused("[]").1[0].contains("an object with"));
    let (_, faults) = refused("{}");
    assert!(faults[0].starts_with("/dataset: missing") && faults[1].starts_with("/sampling: missing"), "{faults:?}");
}
