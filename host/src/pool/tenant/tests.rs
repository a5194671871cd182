//! Bugs of damacy itself, which no input brings about.

use super::*;
use crate::pool::{PlannerPool, PoolConfig};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn a_panic_is_counted_as_a_bug_and_gives_the_place_back() {
    let pool = PlannerPool::new(PoolConfig { running: 1, ..PoolConfig::default() }).expect("a pool");
    let alice = pool.tenant("alice");
    let panics = || alice.call::<()>(Size::default(), |_, _| panic!("as it should"));
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    let figures = pool.metrics("alice").expect("figures");
    assert_eq!((figures.calls, figures.refused(Kind::Bug), figures.running), (1, 1, 0));
    assert!(alice.call(Size::default(), |_, _| Ok(())).is_ok());
    assert_eq!(pool.metrics("alice").expect("figures").refused(Kind::Bug), 1);
}
