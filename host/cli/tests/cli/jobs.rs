//! `plan` and `estimate`: against brute force, against each other, and options against JSON.

use super::support::{array, damacy, text, with_input, zarray};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const SHAPE: [u64; 2] = [40, 30];
const CHUNKS: [u64; 2] = [7, 4];
const CROP: [u64; 2] = [9, 6];

/// Chunks that hold an element of a box, element by element.
fn touched(bounds: &Value) -> BTreeSet<(u64, u64)> {
    let edge = |axis: usize, end: usize| bounds[axis][end].as_u64().expect("a number");
    (edge(0, 0)..edge(0, 1))
        .flat_map(|y| (edge(1, 0)..edge(1, 1)).map(move |x| (y / CHUNKS[0], x / CHUNKS[1])))
        .collect()
}

fn boxes() -> Value {
    let at = |y: u64, x: u64| json!([[y, y + CROP[0]], [x, x + CROP[1]]]);
    json!([at(0, 0), at(31, 24), at(3, 5), at(4, 5), at(13, 11)])
}

fn job(crops: Value) -> Value {
    json!({"spec": {"samples": 2, "shape": CROP, "dtype": "u8"},
        "arrays": [{"metadata": zarray(&SHAPE, &CHUNKS), "ratio": 0.5}], "crops": crops})
}

fn run(command: &str, job: &Value) -> Value {
    with_input([command, "-", "--json"], job.to_string().as_bytes()).json()
}

#[test]
fn plans_agree_with_brute_force() {
    let plan = run("plan", &job(json!({"boxes": boxes()})));
    let (mut expected, boxes) = (BTreeSet::new(), boxes());
    for (sample, bounds) in boxes.as_array().expect("boxes").iter().enumerate() {
        expected.extend(touched(bounds).into_iter().map(|chunk| (chunk, sample as u64)));
    }
    let mut found = BTreeSet::new();
    let mut copied = vec![BTreeSet::new(); 5];
    for chunk in plan["chunks"].as_array().expect("chunks") {
        let coords = (chunk["coords"][0].as_u64().expect("y"), chunk["coords"][1].as_u64().expect("x"));
        assert_eq!(chunk["key"], format!("{}.{}", coords.0, coords.1));
        for part in chunk["uses"].as_array().expect("uses") {
            let sample = part["sample"].as_u64().expect("a sample");
            assert!(found.insert((coords, sample)), "twice");
            let number = |value: &Value| value.as_u64().expect("a number");
            for (row, y) in (number(&part["source"][0][0])..number(&part["source"][0][1])).enumerate() {
                for (column, x) in (number(&part["source"][1][0])..number(&part["source"][1][1])).enumerate() {
                    let place = (coords.0 * CHUNKS[0] + y, coords.1 * CHUNKS[1] + x);
                    let target = (number(&part["target"][0]) + row as u64, number(&part["target"][1]) + column as u64);
                    let corner = &boxes[sample as usize];
                    assert_eq!(place, (number(&corner[0][0]) + target.0, number(&corner[1][0]) + target.1));
                    assert!(copied[sample as usize].insert(target), "an element is copied twice");
                }
            }
        }
    }
    assert_eq!(found, expected);
    assert!(copied.iter().all(|elements| elements.len() as u64 == CROP[0] * CROP[1]));
    let unique: BTreeSet<_> = expected.iter().map(|(chunk, _)| chunk).collect();
    let totals = &plan["totals"];
    assert_eq!(totals["decoded_bytes"], unique.len() as u64 * 7 * 4 * 2);
    assert_eq!(totals["needed_bytes"], 5 * 9 * 6 * 2);
    assert_eq!(totals["output_bytes"], 5 * 9 * 6);
    assert_eq!(totals["read_bytes"], unique.len() as u64 * 7 * 4);
    assert_eq!(plan["boxes"][1]["box"], json!([[31, 40], [24, 30]]));
}

