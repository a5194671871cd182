//! Single-precision arithmetic (PTX ISA 9.7.3). Sums and products of two f32 are exact or correctly rounded again when
//! they go through f64 (53 >= 2 * 24 + 2), so that f64 is the judge.

use crate::support::{check, few_singles, noise, pairs, result, results, run, single, single_bits, singles};
use damacy_ptx::{Heap, Launch, Module};

fn wide(bits: u64) -> f64 {
    single(bits).into()
}

fn flushed(bits: u64) -> u64 {
    if single(bits).is_subnormal() { bits & 0x8000_0000 } else { bits }
}

#[test]
fn sums_and_products_round_to_nearest_even() {
    let mut operands = pairs(&few_singles(), &few_singles());
    let random: Vec<u64> = noise().take(4000).map(|value| value >> 32).collect();
    operands.extend(random.chunks(2).map(|pair| [pair[0], pair[1]]));
    let rounded = |value: f64| single_bits(value as f32);
    check("add.rn.f32", "rrr", &operands, |[a, b]| rounded(wide(a) + wide(b)));
    check("sub.rn.f32", "rrr", &operands, |[a, b]| rounded(wide(a) - wide(b)));
    check("mul.rn.f32", "rrr", &operands, |[a, b]| rounded(wide(a) * wide(b)));
    check("mul.rn.ftz.f32", "rrr", &operands, |[a, b]| flushed(rounded(wide(flushed(a)) * wide(flushed(b)))));
    check("add.rn.ftz.f32", "rrr", &operands, |[a, b]| flushed(rounded(wide(flushed(a)) + wide(flushed(b)))));
    // .sat: to [0, 1], NaN to +0.
    check("add.rn.sat.f32", "rrr", &operands, |[a, b]| {
        let sum = (wide(a) + wide(b)) as f32;
        if sum > 0.0 { single_bits(sum.min(1.0)) } else { 0 }
    });
}

#[test]
fn fma_rounds_once() {
    // (1 + 2^-12)^2 - 1 - 2^-11 = 2^-24 exactly; a product rounded first would give 0.
    let a = (1.0f32 + 2f32.powi(-12)).to_bits().into();
    let c = (-(1.0f32 + 2f32.powi(-11))).to_bits().into();
    assert_eq!(result("fma.rn.f32", "rrrr", [a, a, c]), u64::from(2f32.powi(-24).to_bits()));
    assert_eq!(result("fma.rn.f32", "rrrr", [0x7f80_0000, 0, c]), 0x7fff_ffff);
    // Where the f64 product plus c is exact, f64 is the judge.
    let operands: Vec<[u64; 3]> = noise()
        .take(2000)
        .map(|value| [value & 0xfff, value >> 12 & 0xfff, value >> 24 & 0xff_ffff].map(|x| single_bits(x as f32)))
        .collect();
    check("fma.rn.f32", "rrrr", &operands, |[a, b, c]| single_bits((wide(a) * wide(b) + wide(c)) as f32));
}

/// 9.7.3.11: the other operand for one NaN, the canonical NaN for two, -0 below +0.
#[test]
fn min_and_max() {
    let operands = pairs(&few_singles(), &few_singles());
    let chosen = |[a, b]: [u64; 2], first: bool| if first { a } else { b };
    let nan = |bits: u64| single(bits).is_nan();
    let less = |a: u64, b: u64| {
        wide(a) < wide(b) || wide(a) == wide(b) && single(a).is_sign_negative() && single(b).is_sign_positive()
    };
    let number = |[a, b]: [u64; 2], first: bool| match (nan(a), nan(b)) {
        (true, true) => 0x7fff_ffff,
        (true, false) => b,
        (false, true) => a,
        _ => chosen([a, b], first),
    };
    check("min.f32", "rrr", &operands, |[a, b]| number([a, b], less(a, b)));
    check("max.f32", "rrr", &operands, |[a, b]| number([a, b], less(b, a)));
    let either = |[a, b]: [u64; 2], first: bool| if nan(a) || nan(b) { 0x7fff_ffff } else { chosen([a, b], first) };
    check("min.NaN.f32", "rrr", &operands, |[a, b]| either([a, b], less(a, b)));
    check("max.NaN.f32", "rrr", &operands, |[a, b]| either([a, b], less(b, a)));
    assert_eq!(result("min.ftz.f32", "rrr", [1, 0x3f80_0000]), 0);
    assert_eq!(result("max.f32 %r0, %r1, 0f437F0000; //", "rr", [0x3f80_0000]), 0x437f_0000);
}

#[test]
fn signs() {
    let operands: Vec<_> = singles().into_iter().map(|a| [a]).collect();
    check("neg.f32", "rr", &operands, |[a]| single_bits(-single(a)));
    check("abs.f32", "rr", &operands, |[a]| single_bits(single(a).abs()));
    check("abs.ftz.f32", "rr", &operands, |[a]| flushed(single_bits(single(a).abs())));
}

/// Subnormals go through untouched, as loads and stores of whole bits do.
#[test]
fn subnormals_are_kept() {
    assert_eq!(result("add.rn.f32", "rrr", [1, 1]), 2);
    assert_eq!(result("mul.rn.f32", "rrr", [0x0080_0000, 0x3f00_0000]), 0x0040_0000);
    assert_eq!(results("mov.b32", "rr", &[[1], [0x7f80_0001]]), [1, 0x7f80_0001]);
}

/// No result may depend on the NaN that the ISA leaves open; tests can ask for another one.
#[test]
fn the_unspecified_nan_can_be_chosen() {
    let text = crate::support::module(
        ".param .u64 x0",
        "ld.param.u64 %rd0, [x0]; mov.b32 %r0, 0f7FC00001; add.rn.f32 %r1, %r0, %r0; min.f32 %r2, %r0, %r0;\n\
         st.global.v2.b32 [%rd0], {%r1, %r2};",
    );
    let module = Module::parse(&text).expect("it parses");
    let heap = Heap::default();
    let to = heap.allocate(8);
    let address = to.to_le_bytes();
    let parameters = [&address[..]];
    for nan in [0x7fff_ffffu32, 0xffc1_2345] {
        let launch = Launch { unspecified_nan: nan, ..Launch::new(1, 1, &parameters) };
        module.kernel("k").expect("the kernel").launch(&launch, &heap).expect("it runs");
        let expected = [nan.to_le_bytes(), 0x7fff_ffffu32.to_le_bytes()].concat();
        assert_eq!(heap.read(to, 8).expect("there"), expected);
    }
}

/// A sum that may or may not be fused with a product has no result to compare.
#[test]
fn results_that_are_not_determined_are_refused() {
    for instruction in ["add.f32 %r0, %r1, %r2;", "mul.f32 %r0, %r1, %r2;", "mad.f32 %r0, %r1, %r2, %r3;"] {
        let error = Module::parse(&crate::support::module("", instruction)).expect_err("refused");
        assert_eq!(error.text, instruction);
    }
    run("add.rn.f32 %r0, %r1, %r2;", 1, 1, &[], &Heap::default()).expect("it runs");
}
