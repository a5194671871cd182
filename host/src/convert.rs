//! Conversion of whole buffers and boxes, by the trusted native code or in the sandbox. Same bits.
//!
//! [`convert()`] and [`convert_box`] are for one call from any thread, [`convert_box_parallel`] spreads one call over
//! threads; a [`Converter`] belongs to one worker and keeps its sandbox instance and its block. Errors name what does not
//! fit; then nothing has been written.

mod boxes;
mod parallel;
#[cfg(test)]
mod tests;

pub use parallel::convert_box_parallel;

use crate::error::{Error, Result};
use crate::sandbox::{Guest, GuestLimits, Sandbox};
use crate::{ByteOrder, Dtype, SourceType, Status};
use boxes::{Block, Packed, for_each_block};
use damacy_core::convert::{ConvertError, Crop, Kernel, Level, Reach, RowSink};
use std::cell::RefCell;
use std::mem;
use std::sync::Arc;

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
/// The sandbox's instance is made at a thread's first call and kept for the thread.
///
/// # Errors
/// `Inval` when the sizes do not fit; `Internal` for a trap in the guest.
///
/// ```
/// use damacy::convert::{Engine, convert};
/// use damacy::{ByteOrder, Dtype, SourceType};
///
/// let mut out = [0; 2];
/// convert(Engine::Native, SourceType::U16, ByteOrder::Big, Dtype::U8, &[0x00, 0x07, 0x01, 0x00], &mut out)?;
/// assert_eq!(out, [7, 255]);
/// # Ok::<(), damacy::Error>(())
/// ```
pub fn convert(
    engine: Engine,
    source: SourceType,
    order: ByteOrder,
    output: Dtype,
    src: &[u8],
    dst: &mut [u8],
) -> Result<()> {
    check_level()?;
    let kernel = Kernel::select(source, order, output);
    match engine {
        Engine::Native => kernel.convert(src, dst).map_err(refused),
        Engine::Sandbox => SANDBOXED.with_borrow_mut(|sandboxed| sandboxed.convert(&kernel, src, dst)),
    }
}

/// Converts an N-d box from `src` into `sink`, as [`Kernel::crop`] does, from any thread.
///
/// # Errors
/// `Inval` when the box does not fit (nothing is written); `Internal` for a trap in the guest.
pub fn convert_box(
    engine: Engine,
    kernel: &Kernel,
    crop: &Crop<'_>,
    src: &[u8],
    sink: &mut impl RowSink,
) -> Result<()> {
    check_level()?;
    match engine {
        Engine::Native => kernel.crop(crop, src, sink).map_err(refused),
        Engine::Sandbox => SANDBOXED.with_borrow_mut(|sandboxed| sandboxed.crop(kernel, crop, src, sink)),
    }
}

thread_local! {
    /// The sandbox's side of [`convert()`] and [`convert_box`].
    static SANDBOXED: RefCell<Sandboxed> = RefCell::default();
}

/// Converts boxes of one (source, output) pair with one engine; owned by one worker.
pub struct Converter {
    kernel: Kernel,
    sandboxed: Option<Sandboxed>,
}

impl Converter {
    /// A converter, for the sandbox with an instance of its own.
    ///
    /// # Errors
    /// `Oom` or `Internal` when the sandbox or an instance of it cannot be made.
    pub fn new(engine: Engine, source: SourceType, order: ByteOrder, output: Dtype) -> Result<Converter> {
        check_level()?;
        let kernel = Kernel::select(source, order, output);
        let sandboxed = match engine {
            Engine::Native => None,
            Engine::Sandbox => {
                let mut sandboxed = Sandboxed::default();
                sandboxed.slot.with(|_| Ok(()))?;
                Some(sandboxed)
            }
        };
        Ok(Converter { kernel, sandboxed })
    }

    /// Converts contiguous elements, as [`Kernel::convert`] does.
    ///
    /// # Errors
    /// `Inval` when the sizes do not fit (nothing is written); `Internal` for a trap in the guest.
    pub fn convert(&mut self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        match &mut self.sandboxed {
            None => self.kernel.convert(src, dst).map_err(refused),
            Some(sandboxed) => sandboxed.convert(&self.kernel, src, dst),
        }
    }

    /// Converts an N-d box from `src` into `sink`, as [`Kernel::crop`] does.
    ///
    /// # Errors
    /// `Inval` when the box does not fit (nothing is written); `Internal` for a trap in the guest.
    pub fn crop(&mut self, crop: &Crop<'_>, src: &[u8], sink: &mut impl RowSink) -> Result<()> {
        match &mut self.sandboxed {
            None => self.kernel.crop(crop, src, sink).map_err(refused),
            Some(sandboxed) => sandboxed.crop(&self.kernel, crop, src, sink),
        }
    }

    /// Converts one source element and writes it over an N-d box, as [`Kernel::fill`] does.
    ///
    /// # Errors
    /// As [`Converter::crop`].
    pub fn fill(
        &mut self,
        element: &[u8],
        extent: &[u64],
        dst_offset: usize,
        dst_strides: &[isize],
        sink: &mut impl RowSink,
    ) -> Result<()> {
        if self.sandboxed.is_none() {
            return self.kernel.fill(element, extent, dst_offset, dst_strides, sink).map_err(refused);
        }
        let width = self.kernel.output().width();
        let mut converted = [0; 8];
        let converted = &mut converted[..width];
        self.convert(element, converted)?;
        copy_kernel(width).fill(converted, extent, dst_offset, dst_strides, sink).map_err(refused)
    }
}

/// What the sandbox engine keeps between calls.
#[derive(Default)]
struct Sandboxed {
    slot: GuestSlot,
    /// A block's elements in the source type.
    gathered: Vec<u8>,
}

