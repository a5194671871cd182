//! Small kernels around one instruction: operands in memory -> results.

use damacy_ptx::{Fault, Heap, Launch, Module, Statistics};

/// A module with one kernel `k` of that body. `parameters` and registers are those of every test here.
pub fn module(parameters: &str, body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k({parameters})\n{{\n.reg .pred %p<9>;\n\
         .reg .b16 %rs<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<20>;\n{body}\nret;\n}}\n"
    )
}

/// Parses, or panics with the machine's message.
pub fn parse(text: &str) -> Module {
    Module::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Runs a body over `blocks` of `threads`, with 64-bit parameters `x0`, `x1` ...
pub fn run(body: &str, blocks: u32, threads: u32, values: &[u64], heap: &Heap) -> Result<Statistics, Fault> {
    let names: Vec<String> = (0..values.len()).map(|i| format!(".param .u64 x{i}")).collect();
    let values: Vec<[u8; 8]> = values.iter().map(|value| value.to_le_bytes()).collect();
    let parameters: Vec<&[u8]> = values.iter().map(|value| &value[..]).collect();
    let module = parse(&module(&names.join(", "), body));
    module.kernel("k").expect("the kernel").launch(&Launch::new(blocks, threads, &parameters), heap)
}

/// The register of a class and the cvt or selp that moves it to or from 64 bits.
fn widened(class: char, wide: &str, narrow: &str) -> String {
    match class {
        'p' => format!("selp.u64 {wide}, 1, 0, {narrow};"),
        'h' => format!("cvt.u64.u16 {wide}, {narrow};"),
        'r' => format!("cvt.u64.u32 {wide}, {narrow};"),
        _ => format!("mov.b64 {wide}, {narrow};"),
    }
}

fn narrowed(class: char, wide: &str, narrow: &str) -> String {
    match class {
        'p' => format!("setp.ne.u64 {narrow}, {wide}, 0;"),
        'h' => format!("cvt.u16.u64 {narrow}, {wide};"),
        'r' => format!("cvt.u32.u64 {narrow}, {wide};"),
        _ => format!("mov.b64 {narrow}, {wide};"),
    }
}

fn register(class: char, number: usize) -> String {
    let prefix = match class {
        'p' => "%p",
        'h' => "%rs",
        'r' => "%r",
        'd' => "%rd",
        _ => panic!("class {class}"),
    };
    format!("{prefix}{number}")
}

/// Runs `opcode d, a, b, ...;` once for each of the operands' tuples. `classes`: the registers' sizes, destination first:
/// p(redicate), h(alf), r (32 bits), d(ouble).
pub fn results<const N: usize>(opcode: &str, classes: &str, operands: &[[u64; N]]) -> Vec<u64> {
    let classes: Vec<char> = classes.chars().collect();
    assert_eq!(classes.len(), N + 1, "a class for the destination and each operand");
    let mut body = String::from(
        "ld.param.u64 %rd10, [x0];\nld.param.u64 %rd11, [x1];\nmov.u32 %r8, %ctaid.x;\nmov.u32 %r7, %ntid.x;\n\
         mov.u32 %r6, %tid.x;\nmad.lo.s32 %r8, %r8, %r7, %r6;\ncvt.u64.u32 %rd12, %r8;\n\
         ld.param.u64 %rd13, [x2];\nsetp.ge.u64 %p8, %rd12, %rd13;\n@%p8 ret;\n",
    );
    body += &format!("mad.lo.u64 %rd10, %rd12, {}, %rd10;\nmad.lo.u64 %rd11, %rd12, 8, %rd11;\n", 8 * N);
    let mut list = register(classes[0], 0);
    for (i, &class) in classes[1..].iter().enumerate() {
        let register = register(class, i + 1);
        body += &format!("ld.global.b64 %rd14, [%rd10+{}];\n{}\n", 8 * i, narrowed(class, "%rd14", &register));
        list += &format!(", {register}");
    }
    body += &format!("{opcode} {list};\n{}\n", widened(classes[0], "%rd14", &register(classes[0], 0)));
    body += "st.global.b64 [%rd11], %rd14;";
    let heap = Heap::default();
    let bytes: Vec<u8> = operands.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    let (from, to) = (heap.place(if N == 0 { &[0] } else { &bytes }), heap.allocate(8 * operands.len()));
    let threads = 256;
    let blocks = operands.len().div_ceil(threads as usize) as u32;
    run(&body, blocks, threads, &[from, to, operands.len() as u64], &heap).unwrap_or_else(|fault| panic!("{fault}"));
    let bytes = heap.read(to, 8 * operands.len()).expect("the results");
    bytes.chunks_exact(8).map(|value| u64::from_le_bytes(value.try_into().expect("8 bytes"))).collect()
}

/// One result.
pub fn result<const N: usize>(opcode: &str, classes: &str, operands: [u64; N]) -> u64 {
    results(opcode, classes, &[operands])[0]
}

/// Compares the instruction's results with another computation, operands by operands.
pub fn check<const N: usize>(opcode: &str, classes: &str, operands: &[[u64; N]], expected: impl Fn([u64; N]) -> u64) {
    for (operands, got) in operands.iter().zip(results(opcode, classes, operands)) {
        let expected = expected(*operands);
        assert_eq!(got, expected, "{opcode} of {operands:x?} is {got:#x}, expected {expected:#x}");
    }
}

/// Numbers that look random, the same ones in each run.
pub fn noise() -> impl Iterator<Item = u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    std::iter::from_fn(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Some(state.wrapping_mul(0x2545_f491_4f6c_dd1d))
    })
}

