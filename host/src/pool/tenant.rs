//! The calls of a tenant: sizes are checked, then a call waits for its turn and runs where it was made, or is left to the pool's threads.

use super::cancel::Cancel;
use super::config::TenantLimits;
use super::error::{Kind, PoolError};
use super::job::{Answer, Document, EstimateJob, PlanJob, PoolEstimate, PoolPlan, Size, Validated};
use super::owned::Job;
use super::queue::Queue;
use super::refusal::Failed;
use super::run::Run;
use super::submitted::Submitted;
use super::ticket::{Slot, Ticket};
use super::turn::Turn;
use super::work;
use crate::sandbox::Guest;
use damacy_core::metadata::ArrayMetadata;
use std::sync::Arc;
use std::time::Instant;

/// A tenant's view of a pool.
#[derive(Clone)]
pub struct Tenant<'a> {
    queue: &'a Arc<Queue>,
    name: Arc<str>,
    cancel: Option<Cancel>,
}

impl<'a> Tenant<'a> {
    pub(super) fn new(queue: &'a Arc<Queue>, name: Arc<str>) -> Tenant<'a> {
        Tenant { queue, name, cancel: None }
    }

    /// The same, with calls that a token can cancel.
    pub fn cancelled_by(mut self, cancel: &Cancel) -> Tenant<'a> {
        self.cancel = Some(cancel.clone());
        self
    }

    /// Parses a metadata document.
    ///
    /// # Errors
    /// Those of [`damacy_core::metadata::parse`] as [`Kind::Invalid`] and [`Kind::Metadata`], and the pool's own.
    pub fn parse_metadata(&self, document: &Document<'_>) -> Result<Answer<ArrayMetadata>, PoolError> {
        self.call(Size::of_document(document), |guest, limits| work::parse(guest, limits, document))
    }

    /// Plans a window.
    ///
    /// # Errors
    /// Those of [`damacy_core::planner::plan`] as [`Kind::Invalid`] and limits, those of parsing, and the pool's own.
    pub fn plan<'j>(&self, job: &PlanJob<'j>) -> Result<Answer<PoolPlan<'j>>, PoolError> {
        self.call(Size::of_plan(job), |guest, limits| work::plan(guest, limits, job))
    }

    /// Whether a window can be planned within the tenant's limits, and what it comes to.
    ///
    /// # Errors
    /// As [`Tenant::plan`].
    pub fn validate<'j>(&self, job: &PlanJob<'j>) -> Result<Answer<Validated<'j>>, PoolError> {
        self.call(Size::of_plan(job), |guest, limits| work::validate(guest, limits, job))
    }

    /// Prices a job.
    ///
    /// # Errors
    /// Those of [`damacy_core::cost::estimate`] as [`Kind::Invalid`] and limits, those of parsing, and the pool's own.
    pub fn estimate<'j>(&self, job: &EstimateJob<'j>) -> Result<Answer<PoolEstimate<'j>>, PoolError> {
        self.call(Size::of_estimate(job), |guest, limits| work::estimate(guest, limits, job))
    }

    /// Leaves a job to the pool's own threads, one for each place, and returns at once. A call that is refused has a ticket, too.
    pub fn submit<J: Job>(&self, job: J) -> Ticket<J::Answer> {
        let slot = Slot::new();
        let filled = slot.clone();
        Ticket::new(slot, self.hand_over(job, move |answer| filled.fill(answer)))
    }

    /// The same, with something to do `then`: on one of the pool's threads, or on this one if the call is refused at once, or on one that
    /// cancels it or closes the pool. It should be short, since other calls wait for the thread: send the answer through a
    /// channel, say. It may submit. Only [`Tenant::cancelled_by`] cancels such a call.
    pub fn submit_then<J: Job>(
        &self,
        job: J,
        then: impl FnOnce(Result<Answer<J::Answer>, PoolError>) + Send + 'static,
    ) {
        self.hand_over(job, then);
    }

    fn hand_over<J: Job>(
        &self,
        job: J,
        then: impl FnOnce(Result<Answer<J::Answer>, PoolError>) + Send + 'static,
    ) -> Arc<Submitted> {
        let size = job.size();
        let limits = if self.queue.is_mine() {
            self.queue.limits(&self.name)
        } else {
            let message = "the pool's threads are in the process that made it; a forked child makes a pool of its own";
            Err(PoolError::new(&self.name, Kind::System, format!("tenant {}: {message}", self.name)))
        };
        let turn = Turn::submitted(self.name.clone(), self.cancel.clone());
        let (limits, error) = match limits {
            Ok(limits) => (limits, None),
            Err(error) => (TenantLimits::default(), Some(error)),
        };
        let call = Arc::new(Submitted::new(self.queue.clone(), turn, limits, job, then));
        if let Some(error) = error {
            call.refuse_with(error);
            return call;
        }
        if let Some(token) = &self.cancel {
            token.remember(&call);
        }
        if let Err(error) = self.check(&size, &limits).and_then(|()| self.queue.submit(&call)) {
            call.refuse_with(self.queue.refuse(error));
        }
        call
    }

    /// The limits of its next call. Nothing is kept of it for that.
    pub fn limits(&self) -> TenantLimits {
        self.queue.limits_of(&self.name)
    }

    /// Whether a job of this size would be let in now, for callers that must copy it first: bytes of input as
    /// [`TenantLimits::input_bytes`] counts them, arrays, samples. Calls check again.
    ///
    /// # Errors
    /// The refusal that the call would meet, which is counted as one.
    pub fn check_size(&self, bytes: u64, arrays: u64, samples: u64) -> Result<(), PoolError> {
        let limits = self.queue.limits(&self.name)?;
        self.check(&Size { bytes, arrays, samples }, &limits).map_err(|error| self.queue.refuse(error))
    }

    fn call<T>(
        &self,
        size: Size,
        work: impl FnOnce(&mut Guest, &TenantLimits) -> Result<T, Failed>,
    ) -> Result<Answer<T>, PoolError> {
        let limits = self.queue.limits(&self.name)?;
        let started = Instant::now();
        let _registered = self.cancel.as_ref().map(Cancel::register);
        let turn = Arc::new(Turn::new(self.name.clone(), self.cancel.clone()));
        self.check(&size, &limits)
            .and_then(|()| self.queue.enter(&turn, limits.max_wait))
            .map_err(|error| self.queue.refuse(error))?;
        let times = (limits.deadline, limits.max_wait);
        let run = Arc::new(Run::start(self.queue.clone(), turn, times, started.elapsed(), None));
        work::perform(&run, &limits, work)
    }

    /// What is refused before it is looked at.
    fn check(&self, size: &Size, limits: &TenantLimits) -> Result<(), PoolError> {
        for (kind, what, asked, limit) in [
            (Kind::InputBytes, "bytes of input were given", size.bytes, limits.input_bytes),
            (Kind::Arrays, "arrays were given", size.arrays, limits.arrays),
            (Kind::Samples, "samples were given", size.samples, limits.samples),
        ] {
            if asked > limit {
                return Err(PoolError::over(&self.name, kind, what, asked, limit));
            }
        }
        let kind = if self.queue.is_closed() {
            Kind::Closed
        } else if self.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
            Kind::Cancelled
        } else {
            return Ok(());
        };
        let message = format!("tenant {}: the call was {} before it began", self.name, kind.name());
        Err(PoolError::new(&self.name, kind, message))
    }
}

#[cfg(test)]
mod tests;
