//! Values of the ISA's integer types in slots, and a table of one expression over those types.

/// An integer type: a slot's bits <-> its value.
pub(super) trait Word: Copy {
    /// The value in the low bits of a slot.
    fn of(bits: u64) -> Self;
    /// The slot of the value: zero-extended.
    fn bits(self) -> u64;
}

macro_rules! word {
    ($($t:ty, $unsigned:ty;)*) => {$(
        impl Word for $t {
            fn of(bits: u64) -> Self {
                bits as $t
            }

            fn bits(self) -> u64 {
                self as $unsigned as u64
            }
        }
    )*};
}
word! { u8, u8; u16, u16; u32, u32; u64, u64; i8, u8; i16, u16; i32, u32; i64, u64; }

/// `by_type!(ty; U16 u16, S32 i32 ...; T(a, b) => expression)`: the [`Pure`](crate::machine::Pure) function of the
/// expression for the type `ty`, with `T` standing for the Rust type, or an error for a type that is not listed.
macro_rules! by_type {
    ($ty:expr; $($variant:ident $rust:ty),*; $t:ident $names:tt => $body:expr) => {{
        let ty: $crate::text::Type = $ty;
        match ty {
            $($crate::text::Type::$variant => {
                type $t = $rust;
                Ok($crate::isa::word::pure!($t; $names; $body))
            })*
            _ => Err(format!("type {ty:?} is not known here")),
        }
    }};
}

/// A function of up to three words of type `T` that gives any word.
macro_rules! pure {
    ($t:ident; ($a:ident); $body:expr) => {
        (|a, _, _| {
            let $a = <$t as Word>::of(a);
            Word::bits($body)
        }) as $crate::machine::Pure
    };
    ($t:ident; ($a:ident, $b:ident); $body:expr) => {
        (|a, b, _| {
            let ($a, $b) = (<$t as Word>::of(a), <$t as Word>::of(b));
            Word::bits($body)
        }) as $crate::machine::Pure
    };
    ($t:ident; ($a:ident, $b:ident, $c:ident); $body:expr) => {
        (|a, b, c| {
            let ($a, $b, $c) = (<$t as Word>::of(a), <$t as Word>::of(b), <$t as Word>::of(c));
            Word::bits($body)
        }) as $crate::machine::Pure
    };
}

pub(super) use by_type;
pub(super) use pure;
