//! `damacy_sample_source` -> the iterator that a pipeline pulls, on its feeder thread.
//!
//! `finish` runs once the pipeline has let go of the iterator, but not where the push failed: then the caller keeps it.

use crate::foreign::{In, List, Text, Token, inval};
use crate::guard;
use crate::last;
use crate::samples::Samples;
use crate::structs::{Sample, SampleSource};
use host::{Error, Pipeline, Result, Status};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes that a source's `next` may fill.
const ROOM_BYTES: usize = 256;
const MORE: usize = (ROOM_BYTES - size_of::<Sample>()) / size_of::<u64>();

/// What `next` fills: a sample, and behind it zeros, where a source that was compiled for a later version does no harm if it
/// writes its additional members in spite of `struct_size`.
#[repr(C)]
pub struct Room {
    sample: Sample,
    more: [u64; MORE],
}

/// The caller's functions; shared by the iterator and, until the push has succeeded, the call that pushes it.
struct Source {
    next: extern "C" fn(Token, &mut Room) -> i32,
    finish: Option<extern "C" fn(Token)>,
    context: Token,
    kept_by_caller: AtomicBool,
}

impl Drop for Source {
    fn drop(&mut self) {
        if let Some(finish) = self.finish
            && !*self.kept_by_caller.get_mut()
        {
            finish(self.context);
        }
    }
}

struct Pulled {
    source: Arc<Source>,
    samples: Samples,
    index: u64,
}

impl Iterator for Pulled {
    type Item = Result<host::Sample>;

    fn next(&mut self) -> Option<Result<host::Sample>> {
        // A bug here is an error of the pipeline, not a sample that panicked.
        guard::caught(|| self.pull()).transpose()
    }
}

impl Pulled {
    fn pull(&mut self) -> Result<Option<host::Sample>> {
        let mut room = Room { sample: Sample::empty(), more: [0; MORE] };
        last::take_source_text();
        let answer = (self.source.next)(self.source.context, &mut room);
        let what = format!("sample {} of the source", self.index);
        self.index += 1;
        match answer {
            0 => Ok(None),
            1 if room.more != [0; MORE] => Err(inval(format!(
                "{what}: its next function wrote behind the {} bytes of a damacy_sample that this library (version {}) knows: \
                 the members behind must be zero",
                size_of::<Sample>(),
                env!("CARGO_PKG_VERSION"),
            ))),
            1 => self.samples.sample(&room.sample, &what).map(Some),
            _ => Err(failed(answer, &what)),
        }
    }
}

/// The error that the source's `next` reported.
fn failed(answer: i32, what: &str) -> Error {
    let status = Status::ALL.into_iter().find(|&status| status != Status::Ok && answer == -(status as i32));
    let text = last::take_source_text();
    match status {
        Some(status) => {
            let text = text.unwrap_or_else(|| format!("{what}: its next function failed ({status})"));
            Error::new(status, "push", text)
        }
        None => inval(format!("{what}: its next function returned {answer}: give 1, 0 at the end, or minus a status")),
    }
}

impl Sample {
    /// What a source's `next` fills.
    fn empty() -> Sample {
        Sample {
            struct_size: size_of::<Sample>(),
            uri: Text::NULL,
            bounds: List::NULL,
            rank: 0,
            tag: Token(std::ptr::null_mut()),
        }
    }
}

/// Hands a source over to a pipeline.
pub fn push(pipeline: &Pipeline, source: &In<SampleSource>) -> Result<()> {
    let SampleSource { next, finish, context, .. } = source.read("source")?;
    let next = next.ok_or_else(|| inval("next of source is NULL: give a function"))?;
    let source = Arc::new(Source { next, finish, context, kept_by_caller: AtomicBool::new(true) });
    let pulled = Pulled { source: Arc::clone(&source), samples: Samples::default(), index: 0 };
    hand_over(source, || pipeline.push(Box::new(pulled)))
}

/// The source is the library's only once the push has succeeded: not after an error, and not after a panic.
fn hand_over(source: Arc<Source>, push: impl FnOnce() -> Result<()>) -> Result<()> {
    // Holding it, so that a pipeline that is done with it already has not dropped it yet.
    push().inspect(|()| source.kept_by_caller.store(false, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;
    use std::sync::atomic::AtomicUsize;

    extern "C" fn no_next(_: Token, _: &mut Room) -> i32 {
        0
    }

    #[test]
    fn finish_is_called_after_a_push_that_succeeded_only() {
        static FINISHED: AtomicUsize = AtomicUsize::new(0);
        extern "C" fn finish(_: Token) {
            FINISHED.fetch_add(1, Ordering::Relaxed);
        }
        let source = || {
            let (context, kept_by_caller) = (Token(ptr::null_mut()), AtomicBool::new(true));
            Arc::new(Source { next: no_next, finish: Some(finish), context, kept_by_caller })
        };
        assert!(hand_over(source(), || Err(inval("no"))).is_err());
        assert!(guard::caught(|| hand_over(source(), || panic!("in the push"))).is_err());
        assert_eq!(FINISHED.load(Ordering::Relaxed), 0);
        assert!(hand_over(source(), || Ok(())).is_ok());
        assert_eq!(FINISHED.load(Ordering::Relaxed), 1);
    }
}
