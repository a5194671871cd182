//! `damacy_batch`: what a batch holds, its owners, its export.

use crate::dlpack::{self, ManagedTensor};
use crate::foreign::{Bytes, Out, Slot, Token};
use crate::guard;
use crate::handles::{Handle, Table};
use crate::samples;
use crate::structs::BatchInfo;
use host::pipeline::{Device, Export};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

static BATCHES: Table<Batch> = Table::new("batch");

/// A batch with what C sees of it.
pub struct Batch {
    host: host::Batch,
    /// Bytes from an element to the next along each axis.
    strides: Vec<isize>,
    tags: Vec<Token>,
    /// The streams that wait for it, each with the thread that named it, until the batch is released for the last time.
    streams: Mutex<Vec<(i64, ThreadId, Export)>>,
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
        BATCHES.insert(Batch { strides, tags, streams: Mutex::default(), host })
    }
}

#[unsafe(no_mangle)]
extern "C" fn damacy_batch_info_get(batch: Handle<Batch>, info: Out<BatchInfo>) -> i32 {
    guard::call(|| {
        let info = info.check("info")?;
        let batch = BATCHES.get(batch)?;
        let host = batch.host.info();
        let (device_type, device_id) = dlpack::device(batch.host.device());
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
            device_type,
            device_id,
        });
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_batch_wait(batch: Handle<Batch>, stream: i64) -> i32 {
    guard::call(|| {
        let batch = BATCHES.get(batch)?;
        if batch.host.device() == Device::Cpu {
            return Ok(());
        }
        let export = batch.host.data().export(Some(stream))?;
        let here = thread::current().id();
        let mut streams = batch.streams.lock().unwrap_or_else(PoisonError::into_inner);
        // A thread's default stream has the same number in another thread.
        let known = streams.iter().any(|(other, thread, _)| *other == stream && (stream != 2 || *thread == here));
        if !known {
            streams.push((stream, here, export));
            return Ok(());
        }
        drop(streams);
        // What it would have had waited for, the one that is kept has waited for too.
        drop(export);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_batch_copy(batch: Handle<Batch>, mut to: Bytes, bytes: usize) -> i32 {
    guard::call(|| {
        let batch = BATCHES.get(batch)?;
        let data = batch.host.data();
        // A GPU's addresses are none of the host's, so there this refuses what could not be written to either.
        let own = std::ptr::slice_from_raw_parts(data.as_ptr(), data.len());
        data.copy_to(to.get(bytes, "to", own, "the batch's own bytes")?)
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
        tensor.put(dlpack::export(&batch.host)?, "tensor")
    })
}
