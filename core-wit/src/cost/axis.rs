//! One axis of an array, a chunk, a crop and a stride -> how many of the possible starts touch each chunk, in integers,
//! and the few classes of chunks that are touched equally often.
//!
//! Starts are `0, stride, 2 * stride ...` as far as the crop fits. Chunks far from both ends are touched by one of two
//! neighbouring counts of starts; only those within a crop of an end differ more. Nothing here grows with the grid.

/// Chunks near an end share a class with so large a part of those before them, where probabilities rise in proportion ...
const SHARED: u64 = 12;
/// ... and with so large a part of all that are near the end, where that is more. Together: 70 classes at most an end.
const LEAST_SHARED: u64 = 1024;

/// Chunks along one axis that a crop touches with one probability.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    /// For one crop. Above 0.
    pub probability: f64,
    /// How many chunks.
    pub chunks: f64,
}

/// One axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    length: u64,
    chunk: u64,
    crop: u64,
    stride: u64,
    /// How many starts there are.
    pub starts: u64,
}

impl Axis {
    /// `1 <= crop <= length`, `chunk >= 1`, `stride >= 1`.
    pub(super) fn new(length: u64, chunk: u64, crop: u64, stride: u64) -> Axis {
        let starts = (length - crop) / stride + 1;
        Axis { length, chunk, crop, stride, starts }
    }

    /// Chunks along the axis.
    pub(super) fn grid(&self) -> u64 {
        self.length.div_ceil(self.chunk)
    }

    /// How many starts touch the chunk of this index below `grid()`.
    pub(super) fn touching(&self, index: u64) -> u64 {
        let begin = index * self.chunk;
        let last = begin + (self.length - begin).min(self.chunk) - 1;
        let upper = (last / self.stride + 1).min(self.starts);
        let lower = if begin < self.crop { 0 } else { (begin - self.crop) / self.stride + 1 };
        upper.saturating_sub(lower)
    }

    /// No less than the probability that a crop touches any one chunk.
    pub(super) fn likeliest(&self) -> f64 {
        let before = (self.crop - 1).saturating_add(self.chunk - 1);
        (before / self.stride).saturating_add(1).min(self.starts) as f64 / self.starts as f64
    }

    fn last_start(&self) -> u64 {
        (self.starts - 1) * self.stride
    }

    /// First chunk that the crop at 0 does not touch: from it on, each further chunk loses starts at the front.
    fn first_losing(&self) -> u64 {
        self.crop.div_ceil(self.chunk)
    }

    /// The chunk of the last start: from it on, chunks gain no more starts at the back.
    fn first_full(&self) -> u64 {
        self.last_start() / self.chunk
    }

    /// One past the last chunk that any crop touches.
    fn end(&self) -> u64 {
        (self.last_start() + self.crop - 1) / self.chunk + 1
    }

    /// Sum of [`touching`](Axis::touching) over `from..to`, which lies within one of the parts that `first_losing`,
    /// `first_full` and `end` cut.
    fn sum(&self, from: u64, to: u64) -> u128 {
        let count = to - from;
        if count == 0 {
            return 0;
        }
        let upper = if to <= self.first_full() {
            quotients(count, (from + 1) * self.chunk - 1, self.chunk, self.stride) + u128::from(count)
        } else {
            u128::from(count) * u128::from(self.starts)
        };
        let lower = if from >= self.first_losing() {
            quotients(count, from * self.chunk - self.crop, self.chunk, self.stride) + u128::from(count)
        } else {
            0
        };
        upper - lower
    }

    /// The parts within which touching rises, is steady, and falls.
    fn parts(&self) -> [(u64, u64); 3] {
        let (losing, full) = (self.first_losing(), self.first_full());
        let (low, high) = (losing.min(full), losing.max(full));
        [(0, low), (low, high), (high, self.end())]
    }

    /// Chunks that a crop touches along the axis, on average.
    pub(super) fn touched(&self) -> f64 {
        let total: u128 = self.parts().iter().map(|&(from, to)| self.sum(from, to)).sum();
        total as f64 / self.starts as f64
    }

    /// Every chunk that a crop can touch, in classes, into `classes`. False if chunks of different probabilities had to
    /// share one (at their mean, so that sums stay right).
    pub(super) fn classes(&self, classes: &mut Vec<Class>) -> bool {
        classes.clear();
        let mut precise = true;
        let [rising, (low, high), falling] = self.parts();
        let (steady, chunks) = (self.sum(low, high), u128::from(high - low));
        // All of these are touched by as many starts or one more.
        if let Some(least) = steady.checked_div(chunks) {
            let more = steady - least * chunks;
            self.add(classes, chunks - more, (chunks - more) * least);
            self.add(classes, more, more * (least + 1));
        }
        for ((from, end), rises) in [(rising, true), (falling, false)] {
            let length = end - from;
            let (unit, mut near) = (length.div_ceil(LEAST_SHARED), 0);
            while near < length {
                let step = unit.max(near / SHARED).min(length - near);
                let first = if rises { from + near } else { end - near - step };
                self.add(classes, u128::from(step), self.sum(first, first + step));
                precise &= step == 1;
                near += step;
            }
        }
        precise
    }

