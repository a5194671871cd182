//! `dtypes`: the tables of element types.

use super::Component;
use super::wit::dtypes::{self as wit, Guest};
use crate::{Dtype, SourceType};

impl Guest for Component {
    fn outputs() -> Vec<wit::OutputInfo> {
        Dtype::ALL.into_iter().map(output_info).collect()
    }

    fn sources() -> Vec<wit::SourceInfo> {
        SourceType::ALL.into_iter().map(source_info).collect()
    }

    fn parse(name: String) -> Option<wit::Dtype> {
        Dtype::from_name(&name).map(Into::into)
    }

    fn parse_source(name: String) -> Option<wit::Source> {
        SourceType::from_name(&name).map(Into::into)
    }
}

/// Not inlined, or the component has it ten times.
#[inline(never)]
fn output_info(dtype: Dtype) -> wit::OutputInfo {
    wit::OutputInfo {
        dtype: dtype.into(),
        short_name: dtype.short_name().into(),
        full_name: dtype.full_name().into(),
        width: dtype.width() as u32,
        dlpack_code: dtype.dlpack().code,
        dlpack_bits: dtype.dlpack().bits,
    }
}

/// Not inlined, or the component has it ten times.
#[inline(never)]
fn source_info(source: SourceType) -> wit::SourceInfo {
    wit::SourceInfo {
        source: source.into(),
        short_name: source.short_name().into(),
        full_name: source.full_name().into(),
        width: source.width() as u32,
    }
}
