//! Fundamental types (PTX ISA 5.2.1), those that this machine knows.

/// A type as instructions and declarations name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    B8,
    B16,
    B32,
    B64,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F32,
    F64,
    Pred,
}

impl Type {
    /// By its name, without the dot.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "b8" => Self::B8,
            "b16" => Self::B16,
            "b32" => Self::B32,
            "b64" => Self::B64,
            "u8" => Self::U8,
            "u16" => Self::U16,
            "u32" => Self::U32,
            "u64" => Self::U64,
            "s8" => Self::S8,
            "s16" => Self::S16,
            "s32" => Self::S32,
            "s64" => Self::S64,
            "f16" => Self::F16,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "pred" => Self::Pred,
            _ => return None,
        })
    }

    /// Bits; 1 for predicates.
    pub fn bits(self) -> u32 {
        match self {
            Self::Pred => 1,
            Self::B8 | Self::U8 | Self::S8 => 8,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 => 16,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 => 32,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 64,
        }
    }

    /// Bytes in memory; 0 for predicates, which have none.
    pub fn bytes(self) -> usize {
        self.bits() as usize / 8
    }

    pub fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// The ones that a value of this type may have set.
    pub fn mask(self) -> u64 {
        mask(self.bits())
    }
}

/// The lowest `bits` ones, 1 to 64.
pub(crate) fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}
