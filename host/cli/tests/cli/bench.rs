//! `damacy bench`: a whole small run, what is refused before it, interruptions, comparisons. No test looks at a speed.

use super::support::{DAMACY, damacy, fixture, repository, shell, text};
use serde_json::{Value, json};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn scenario(name: &str) -> String {
    let path = repository("host/scenarios").join(format!("{name}.json"));
    text(&path).to_owned()
}

fn entries(folder: &Path) -> Vec<String> {
    let list = std::fs::read_dir(folder).expect("a folder");
    list.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

fn write(folder: &Path, scenario: &Value) -> String {
    let path = folder.join("scenario.json");
    std::fs::write(&path, scenario.to_string()).expect("written");
    text(&path).to_owned()
}

#[test]
fn the_smoke_scenario_runs_and_its_predictions_hold() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let run = damacy(["bench", &scenario("smoke"), "--repeat", "2", "--out", text(&out), "--quiet"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    for part in ["smoke", "float32", "samples/s", "decode waste as predicted", "holds"] {
        assert!(run.out.contains(part), "{part} is not in {}", run.out);
    }
    assert!(!run.out.contains("FAILS"), "{}", run.out);
    let written = std::fs::read_to_string(out.join("results.json")).expect("results");
    let results: Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!(results["schema_version"], 1);
    let run = &results["runs"][0];
    assert!(run["checks"].as_array().is_some_and(|all| all.len() >= 4 && all.iter().all(|c| c["passed"] == true)));
    assert_eq!(run["rounds"].as_array().map(Vec::len), Some(2));
    // 12 batches of 4 crops of 16 x 32 x 32 elements of float32.
    assert_eq!(run["crops"]["output_bytes"], 12 * 4 * 16 * 32 * 32 * 4);
    let batches = run["timeline"]["batches"].as_array().expect("a time line");
    let times =
        |batch: &Value| ["formed_s", "complete_s", "popped_s", "released_s"].map(|t| batch[t].as_f64().unwrap());
    assert_eq!(batches.len(), 12);
    assert!(batches.iter().all(|batch| times(batch).is_sorted()), "{batches:?}");
    assert_eq!(entries(folder.path()), ["out"]);
}

#[test]
fn json_on_standard_output_is_what_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let data = folder.path().join("data");
    let arguments = ["bench", "smoke", "--repeat", "1", "--json", "--out", text(&out), "--data", text(&data)];
    let first = damacy(arguments).json();
    let written = std::fs::read(out.join("results.json")).expect("results");
    assert_eq!(first, serde_json::from_slice::<Value>(&written).expect("JSON"));
    let second = damacy(arguments).json();
    let generated = |results: &Value| results["runs"][0]["dataset"]["generate_s"].is_number();
    assert_eq!((generated(&first), generated(&second)), (true, false), "kept data is used again");
}

#[test]
fn a_sweep_has_all_output_types_over_one_set_of_arrays() {
    let folder = tempfile::tempdir().expect("a folder");
    let results =
        damacy(["bench", "smoke", "--sweep", "dtype", "--repeat", "1", "--json", "--out", text(folder.path())]).json();
    let names: Vec<&str> =
        results["runs"].as_array().expect("runs").iter().filter_map(|r| r["dtype"].as_str()).collect();
    let all = ["float32", "bfloat16", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"];
    assert_eq!(names, all);
}

#[test]
fn a_scenario_may_name_its_own_output_types() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = format!("{}:u16", scenario("smoke"));
    // As a file's name may have a colon too.
    let odd = folder.path().join("odd:u8.json");
    let text_of = std::fs::read_to_string(scenario("smoke")).expect("a scenario");
    std::fs::write(&odd, text_of.replace("\"smoke\"", "\"odd\"")).expect("written");
    let arguments = ["bench", "smoke:u8,BFloat16", &file, text(&odd), "--dtype", "int32", "--repeat", "1", "--json"];
    let results = damacy([&arguments[..], &["--out", text(folder.path())]].concat()).json();
    let of = |run: &Value| (run["name"].as_str().map(str::to_owned), run["dtype"].as_str().map(str::to_owned));
    let runs: Vec<_> = results["runs"].as_array().expect("runs").iter().map(of).collect();
    let expected = [("smoke", "uint8"), ("smoke", "bfloat16"), ("smoke", "uint16"), ("odd", "int32")];
    assert_eq!(runs, expected.map(|(name, dtype)| (Some(name.to_owned()), Some(dtype.to_owned()))));
    damacy(["bench", "smoke:f64"]).refused(12, &["f64", "bfloat16 (bf16)"]);
    damacy(["bench", "smoke:"]).refused(12, &["\"\" is no", "bfloat16 (bf16)"]);
    damacy(["bench", "nosuch:u8"]).refused(13, &["nosuch is no built-in scenario"]);
}

#[test]
fn arrays_given_by_uri_are_read_where_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let job = json!({"name": "given", "dataset": {"uris": [fixture("v3-shard"), fixture("v3-zstd")]},
        "sampling": {"crop": [3, 4, 5], "samples": 2, "batches": 4, "warmup": 0}});
    let path = write(folder.path(), &job);
    let results = damacy(["bench", &path, "--repeat", "1", "--json", "--out", text(folder.path())]).json();
    let run = &results["runs"][0];
    assert_eq!(
        (&run["dataset"]["fingerprint"], &run["rounds"][0]["predicted"]["read_waste"]),
        (&Value::Null, &Value::Null)
    );
    assert!(run["rounds"][0]["read_waste"].as_f64().expect("known after the pass") > 0.0);
}

