//! Modules, kernels and launches: the public face of the machine.

use crate::{Error, Fault, Memory, Statistics};

/// A parsed PTX module.
#[derive(Debug)]
pub struct Module {
    kernels: Vec<Kernel>,
}

impl Module {
    /// Parses and decodes PTX text.
    ///
    /// # Errors
    /// The first thing in it that this machine does not know.
    pub fn parse(_text: &str) -> Result<Self, Error> {
        unimplemented!("in the works")
    }

    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels().find(|kernel| kernel.name() == name)
    }

    /// All kernels, in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.kernels.iter()
    }
}

/// A kernel, decoded. Clones share the code, and outlive the module.
#[derive(Clone, Debug)]
pub struct Kernel {
    name: String,
    parameters: Vec<Parameter>,
}

/// A kernel's parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in the PTX.
    pub name: String,
    /// Bytes.
    pub size: usize,
    /// Alignment in bytes.
    pub align: usize,
}

/// What to launch a kernel with.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Blocks (x, y, z).
    pub grid: [u32; 3],
    /// Threads of a block (x, y, z), at most 1024 in all.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// The bytes of each parameter, of exactly its size.
    pub parameters: &'a [&'a [u8]],
    /// Instructions, of all threads together, after which the launch ends with an error.
    pub budget: u64,
    /// Whether to look for races, which takes 50 bytes of host memory an access.
    pub races: Races,
}

/// Whether a launch looks for races between its threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Races {
    /// No.
    #[default]
    Ignore,
    /// Two threads that touch the same global byte, one of them with a store, are an error at the end of the launch.
    Report,
}

impl<'a> Launch<'a> {
    /// Enough for any test, and a few minutes for an endless loop.
    pub const DEFAULT_BUDGET: u64 = 20_000_000_000;

    /// A launch along x, without dynamic shared memory, with the default budget.
    pub fn new(blocks: u32, threads: u32, parameters: &'a [&'a [u8]]) -> Self {
        Self {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared_bytes: 0,
            parameters,
            budget: Self::DEFAULT_BUDGET,
            races: Races::Ignore,
        }
    }
}

impl Kernel {
    /// The entry's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The parameters, in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Runs all threads, block after block, and returns when the last one ended.
    ///
    /// # Errors
    /// A launch that does not fit the kernel; else the first thread's fault.
    pub fn launch(&self, _launch: &Launch<'_>, _memory: &dyn Memory) -> Result<Statistics, Fault> {
        unimplemented!("in the works")
    }
}
