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

/// The caller's functions; shared by the iterator and, until the push has succeeded, the call that pushes it.
struct Source {
    next: extern "C" fn(Token, &mut Sample) -> i32,
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
        let mut sample = Sample::empty();
        last::take_source_text();
        let answer = (self.source.next)(self.source.context, &mut sample);
        let what = format!("sample {} of the source", self.index);
        self.index += 1;
        match answer {
            0 => Ok(None),
            1 => self.samples.sample(&sample, &what).map(Some),
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
    let source = Arc::new(Source { next, finish, context, kept_by_caller: AtomicBool::new(false) });
    let pulled = Pulled { source: Arc::clone(&source), samples: Samples::default(), index: 0 };
    // On failure the iterator is dropped before this returns; `source` is the last to go.
    pipeline.push(Box::new(pulled)).inspect_err(|_| source.kept_by_caller.store(true, Ordering::Relaxed))
}
