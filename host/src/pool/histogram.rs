//! Durations -> percentiles, in a fixed 512 bytes: four buckets an octave, from a microsecond to half an hour.

use std::time::Duration;

const BUCKETS: usize = 128;

/// Counts of durations. A percentile is the upper end of its bucket, at most a quarter too large.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    counts: [u32; BUCKETS],
    total: u64,
}

impl Histogram {
    pub(super) fn new() -> Histogram {
        Histogram { counts: [0; BUCKETS], total: 0 }
    }

    pub(super) fn add(&mut self, duration: Duration) {
        let count = &mut self.counts[bucket(duration)];
        *count = count.saturating_add(1);
        self.total += 1;
    }

    /// The duration that so many of a thousand are at most; 0 without any.
    pub(super) fn permille(&self, permille: u64) -> Duration {
        let rank = (self.total * permille).div_ceil(1000);
        let mut seen = 0;
        for (bucket, &count) in self.counts.iter().enumerate() {
            seen += u64::from(count);
            if seen >= rank && seen > 0 {
                return upper(bucket);
            }
        }
        Duration::ZERO
    }
}

/// Microseconds 4 to 7 have a bucket each; then each octave has four.
fn bucket(duration: Duration) -> usize {
    let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    if micros < 4 {
        return micros as usize;
    }
    let octave = micros.ilog2() as usize;
    let quarter = (micros >> (octave - 2)) as usize & 3;
    ((octave - 1) * 4 + quarter).min(BUCKETS - 1)
}

fn upper(bucket: usize) -> Duration {
    let next = bucket + 1;
    if next < 4 {
        return Duration::from_micros(next as u64);
    }
    Duration::from_micros((4 + next as u64 % 4) << (next / 4 - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_and_hold_what_falls_into_them() {
        for micros in (0..5000).chain([1 << 20, (1 << 20) + 1, 1 << 30]) {
            let at = bucket(Duration::from_micros(micros));
            let (low, high) = (if at == 0 { Duration::ZERO } else { upper(at - 1) }, upper(at));
            let duration = Duration::from_micros(micros);
            assert!(low <= duration && duration < high, "{micros} us in {low:?}..{high:?}");
            assert!(micros < 4 || high.as_micros() * 4 <= low.as_micros() * 5, "{low:?}..{high:?} is too wide");
        }
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_found() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.permille(500), Duration::ZERO);
        for micros in 1..=1000 {
            histogram.add(Duration::from_micros(micros));
        }
        let (p50, p99) = (histogram.permille(500).as_micros(), histogram.permille(990).as_micros());
        assert!((500..=640).contains(&p50) && (990..=1240).contains(&p99), "{p50} and {p99} us");
    }
}
