//! What can go wrong: text that is not understood, and executions that break a rule.

use crate::memory::Refusal;
use std::fmt;

/// PTX text that this machine does not take: malformed, or an instruction, modifier or directive it does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Line, from 1.
    pub line: usize,
    /// The statement on that line.
    pub text: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PTX line {}: {}: {}", self.line, self.reason, self.text)
    }
}

impl std::error::Error for Error {}

/// A launch that ended before its last thread did. What the threads before had stored remains stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kernel.
    pub kernel: Box<str>,
    /// Line of the instruction in the PTX, from 1; 0 if the launch itself was refused.
    pub line: usize,
    /// Block and thread (x, y, z), unless the launch itself was refused.
    pub thread: Option<([u32; 3], [u32; 3])>,
    /// What happened.
    pub cause: Cause,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {}", self.kernel)?;
        if self.line > 0 {
            write!(f, ", PTX line {}", self.line)?;
        }
        if let Some((block, thread)) = self.thread {
            write!(f, ", block {block:?}, thread {thread:?}")?;
        }
        write!(f, ": {}", self.cause)
    }
}

impl std::error::Error for Fault {}

/// Which way an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From memory.
    Load,
    /// To memory.
    Store,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Load => "load",
            Self::Store => "store",
        })
    }
}

/// Why a launch ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// Grid, block or parameters do not fit the kernel.
    Launch(String),
    /// An access that is not aligned to its whole size (PTX ISA 6.4.1: vectors too).
    Misaligned {
        /// Which way.
        access: Direction,
        /// Address of its first byte.
        address: u64,
        /// Bytes.
        size: usize,
    },
    /// An access that the memory refused.
    Refused {
        /// Which way.
        access: Direction,
        /// The state space.
        space: &'static str,
        /// Address of its first byte, in that space.
        address: u64,
        /// Bytes.
        size: usize,
        /// The memory's reason.
        refusal: Refusal,
    },
    /// Another thread of the same launch had access to the same bytes, and one of the two stored.
    Race {
        /// Address of the first byte that both touched.
        address: u64,
        /// The other thread's block and thread (x, y, z).
        other: ([u32; 3], [u32; 3]),
    },
    /// The launch's instruction budget is spent.
    Budget(u64),
    /// A result that the ISA leaves undefined (division by zero, a jump past its table, a barrier that some threads
    /// cannot reach), or an instruction that ends the launch (trap).
    Undefined(String),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Launch(reason) | Self::Undefined(reason) => f.write_str(reason),
            Self::Misaligned { access, address, size } => {
                write!(f, "{access} of {size} bytes at {address:#x}, which is not a multiple of {size}")
            }
            Self::Refused { access, space, address, size, refusal } => {
                write!(f, "{access} of {size} bytes at {space} {address:#x}: {refusal}")
            }
            Self::Race { address, other: (block, thread) } => {
                write!(f, "race at {address:#x} with block {block:?}, thread {thread:?}")
            }
            Self::Budget(budget) => write!(f, "not finished after {budget} instructions"),
        }
    }
}
