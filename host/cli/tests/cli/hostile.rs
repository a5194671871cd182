//! Jobs that someone made to do harm, or in a hurry: a typed refusal each, at once, and never a panic.

use super::support::{Run, damacy, text, with_input, zarray};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn run(command: &str, job: &[u8]) -> Run {
    let start = Instant::now();
    let run = with_input([command, "-", "--limits", "deadline=1s"], job);
    assert!(start.elapsed() < Duration::from_secs(10), "it took {:?}", start.elapsed());
    assert!(!run.err.contains("panicked"), "{}", run.err);
    run
}

fn job() -> Value {
    json!({"spec": {"samples": 2, "shape": [4, 4], "dtype": "f32"},
        "arrays": [{"metadata": zarray(&[16, 16], &[4, 4])}], "crops": {"boxes": [[[0, 4], [0, 4]]]}})
}

#[test]
fn the_job_that_others_are_made_of_runs() {
    for command in ["plan", "estimate"] {
        let run = run(command, job().to_string().as_bytes());
        assert_eq!(run.code, 0, "{}", run.err);
    }
}

#[test]
fn every_fault_is_told_at_once_with_its_place() {
    let faulty = json!({
        "spec": {"samples": -1, "shape": [4, 0, 1.5], "dtype": "f64", "color": 1},
        "arrays": [5, {"uri": "a", "metadata": {}}, {"metadata": {"zarr_format": 4}}, {"uri": 7, "ratio": "x"}],
        "crops": {"boxes": [[[0]], {"array": 9, "box": [[0, -4]]}, "all"]},
        "window": 0, "limits": {"memory": "64 apples", "deadline": 0, "chunks": 1e3}, "advise": {"layout": 4}, "extra": null
    });
    let run = run("plan", faulty.to_string().as_bytes());
    let places = [
        "/spec/samples: -1",
        "/spec/shape/1: 0",
        "/spec/shape/2: 1.5",
        "/spec/dtype: \"f64\"",
        "/spec/color: unknown",
        "/arrays/0: 5",
        "/arrays/1:",
        "/arrays/2/metadata:",
        "/arrays/3/uri: 7",
        "/arrays/3/ratio: \"x\"",
        "/crops/boxes/0/0:",
        "/crops/boxes/1/array: 9",
        "/crops/boxes/1/box/0/1: -4",
        "/crops/boxes/2: \"all\"",
        "/window: 0",
        "/limits/memory: \"64 apples\"",
        "/limits/deadline: \"0\"",
        "/limits/chunks: 1000.0",
        "/advise/layout: 4",
        "/extra: unknown",
    ];
    run.refused(12, &places);
    for line in run.err.lines().skip(1) {
        assert!(line.contains("accepted"), "{line}");
    }
}

#[test]
fn boxes_and_strides_that_do_not_fit_the_spec_are_all_told() {
    for command in ["plan", "estimate"] {
        let mut changed = job();
        changed["crops"]["boxes"] = json!([[[0, 4], [0, 4]], [[0, 5], [0, 4]], [[0, 4]], [[0, 4], [9, 3]]]);
        let refused = run(command, changed.to_string().as_bytes());
        refused.refused(
            12,
            &["3 faults", "/crops/boxes/1: [0, 5]", "axis 0", "/crops/boxes/2: ", "/crops/boxes/3: [9, 3]"],
        );
        assert_eq!(refused.err.matches("accepted is").count(), 3, "{}", refused.err);
        changed["crops"] = json!({"grid": {"stride": [1, 2, 3]}});
        changed["arrays"][0]["weight"] = json!(0);
        run(command, changed.to_string().as_bytes()).refused(12, &["2 faults", "/crops/grid/stride: 3", "/arrays: "]);
    }
}

