//! A buffer's fence: who still uses an output buffer -> what its next writer waits for, and who frees it.
//!
//! Consumers are added when they are done with queueing work on the buffer (the last reference of a DLPack export is
//! dropped, `release(event=...)`); the work itself may still run. Any thread may add; nobody blocks here but for the
//! whole-context wait that stands in where a consumer's stream cannot be recorded.
//!
//! Graph capture. Nothing is recorded on a stream that is being captured into a CUDA graph: the event would be a place in
//! the graph, and waiting for it would draw our stream into the capture. What ran on such a stream before can be named
//! again when the capture has ended, so the buffer's next writer waits for that end ([`BufferFence::settle`]). A thread's
//! default stream is named by that thread alone: asked by another, the fence waits for the whole context, after the capture.

use std::fmt;
use std::sync::{Mutex, MutexGuard};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::foreign::{ConsumerStream, ForeignEvent, ForeignStream};
use crate::stream::Stream;

/// The fence of one output buffer. Dropping it waits for everybody it names: it goes before the buffer does.
pub struct BufferFence {
    device: Device,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    events: Vec<Event>,
    /// Streams of consumers that were done while these were captured.
    captured: Vec<ConsumerStream>,
    /// A consumer whose work cannot be named: the next writer waits for everything in the context.
    unknown: bool,
}

impl BufferFence {
    /// A fence that nobody has to wait for.
    pub fn new(device: &Device) -> BufferFence {
        BufferFence { device: device.clone(), state: Mutex::default() }
    }

    /// The next writer waits for `event`, an event of ours.
    pub fn add(&self, event: &Event) {
        self.state().events.push(event.clone());
    }

    /// A consumer has queued its last work on the buffer: the next writer waits for what is on its stream now. Where that
    /// stream is not known ([`ConsumerStream::NoSync`]), is another thread's default stream, or was destroyed, the next
    /// writer waits for all work of the context instead; where it is being captured, for the end of the capture. Never
    /// fails: it is called by destructors.
    pub fn consumer_done(&self, stream: ConsumerStream) {
        let Some(here) = stream.here() else {
            self.state().unknown = true;
            return;
        };
        let recorded = here.is_capturing(&self.device).and_then(|capturing| match capturing {
            true => Ok(None),
            false => {
                let event = here.record(&self.device)?;
                // Another thread may have begun a capture in between: then the event may be a place in that.
                Ok((!here.is_capturing(&self.device)?).then_some(event))
            }
        });
        if let Err(error) = &recorded {
            // After an error that loses the context there is no next use.
            let level = if error.is_sticky() { log::Level::Debug } else { log::Level::Warn };
            log::log!(level, "{error}; the buffer's next use waits for all work on the device instead");
        }
        let mut state = self.state();
        match recorded {
            Ok(Some(event)) => state.events.push(event),
            Ok(None) if state.captured.contains(&stream) => {}
            Ok(None) => state.captured.push(stream),
            Err(_) => state.unknown = true,
        }
    }

    /// The next writer waits for an event of a consumer's, which may be destroyed when this has returned: `aside`, a stream
    /// of ours that nothing else waits for, has been made to wait for it.
    ///
    /// # Errors
    /// An event of a capture; the driver's, for a handle that is no live event.
    pub fn wait_for(&self, event: ForeignEvent, aside: &Stream) -> Result<()> {
        let ours = Event::new(&self.device)?;
        event.make_wait(aside)?;
        if let Err(error) = aside.record_into(&ours) {
            self.state().unknown = true;
            return Err(error);
        }
        self.state().events.push(ours);
        Ok(())
    }

    /// Names the work of consumers that could not be named while a capture was under way. False while one still is:
    /// asked again later, this becomes true. Waits for nothing else than a writer would.
    pub fn settle(&self) -> bool {
        let captured = std::mem::take(&mut self.state().captured);
        for stream in captured {
            self.consumer_done(stream);
        }
        if std::mem::take(&mut self.state().unknown)
            && let Err(error) = self.wait_for_all()
        {
            // Any other error is the next writer's, who meets it again.
            self.state().unknown = true;
            if error.is_capture() || matches!(error, Error::Argument(_)) {
                return false;
            }
        }
        self.state().captured.is_empty()
    }

    /// Makes `writer` wait for everybody added so far, and forgets them. A buffer has one writer at a time, which asks for
    /// [`BufferFence::settle`] first.
    ///
    /// # Errors
    /// A capture that is still under way; the driver's. Nobody is forgotten then.
    pub fn before_write(&self, writer: &Stream) -> Result<()> {
        self.each(|events| events.iter().try_for_each(|event| writer.wait(event)))
    }

    /// Has `wait` deal with the events, after everything else is waited for.
    fn each(&self, wait: impl FnOnce(&[Event]) -> Result<()>) -> Result<()> {
        // Without the lock, or a destructor would wait for the device too.
        let taken = std::mem::take(&mut *self.state());
        let waits = match () {
            () if !taken.captured.is_empty() => Err(still_captured()),
            // That covers the events too.
            () if taken.unknown => self.wait_for_all(),
            () => wait(&taken.events),
        };
        if waits.is_err() {
            let mut state = self.state();
            state.events.extend(taken.events);
            state.captured.extend(taken.captured);
            state.unknown |= taken.unknown;
        }
        waits
    }

    /// Waits for all work of the context. Refused beside the capture of a stream that waits for the legacy default stream,
    /// as threads' default streams do: the wait would break it, and asking the legacy default stream tells.
    fn wait_for_all(&self) -> Result<()> {
        if ForeignStream::LEGACY.is_capturing(&self.device)? {
            Err(still_captured())
        } else {
            self.device.synchronize()
        }
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
        Ok(!state.unknown && state.captured.is_empty())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn still_captured() -> Error {
    Error::Argument("a consumer's stream is still being captured into a CUDA graph".into())
}

impl fmt::Debug for BufferFence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        let (events, captured) = (state.events.len(), state.captured.len());
        write!(f, "BufferFence with {events} events, {captured} captured streams, unknown consumers: {}", state.unknown)
    }
}

impl Drop for BufferFence {
    fn drop(&mut self) {
        self.settle();
        // A consumer whose stream is still captured cannot be waited for here (this may be the capturing thread): then the
        // driver alone sees to it, which lets all work on the device end before it frees memory.
        if let Err(error) = self.each(|events| events.iter().try_for_each(Event::synchronize)) {
            log::debug!("giving a buffer up: {error}");
        }
    }
}
