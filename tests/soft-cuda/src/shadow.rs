//! The shadow of one allocation: for each byte range its last write and the reads since -> races, reads of bytes that
//! nothing has written.
//!
//! Ranges are offsets from the allocation's start. Work is entered as it executes; the driver executes in an order that
//! keeps every wait, so an earlier entry that the later work's clock does not know has no order to it: a race.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::clock::{Access, Clock};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Read,
    Write,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Mode::Read => "reads",
            Mode::Write => "writes",
        }
    }
}

/// Two accesses without an order, at least one of them a write.
#[derive(Debug)]
pub struct Race {
    pub earlier: Access,
    pub earlier_mode: Mode,
    pub range: Range<u64>,
}

/// What a touch found: the first of each kind.
#[derive(Debug, Default)]
pub struct Findings {
    pub race: Option<Race>,
    pub unwritten: Option<Range<u64>>,
}

#[derive(Clone, Debug, PartialEq)]
struct Segment {
    end: u64,
    write: Option<Access>,
    reads: Vec<Access>,
}

#[derive(Debug)]
pub struct Shadow {
    segments: BTreeMap<u64, Segment>,
}

impl Shadow {
    pub fn new(size: u64) -> Self {
        Self { segments: BTreeMap::from([(0, Segment { end: size, write: None, reads: Vec::new() })]) }
    }

    /// Enters that `by`, which knows `clock`, touches `range`. Reading what nothing has written is a finding only where
    /// the whole word of `word` bytes around it is unwritten: kernels may read whole words of which they need a part.
    pub fn touch(&mut self, range: Range<u64>, mode: Mode, word: u64, by: &Access, clock: &Clock) -> Findings {
        let mut findings = Findings::default();
        self.split(range.start);
        self.split(range.end);
        let mut unwritten = Vec::new();
        for (&start, segment) in self.segments.range_mut(range.clone()) {
            if let Some(write) = &segment.write {
                if !clock.knows(write) && findings.race.is_none() {
                    findings.race =
                        Some(Race { earlier: write.clone(), earlier_mode: Mode::Write, range: start..segment.end });
                }
            } else if mode == Mode::Read {
                unwritten.push(start..segment.end);
            }
            match mode {
                Mode::Read => {
                    segment.reads.retain(|read| !clock.knows(read));
                    segment.reads.push(by.clone());
                }
                Mode::Write => {
                    if let Some(read) = segment.reads.iter().find(|read| !clock.knows(read))
                        && findings.race.is_none()
                    {
                        findings.race =
                            Some(Race { earlier: read.clone(), earlier_mode: Mode::Read, range: start..segment.end });
                    }
                    segment.reads.clear();
                    segment.write = Some(by.clone());
                }
            }
        }
        findings.unwritten = unwritten.into_iter().find(|part| self.has_unwritten_word(part, word));
        self.merge(range);
        findings
    }

    /// Whether an aligned word that has bytes of `part`, all of them unwritten, has no written byte at all.
    fn has_unwritten_word(&self, part: &Range<u64>, word: u64) -> bool {
        let (first, last) = (part.start / word * word, (part.end - 1) / word * word);
        let written = |word_start: u64| {
            let end = word_start + word;
            let from = self.segments.range(..=word_start).next_back().map_or(word_start, |(&start, _)| start);
            self.segments.range(from..end).any(|(_, segment)| segment.end > word_start && segment.write.is_some())
        };
        last > first + word || !written(first) || !written(last)
    }

    /// An access that `clock` does not know, if there is one.
    pub fn unknown_to(&self, clock: &Clock) -> Option<&Access> {
        let accesses = self.segments.values().flat_map(|segment| segment.write.iter().chain(&segment.reads));
        accesses.into_iter().find(|access| !clock.knows(access))
    }

    fn split(&mut self, at: u64) {
        if let Some((&start, segment)) = self.segments.range_mut(..at).next_back()
            && segment.end > at
            && start < at
        {
            let tail = segment.clone();
            segment.end = at;
            self.segments.insert(at, tail);
        }
    }

    /// Joins equal neighbours in and around `range`.
    fn merge(&mut self, range: Range<u64>) {
        let first = self.segments.range(..range.start).next_back().map_or(range.start, |(&start, _)| start);
        let starts: Vec<u64> = self.segments.range(first..=range.end).map(|(&start, _)| start).collect();
        let mut kept = first;
        for start in starts.into_iter().skip_while(|&start| start <= first) {
            let (left, right) = (&self.segments[&kept], &self.segments[&start]);
            if left.write == right.write && left.reads == right.reads {
                let end = right.end;
                self.segments.remove(&start);
                if let Some(left) = self.segments.get_mut(&kept) {
                    left.end = end;
                }
            } else {
                kept = start;
            }
        }
    }
}
