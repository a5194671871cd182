//! A fuzzer's bytes, read as choices. Short of bytes every choice is the first, which the callers make the harmless one.

/// Bytes that are left.
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&first, rest)) => {
                self.0 = rest;
                first
            }
            None => 0,
        }
    }

    /// A number below a bound of at most 2^16.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        let mut value = u64::from(self.byte());
        if bound > 256 {
            value |= u64::from(self.byte()) << 8;
        }
        value % bound
    }

    /// True once in so many times.
    pub(super) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == times - 1
    }

    pub(super) fn pick<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    /// Any 64 bits, small ones and those near powers of two and the end more often.
    pub(super) fn number(&mut self) -> u64 {
        match self.byte() {
            kind @ 0..=127 => u64::from(kind),
            kind @ 128..=191 => 1 << (kind - 128),
            kind @ 192..=207 => u64::MAX - u64::from(kind - 192),
            kind @ 208..=219 => (1 << (16 + 4 * u32::from(kind - 208))) + u64::from(self.byte()),
            kind @ 220..=231 => (1 << (16 + 4 * u32::from(kind - 220))) - 1 - u64::from(self.byte()),
            232..=243 => u64::from(self.byte()) << 8 | u64::from(self.byte()),
            _ => (0..8).fold(0, |n, _| n << 8 | u64::from(self.byte())),
        }
    }

    /// Any float, those with a special meaning more often.
    pub(super) fn float(&mut self) -> f64 {
        match self.byte() {
            kind @ 0..=199 => (1.0 + f64::from(kind)) / 64.0,
            kind @ 200..=239 => {
                const SPECIAL: [f64; 10] = [
                    0.0,
                    -0.0,
                    -1.0,
                    f64::NAN,
                    f64::INFINITY,
                    f64::NEG_INFINITY,
                    f64::MAX,
                    f64::MIN_POSITIVE,
                    5e-324,
                    18_446_744_073_709_551_616.0,
                ];
                SPECIAL[usize::from(kind - 200) % SPECIAL.len()]
            }
            _ => f64::from_bits(self.number()),
        }
    }
}
