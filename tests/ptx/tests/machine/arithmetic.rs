//! Integer arithmetic (PTX ISA 9.7.1) against 128-bit integers.

use crate::support::{check, pairs, result, values};

/// The types of an instruction: name, register class, bits, sign.
const TYPES: [(&str, char, u32, bool); 6] = [
    ("u16", 'h', 16, false),
    ("u32", 'r', 32, false),
    ("u64", 'd', 64, false),
    ("s16", 'h', 16, true),
    ("s32", 'r', 32, true),
    ("s64", 'd', 64, true),
];

/// The value of bits.
fn value(bits: u64, size: u32, signed: bool) -> i128 {
    let value = i128::from(bits) & ((1 << size) - 1);
    if signed && value >> (size - 1) & 1 == 1 { value - (1 << size) } else { value }
}

/// The low bits of a value.
fn low(value: i128, size: u32) -> u64 {
    (value & ((1i128 << size) - 1)) as u64
}

#[test]
fn sums_products_and_bounds() {
    for (ty, class, size, signed) in TYPES {
        let operands = pairs(&values(size), &values(size));
        let classes: String = [class; 3].iter().collect();
        let of = |[a, b]: [u64; 2]| [value(a, size, signed), value(b, size, signed)];
        let with = |name: &str, f: fn([i128; 2]) -> i128| {
            check(&format!("{name}.{ty}"), &classes, &operands, |operands| low(f(of(operands)), size));
        };
        with("add", |[a, b]| a + b);
        with("sub", |[a, b]| a - b);
        with("mul.lo", |[a, b]| a.wrapping_mul(b));
        with("min", |[a, b]| a.min(b));
        with("max", |[a, b]| a.max(b));
        check(&format!("mul.hi.{ty}"), &classes, &operands, |operands| {
            let [a, b] = of(operands);
            low(a.wrapping_mul(b) >> size, size)
        });
        if size < 64 {
            let wide = if size == 16 { 'r' } else { 'd' };
            let classes: String = [wide, class, class].iter().collect();
            check(&format!("mul.wide.{ty}"), &classes, &operands, |operands| {
                let [a, b] = of(operands);
                low(a * b, 2 * size)
            });
        }
    }
}

#[test]
fn products_with_a_third_operand() {
    for (ty, class, size, signed) in TYPES {
        let mut operands = Vec::new();
        for [a, b] in pairs(&values(size), &values(size)) {
            operands.push([a, b, a.rotate_left(5) & low(-1, size)]);
        }
        let of = |[a, b, c]: [u64; 3]| [a, b, c].map(|bits| value(bits, size, signed));
        let classes: String = [class; 4].iter().collect();
        check(&format!("mad.lo.{ty}"), &classes, &operands, |operands| {
            let [a, b, c] = of(operands);
            low(a.wrapping_mul(b).wrapping_add(c), size)
        });
        check(&format!("mad.hi.{ty}"), &classes, &operands, |operands| {
            let [a, b, c] = of(operands);
            low((a.wrapping_mul(b) >> size) + c, size)
        });
        if size < 64 {
            let wide = if size == 16 { 'r' } else { 'd' };
            let classes: String = [wide, class, class, wide].iter().collect();
            check(&format!("mad.wide.{ty}"), &classes, &operands, |[a, b, c]| {
                low(value(a, size, signed) * value(b, size, signed) + i128::from(c), 2 * size)
            });
        }
    }
}

#[test]
fn quotients_and_remainders_toward_zero() {
    for (ty, class, size, signed) in TYPES {
        let of = |[a, b]: [u64; 2]| [value(a, size, signed), value(b, size, signed)];
        let fits = |operands: &[u64; 2]| {
            let [a, b] = of(*operands);
            b != 0 && !(signed && b == -1 && a == -(1 << (size - 1)))
        };
        let operands: Vec<_> = pairs(&values(size), &values(size)).into_iter().filter(fits).collect();
        let classes: String = [class; 3].iter().collect();
        check(&format!("div.{ty}"), &classes, &operands, |operands| {
            let [a, b] = of(operands);
            low(a / b, size)
        });
        check(&format!("rem.{ty}"), &classes, &operands, |operands| {
            let [a, b] = of(operands);
            low(a % b, size)
        });
    }
}

