//! Calls that were submitted: they stand in line, tenant after tenant, for the pool's own threads.
//!
//! A thread that has ended a call takes the next without being woken. Calls of tenants whose calls take long are left to threads of
//! their own. Where all others are busy, and one of them with a call of a much heavier tenant than the one that submits (the first long one
//! of its tenant), that call is interrupted and stands still, and its thread runs the other in between.

use super::super::error::{Kind, PoolError};
use super::super::run::DEEPEST;
use super::super::submitted::Submitted;
use super::super::turn::Turn;
use super::super::worker::{self, Class};
use super::Queue;
use super::places::{State, Tenant, is_heavier};
use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Calls that have waited for too long are looked for so often, and so are those that became a matter for other threads meanwhile.
const SWEEP: Duration = Duration::from_millis(20);

#[derive(Default)]
pub(super) struct Line {
    /// Tenants with submitted calls that wait, each once.
    pub(super) tenants: VecDeque<Arc<str>>,
    /// Calls on the pool's threads.
    busy: Vec<Busy>,
    threads: [Threads; 2],
    swept: Option<Instant>,
}

/// The threads of a class.
#[derive(Clone, Copy, Default)]
struct Threads {
    alive: usize,
    /// Of those, the ones that sleep and were not called.
    asleep: usize,
    /// Those that were called and are not awake yet.
    called: usize,
}

struct Busy {
    turn: Arc<Turn>,
    class: Class,
    /// Runs since then; `None` while it stands still.
    since: Option<Instant>,
    /// Calls that stand still on its thread.
    below: usize,
}

impl Line {
    /// A call runs no more; `None` if it did not run on a thread of the pool.
    pub(super) fn stop(&mut self, turn: &Arc<Turn>) -> Option<()> {
        let at = self.busy.iter().position(|busy| Arc::ptr_eq(&busy.turn, turn))?;
        self.busy.swap_remove(at);
        Some(())
    }

    fn of(&mut self, turn: &Arc<Turn>) -> Option<&mut Busy> {
        self.busy.iter_mut().find(|busy| Arc::ptr_eq(&busy.turn, turn))
    }

    /// Calls a thread that sleeps, if there is one; it is to be woken.
    fn call(&mut self, class: Class) -> bool {
        let threads = &mut self.threads[class as usize];
        let calls = threads.asleep > 0;
        threads.asleep -= usize::from(calls);
        threads.called += usize::from(calls);
        calls
    }

    /// Whether a thread is to be started, since there are fewer than `most` and none sleeps; it counts from now on. Threads inherit
    /// their maker's priority: one for long calls makes none for short ones, unless there is none.
    fn starts(&mut self, class: Class, most: usize) -> bool {
        let threads = &mut self.threads[class as usize];
        let starts = threads.asleep + threads.called == 0
            && threads.alive < if class == Class::Short && worker::is_long() { most.min(1) } else { most };
        threads.alive += usize::from(starts);
        starts
    }

    /// The same for the class of a call; with the first thread for long calls comes one for short ones.
    fn starts_for(&mut self, class: Class, most: usize) -> [bool; 2] {
        let mut starts = [false; 2];
        starts[class as usize] = self.starts(class, most);
        if class == Class::Long && starts[1] && self.threads[0].alive == 0 {
            starts[0] = self.starts(Class::Short, most);
        }
        starts
    }
}

/// Threads, by class, that are to be woken, and that are to be started.
#[derive(Clone, Copy, Default)]
struct Roused {
    wakes: [bool; 2],
    starts: [bool; 2],
}

impl Busy {
    /// Seconds that it has run since it last stood still.
    fn so_far(&self, now: Instant) -> f64 {
        self.since.map_or(0.0, |since| now.saturating_duration_since(since).as_secs_f64())
    }
}

impl State {
    /// Whether threads of a class take a tenant's next call: long ones have threads of their own, where the system had any.
    fn is_for(&self, class: Class, tenant: &Tenant) -> bool {
        match class {
            Class::Short => !tenant.is_long() || self.line.threads[Class::Long as usize].alive == 0,
            Class::Long => tenant.is_long(),
        }
    }

    /// Every call that waits to run on a thread of the pool.
    pub(super) fn take_all_submitted(&mut self) -> Vec<Arc<Submitted>> {
        self.line.tenants.clear();
        let take = |tenant: &mut Tenant| {
            tenant.in_line = false;
            std::mem::take(&mut tenant.submitted)
        };
        self.tenants.values_mut().flat_map(take).collect()
    }

    /// The first call in line that may run, of a tenant that is `meant`; it runs from now on.
    fn take_submitted(
        &mut self,
        class: Class,
        now: Instant,
        below: usize,
        meant: impl Fn(&State, &Arc<str>, &Tenant) -> bool,
    ) -> Option<Arc<Submitted>> {
        loop {
            // Those without waiting calls, or unknown by now, leave the line.
            let at = self.line.tenants.iter().position(|name| {
                let may_run =
                    |tenant: &Tenant| tenant.submitted.is_empty() || tenant.may_run() && meant(self, name, tenant);
                self.tenants.get(name).is_none_or(may_run)
            })?;
            let name = self.line.tenants.remove(at)?;
            let Some(tenant) = self.tenants.get_mut(&name) else { continue };
            let call = tenant.submitted.pop_front();
            tenant.in_line = !tenant.submitted.is_empty();
            if tenant.in_line {
                self.line.tenants.push_back(name);
            }
            let Some(call) = call else { continue };
            tenant.running += 1;
            self.line.busy.push(Busy { turn: call.turn.clone(), class, since: Some(now), below });
            return Some(call);
        }
    }

