//! The PTX that damacy ships, through the driver's calls as its pipeline makes them: pinned memory -> copy stream ->
//! event -> kernel -> copy back, for all 100 pairs of types, judged by tests/vectors.

use std::ffi::CString;
use std::path::Path;

use crate::support::{Random, Soft, ok, out, peek, poke};

struct Pair {
    source: String,
    output: String,
    input: Vec<u8>,
    expected: Vec<u8>,
}

impl Pair {
    fn width(name: &str) -> usize {
        let bits: usize = name.trim_start_matches(char::is_alphabetic).parse().expect("a type ends in its bits");
        bits / 8
    }
}

fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn pairs() -> Vec<Pair> {
    let text = file("tests/vectors/pairs.jsonl");
    let field = |line: &str, name: &str| {
        let (_, rest) = line.split_once(&format!("\"{name}\": \"")).expect("a field");
        rest[..rest.find('"').expect("its end")].to_owned()
    };
    let bytes = |hex: String| -> Vec<u8> {
        hex.as_bytes()
            .chunks(2)
            .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).expect("ASCII"), 16).expect("hex"))
            .collect()
    };
    text.lines()
        .map(|line| Pair {
            source: field(line, "src"),
            output: field(line, "dst"),
            input: bytes(field(line, "in")),
            expected: bytes(field(line, "out")),
        })
        .collect()
}

/// Times that the vector of a pair is repeated, so that several blocks have work.
const REPEATS: usize = 10;

#[test]
fn all_pairs_convert_as_the_vectors_say() {
    let soft = Soft::ready(&[("delay_us", "100"), ("seed", "3")]);
    let image = CString::new(file("cuda-accel/prebuilt/damacy.ptx")).expect("text without zeros");
    let module = out(|place| (soft.cuModuleLoadData)(place, image.as_ptr()));
    let (copies, work) = (soft.stream(), soft.stream());
    let (uploaded, done) = (soft.event(), soft.event());
    let pairs = pairs();
    assert_eq!(pairs.len(), 100);
    let longest = pairs.iter().map(|pair| pair.input.len().max(pair.expected.len())).max().expect("pairs");
    let room = longest * REPEATS + 1024;
    let (staging, back) = (soft.pinned(room), soft.pinned(room));
    let (from, to) = (soft.device(room), soft.device(room));
    let mut random = Random(5);
    for pair in pairs {
        let (input, expected) = (pair.input.repeat(REPEATS), pair.expected.repeat(REPEATS));
        let name = CString::new(format!("damacy_convert_{}_{}", pair.source, pair.output)).expect("a name");
        let function = soft.function(module, &name);
        // Any element may be the first.
        let source = from + random.below(16) * Pair::width(&pair.source) as u64;
        let destination = to + 64 + random.below(16) * Pair::width(&pair.output) as u64;
        ok((soft.soft_cuda_host_write)(staging, input.len()));
        poke(staging, &input);
        ok((soft.cuMemcpyHtoDAsync_v2)(source, staging, input.len(), copies));
        ok((soft.cuEventRecord)(uploaded, copies));
        ok((soft.cuStreamWaitEvent)(work, uploaded, 0));
        ok((soft.cuMemsetD8Async)(to, 0x5c, room, work));
        let elements = (input.len() / Pair::width(&pair.source)) as u64;
        let places = [&raw const source as u64, &raw const destination as u64, &raw const elements as u64];
        let blocks = 1 + random.below(3) as u32;
        ok((soft.cuLaunchKernel)(function, blocks, 1, 1, 256, 1, 1, 0, work, places.as_ptr(), std::ptr::null()));
        ok((soft.cuMemcpyDtoHAsync_v2)(back, to, room, work));
        ok((soft.cuEventRecord)(done, work));
        // The next upload overwrites what the kernel reads.
        ok((soft.cuStreamWaitEvent)(copies, done, 0));
        ok((soft.cuEventSynchronize)(done));
        ok((soft.soft_cuda_host_read)(back, room));
        let (bytes, start) = (peek(back, room), (destination - to) as usize);
        let end = start + expected.len();
        assert!(bytes[start..end] == expected, "{name:?}");
        assert!(
            bytes[..start].iter().chain(&bytes[end..]).all(|&byte| byte == 0x5c),
            "{name:?} writes beside its output"
        );
        soft.expect_none();
    }
    for stream in [copies, work] {
        ok((soft.cuStreamDestroy_v2)(stream));
    }
    for event in [uploaded, done] {
        ok((soft.cuEventDestroy_v2)(event));
    }
    for address in [from, to] {
        ok((soft.cuMemFree_v2)(address));
    }
    for pointer in [staging, back] {
        ok((soft.cuMemFreeHost)(pointer));
    }
    ok((soft.cuModuleUnload)(module));
    ok((soft.cuDevicePrimaryCtxRelease_v2)(0));
    soft.expect_none();
    assert_eq!(soft.count("pageable_copies"), 0);
}
