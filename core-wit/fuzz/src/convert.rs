//! Target `convert`: boxes of every shape, stride and offset in small buffers -> at every level of instructions the elements that
//! the scalar rules give, no other byte touched; or a refusal, when a box leaves its buffer, and nothing written.

use super::bytes::Bytes;
use super::scalar;
use damacy_core::convert::{ConvertError, Crop, Kernel, Level, MAX_RANK};
use damacy_core::{ByteOrder, Dtype, SourceType};

/// Bytes before and behind every buffer that nobody may touch.
const GUARD: usize = 128;
const UNTOUCHED: u8 = 0xa5;
/// Elements of a box whose bytes are looked at.
const MOST_ELEMENTS: u128 = 1 << 13;

/// A buffer between guards, at any alignment.
struct Guarded {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl Guarded {
    fn new(length: usize, misaligned: usize, byte: impl FnMut(usize) -> u8) -> Guarded {
        let mut memory = vec![UNTOUCHED; length + 2 * GUARD + 64];
        let start = GUARD + memory.as_ptr().align_offset(64) % 64 + misaligned % 64;
        let start = start.min(memory.len() - GUARD - length);
        memory[start..start + length].iter_mut().zip((0..length).map(byte)).for_each(|(to, from)| *to = from);
        Guarded { memory, start, length }
    }

    fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }

    fn check_guards(&self) {
        let (before, behind) = (&self.memory[..self.start], &self.memory[self.start + self.length..]);
        assert!(before.iter().chain(behind).all(|&byte| byte == UNTOUCHED), "a guard was overwritten");
    }
}

/// A box that owns its parts.
struct Case {
    source: SourceType,
    order: ByteOrder,
    output: Dtype,
    extent: Vec<u64>,
    src: (usize, Vec<isize>),
    dst: (usize, Vec<isize>),
    src_length: usize,
    dst_length: usize,
    misaligned: (usize, usize),
    seed: u64,
    fill: bool,
}

/// Strides of a box in a larger array, some axes reversed or in another order; or any numbers.
fn strides(bytes: &mut Bytes<'_>, extent: &[u64], width: usize) -> (usize, Vec<isize>, usize) {
    let mut strides = vec![0; extent.len()];
    let (mut stride, mut offset) = (width as i64, 0i64);
    let kind = bytes.byte();
    let axes: Vec<usize> = if kind & 1 == 0 { (0..extent.len()).rev().collect() } else { (0..extent.len()).collect() };
    for axis in axes {
        let length = (extent[axis] as i64).saturating_add(if kind & 2 == 0 { 0 } else { bytes.below(4) as i64 });
        strides[axis] = stride as isize;
        if kind & 12 == 12 && bytes.once_in(2) {
            strides[axis] = -strides[axis];
            offset = offset.saturating_add(stride.saturating_mul(extent[axis].saturating_sub(1) as i64));
        }
        stride = stride.saturating_mul(length.max(1));
    }
    let mut length = stride.clamp(0, 1 << 16) as usize;
    let mut offset = offset.max(0) as usize;
    if kind & 16 != 0 {
        offset += bytes.below(64) as usize;
        length += bytes.below(64) as usize;
    }
    if kind & 0xe0 == 0xe0 {
        for stride in &mut strides {
            if bytes.once_in(3) {
                *stride = bytes.number() as isize;
            }
        }
        if bytes.once_in(3) {
            offset = bytes.number() as usize;
        }
    }
    if kind & 0xe0 == 0xc0 && !strides.is_empty() {
        let axis = bytes.below(strides.len() as u64) as usize;
        strides[axis] = bytes.below(40) as isize - 20;
    }
    (offset, strides, length)
}

