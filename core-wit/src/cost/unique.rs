//! Classes of chunks along each axis -> how many different chunks several independent crops touch, on average.
//!
//! The probability that a crop touches a chunk is the product over the axes. Chunks of one product are one [`Point`]; of m
//! crops at least one touches such a chunk with probability `1 - (1 - p)^m`. The work is bounded: where axes have too many
//! classes together, points of nearly the same probability become one at their mean.

use super::axis::{Axis, Class};

/// Products made for one axis at most, after which points are merged first.
const MOST_PRODUCTS: usize = 8192;
/// Points left by a merge at most.
const MERGED: usize = 128;
/// Bits of a float that a merge ignores: probabilities within 1/16 of an octave become one.
const IGNORED_BITS: u32 = 52 - 4;

/// Chunks that a crop touches with one probability. Their number is left out: over 32 axes it would pass a float's range.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// Of one chunk, for one crop.
    probability: f64,
    /// How many of the chunks a crop touches on average: the probability times their number.
    touched: f64,
}

/// All chunks of an array.
pub(super) struct Points {
    points: Vec<Point>,
    /// False if chunks of different probabilities share a point.
    pub precise: bool,
}

impl Points {
    /// The chunks that crops can touch; `chosen` is the probability that a crop is of this array.
    pub(super) fn new(chosen: f64, axes: impl Iterator<Item = Axis>) -> Points {
        let mut all = Points { points: vec![Point { probability: chosen, touched: chosen }], precise: true };
        let mut classes: Vec<Class> = Vec::new();
        for axis in axes {
            all.precise &= axis.classes(&mut classes);
            if all.points.len() * classes.len() > MOST_PRODUCTS {
                all.merge();
            }
            let mut products = Vec::with_capacity(all.points.len() * classes.len());
            for point in &all.points {
                products.extend(classes.iter().map(|class| Point {
                    probability: point.probability * class.probability,
                    touched: point.touched * (class.probability * class.chunks),
                }));
            }
            all.points = products;
        }
        all
    }

    /// Different chunks that `crops` independent crops touch, on average.
    pub(super) fn touched_by(&self, crops: u64) -> f64 {
        self.points.iter().map(|p| p.touched * gain(p.probability, crops)).sum()
    }

    /// Merges points of nearly the same probability, and the rarest, at their mean.
    fn merge(&mut self) {
        let most = self.points.iter().fold(0, |most: u64, p| most.max(p.probability.to_bits()));
        // Sums of touched chunks and of all chunks.
        let mut bins = [(0.0, 0.0); MERGED];
        for point in self.points.iter().filter(|p| p.touched > 0.0) {
            let below = (most - point.probability.to_bits()) >> IGNORED_BITS;
            let bin = &mut bins[below.min(MERGED as u64 - 1) as usize];
            bin.0 += point.touched;
            bin.1 += point.touched / point.probability;
        }
        self.points.clear();
        let used = bins.into_iter().filter(|bin| bin.0 > 0.0);
        self.points.extend(used.map(|(touched, all)| Point { probability: (touched / all).min(1.0), touched }));
        self.precise = false;
    }
}

/// How often a chunk of this probability counts among `crops` crops, relative to one crop:
/// `(1 - (1 - probability)^crops) / probability`, and `crops` for a probability of 0.
///
/// By doubling: without loss where the probability is tiny, and the same bits in every runtime, which a library's `pow`
/// would not give.
pub(super) fn gain(probability: f64, crops: u64) -> f64 {
    let mut gain = 0.0;
    for bit in (0..u64::BITS - crops.leading_zeros()).rev() {
        gain *= 2.0 - probability * gain;
        if crops >> bit & 1 == 1 {
            gain += 1.0 - probability * gain;
        }
    }
    gain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gain_agrees_with_the_library_and_keeps_tiny_probabilities() {
        for p in [1e-300, 1e-18, 1e-9, 0.001, 0.3, 0.999, 1.0] {
            for m in [0u64, 1, 2, 3, 64, 1000, 123_456_789, u64::MAX] {
                let expected = -f64::exp_m1(m as f64 * f64::ln_1p(-p)) / p;
                let expected = if m == 0 { 0.0 } else { expected };
                let got = gain(p, m);
                assert!((got - expected).abs() <= 1e-12 * expected, "{p}, {m}: {got}, not {expected}");
            }
        }
        assert_eq!(gain(0.0, 64), 64.0);
    }

    #[test]
    fn merged_points_differ_from_all_of_them_by_less_than_a_thousandth() {
        // 20 classes an axis and more: hundreds of thousands of products without merging.
        let axis = |length| Axis::new(length, 10, 100, 1);
        for crops in [1, 8, 64, 1000, 100_000, 10_000_000] {
            let merged = Points::new(1.0, [500, 400, 300, 1000].map(axis).into_iter());
            assert!(!merged.precise);
            // The same with every product, computed here.
            let mut sum = 0.0;
            let mut classes: [Vec<Class>; 4] = Default::default();
            for (classes, length) in classes.iter_mut().zip([500, 400, 300, 1000]) {
                axis(length).classes(classes);
            }
            for a in &classes[0] {
                for b in &classes[1] {
                    for c in &classes[2] {
                        for d in &classes[3] {
                            let p = a.probability * b.probability * c.probability * d.probability;
                            sum += a.chunks * b.chunks * c.chunks * d.chunks * p * gain(p, crops);
                        }
                    }
                }
            }
            let got = merged.touched_by(crops);
            assert!((got / sum - 1.0).abs() < 1e-3, "{crops} crops: {got}, not {sum}");
        }
    }

    #[test]
    fn any_rank_is_bounded() {
        let points = Points::new(1.0, (0..32).map(|_| Axis::new(u64::MAX, 1, 3, 1)));
        assert!(points.points.len() <= MOST_PRODUCTS);
        assert!(points.points.iter().all(|p| p.probability.is_finite() && p.touched.is_finite()));
        assert!(points.touched_by(u64::MAX).is_finite());
    }
}