    /// Whether threads of a class would find a call that may run.
    fn has(&self, class: Class) -> bool {
        let may_run = |tenant: &Tenant| !tenant.submitted.is_empty() && tenant.may_run() && self.is_for(class, tenant);
        self.line.tenants.iter().any(|name| self.tenants.get(name).is_some_and(may_run))
    }

    /// Calls the threads that sleep while there is something for them; they are to be woken.
    pub(super) fn summon(&mut self) -> [bool; 2] {
        [Class::Short, Class::Long]
            .map(|class| self.line.threads[class as usize].asleep > 0 && self.has(class) && self.line.call(class))
    }

    /// The same, and starts threads where none sleeps.
    fn rouse(&mut self, most: usize) -> Roused {
        let mut roused = Roused { wakes: self.summon(), ..Roused::default() };
        for class in [Class::Long, Class::Short] {
            if !roused.wakes[class as usize] && self.has(class) {
                let starts = self.line.starts_for(class, most);
                roused.starts = [roused.starts[0] || starts[0], roused.starts[1] || starts[1]];
            }
        }
        roused
    }

    /// Whether a call on a thread of the pool would stand still for one of this tenant.
    fn would_give_way(&self, name: &Arc<str>, now: Instant) -> bool {
        let at_work = |busy: &&Busy| {
            busy.class == Class::Short && busy.since.is_some() && busy.below < DEEPEST && busy.turn.tenant != *name
        };
        self.line
            .busy
            .iter()
            .filter(at_work)
            .any(|busy| is_heavier(self.load(&busy.turn.tenant, now) + busy.so_far(now), self.load(name, now)))
    }

    /// Calls that have waited for as long as they may.
    fn expired(&mut self, now: Instant) -> Vec<Arc<Submitted>> {
        if self.line.swept.is_some_and(|swept| now.saturating_duration_since(swept) < SWEEP) {
            return Vec::new();
        }
        self.line.swept = Some(now);
        let mut expired = Vec::new();
        for name in &self.line.tenants {
            let Some(tenant) = self.tenants.get_mut(name) else { continue };
            while let Some(call) = tenant.submitted.pop_front_if(|call| call.is_expired(now)) {
                expired.push(call);
            }
        }
        expired
    }
}

impl Queue {
    /// Puts a call in line. `Err` if too many of its tenant's wait.
    pub(in super::super) fn submit(self: &Arc<Self>, call: &Arc<Submitted>) -> Result<(), PoolError> {
        let name = &call.turn.tenant;
        let mut state = self.lock();
        // Under the lock: what is listed later would stay there for ever.
        let ended =
            if self.is_closed() { Some(Kind::Closed) } else { call.turn.is_cancelled().then_some(Kind::Cancelled) };
        if let Some(kind) = ended {
            let message = format!("tenant {name}: the call was {} before it began", kind.name());
            return Err(PoolError::new(name, kind, message));
        }
        let first = state.line.tenants.is_empty();
        let tenant = self.known(&mut state, name)?;
        let (waiting, most) = (tenant.waits(), tenant.limits.waiting);
        if waiting >= most && (waiting > 0 || !tenant.may_run()) {
            return Err(PoolError::over(name, Kind::Waiting, "calls would wait", waiting as u64 + 1, most as u64));
        }
        tenant.submitted.push_back(call.clone());
        let class = if tenant.is_long() { Class::Long } else { Class::Short };
        let may_run = tenant.may_run();
        if !std::mem::replace(&mut tenant.in_line, true) {
            state.line.tenants.push_back(name.clone());
        }
        let starts = state.line.starts_for(class, self.config.running);
        let mut wakes = [false; 2];
        // Where it may not run yet, one thread looks now and then whether it has waited for too long.
        if !starts[class as usize] && (may_run || first) {
            wakes[class as usize] = state.line.call(class);
        }
        let busy = class == Class::Short && may_run && !starts[0] && !wakes[0];
        let interrupts = busy && state.would_give_way(name, call.at);
        drop(state);
        self.act(Roused { wakes, starts });
        if interrupts {
            self.sandbox.interrupt();
        }
        Ok(())
    }

    /// Wakes one thread of each class that was called.
    pub(super) fn wake_threads(&self, called: [bool; 2]) {
        for (bell, _) in self.bells.iter().zip(called).filter(|(_, called)| *called) {
            bell.notify_one();
        }
    }

    fn act(self: &Arc<Self>, roused: Roused) {
        self.wake_threads(roused.wakes);
        [Class::Short, Class::Long]
            .into_iter()
            .filter(|class| roused.starts[*class as usize])
            .for_each(|class| self.start_thread(class));
    }

