//! `damacy_batch`: what a batch holds, its owners, its export.

use crate::dlpack::{self, ManagedTensor};
use crate::foreign::{Out, Slot, Token};
use crate::guard;
use crate::handles::{Handle, Table};
use crate::samples;
use crate::structs::BatchInfo;

static BATCHES: Table<Batch> = Table::new("batch");

/// A batch with what C sees of it.
pub struct Batch {
    host: host::Batch,
    /// Bytes from an element to the next along each axis.
    strides: Vec<isize>,
    tags: Vec<Token>,
}

impl Batch {
    /// The handle of a batch that came out of a pipeline.
    pub fn handle(host: host::Batch) -> Handle<Batch> {
        let info = host.info();
        let mut strides = vec![0; info.shape.len()];
        // The batch lies in memory, so the product fits.
        let mut stride = info.dtype.width() as isize;
        for (to, &extent) in strides.iter_mut().zip(&info.shape).rev() {
            *to = stride;
            stride *= extent as isize;
        }
        let tags = info.tags.iter().map(|tag| samples::tag(tag.as_ref())).collect();
        BATCHES.insert(Batch { strides, tags, host })
    }
}

#[unsafe(no_mangle)]
extern "C" fn damacy_batch_info_get(batch: Handle<Batch>, info: Out<BatchInfo>) -> i32 {
    guard::call(|| {
        let info = info.check("info")?;
        let batch = BATCHES.get(batch)?;
        let host = batch.host.info();
        info.fill(BatchInfo {
            struct_size: 0,
            id: host.id,
            samples: host.samples,
            data: batch.host.data().as_ptr(),
            nbytes: host.nbytes,
            dtype: host.dtype as i32,
            reserved: 0,
            rank: host.shape.len(),
            shape: host.shape.as_ptr(),
            strides: batch.strides.as_ptr(),
            tags: batch.tags.as_ptr(),
        });
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_batch_retain(batch: Handle<Batch>) -> i32 {
    guard::call(|| BATCHES.retain(batch))
}

#[unsafe(no_mangle)]
extern "C" fn damacy_batch_release(batch: Handle<Batch>) -> i32 {
    guard::call(|| {
        if !batch.is_null() {
            drop(BATCHES.release(batch)?);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_batch_dlpack(batch: Handle<Batch>, tensor: Slot<*mut ManagedTensor>) -> i32 {
    guard::call(|| {
        tensor.put(std::ptr::null_mut(), "tensor")?;
        let batch = BATCHES.get(batch)?;
        tensor.put(dlpack::export(&batch.host), "tensor")
    })
}