#[test]
fn arrays_that_cannot_be_opened_are_all_told() {
    let mut changed = job();
    let good = changed["arrays"][0].clone();
    changed["crops"] = json!("uniform");
    changed["arrays"] = json!(["/nowhere/a", good, {"metadata": zarray(&[16], &[0])}, "/nowhere/b"]);
    let refused = run("plan", changed.to_string().as_bytes());
    refused
        .refused(12, &["3 faults", "/arrays/0: /nowhere/a", "/arrays/2/metadata/chunks/0: ", "/arrays/3: /nowhere/b"]);
    // All of one status: that one's exit code. Of very many the first are told.
    changed["arrays"] = json!(vec!["/nowhere/a"; 1000]);
    run("estimate", changed.to_string().as_bytes())
        .refused(13, &["the job up to array 49 has 50 faults", "/arrays/49: "]);
    damacy(["plan", "--array", "/nowhere/a", "--array", "/nowhere/b", "--shape", "4"])
        .refused(13, &["2 faults", "--array 1: /nowhere/a", "--array 2: /nowhere/b"]);
}

#[test]
fn many_faults_are_counted_and_some_are_told() {
    let mut faulty = job();
    faulty["crops"]["boxes"] = json!(vec![json!("x"); 100_000]);
    let run = run("plan", faulty.to_string().as_bytes());
    run.refused(12, &["100000 faults", "/crops/boxes/0", "and 99950 more"]);
    assert!(run.err.len() < 20_000);
}

