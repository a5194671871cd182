//! `dtypes`: the tables of element types.

use super::Component;
use super::wit::dtypes::{self as wit, Guest};
use crate::{Dtype, SourceType};

impl Guest for Component {
    fn outputs() -> Vec<wit::OutputInfo> {
        let info = |dtype: Dtype| wit::OutputInfo {
            dtype: dtype.into(),
            short_name: dtype.short_name().into(),
            full_name: dtype.full_name().into(),
            width: dtype.width() as u32,
            dlpack_code: dtype.dlpack().code,
            dlpack_bits: dtype.dlpack().bits,
        };
        Dtype::ALL.into_iter().map(info).collect()
    }

    fn sources() -> Vec<wit::SourceInfo> {
        let info = |source: SourceType| wit::SourceInfo {
            source: source.into(),
            short_name: source.short_name().into(),
            full_name: source.full_name().into(),
            width: source.width() as u32,
        };
        SourceType::ALL.into_iter().map(info).collect()
    }

    fn parse(name: String) -> Option<wit::Dtype> {
        Dtype::from_name(&name).map(Into::into)
    }

    fn parse_source(name: String) -> Option<wit::Source> {
        SourceType::from_name(&name).map(Into::into)
    }
}
