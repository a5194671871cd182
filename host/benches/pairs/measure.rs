//! Timing of contenders in turn: closures over shared buffers -> seconds a run, by contender and round.
//!
//! Machines are noisy: each round runs every contender once, in alternating order, and a ratio compares two
//! measurements of the same round.

use serde_json::{Value, json};
use std::hint::black_box;
use std::time::Instant;

/// A measurement takes at least this long; short runs are repeated.
const LEAST_SECONDS: f64 = 500e-6;

/// Where the buffers start, as batches do.
const ALIGNMENT: usize = 64;

/// Source and destination, the same for all contenders. All pages have been written.
pub struct Buffers {
    pub src: Aligned,
    pub dst: Aligned,
}

impl Buffers {
    /// Two buffers of `size` bytes.
    pub fn new(size: usize) -> Buffers {
        Buffers { src: Aligned::new(size), dst: Aligned::new(size) }
    }
}

/// Bytes that start at a multiple of [`ALIGNMENT`].
pub struct Aligned {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Aligned {
    fn new(len: usize) -> Aligned {
        let memory = vec![1; len + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Aligned { memory, start, len }
    }
}

impl std::ops::Deref for Aligned {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }
}

impl std::ops::DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

/// Something that is timed.
pub type Contender = Box<dyn FnMut(&mut Buffers)>;

/// Seconds of each contender in each round.
pub struct Rates(Vec<Vec<f64>>);

/// Runs every contender once to warm up, then `rounds` times in turn.
pub fn interleaved(rounds: usize, buffers: &mut Buffers, contenders: &mut [Contender]) -> Rates {
    let repeats: Vec<usize> = contenders
        .iter_mut()
        .map(|contender| {
            seconds(buffers, contender, 1);
            (LEAST_SECONDS / seconds(buffers, contender, 1).max(1e-9)).ceil().max(1.0) as usize
        })
        .collect();
    let mut times = vec![Vec::with_capacity(rounds); contenders.len()];
    for round in 0..rounds {
        for position in 0..contenders.len() {
            let which = if round % 2 == 0 { position } else { contenders.len() - 1 - position };
            times[which].push(seconds(buffers, &mut contenders[which], repeats[which]));
        }
    }
    Rates(times)
}

/// Seconds of one run, on average over `repeats`.
fn seconds(buffers: &mut Buffers, contender: &mut Contender, repeats: usize) -> f64 {
    let started = Instant::now();
    for _ in 0..repeats {
        contender(black_box(&mut *buffers));
    }
    started.elapsed().as_secs_f64() / repeats as f64
}

impl Rates {
    /// How many times as fast as contender `other` contender `which` was.
    pub fn ratio(&self, which: usize, other: usize) -> Value {
        spread(self.0[which].iter().zip(&self.0[other]).map(|(seconds, others)| others / seconds))
    }

    /// GiB/s of contender `which`, whose run moves `bytes`.
    pub fn gib_s(&self, which: usize, bytes: usize) -> Value {
        spread(self.0[which].iter().map(|seconds| bytes as f64 / (1u64 << 30) as f64 / seconds))
    }
}

/// Median and extremes, to four digits behind the point.
fn spread(values: impl Iterator<Item = f64>) -> Value {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let median = if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
    let digits = |value: f64| (value * 1e4).round() / 1e4;
    json!({ "median": digits(median), "min": digits(values[0]), "max": digits(values[values.len() - 1]) })
}
