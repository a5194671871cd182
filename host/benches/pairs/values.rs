//! Source values: a type -> elements that meet every branch of the rules, the same in every run.

use damacy::SourceType;

/// What the values are, for the report.
pub const DESCRIPTION: &str = "integers: random bits, in half of the elements shifted right (arithmetically) by a random \
distance, so that values in and out of every output's range occur; float32: 15 of 16 normal with deviation 300, 1 of 16 \
of a random magnitude up to 2^70; float16: the same, cut to its range, larger magnitudes being infinite; in both 1 of \
1024 NaN and 1 of 1024 subnormal";

/// Fills the bytes with native elements of `source`.
pub fn fill(source: SourceType, bytes: &mut [u8]) {
    let mut random = Random(0x5eed);
    let width = source.width();
    match source {
        SourceType::F32 => each::<4>(bytes, |_| random.float().to_ne_bytes()),
        SourceType::F16 => each::<2>(bytes, |_| half_bits(random.float()).to_ne_bytes()),
        _ => {
            let signed = matches!(source, SourceType::I8 | SourceType::I16 | SourceType::I32 | SourceType::I64);
            for element in bytes.chunks_exact_mut(width) {
                element.copy_from_slice(&random.integer(8 * width as u32, signed).to_le_bytes()[..width]);
            }
        }
    }
}

fn each<const W: usize>(bytes: &mut [u8], mut make: impl FnMut(usize) -> [u8; W]) {
    for (index, element) in bytes.as_chunks_mut::<W>().0.iter_mut().enumerate() {
        *element = make(index);
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The low `bits` are the element.
    fn integer(&mut self, bits: u32, signed: bool) -> u64 {
        let (draw, choice) = (self.next(), self.next());
        let element = if signed { ((draw as i64) >> (64 - bits)) as u64 } else { draw >> (64 - bits) };
        let distance = if choice & 1 == 0 { 0 } else { (choice >> 32) as u32 % bits };
        if signed { ((element as i64) >> distance) as u64 } else { element >> distance }
    }

    fn float(&mut self) -> f32 {
        let draw = self.next();
        let sign = (draw as u32) & 0x8000_0000;
        let mantissa = (draw >> 32) as u32 & 0x007f_ffff;
        match draw & 1023 {
            0 => f32::from_bits(sign | 0x7f80_0000 | mantissa | 1),
            1 => f32::from_bits(sign | mantissa),
            choice if choice % 16 == 2 => {
                let exponent = 127 - 10 + (draw >> 10) as u32 % 81;
                f32::from_bits(sign | exponent << 23 | mantissa)
            }
            _ => self.normal() * 300.0,
        }
    }

    /// Nearly normal: a sum of four uniform numbers, of deviation 1.
    fn normal(&mut self) -> f32 {
        let draw = self.next();
        let sum: u32 = (0..4).map(|i| (draw >> (16 * i)) as u32 & 0xffff).sum();
        (sum as f32 - 131_070.0) / 37_837.0
    }
}

/// The float as f16, the mantissa cut; f32's subnormals become subnormals.
fn half_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let (sign, exponent) = ((bits >> 16) as u16 & 0x8000, (bits >> 23 & 0xff) as i32);
    let mantissa = (bits >> 13) as u16 & 0x03ff;
    sign | match exponent {
        255 => 0x7c00 | mantissa | 1,
        0 => mantissa,
        143.. => 0x7c00,
        113.. => ((exponent - 112) as u16) << 10 | mantissa,
        // Small normal values: only the mixture above decides how many subnormals there are.
        _ => 0,
    }
}
