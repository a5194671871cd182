//! Fuel and figures.

use crate::support::{DOCUMENT, array, boxes, document, patient, pool, spec};
use damacy::Status;
use damacy::pool::{Arrays, Kind, PlanJob, TenantLimits};
use damacy_core::metadata::MetadataLimits;
use std::time::Duration;

#[test]
fn the_same_call_burns_the_same_fuel_and_a_larger_one_more() {
    let metered = TenantLimits { fuel: Some(1 << 40), ..patient() };
    let pool = pool(metered, 2);
    let (arrays, spec, samples) = ([array()], spec(129), boxes(129, &[1, 300, 900]));
    let job = |count| PlanJob::new(&spec, Arrays::Parsed(&arrays), &samples[..count]);
    let fuel = |tenant: &str, count| pool.tenant(tenant).plan(&job(count)).expect("a plan").used.fuel.expect("counted");
    let three = fuel("alice", 3);
    assert!(three > 10_000, "{three}");
    assert_eq!([fuel("bob", 3), fuel("alice", 3)], [three; 2]);
    assert!(fuel("alice", 1) < three);
    assert_eq!(pool.metrics("alice").expect("figures").fuel, 2 * three + fuel("carol", 1));

    // As much is enough, half is not. Fuel is looked at where loops and functions begin, so not to the last instruction.
    let limited = |fuel| pool.set_limits("dora", TenantLimits { fuel: Some(fuel), ..metered }).expect("limits");
    limited(three);
    assert_eq!(pool.tenant("dora").plan(&job(3)).expect("a plan").used.fuel, Some(three));
    limited(three / 2);
    let error = pool.tenant("dora").plan(&job(3)).expect_err("half of it");
    assert_eq!((error.kind, error.status, error.limit), (Kind::Fuel, Status::Budget, Some(three / 2)), "{error}");
    assert!(error.message.contains(&(three / 2).to_string()), "{error}");
}

#[test]
fn answers_with_and_without_fuel_are_the_same() {
    let (plain, metered) = (pool(patient(), 1), pool(TenantLimits { fuel: Some(1 << 40), ..patient() }, 1));
    let parse =
        |pool: &damacy::pool::PlannerPool| pool.tenant("a").parse_metadata(&document(DOCUMENT)).expect("an array");
    let (plain, metered) = (parse(&plain), parse(&metered));
    assert_eq!(plain.value, metered.value);
    assert_eq!(plain.used.fuel, None);
}

#[test]
fn figures_are_counted_for_each_tenant() {
    let pool = pool(patient(), 2);
    for _ in 0..100 {
        pool.tenant("alice").parse_metadata(&document(DOCUMENT)).expect("an array");
    }
    assert!(pool.tenant("bob").parse_metadata(&document(b"{")).is_err());
    let (alice, bob) = (pool.metrics("alice").expect("figures"), pool.metrics("bob").expect("figures"));
    assert_eq!((alice.calls, alice.refused.iter().sum::<u64>()), (100, 0));
    assert!(alice.p50 > Duration::from_micros(10) && alice.p50 <= alice.p99, "{alice:?}");
    assert!(alice.run_time >= 50 * alice.p50 / 2, "{alice:?}");
    assert!((1 << 20..16 << 20).contains(&alice.memory_bytes), "{alice:?}");
    assert_eq!((bob.calls, bob.refused(Kind::Invalid), bob.fuel), (1, 1, 0));
    assert!(pool.metrics("carol").is_none());
}

#[test]
fn fuel_is_that_of_the_whole_call_also_over_several_instances() {
    // A guest whose memory has grown so far has a new instance for the next document.
    let padded = [DOCUMENT, &vec![b' '; 17 << 20]].concat();
    let limits = TenantLimits {
        fuel: Some(1 << 40),
        memory_bytes: 1 << 30,
        input_bytes: 1 << 30,
        metadata: MetadataLimits { max_bytes: 1 << 30, ..MetadataLimits::default() },
        ..patient()
    };
    let pool = pool(limits, 1);
    let documents = [document(&padded); 3];
    let (spec, samples) = (spec(64), boxes(64, &[0]));
    let plan = |count| {
        let job = PlanJob::new(&spec, Arrays::Documents(&documents[..count]), &samples);
        pool.tenant("alice").plan(&job).map(|answer| answer.used.fuel.expect("counted"))
    };
    let (one, three) = (plan(1).expect("a plan"), plan(3).expect("a plan"));
    assert!(one > 17 << 20 && three > one * 5 / 2, "{one} and {three}");
    pool.set_limits("alice", TenantLimits { fuel: Some(one * 2), ..limits }).expect("limits");
    assert_eq!(plan(1).expect("enough"), one);
    let error = plan(3).expect_err("three documents need more than two");
    assert_eq!((error.kind, error.limit), (Kind::Fuel, Some(one * 2)), "{error}");
    assert!(pool.metrics("alice").expect("figures").fuel >= 4 * one + three);
}