/// Values of `bits` bits: the edges of all sizes, and random ones.
pub fn values(bits: u32) -> Vec<u64> {
    let mask = u64::MAX >> (64 - bits);
    let mut values = vec![0, 1, 2, 3, 5, 10];
    for power in [7, 8, 15, 16, 23, 24, 31, 32, 63] {
        let edge = 1u64 << power;
        values.extend([edge - 1, edge, edge + 1, edge.wrapping_neg()]);
    }
    values.extend([u64::MAX, u64::MAX - 1]);
    // Random ones of every magnitude.
    values.extend(noise().take(24).enumerate().map(|(i, value)| value >> (i as u32 * 3 % bits)));
    let mut values: Vec<u64> = values.into_iter().map(|value| value & mask).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// All pairs.
pub fn pairs(a: &[u64], b: &[u64]) -> Vec<[u64; 2]> {
    a.iter().flat_map(|&a| b.iter().map(move |&b| [a, b])).collect()
}

/// Single-precision values: every exponent with some significands, both signs, subnormals, infinities, NaN.
pub fn singles() -> Vec<u64> {
    let mut values = Vec::new();
    let mut noise = noise();
    for exponent in 0..=255u64 {
        for significand in [0, 1, 0x40_0000, 0x7f_ffff, noise.next().expect("endless") & 0x7f_ffff] {
            values.extend([exponent << 23 | significand, 1 << 31 | exponent << 23 | significand]);
        }
    }
    values
}

/// Few of them, for pairs and triples.
pub fn few_singles() -> Vec<u64> {
    let named = [0.0, 1.0, 1.5, 0.1, 3.0, f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1), f32::from_bits(0x7f_ffff)];
    let mut values: Vec<u64> = named.iter().flat_map(|value| [*value, -value]).map(|v| v.to_bits().into()).collect();
    values.extend([0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0xff80_0001, 0x7f80_0001, 0x4b7f_ffff, 0x3380_0000]);
    values.extend(noise().take(12).map(|value| value >> 32));
    values
}

/// The value of bits.
pub fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// The bits of a value, NaN as devices give it.
pub fn single_bits(value: f32) -> u64 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits().into() }
}
