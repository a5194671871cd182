//! The look-ahead windows of a pass, as the pipeline formed them: its batches' times -> samples, and what windows share.

use crate::results::BatchTimes;
use std::ops::Range;

/// A window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Formed {
    /// Its samples.
    pub samples: Range<usize>,
    /// If it joined the window before: the first of that one's chunks that was decoded for both where both needed it.
    pub joined: Option<u64>,
}

/// Those of a pass whose batches have so many samples.
pub(super) fn of(batches: &[BatchTimes], samples: usize) -> Vec<Formed> {
    let mut windows: Vec<Formed> = Vec::new();
    for batch in batches {
        let (at, end) = (batch.window as usize * samples, (batch.id as usize + 1) * samples);
        match windows.last_mut().filter(|window| window.samples.start == at) {
            Some(window) => window.samples.end = end,
            None => windows.push(Formed { samples: at..end, joined: batch.joined }),
        }
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_put_together_out_of_their_batches() {
        let batch = |id, window, joined| BatchTimes { id, window, joined, ..BatchTimes::default() };
        let batches =
            [batch(0, 0, None), batch(1, 0, None), batch(2, 2, Some(7)), batch(3, 3, Some(0)), batch(4, 3, Some(0))];
        let window = |samples, joined| Formed { samples, joined };
        assert_eq!(of(&batches, 4), [window(0..8, None), window(8..12, Some(7)), window(12..20, Some(0))]);
    }
}
