//! The whole driver in one place behind one lock, and the condition variable that every wait uses.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::capture::Captures;
use crate::checks::Violations;
use crate::clock::{Access, Clock, HOST};
use crate::codes::Code;
use crate::config::Config;
use crate::context::Context;
use crate::device::Device;
use crate::event::Event;
use crate::failures::Failures;
use crate::function::Function;
use crate::handles::{Kind, Table};
use crate::hold::Uploads;
use crate::memory::Memory;
use crate::module::Module;
use crate::stream::Stream;

pub struct State {
    pub config: Config,
    /// `cuInit` was called.
    pub ready: bool,
    pub devices: Vec<Device>,
    pub contexts: Table<Context>,
    pub streams: Table<Stream>,
    pub events: Table<Event>,
    pub modules: Table<Module>,
    pub functions: Table<Function>,
    pub captures: Captures,
    pub memory: Memory,
    pub failures: Failures,
    pub violations: Violations,
    /// Calls made, by exported name.
    pub calls: BTreeMap<&'static str, u64>,
    /// What the host has waited for.
    pub host: Clock,
    /// Steps of the host, for its own accesses to memory.
    pub host_step: u64,
    /// Items of work handed out to streams, in the order of the calls.
    pub issued: u64,
    pub uploads: Uploads,
    /// Asynchronous copies whose host memory is not pinned: they are none on a real GPU.
    pub pageable_copies: u64,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);
static PROGRESS: Condvar = Condvar::new();
/// The process that called `cuInit`, or 0. Outside the lock, which a fork may have taken along.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Whether this is a fork of a process that has called `cuInit`: it has none of the streams' threads.
pub fn forked() -> bool {
    let process = PROCESS.load(Ordering::Relaxed);
    process != 0 && process != std::process::id()
}

/// Notes that this process uses the driver from now on.
pub fn adopt_process() {
    PROCESS.store(std::process::id(), Ordering::Relaxed);
}

impl State {
    fn new() -> Self {
        let config = Config::from_environment();
        let mut failures = Failures::default();
        if let Err(error) = failures.add(&config.fail) {
            eprintln!("soft-cuda: {error}");
        }
        let violations = Violations { manner: config.manner(), ..Violations::default() };
        Self {
            config,
            ready: false,
            devices: Vec::new(),
            contexts: Table::new(Kind::Context),
            streams: Table::new(Kind::Stream),
            events: Table::new(Kind::Event),
            modules: Table::new(Kind::Module),
            functions: Table::new(Kind::Function),
            captures: Captures::default(),
            memory: Memory::default(),
            failures,
            violations,
            calls: BTreeMap::new(),
            host: Clock::default(),
            host_step: 0,
            issued: 0,
            uploads: Uploads::default(),
            pageable_copies: 0,
        }
    }

    /// A new step of the host: its access and the clock that goes with it.
    pub fn host_access(&mut self, what: &str) -> (Access, Clock) {
        self.host_step += 1;
        self.host.set(HOST, self.host_step);
        (Access { actor: HOST, step: self.host_step, what: what.into() }, self.host.clone())
    }

    /// The code that the context's device or the context itself gives for everything, if any.
    pub fn poison(&self, context: u64) -> Option<Code> {
        let context = self.contexts.get(context)?;
        self.devices.get(context.device).and_then(|device| device.lost).or(context.poison)
    }

    /// Makes the context return `code` from now on; the first failure stays.
    pub fn poison_context(&mut self, context: u64, code: Code) {
        if let Some(context) = self.contexts.get_mut(context) {
            context.poison = context.poison.or(Some(code));
        }
    }
}

/// The lock, held.
pub struct Driver {
    guard: Option<MutexGuard<'static, Option<State>>>,
}

impl Driver {
    pub fn lock() -> Self {
        let mut guard = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        guard.get_or_insert_with(State::new);
        Self { guard: Some(guard) }
    }

    /// Lets others work until `done`.
    pub fn wait(&mut self, mut done: impl FnMut(&mut State) -> bool) {
        while !done(&mut *self) {
            let guard = self.guard.take().expect("held between calls");
            self.guard = Some(PROGRESS.wait(guard).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Runs `work` without the lock.
    pub fn unlocked<R>(&mut self, work: impl FnOnce() -> R) -> R {
        self.guard = None;
        let result = work();
        *self = Self::lock();
        result
    }

    /// Wakes everybody who waits for something to change.
    pub fn changed(&self) {
        PROGRESS.notify_all();
    }
}

impl std::ops::Deref for Driver {
    type Target = State;

    fn deref(&self) -> &State {
        self.guard.as_deref().and_then(Option::as_ref).expect("held between calls, and made by lock()")
    }
}

impl std::ops::DerefMut for Driver {
    fn deref_mut(&mut self) -> &mut State {
        self.guard.as_deref_mut().and_then(Option::as_mut).expect("held between calls, and made by lock()")
    }
}