#[test]
fn reading_arrays_whose_chunks_are_files_is_predicted() {
    let folder = tempfile::tempdir().expect("a folder");
    let job = json!({"name": "given", "dataset": {"uris": [fixture("v3-zstd"), fixture("v3-gzip")]},
        "sampling": {"crop": [3, 4, 5], "samples": 2, "batches": 4, "warmup": 0}});
    let run = damacy(["bench", &write(folder.path(), &job), "--repeat", "1", "--json", "--out", text(folder.path())]);
    let run = &run.json()["runs"][0];
    let round = &run["rounds"][0];
    assert!(round["read_waste"].as_f64().is_some_and(|waste| waste > 0.0));
    assert_eq!(round["predicted"]["read_waste"], round["read_waste"]);
    assert!(run["forecast"]["read_waste"].is_number());
    // Of all chunks nothing is known: only those that crops touch were looked at.
    assert_eq!(run["dataset"]["arrays"][0]["encoded_bytes"], Value::Null);
    let read =
        run["checks"].as_array().expect("checks").iter().find(|check| check["name"] == "read waste as predicted");
    assert_eq!(read.map(|check| &check["passed"]), Some(&json!(true)));
}

#[test]
fn what_cannot_run_is_refused_before_any_data_is_generated() {
    let folder = tempfile::tempdir().expect("a folder");
    let temporary = tempfile::tempdir().expect("a folder");
    let good = json!({"dataset": {"generate": {"shape": [64, 64], "chunks": [16, 16]}}, "sampling": {"crop": [8, 8]}});
    let with = |place: &str, value: Value| {
        let mut scenario = good.clone();
        *scenario.pointer_mut(place).expect("a place") = value;
        scenario
    };
    let mut tight = good.clone();
    tight["pipeline"] = json!({"memory": 1000});
    let mut wrong = good.clone();
    wrong["pipeline"] = json!({"dtype": "float64"});
    let mut gpu = good.clone();
    gpu["pipeline"] = json!({"executor": "cuda", "engine": "sandbox"});
    for (scenario, code, parts) in [
        (gpu, 12, ["/pipeline/executor: cuda was given; accepted is cpu: CUDA is not available: ", "/pipeline/engine"]),
        (tight, 20, ["/pipeline/memory: 1000 bytes was given", "BUDGET"]),
        (wrong, 12, ["/pipeline/dtype", "bfloat16 (bf16)"]),
        (with("/sampling/crop", json!([8, 0])), 12, ["/sampling/crop/1", "from 1"]),
        (
            json!({"dataset": {"uris": ["/no/such/array"]}, "sampling": {"crop": [0]}, "pipeline": {"dtype": "f64", "memory": 0}}),
            12,
            ["/dataset/uris/0: /no/such/array", "/pipeline/memory: 0 bytes was given"],
        ),
        (with("/dataset", json!({"uris": ["/no/such/array"]})), 13, ["/dataset/uris/0: /no/such/array", "NOTFOUND"]),
        (with("/dataset", json!({"uris": [fixture("v3-zstd")]})), 15, ["/sampling/crop", "3 axes"]),
        (with("/dataset", json!({"uris": [fixture("v3-zstd"), fixture("v3-zstd")]})), 12, ["/dataset/uris/1", "once"]),
    ] {
        let path = write(folder.path(), &scenario);
        let out = folder.path().join("out");
        // Without a GPU, on any machine.
        let line = format!(
            "CUDA_VISIBLE_DEVICES= TMPDIR={} $DAMACY bench smoke {path} --out {}",
            text(temporary.path()),
            text(&out)
        );
        shell(&line).refused(code, &parts);
        assert!(entries(temporary.path()).is_empty() && !out.exists());
    }
}