#[test]
fn given_boxes_are_priced_as_they_are_planned() {
    let job = job(json!({"boxes": boxes()}));
    let (plan, cost) = (run("plan", &job), run("estimate", &job));
    assert_eq!(cost["certainty"], "exact");
    for figure in ["elements", "needed_bytes", "decoded_bytes", "read_bytes", "decode_waste", "read_waste"] {
        assert_eq!(cost[figure], plan["totals"][figure], "{figure}");
    }
    assert_eq!(cost["chunks"].as_f64(), plan["chunks"].as_array().map(|c| c.len() as f64));
    assert_eq!(cost["output_bytes"]["uint8"], plan["totals"]["output_bytes"]);
    assert_eq!(cost["output_bytes"]["float32"], 4 * 5 * 9 * 6);
}

#[test]
fn averages_are_those_of_many_drawn_plans() {
    for crops in [json!("uniform"), json!({"grid": {"stride": [3, 5]}})] {
        let mut job = job(crops);
        job["window"] = json!(32);
        let cost = run("estimate", &job);
        let (mut chunks, mut uses) = (0.0, 0.0);
        let draws = 40;
        for seed in 0..draws {
            job["seed"] = json!(seed);
            let plan = run("plan", &job);
            assert_eq!(plan["samples"], 32);
            let found = plan["chunks"].as_array().expect("chunks");
            chunks += found.len() as f64 / f64::from(draws);
            let of = |chunk: &Value| chunk["uses"].as_array().map_or(0, Vec::len);
            uses += found.iter().map(of).sum::<usize>() as f64 / f64::from(draws);
        }
        // 1280 crops: a standard error of well under a percent.
        let near = |expected: &Value, found: f64| (expected.as_f64().expect("a figure") / found - 1.0).abs() < 0.03;
        assert!(near(&cost["chunks"], chunks) && near(&cost["uses"], uses), "{cost} {chunks} {uses}");
    }
}

#[test]
fn a_seed_gives_the_same_crops_and_another_gives_others() {
    let mut job = job(json!("uniform"));
    let first = run("plan", &job);
    assert_eq!(first["boxes"], run("plan", &job)["boxes"]);
    job["seed"] = json!(1);
    assert_ne!(first["boxes"], run("plan", &job)["boxes"]);
    for crop in first["boxes"].as_array().expect("boxes") {
        assert!(crop["box"][0][1].as_u64() <= Some(40) && crop["box"][1][1].as_u64() <= Some(30));
    }
}

#[test]
fn weights_decide_which_array_is_drawn() {
    let mut job = job(json!("grid"));
    job["arrays"] =
        json!([{"metadata": zarray(&SHAPE, &CHUNKS), "weight": 0}, {"metadata": zarray(&SHAPE, &[40, 30])}]);
    let plan = run("plan", &job);
    assert!(plan["boxes"].as_array().expect("boxes").iter().all(|sample| sample["array"] == 1));
    let cost = run("estimate", &job);
    assert_eq!((&cost["uses"], &cost["chunks"]), (&json!(64.0), &json!(1.0)));
}

#[test]
fn boxes_are_of_the_array_that_they_name() {
    let mut job = job(json!({"boxes": [
        {"array": 1, "box": [[0, 9], [0, 6]]}, {"array": 0, "box": [[0, 9], [0, 6]]}, {"array": 1, "box": [[0, 9], [0, 6]]}]}));
    job["arrays"] = json!([{"metadata": zarray(&SHAPE, &CHUNKS)}, {"metadata": zarray(&SHAPE, &[40, 30])}]);
    let plan = run("plan", &job);
    let of = |array: u64| plan["chunks"].as_array().expect("chunks").iter().filter(|c| c["array"] == array).count();
    assert_eq!((of(0), of(1)), (4, 1));
    assert_eq!(
        (run("estimate", &job)["uses"].as_f64(), run("estimate", &job)["chunks"].as_f64()),
        (Some(6.0), Some(5.0))
    );
}

