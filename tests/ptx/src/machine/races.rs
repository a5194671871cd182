//! Races: which threads have touched each global byte of a launch so far.
//!
//! Threads run one after another here, so that a race changes nothing; on a device it would. Two accesses of a byte race
//! if one of them stores, and no barrier of the block (PTX ISA 9.7.13.1) is between them.

use std::collections::HashMap;

/// The other access of a race.
pub(super) struct Race {
    /// The byte.
    pub address: u64,
    /// Number of the other thread's block, and its own in the block.
    pub block: u64,
    pub thread: u32,
}

/// A thread between two barriers.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Agent {
    block: u64,
    thread: u32,
    epoch: u32,
}

/// Who touched a byte: agents' numbers from 1, 0 for nobody.
#[derive(Clone, Copy, Default)]
struct Byte {
    writer: u32,
    /// Two different readers are enough: one of them is another thread than the next writer.
    readers: [u32; 2],
    /// A reader by ld.global.nc, which rules out any writer, itself too.
    constant_reader: u32,
}

const PAGE: u64 = 4096;

/// All accesses of a launch so far.
pub(super) struct Log {
    pages: HashMap<u64, Box<[Byte]>>,
    agents: Vec<Agent>,
    /// The agent of each thread of the block, 0 for none yet.
    current: Vec<u32>,
    block: u64,
    epoch: u32,
}

impl Log {
    /// For blocks of that many threads.
    pub fn new(threads: u32) -> Self {
        Self { pages: HashMap::new(), agents: Vec::new(), current: vec![0; threads as usize], block: 0, epoch: 0 }
    }

    /// All threads of the block have reached a barrier.
    pub fn barrier(&mut self) {
        self.current.fill(0);
        self.epoch += 1;
    }

    pub fn end_of_block(&mut self) {
        self.current.fill(0);
        self.block += 1;
        self.epoch = 0;
    }

    /// Notes a load. `constant`: the kernel has promised that nobody stores there.
    pub fn load(&mut self, thread: u32, address: u64, size: usize, constant: bool) -> Result<(), Race> {
        let agent = self.agent(thread);
        for address in address..address + size as u64 {
            let byte = *self.byte(address);
            if byte.writer != 0 && (constant || self.conflict(agent, byte.writer)) {
                return Err(self.race(address, byte.writer));
            }
            let byte = self.byte(address);
            if constant {
                byte.constant_reader = agent;
            }
            if byte.readers[0] != agent {
                byte.readers = [agent, byte.readers[0]];
            }
        }
        Ok(())
    }

    /// Notes a store.
    pub fn store(&mut self, thread: u32, address: u64, size: usize) -> Result<(), Race> {
        let agent = self.agent(thread);
        for address in address..address + size as u64 {
            let byte = *self.byte(address);
            if byte.constant_reader != 0 {
                return Err(self.race(address, byte.constant_reader));
            }
            for other in [byte.writer, byte.readers[0], byte.readers[1]] {
                if other != 0 && self.conflict(agent, other) {
                    return Err(self.race(address, other));
                }
            }
            self.byte(address).writer = agent;
        }
        Ok(())
    }

    fn agent(&mut self, thread: u32) -> u32 {
        let current = &mut self.current[thread as usize];
        if *current == 0 {
            self.agents.push(Agent { block: self.block, thread, epoch: self.epoch });
            *current = u32::try_from(self.agents.len()).expect("fewer threads than that in a test");
        }
        *current
    }

    fn byte(&mut self, address: u64) -> &mut Byte {
        let page = self.pages.entry(address / PAGE).or_insert_with(|| vec![Byte::default(); PAGE as usize].into());
        &mut page[(address % PAGE) as usize]
    }

    fn conflict(&self, agent: u32, other: u32) -> bool {
        let [a, b] = [agent, other].map(|number| self.agents[number as usize - 1]);
        if a.block == b.block { a.thread != b.thread && a.epoch == b.epoch } else { true }
    }

    fn race(&self, address: u64, other: u32) -> Race {
        let Agent { block, thread, .. } = self.agents[other as usize - 1];
        Race { address, block, thread }
    }
}