#[test]
fn all_scenarios_that_are_refused_are_told_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = write(folder.path(), &json!({"dataset": {"uris": ["/no/such/array"]}, "sampling": {"crop": [0]}}));
    let parts = ["3 scenarios are refused", "nosuch", "/sampling/crop/0: 0 was given", "/dataset/uris/0", "f64"];
    damacy(["bench", "nosuch", "smoke", &path, "smoke:f64"]).refused(12, &parts);
    // Files by their names; arrays that are missing, though another file has faults of its own; memory that is too small for
    // two batches, whatever the arrays are; and once, in however many types.
    let missing = json!({"name": "example", "dataset": {"uris": ["/no/such/array"]}, "sampling": {"crop": [64]},
        "pipeline": {"memory": 1000}});
    let other = folder.path().join("other.json");
    std::fs::write(&other, missing.to_string()).expect("written");
    let other = text(&other);
    let head = format!("the scenario example ({other}) has 2 faults");
    let parts = [
        "3 scenarios are refused",
        "nosuch",
        &head,
        "/dataset/uris/0: /no/such/array",
        "/pipeline/memory: 1000 bytes was given; accepted are more than 4096 bytes: 2 x 2048 (batches of 8 samples of [64] in \
         float32)",
    ];
    damacy(["bench", &path, other, "nosuch", "smoke"]).refused(12, &parts);
    let again = other.replace("other.json", "again.json");
    std::fs::write(&again, json!({"dataset": {"uris": ["/no/such/array"]}, "sampling": {"crop": [64]}}).to_string())
        .expect("written");
    let head = format!("damacy: NOTFOUND: the scenario {again} has 1 fault\n");
    damacy(["bench", &again, "--sweep", "dtype"]).refused(13, &[&head]);
    // Enough for its own type, and for one of those that are asked for.
    let narrow = json!({"dataset": {"generate": {"shape": [4096], "chunks": [64]}}, "sampling": {"crop": [4096]},
        "pipeline": {"dtype": "u8", "memory": 1_250_000}});
    std::fs::write(&again, narrow.to_string()).expect("written");
    let parts =
        ["2 scenarios are refused", "in float32 has 1 fault", "in uint64 has 1 fault", "/pipeline/memory: 1250000"];
    damacy(["bench", &again, "--dtype", "u8,f32,u64"]).refused(20, &parts);
}

#[test]
fn wrong_arguments_say_what_is_accepted() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "{}").expect("written");
    damacy(["bench"]).refused(2, &["SCENARIO"]);
    damacy(["bench", "smoke", "--repeat", "0"]).refused(2, &["1..=100"]);
    damacy(["bench", "smoke", "--open", "perhaps"]).refused(2, &["auto, always, never"]);
    damacy(["bench", "smoke", "--search-time", "0"]).refused(2, &["accepted are seconds above 0"]);
    damacy(["bench", "smoke", "--sweep", "engine"]).refused(2, &["dtype"]);
    damacy(["bench", "smoke", "--dtype", "u8,f64"]).refused(12, &["f64", "bfloat16 (bf16)"]);
    damacy(["bench", "smoke", "--dtype", "u8,uint8"]).refused(12, &["two scenarios are called smoke in uint8"]);
    damacy(["bench", "defualt"]).refused(13, &["cached; did you mean default?) and cannot be read"]);
    damacy(["bench", "nosuch"]).refused(13, &["nosuch is no built-in scenario (smoke, default,"]);
    damacy(["bench", &scenario("scenario.schema")]).refused(12, &["scenario.schema.json is a schema, no scenario"]);
    damacy(["bench", "smoke", "smoke"]).refused(12, &["two scenarios are called smoke in float32"]);
    damacy(["bench", "smoke", "--peers", "dask"])
        .refused(12, &["\"dask\" is no peer; accepted are tensorstore, zarr, zarrs"]);
    damacy(["bench", "smoke", "--peers", "zarr", "--python", "/no/such"]).refused(13, &["/no/such cannot be started"]);
    damacy(["bench", "smoke", "--peers", "zarr", "--python", "false"])
        .refused(12, &["false cannot import damacy.bench.peer"]);
    damacy(["bench", "smoke", "--out", text(&file)]).refused(12, &["is no folder"]);
    damacy(["bench", "compare", text(&file), text(&file)]).refused(12, &["holds no results of a benchmark"]);
    std::fs::write(&file, r#"{"schema_version": 99}"#).expect("written");
    damacy(["bench", "compare", text(&file), text(&file)]).refused(12, &["version 99", "accepted is version 1"]);
}

