//! Runs a launch: blocks one after another, a block's threads one after another from barrier to barrier.

use super::code::{Action, Kind, Program, Special};
use super::races::{Log, Race};
use crate::statistics::count;
use crate::{Cause, Fault, Launch, Memory, Races, Statistics};
use std::sync::atomic::Ordering;

/// What shared and local memory hold before they are written.
const UNWRITTEN: u8 = 0xbd;

/// The register file: as many slots as an index can name.
pub(super) type Registers = [u64; 1 << 16];

/// Why a thread stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Exit,
    Barrier,
}

/// Why a thread cannot go on.
pub(super) enum Stopped {
    Cause(Cause),
    Race(Race),
}

impl From<Cause> for Stopped {
    fn from(cause: Cause) -> Self {
        Self::Cause(cause)
    }
}

impl From<Race> for Stopped {
    fn from(race: Race) -> Self {
        Self::Race(race)
    }
}

/// A thread between two barriers.
struct Waiting {
    number: u32,
    registers: Vec<u64>,
    local: Vec<u8>,
    next: usize,
}

/// A launch while it runs.
pub(super) struct Machine<'a> {
    pub program: &'a Program,
    pub memory: &'a dyn Memory,
    pub parameters: &'a [u8],
    pub shared: Vec<u8>,
    pub local: Vec<u8>,
    left: u64,
    budget: u64,
    unspecified_nan: u64,
    counts: [u64; Kind::COUNT],
    pub statistics: Statistics,
    pub races: Option<Log>,
}

/// Runs all threads. Grid, block and parameters fit the program.
pub(crate) fn run(
    program: &Program,
    launch: &Launch<'_>,
    parameters: &[u8],
    memory: &dyn Memory,
) -> Result<Statistics, Fault> {
    let threads = launch.block.iter().product::<u32>();
    let mut machine = Machine {
        program,
        memory,
        parameters,
        shared: vec![0; program.shared_bytes + launch.shared_bytes as usize],
        local: vec![0; program.local_bytes],
        left: launch.budget,
        budget: launch.budget,
        unspecified_nan: launch.unspecified_nan.into(),
        counts: [0; Kind::COUNT],
        statistics: Statistics::default(),
        races: (launch.races == Races::Report).then(|| Log::new(threads)),
    };
    let mut registers: Box<Registers> = vec![0; 1 << 16].into_boxed_slice().try_into().expect("as long as that");
    for z in 0..launch.grid[2] {
        for y in 0..launch.grid[1] {
            for x in 0..launch.grid[0] {
                machine.block(launch, [x, y, z], &mut registers)?;
            }
        }
    }
    let blocks: u64 = launch.grid.iter().map(|&extent| u64::from(extent)).product();
    machine.statistics.threads = blocks * u64::from(threads);
    count(&mut machine.statistics, &machine.counts);
    Ok(machine.statistics)
}

