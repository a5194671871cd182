//! Options whose values have names: how such a value is read, and which names completion offers.

use crate::parse;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Command};
use damacy::{ByteOrder, Dtype, SourceType};
use std::ffi::OsStr;

/// Reads a value as `read` does, which takes more than the names that are offered: full names, values.
#[derive(Clone, Copy)]
pub struct Named<T> {
    read: fn(&str) -> Result<T, String>,
    names: fn() -> Vec<&'static str>,
}

impl Named<Dtype> {
    /// An output type.
    pub const DTYPE: Named<Dtype> =
        Named { read: parse::dtype, names: || Dtype::ALL.iter().map(|dtype| dtype.short_name()).collect() };
}

impl Named<SourceType> {
    /// A source type.
    pub const SOURCE: Named<SourceType> =
        Named { read: parse::source, names: || SourceType::ALL.iter().map(|source| source.short_name()).collect() };
}

impl Named<ByteOrder> {
    /// A byte order.
    pub const BYTE_ORDER: Named<ByteOrder> = Named { read: parse::byte_order, names: || vec!["little", "big"] };
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Named<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        self.read.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}
