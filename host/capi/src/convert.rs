//! Conversion of buffers that the caller owns: checked whole before anything is written.

use crate::foreign::{Bytes, In, List, buffers, inval};
use crate::guard;
use crate::structs::Conversion;
use crate::types;
use damacy_core::convert::{Crop, Kernel, MAX_RANK};
use host::Result;
use host::convert::{convert, convert_box_parallel};
use std::borrow::Cow;
use std::num::NonZeroUsize;

#[unsafe(no_mangle)]
extern "C" fn damacy_convert(
    engine: i32,
    source: i32,
    order: i32,
    output: i32,
    src: List<u8>,
    src_bytes: usize,
    mut dst: Bytes,
    dst_bytes: usize,
) -> i32 {
    guard::call(|| {
        let (source, order) = (types::source(source)?, types::order(order)?);
        let (engine, output) = (types::engine(engine)?, types::dtype(output)?);
        let (src, dst) = buffers(&src, src_bytes, &mut dst, dst_bytes)?;
        convert(engine, source, order, output, src, dst)
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_convert_box(conversion: In<Conversion>) -> i32 {
    guard::call(|| {
        let mut asked = conversion.read("conversion")?;
        let kernel =
            Kernel::select(types::source(asked.source)?, types::order(asked.order)?, types::dtype(asked.output)?);
        let engine = types::engine(asked.engine)?;
        if asked.rank > MAX_RANK {
            return Err(inval(format!("rank of conversion is {}: at most {MAX_RANK} axes are supported", asked.rank)));
        }
        let extent = asked.extent.get(asked.rank, "extent")?;
        let src_strides = strides(&asked.src_strides, extent, kernel.source().width(), "src_strides")?;
        let dst_strides = strides(&asked.dst_strides, extent, kernel.output().width(), "dst_strides")?;
        let crop = Crop {
            extent,
            src_offset: asked.src_offset,
            src_strides: &src_strides,
            dst_offset: asked.dst_offset,
            dst_strides: &dst_strides,
        };
        let (src, dst) = buffers(&asked.src, asked.src_bytes, &mut asked.dst, asked.dst_bytes)?;
        convert_box_parallel(engine, NonZeroUsize::new(asked.threads), &kernel, &crop, src, dst)
    })
}

/// The strides given, or those of C order.
fn strides<'a>(given: &'a List<isize>, extent: &[u64], width: usize, what: &str) -> Result<Cow<'a, [isize]>> {
    if !given.is_null() {
        return given.get(extent.len(), what).map(Cow::Borrowed);
    }
    let mut strides = vec![0; extent.len()];
    let mut stride = width as isize;
    for (to, &extent) in strides.iter_mut().zip(extent).rev() {
        *to = stride;
        // An axis that is too long for the address space lies outside every buffer.
        stride = isize::try_from(extent).ok().and_then(|extent| stride.checked_mul(extent)).unwrap_or(isize::MAX);
    }
    Ok(Cow::Owned(strides))
}
