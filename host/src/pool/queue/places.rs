//! Who waits and who runs: the ring of tenants, the places, and when a place changes hands. No threads and no locks.

use super::super::config::TenantLimits;
use super::super::load::Load;
use super::super::metrics::Counted;
use super::super::submitted::Submitted;
use super::super::turn::Turn;
use super::line::Line;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A call gives way to a tenant that has lately run for less than a [`TIMES_MORE`]th, by more than this, seconds.
const MORE: f64 = 0.002;
const TIMES_MORE: f64 = 2.0;
/// Whether a call gives way: its tenant's load, with what it has run so far, and the other's.
pub(super) fn is_heavier(load: f64, other: f64) -> bool {
    load > TIMES_MORE * other + MORE
}

/// Tenants from the ring's head that a running call compares its own with at a tick.
const LOOK: usize = 64;

#[derive(Default)]
pub(super) struct State {
    pub(super) tenants: HashMap<Arc<str>, Tenant>,
    /// Tenants with waiting calls, each once.
    pub(super) ring: VecDeque<Arc<str>>,
    pub(super) running: Vec<Running>,
    /// Long calls that run at a time.
    pub(super) places: usize,
    /// Calls that run at a time, long and short.
    pub(super) most_running: usize,
    /// Calls that run still, but whose places others have.
    pub(super) leaving: Vec<Running>,
    /// Calls that stand still, with their instances.
    pub(super) standing: usize,
    /// The most of the last two together.
    pub(super) most_standing: usize,
    /// Calls that were submitted, and the threads for them.
    pub(super) line: Line,
}

pub(super) struct Running {
    turn: Arc<Turn>,
    since: Instant,
    /// It ran at a tick of its own after [`MORE`], or it once stood still. (Not: is older. Of short calls whose threads the system keeps
    /// waiting for a core, some are older at nearly any time, and long calls would wait for them.)
    long: bool,
}

pub(super) struct Tenant {
    pub(super) limits: TenantLimits,
    pub(super) running: usize,
    pub(super) waiting: VecDeque<Arc<Turn>>,
    pub(super) in_ring: bool,
    pub(super) submitted: VecDeque<Arc<Submitted>>,
    pub(super) in_line: bool,
    pub(super) load: Load,
    pub(super) counted: Counted,
}

impl Tenant {
    pub(super) fn new(limits: TenantLimits) -> Tenant {
        Tenant {
            limits,
            running: 0,
            waiting: VecDeque::new(),
            in_ring: false,
            submitted: VecDeque::new(),
            in_line: false,
            load: Load::new(Instant::now()),
            counted: Counted::new(),
        }
    }

    /// Calls that wait.
    pub(super) fn waits(&self) -> usize {
        self.waiting.len() + self.submitted.len()
    }

    /// Whether its calls take long.
    pub(super) fn is_long(&self) -> bool {
        self.load.a_call(Instant::now()) > MORE
    }

    /// Whether one more may run.
    pub(super) fn may_run(&self) -> bool {
        self.running < self.limits.running
    }
}

impl State {
    /// Adds a waiting call, and its tenant to the end of the ring unless it stands in it.
    pub(super) fn list(&mut self, name: &Arc<str>, add: impl FnOnce(&mut VecDeque<Arc<Turn>>)) {
        if let Some(tenant) = self.tenants.get_mut(name) {
            add(&mut tenant.waiting);
            if !std::mem::replace(&mut tenant.in_ring, true) {
                self.ring.push_back(name.clone());
            }
        }
    }

    /// A call runs from now on.
    pub(super) fn start(&mut self, turn: &Arc<Turn>, now: Instant) {
        if let Some(tenant) = self.tenants.get_mut(&turn.tenant) {
            tenant.running += 1;
        }
        turn.admit();
        self.running.push(Running { turn: turn.clone(), since: now, long: turn.stood_still() });
    }

    /// Takes a call from those that run, and notes how long it has computed.
    pub(super) fn stop_running(&mut self, turn: &Arc<Turn>, computed: Duration) {
        let take = |calls: &mut Vec<Running>| {
            let at = calls.iter().position(|running| Arc::ptr_eq(&running.turn, turn))?;
            calls.swap_remove(at);
            Some(())
        };
        let found = take(&mut self.running).or_else(|| take(&mut self.leaving));
        if found.or_else(|| self.line.stop(turn)).is_none() {
            return;
        }
        if let Some(tenant) = self.tenants.get_mut(&turn.tenant) {
            tenant.running -= 1;
            tenant.load.add(computed, Instant::now());
        }
    }

