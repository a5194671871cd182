//! A buffer's fence: who still uses an output buffer -> what its next writer waits for.
//!
//! Consumers are added when they are done with queueing work on the buffer (the last reference of a DLPack export is
//! dropped, `release(event=...)`); the work itself may still run. Any thread may add; nobody blocks here but for the
//! whole-context wait that stands in where a consumer's stream cannot be recorded.

use std::fmt;
use std::sync::{Mutex, MutexGuard};

use crate::device::Device;
use crate::error::Result;
use crate::event::Event;
use crate::foreign::{ConsumerStream, ForeignEvent, ForeignStream};
use crate::stream::{Priority, Stream};

/// The fence of one output buffer.
pub struct BufferFence {
    device: Device,
    /// Waits for events given by consumers, one buffer's apart from the others'.
    waiter: Stream,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    events: Vec<Event>,
    /// A consumer whose work cannot be named: the next writer waits for everything in the context.
    unknown: bool,
}

impl BufferFence {
    /// A fence that nobody has to wait for.
    ///
    /// # Errors
    /// The driver's, from creating a stream.
    pub fn new(device: &Device) -> Result<BufferFence> {
        let waiter = Stream::new(device, Priority::Low)?;
        Ok(BufferFence { device: device.clone(), waiter, state: Mutex::default() })
    }

    /// The next writer waits for `event`, an event of ours.
    pub fn add(&self, event: &Event) {
        self.state().events.push(event.clone());
    }

    /// A consumer has queued its last work on the buffer: the next writer waits for what is on its stream now. The next
    /// writer waits for all work of the context instead where that stream is not known ([`ConsumerStream::NoSync`]), is
    /// the per-thread default stream (this may be another thread than the consumer's), or was destroyed. Never fails: it
    /// is called by destructors.
    pub fn consumer_done(&self, stream: ConsumerStream) {
        let recorded = match stream {
            ConsumerStream::NoSync | ConsumerStream::Stream(ForeignStream::PER_THREAD) => None,
            ConsumerStream::Stream(stream) => match stream.record(&self.device) {
                Ok(event) => Some(event),
                Err(error) => {
                    log::warn!("{error}; the buffer's next use waits for all work on the device instead");
                    None
                }
            },
        };
        let mut state = self.state();
        match recorded {
            Some(event) => state.events.push(event),
            None => state.unknown = true,
        }
    }

    /// The next writer waits for an event of a consumer's, which may be destroyed when this has returned.
    ///
    /// # Errors
    /// The driver's, for a handle that is no live event.
    pub fn wait_for(&self, event: ForeignEvent) -> Result<()> {
        let ours = Event::new(&self.device)?;
        event.make_wait(&self.waiter)?;
        if let Err(error) = self.waiter.record_into(&ours) {
            self.state().unknown = true;
            return Err(error);
        }
        self.state().events.push(ours);
        Ok(())
    }

    /// Makes `writer` wait for everybody added so far, and forgets them. A buffer has one writer at a time.
    ///
    /// # Errors
    /// The driver's; nobody is forgotten then.
    pub fn before_write(&self, writer: &Stream) -> Result<()> {
        // Without the lock, or a destructor would wait for the device too.
        let taken = std::mem::take(&mut *self.state());
        let waits = self.wait_for_all(&taken, writer);
        if waits.is_err() {
            let mut state = self.state();
            state.events.extend(taken.events);
            state.unknown |= taken.unknown;
        }
        waits
    }

    fn wait_for_all(&self, taken: &State, writer: &Stream) -> Result<()> {
        if taken.unknown {
            return self.device.synchronize();
        }
        taken.events.iter().try_for_each(|event| writer.wait(event))
    }

    /// True when the next writer would not have to wait, as far as can be told without waiting.
    ///
    /// # Errors
    /// The driver's; also an error of the work waited for.
    pub fn is_idle(&self) -> Result<bool> {
        let state = self.state();
        for event in &state.events {
            if !event.is_done()? {
                return Ok(false);
            }
        }
        Ok(!state.unknown)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl fmt::Debug for BufferFence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        write!(f, "BufferFence with {} events, unknown consumers: {}", state.events.len(), state.unknown)
    }
}
