//! setp and selp (PTX ISA 9.7.7, 9.3.1).

use crate::support::{check, few_singles, pairs, results, single, values};
use std::cmp::Ordering;

fn signed(value: u64, size: u32) -> i64 {
    (value << (64 - size)) as i64 >> (64 - size)
}

#[test]
fn integers() {
    for (class, size) in [('h', 16), ('r', 32), ('d', 64)] {
        let operands = pairs(&values(size), &values(size));
        let classes: String = ['p', class, class].iter().collect();
        let with = |opcode: String, f: fn(Ordering) -> bool, is_signed: bool| {
            check(&opcode, &classes, &operands, |[a, b]| {
                let order = if is_signed { signed(a, size).cmp(&signed(b, size)) } else { a.cmp(&b) };
                f(order).into()
            });
        };
        for ty in ["b", "u", "s"] {
            with(format!("setp.eq.{ty}{size}"), Ordering::is_eq, false);
            with(format!("setp.ne.{ty}{size}"), Ordering::is_ne, false);
        }
        for (ty, is_signed) in [("u", false), ("s", true)] {
            with(format!("setp.lt.{ty}{size}"), Ordering::is_lt, is_signed);
            with(format!("setp.le.{ty}{size}"), Ordering::is_le, is_signed);
            with(format!("setp.gt.{ty}{size}"), Ordering::is_gt, is_signed);
            with(format!("setp.ge.{ty}{size}"), Ordering::is_ge, is_signed);
        }
        with(format!("setp.lo.u{size}"), Ordering::is_lt, false);
        with(format!("setp.ls.u{size}"), Ordering::is_le, false);
        with(format!("setp.hi.u{size}"), Ordering::is_gt, false);
        with(format!("setp.hs.u{size}"), Ordering::is_ge, false);
    }
}

/// Ordered comparisons are false with a NaN, unordered ones true.
#[test]
fn floats() {
    let operands = pairs(&few_singles(), &few_singles());
    let with = |name: &str, f: fn(Option<Ordering>) -> bool| {
        check(&format!("setp.{name}.f32"), "prr", &operands, |[a, b]| f(single(a).partial_cmp(&single(b))).into());
    };
    with("eq", |order| order == Some(Ordering::Equal));
    with("ne", |order| order.is_some_and(Ordering::is_ne));
    with("lt", |order| order.is_some_and(Ordering::is_lt));
    with("le", |order| order.is_some_and(Ordering::is_le));
    with("gt", |order| order.is_some_and(Ordering::is_gt));
    with("ge", |order| order.is_some_and(Ordering::is_ge));
    with("equ", |order| order.is_none_or(Ordering::is_eq));
    with("neu", |order| order.is_none_or(Ordering::is_ne));
    with("ltu", |order| order.is_none_or(Ordering::is_lt));
    with("leu", |order| order.is_none_or(Ordering::is_le));
    with("gtu", |order| order.is_none_or(Ordering::is_gt));
    with("geu", |order| order.is_none_or(Ordering::is_ge));
    with("num", |order| order.is_some());
    with("nan", |order| order.is_none());
    // .ftz: a subnormal is a zero.
    assert_eq!(results("setp.eq.ftz.f32", "prr", &[[1, 0x8000_0002]]), [1]);
    assert_eq!(results("setp.eq.f32", "prr", &[[1, 0x8000_0002]]), [0]);
}

#[test]
fn combined_with_a_predicate() {
    let operands: Vec<[u64; 3]> =
        pairs(&[1, 2], &[1, 2]).into_iter().flat_map(|[a, b]| [[a, b, 0], [a, b, 1]]).collect();
    check("setp.lt.and.s32", "prrp", &operands, |[a, b, c]| u64::from(a < b) & c);
    check("setp.lt.or.s32", "prrp", &operands, |[a, b, c]| u64::from(a < b) | c);
    check("setp.lt.xor.s32", "prrp", &operands, |[a, b, c]| u64::from(a < b) ^ c);
    // The destination may be that predicate.
    check("setp.lt.and.s32 %p3, %r1, %r2, %p3; mov.pred %p0, %p3; //", "prrp", &operands, |[a, b, c]| {
        u64::from(a < b) & c
    });
}

#[test]
fn selections() {
    for (name, class, size) in [("b16", 'h', 16), ("s32", 'r', 32), ("f32", 'r', 32), ("u64", 'd', 64)] {
        let operands: Vec<[u64; 3]> = pairs(&values(size), &[0, 1]).iter().map(|&[a, c]| [a, a ^ 1, c]).collect();
        let classes: String = [class, class, class, 'p'].iter().collect();
        check(&format!("selp.{name}"), &classes, &operands, |[a, b, c]| if c == 1 { a } else { b });
    }
}
