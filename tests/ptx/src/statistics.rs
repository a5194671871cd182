//! What a launch did: instructions by class, accesses by space and width.

use crate::machine::Kind;
use std::collections::BTreeMap;

/// Kinds of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Integer arithmetic, shifts, bit fields, logic.
    Integer,
    /// Float arithmetic, minimum and maximum.
    Float,
    /// Comparisons and selections.
    Compare,
    /// cvt.
    Convert,
    /// mov, cvta and loads of parameters.
    Move,
    /// Loads, parameters excepted.
    Load,
    /// Stores.
    Store,
    /// Branches, calls, returns, barriers.
    Control,
}

/// State spaces of accesses, after generic addresses are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// Global memory.
    Global,
    /// A thread's own memory.
    Local,
    /// A block's memory.
    Shared,
    /// Constants of the module.
    Constant,
}

/// Accesses of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Accesses of 1, 2, 4, 8, 16 and 32 bytes.
    pub by_width: [u64; 6],
}

impl Traffic {
    /// Bytes in all.
    pub fn bytes(&self) -> u64 {
        self.by_width.iter().enumerate().map(|(log, count)| count << log).sum()
    }

    /// Accesses of any width.
    pub fn count(&self) -> u64 {
        self.by_width.iter().sum()
    }

    /// Accesses of exactly `width` bytes.
    pub fn of_width(&self, width: usize) -> u64 {
        if width.is_power_of_two() { *self.by_width.get(width.ilog2() as usize).unwrap_or(&0) } else { 0 }
    }

    /// The narrowest access in bytes, if there was one.
    pub fn narrowest(&self) -> Option<usize> {
        self.by_width.iter().position(|&count| count > 0).map(|log| 1 << log)
    }
}

/// What a launch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Threads that ran.
    pub threads: u64,
    /// Executed instructions; one whose guard was false counts too.
    pub instructions: u64,
    /// Executed instructions by class.
    pub by_class: BTreeMap<Class, u64>,
    /// Global loads.
    pub loads: Traffic,
    /// Global stores.
    pub stores: Traffic,
    /// Accesses of both directions to other spaces than global memory and parameters.
    pub other: BTreeMap<Space, Traffic>,
}

/// Puts the interpreter's counts, one a kind, into the statistics.
pub(crate) fn count(statistics: &mut Statistics, counts: &[u64; Kind::COUNT]) {
    let classes = [
        (Kind::Integer, Class::Integer),
        (Kind::Float, Class::Float),
        (Kind::Compare, Class::Compare),
        (Kind::Convert, Class::Convert),
        (Kind::Move, Class::Move),
        (Kind::Load, Class::Load),
        (Kind::Store, Class::Store),
        (Kind::Control, Class::Control),
    ];
    for (kind, class) in classes {
        statistics.by_class.insert(class, counts[kind as usize]);
        statistics.instructions += counts[kind as usize];
    }
}
