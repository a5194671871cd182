//! Room for a window: its bytes and the pipeline's state -> buffers, a place on the GPU, or fewer batches; or a wait.
//!
//! Runs on the planner's thread with the pipeline's lock, which it lets go of while it waits: no driver call is made here.

use super::{Opened, Planner};
use crate::error::Result;
use crate::pipeline::budget::{Fit, refit};
use crate::pipeline::cuda::Layout;
use crate::pipeline::output::Output;
use std::sync::Arc;

/// What there is room for.
pub(super) enum Reserved {
    /// The window: the buffers that exist already, and its place on a GPU.
    Buffers(Vec<Arc<Output>>, Option<damacy_cuda::Reserved>),
    /// So many batches at the most.
    Fewer(usize),
    /// Nothing any more.
    Closed,
}

impl Planner<'_> {
    /// Waits until the budget has room for the window; the buffers that exist already come along, the missing ones
    /// are counted as existing. On a GPU a place in the arena comes along too.
    pub(super) fn reserve(
        &self,
        opened: &Opened,
        batches: usize,
        plan_bytes: u64,
        layout: Option<&Layout>,
    ) -> Result<Reserved> {
        let shared = self.shared;
        let mut state = shared.lock();
        if let Some((layout, gpu)) = layout.zip(shared.gpu.as_ref()) {
            state.pool.arena_batches = gpu.batches_in_half(layout);
            if batches > state.pool.arena_batches {
                return Ok(Reserved::Fewer(state.pool.arena_batches));
            }
            gpu.check(layout)?;
        }
        loop {
            if state.closed {
                return Ok(Reserved::Closed);
            }
            let decode_bytes = state.pool.decode_bytes.max(opened.decode_bytes);
            let pool = &state.pool;
            let plans = pool.plan_bytes + plan_bytes;
            let fitted = refit(&shared.sizes, decode_bytes, plans, pool.fit.workers, pool.existing - pool.free.len());
            match fitted {
                None if state.pool.plan_bytes > 0 => {}
                None if batches > 1 => return Ok(Reserved::Fewer(batches / 2)),
                None => return Err(self.too_large("its plan counted", "this batch", decode_bytes, plan_bytes)),
                Some(Fit { buffers, .. }) if batches > (buffers / 2).max(1) => {
                    return Ok(Reserved::Fewer((buffers / 2).max(1)));
                }
                Some(fitted) => {
                    let surplus = shared.adopt(&mut state, fitted, decode_bytes);
                    if !surplus.is_empty() {
                        drop(state);
                        drop(surplus);
                        state = shared.lock();
                        continue;
                    }
                    if state.pool.available() >= batches
                        && let Some(segment) = self.segment(layout)?
                    {
                        let pool = &mut state.pool;
                        let reused = pool.free.split_off(pool.free.len() - batches.min(pool.free.len()));
                        pool.existing += batches - reused.len();
                        pool.plan_bytes += plan_bytes;
                        pool.note_peak(&shared.sizes);
                        return Ok(Reserved::Buffers(reused, segment));
                    }
                    if batches > 1 && state.windows.is_empty() && state.pool.available() > 0 {
                        return Ok(Reserved::Fewer(state.pool.available().min(batches - 1)));
                    }
                }
            }
            state = shared.wait(&shared.plan, state);
        }
    }

    /// A place for the window's chunks on the GPU, `Some(None)` where there is none, `None` while the arena is full.
    fn segment(&self, layout: Option<&Layout>) -> Result<Option<Option<damacy_cuda::Reserved>>> {
        match layout.zip(self.shared.gpu.as_ref()) {
            None => Ok(Some(None)),
            Some((layout, gpu)) => Ok(gpu.reserve(layout)?.map(Some)),
        }
    }
}
