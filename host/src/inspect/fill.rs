//! A fill value's bytes -> a value that prints as Zarr v3 writes it.

use crate::convert::{Engine, convert};
use crate::{ByteOrder, Dtype, SourceType};
use serde::{Serialize, Serializer};
use std::fmt;

/// A fill value of one of the source types.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FillValue {
    /// Of an unsigned type.
    Unsigned(u64),
    /// Of a signed type.
    Signed(i64),
    /// Of float16 or float32, which holds every float16.
    Float {
        /// The value; a NaN's payload is in the bits only.
        value: f32,
        /// The stored bits.
        bits: u32,
        /// Bytes that are stored, 2 or 4.
        width: u8,
    },
}

impl FillValue {
    /// The value of one little-endian element.
    pub(super) fn of(source: SourceType, bytes: &[u8]) -> Option<FillValue> {
        if bytes.len() != source.width() {
            return None;
        }
        // Widening is exact in the conversion rules themselves.
        let widened = |output: Dtype| {
            let mut wide = [0; 8];
            let wide = &mut wide[..output.width()];
            convert(Engine::Native, source, ByteOrder::Little, output, bytes, wide).ok()?;
            Some(wide.to_vec())
        };
        match source {
            SourceType::U8 | SourceType::U16 | SourceType::U32 | SourceType::U64 => {
                widened(Dtype::U64)?.try_into().ok().map(u64::from_ne_bytes).map(FillValue::Unsigned)
            }
            SourceType::I8 | SourceType::I16 | SourceType::I32 | SourceType::I64 => {
                widened(Dtype::I64)?.try_into().ok().map(i64::from_ne_bytes).map(FillValue::Signed)
            }
            SourceType::F16 | SourceType::F32 => {
                let value = widened(Dtype::F32)?.try_into().ok().map(f32::from_ne_bytes)?;
                let bits = bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u32::from(byte));
                Some(FillValue::Float { value, bits, width: source.width() as u8 })
            }
        }
    }
}

/// `7`, `0.5`, `NaN`, `-Infinity`, `0x7fc00001` for another NaN than the usual one.
impl fmt::Display for FillValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            FillValue::Unsigned(value) => write!(f, "{value}"),
            FillValue::Signed(value) => write!(f, "{value}"),
            FillValue::Float { value, bits, width } if value.is_nan() => match (bits, width) {
                (0x7e00, 2) | (0x7fc0_0000, 4) => f.write_str("NaN"),
                _ => write!(f, "0x{bits:0digits$x}", digits = 2 * usize::from(width)),
            },
            FillValue::Float { value, .. } if value.is_infinite() => {
                f.write_str(if value > 0.0 { "Infinity" } else { "-Infinity" })
            }
            // As a float: `0.0`, not `0`.
            FillValue::Float { value, .. } => write!(f, "{value:?}"),
        }
    }
}

impl Serialize for FillValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            FillValue::Unsigned(value) => serializer.serialize_u64(value),
            FillValue::Signed(value) => serializer.serialize_i64(value),
            FillValue::Float { value, .. } if value.is_finite() => serializer.serialize_f32(value),
            FillValue::Float { .. } => serializer.collect_str(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_print_as_zarr_writes_them() {
        for (source, bytes, text, json) in [
            (SourceType::U8, &[7][..], "7", "7"),
            (SourceType::U64, &[255; 8], "18446744073709551615", "18446744073709551615"),
            (SourceType::I8, &[0x80], "-128", "-128"),
            (SourceType::I64, &[0, 0, 0, 0, 0, 0, 0, 0x80], "-9223372036854775808", "-9223372036854775808"),
            (SourceType::F16, &[0, 0x3c], "1.0", "1.0"),
            (SourceType::F16, &[0, 0x7e], "NaN", "\"NaN\""),
            (SourceType::F16, &[1, 0x7e], "0x7e01", "\"0x7e01\""),
            (SourceType::F32, &[0xcd, 0xcc, 0xcc, 0x3d], "0.1", "0.1"),
            (SourceType::F32, &[0, 0, 0, 0x80], "-0.0", "-0.0"),
            (SourceType::F32, &[0, 0, 0x80, 0xff], "-Infinity", "\"-Infinity\""),
            (SourceType::F32, &[1, 0, 0xc0, 0x7f], "0x7fc00001", "\"0x7fc00001\""),
        ] {
            let value = FillValue::of(source, bytes).expect("a value");
            assert_eq!(value.to_string(), text);
            assert_eq!(serde_json::to_string(&value).expect("JSON"), json);
        }
        assert_eq!(FillValue::of(SourceType::U16, &[1]), None);
    }
}