#[test]
fn results_are_compared_with_themselves() {
    let folder = tempfile::tempdir().expect("a folder");
    damacy(["bench", "smoke", "--repeat", "5", "--quiet", "--out", text(folder.path())]);
    let results = folder.path().join("results.json");
    let compared = damacy(["bench", "compare", text(&results), text(&results)]);
    assert_eq!(compared.code, 0, "{}", compared.err);
    assert!(compared.out.contains("within noise") && !compared.out.contains("beyond noise\n"), "{}", compared.out);
    let json = damacy(["bench", "compare", text(&results), text(&results), "--json"]).json();
    assert_eq!(json["differences"].as_array().map(Vec::len), Some(7));
}

/// Runs a benchmark whose temporary data goes to `temporary`.
fn start(scenario: &str, temporary: &Path, out: &Path) -> Child {
    Command::new(DAMACY)
        .args(["bench", scenario, "--repeat", "100", "--out", text(out)])
        .env("TMPDIR", temporary)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts")
}

/// Waits until there is a data folder for which `there` holds.
fn wait_for(temporary: &Path, there: impl Fn(&Path) -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !entries(temporary).iter().any(|name| there(&temporary.join(name))) {
        assert!(Instant::now() < until, "no data after a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_interruption_leaves_no_results_and_no_data() {
    for (scenario, complete, signal) in [("default", false, "INT"), ("smoke", true, "TERM"), ("smoke", true, "INT")] {
        let (temporary, place) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let out = place.path().join("out");
        let mut child = start(scenario, temporary.path(), &out);
        // While the arrays are written, or while the passes run.
        wait_for(temporary.path(), |folder| !complete || folder.join("damacy-bench.json").exists());
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(shell(&format!("kill -{signal} {}", child.id())).code, 0);
        let status = child.wait().expect("it ends");
        assert_eq!(status.signal(), Some(if signal == "INT" { 2 } else { 15 }), "{scenario} {signal}");
        assert!(entries(temporary.path()).is_empty(), "{:?}", entries(temporary.path()));
        assert!(!out.exists());
    }
}

#[test]
fn the_next_run_removes_what_a_killed_one_has_left() {
    let (temporary, place) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let mut child = start("smoke", temporary.path(), &place.path().join("out"));
    wait_for(temporary.path(), |folder| folder.join("damacy-bench.json").exists());
    let [left] = &entries(temporary.path())[..] else { panic!("one folder") };
    let left = temporary.path().join(left);
    let again = |out: &str| {
        // As if it had been there for an hour.
        assert_eq!(shell(&format!("touch -d '1 hour ago' {}", text(&left))).code, 0);
        let out = place.path().join(out);
        shell(&format!("TMPDIR={} $DAMACY bench smoke --repeat 1 --out {}", text(temporary.path()), text(&out)))
    };
    let beside = again("beside");
    assert!(beside.code == 0 && left.exists(), "data in use: {}", beside.err);
    child.kill().expect("SIGKILL");
    child.wait().expect("it ends");
    assert!(left.exists());
    let after = again("after");
    assert!(after.code == 0 && after.err.contains("a run that was killed had left"), "{}", after.err);
    assert!(entries(temporary.path()).is_empty(), "{:?}", entries(temporary.path()));
}

#[test]
fn the_schema_and_the_built_in_scenarios_are_printed() {
    let committed = std::fs::read_to_string(repository("host/scenarios/scenario.schema.json")).expect("a schema");
    assert_eq!(damacy(["bench", "schema"]).out, committed);
    let list = damacy(["bench", "list"]).out;
    assert!(list.lines().count() == 11 && list.contains("held-batches"), "{list}");
}
