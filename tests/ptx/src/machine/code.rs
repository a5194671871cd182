//! The decoded form: every operand is a slot of one register file, which also holds constants and special registers.
//!
//! A slot of w bits holds its value zero-extended to 64. All operations keep to that.

use super::Space;
use crate::Parameter;
use std::sync::atomic::AtomicBool;

/// Three values -> one, none of which the ISA leaves open.
pub(crate) type Pure = fn(u64, u64, u64) -> u64;
/// Two values -> one, or none where the ISA leaves the result open.
pub(crate) type Checked = fn(u64, u64) -> Option<u64>;

/// What an instruction, or a part of one, does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// d = f(a, b, c)
    Pure(Pure),
    /// d = f(a, b, c), a single-precision value; a NaN is an unspecified one (PTX ISA 9.7.3).
    Single(Pure),
    /// d = f(a, b); no result is a fault.
    Checked(Checked),
    /// Registers from `d` on in [`Program::vectors`] = memory at a + offset.
    Load(Access),
    /// Memory at a + offset = registers from `d` on in [`Program::vectors`].
    Store(Access),
    /// d = generic address of the address a of a space.
    ToGeneric(Space),
    /// d = address in a space of the generic address a.
    FromGeneric(Space),
    /// Continue at an instruction.
    Branch(u32),
    /// Continue at the a-th target of those from `start` on in [`Program::tables`].
    Table { start: u32, count: u32 },
    /// The thread ends.
    Exit,
    /// Wait for all threads of the block that have not ended.
    Barrier,
    /// The launch ends.
    Trap,
}

/// How memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// None: by a generic address.
    pub space: Option<Space>,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Elements: 1, 2, 4 or 8.
    pub count: u8,
    /// Loads: elements are sign-extended to this many bits; 0 for zero extension.
    pub extend: u8,
    /// ld.global.nc: nobody may write there during the launch.
    pub read_only: bool,
}

/// Kinds of instructions, as statistics count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Integer,
    Float,
    Compare,
    Convert,
    Move,
    Load,
    Store,
    Control,
    /// A further part of the instruction before: not counted.
    Part,
}

impl Kind {
    pub const COUNT: usize = Self::Part as usize + 1;
}

/// One decoded instruction, or a part of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub action: Action,
    pub d: u16,
    pub a: u16,
    pub b: u16,
    pub c: u16,
    /// Runs if the slot `guard` holds `expected`.
    pub guard: u16,
    pub expected: bool,
    pub kind: Kind,
    /// Bytes to add to the address.
    pub offset: i32,
}

/// Special registers (PTX ISA 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Thread(usize),
    ThreadCount(usize),
    Block(usize),
    BlockCount(usize),
}

/// A decoded kernel.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub name: String,
    pub parameters: Vec<Parameter>,
    /// Offset of each parameter in parameter space.
    pub offsets: Vec<usize>,
    pub parameter_bytes: usize,
    pub ops: Vec<Op>,
    /// The line of each op.
    pub lines: Vec<u32>,
    /// Whether any launch has reached it.
    pub reached: Vec<AtomicBool>,
    /// What the register file holds when a thread starts: constants, and a pattern in registers.
    pub template: Vec<u64>,
    pub specials: Vec<(Special, u16)>,
    pub vectors: Vec<u16>,
    pub tables: Vec<u32>,
    /// Bytes of each thread's local memory, and of each block's static shared memory.
    pub local_bytes: usize,
    pub shared_bytes: usize,
    /// The module's constants.
    pub constants: std::sync::Arc<Vec<u8>>,
    pub has_barrier: bool,
    /// .maxntid: the largest block.
    pub largest_block: Option<[u32; 3]>,
    /// .reqntid: the only block.
    pub only_block: Option<[u32; 3]>,
}
