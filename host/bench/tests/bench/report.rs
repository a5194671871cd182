//! Reports on results that are made up: peers, sweeps, odd and hostile figures and names.

use damacy_bench::compare::compare;
use damacy_bench::report;
use damacy_bench::results::{BatchTimes, Results, Round, Run};
use damacy_bench::table;
use serde_json::{Value, json};

const EVIL: &str = "</title><script>alert('x')</script><img src=x onerror=alert(1)>\" onload=\"a";

fn run(name: &str, dtype: &str, rates: &[f64]) -> Run {
    let rounds: Vec<Round> =
        rates.iter().map(|rate| Round { samples_per_s: *rate, pass_s: 48.0 / rate, ..Round::default() }).collect();
    serde_json::from_value(json!({
        "name": name, "dtype": dtype, "scenario": {}, "dataset": {"fingerprint": "f", "generate_s": null, "arrays": [
            {"name": name, "data_type": "uint16", "shape": [40, 96], "chunks": [8, 16], "shards": null, "codecs": [name],
             "decoded_bytes": 1000, "encoded_bytes": null}]},
        "crops": {"batches": 12, "warmup_batches": 2, "samples": 4, "elements": 16384, "output_bytes": 3145728,
                  "source_bytes": 1736704},
        "cold": {"setup_s": 0.01, "first_batch_s": 0.02, "pass_s": 0.1}, "rounds": rounds, "summary": {},
        "forecast": {"window": 16, "decode_waste": 1.0, "use_waste": 4.0, "read_waste": null, "memory_bytes": 1,
                     "least_memory_bytes": 1},
        "memory": {"budget_bytes": 67108864, "peak_bytes": 4735652}, "timeline": {"round": 0, "batches": []}, "peers": [],
        "checks": [{"name": "decode waste as predicted", "passed": true, "detail": "1.00 measured"}],
    }))
    .unwrap()
}

fn results(runs: Vec<Run>) -> Results {
    let machine = json!({"cpu": EVIL, "cores": 2, "memory_bytes": 1, "kernel": EVIL, "simd": EVIL});
    Results {
        schema_version: 1,
        created: EVIL.into(),
        command: vec!["damacy".into(), EVIL.into()],
        machine: serde_json::from_value(machine).unwrap(),
        versions: [(EVIL.to_owned(), EVIL.to_owned())].into(),
        runs,
    }
}

fn peer(name: &str, more: Value) -> damacy_bench::peers::PeerResult {
    let mut peer = json!({
        "name": name, "version": null, "unavailable": null, "setting": {}, "search": [], "rounds": [], "samples_per_s": null,
        "ratio": null, "equality": null, "lead_from_decodes_avoided": null,
    });
    let Value::Object(more) = more else { panic!("an object") };
    peer.as_object_mut().unwrap().extend(more);
    serde_json::from_value(peer).unwrap()
}

#[test]
fn nothing_in_results_becomes_markup() {
    let mut evil = run(EVIL, EVIL, &[1.0, 2.0]);
    evil.scenario.name = EVIL.into();
    evil.scenario.description = EVIL.into();
    evil.scenario.dataset.uris = Some(vec![EVIL.into()]);
    evil.checks[0].passed = false;
    evil.checks[0].name = EVIL.into();
    evil.checks[0].detail = EVIL.into();
    evil.peers = vec![
        peer(EVIL, json!({"unavailable": EVIL})),
        peer(
            EVIL,
            json!({
                "version": EVIL, "setting": {EVIL: EVIL}, "search": [{"setting": {EVIL: EVIL}, "pass_s": [1.0]}],
                "rounds": [{"before_s": 1.0, "after_s": 1.0}],
                "samples_per_s": {"n": 1, "median": 1.0, "min": 1.0, "q1": 1.0, "q3": 1.0, "max": 1.0},
                "ratio": {"n": 1, "median": 1.0, "min": 1.0, "q1": 1.0, "q3": 1.0, "max": 1.0},
                "equality": {"elements": 1, "differing": 1, "note": EVIL}, "lead_from_decodes_avoided": 0.5,
            }),
        ),
    ];
    let other = run(EVIL, "uint8", &[1.0, 2.0]);
    let results = results(vec![evil, other]);
    let compared = compare(&results, &results).unwrap();
    for page in [report::results(&results), report::comparison(&compared, (EVIL, &results), (EVIL, &results))] {
        for markup in ["<script", "<img", "onerror=alert(1)>", "\" onload=\""] {
            assert!(!page.contains(markup), "{markup}");
        }
        assert!(page.matches("&lt;script&gt;alert(&#39;x&#39;)").count() > 20);
        assert_eq!(page.matches("</title>").count(), page.matches("<title>").count());
    }
}

