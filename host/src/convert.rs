//! Conversion of whole buffers, by the trusted native code or in the sandbox. Same bits.

use crate::error::Result;
use crate::{ByteOrder, Dtype, SourceType};

/// Which build of the conversion rules runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Engine {
    /// The rules linked into this process: fastest.
    #[default]
    Native,
    /// The component, in blocks that stay in L2.
    Sandbox,
}

/// Converts `src` (whole elements, contiguous) into `dst` (exactly as many output elements).
///
/// # Errors
/// `Inval` when the sizes do not fit; `Internal` for a trap in the guest.
pub fn convert(
    engine: Engine,
    source: SourceType,
    order: ByteOrder,
    output: Dtype,
    src: &[u8],
    dst: &mut [u8],
) -> Result<()> {
    let _ = (engine, source, order, output, src, dst);
    todo!()
}