impl Case {
    fn read(bytes: &mut Bytes<'_>) -> Case {
        let source = *bytes.pick(&SourceType::ALL);
        let output = *bytes.pick(&Dtype::ALL);
        let kind = bytes.byte();
        let order = if kind & 1 == 0 { ByteOrder::Little } else { ByteOrder::Big };
        let rank = match kind >> 4 {
            15 => bytes.below(MAX_RANK as u64 + 2),
            rank => u64::from(rank) % 5,
        };
        let most = [1, 700, 40, 12, 6].get(rank as usize).copied().unwrap_or(1);
        let extent: Vec<u64> = (0..rank)
            .map(|_| match bytes.byte() {
                b @ 0..=239 => 1 + u64::from(b) % most,
                b @ 240..=247 => u64::from(b) - 240,
                248..=251 if rank == 1 => 1 + bytes.below(1 << 13),
                252..=254 => bytes.number(),
                _ => 1,
            })
            .collect();
        let (src_offset, src_strides, src_length) = strides(bytes, &extent, source.width());
        let (dst_offset, dst_strides, dst_length) = strides(bytes, &extent, output.width());
        let misaligned = (bytes.below(64) as usize, bytes.below(64) as usize);
        let (src, dst) = ((src_offset, src_strides), (dst_offset, dst_strides));
        let fill = kind & 8 != 0;
        let seed = bytes.number();
        Case { source, order, output, extent, src, dst, src_length, dst_length, misaligned, seed, fill }
    }

    fn crop(&self) -> Crop<'_> {
        Crop {
            extent: &self.extent,
            src_offset: self.src.0,
            src_strides: &self.src.1,
            dst_offset: self.dst.0,
            dst_strides: &self.dst.1,
        }
    }

    /// First byte of an element in a buffer.
    fn place(&self, (offset, strides): &(usize, Vec<isize>), index: &[u64]) -> usize {
        let at = index.iter().zip(strides).fold(*offset as i128, |at, (&i, &s)| at + i128::from(i) * s as i128);
        usize::try_from(at).expect("the box was accepted")
    }

    fn elements(&self) -> u128 {
        self.extent.iter().fold(1u128, |n, &extent| n.saturating_mul(extent.into()))
    }

    /// Whether all elements lie inside a buffer.
    fn is_inside(&self, (offset, strides): &(usize, Vec<isize>), width: usize, length: usize) -> bool {
        let (mut first, mut end) = (*offset as i128, *offset as i128 + width as i128);
        for (&extent, &stride) in self.extent.iter().zip(strides) {
            let reach = (i128::from(extent) - 1).saturating_mul(stride as i128);
            first = first.saturating_add(reach.min(0));
            end = end.saturating_add(reach.max(0));
        }
        first >= 0 && end <= length as i128
    }
}

/// Runs the target.
pub fn run(data: &[u8]) {
    let mut bytes = Bytes(data);
    let case = Case::read(&mut bytes);
    let mut seed = case.seed;
    let mut given = bytes.0.iter().cycle();
    let src = Guarded::new(case.src_length, case.misaligned.0, |_| {
        // The input's own bytes, and others once they are used up.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if seed >> 63 == 0 { given.next().copied().unwrap_or((seed >> 40) as u8) } else { (seed >> 48) as u8 }
    });
    for level in Level::ALL {
        if level.is_available() {
            check_crop(&case, level, &src);
            check_flat(&case, level, &src);
        }
    }
}

