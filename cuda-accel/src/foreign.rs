//! Streams and events of others, by handle: integers from consumers -> checked things to wait on and to record on.
//!
//! A handle is an address inside the driver: one that was never a stream cannot always be told apart, and the driver
//! may crash on it. What can be refused, is.

use std::thread::ThreadId;

use cudarc::driver::sys::{CUevent, CUstream};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::stream::Stream;

/// A stream that somebody else made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignStream {
    handle: u64,
}

/// An event that somebody else made, and may destroy once [`crate::BufferFence::wait_for`] has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignEvent {
    handle: u64,
}

/// What a consumer says in `__dlpack__(stream=...)`, by the Array API standard's rules for CUDA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsumerStream {
    /// -1: the consumer wants no synchronisation.
    NoSync,
    /// None or 1: the legacy default stream; above 2: a handle.
    Stream(ForeignStream),
    /// 2: the default stream of this thread, which other threads have no name for.
    PerThread(ThreadId),
}

impl ConsumerStream {
    /// Reads the argument.
    ///
    /// # Errors
    /// 0, which the standard forbids as ambiguous, and numbers below -1.
    pub fn parse(stream: Option<i64>) -> Result<ConsumerStream> {
        match stream {
            None => Ok(ConsumerStream::Stream(ForeignStream::LEGACY)),
            Some(-1) => Ok(ConsumerStream::NoSync),
            Some(0) => Err(Error::Argument(
                "stream 0 is ambiguous for CUDA: give 1 (or None) for the legacy default stream, 2 for the per-thread \
                 default stream, a stream's handle, or -1 for no synchronisation"
                    .into(),
            )),
            Some(2) => Ok(ConsumerStream::PerThread(std::thread::current().id())),
            Some(handle @ 1..) => Ok(ConsumerStream::Stream(ForeignStream { handle: handle as u64 })),
            Some(other) => Err(Error::Argument(format!(
                "stream {other} is no CUDA stream: give None, 1, 2, a stream's handle, or -1 for no synchronisation"
            ))),
        }
    }

    /// The stream, as this thread may call it; `None` for no synchronisation and for another thread's default stream.
    pub fn here(self) -> Option<ForeignStream> {
        match self {
            ConsumerStream::Stream(stream) => Some(stream),
            ConsumerStream::PerThread(thread) if thread == std::thread::current().id() => {
                Some(ForeignStream::PER_THREAD)
            }
            ConsumerStream::NoSync | ConsumerStream::PerThread(_) => None,
        }
    }
}

impl ForeignStream {
    /// The legacy default stream of the device's context.
    pub const LEGACY: ForeignStream = ForeignStream { handle: 1 };

    /// The calling thread's default stream.
    pub const PER_THREAD: ForeignStream = ForeignStream { handle: 2 };

    fn raw(self) -> CUstream {
        self.handle as usize as CUstream
    }

    /// Whether a CUDA graph is being captured from this stream: work queued on it runs when the graph is launched, if ever.
    ///
    /// # Errors
    /// The driver's: an invalid handle, a destroyed stream.
    pub fn is_capturing(self, device: &Device) -> Result<bool> {
        let mut status = 0;
        let current = device.enter("asking whether the consumer's stream is being captured")?;
        // SAFETY: `status` is a valid place for the answer; the stream is what the consumer says.
        let code = unsafe { (current.driver.cuStreamIsCapturing)(self.raw(), &mut status) };
        match current.check("cuStreamIsCapturing", code) {
            Ok(()) => Ok(status != 0),
            // The legacy default stream, while a stream that waits for it is captured: as unusable.
            Err(error) if error.is_capture() => Ok(true),
            Err(error) => Err(self.explain(device, error)),
        }
    }

    /// Work that the consumer queues on this stream from now on waits for `event`; the host does not.
    ///
    /// # Errors
    /// A stream that is being captured, whose graph would read whatever lies in the batch's memory when it is launched;
    /// the driver's: an invalid handle, a destroyed stream, a stream of another context.
    pub fn wait(self, device: &Device, event: &Event) -> Result<()> {
        // Asked first: a wait for uncaptured work breaks a capture.
        if self.is_capturing(device)? {
            return Err(Error::Argument(format!(
                "{} is being captured into a CUDA graph, which would read the batch's memory whenever it is launched: \
                 view the batch before the capture begins, and copy it into memory of your own that the graph reads",
                self.describe(device)
            )));
        }
        let current = device.enter("making the consumer's stream wait for the batch")?;
        // SAFETY: our handle is alive; the other is what the consumer says.
        let code = unsafe { (current.driver.cuStreamWaitEvent)(self.raw(), event.raw(), 0) };
        current.check("cuStreamWaitEvent", code).map_err(|error| self.explain(device, error))?;
        // A stream of another context can wait too, but when its consumer is done nothing could be recorded on it.
        self.record(device).map(drop)
    }

