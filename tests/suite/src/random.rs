//! Random cases: a strategy -> cases checked one after the other, and the smallest that fails.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::RefCell;

/// Under miri a case takes as long as thousands do elsewhere.
const MIRI_SHARE: u32 = 50;

/// Checks so many cases. Panics with the smallest failure.
pub(crate) fn check<S: Strategy>(count: u32, cases: S, check: impl FnMut(S::Value)) {
    let count = if cfg!(miri) { count / MIRI_SHARE } else { count };
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(count) };
    let check = RefCell::new(check);
    let checked = TestRunner::new(config).run(&cases, |case| {
        (check.borrow_mut())(case);
        Ok(())
    });
    checked.unwrap_or_else(|failure| panic!("{failure}"));
}
