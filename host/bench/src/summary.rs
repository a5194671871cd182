//! Repeated figures -> median and spread.

use serde::{Deserialize, Serialize};

/// Order statistics of repeated runs. Quartiles are linear interpolations between neighbours (NumPy's default).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How many.
    pub n: u64,
    /// The middle one.
    pub median: f64,
    /// The lowest.
    pub min: f64,
    /// A quarter lie below.
    pub q1: f64,
    /// A quarter lie above.
    pub q3: f64,
    /// The highest.
    pub max: f64,
}

impl Spread {
    /// `None` without figures.
    pub fn of(figures: &[f64]) -> Option<Spread> {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let at = |part: f64| {
            let place = part * (sorted.len() - 1) as f64;
            let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Some(Spread { n: sorted.len() as u64, median: at(0.5), min, q1: at(0.25), q3: at(0.75), max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_numpys() {
        // numpy.percentile([7, 1, 3, 2], [0, 25, 50, 75, 100])
        let spread = Spread::of(&[7.0, 1.0, 3.0, 2.0]).expect("four figures");
        assert_eq!([spread.min, spread.q1, spread.median, spread.q3, spread.max], [1.0, 1.75, 2.5, 4.0, 7.0]);
        assert_eq!((Spread::of(&[]), Spread::of(&[5.0]).map(|s| s.median)), (None, Some(5.0)));
    }
}