#[test]
fn one_operand() {
    for (ty, class, size, signed) in TYPES {
        let operands: Vec<_> = values(size).into_iter().map(|value| [value]).collect();
        let classes: String = [class; 2].iter().collect();
        if signed {
            check(&format!("neg.{ty}"), &classes, &operands, |[a]| low(-value(a, size, true), size));
            check(&format!("abs.{ty}"), &classes, &operands, |[a]| low(value(a, size, true).abs(), size));
        }
        if size == 16 {
            continue;
        }
        let counted = format!("r{class}");
        if !signed {
            let untyped = format!("b{size}");
            check(&format!("popc.{untyped}"), &counted, &operands, |[a]| (0..size).map(|bit| a >> bit & 1).sum());
            check(&format!("clz.{untyped}"), &counted, &operands, |[a]| {
                u64::from((0..size).rev().find(|bit| a >> bit & 1 == 1).map_or(size, |bit| size - 1 - bit))
            });
            check(&format!("brev.{untyped}"), &classes, &operands, |[a]| {
                (0..size).map(|bit| (a >> bit & 1) << (size - 1 - bit)).sum()
            });
        }
        // The loop of the ISA's text (9.7.1.16).
        let found = |a: u64| {
            let a = if value(a, size, signed) < 0 { !a } else { a };
            (0..size).rev().find(|bit| a >> bit & 1 == 1)
        };
        check(&format!("bfind.{ty}"), &counted, &operands, |[a]| found(a).map_or(0xffff_ffff, u64::from));
        check(&format!("bfind.shiftamt.{ty}"), &counted, &operands, |[a]| {
            found(a).map_or(0xffff_ffff, |bit| u64::from(size - 1 - bit))
        });
    }
}

#[test]
fn saturating_sums_stay_in_range() {
    let operands = pairs(&values(32), &values(32));
    let bounded = |sum: i128| low(sum.clamp(i32::MIN.into(), i32::MAX.into()), 32);
    check("add.sat.s32", "rrr", &operands, |[a, b]| bounded(value(a, 32, true) + value(b, 32, true)));
    check("sub.sat.s32", "rrr", &operands, |[a, b]| bounded(value(a, 32, true) - value(b, 32, true)));
}

#[test]
fn bit_fields_as_the_isa_loops_over_them() {
    for (ty, class, size) in [("u32", 'r', 32), ("s32", 'r', 32), ("u64", 'd', 64), ("s64", 'd', 64)] {
        let mut operands = Vec::new();
        for a in values(size) {
            for position in [0, 1, 7, 8, 24, 31, 32, 33, 63, 64, 200, 255, 0x1_0003] {
                for length in [0, 1, 8, 24, 31, 32, 33, 63, 64, 65, 127, 128, 255, 0x1_0008] {
                    operands.push([a, position, length]);
                }
            }
        }
        let classes: String = [class, class, 'r', 'r'].iter().collect();
        // The loops of 9.7.1.19 and 9.7.1.20, with one bit at a time.
        check(&format!("bfe.{ty}"), &classes, &operands, |[a, b, c]| {
            let (msb, position, length) = (u64::from(size) - 1, b & 0xff, c & 0xff);
            let bit = |place: u64| a >> place & 1;
            let unsigned = ty.starts_with('u');
            let sign = if unsigned || length == 0 { 0 } else { bit((position + length - 1).min(msb)) };
            (0..=msb).map(|i| (if i < length && position + i <= msb { bit(position + i) } else { sign }) << i).sum()
        });
        if ty.starts_with('u') {
            let operands: Vec<_> =
                operands.iter().map(|&[a, b, c]| [a, a.rotate_left(9) & low(-1, size), b, c]).collect();
            let classes: String = [class, class, class, 'r', 'r'].iter().collect();
            check(&format!("bfi.b{size}"), &classes, &operands, |[a, b, c, d]| {
                let (msb, position, length) = (u64::from(size) - 1, c & 0xff, d & 0xff);
                let mut f = b;
                for i in (0..length).take_while(|i| position + i <= msb) {
                    f = f & !(1 << (position + i)) | (a >> i & 1) << (position + i);
                }
                f
            });
        }
    }
}

#[test]
fn constants_take_the_size_of_the_type() {
    assert_eq!(result("add.s16 %rs0, %rs1, -1; //", "hh", [0]), 0xffff);
    assert_eq!(result("and.b64 %rd0, %rd1, -4294967296; //", "dd", [u64::MAX]), 0xffff_ffff_0000_0000);
    assert_eq!(result("add.u32 %r0, %r1, 0xffffffff; //", "rr", [2]), 1);
    assert_eq!(result("add.u32 %r0, %r1, 010; //", "rr", [2]), 10);
    assert_eq!(result("add.u32 %r0, %r1, 0b101U; //", "rr", [2]), 7);
}
