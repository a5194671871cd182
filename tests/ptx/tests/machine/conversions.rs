//! cvt (PTX ISA 9.7.9.21): integers against 128-bit ones, halves against the crate `half`, roundings against exact rationals.

use crate::support::{check, result, single, single_bits, singles, values};
use half::f16;

/// The types: name, bits, sign.
const INTEGERS: [(&str, u32, bool); 8] = [
    ("u8", 8, false),
    ("u16", 16, false),
    ("u32", 32, false),
    ("u64", 64, false),
    ("s8", 8, true),
    ("s16", 16, true),
    ("s32", 32, true),
    ("s64", 64, true),
];

fn value(bits: u64, size: u32, signed: bool) -> i128 {
    let value = i128::from(bits) & ((1 << size) - 1);
    if signed && value >> (size - 1) & 1 == 1 { value - (1 << size) } else { value }
}

fn low(value: i128, size: u32) -> u64 {
    (value & ((1i128 << size) - 1)) as u64
}

/// Registers that hold a type: of its size, and wider ones.
fn registers(size: u32) -> impl Iterator<Item = (char, u32)> {
    [('h', 16), ('r', 32), ('d', 64)].into_iter().filter(move |register| register.1 >= size)
}

/// Smallest and largest value.
fn bounds(size: u32, signed: bool) -> (i128, i128) {
    if signed { (-(1 << (size - 1)), (1 << (size - 1)) - 1) } else { (0, (1 << size) - 1) }
}

/// 9.4.1: the low bits of a wider source count; a wider destination gets the result sign- or zero-extended.
#[test]
fn integers_to_integers() {
    for (to, to_size, to_signed) in INTEGERS {
        for (from, from_size, from_signed) in INTEGERS {
            for (from_class, from_bits) in registers(from_size) {
                for (to_class, to_bits) in registers(to_size) {
                    let operands: Vec<_> = values(from_bits).into_iter().map(|a| [a]).collect();
                    let classes: String = [to_class, from_class].iter().collect();
                    check(&format!("cvt.{to}.{from}"), &classes, &operands, |[a]| {
                        // Extended or chopped to the destination's size, then as a value of its type in its register.
                        let converted = low(value(a, from_size, from_signed), to_size);
                        low(value(converted, to_size, to_signed), to_bits)
                    });
                    let (low_to, high_to) = bounds(to_size, to_signed);
                    let (low_from, high_from) = bounds(from_size, from_signed);
                    if low_from < low_to || high_from > high_to {
                        check(&format!("cvt.sat.{to}.{from}"), &classes, &operands, |[a]| {
                            low(value(a, from_size, from_signed).clamp(low_to, high_to), to_bits)
                        });
                    }
                }
            }
        }
    }
    assert_eq!(result("cvt.sat.u8.s32", "rr", [0xffff_fff0]), 0);
    assert_eq!(result("cvt.s8.s32", "hr", [0x1280]), 0xff80);
}

/// A finite f32 as an integer multiple of 2^-149, which 1100 bits would hold: here only those of small magnitude.
fn integral(a: f32, rounding: &str) -> f64 {
    let a = f64::from(a);
    match rounding {
        "rzi" => a.trunc(),
        "rmi" => a.floor(),
        "rpi" => a.ceil(),
        _ => {
            // The nearest of the two neighbours, the even one in the middle. Exact in f64.
            let (below, above) = (a.floor(), a.ceil());
            match (a - below).partial_cmp(&(above - a)) {
                Some(std::cmp::Ordering::Less) => below,
                Some(std::cmp::Ordering::Greater) => above,
                _ => {
                    if below % 2.0 == 0.0 {
                        below
                    } else {
                        above
                    }
                }
            }
        }
    }
}

#[test]
fn floats_to_integers_are_clamped() {
    let mut operands: Vec<_> = singles().into_iter().map(|a| [a]).collect();
    for x in [0.5f32, 1.5, 2.5, 126.5, 127.5, 254.5, 255.5, 32766.5, 65534.5, 65535.5, 0.999, 8_388_607.5] {
        operands.extend([[single_bits(x)], [single_bits(-x)]]);
    }
    for (to, size, signed) in INTEGERS {
        let (least, most) = bounds(size, signed);
        for (class, bits) in registers(size) {
            for rounding in ["rni", "rzi", "rmi", "rpi"] {
                let classes: String = [class, 'r'].iter().collect();
                let expected = |a: u64| {
                    let x = single(a);
                    if x.is_nan() {
                        // 9.7.9.21: 0, but the highest bit alone in .s64 and .u64.
                        return if size == 64 { 1 << 63 } else { 0 };
                    }
                    let exact = integral(x, rounding);
                    let clamped = if exact >= 2f64.powi(64) {
                        most
                    } else if exact <= -(2f64.powi(64)) {
                        least
                    } else {
                        (exact as i128).clamp(least, most)
                    };
                    low(clamped, bits)
                };
                check(&format!("cvt.{rounding}.{to}.f32"), &classes, &operands, |[a]| expected(a));
                check(&format!("cvt.{rounding}.sat.{to}.f32"), &classes, &operands, |[a]| expected(a));
            }
        }
    }
    // -(2^-149) rounds down to -1, unless it is flushed.
    assert_eq!(result("cvt.rmi.s32.f32", "rr", [0x8000_0001]), 0xffff_ffff);
    assert_eq!(result("cvt.rmi.ftz.s32.f32", "rr", [0x8000_0001]), 0);
}

