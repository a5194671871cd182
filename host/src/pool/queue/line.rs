//! Calls that were submitted: they stand in line, tenant after tenant, for the pool's own threads.
//!
//! A thread that has ended a call takes the next without being woken. Where all are busy, and one of them with a call of a much heavier
//! tenant than the one that submits, that call is interrupted and stands still, and its thread runs the other in between.

use super::super::error::{Kind, PoolError};
use super::super::run::DEEPEST;
use super::super::submitted::Submitted;
use super::super::turn::Turn;
use super::super::worker;
use super::Queue;
use super::places::{State, Tenant, is_heavier};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Calls that have waited for too long are looked for so often.
const SWEEP: Duration = Duration::from_millis(20);

#[derive(Default)]
pub(super) struct Line {
    /// Tenants with submitted calls that wait, each once.
    pub(super) tenants: VecDeque<Arc<str>>,
    /// Calls on the pool's threads.
    busy: Vec<Busy>,
    threads: usize,
    /// Of those, the ones that sleep and were not called.
    idle: usize,
    /// Those that were called and are not awake yet.
    summoned: usize,
    swept: Option<Instant>,
}

struct Busy {
    turn: Arc<Turn>,
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
}

impl Busy {
    /// Seconds that it has run since it last stood still.
    fn so_far(&self, now: Instant) -> f64 {
        self.since.map_or(0.0, |since| now.saturating_duration_since(since).as_secs_f64())
    }
}

impl State {
    /// Every call that waits to run on a thread of the pool.
    pub(super) fn take_all_submitted(&mut self) -> Vec<Arc<Submitted>> {
        self.line.tenants.clear();
        let tenants = self.tenants.values_mut();
        tenants
            .flat_map(|tenant| {
                tenant.in_line = false;
                std::mem::take(&mut tenant.submitted)
            })
            .collect()
    }

    /// The first call in line that may run, of a tenant that is `meant`; it runs from now on.
    fn take_submitted(
        &mut self,
        now: Instant,
        below: usize,
        meant: impl Fn(&State, &Arc<str>) -> bool,
    ) -> Option<Arc<Submitted>> {
        loop {
            // Those without waiting calls, or unknown by now, leave the line.
            let at = self.line.tenants.iter().position(|name| {
                let may_run = |tenant: &Tenant| tenant.submitted.is_empty() || tenant.may_run() && meant(self, name);
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
            self.line.busy.push(Busy { turn: call.turn.clone(), since: Some(now), below });
            return Some(call);
        }
    }

    /// Whether a thread that sleeps has a call to run; then it is to be woken.
    pub(super) fn summon(&mut self) -> bool {
        let may_run = |name: &Arc<str>| {
            self.tenants.get(name).is_some_and(|tenant| !tenant.submitted.is_empty() && tenant.may_run())
        };
        let summons = self.line.idle > 0 && self.line.tenants.iter().any(may_run);
        if summons {
            self.line.idle -= 1;
            self.line.summoned += 1;
        }
        summons
    }

    /// Whether a call on a thread of the pool would stand still for one of this tenant.
    fn would_give_way(&self, name: &Arc<str>, now: Instant) -> bool {
        let own = self.load(name, now);
        self.line.busy.iter().any(|busy| {
            let at_work = busy.since.is_some() && busy.below < DEEPEST && busy.turn.tenant != *name;
            at_work && is_heavier(self.load(&busy.turn.tenant, now) + busy.so_far(now), own)
        })
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
        if self.is_closed() {
            let message = format!("tenant {name}: the call was closed before it began");
            return Err(PoolError::new(name, Kind::Closed, message));
        }
        let tenant = self.known(&mut state, name)?;
        let (waiting, most) = (tenant.waits(), tenant.limits.waiting);
        if waiting >= most && (waiting > 0 || !tenant.may_run()) {
            return Err(PoolError::over(name, Kind::Waiting, "calls would wait", waiting as u64 + 1, most as u64));
        }
        tenant.submitted.push_back(call.clone());
        if !std::mem::replace(&mut tenant.in_line, true) {
            state.line.tenants.push_back(name.clone());
        }
        let starts = state.line.idle == 0 && state.line.threads < self.config.running;
        if starts {
            state.line.threads += 1;
            drop(state);
            return self.start_thread();
        }
        let summoned = state.summon();
        let interrupts = !summoned && state.would_give_way(name, call.at);
        drop(state);
        if summoned {
            self.bell.notify_one();
        }
        if interrupts {
            self.sandbox.interrupt();
        }
        Ok(())
    }

    /// Without any thread, calls that wait are refused.
    fn start_thread(self: &Arc<Self>) -> Result<(), PoolError> {
        let Err(error) = worker::start(self.clone()) else { return Ok(()) };
        log::warn!("no thread for submitted calls: {error}");
        let mut state = self.lock();
        state.line.threads -= 1;
        let refused = if state.line.threads == 0 { state.take_all_submitted() } else { Vec::new() };
        drop(state);
        refused.iter().for_each(|call| call.refuse(Kind::System));
        Ok(())
    }

    /// The next call for a thread of the pool, which sleeps until there is one, and whether others wait; `None` once the pool is closed.
    pub(in super::super) fn next(&self) -> Option<(Arc<Submitted>, bool)> {
        let mut state = self.lock();
        loop {
            if self.is_closed() {
                state.line.threads -= 1;
                return None;
            }
            let now = Instant::now();
            let expired = state.expired(now);
            if !expired.is_empty() {
                drop(state);
                expired.iter().for_each(|call| call.refuse(Kind::MaxWait));
                state = self.lock();
                continue;
            }
            if let Some(call) = state.take_submitted(now, 0, |_, _| true) {
                let others = !state.line.tenants.is_empty();
                let summoned = others && state.summon();
                drop(state);
                if summoned {
                    self.bell.notify_one();
                }
                return Some((call, others));
            }
            state.line.idle += 1;
            while state.line.summoned == 0 && !self.is_closed() {
                state = self.bell.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
            }
            state.line.summoned = state.line.summoned.saturating_sub(1);
        }
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
        let light = |state: &State, other: &Arc<str>| other != name && is_heavier(load, state.load(other, now));
        let call = state.take_submitted(now, below, light);
        let expired = state.expired(now);
        if call.is_some()
            && let Some(own) = state.line.of(turn)
            && own.since.take().is_some()
            && let Some(tenant) = state.tenants.get_mut(name)
        {
            tenant.load.add(computed(), now);
        }
        drop(state);
        expired.iter().for_each(|call| call.refuse(Kind::MaxWait));
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
