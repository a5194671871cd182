//! Classes of chunks along each axis -> how many different chunks several independent crops touch, on average.
//!
//! The probability that a crop touches a chunk is the product over the axes. Chunks of one product are one [`Point`]; of m
//! crops at least one touches such a chunk with probability `1 - (1 - p)^m`. The work is bounded: where axes have too many
//! classes together, points of nearly the same probability become one at their mean. Since `1 - (1 - p)^m` bends one way, that
//! can only raise the sum.

use super::axis::{Axis, Class};

/// Products made for one axis at most; where there would be more, points are merged first.
const MOST_PRODUCTS: usize = 32_768;
/// Points that are kept as they are once all axes are in: for each of them, powers are taken.
const MOST_POINTS: usize = 8192;
/// Points left by a merge at most.
const MERGED: usize = 2048;
/// Chunks that one in so many windows touches, or fewer, count in proportion to their probability, however small: they may
/// become one point at the cost of half of that part.
const RARE: f64 = 16_384.0;

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
    /// The chunks that crops can touch, to be asked for up to `crops` of them; `chosen` is the probability that a crop is of
    /// this array.
    pub(super) fn new(chosen: f64, crops: u64, axes: impl Iterator<Item = Axis>) -> Points {
        let mut all = Points { points: vec![Point { probability: chosen, touched: chosen }], precise: true };
        let mut classes: Vec<Class> = Vec::new();
        for axis in axes {
            all.precise &= axis.classes(&mut classes);
            if all.points.len() * classes.len() > MOST_PRODUCTS {
                all.merge(crops, MERGED.min(MOST_PRODUCTS / classes.len()));
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
        if all.points.len() > MOST_POINTS {
            all.merge(crops, MERGED);
        }
        all
    }

    /// Different chunks that `crops` independent crops touch, on average; no more crops than the points were made for.
    pub(super) fn touched_by(&self, crops: u64) -> f64 {
        self.points.iter().map(|p| p.touched * gain(p.probability, crops)).sum()
    }

    /// Merges points of nearly the same probability at their mean, into so many at most.
    ///
    /// The bits of a float, as a number, are its logarithm but for a bend in each octave: what they span, down to what is
    /// rare for `crops`, is cut into equal parts.
    fn merge(&mut self, crops: u64, bins: usize) {
        let rare = 1.0 / (RARE * crops as f64);
        let scale_of = |point: &Point| point.probability.max(rare).to_bits();
        let (mut least, mut most) = (u64::MAX, 0);
        for bits in self.points.iter().map(scale_of) {
            (least, most) = (least.min(bits), most.max(bits));
        }
        let parts = bins as f64 / ((most - least) as f64 + 1.0);
        // Sums of touched chunks and of all chunks.
        let mut sums = vec![(0.0, 0.0); bins];
        for point in self.points.iter().filter(|p| p.touched > 0.0) {
            let at = ((most - scale_of(point)) as f64 * parts) as usize;
            let sum = &mut sums[at.min(bins - 1)];
            sum.0 += point.touched;
            sum.1 += point.touched / point.probability;
        }
        self.points.clear();
        let used = sums.into_iter().filter(|sum| sum.0 > 0.0);
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
    fn merged_points_differ_from_all_of_them_by_less_than_a_thousandth_and_never_fall_short() {
        // 20 classes an axis and more: hundreds of thousands of products without merging.
        let axis = |length| Axis::new(length, 10, 100, 1);
        for crops in [1, 8, 64, 1000, 100_000, 10_000_000, 1 << 40] {
            let merged = Points::new(1.0, crops, [500, 400, 300, 1000].map(axis).into_iter());
            assert!(!merged.precise && merged.points.len() <= MERGED);
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
            let off = merged.touched_by(crops) / sum - 1.0;
            assert!((-1e-9..1e-3).contains(&off), "{crops} crops: {off}");
        }
    }

    #[test]
    fn any_rank_is_bounded() {
        for crops in [1, 64, u64::MAX] {
            let points = Points::new(1.0, crops, (0..32).map(|_| Axis::new(u64::MAX, 1, 3, 1)));
            assert!(points.points.len() <= MOST_POINTS);
            assert!(points.points.iter().all(|p| p.probability.is_finite() && p.touched.is_finite()));
            assert!(points.touched_by(crops).is_finite());
        }
    }
}
