//! Modules, kernels and launches: the public face of the machine.

use crate::machine::{self, Program};
use crate::{Cause, Error, Fault, Memory, Statistics, text};
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
    pub fn parse(text: &str) -> Result<Self, Error> {
        let programs = text::module(text)?;
        Ok(Self { kernels: programs.into_iter().map(|program| Kernel { program: Arc::new(program) }).collect() })
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
    program: Arc<Program>,
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
    /// Whether to look for races, which takes much time, and 16 bytes of host memory for each byte touched.
    pub races: Races,
    /// The bits of NaN where the ISA says "an unspecified NaN"; devices give 0x7fffffff. No result may depend on it.
    pub unspecified_nan: u32,
}

/// Whether a launch looks for races between its threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Races {
    /// No.
    #[default]
    Ignore,
    /// Two threads that touch the same global byte, one of them with a store and without a barrier between, are a fault.
    Report,
}

impl<'a> Launch<'a> {
    /// Enough for a batch of many MiB, and less than a minute for an endless loop.
    pub const DEFAULT_BUDGET: u64 = 4_000_000_000;

    /// A launch along x, without dynamic shared memory, with the default budget.
    pub fn new(blocks: u32, threads: u32, parameters: &'a [&'a [u8]]) -> Self {
        Self {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared_bytes: 0,
            parameters,
            budget: Self::DEFAULT_BUDGET,
            races: Races::Ignore,
            unspecified_nan: 0x7fff_ffff,
        }
    }
}

impl Kernel {
    /// The entry's name.
    pub fn name(&self) -> &str {
        &self.program.name
    }

    /// The parameters, in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.program.parameters
    }

    /// Lines of the instructions that no launch of this kernel has reached yet, ascending.
    pub fn unreached_lines(&self) -> Vec<usize> {
        let program = &*self.program;
        let mut lines: Vec<usize> = std::iter::zip(&program.ops, &program.lines)
            .zip(&program.reached)
            .filter(|((op, _), reached)| op.kind != machine::Kind::Part && !reached.load(Ordering::Relaxed))
            .map(|((_, &line), _)| line as usize)
            .collect();
        lines.dedup();
        lines
    }

    /// Runs all threads, block after block, and returns when the last one ended.
    ///
    /// # Errors
    /// A launch that does not fit the kernel; else the first thread's fault.
    pub fn launch(&self, launch: &Launch<'_>, memory: &dyn Memory) -> Result<Statistics, Fault> {
        let parameters = self.packed(launch).and_then(|parameters| {
            self.check_sizes(launch)?;
            Ok(parameters)
        });
        let parameters = parameters.map_err(|reason| Fault {
            kernel: self.name().into(),
            line: 0,
            thread: None,
            cause: Cause::Launch(reason),
        })?;
        machine::run(&self.program, launch, &parameters, memory)
    }

    /// The parameters as they lie in parameter space.
    fn packed(&self, launch: &Launch<'_>) -> Result<Vec<u8>, String> {
        let program = &*self.program;
        let (given, expected) = (launch.parameters.len(), program.parameters.len());
        if given != expected {
            return Err(format!("{given} parameters, {expected} are expected"));
        }
        let mut packed = vec![0; program.parameter_bytes];
        for ((parameter, &offset), bytes) in program.parameters.iter().zip(&program.offsets).zip(launch.parameters) {
            if bytes.len() != parameter.size {
                return Err(format!("{} bytes for {}, which has {}", bytes.len(), parameter.name, parameter.size));
            }
            packed[offset..offset + parameter.size].copy_from_slice(bytes);
        }
        Ok(packed)
    }

    /// The limits of devices from compute capability 7.5 on, and the kernel's own.
    fn check_sizes(&self, launch: &Launch<'_>) -> Result<(), String> {
        let Launch { grid, block, shared_bytes, .. } = *launch;
        let within = |extents: [u32; 3], limits: [u32; 3]| {
            extents.iter().zip(limits).all(|(&extent, limit)| (1..=limit).contains(&extent))
        };
        if !within(grid, [0x7fff_ffff, 0xffff, 0xffff]) {
            return Err(format!("grid {grid:?}, expected 1 to 2147483647, 65535 and 65535 blocks"));
        }
        let threads: u64 = block.iter().map(|&extent| u64::from(extent)).product();
        if !within(block, [1024, 1024, 64]) || threads > 1024 {
            return Err(format!("block {block:?}, expected 1 to 1024, 1024 and 64 threads, at most 1024 in all"));
        }
        match (self.program.only_block, self.program.largest_block) {
            (Some(only), _) if only != block => return Err(format!("block {block:?}, the kernel requires {only:?}")),
            (_, Some(largest)) if threads > largest.iter().map(|&extent| u64::from(extent)).product() => {
                return Err(format!("block {block:?}, the kernel allows {largest:?}"));
            }
            _ => {}
        }
        let shared = self.program.shared_bytes + shared_bytes as usize;
        if shared > 48 << 10 {
            return Err(format!("{shared} bytes of shared memory, a block has 49152"));
        }
        Ok(())
    }
}
