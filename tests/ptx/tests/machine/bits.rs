//! Logic, shifts and permutations (PTX ISA 9.7.8, 9.7.9.7), a bit or byte at a time.

use crate::support::{check, noise, pairs, result, values};

const SIZES: [(&str, char, u32); 3] = [("16", 'h', 16), ("32", 'r', 32), ("64", 'd', 64)];

fn mask(size: u32) -> u64 {
    u64::MAX >> (64 - size)
}

#[test]
fn logic() {
    for (name, class, size) in SIZES {
        let operands = pairs(&values(size), &values(size));
        let classes: String = [class; 3].iter().collect();
        check(&format!("and.b{name}"), &classes, &operands, |[a, b]| a & b);
        check(&format!("or.b{name}"), &classes, &operands, |[a, b]| a | b);
        check(&format!("xor.b{name}"), &classes, &operands, |[a, b]| a ^ b);
        let operands: Vec<_> = values(size).into_iter().map(|a| [a]).collect();
        check(&format!("not.b{name}"), &classes[1..], &operands, |[a]| !a & mask(size));
        check(&format!("cnot.b{name}"), &classes[1..], &operands, |[a]| u64::from(a == 0));
    }
    let operands = pairs(&[0, 1], &[0, 1]);
    check("and.pred", "ppp", &operands, |[a, b]| a & b);
    check("or.pred", "ppp", &operands, |[a, b]| a | b);
    check("xor.pred", "ppp", &operands, |[a, b]| a ^ b);
    check("not.pred", "pp", &[[0], [1]], |[a]| 1 - a);
}

/// The ISA's examples of tables (9.7.8.6), and all tables on random operands.
#[test]
fn tables_of_three() {
    let operands: Vec<[u64; 3]> = [0xf0, 0xcc, 0xaa, 0x0f0f_1234, 0xffff_ffff, 0x8000_0001]
        .iter()
        .flat_map(|&a| [[a, 0xcc, 0xaa], [a, 0x1234_5678, 0x9abc_def0]])
        .collect();
    let with = |table: u32, f: fn(u64, u64, u64) -> u64| {
        let opcode = format!("lop3.b32 %r0, %r1, %r2, %r3, {table}; //");
        check(&opcode, "rrrr", &operands, |[a, b, c]| f(a, b, c) & mask(32));
    };
    with(0x80, |a, b, c| a & b & c);
    with(0xfe, |a, b, c| a | b | c);
    with(0x40, |a, b, c| a & b & !c);
    with(0x1a, |a, b, c| (a & b | c) ^ a);
    // By the definition: the table is the function of these three constants.
    for table in 0..256 {
        let got = result(&format!("lop3.b32 %r0, %r1, %r2, %r3, {table}; //"), "rrrr", [0xf0, 0xcc, 0xaa]);
        assert_eq!(got & 0xff, table);
    }
}

#[test]
fn shifts_are_clamped_to_the_width() {
    let amounts = [0, 1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 0x8000_0000, 0xffff_ffff];
    for (name, class, size) in SIZES {
        let operands = pairs(&values(size), &amounts);
        let classes: String = [class, class, 'r'].iter().collect();
        let steps = |b: u64| b.min(u64::from(size)) as u32;
        check(&format!("shl.b{name}"), &classes, &operands, |[a, b]| (u128::from(a) << steps(b)) as u64 & mask(size));
        for ty in ['b', 'u'] {
            check(&format!("shr.{ty}{name}"), &classes, &operands, |[a, b]| (u128::from(a) >> steps(b)) as u64);
        }
        check(&format!("shr.s{name}"), &classes, &operands, |[a, b]| {
            let sign = a >> (size - 1) & 1;
            let extended = i128::from(a) - (i128::from(sign) << size);
            (extended >> steps(b)) as u64 & mask(size)
        });
    }
}

/// The formulas of 9.7.8.7, in 128 bits.
#[test]
fn funnel_shifts() {
    let mut operands = Vec::new();
    for [a, b] in pairs(&values(32), &values(32)[..12]) {
        for c in [0, 1, 8, 31, 32, 33, 40, 63, 64, 0xffff_ffff] {
            operands.push([a, b, c]);
        }
    }
    let both = |a: u64, b: u64| u128::from(b << 32 | a);
    check("shf.l.clamp.b32", "rrrr", &operands, |[a, b, c]| (both(a, b) << c.min(32) >> 32) as u64 & mask(32));
    check("shf.l.wrap.b32", "rrrr", &operands, |[a, b, c]| (both(a, b) << (c & 31) >> 32) as u64 & mask(32));
    check("shf.r.clamp.b32", "rrrr", &operands, |[a, b, c]| (both(a, b) >> c.min(32)) as u64 & mask(32));
    check("shf.r.wrap.b32", "rrrr", &operands, |[a, b, c]| (both(a, b) >> (c & 31)) as u64 & mask(32));
    // A rotation.
    assert_eq!(result("shf.l.wrap.b32 %r0, %r1, %r1, %r2; //", "rrr", [0x8000_0001, 4]), 0x18);
}

#[test]
fn permutations_of_bytes() {
    let mut operands = vec![
        [0x3322_1100, 0x7766_5544, 0x3210],
        [0x3322_1100, 0x7766_5544, 0x7654],
        [0x3322_1100, 0x7766_5544, 0x0123],
        [0x80ff_7f00, 0x0102_8384, 0xfedc],
        [0x80ff_7f00, 0x0102_8384, 0xba98],
        // Only 16 bits of the control count.
        [0x80ff_7f00, 0x0102_8384, 0xffff_3210],
    ];
    let mut noise = noise();
    operands.extend((0..3000).map(|_| [(); 3].map(|()| noise.next().expect("endless") >> 32)));
    check("prmt.b32", "rrrr", &operands, |[a, b, c]| {
        let source = b << 32 | a;
        (0..4)
            .map(|i| {
                let control = c >> (4 * i) & 15;
                let byte = source >> (8 * (control & 7)) & 255;
                let byte = if control & 8 == 0 { byte } else { (byte >> 7) * 255 };
                byte << (8 * i)
            })
            .sum()
    });
    assert_eq!(result("prmt.b32 %r0, %r1, %r2, 0x0123; //", "rrr", [0x1122_3344, 0]), 0x4433_2211);
    // The ISA's table of .f4e: bytes 3 2 1 0, 4 3 2 1, 5 4 3 2, 6 5 4 3; no more than two bits of c count.
    let bytes = [0x1312_1110, 0x1716_1514];
    for (c, expected) in [(0, 0x1312_1110), (1, 0x1413_1211), (2, 0x1514_1312), (3, 0x1615_1413), (0xff05, 0x1413_1211)]
    {
        check("prmt.b32.f4e", "rrrr", &[[bytes[0], bytes[1], c]], |_| expected);
    }
}