#[test]
fn options_are_the_same_job_as_json() {
    let volume = array(&SHAPE, &CHUNKS);
    let uri = text(volume.path());
    let common = ["--array", uri, "--shape", "9,6", "--samples", "2", "--dtype", "UINT8", "--ratio", "0.5", "--json"];
    let mut as_json = job(json!({"boxes": [[[0, 9], [0, 6]], [[3, 12], [5, 11]]]}));
    as_json["arrays"] = json!([{"uri": uri, "ratio": 0.5}]);
    for command in ["plan", "estimate"] {
        let boxes = [&[command][..], &common, &["--box", "0:9,:6", "--box", "3:12,5:11"]].concat();
        assert_eq!(damacy(boxes).json(), run(command, &as_json));
    }
    as_json["crops"] = json!({"grid": {"stride": [2, 3]}});
    as_json["window"] = json!(16);
    as_json["workers"] = json!(3);
    as_json["memory"] = json!("64MiB");
    as_json["advise"] = json!({"layout": 0, "lookahead": true});
    let grid = ["--grid", "16", "--stride", "2,3", "--workers", "3", "--memory", "64MiB", "--advise"];
    let run_of_options = damacy([&["estimate"][..], &common, &grid].concat()).json();
    assert_eq!(run_of_options, run("estimate", &as_json));
    assert_eq!(run_of_options["host"]["workers"], 3);
    assert!(run_of_options["layout"]["best"]["chunk_shape"].is_array() && run_of_options["lookahead"]["most"].is_u64());
}

#[test]
fn a_job_is_read_from_a_file_and_is_text_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("job.json");
    std::fs::write(&place, job(json!({"boxes": boxes()})).to_string()).expect("written");
    let plan = damacy(["plan", text(&place)]).out;
    for part in ["5 samples of (9, 6) in uint8, 2 a batch", "array 0: <u2 (40, 30), chunks (7, 4)", "read", "0.0"] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    let cost = damacy(["estimate", text(&place)]).out;
    for part in ["exact", "waste", "host memory", "device memory", "540 bytes", "270 bytes"] {
        assert!(cost.contains(part), "{part}: {cost}");
    }
    damacy(["plan", "/no/such/job.json"]).refused(13, &["/no/such/job.json"]);
    damacy(["plan", text(folder.path())]).refused(16, &["cannot be read"]);
}

#[test]
fn a_price_says_where_the_memory_is_too_little_for_its_windows() {
    let volume = array(&[256, 512, 512], &[32, 64, 64]);
    let within = |memory: &str| {
        let job = ["--array", text(volume.path()), "--shape", "64,128,128", "--samples", "8", "--uniform", "64"];
        damacy([&["estimate", "--memory", memory][..], &job].concat())
    };
    // 16 batches of 32 MiB for two windows of 64 samples; 2 batches and a decode at the least.
    for (memory, said) in [("1GiB", None), ("128MiB", Some("smaller windows")), ("64MiB", Some("would not run"))] {
        let cost = within(memory);
        assert_eq!(cost.code, 0, "{}", cost.err);
        assert!(cost.out.contains("host memory: 538,"), "{}", cost.out);
        let line = cost.out.lines().find(|line| line.contains("the pipeline may use"));
        assert_eq!(line.is_some(), said.is_some(), "{memory}: {}", cost.out);
        assert!(line.is_none_or(|line| said.is_some_and(|said| line.contains(said))), "{memory}: {}", cost.out);
    }
}

#[test]
fn limits_are_named_with_their_value_and_what_was_asked() {
    let volume = array(&[1 << 20, 1 << 20], &[1, 1]);
    let limited = |crop: &str, limits: &str| {
        damacy(["estimate", "--array", text(volume.path()), "--shape", crop, "--uniform", "1", "--limits", limits])
    };
    limited("64,64", "chunks=4095")
        .refused(20, &["BUDGET", "4096 chunks", "max_chunks is 4095", "--limits chunks=NUMBER"]);
    assert_eq!(limited("64,64", "chunks=4096").code, 0);
    limited("64,64", "memory=1").refused(20, &["memory_bytes is 1", "--limits memory=SIZE"]);
    let mut job = job(json!("uniform"));
    job["limits"] = json!({"chunks": 1});
    let refused = with_input(["plan", "-"], job.to_string().as_bytes());
    refused.refused(20, &["chunks=1", "64 crops"]);
    // The command line overrides the job.
    let run = with_input(["plan", "-", "--limits", "chunks=10000"], job.to_string().as_bytes());
    assert_eq!(run.code, 0, "{}", run.err);
}
