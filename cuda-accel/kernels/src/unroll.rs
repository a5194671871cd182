//! Loops that are gone before the optimiser sees them, so that arrays indexed by their counters become registers.

/// Runs the block for each of the counters that are below the limit.
macro_rules! unroll {
    ([$($value:literal)*] < $limit:expr, |$counter:ident| $body:block) => {$(
        if $value < $limit {
            const $counter: usize = $value;
            $body
        }
    )*};
}

pub(crate) use unroll;
