//! The rules, one element at a time: a pair and the bytes of an element -> the bytes of the converted one.

use damacy_core::rules::{Bf16, F16, F32, Rule};
use damacy_core::{ByteOrder, Dtype, SourceType};

/// Bytes of an element, in the machine's order.
trait Bits {
    fn read(bytes: &[u8]) -> Self;
    fn write(self) -> Vec<u8>;
}

macro_rules! bits {
    ($($element:ty, $bits:ty, $wrap:expr, $unwrap:expr;)*) => {$(
        impl Bits for $element {
            fn read(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$bits>()];
                own.copy_from_slice(bytes);
                $wrap(<$bits>::from_ne_bytes(own))
            }

            fn write(self) -> Vec<u8> {
                $unwrap(self).to_ne_bytes().to_vec()
            }
        }
    )*};
}
bits! {
    u8, u8, |x| x, |x: u8| x;
    u16, u16, |x| x, |x: u16| x;
    u32, u32, |x| x, |x: u32| x;
    u64, u64, |x| x, |x: u64| x;
    i8, i8, |x| x, |x: i8| x;
    i16, i16, |x| x, |x: i16| x;
    i32, i32, |x| x, |x: i32| x;
    i64, i64, |x| x, |x: i64| x;
    F16, u16, F16, |x: F16| x.0;
    F32, u32, F32, |x: F32| x.0;
    Bf16, u16, Bf16, |x: Bf16| x.0;
}

macro_rules! to_output {
    ($output:expr, $element:expr) => {{
        let element = $element;
        match $output {
            Dtype::F32 => Rule::<F32>::apply(element).write(),
            Dtype::Bf16 => Rule::<Bf16>::apply(element).write(),
            Dtype::U8 => Rule::<u8>::apply(element).write(),
            Dtype::U16 => Rule::<u16>::apply(element).write(),
            Dtype::U32 => Rule::<u32>::apply(element).write(),
            Dtype::U64 => Rule::<u64>::apply(element).write(),
            Dtype::I8 => Rule::<i8>::apply(element).write(),
            Dtype::I16 => Rule::<i16>::apply(element).write(),
            Dtype::I32 => Rule::<i32>::apply(element).write(),
            Dtype::I64 => Rule::<i64>::apply(element).write(),
        }
    }};
}

/// Converts one element.
pub(super) fn convert(source: SourceType, order: ByteOrder, output: Dtype, element: &[u8]) -> Vec<u8> {
    let mut bytes = element.to_vec();
    if order != ByteOrder::NATIVE {
        bytes.reverse();
    }
    match source {
        SourceType::U8 => to_output!(output, u8::read(&bytes)),
        SourceType::U16 => to_output!(output, u16::read(&bytes)),
        SourceType::U32 => to_output!(output, u32::read(&bytes)),
        SourceType::U64 => to_output!(output, u64::read(&bytes)),
        SourceType::I8 => to_output!(output, i8::read(&bytes)),
        SourceType::I16 => to_output!(output, i16::read(&bytes)),
        SourceType::I32 => to_output!(output, i32::read(&bytes)),
        SourceType::I64 => to_output!(output, i64::read(&bytes)),
        SourceType::F16 => to_output!(output, F16::read(&bytes)),
        SourceType::F32 => to_output!(output, F32::read(&bytes)),
    }
}
