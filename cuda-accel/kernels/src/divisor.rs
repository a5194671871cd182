//! Division by a number that is known on the host: a multiplication and a shift on the device.
//!
//! Numbers below 2^31 in -> the same quotients and remainders as `/` and `%`, without a branch or a panic.

/// Numbers that are divided, and divisors, are at most this.
pub const LARGEST: u32 = i32::MAX as u32;

/// A divisor from 1 to [`LARGEST`], as what its quotients are computed with.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    /// `2^32 * (2^shift - divisor) / divisor + 1`, rounded down.
    pub multiplier: u32,
    /// The divisor's logarithm to base 2, rounded up.
    pub shift: u32,
}

impl Divisor {
    /// For a divisor from 1 to [`LARGEST`]; others are taken as the nearest of these.
    #[inline]
    pub const fn new(divisor: u32) -> Divisor {
        let divisor = match divisor {
            0 => 1,
            1..=LARGEST => divisor,
            _ => LARGEST,
        };
        let shift = u32::BITS - (divisor - 1).leading_zeros();
        let multiplier = ((1 << 32) * ((1 << shift) - divisor as u64) / divisor as u64 + 1) as u32;
        Divisor { multiplier, shift }
    }

    /// `number / divisor`, for numbers up to [`LARGEST`].
    #[inline(always)]
    pub const fn quotient(self, number: u32) -> u32 {
        // Granlund and Montgomery's round-up method; the sum stays below 2^32 because the number is below 2^31.
        let high = ((number as u64 * self.multiplier as u64) >> 32) as u32;
        high.wrapping_add(number).wrapping_shr(self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_those_of_the_division() {
        let edges =
            [1, 2, 3, 5, 7, 63, 64, 65, 641, 1 << 16, (1 << 30) - 1, 1 << 30, (1 << 30) + 1, LARGEST - 1, LARGEST];
        let mut state = 1u32;
        let mut random = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 1 >> (state % 31)
        };
        let divisors: [u32; 2000] = core::array::from_fn(|_| random().max(1));
        for divisor in edges.into_iter().chain(divisors) {
            let by = Divisor::new(divisor);
            for near in edges.into_iter().chain([0, divisor, LARGEST / divisor * divisor]) {
                for number in [near.saturating_sub(1), near, (near + 1).min(LARGEST), random()] {
                    assert_eq!(by.quotient(number), number / divisor, "{number} / {divisor}");
                }
            }
        }
    }
}
