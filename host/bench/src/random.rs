//! Pseudo-random numbers that are the same everywhere and for ever: Steele, Lea and Flood's SplitMix64.

/// The generator; its state is the seed.
#[derive(Clone, Debug)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below a bound of at least 1, all alike: the few numbers that would favour some are drawn again.
    pub fn below(&mut self, bound: u64) -> u64 {
        let first = bound.wrapping_neg() % bound;
        loop {
            let wide = u128::from(self.number()) * u128::from(bound);
            if wide as u64 >= first {
                return (wide >> 64) as u64;
            }
        }
    }

    /// A number in (0, 1).
    pub fn unit(&mut self) -> f64 {
        ((self.number() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
}

/// A bijection of 64 bits that leaves no pattern.
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One seed out of several numbers, in their order.
pub fn seed_of(parts: impl IntoIterator<Item = u64>) -> u64 {
    parts.into_iter().fold(0, |seed, part| mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        // The published first outputs for seed 1234567.
        let mut random = SplitMix64(1_234_567);
        assert_eq!([random.number(), random.number()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn draws_below_a_bound_reach_all_of_it() {
        let mut random = SplitMix64(0);
        let mut seen = [0u32; 7];
        for _ in 0..7000 {
            seen[random.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| (800..1200).contains(&count)), "{seen:?}");
    }

    #[test]
    fn seeds_depend_on_every_part_and_on_their_order() {
        assert_ne!(seed_of([1, 2]), seed_of([2, 1]));
        assert_ne!(seed_of([0]), seed_of([0, 0]));
    }
}