#[test]
fn the_page_needs_nothing_else() {
    let page = report::results(&results(vec![run("a", "float32", &[1.0])]));
    assert!(page.contains("default-src 'none'"));
    for outside in ["http:", "https:", "//", "src=\"", "@import", "{title}", "{content}"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn a_place_of_the_template_in_a_name_stays_a_name() {
    let page = report::results(&results(vec![run("{content}{style}{lead}", "float32", &[1.0])]));
    assert!(page.contains("<h2>{content}{style}{lead} in float32</h2>"));
    assert_eq!(page.matches("<main").count(), 1);
}

#[test]
fn headline_ratio_and_equality_are_the_results() {
    let mut one = run("a", "float32", &[300.0, 400.0, 350.0]);
    // More than the peer's cache.
    one.dataset.arrays[0].decoded_bytes = 134_217_729;
    one.peers = vec![
        peer(
            "tensorstore",
            json!({
                "version": "0.1.86", "setting": {"cache_bytes": 134_217_728, "how": "read"},
                "search": [{"setting": {"how": "cast"}, "pass_s": [0.5]}, {"setting": {"cache_bytes": 134_217_728, "how": "read"}, "pass_s": [0.25, 0.35, 0.3]}],
                "rounds": [{"before_s": 0.3, "after_s": 0.34}],
                "samples_per_s": {"n": 1, "median": 241.0, "min": 231.0, "q1": 1.0, "q3": 1.0, "max": 262.0},
                "ratio": {"n": 3, "median": 1.49, "min": 1.31, "q1": 1.0, "q3": 1.0, "max": 1.6},
                "equality": {"elements": 134_217_728, "differing": 12, "note": "NaN payloads"}, "lead_from_decodes_avoided": 0.8,
            }),
        ),
        peer("zarrs", json!({"unavailable": "no module zarrs"})),
        peer(
            "zarr",
            json!({
                "setting": {"requests": 2}, "sample_batches": 3,
                "search": [{"setting": {"requests": 10}, "sample_s": 0.375, "pass_s": []},
                           {"setting": {"requests": 2}, "sample_s": 0.125, "pass_s": [0.625]}],
            }),
        ),
    ];
    let mut held = one.clone();
    held.dataset.arrays[0].decoded_bytes = 134_217_728;
    let page = report::results(&results(vec![held]));
    assert!(page.contains("its cache avoids the same decodes, so none of the lead") && !page.contains("80 % at most"));
    let results = results(vec![one]);
    let absent = "a in float32 ran without zarrs: no module zarrs";
    let table = table::results(&results);
    assert!(table.contains(&format!("note: {absent}\n")));
    assert!(table.contains("its best setting: all 2 settings tried on the whole pass\n"));
    let sampled = "all 2 settings looked at on the first 3 of 12 batches, 1 of them then tried on the whole pass";
    assert!(table.contains(&format!("its best setting: {sampled}\n")));
    let page = report::results(&results);
    for text in [
        absent,
        sampled,
        "First 3 of 12 batches with each setting, fastest first",
        "requests: 10: 375 ms",
        "<td class=\"figure\">375 ms</td><td class=\"figure\">–</td>",
        "<td class=\"figure\">125 ms</td><td class=\"figure\">625 ms</td>",
        "<strong>350.0</strong> samples/s",
        "1.49 (1.31 to 1.60) times as many samples a second as tensorstore: more in every round",
        "tensorstore: 241.0 (231.0 to 262.0) samples/s, with cache: 128 MiB, how: read.",
        "differ from ours in 12 of 134,217,728 elements (under 0.1 %): NaN payloads",
        "decodes avoided explain 80 % at most",
        "No figures: no module zarrs",
        "Search: all 2 settings of tensorstore that were tried",
        // (0.3 + 0.34) / 2 against 48 / 300.
        "<td class=\"figure\">2.00</td>",
        "✓ The check holds",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // The setting of the rounds is the fastest of the search, and marked.
    let (fast, slow) = (
        page.find("<text class=\"label\" x=\"0\" y=\"14\" text-anchor=\"start\">✓ cache: 128 MiB, how: read").unwrap(),
        page.find("how: cast: 500 ms").unwrap(),
    );
    assert!(fast < slow);
}

#[test]
fn a_sweep_is_compared_by_samples() {
    let page = report::results(&results(vec![run("a", "float32", &[100.0]), run("a", "uint8", &[150.0])]));
    for text in ["Output types", "output bytes a second are not comparable between widths", "/ float32", "1.50"] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn odd_figures_are_shown_as_they_are() {
    let mut one = run("a", "float32", &[]);
    assert!(report::results(&results(vec![one.clone()])).contains("Median of 0 rounds"));
    let huge = Round { samples_per_s: 1e300, pass_s: f64::INFINITY, chunks_decoded: u64::MAX, ..Round::default() };
    one.rounds = vec![huge, Round::default()];
    one.crops.batches = u64::MAX;
    one.crops.elements = 0;
    one.memory.budget_bytes = 0;
    let batch = |id| BatchTimes {
        id,
        window: id,
        formed_s: -1.0,
        complete_s: f64::NAN,
        popped_s: 1e300,
        ..BatchTimes::default()
    };
    one.timeline.batches = (0..100_000).map(batch).collect();
    let page = report::results(&results(vec![one.clone(), one]));
    assert!(page.contains("Shown are the first 60 of 100,000 batches"));
    for wrong in ["NaN", "inf%", "width=\"-", " x=\"-", "x1=\"-", "x2=\"-"] {
        assert!(!page.contains(wrong), "{wrong}");
    }
    assert!(page.len() < 500_000, "{}", page.len());
    assert!(report::results(&results(Vec::new())).contains("Benchmark: 0 runs"));
}

/// Every number of a JSON tree, one after the other, in place of which `change` puts others.
fn numbers<'a>(value: &'a mut Value, found: &mut Vec<&'a mut Value>) {
    match value {
        Value::Number(_) => found.push(value),
        Value::Array(entries) => entries.iter_mut().for_each(|entry| numbers(entry, found)),
        Value::Object(members) => members.values_mut().for_each(|member| numbers(member, found)),
        _ => {}
    }
}

/// Nothing in a text looks like a figure that is none.
fn has_only_figures(text: &str, about: &str) {
    for wrong in ["inf", "NaN"] {
        let at = text.match_indices(wrong).map(|(at, _)| at);
        // Not inside of words, such as those of the style sheet.
        let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphabetic() || c == '-');
        let figure =
            |at: &usize| !letter(text[..*at].chars().next_back()) && !letter(text[at + wrong.len()..].chars().next());
        let found: Vec<&str> =
            at.filter(figure).map(|at| &text[at.saturating_sub(40)..(at + 40).min(text.len())]).collect();
        assert!(found.is_empty(), "{about}: {found:?}");
    }
    let digits = text.split(|c: char| !c.is_ascii_digit()).map(str::len).max();
    assert!(digits < Some(25), "{about}: a figure of {digits:?} digits");
}

#[test]
fn any_number_in_results_comes_out_as_a_figure_or_as_unknown() {
    let mut one = run("a", "float32", &[300.0, 400.0, 350.0]);
    let spread = json!({"n": 1, "median": 1.0, "min": 1.0, "q1": 1.0, "q3": 1.0, "max": 1.0});
    one.peers = vec![peer(
        "tensorstore",
        json!({
            "setting": {"cache_bytes": 134_217_728}, "search": [{"setting": {"how": "cast"}, "pass_s": [0.5]}],
            "rounds": [{"before_s": 0.3, "after_s": 0.34}], "samples_per_s": spread, "ratio": spread, "peak_memory_bytes": 1,
            "equality": {"elements": 134, "differing": 12, "note": null}, "lead_from_decodes_avoided": 0.8,
        }),
    )];
    one.timeline.batches = vec![BatchTimes::default()];
    let good = results(vec![one.clone(), run("a", "uint8", &[1.0])]);
    let tree = serde_json::to_value(&good).unwrap();
    let count = {
        let (mut tree, mut found) = (tree.clone(), Vec::new());
        numbers(&mut tree, &mut found);
        found.len()
    };
    assert!(count > 100, "{count}");
    let extremes = [json!(1e308), json!(-1e308), json!(0.0), json!(u64::MAX), json!(0)];
    for extreme in &extremes {
        // Each number on its own, then all of them.
        for which in 0..=count {
            let (mut changed, mut found) = (tree.clone(), Vec::new());
            numbers(&mut changed, &mut found);
            for (_, number) in found.into_iter().enumerate().filter(|(index, _)| *index == which || which == count) {
                if number.is_f64() == extreme.is_f64() {
                    *number = extreme.clone();
                }
            }
            let Ok(odd) = serde_json::from_value::<Results>(changed) else { continue };
            let about = format!("{extreme} as number {which}");
            has_only_figures(&report::results(&odd), &about);
            has_only_figures(&table::results(&odd), &about);
            for (first, second) in [(&good, &odd), (&odd, &good)] {
                let compared = compare(first, second).unwrap();
                has_only_figures(&table::comparison(&compared), &about);
                has_only_figures(&report::comparison(&compared, ("1", first), ("2", second)), &about);
            }
        }
    }
}

#[test]
fn a_comparison_says_what_is_beyond_noise() {
    let slow = results(vec![run("a", "float32", &[100.0, 103.0, 98.0, 101.0, 99.0])]);
    let fast = results(vec![run("a", "float32", &[110.0, 108.0, 112.0, 104.0, 109.0])]);
    let page = report::comparison(&compare(&slow, &fast).unwrap(), ("one.json", &slow), ("two.json", &fast));
    for text in [
        "Of 7 figures: 1 better beyond noise, 6 equal.",
        "First: one.json. Second: two.json.",
        "▲ better, beyond noise; second / first: 1.090",
    ] {
        assert!(page.contains(text), "{text}");
    }
}
