//! `convert`: contiguous elements in, converted elements out.

use super::Component;
use super::wit::convert::{self as wit, Guest};
use crate::convert::{ConvertError, Kernel};
use crate::error::Error;
use crate::{Dtype, SourceType, Status};

impl Guest for Component {
    fn elements(
        source: wit::Source,
        order: wit::ByteOrder,
        output: wit::Dtype,
        elements: Vec<u8>,
    ) -> Result<Vec<u8>, wit::Error> {
        let (source, output) = (SourceType::from(source), Dtype::from(output));
        let needed = (elements.len() / source.width()).checked_mul(output.width());
        let mut converted = vec![0; needed.ok_or_else(|| too_long(elements.len()))?];
        Kernel::select(source, order.into(), output).convert(&elements, &mut converted).map_err(refused)?;
        Ok(converted)
    }
}

fn too_long(bytes: usize) -> Error {
    Error::new(Status::Budget, format!("{bytes} bytes are too many for one call: convert in blocks"))
}

fn refused(error: ConvertError) -> Error {
    Error::new(Status::Inval, error.to_string())
}