impl Sandboxed {
    fn convert(&mut self, kernel: &Kernel, src: &[u8], dst: &mut [u8]) -> Result<()> {
        kernel.check_sizes(src, dst).map_err(refused)?;
        self.slot.with(|guest| guest.convert_as(kernel, src, dst).map_err(failed))
    }

    fn crop(&mut self, kernel: &Kernel, crop: &Crop<'_>, src: &[u8], sink: &mut impl RowSink) -> Result<()> {
        kernel.check(crop, src, sink).map_err(refused)?;
        let (src_width, dst_width) = (kernel.source().width(), kernel.output().width());
        let elements = crop.extent.iter().product::<u64>() as usize;
        let together = |strides, width| Packed::new(crop.extent, width).is_layout_of(crop.extent, strides);
        if elements > 0 && together(crop.src_strides, src_width) && together(crop.dst_strides, dst_width) {
            // The check has found both inside.
            let (src_bytes, dst_bytes) = (elements * src_width, elements * dst_width);
            let out_of_source = ConvertError::OutOfSource(Reach::of(crop.src_offset, src_bytes, src.len()));
            let out_of_sink = ConvertError::OutOfDestination(Reach::of(crop.dst_offset, dst_bytes, sink.bytes()));
            let src = src.get(crop.src_offset..).and_then(|rest| rest.get(..src_bytes));
            let src = src.ok_or_else(|| refused(out_of_source))?;
            let dst = sink.row(crop.dst_offset, dst_bytes).ok_or_else(|| refused(out_of_sink))?;
            return self.slot.with(|guest| guest.convert_as(kernel, src, dst).map_err(failed));
        }
        self.slot.with(|guest| crop_in_blocks(guest, &mut self.gathered, kernel, crop, src, sink))
    }
}

/// A guest of the process's sandbox, made when it is needed.
#[derive(Default)]
struct GuestSlot(Option<(Arc<Sandbox>, Guest)>);

impl GuestSlot {
    /// Runs `work` with the guest, which is made anew after an error and after a fork.
    fn with<T>(&mut self, work: impl FnOnce(&mut Guest) -> Result<T>) -> Result<T> {
        let sandbox = Sandbox::shared()?;
        let (made_in, mut guest) = match self.0.take() {
            Some((made_in, guest)) if Arc::ptr_eq(&made_in, &sandbox) => (made_in, guest),
            other => {
                // A guest made before a fork: its allocator may be locked for ever, so it is left alone.
                mem::forget(other);
                let guest = sandbox.guest(GuestLimits::default())?;
                (sandbox, guest)
            }
        };
        let result = work(&mut guest);
        if result.is_ok() {
            self.0 = Some((made_in, guest));
        }
        result
    }
}

/// Has the guest convert blocks of the box, each read from `src` where its elements lie together and gathered otherwise,
/// and scattered into the sink out of the guest's memory.
fn crop_in_blocks(
    guest: &mut Guest,
    gathered: &mut Vec<u8>,
    kernel: &Kernel,
    crop: &Crop<'_>,
    src: &[u8],
    sink: &mut impl RowSink,
) -> Result<()> {
    let (src_width, dst_width) = (kernel.source().width(), kernel.output().width());
    let (gather, scatter) = (copy_kernel(src_width), copy_kernel(dst_width));
    let scatter = if kernel.is_for_large_output() { scatter.for_large_output() } else { scatter };
    let mut conversion = guest.conversion(kernel.source(), kernel.order(), kernel.output()).map_err(failed)?;
    for_each_block(crop, src_width.max(dst_width), |Block { crop: block, elements }| {
        let (bytes, packed) = (elements * src_width, Packed::new(block.extent, src_width));
        let whole = src.get(block.src_offset..).and_then(|rest| rest.get(..bytes));
        let elements = match whole.filter(|_| packed.is_layout_of(block.extent, block.src_strides)) {
            Some(together) => together,
            None => {
                if gathered.len() < bytes {
                    gathered.resize(bytes, 0);
                }
                let gathered = &mut gathered[..bytes];
                let crop = Crop { dst_offset: 0, dst_strides: packed.strides(), ..block };
                gather.crop(&crop, src, &mut &mut *gathered).map_err(refused)?;
                gathered
            }
        };
        let packed = Packed::new(block.extent, dst_width);
        let crop = Crop { src_offset: 0, src_strides: packed.strides(), ..block };
        conversion.block(elements, |converted| scatter.crop(&crop, converted, sink)).map_err(failed)?.map_err(refused)
    })
}

/// A kernel that copies elements of `width` bytes as they are.
fn copy_kernel(width: usize) -> Kernel {
    let (source, output) = match width {
        1 => (SourceType::U8, Dtype::U8),
        2 => (SourceType::U16, Dtype::U16),
        4 => (SourceType::U32, Dtype::U32),
        _ => (SourceType::U64, Dtype::U64),
    };
    Kernel::select(source, ByteOrder::NATIVE, output)
}

fn failed(error: damacy_core::error::Error) -> Error {
    Error::new(error.status, "convert", error.message)
}

/// Refuses an environment that asks for vector instructions which do not exist here.
///
/// # Errors
/// `Inval` if [`LEVEL_VARIABLE`](damacy_core::convert::LEVEL_VARIABLE) is set to something else than a level's name.
pub(crate) fn check_level() -> Result<()> {
    Level::check_environment()
        .map_err(|error| Error::new(Status::Inval, "convert", error.to_string()).with_source(error))
}

fn refused(error: ConvertError) -> Error {
    Error::new(Status::Inval, "convert", error.to_string()).with_source(error)
}