    /// Without any thread, calls that wait are refused.
    fn start_thread(self: &Arc<Self>, class: Class) {
        let Err(error) = worker::start(self.clone(), class) else { return };
        log::warn!("no thread for submitted calls: {error}");
        let mut state = self.lock();
        state.line.threads[class as usize].alive -= 1;
        let none = state.line.threads[Class::Short as usize].alive == 0;
        let refused = if none { state.take_all_submitted() } else { Vec::new() };
        let called = state.summon();
        drop(state);
        self.wake_threads(called);
        refused.iter().for_each(|call| call.refuse(Kind::System));
    }

    /// The next call for a thread of the pool, which sleeps until there is one; `None` once the pool is closed.
    pub(in super::super) fn next(self: &Arc<Self>, class: Class) -> Option<Arc<Submitted>> {
        let mut state = self.lock();
        let mut roused_others = false;
        loop {
            let now = Instant::now();
            if self.is_closed() {
                state.line.threads[class as usize].alive -= 1;
                return None;
            }
            let expired = state.expired(now);
            if !expired.is_empty() {
                drop(state);
                expired.iter().for_each(|call| call.refuse(Kind::MaxWait));
                state = self.lock();
                continue;
            }
            // Threads for long calls come first, where a tenant's calls turned out long after they were submitted.
            if class == Class::Short && state.line.threads[1].alive == 0 && state.has(Class::Long) {
                let roused = state.rouse(self.config.running);
                drop(state);
                self.act(roused);
                state = self.lock();
            }
            if let Some(call) = state.take_submitted(class, now, 0, |state, _, tenant| state.is_for(class, tenant)) {
                let roused =
                    if state.line.tenants.is_empty() { Roused::default() } else { state.rouse(self.config.running) };
                drop(state);
                self.act(roused);
                return Some(call);
            }
            // What is left in line may be, or have become, a matter for others. Once: then they know.
            if !std::mem::replace(&mut roused_others, true) && !state.line.tenants.is_empty() {
                let roused = state.rouse(self.config.running);
                drop(state);
                self.act(roused);
                state = self.lock();
                continue;
            }
            state = self.sleep(class, state);
            roused_others = false;
        }
    }

    /// Until the thread is called, or for a while if calls are in line: they may wait for too long meanwhile, or for others.
    fn sleep<'a>(&'a self, class: Class, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.line.threads[class as usize].asleep += 1;
        let sleeps = |state: &mut State| state.line.threads[class as usize].called == 0 && !self.is_closed();
        let bell = &self.bells[class as usize];
        state = if state.line.tenants.is_empty() {
            bell.wait_while(state, sleeps).unwrap_or_else(PoisonError::into_inner)
        } else {
            bell.wait_timeout_while(state, SWEEP, sleeps).unwrap_or_else(PoisonError::into_inner).0
        };
        let threads = &mut state.line.threads[class as usize];
        let waiting = if threads.called == 0 { &mut threads.asleep } else { &mut threads.called };
        *waiting = waiting.saturating_sub(1);
        state
    }

    /// Ends calls that have waited for too long, at the tick of one that runs on a thread of the pool: all of them may run long ones.
    pub(in super::super) fn sweep(&self) {
        let mut state = self.lock();
        if state.line.tenants.is_empty() {
            return;
        }
        let expired = state.expired(Instant::now());
        drop(state);
        expired.iter().for_each(|call| call.refuse(Kind::MaxWait));
    }

    /// A call for the thread of another one, which stands still from now on, after it has `computed` for some time more.
    pub(in super::super) fn lighter(
        &self,
        turn: &Arc<Turn>,
        computed: impl FnOnce() -> Duration,
    ) -> Option<Arc<Submitted>> {
        let mut state = self.lock();
        if state.line.tenants.is_empty() {
            return None;
        }
        let now = Instant::now();
        let (name, own) = (&turn.tenant, state.line.of(turn)?);
        let (so_far, below) = (own.so_far(now), own.below + 1);
        let load = state.load(name, now) + so_far;
        let call = state.take_submitted(Class::Short, now, below, |_, other, tenant| {
            other != name && !tenant.is_long() && is_heavier(load, tenant.load.now(now))
        });
        if call.is_some()
            && let Some(own) = state.line.of(turn)
            && own.since.take().is_some()
            && let Some(tenant) = state.tenants.get_mut(name)
        {
            tenant.load.add(computed(), now);
        }
        drop(state);
        call
    }

    /// A call that stood still on a thread of the pool runs again.
    pub(in super::super) fn go_on(&self, turn: &Arc<Turn>) {
        if let Some(own) = self.lock().line.of(turn) {
            own.since = Some(Instant::now());
        }
    }

    /// Takes a call out of the line; false if it is not there.
    pub(in super::super) fn withdraw(&self, turn: &Arc<Turn>) -> bool {
        let mut state = self.lock();
        let Some(tenant) = state.tenants.get_mut(&turn.tenant) else { return false };
        let found = tenant.submitted.iter().position(|call| Arc::ptr_eq(&call.turn, turn));
        found.and_then(|at| tenant.submitted.remove(at)).is_some()
    }
}
