//! Element types: the ten outputs, the ten sources, their names, widths and DLPack codes.

use core::fmt;

/// Element type of an assembled batch. The values are part of the C and Python interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Dtype {
    /// IEEE binary32.
    F32 = 0,
    /// bfloat16.
    Bf16 = 1,
    /// Unsigned, 8 bits.
    U8 = 2,
    /// Unsigned, 16 bits.
    U16 = 3,
    /// Unsigned, 32 bits.
    U32 = 4,
    /// Unsigned, 64 bits.
    U64 = 5,
    /// Signed, 8 bits.
    I8 = 6,
    /// Signed, 16 bits.
    I16 = 7,
    /// Signed, 32 bits.
    I32 = 8,
    /// Signed, 64 bits.
    I64 = 9,
}

/// DLPack's `DLDataType` with one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DlpackType {
    /// 0 signed integer, 1 unsigned integer, 2 float, 4 bfloat.
    pub code: u8,
    /// Bits an element.
    pub bits: u8,
}

impl Dtype {
    /// Every output type, by value.
    pub const ALL: [Dtype; 10] = [
        Dtype::F32,
        Dtype::Bf16,
        Dtype::U8,
        Dtype::U16,
        Dtype::U32,
        Dtype::U64,
        Dtype::I8,
        Dtype::I16,
        Dtype::I32,
        Dtype::I64,
    ];

    /// `f32`, `bf16`, `u8` ...
    pub const fn short_name(self) -> &'static str {
        match self {
            Dtype::F32 => "f32",
            Dtype::Bf16 => "bf16",
            Dtype::U8 => "u8",
            Dtype::U16 => "u16",
            Dtype::U32 => "u32",
            Dtype::U64 => "u64",
            Dtype::I8 => "i8",
            Dtype::I16 => "i16",
            Dtype::I32 => "i32",
            Dtype::I64 => "i64",
        }
    }

    /// `float32`, `bfloat16`, `uint8` ...
    pub const fn full_name(self) -> &'static str {
        match self {
            Dtype::F32 => "float32",
            Dtype::Bf16 => "bfloat16",
            Dtype::U8 => "uint8",
            Dtype::U16 => "uint16",
            Dtype::U32 => "uint32",
            Dtype::U64 => "uint64",
            Dtype::I8 => "int8",
            Dtype::I16 => "int16",
            Dtype::I32 => "int32",
            Dtype::I64 => "int64",
        }
    }

    /// Bytes an element: 1, 2, 4 or 8.
    pub const fn width(self) -> usize {
        match self {
            Dtype::U8 | Dtype::I8 => 1,
            Dtype::Bf16 | Dtype::U16 | Dtype::I16 => 2,
            Dtype::F32 | Dtype::U32 | Dtype::I32 => 4,
            Dtype::U64 | Dtype::I64 => 8,
        }
    }

    /// The type as DLPack writes it.
    pub const fn dlpack(self) -> DlpackType {
        let code = match self {
            Dtype::F32 => 2,
            Dtype::Bf16 => 4,
            Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => 1,
            Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => 0,
        };
        DlpackType { code, bits: (self.width() * 8) as u8 }
    }

    /// The type of a number from the table (`DAMACY_F32` = 0 ... `DAMACY_I64` = 9).
    pub const fn from_value(value: u8) -> Option<Dtype> {
        if (value as usize) < Self::ALL.len() { Some(Self::ALL[value as usize]) } else { None }
    }

    /// The type of a short or full name, without regard to case.
    pub fn from_name(name: &str) -> Option<Dtype> {
        Self::ALL
            .into_iter()
            .find(|d| d.short_name().eq_ignore_ascii_case(name) || d.full_name().eq_ignore_ascii_case(name))
    }

    /// As [`Dtype::from_name`], with an error that says what is accepted.
    ///
    /// # Errors
    /// [`UnknownDtype`] for every other name.
    pub fn parse(name: &str) -> Result<Dtype, UnknownDtype<'_>> {
        Self::from_name(name).ok_or(UnknownDtype { given: name })
    }
}

/// A name that is no output type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownDtype<'a> {
    /// The name.
    pub given: &'a str,
}

impl fmt::Display for UnknownDtype<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no output type; accepted are ", self.given)?;
        for (i, dtype) in Dtype::ALL.into_iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            write!(f, "{separator}{} ({})", dtype.full_name(), dtype.short_name())?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownDtype<'_> {}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.full_name())
    }
}

/// Element type of a stored array that damacy converts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum SourceType {
    /// Unsigned, 8 bits.
    U8 = 0,
    /// Unsigned, 16 bits.
    U16 = 1,
    /// Unsigned, 32 bits.
    U32 = 2,
    /// Unsigned, 64 bits.
    U64 = 3,
    /// Signed, 8 bits.
    I8 = 4,
    /// Signed, 16 bits.
    I16 = 5,
    /// Signed, 32 bits.
    I32 = 6,
    /// Signed, 64 bits.
    I64 = 7,
    /// IEEE binary16.
    F16 = 8,
    /// IEEE binary32.
    F32 = 9,
}

impl SourceType {
    /// Every source type, by value.
    pub const ALL: [SourceType; 10] = [
        SourceType::U8,
        SourceType::U16,
        SourceType::U32,
        SourceType::U64,
        SourceType::I8,
        SourceType::I16,
        SourceType::I32,
        SourceType::I64,
        SourceType::F16,
        SourceType::F32,
    ];

    /// `u8` ... `f16`, `f32`.
    pub const fn short_name(self) -> &'static str {
        match self {
            SourceType::U8 => "u8",
            SourceType::U16 => "u16",
            SourceType::U32 => "u32",
            SourceType::U64 => "u64",
            SourceType::I8 => "i8",
            SourceType::I16 => "i16",
            SourceType::I32 => "i32",
            SourceType::I64 => "i64",
            SourceType::F16 => "f16",
            SourceType::F32 => "f32",
        }
    }

    /// The name in Zarr v3's `data_type`, which is NumPy's too: `uint8` ... `float16`, `float32`.
    pub const fn full_name(self) -> &'static str {
        match self {
            SourceType::U8 => "uint8",
            SourceType::U16 => "uint16",
            SourceType::U32 => "uint32",
            SourceType::U64 => "uint64",
            SourceType::I8 => "int8",
            SourceType::I16 => "int16",
            SourceType::I32 => "int32",
            SourceType::I64 => "int64",
            SourceType::F16 => "float16",
            SourceType::F32 => "float32",
        }
    }

    /// Bytes an element: 1, 2, 4 or 8.
    pub const fn width(self) -> usize {
        match self {
            SourceType::U8 | SourceType::I8 => 1,
            SourceType::U16 | SourceType::I16 | SourceType::F16 => 2,
            SourceType::U32 | SourceType::I32 | SourceType::F32 => 4,
            SourceType::U64 | SourceType::I64 => 8,
        }
    }

    /// The type of a number from [`SourceType::ALL`]'s order.
    pub const fn from_value(value: u8) -> Option<SourceType> {
        if (value as usize) < Self::ALL.len() { Some(Self::ALL[value as usize]) } else { None }
    }

    /// The type of a short or full name, without regard to case.
    pub fn from_name(name: &str) -> Option<SourceType> {
        Self::ALL
            .into_iter()
            .find(|s| s.short_name().eq_ignore_ascii_case(name) || s.full_name().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for SourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.full_name())
    }
}

/// Byte order of stored elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ByteOrder {
    /// Least significant byte first.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// The order of this machine.
    pub const NATIVE: ByteOrder = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
}
