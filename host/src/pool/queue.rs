//! Who runs next: calls enter, wait for their turn, run, give way, and leave.
//!
//! All under one lock that is held for look-ups only. Several times as many calls run as there are places, but only as many long
//! ones as places: of more, a tick has some give way. Tenants with waiting calls stand in a ring; the first that may run another call
//! gets the next free place. A call that finds none takes the place of the running call of the tenant that has lately
//! run for the longest, if that is much longer than its own tenant has. Running calls look at their ticks whether that is so for one
//! that waits. The other stands still as soon as it notices, mostly within microseconds; for so long more calls run than there are places, since the system may have taken its core away already.

mod line;
mod places;

use super::config::{PoolConfig, TenantLimits};
use super::error::{Kind, PoolError};
use super::job::Used;
use super::metrics::TenantMetrics;
use super::run::DEEPEST;
use super::turn::Turn;
use crate::sandbox::Sandbox;
use places::{State, Tenant};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// So many short calls share a place. To hand a place from thread to thread costs about as much as a small call takes, so that calls
/// that waited for each other would need twice the time; the system lets threads that are there already take turns for less.
const SHARED_BY: usize = 4;

pub(super) struct Queue {
    config: PoolConfig,
    pub(super) sandbox: Arc<Sandbox>,
    closed: AtomicBool,
    state: Mutex<State>,
    /// Ring for the pool's threads, of each class.
    bells: [Condvar; 2],
}

impl Queue {
    pub(super) fn new(config: PoolConfig, sandbox: Arc<Sandbox>) -> Queue {
        let (places, most_running) = (config.running, config.running.saturating_mul(SHARED_BY));
        let state = State { places, most_running, most_standing: config.standing, ..State::default() };
        Queue { config, sandbox, closed: AtomicBool::new(false), state: Mutex::new(state), bells: Default::default() }
    }

    /// Instances at a time: of calls that run, and of those that stand still, on threads of callers and of the pool.
    pub(super) fn most_instances(&self) -> usize {
        self.config.running.saturating_mul(SHARED_BY + 2 + DEEPEST).saturating_add(self.config.standing)
    }

    /// The limits of a tenant, which is known from now on.
    pub(super) fn limits(&self, name: &Arc<str>) -> Result<TenantLimits, PoolError> {
        Ok(self.known(&mut self.lock(), name)?.limits)
    }

    /// The limits of a tenant that may be unknown, and stays so.
    pub(super) fn limits_of(&self, name: &str) -> TenantLimits {
        self.lock().tenants.get(name).map_or(self.config.limits, |tenant| tenant.limits)
    }

    pub(super) fn set_limits(&self, name: &Arc<str>, limits: TenantLimits) -> Result<(), PoolError> {
        let mut state = self.lock();
        self.known(&mut state, name)?.limits = limits;
        // It may run more calls at a time than before.
        self.admit(state, false);
        Ok(())
    }

    pub(super) fn metrics(&self, name: &str) -> Option<TenantMetrics> {
        let state = self.lock();
        state.tenants.get(name).map(|tenant| tenant.counted.metrics(tenant.running, tenant.waits()))
    }

    pub(super) fn tenants(&self) -> Vec<Arc<str>> {
        self.lock().tenants.keys().cloned().collect()
    }

    pub(super) fn remove(&self, name: &str) -> bool {
        let mut state = self.lock();
        let idle = state.tenants.get(name).is_some_and(|tenant| tenant.running == 0 && tenant.waits() == 0);
        if idle {
            state.ring.retain(|listed| &**listed != name);
            state.line.tenants.retain(|listed| &**listed != name);
            state.tenants.remove(name);
        }
        idle
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        let mut state = self.lock();
        state.tenants.values().flat_map(|tenant| &tenant.waiting).for_each(|turn| turn.wake());
        let submitted = state.take_all_submitted();
        drop(state);
        self.bells.iter().for_each(Condvar::notify_all);
        submitted.iter().for_each(|call| call.refuse(Kind::Closed));
        self.sandbox.interrupt();
    }

