//! Who runs next: calls enter, wait for their turn, run, give way, and leave.
//!
//! All under one lock that is held for look-ups only. Tenants with waiting calls stand in a ring; whoever is at its head and may run
//! another call gets the next free place. A call that finds none takes the place of the running call of the tenant that has lately
//! run for the longest, if that is much longer than its own tenant has. The other stands still as soon as it notices, mostly within
//! microseconds; for so long more calls run than there are places, since the system may have taken its core away already.

use super::config::{PoolConfig, TenantLimits};
use super::error::{Kind, PoolError};
use super::job::Used;
use super::load::Load;
use super::metrics::{Counted, TenantMetrics};
use super::turn::Turn;
use crate::sandbox::Sandbox;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A call gives way to a tenant that has lately run for less than a [`TIMES_MORE`]th, by more than this, seconds.
const MORE: f64 = 0.002;
const TIMES_MORE: f64 = 2.0;

pub(super) struct Queue {
    config: PoolConfig,
    pub(super) sandbox: Arc<Sandbox>,
    closed: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tenants: HashMap<Arc<str>, Tenant>,
    /// Tenants with waiting calls, each once.
    ring: VecDeque<Arc<str>>,
    running: Vec<Running>,
    /// Calls that run still, but whose places others have.
    leaving: Vec<Running>,
}

struct Running {
    turn: Arc<Turn>,
    since: Instant,
}

struct Tenant {
    limits: TenantLimits,
    running: usize,
    waiting: VecDeque<Arc<Turn>>,
    in_ring: bool,
    load: Load,
    counted: Counted,
}

impl Queue {
    pub(super) fn new(config: PoolConfig, sandbox: Arc<Sandbox>) -> Queue {
        Queue { config, sandbox, closed: AtomicBool::new(false), state: Mutex::default() }
    }

    /// The limits of a tenant, which is known from now on.
    pub(super) fn limits(&self, name: &Arc<str>) -> Result<TenantLimits, PoolError> {
        Ok(self.known(&mut self.lock(), name)?.limits)
    }

    pub(super) fn set_limits(&self, name: &Arc<str>, limits: TenantLimits) -> Result<(), PoolError> {
        self.known(&mut self.lock(), name)?.limits = limits;
        Ok(())
    }

    pub(super) fn metrics(&self, name: &str) -> Option<TenantMetrics> {
        let state = self.lock();
        state.tenants.get(name).map(|tenant| tenant.counted.metrics(tenant.running, tenant.waiting.len()))
    }

    pub(super) fn tenants(&self) -> Vec<Arc<str>> {
        self.lock().tenants.keys().cloned().collect()
    }

    pub(super) fn remove(&self, name: &str) -> bool {
        let mut state = self.lock();
        let idle = state.tenants.get(name).is_some_and(|tenant| tenant.running == 0 && tenant.waiting.is_empty());
        if idle {
            state.ring.retain(|listed| &**listed != name);
            state.tenants.remove(name);
        }
        idle
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        let state = self.lock();
        state.tenants.values().flat_map(|tenant| &tenant.waiting).for_each(|turn| turn.wake());
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
        let mut free = state.running.len() < self.config.running;
        let tenant = self.known(&mut state, &turn.tenant)?;
        let (waiting, most) = (tenant.waiting.len(), tenant.limits.waiting);
        if tenant.running < tenant.limits.running && waiting == 0 {
            let interrupts = !free && state.take_place(&turn.tenant, now);
            free |= interrupts;
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
        self.wait(turn, max_wait).map_err(|kind| match kind {
            Kind::MaxWait => {
                let message = format!("tenant {}: the call has waited for {max_wait:?}, max_wait", turn.tenant);
                let limit = u64::try_from(max_wait.as_nanos()).ok();
                PoolError { limit, ..PoolError::new(&turn.tenant, kind, message) }
            }
            _ => PoolError::new(
                &turn.tenant,
                kind,
                format!("tenant {}: the call was {} while it waited", turn.tenant, kind.name()),
            ),
        })
    }

    /// A running call stands still until it is its turn again.
    pub(super) fn give_way(&self, turn: &Arc<Turn>, max_wait: Duration) -> Result<(), Kind> {
        let mut state = self.lock();
        turn.suspend();
        state.stop_running(turn);
        state.list(&turn.tenant, |waiting| waiting.push_front(turn.clone()));
        let admitted = state.admit_next(self.config.running);
        drop(state);
        admitted.iter().for_each(|turn| turn.wake());
        self.wait(turn, max_wait)
    }

    /// A call has ended.
    pub(super) fn leave(&self, turn: &Arc<Turn>, used: &Used, error: Option<&PoolError>) {
        let mut state = self.lock();
        state.stop_running(turn);
        if let Some(tenant) = state.tenants.get_mut(&turn.tenant) {
            tenant.counted.add(used, error);
        }
        let admitted = state.admit_next(self.config.running);
        drop(state);
        admitted.iter().for_each(|turn| turn.wake());
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
                return Err(PoolError::over(
                    &format!("{shown}...").into(),
                    Kind::Tenants,
                    "bytes of a name",
                    asked,
                    limit,
                ));
            }
            if count >= most {
                let (asked, limit) = (count as u64 + 1, most as u64);
                return Err(PoolError::over(name, Kind::Tenants, "tenants would be kept", asked, limit));
            }
            let tenant = Tenant {
                limits: self.config.limits,
                running: 0,
                waiting: VecDeque::new(),
                in_ring: false,
                load: Load::new(Instant::now()),
                counted: Counted::new(),
            };
            state.tenants.insert(name.clone(), tenant);
        }
        Ok(state.tenants.get_mut(name).expect("it is there or was inserted"))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Adds a waiting call, and its tenant to the end of the ring unless it stands in it.
    fn list(&mut self, name: &Arc<str>, add: impl FnOnce(&mut VecDeque<Arc<Turn>>)) {
        if let Some(tenant) = self.tenants.get_mut(name) {
            add(&mut tenant.waiting);
            if !std::mem::replace(&mut tenant.in_ring, true) {
                self.ring.push_back(name.clone());
            }
        }
    }