    fn add(&self, classes: &mut Vec<Class>, chunks: u128, touching: u128) {
        if touching == 0 {
            return;
        }
        let chunks = chunks as f64;
        let probability = (touching as f64 / (chunks * self.starts as f64)).min(1.0);
        match classes.iter_mut().find(|c| c.probability == probability) {
            Some(class) => class.chunks += chunks,
            None => classes.push(Class { probability, chunks }),
        }
    }
}

/// The sum of `(first + i * step) / divisor`, rounded down each, over `i` in `0..count`; the last dividend fits 64 bits.
///
/// Euclid's algorithm on lattice points below a line: as many steps as a greatest common divisor takes.
fn quotients(count: u64, first: u64, step: u64, divisor: u64) -> u128 {
    let (mut n, mut a, mut b, mut m) = (count, step, first, divisor);
    let mut sum = 0;
    loop {
        let pairs = u128::from(n) * u128::from(n - 1) / 2;
        sum += pairs * u128::from(a / m) + u128::from(n) * u128::from(b / m);
        (a, b) = (a % m, b % m);
        let top = u128::from(a) * u128::from(n) + u128::from(b);
        if top < u128::from(m) {
            return sum;
        }
        // Fits, since `a < m` and `b < m`: the quotient is at most `n`.
        n = (top / u128::from(m)) as u64;
        b = (top % u128::from(m)) as u64;
        (a, m) = (m, a);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts that touch each chunk, one by one.
    fn counted(length: u64, chunk: u64, crop: u64, stride: u64) -> Vec<u64> {
        let mut counts = vec![0; length.div_ceil(chunk) as usize];
        let mut start = 0;
        while start + crop <= length {
            (start / chunk..=(start + crop - 1) / chunk).for_each(|k| counts[k as usize] += 1);
            start += stride;
        }
        counts
    }

    #[test]
    fn small_axes_agree_with_counting() {
        for length in 1..=14 {
            for chunk in 1..=length + 2 {
                for crop in 1..=length {
                    for stride in 1..=length + 1 {
                        let axis = Axis::new(length, chunk, crop, stride);
                        let counts = counted(length, chunk, crop, stride);
                        let touching: Vec<u64> = (0..axis.grid()).map(|k| axis.touching(k)).collect();
                        assert_eq!(touching, counts, "{axis:?}");
                        let total: u64 = counts.iter().sum();
                        assert_eq!(axis.touched(), total as f64 / axis.starts as f64, "{axis:?}");
                        let mut classes = Vec::new();
                        assert!(axis.classes(&mut classes));
                        for class in &classes {
                            let same = |&&n: &&u64| n as f64 / axis.starts as f64 == class.probability;
                            assert_eq!(class.chunks, counts.iter().filter(same).count() as f64, "{axis:?}");
                        }
                        assert!(classes.iter().all(|class| class.probability <= axis.likeliest()), "{axis:?}");
                        let touched = counts.iter().filter(|&&n| n > 0).count() as f64;
                        assert_eq!(classes.iter().map(|c| c.chunks).sum::<f64>(), touched, "{axis:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn long_axes_keep_their_sums_in_few_classes() {
        let mut classes = Vec::new();
        for (length, chunk, crop, stride) in
            [(100_000, 1, 5_000, 1), (100_000, 7, 40_000, 3), (90_001, 64, 1_000, 37), (99_991, 3, 99_000, 10)]
        {
            let axis = Axis::new(length, chunk, crop, stride);
            axis.classes(&mut classes);
            assert!(classes.len() <= 2 * 70 + 2, "{}", classes.len());
            let total: u64 = counted(length, chunk, crop, stride).iter().sum();
            let expected = total as f64 / axis.starts as f64;
            let sum: f64 = classes.iter().map(|c| c.probability * c.chunks).sum();
            assert!((sum / expected - 1.0).abs() < 1e-12, "{axis:?}: {sum}, not {expected}");
            assert_eq!(axis.touched(), expected);
        }
    }

    #[test]
    fn extreme_axes_neither_overflow_nor_take_long() {
        let extremes = [1, 2, 3, 1 << 32, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX];
        let mut classes = Vec::new();
        for length in extremes {
            for crop in extremes.into_iter().filter(|&c| c <= length) {
                for chunk in extremes {
                    for stride in extremes {
                        let axis = Axis::new(length, chunk, crop, stride);
                        assert!(axis.touched() >= 1.0);
                        axis.touching(0);
                        axis.touching(axis.grid() - 1);
                        axis.classes(&mut classes);
                        assert!(classes.len() <= 2 * 70 + 2, "{axis:?}: {}", classes.len());
                        assert!(classes.iter().all(|c| c.probability > 0.0 && c.probability <= 1.0), "{axis:?}");
                        let sum: f64 = classes.iter().map(|c| c.probability * c.chunks).sum();
                        assert!((sum / axis.touched() - 1.0).abs() < 1e-9, "{axis:?}: {sum}");
                    }
                }
            }
        }
    }
}
