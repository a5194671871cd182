//! Conversion of whole buffers and boxes, by the trusted native code or in the sandbox. Same bits.
//!
//! [`convert()`] is for one call from any thread; a [`Converter`] belongs to one worker and keeps its
//! sandbox instance and its blocks. Errors name what does not fit; then nothing has been written.

mod boxes;

use crate::error::{Error, Result};
use crate::sandbox::{Guest, GuestLimits, Sandbox};
use crate::{ByteOrder, Dtype, SourceType, Status};
use boxes::{BlockBuffers, c_order, for_each_block};
use damacy_core::convert::{ConvertError, Crop, Kernel, RowSink};
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
    thread_local! {
        static SANDBOX: RefCell<Converter> = RefCell::new(Converter::new(Engine::Sandbox));
    }
    let kernel = Kernel::select(source, order, output);
    match engine {
        Engine::Native => kernel.convert(src, dst).map_err(refused),
        Engine::Sandbox => SANDBOX.with_borrow_mut(|converter| converter.convert(&kernel, src, dst)),
    }
}

/// Converts boxes with one engine; owned by one worker.
#[derive(Default)]
pub struct Converter {
    engine: Engine,
    guest: Option<(Arc<Sandbox>, Guest)>,
    buffers: BlockBuffers,
}

impl Converter {
    /// A converter. The sandbox's instance is made at the first call that needs it.
    pub fn new(engine: Engine) -> Converter {
        Converter { engine, ..Converter::default() }
    }

    /// The engine.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Converts contiguous elements, as [`Kernel::convert`] does.
    ///
    /// # Errors
    /// `Inval` when the sizes do not fit; `Internal` for a trap in the guest.
    pub fn convert(&mut self, kernel: &Kernel, src: &[u8], dst: &mut [u8]) -> Result<()> {
        match self.engine {
            Engine::Native => kernel.convert(src, dst).map_err(refused),
            Engine::Sandbox => {
                kernel.check_sizes(src, dst).map_err(refused)?;
                self.with_guest(|guest, _| call(guest, kernel, src, dst))
            }
        }
    }

    /// Converts an N-d box from `src` into `sink`, as [`Kernel::crop`] does.
    ///
    /// # Errors
    /// `Inval` when the box does not fit (nothing is written); `Internal` for a trap in the guest.
    pub fn crop(&mut self, kernel: &Kernel, crop: &Crop<'_>, src: &[u8], sink: &mut impl RowSink) -> Result<()> {
        match self.engine {
            Engine::Native => kernel.crop(crop, src, sink).map_err(refused),
            Engine::Sandbox => {
                kernel.check(crop, src, sink).map_err(refused)?;
                self.with_guest(|guest, buffers| crop_in_blocks(guest, buffers, kernel, crop, src, sink))
            }
        }
    }

    /// Converts one source element and writes it over an N-d box, as [`Kernel::fill`] does.
    ///
    /// # Errors
    /// As [`Converter::crop`].
    pub fn fill(
        &mut self,
        kernel: &Kernel,
        element: &[u8],
        extent: &[u64],
        dst_offset: usize,
        dst_strides: &[isize],
        sink: &mut impl RowSink,
    ) -> Result<()> {
        match self.engine {
            Engine::Native => kernel.fill(element, extent, dst_offset, dst_strides, sink).map_err(refused),
            Engine::Sandbox => {
                let mut converted = [0; 8];
                let converted = &mut converted[..kernel.output().width()];
                self.convert(kernel, element, converted)?;
                let copy = copy_kernel(kernel.output().width());
                copy.fill(converted, extent, dst_offset, dst_strides, sink).map_err(refused)
            }
        }
    }

    /// Runs `work` with this worker's guest, made anew after an error and after a fork.
    fn with_guest<T>(&mut self, work: impl FnOnce(&mut Guest, &mut BlockBuffers) -> Result<T>) -> Result<T> {
        let sandbox = Sandbox::shared()?;
        if self.guest.as_ref().is_some_and(|(made_in, _)| !Arc::ptr_eq(made_in, &sandbox)) {
            // Made before a fork: its allocator may be locked for ever, so it is left alone.
            mem::forget(self.guest.take());
        }
        if self.guest.is_none() {
            let guest = sandbox.guest(GuestLimits::default())?;
            self.guest = Some((sandbox, guest));
        }
        let Some((_, guest)) = &mut self.guest else {
            return Err(Error::new(Status::Internal, "convert", "the sandbox's instance is missing"));
        };
        let result = work(guest, &mut self.buffers);
        if result.is_err() {
            self.guest = None;
        }
        result
    }
}

/// Gathers blocks of the box in the source type, has the guest convert them, and writes them to the sink.
fn crop_in_blocks(
    guest: &mut Guest,
    buffers: &mut BlockBuffers,
    kernel: &Kernel,
    crop: &Crop<'_>,
    src: &[u8],
    sink: &mut impl RowSink,
) -> Result<()> {
    let (src_width, dst_width) = (kernel.source().width(), kernel.output().width());
    let (gather, scatter) = (copy_kernel(src_width), copy_kernel(dst_width));
    for_each_block(crop, src_width.max(dst_width), |block| {
        let (gathered, converted) = buffers.sized(block.elements * src_width, block.elements * dst_width);
        let packed = c_order(block.crop.extent, src_width);
        let crop_in = Crop { dst_offset: 0, dst_strides: &packed, ..block.crop };
        gather.crop(&crop_in, src, &mut &mut *gathered).map_err(refused)?;
        call(guest, kernel, gathered, converted)?;
        let packed = c_order(block.crop.extent, dst_width);
        let crop_out = Crop { src_offset: 0, src_strides: &packed, ..block.crop };
        scatter.crop(&crop_out, converted, sink).map_err(refused)
    })
}

fn call(guest: &mut Guest, kernel: &Kernel, src: &[u8], dst: &mut [u8]) -> Result<()> {
    guest
        .convert(kernel.source(), kernel.order(), kernel.output(), src, dst)
        .map_err(|error| Error::new(error.status, "convert", error.message))
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

fn refused(error: ConvertError) -> Error {
    Error::new(Status::Inval, "convert", error.to_string()).with_source(error)
}