    /// Fills the free places, in the ring's order; gives the calls to wake. Tenants are passed over, and stay where they are, while they
    /// run as many calls as they may, or no place is free for their next call, which is long. One that stood still gets a place beside
    /// short calls when a call has `ended`: not at once after it gave its own to one of them.
    pub(super) fn admit_next(&mut self, ended: bool) -> Vec<Arc<Turn>> {
        let mut admitted = Vec::new();
        while self.running.len() < self.most_running {
            let long_may = self.running.len() < self.places || ended && self.long() < self.places;
            let may_run = |tenant: &Tenant, next: &Arc<Turn>| tenant.may_run() && (long_may || !next.stood_still());
            // Those without waiting calls, or unknown by now, leave the ring.
            let found = self.ring.iter().position(|name| {
                self.tenants
                    .get(name)
                    .is_none_or(|tenant| tenant.waiting.front().is_none_or(|next| may_run(tenant, next)))
            });
            let Some(name) = found.and_then(|at| self.ring.remove(at)) else { break };
            admitted.extend(self.admit_one(name, Instant::now()));
        }
        admitted
    }

    /// At a call's tick: it may be long by now. While more long calls run than there are places, one gives way, the heaviest tenant's
    /// first.
    pub(super) fn clear_places(&mut self, turn: &Arc<Turn>, now: Instant) {
        if let Some(own) = self.running.iter_mut().find(|running| Arc::ptr_eq(&running.turn, turn)) {
            own.long |= now.saturating_duration_since(own.since).as_secs_f64() > MORE;
        }
        while self.long() > self.places && self.leaving.len() + self.standing < self.most_standing {
            let Some((_, at)) = self.heaviest(now, |running| running.long) else { return };
            self.ask_to_leave(at);
        }
    }

    /// Running calls that are long.
    fn long(&self) -> usize {
        self.running.iter().filter(|running| running.long).count()
    }

    /// Has calls of much heavier tenants give their places to those that wait; gives the calls to wake. What was not heavier when a
    /// call came may be now.
    pub(super) fn take_places(&mut self, now: Instant) -> Vec<Arc<Turn>> {
        let waits: Vec<_> = self.ring.iter().take(LOOK).cloned().collect();
        let mut admitted = Vec::new();
        for name in waits {
            let may_run = |tenant: &Tenant| !tenant.waiting.is_empty() && tenant.may_run();
            if !self.tenants.get(&name).is_some_and(may_run) || !self.take_place(&name, now) {
                continue;
            }
            self.ring.retain(|listed| *listed != name);
            admitted.extend(self.admit_one(name, now));
        }
        admitted
    }

    /// The next call of a tenant that was taken from the ring runs from now on; with others, its tenant goes to the end.
    fn admit_one(&mut self, name: Arc<str>, now: Instant) -> Option<Arc<Turn>> {
        let tenant = self.tenants.get_mut(&name)?;
        let turn = tenant.waiting.pop_front();
        tenant.in_ring = !tenant.waiting.is_empty();
        if tenant.in_ring {
            self.ring.push_back(name);
        }
        self.start(turn.as_ref()?, now);
        turn
    }

    /// Has the call of a much heavier tenant give its place to a call of this one; false if there is none, or too many stand still.
    pub(super) fn take_place(&mut self, name: &Arc<str>, now: Instant) -> bool {
        if self.leaving.len() + self.standing >= self.most_standing {
            return false;
        }
        let own = self.load(name, now);
        let heaviest = self.heaviest(now, |running| running.turn.tenant != *name);
        let Some((_, at)) = heaviest.filter(|(load, _)| is_heavier(*load, own)) else { return false };
        self.ask_to_leave(at);
        true
    }

    /// Of the running calls that are `meant`, the one whose tenant has the largest load: that load, with what the call has run so far,
    /// seconds, and its position.
    fn heaviest(&self, now: Instant, meant: impl Fn(&Running) -> bool) -> Option<(f64, usize)> {
        let loads = self.running.iter().enumerate().filter_map(|(at, running)| {
            let so_far = now.saturating_duration_since(running.since).as_secs_f64();
            let load = self.load(&running.turn.tenant, now);
            meant(running).then_some((load + so_far, at))
        });
        loads.max_by(|(a, _), (b, _)| a.total_cmp(b))
    }

    /// What a tenant has run lately, seconds.
    pub(super) fn load(&self, name: &Arc<str>, now: Instant) -> f64 {
        self.tenants.get(name).map_or(0.0, |tenant| tenant.load.now(now))
    }

    fn ask_to_leave(&mut self, at: usize) {
        let leaves = self.running.swap_remove(at);
        leaves.turn.give_way();
        self.leaving.push(leaves);
    }
}
