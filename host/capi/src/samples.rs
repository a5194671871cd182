//! `damacy_sample` -> the host's sample, everything copied.

use crate::foreign::{In, List, Token, inval};
use crate::structs::{Interval, Sample};
use host::{Result, Tag};
use std::sync::Arc;

/// More axes than any array has, so that a count that was never set is noticed.
const MOST_AXES: usize = 1 << 10;

/// A crop's intervals.
pub fn bounds(bounds: &List<Interval>, rank: usize, what: &str) -> Result<Vec<(u64, u64)>> {
    if rank > MOST_AXES {
        return Err(inval(format!("rank of {what} is {rank}: no array has as many axes")));
    }
    let bounds = bounds.get(rank, &format!("bounds of {what}"))?;
    Ok(bounds.iter().map(|axis| (axis.start, axis.stop)).collect())
}

/// Makes samples, which share their URI with the one before where it is the same.
#[derive(Default)]
pub struct Samples {
    uri: Option<Arc<str>>,
}

impl Samples {
    /// The host's sample.
    pub fn sample(&mut self, sample: &Sample, what: &str) -> Result<host::Sample> {
        let text = sample.uri.get(&format!("uri of {what}"))?;
        let uri = match &self.uri {
            Some(uri) if **uri == *text => Arc::clone(uri),
            _ => self.uri.insert(Arc::from(text)).clone(),
        };
        let tag = (!sample.tag.0.is_null()).then(|| Arc::new(sample.tag) as Tag);
        Ok(host::Sample { uri, bounds: bounds(&sample.bounds, sample.rank, what)?, tag })
    }
}

/// All samples of an array.
pub fn all(samples: &In<Sample>, count: usize) -> Result<Vec<host::Sample>> {
    let mut made = Samples::default();
    samples.read_all(count, "samples", |index, sample| made.sample(&sample, &format!("samples[{index}]")))
}

/// The pointer that was pushed with a sample.
pub fn tag(tag: Option<&Tag>) -> Token {
    let token = tag.and_then(|tag| tag.downcast_ref::<Token>());
    token.copied().unwrap_or(Token(std::ptr::null_mut()))
}