    /// Whether this process made the pool, not one that it is a fork of.
    pub(super) fn is_mine(&self) -> bool {
        self.sandbox.is_mine()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Counts a call that was refused before it entered.
    pub(super) fn refuse(&self, error: PoolError) -> PoolError {
        if let Some(tenant) = self.lock().tenants.get_mut(&error.tenant) {
            tenant.counted.refuse(error.kind);
        }
        error
    }

    /// Waits until the call may run; then [`Queue::leave`] must follow.
    pub(super) fn enter(&self, turn: &Arc<Turn>, max_wait: Duration) -> Result<(), PoolError> {
        let mut state = self.lock();
        let now = Instant::now();
        let mut free = state.running.len() < state.places;
        let shares = state.running.len() < state.most_running;
        let tenant = self.known(&mut state, &turn.tenant)?;
        let (waiting, most) = (tenant.waits(), tenant.limits.waiting);
        if tenant.may_run() && tenant.waiting.is_empty() {
            let interrupts = !free && state.take_place(&turn.tenant, now);
            free |= interrupts || shares;
            if free {
                state.start(turn, now);
                drop(state);
                if interrupts {
                    self.sandbox.interrupt();
                }
                return Ok(());
            }
        }
        if waiting >= most {
            let (asked, limit) = (waiting as u64 + 1, most as u64);
            return Err(PoolError::over(&turn.tenant, Kind::Waiting, "calls would wait", asked, limit));
        }
        state.list(&turn.tenant, |waiting| waiting.push_back(turn.clone()));
        drop(state);
        self.wait(turn, max_wait).map_err(|kind| PoolError::waited(&turn.tenant, kind, now.elapsed(), max_wait))
    }

    /// A running call stands still until it is its turn again.
    pub(super) fn give_way(&self, turn: &Arc<Turn>, computed: Duration, max_wait: Duration) -> Result<(), Kind> {
        let mut state = self.lock();
        turn.suspend();
        state.stop_running(turn, computed);
        state.standing += 1;
        state.list(&turn.tenant, |waiting| waiting.push_front(turn.clone()));
        self.admit(state, false);
        let waited = self.wait(turn, max_wait);
        self.lock().standing -= 1;
        waited
    }

    /// At a running call's tick: long calls give way while more of them run than there are places; and whoever waits and has
    /// become much lighter than one that runs gets its place.
    pub(super) fn look(&self, turn: &Arc<Turn>) {
        let mut state = self.lock();
        let now = Instant::now();
        state.clear_places(turn, now);
        if state.ring.is_empty() {
            return;
        }
        let admitted = state.take_places(now);
        drop(state);
        if !admitted.is_empty() {
            admitted.iter().for_each(|turn| turn.wake());
            self.sandbox.interrupt();
        }
    }

    /// A call has ended after it had computed for so long since it last stood still.
    pub(super) fn leave(&self, turn: &Arc<Turn>, ended: Option<(&Used, Option<Kind>)>, computed: Duration) {
        let mut state = self.lock();
        state.stop_running(turn, computed);
        if let (Some(tenant), Some((used, refused))) = (state.tenants.get_mut(&turn.tenant), ended) {
            tenant.counted.add(used, refused);
            tenant.load.end();
        }
        self.admit(state, true);
    }

    /// Fills the free places and wakes whoever got one. A thread of the pool takes the next call by itself when it has `ended` one.
    fn admit(&self, mut state: MutexGuard<'_, State>, ended: bool) {
        let admitted = state.admit_next(ended);
        let called = if state.line.tenants.is_empty() { [false; 2] } else { state.summon() };
        drop(state);
        admitted.iter().for_each(|turn| turn.wake());
        self.wake_threads(called);
    }

    fn wait(&self, turn: &Arc<Turn>, max_wait: Duration) -> Result<(), Kind> {
        let started = Instant::now();
        loop {
            if turn.is_admitted() {
                return Ok(());
            }
            let left = max_wait.saturating_sub(started.elapsed());
            let kind = if turn.is_cancelled() {
                Kind::Cancelled
            } else if self.is_closed() {
                Kind::Closed
            } else if left.is_zero() {
                Kind::MaxWait
            } else {
                thread::park_timeout(left);
                continue;
            };
            let mut state = self.lock();
            // Admitted in the meantime: it runs until its first tick, which ends it.
            if turn.is_admitted() {
                return Ok(());
            }
            if let Some(tenant) = state.tenants.get_mut(&turn.tenant) {
                tenant.waiting.retain(|other| !Arc::ptr_eq(other, turn));
            }
            return Err(kind);
        }
    }

    fn known<'a>(&self, state: &'a mut State, name: &Arc<str>) -> Result<&'a mut Tenant, PoolError> {
        let (count, most) = (state.tenants.len(), self.config.tenants);
        if !state.tenants.contains_key(name) {
            if name.len() > self.config.name_bytes {
                let shown: String = name.chars().take(16).collect();
                let (asked, limit) = (name.len() as u64, self.config.name_bytes as u64);
                let message = format!("tenant {shown}...: the name has {asked} bytes; the limit name_bytes is {limit}");
                let error = PoolError::new(&format!("{shown}...").into(), Kind::Tenants, message);
                return Err(PoolError { name: "name_bytes", limit: Some(limit), asked: Some(asked), ..error });
            }
            if count >= most {
                let (asked, limit) = (count as u64 + 1, most as u64);
                return Err(PoolError::over(name, Kind::Tenants, "tenants would be kept", asked, limit));
            }
            let tenant = Tenant::new(self.config.limits);
            state.tenants.insert(name.clone(), tenant);
        }
        Ok(state.tenants.get_mut(name).expect("it is there or was inserted"))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