fn check_crop(case: &Case, level: Level, src: &Guarded) {
    let (src_width, dst_width) = (case.source.width(), case.output.width());
    let kernel = Kernel::select_at(level, case.source, case.order, case.output);
    let mut dst = Guarded::new(case.dst_length, case.misaligned.1, |_| UNTOUCHED);
    let element = src.bytes().get(..src_width);
    let (accepted, done, inside) = match element.filter(|_| case.fill) {
        Some(element) => {
            let done = kernel.fill(element, &case.extent, case.dst.0, &case.dst.1, &mut dst.bytes_mut());
            (done, done, true)
        }
        None => {
            let accepted = kernel.check(&case.crop(), src.bytes(), &mut dst.bytes_mut());
            let done = kernel.crop(&case.crop(), src.bytes(), &mut dst.bytes_mut());
            (accepted, done, case.is_inside(&case.src, src_width, src.length))
        }
    };
    dst.check_guards();
    assert_eq!(accepted, done);
    let elements = case.elements();
    let fits = inside && case.is_inside(&case.dst, dst_width, dst.length);
    let rank = case.extent.len();
    match done {
        Err(error) => {
            assert!(dst.bytes().iter().all(|&byte| byte == UNTOUCHED), "written before {error:?}");
            let expected = match error {
                ConvertError::TooManyAxes { .. } => rank > MAX_RANK,
                ConvertError::OutOfSource(_) => !inside,
                ConvertError::OutOfDestination(_) => !case.is_inside(&case.dst, dst_width, dst.length),
                ConvertError::OverlappingDestination { .. } => overlaps(case),
                _ => false,
            };
            assert!(expected && elements > 0 || rank > MAX_RANK, "refused without reason: {error:?}");
        }
        Ok(()) => {
            assert!(elements == 0 || fits, "a box outside its buffers was accepted");
            assert!(elements * dst_width as u128 <= dst.length as u128, "unbounded work was accepted");
            if elements <= MOST_ELEMENTS {
                compare(case, src, &dst, element.filter(|_| case.fill));
            }
        }
    }
}

/// Whether two elements share bytes of the destination.
fn overlaps(case: &Case) -> bool {
    let mut axes: Vec<(i128, i128)> =
        case.extent.iter().zip(&case.dst.1).map(|(&e, &s)| (i128::from(e), (s as i128).abs())).collect();
    axes.retain(|axis| axis.0 > 1);
    axes.sort_by_key(|axis| axis.1);
    let mut reach = case.output.width() as i128;
    axes.into_iter().any(|(extent, stride)| {
        let overlaps = stride < reach;
        reach = reach.saturating_add(stride.saturating_mul(extent - 1));
        overlaps
    })
}

/// Compares each element with the scalar rule, and every other byte with what it was.
fn compare(case: &Case, src: &Guarded, dst: &Guarded, fill: Option<&[u8]>) {
    let (src_width, dst_width) = (case.source.width(), case.output.width());
    let shared = overlaps(case);
    let mut expected = vec![UNTOUCHED; dst.length];
    let mut touched = vec![false; dst.length];
    let mut index = vec![0u64; case.extent.len()];
    'elements: while !case.extent.contains(&0) {
        let element = fill.unwrap_or_else(|| &src.bytes()[case.place(&case.src, &index)..][..src_width]);
        let to = case.place(&case.dst, &index);
        expected[to..to + dst_width].copy_from_slice(&scalar::convert(case.source, case.order, case.output, element));
        touched[to..to + dst_width].fill(true);
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            if index[axis] < case.extent[axis] {
                continue 'elements;
            }
            index[axis] = 0;
        }
        break;
    }
    if !shared {
        assert_eq!(dst.bytes(), expected, "another value than the rule's");
    }
    let rest = dst.bytes().iter().zip(&touched).filter(|(_, touched)| !**touched);
    assert!(rest.into_iter().all(|(&byte, _)| byte == UNTOUCHED), "a byte beside the box was touched");
}

/// The whole source as one row.
fn check_flat(case: &Case, level: Level, src: &Guarded) {
    let (src_width, dst_width) = (case.source.width(), case.output.width());
    let kernel = Kernel::select_at(level, case.source, case.order, case.output);
    let elements = src.length / src_width;
    let mut dst = Guarded::new(elements * dst_width, case.misaligned.1, |_| UNTOUCHED);
    let done = kernel.convert(src.bytes(), dst.bytes_mut());
    dst.check_guards();
    if !src.length.is_multiple_of(src_width) {
        assert_eq!(done, Err(ConvertError::RaggedSource { bytes: src.length, width: src_width }));
        return;
    }
    assert_eq!(done, Ok(()));
    for (from, to) in src.bytes().chunks(src_width).zip(dst.bytes().chunks(dst_width)).take(MOST_ELEMENTS as usize) {
        assert_eq!(to, scalar::convert(case.source, case.order, case.output, from), "another value than the rule's");
    }
}
