//! Comparisons of results whose answer is known.

use damacy_bench::compare::{Comparison, Verdict, compare};
use damacy_bench::results::{Machine, Results, Round, Run};
use serde_json::json;

/// Results of one scenario with these rates.
fn results(name: &str, dtype: &str, rates: &[f64]) -> Results {
    let rounds: Vec<Round> = rates
        .iter()
        .map(|rate| Round {
            samples_per_s: *rate,
            steady_samples_per_s: *rate,
            first_batch_s: 1.0 / rate,
            decode_waste: 0.88,
            ..Round::default()
        })
        .collect();
    let run: Run = serde_json::from_value(json!({
        "name": name, "dtype": dtype, "scenario": {}, "dataset": {"fingerprint": "f", "generate_s": null, "arrays": []},
        "crops": {"batches": 1, "warmup_batches": 0, "samples": 1, "elements": 1, "output_bytes": 4, "source_bytes": 2},
        "cold": {"setup_s": 0.0, "first_batch_s": 0.0, "pass_s": 0.0}, "rounds": rounds, "summary": {},
        "forecast": {"window": 1, "decode_waste": 1.0, "use_waste": 1.0, "read_waste": null, "memory_bytes": 1,
                     "least_memory_bytes": 1},
        "memory": {"budget_bytes": 1, "peak_bytes": 1}, "timeline": {"round": 0, "batches": []}, "peers": [], "checks": [],
    }))
    .unwrap();
    Results {
        schema_version: 1,
        created: String::new(),
        command: Vec::new(),
        machine: Machine { cpu: "one".into(), cores: 2, memory_bytes: 1, kernel: String::new(), simd: String::new() },
        versions: Default::default(),
        runs: vec![run],
    }
}

fn verdict(comparison: &Comparison, figure: &str) -> Verdict {
    comparison.differences.iter().find(|difference| difference.figure == figure).unwrap().verdict
}

#[test]
fn rounds_that_are_all_apart_are_beyond_noise_in_the_right_direction() {
    let slow = results("a", "float32", &[100.0, 103.0, 98.0, 101.0, 99.0]);
    let fast = results("a", "float32", &[110.0, 108.0, 112.0, 104.0, 109.0]);
    let better = compare(&slow, &fast).unwrap();
    for figure in ["samples_per_s", "first_batch_s"] {
        assert_eq!(verdict(&better, figure), Verdict::Better, "{figure}");
    }
    assert_eq!(verdict(&better, "decode_waste"), Verdict::Equal);
    assert_eq!(verdict(&compare(&fast, &slow).unwrap(), "first_batch_s"), Verdict::Worse);
    let difference = &better.differences[0];
    assert!((difference.ratio.unwrap() - 109.0 / 100.0).abs() < 1e-12 && (difference.p - 2.0 / 252.0).abs() < 1e-12);
    assert!(better.caveats.is_empty());
}

#[test]
fn rounds_that_overlap_are_within_noise() {
    let one = results("a", "float32", &[100.0, 103.0, 98.0, 101.0, 99.0]);
    let other = results("a", "float32", &[110.0, 108.0, 112.0, 102.0, 109.0]);
    // One round of the second lies below one of the first: p = 4 / 252.
    let comparison = compare(&one, &other).unwrap();
    assert_eq!(verdict(&comparison, "samples_per_s"), Verdict::Noise);
    assert!((comparison.differences[0].p - 4.0 / 252.0).abs() < 1e-12);
}

#[test]
fn few_rounds_tell_nothing() {
    let (one, other) = (results("a", "u8", &[1.0, 1.1, 1.2]), results("a", "u8", &[2.0, 2.1, 2.2]));
    assert_eq!(verdict(&compare(&one, &other).unwrap(), "samples_per_s"), Verdict::TooFewRounds);
}

#[test]
fn what_is_not_the_same_is_said() {
    let one = results("a", "uint8", &[1.0; 5]);
    let mut other = results("a", "uint8", &[1.0; 5]);
    other.machine.cpu = "two".into();
    other.runs[0].dataset.fingerprint = Some("g".into());
    other.runs.extend(results("b", "uint8", &[1.0]).runs);
    let caveats = compare(&one, &other).unwrap().caveats.join("\n");
    for part in [
        "the machines differ: one, 2 cores and two",
        "not the same scenario",
        "b in uint8 is in the second results alone",
    ] {
        assert!(caveats.contains(part), "{caveats}");
    }
    compare(&one, &results("a", "float32", &[1.0; 5])).expect_err("another output type is no pair");
}