#[test]
fn what_is_no_json_is_refused() {
    let deep = "[".repeat(1_000_000);
    let in_array = format!(r#"{{"arrays": {}1{}}}"#, "[".repeat(1000), "]".repeat(1000));
    for text in [
        "",
        " ",
        "{",
        "nul",
        "1e999",
        r#"{"window": 1e999}"#,
        r#"{"window": 01}"#,
        "\u{0}",
        deep.as_str(),
        &in_array,
        "{} {}",
    ] {
        run("estimate", text.as_bytes()).refused(12, &["INVAL", "JSON"]);
    }
    run("estimate", b"{\"spec\": \"\xff\"}").refused(12, &["JSON"]);
    run("plan", br#"{"window": 1, "window": 2, "spec": {"shape": [], "shape": []}}"#)
        .refused(12, &["/window: given twice", "/spec/shape: given twice", "/arrays: missing"]);
    run("plan", b"[]").refused(12, &["/: a list of 0"]);
}

#[test]
fn extreme_numbers_are_typed_errors() {
    const MAX: u64 = u64::MAX;
    let shapes: [(&str, Value); 5] = [
        ("/spec/samples", json!(MAX)),
        ("/spec/shape", json!([MAX, MAX])),
        ("/spec/shape", json!(vec![1; 1000])),
        ("/window", json!(MAX)),
        ("/memory", json!(0)),
    ];
    for command in ["plan", "estimate"] {
        for (place, value) in &shapes {
            let mut changed = job();
            match changed.pointer_mut(place) {
                Some(there) => *there = value.clone(),
                None => changed[&place[1..]] = value.clone(),
            }
            let run = run(command, changed.to_string().as_bytes());
            assert!([0, 12, 15, 20].contains(&run.code), "{place} {value}: {} {}", run.code, run.err);
        }
        for bounds in [
            json!([[MAX - 4, MAX], [0, 4]]),
            json!([[i64::MAX, i64::MAX as u64 + 4], [0, 4]]),
            json!([[4, 0], [0, 4]]),
            json!([[0, 0], [0, 4]]),
            json!([[0, MAX], [0, 4]]),
            json!([[13, 17], [0, 4]]),
            json!([]),
            json!(vec![[0, 4]; 40]),
        ] {
            let mut changed = job();
            changed["crops"]["boxes"] = json!([[[0, 4], [0, 4]], bounds]);
            run(command, changed.to_string().as_bytes()).refused(12, &["/crops/boxes/1"]);
        }
        let mut changed = job();
        changed["crops"]["boxes"] = json!([[[i64::MIN, 4], [0, 4]]]);
        run(command, changed.to_string().as_bytes()).refused(12, &["/crops/boxes/0/0/0", "-9223372036854775808"]);
    }
}

#[test]
fn hostile_metadata_is_refused_in_the_sandbox_by_place() {
    let mut document = zarray(&[16, 16], &[4, 4]);
    for (key, value, code) in [
        ("shape", json!([-1, 16]), 17),
        ("shape", json!([u64::MAX, u64::MAX]), 0),
        ("shape", json!(vec![1; 100]), 20),
        ("chunks", json!([0, 4]), 17),
        ("chunks", json!([4]), 17),
        ("chunks", json!([u64::MAX, u64::MAX]), 20),
        ("dtype", json!("<f8"), 14),
        ("dtype", json!("<q9"), 22),
        ("compressor", json!({"id": "lzma"}), 22),
        ("fill_value", json!(70000), 17),
        ("order", json!("Z"), 17),
    ] {
        let good = document[key].clone();
        document[key] = value.clone();
        let mut changed = job();
        changed["arrays"] = json!([{"metadata": document}]);
        for command in ["plan", "estimate"] {
            let run = run(command, changed.to_string().as_bytes());
            assert_eq!(run.code, code, "{key} {value}: {}", run.err);
            assert!(code == 0 || run.err.contains("/arrays/0") || run.err.contains("array 0"), "{}", run.err);
        }
        document[key] = good;
    }
    // A repeated key reaches the sandbox's parser as it stands.
    let twice = job().to_string().replacen("\"order\":\"C\"", "\"order\":\"C\",\"order\":\"C\"", 1);
    assert_ne!(twice, job().to_string());
    run("plan", twice.as_bytes()).refused(17, &["order", "/arrays/0/metadata"]);
}

#[test]
fn drawn_crops_that_fit_nowhere_are_refused() {
    for command in ["plan", "estimate"] {
        for crops in ["uniform", "grid"] {
            let mut changed = job();
            changed["crops"] = json!(crops);
            changed["spec"]["shape"] = json!([17, 4]);
            run(command, changed.to_string().as_bytes()).refused(12, &["outside", "array 0"]);
            changed["spec"]["shape"] = json!([4]);
            run(command, changed.to_string().as_bytes()).refused(15, &["RANK"]);
            changed["spec"]["shape"] = json!([4, 4]);
            changed["arrays"][0]["weight"] = json!(0);
            run(command, changed.to_string().as_bytes()).refused(12, &["weight"]);
        }
        let mut changed = job();
        changed["crops"] = json!({"grid": {"stride": [1]}});
        run(command, changed.to_string().as_bytes()).refused(12, &["stride"]);
    }
}

#[test]
fn a_job_beyond_the_size_limit_is_refused() {
    let run = run("plan", &b" ".repeat((8 << 20) + 1));
    run.refused(20, &["8388608"]);
}

#[test]
fn repeated_keys_take_no_longer_than_others() {
    // Behind keys that they are not, so that comparing each with all before it would take 4e10 steps.
    let repeated = format!("{{{}{}\"seed\":1}}", "\"color\":1,".repeat(200_000), "\"window\":1,".repeat(200_000));
    let start = Instant::now();
    // 200,000 unknown, 199,999 given twice, and spec and arrays missing.
    run("plan", repeated.as_bytes()).refused(12, &["400001 faults", "/color: unknown"]);
    assert!(start.elapsed() < Duration::from_secs(3), "it took {:?}", start.elapsed());
    let box_keys = format!("{{{}\"box\":[[0,4],[0,4]]}}", "\"array\":0,".repeat(200_000));
    let boxes = job().to_string().replace("[[0,4],[0,4]]", &box_keys);
    let start = Instant::now();
    run("plan", boxes.as_bytes()).refused(12, &["199999 faults", "/crops/boxes/0/array: given twice"]);
    assert!(start.elapsed() < Duration::from_secs(3), "it took {:?}", start.elapsed());
}

#[test]
fn a_name_cannot_pretend_to_be_another_message() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = folder.path().join("none\ndamacy: OK: all is well\r\ndamacy: OK");
    let single = damacy(["inspect", text(&name)]);
    single.refused(13, &["none\\ndamacy: OK: all is well"]);
    assert_eq!(single.err.lines().count(), 1, "{}", single.err);
    let mut changed = job();
    changed["arrays"] = json!([text(&name)]);
    let in_a_job = run("estimate", changed.to_string().as_bytes());
    assert_eq!((in_a_job.code, in_a_job.err.lines().count()), (13, 1), "{}", in_a_job.err);
    changed["x\ndamacy: OK: all is well"] = json!(1);
    let fault = run("estimate", changed.to_string().as_bytes());
    assert_eq!((fault.code, fault.err.lines().count()), (12, 2), "{}", fault.err);
}
