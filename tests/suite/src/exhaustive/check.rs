//! The comparison: candidates -> how many elements differ from the scalar rules. Blocks of inputs, on all cores.

use super::candidates::{Candidate, rules};
use damacy_core::Dtype;
use rayon::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Inputs in a block: source, expectation and result stay in L2.
const BLOCK: usize = 1 << 15;

/// Blocks of all 2^32 inputs.
const BLOCKS: usize = 1 << 17;

/// Differences that are told in full.
const TOLD: usize = 10;

/// A candidate's result.
#[derive(Debug)]
pub struct Compared {
    /// The candidate's name.
    pub name: String,
    /// float32 inputs, each converted to all ten outputs.
    pub inputs: u64,
    /// Elements that differ from the rules.
    pub differences: u64,
    /// Some of them.
    pub examples: Vec<String>,
    /// Time in the candidate, added up over threads.
    pub thread_time: Duration,
}

/// What one candidate has gathered so far.
#[derive(Default)]
struct Tally {
    differences: AtomicU64,
    nanoseconds: AtomicU64,
    examples: Mutex<Vec<String>>,
}

/// A thread's buffers.
struct Buffers {
    src: Vec<u8>,
    expected: Vec<u8>,
    got: Vec<u8>,
}

/// Compares every `step`th block. The rules run once a block and output, then each candidate. Percents done are told.
pub fn compare(candidates: &[&dyn Candidate], step: usize, progress: impl Fn(usize) + Sync) -> Vec<Compared> {
    let tallies: Vec<Tally> = candidates.iter().map(|_| Tally::default()).collect();
    let (count, done) = (BLOCKS.div_ceil(step), AtomicUsize::new(0));
    let buffers = || Buffers { src: vec![0; 4 * BLOCK], expected: vec![0; 8 * BLOCK], got: vec![0; 8 * BLOCK] };
    (0..count).into_par_iter().for_each_init(buffers, |buffers, index| {
        compare_block(candidates, &tallies, (index * step * BLOCK) as u32, buffers);
        let before = done.fetch_add(1, Ordering::Relaxed);
        let (before, after) = (before * 20 / count, (before + 1) * 20 / count);
        if after > before {
            progress(5 * after);
        }
    });
    std::iter::zip(candidates, tallies)
        .map(|(candidate, tally)| Compared {
            name: candidate.name(),
            inputs: (count * BLOCK) as u64,
            differences: tally.differences.into_inner(),
            examples: tally.examples.into_inner().expect("no panic"),
            thread_time: Duration::from_nanos(tally.nanoseconds.into_inner()),
        })
        .collect()
}

fn compare_block(candidates: &[&dyn Candidate], tallies: &[Tally], first: u32, buffers: &mut Buffers) {
    for (to, bits) in buffers.src.as_chunks_mut().0.iter_mut().zip(first..=u32::MAX) {
        *to = bits.to_ne_bytes();
    }
    for output in Dtype::ALL {
        let expected = &mut buffers.expected[..BLOCK * output.width()];
        rules(output, first, expected);
        for (candidate, tally) in std::iter::zip(candidates, tallies) {
            let got = &mut buffers.got[..BLOCK * output.width()];
            got.fill(0xa5);
            let started = Instant::now();
            candidate.convert(output, first, &buffers.src, got);
            tally.nanoseconds.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
            if got != expected {
                tally.tell(output, first, expected, got);
            }
        }
    }
}

impl Tally {
    fn tell(&self, output: Dtype, first: u32, expected: &[u8], got: &[u8]) {
        let width = output.width();
        let elements = expected.chunks(width).zip(got.chunks(width)).zip(first..=u32::MAX);
        for ((expected, got), bits) in elements.filter(|((expected, got), _)| expected != got) {
            self.differences.fetch_add(1, Ordering::Relaxed);
            let mut examples = self.examples.lock().expect("no panic");
            if examples.len() < TOLD {
                examples.push(format!("f32 {bits:#010x} -> {output}: {got:02x?} instead of {expected:02x?}"));
            }
        }
    }
}