impl Machine<'_> {
    fn block(&mut self, launch: &Launch<'_>, block: [u32; 3], registers: &mut Registers) -> Result<(), Fault> {
        self.shared.fill(UNWRITTEN);
        let mut waiting = Vec::new();
        for number in 0..launch.block.iter().product() {
            self.start(launch, block, coordinates(number.into(), launch.block), registers);
            self.local.fill(UNWRITTEN);
            let (stop, next) = self.thread(launch, block, number, 0, registers)?;
            if stop == Stop::Barrier {
                let registers = registers[..self.program.template.len()].to_vec();
                waiting.push(Waiting { number, registers, local: self.local.clone(), next });
            }
        }
        // Threads that have ended do not hold a barrier up (PTX ISA 9.7.12.7).
        while !waiting.is_empty() {
            if let Some(races) = &mut self.races {
                races.barrier();
            }
            for mut thread in std::mem::take(&mut waiting) {
                registers[..thread.registers.len()].copy_from_slice(&thread.registers);
                self.local.copy_from_slice(&thread.local);
                let (stop, next) = self.thread(launch, block, thread.number, thread.next, registers)?;
                if stop == Stop::Barrier {
                    let used = thread.registers.len();
                    thread.registers.copy_from_slice(&registers[..used]);
                    thread.local.copy_from_slice(&self.local);
                    waiting.push(Waiting { next, ..thread });
                }
            }
        }
        if let Some(races) = &mut self.races {
            races.end_of_block();
        }
        Ok(())
    }

    /// Fills the register file for a thread.
    fn start(&self, launch: &Launch<'_>, block: [u32; 3], thread: [u32; 3], registers: &mut Registers) {
        registers[..self.program.template.len()].copy_from_slice(&self.program.template);
        for &(special, slot) in &self.program.specials {
            registers[usize::from(slot)] = u64::from(match special {
                Special::Thread(axis) => thread[axis],
                Special::ThreadCount(axis) => launch.block[axis],
                Special::Block(axis) => block[axis],
                Special::BlockCount(axis) => launch.grid[axis],
            });
        }
    }

    /// Runs a thread from an instruction on, until it ends or waits; then also gives the instruction to go on with.
    fn thread(
        &mut self,
        launch: &Launch<'_>,
        block: [u32; 3],
        number: u32,
        from: usize,
        registers: &mut Registers,
    ) -> Result<(Stop, usize), Fault> {
        let mut at = from;
        self.execute(number, &mut at, registers).map(|stop| (stop, at)).map_err(|cause| {
            let cause = match cause {
                // The log knows blocks and threads by their numbers.
                Stopped::Race(Race { address, block, thread }) => Cause::Race {
                    address,
                    other: (coordinates(block, launch.grid), coordinates(thread.into(), launch.block)),
                },
                Stopped::Cause(cause) => cause,
            };
            Fault {
                kernel: self.program.name.as_str().into(),
                line: self.program.lines.get(at).map_or(0, |&line| line as usize),
                thread: Some((block, coordinates(number.into(), launch.block))),
                cause,
            }
        })
    }

    fn execute(&mut self, number: u32, at: &mut usize, registers: &mut Registers) -> Result<Stop, Stopped> {
        let program = self.program;
        loop {
            let op = &program.ops[*at];
            self.counts[op.kind as usize] += 1;
            if self.left == 0 {
                return Err(Cause::Budget(self.budget).into());
            }
            self.left -= 1;
            // Written once: launches on other threads read the same flags.
            let reached = &program.reached[*at];
            if !reached.load(Ordering::Relaxed) {
                reached.store(true, Ordering::Relaxed);
            }
            if (registers[usize::from(op.guard)] != 0) != op.expected {
                *at += 1;
                continue;
            }
            let [a, b, c] = [op.a, op.b, op.c].map(|slot| registers[usize::from(slot)]);
            let d = usize::from(op.d);
            match op.action {
                Action::Pure(f) => registers[d] = f(a, b, c),
                Action::Single(f) => {
                    let value = f(a, b, c);
                    registers[d] = if f32::from_bits(value as u32).is_nan() { self.unspecified_nan } else { value };
                }
                Action::Checked(f) => {
                    registers[d] = f(a, b).ok_or_else(|| undefined(format!("division of {a:#x} by {b:#x}")))?;
                }
                Action::Load(access) => self.load(number, op, access, a, registers)?,
                Action::Store(access) => self.store(number, op, access, a, registers)?,
                Action::ToGeneric(space) => registers[d] = space.to_generic(a).map_err(undefined)?,
                Action::FromGeneric(space) => registers[d] = space.of_its_own(a).map_err(undefined)?,
                Action::Branch(target) => {
                    *at = target as usize;
                    continue;
                }
                Action::Table { start, count } => {
                    if a >= count.into() {
                        return Err(undefined(format!("jump {a} of a table of {count}")));
                    }
                    *at = program.tables[start as usize + a as usize] as usize;
                    continue;
                }
                Action::Exit => return Ok(Stop::Exit),
                Action::Barrier => {
                    *at += 1;
                    return Ok(Stop::Barrier);
                }
                Action::Trap => return Err(undefined("trap".to_owned())),
            }
            *at += 1;
        }
    }
}

fn undefined(reason: String) -> Stopped {
    Cause::Undefined(reason).into()
}

/// The n-th place of a box, x first.
fn coordinates(number: u64, [width, height, _]: [u32; 3]) -> [u32; 3] {
    let (width, height) = (u64::from(width), u64::from(height));
    [number % width, number / width % height, number / (width * height)].map(|place| place as u32)
}