    /// A call runs from now on.
    fn start(&mut self, turn: &Arc<Turn>, now: Instant) {
        if let Some(tenant) = self.tenants.get_mut(&turn.tenant) {
            tenant.running += 1;
        }
        turn.admit();
        self.running.push(Running { turn: turn.clone(), since: now });
    }

    /// Takes a call from those that run, and notes how long its tenant ran.
    fn stop_running(&mut self, turn: &Arc<Turn>) {
        let take = |calls: &mut Vec<Running>| {
            let at = calls.iter().position(|running| Arc::ptr_eq(&running.turn, turn))?;
            Some(calls.swap_remove(at))
        };
        let Some(ran) = take(&mut self.running).or_else(|| take(&mut self.leaving)) else { return };
        if let Some(tenant) = self.tenants.get_mut(&turn.tenant) {
            let now = Instant::now();
            tenant.running -= 1;
            tenant.load.add(now.saturating_duration_since(ran.since), now);
        }
    }

    /// Fills the free places; gives the calls to wake.
    fn admit_next(&mut self, most: usize) -> Vec<Arc<Turn>> {
        let mut admitted = Vec::new();
        // Tenants passed over since they run as many calls as they may.
        let mut passed = 0;
        while self.running.len() < most && passed < self.ring.len() {
            let Some(name) = self.ring.pop_front() else { break };
            let Some(tenant) = self.tenants.get_mut(&name) else { continue };
            if tenant.running >= tenant.limits.running && !tenant.waiting.is_empty() {
                self.ring.push_back(name);
                passed += 1;
                continue;
            }
            passed = 0;
            let turn = tenant.waiting.pop_front();
            tenant.in_ring = !tenant.waiting.is_empty();
            if tenant.in_ring {
                self.ring.push_back(name);
            }
            if let Some(turn) = turn {
                self.start(&turn, Instant::now());
                admitted.push(turn);
            }
        }
        admitted
    }

    /// Has the call of a much heavier tenant give its place to a call of this one; false if there is none.
    fn take_place(&mut self, name: &Arc<str>, now: Instant) -> bool {
        let load = |name| self.tenants.get(name).map_or(0.0, |tenant| tenant.load.now(now));
        let own = load(name);
        let others = self.running.iter().enumerate().filter(|(_, running)| running.turn.tenant != *name);
        let loads = others.map(|(at, running)| {
            let so_far = now.saturating_duration_since(running.since).as_secs_f64();
            (load(&running.turn.tenant) + so_far, at)
        });
        let heaviest = loads.max_by(|(a, _), (b, _)| a.total_cmp(b));
        let Some((_, at)) = heaviest.filter(|(load, _)| *load > TIMES_MORE * own + MORE) else { return false };
        let leaves = self.running.swap_remove(at);
        leaves.turn.give_way();
        self.leaving.push(leaves);
        true
    }
}

#[cfg(test)]
mod tests;