    /// A new event of ours behind the work queued on this stream so far.
    ///
    /// # Errors
    /// As [`ForeignStream::wait`].
    pub fn record(self, device: &Device) -> Result<Event> {
        let event = Event::new(device)?;
        let current = device.enter("recording an event on the consumer's stream")?;
        // SAFETY: our handle is alive; the other is what the consumer says.
        let code = unsafe { (current.driver.cuEventRecord)(event.raw(), self.raw()) };
        current.check("cuEventRecord", code).map_err(|error| self.explain(device, error))?;
        Ok(event)
    }

    fn explain(self, device: &Device, error: Error) -> Error {
        error.with_detail(|| match self.handle {
            1 | 2 => self.describe(device),
            _ => format!("{}, which must be a live stream of device {}", self.describe(device), device.index()),
        })
    }

    fn describe(self, device: &Device) -> String {
        match self.handle {
            1 => format!("the legacy default stream of device {}", device.index()),
            2 => format!("the per-thread default stream of device {}", device.index()),
            handle => format!("stream {handle:#x}"),
        }
    }
}

impl ForeignEvent {
    /// An event by handle, such as torch's `Event.cuda_event`.
    ///
    /// # Errors
    /// 0 (an event that was never recorded) and negative numbers.
    pub fn parse(handle: i64) -> Result<ForeignEvent> {
        match handle {
            1.. => Ok(ForeignEvent { handle: handle as u64 }),
            0 => Err(Error::Argument(
                "event 0 is no CUDA event: it was never recorded; record it on a stream first".into(),
            )),
            other => Err(Error::Argument(format!("event {other} is no CUDA event: give an event's handle"))),
        }
    }

    /// Work queued on our stream from now on waits for it; the host does not.
    ///
    /// # Errors
    /// An event that was last recorded while a stream was captured, which marks no point in time; the driver's: an invalid
    /// handle, a destroyed event.
    pub(crate) fn make_wait(self, stream: &Stream) -> Result<()> {
        const NOT_READY: u32 = 600;
        const CAPTURED_EVENT: u32 = 907;
        let current = stream.device().enter("making a stream wait for the event given to release")?;
        // Asked first: waiting for an event of a capture would draw our stream into that.
        // SAFETY: the event is what the consumer says.
        match unsafe { (current.driver.cuEventQuery)(self.handle as usize as CUevent) } {
            NOT_READY => {}
            CAPTURED_EVENT => {
                return Err(Error::Argument(format!(
                    "event {:#x} was recorded while its stream was captured into a CUDA graph, so it marks no work: record \
                     it on a stream that is not being captured",
                    self.handle
                )));
            }
            code => current.check("cuEventQuery", code).map_err(|error| self.explain(error))?,
        }
        // SAFETY: our handle is alive; the other is what the consumer says.
        let code = unsafe { (current.driver.cuStreamWaitEvent)(stream.raw(), self.handle as usize as CUevent, 0) };
        current.check("cuStreamWaitEvent", code).map_err(|error| self.explain(error))
    }

    fn explain(self, error: Error) -> Error {
        error.with_detail(|| format!("event {:#x}, which must be a live CUDA event", self.handle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_read_by_the_array_api_standards_rules() {
        let legacy = ConsumerStream::Stream(ForeignStream::LEGACY);
        assert_eq!(ConsumerStream::parse(None).unwrap(), legacy);
        assert_eq!(ConsumerStream::parse(Some(1)).unwrap(), legacy);
        let own = ConsumerStream::parse(Some(2)).unwrap();
        assert_eq!(own.here(), Some(ForeignStream::PER_THREAD));
        assert_eq!(std::thread::spawn(move || own.here()).join().unwrap(), None, "another thread's");
        let handle = 0x5555_0000_1234;
        assert_eq!(
            ConsumerStream::parse(Some(handle)).unwrap(),
            ConsumerStream::Stream(ForeignStream { handle: 0x5555_0000_1234 })
        );
        assert_eq!(ConsumerStream::parse(Some(-1)).unwrap(), ConsumerStream::NoSync);
        assert!(ConsumerStream::parse(Some(0)).unwrap_err().to_string().contains("ambiguous"));
        for bad in [-2, i64::MIN] {
            assert!(ConsumerStream::parse(Some(bad)).is_err());
        }
    }

    #[test]
    fn an_event_that_was_never_recorded_is_refused() {
        assert!(ForeignEvent::parse(0).unwrap_err().to_string().contains("record"));
        assert!(ForeignEvent::parse(-5).is_err());
        assert_eq!(ForeignEvent::parse(77).unwrap(), ForeignEvent { handle: 77 });
    }
}
