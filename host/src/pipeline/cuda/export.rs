//! A consumer's hold on a batch: its stream waits for the batch, and the buffer's next writer for its stream.

use super::buffer::GpuBuffer;
use crate::Status;
use crate::error::{Error, Result};
use crate::pipeline::batch::BatchData;
use damacy_cuda::{ConsumerStream, ForeignEvent};

/// A batch in the hands of a consumer. Dropped, from any thread, when the consumer has queued its last work on it: on a
/// GPU the work itself may still run, and the buffer is not written again before it is done.
#[derive(Debug)]
pub struct Export {
    data: BatchData,
    stream: Option<ConsumerStream>,
}

impl Export {
    /// The batch.
    pub fn data(&self) -> &BatchData {
        &self.data
    }
}

impl BatchData {
    /// Hands the batch to a consumer that works on `stream`, by the Array API standard's rules for CUDA: `None` and 1 are
    /// the legacy default stream, 2 the per-thread default stream, -1 is no synchronisation at all, and anything above 2 a
    /// stream's handle. The stream waits until the batch is written; nobody else does. On the CPU the stream is ignored.
    ///
    /// # Errors
    /// `Inval` for 0, which is ambiguous, below -1, and for a stream that is being captured into a CUDA graph; `Cuda` for a handle that the driver does not know.
    pub fn export(&self, stream: Option<i64>) -> Result<Export> {
        let Some(buffer) = self.gpu() else { return Ok(Export { data: self.clone(), stream: None }) };
        let stream = ConsumerStream::parse(stream).map_err(refused)?;
        buffer.before_read(stream)?;
        Ok(Export { data: self.clone(), stream: Some(stream) })
    }

    /// Keeps the buffer from being written again before a CUDA event, given by its handle, which may be destroyed when
    /// this has returned. On the CPU it is ignored.
    ///
    /// # Errors
    /// `Inval` for a handle below 1, and for an event that was recorded in the capture of a CUDA graph; `Cuda` for one that the driver does not know.
    pub fn hold_until(&self, event: i64) -> Result<()> {
        let Some(buffer) = self.gpu() else { return Ok(()) };
        let event = ForeignEvent::parse(event).map_err(|error| super::failed("release")(error))?;
        buffer.wait_for(event)
    }
}

/// A copy of a batch on its GPU, which the pipeline knows nothing of. Any thread may drop it, which waits for the work
/// that was queued on it.
pub struct GpuCopy {
    buffer: GpuBuffer,
    stream: ConsumerStream,
}

impl GpuCopy {
    /// Its address on the GPU.
    pub fn as_ptr(&self) -> *mut u8 {
        self.buffer.as_ptr()
    }
}

impl BatchData {
    /// Copies a batch on a GPU there, outside of the pipeline's budget; the consumer's stream waits for the copy.
    ///
    /// # Errors
    /// As [`BatchData::export`]; `Inval` for a batch on the CPU; `Oom`.
    pub fn copy_on_gpu(&self, stream: Option<i64>) -> Result<GpuCopy> {
        let Some(buffer) = self.gpu() else {
            return Err(Error::new(Status::Inval, "export", "a batch on the CPU was to be copied on a GPU"));
        };
        let stream = ConsumerStream::parse(stream).map_err(refused)?;
        let buffer = buffer.duplicate(self.len())?;
        buffer.before_read(stream)?;
        Ok(GpuCopy { buffer, stream })
    }
}

impl Drop for GpuCopy {
    fn drop(&mut self) {
        self.buffer.consumer_done(self.stream);
    }
}

fn refused(error: damacy_cuda::Error) -> Error {
    super::failed("export")(error)
}

impl Drop for Export {
    fn drop(&mut self) {
        if let (Some(buffer), Some(stream)) = (self.data.gpu(), self.stream) {
            buffer.consumer_done(stream);
        }
    }
}