#[test]
fn halves_to_integers() {
    let operands: Vec<_> = (0..=0xffffu64).map(|a| [a]).collect();
    for (to, size, signed) in INTEGERS {
        let (least, most) = bounds(size, signed);
        let class = registers(size).next().expect("a register");
        let classes: String = [class.0, 'h'].iter().collect();
        check(&format!("cvt.rzi.{to}.f16"), &classes, &operands, |[a]| {
            let x = f16::from_bits(a as u16).to_f64();
            match x {
                x if x.is_nan() => {
                    if size == 64 {
                        1 << 63
                    } else {
                        0
                    }
                }
                f64::INFINITY => low(most, class.1),
                f64::NEG_INFINITY => low(least, class.1),
                x => low((x as i128).clamp(least, most), class.1),
            }
        });
    }
}

/// The f32 next to an integer, by exact comparison: those around the nearest one are the candidates.
fn neighbour(exact: i128, rounding: &str) -> u64 {
    let guess = exact as f32;
    if guess as i128 == exact {
        return guess.to_bits().into();
    }
    // Past 2^24, where all are integers.
    let candidates = [guess.next_down(), guess, guess.next_up()];
    let exactly = |x: f32| f64::from(x) as i128;
    let below = candidates.into_iter().filter(|&x| exactly(x) <= exact).max_by(f32::total_cmp).expect("one below");
    let above = candidates.into_iter().filter(|&x| exactly(x) >= exact).min_by(f32::total_cmp).expect("one above");
    let chosen = match rounding {
        "rm" => below,
        "rp" => above,
        "rz" => {
            if exact >= 0 {
                below
            } else {
                above
            }
        }
        _ => match (exact - exactly(below)).cmp(&(exactly(above) - exact)) {
            std::cmp::Ordering::Less => below,
            std::cmp::Ordering::Greater => above,
            std::cmp::Ordering::Equal => {
                if below.to_bits() & 1 == 0 {
                    below
                } else {
                    above
                }
            }
        },
    };
    u64::from(chosen.to_bits())
}

#[test]
fn integers_to_floats_round_as_told() {
    for (from, size, signed) in INTEGERS {
        let class = registers(size).next().expect("a register").0;
        let classes: String = ['r', class].iter().collect();
        let mut bits = values(size);
        if size == 64 {
            // Ties and their neighbours, where a second rounding would show.
            for tie in [0x0100_0001u64, 0x0100_0003, 0x8000_0080_0000_0000, 0x7fff_ffbf_ffff_ffff, 89_461_577] {
                bits.extend([tie - 1, tie, tie + 1, tie.wrapping_neg()]);
            }
        }
        let operands: Vec<_> = bits.into_iter().map(|a| [a]).collect();
        for rounding in ["rn", "rz", "rm", "rp"] {
            check(&format!("cvt.{rounding}.f32.{from}"), &classes, &operands, |[a]| {
                neighbour(value(a, size, signed), rounding)
            });
        }
    }
}

#[test]
fn halves_and_singles() {
    let operands: Vec<_> = (0..=0xffffu64).map(|a| [a]).collect();
    check("cvt.f32.f16", "rh", &operands, |[a]| single_bits(f16::from_bits(a as u16).to_f32()));
    // Around every half and every middle between two.
    let mut operands: Vec<_> = singles().into_iter().map(|a| [a]).collect();
    for half in 0..0x7c00u16 {
        let (a, b) = (f16::from_bits(half).to_f32(), f16::from_bits(half + 1).to_f32());
        let middle = if b.is_infinite() { 65520.0 } else { (a + b) / 2.0 };
        for x in [a, middle, middle.next_up(), middle.next_down()] {
            operands.extend([[single_bits(x)], [single_bits(-x)]]);
        }
    }
    check("cvt.rn.f16.f32", "hr", &operands, |[a]| {
        if single(a).is_nan() { 0x7fff } else { u64::from(f16::from_f32(single(a)).to_bits()) }
    });
}

#[test]
fn singles_to_integral_singles() {
    let operands: Vec<_> = singles().into_iter().map(|a| [a]).collect();
    for rounding in ["rni", "rzi", "rmi", "rpi"] {
        check(&format!("cvt.{rounding}.f32.f32"), "rr", &operands, |[a]| {
            let x = single(a);
            if x.is_nan() {
                return 0x7fff_ffff;
            }
            let integral = if x.is_infinite() { x } else { integral(x, rounding) as f32 };
            // A zero has the sign of the operand.
            if integral == 0.0 { a & 0x8000_0000 } else { single_bits(integral) }
        });
    }
}
