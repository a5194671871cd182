//! The planner thread: samples -> opened arrays -> a plan from the sandbox, checked -> a window for the workers.
//!
//! An error belongs to the batch of its sample: the batches before it still run, those from it on never begin. A window
//! that is too large for a planning limit or for the budget is halved until one batch alone is too large.

mod reserve;

use super::arrays::Arrays;
use super::batch::{BatchInfo, Timing};
use super::budget::{decode_need, fit};
use super::buffer::Memory;
use super::cache::{ChunkCache, roles_bytes};
use super::check::{Expected, uses_per_sample};
use super::config::{describe_batch, remedy, shortfall};
use super::cuda::{GpuWindow, Layout};
use super::feeder::{drop_quietly, panic_text};
use super::former::{self, Taken};
use super::join::Joined;
use super::output::Output;
use super::state::{Shared, Slot};
use super::stats::Stats;
use super::window::{Target, Window, plan_bytes};
use crate::Status;
use crate::error::{Error, Result};
use crate::opened::facts_unless_said;
use crate::sandbox::Guest;
use crate::zarr::Array;
use damacy_core::metadata::ArrayMetadata;
use damacy_core::planner::{Plan, Request, SampleBox};
use reserve::Reserved;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Instant;

/// Runs until the pipeline is closed.
pub(super) fn run(shared: &Shared, guest: Guest) {
    let arrays = Arrays::new(shared.config.read_hook.clone());
    let cache = ChunkCache::new(shared.sizes.cache_bytes);
    let mut planner = Planner { shared, guest, arrays, cache, last: Weak::new() };
    while let Some(taken) = former::next(shared) {
        let first = taken.first_batch;
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| planner.window(taken))) {
            let text = format!("the planning thread panicked: {}", panic_text(&*panic));
            drop_quietly(panic);
            shared.fail(first, Error::new(Status::Internal, "plan", text));
        }
        shared.lock().forming = 0;
        shared.consume.notify_all();
    }
}

struct Planner<'a> {
    shared: &'a Shared,
    guest: Guest,
    arrays: Arrays,
    cache: Option<ChunkCache>,
    /// The window that was started last, while it lasts.
    last: Weak<Window>,
}

/// The arrays of a window and its boxes.
#[derive(Default)]
struct Opened {
    arrays: Vec<Arc<Array>>,
    metadata: Vec<ArrayMetadata>,
    boxes: Vec<SampleBox>,
    decode_bytes: u64,
}

/// What became of an attempt.
enum Attempt {
    Started,
    /// Try again with this many batches.
    Fewer(usize),
    Closed,
}

impl Planner<'_> {
    /// Plans and starts what was taken; errors go to their batches.
    fn window(&mut self, mut taken: Taken) {
        let begun = Instant::now();
        let opened = self.open(&mut taken);
        let index_bytes = self.arrays.take_metadata_bytes();
        self.shared.count(&Stats { plan_time: begun.elapsed(), index_bytes, ..Stats::default() });
        let Some(opened) = opened else {
            drop_quietly(taken.samples);
            return;
        };
        while !taken.samples.is_empty() {
            let begun = Instant::now();
            let batches = taken.samples.len().div_ceil(self.shared.sizes.samples);
            let planned = self.plan(&mut taken, &opened, batches);
            self.shared.count(&Stats { plan_time: begun.elapsed(), ..Stats::default() });
            let attempt = match planned {
                Ok(Some((plan, uses))) => self.start(&mut taken, &opened, plan, &uses),
                Ok(None) => Ok(Attempt::Fewer(batches)),
                Err(error) if error.status() == Status::Budget && batches > 1 => Ok(Attempt::Fewer(batches / 2)),
                Err(error) => Err(error),
            };
            match attempt {
                Ok(Attempt::Fewer(fewer)) => {
                    if fewer < batches {
                        former::put_back(self.shared, &mut taken, fewer);
                    }
                    continue;
                }
                Ok(Attempt::Started | Attempt::Closed) => {}
                Err(error) => self.shared.fail(taken.first_batch, error),
            }
            break;
        }
        drop_quietly(taken.samples);
    }

    /// Opens the arrays of all samples. At the first that fails its batch is blamed, and it and those after it leave.
    /// `None` when closed: many slow opens are not waited for.
    fn open(&mut self, taken: &mut Taken) -> Option<Opened> {
        let mut opened = Opened::default();
        let mut indices: HashMap<Arc<str>, u32> = HashMap::new();
        for (index, sample) in taken.samples.iter().enumerate() {
            if self.shared.closed.load(Ordering::Relaxed) {
                return None;
            }
            let array = match indices.get(&sample.uri) {
                Some(&array) => array,
                None => match self.arrays.get(&sample.uri, &mut self.guest).and_then(|a| self.affordable(a)) {
                    Ok(array) => {
                        opened.decode_bytes = opened.decode_bytes.max(decode_need(array.decoded_bytes()));
                        opened.metadata.push(array.metadata().clone());
                        opened.arrays.push(array);
                        indices.insert(Arc::clone(&sample.uri), opened.arrays.len() as u32 - 1);
                        opened.arrays.len() as u32 - 1
                    }
                    Err(error) => {
                        self.blame(taken, index, error);
                        break;
                    }
                },
            };
            opened.boxes.push(SampleBox { array, bounds: sample.bounds.clone() });
        }
        Some(opened)
    }

    /// The array, if one of its chunks can be decoded within the budget.
    fn affordable(&self, array: Arc<Array>) -> Result<Arc<Array>> {
        let need = decode_need(array.decoded_bytes());
        match fit(&self.shared.sizes, need, 0) {
            Some(_) => Ok(array),
            None => Err(self.too_large(&array.describe(), array.uri(), need, 0)),
        }
    }

    fn too_large(&self, facts: &str, uri: &str, decode_bytes: u64, plan_bytes: u64) -> Error {
        let sizes = &self.shared.sizes;
        let batch = describe_batch(&self.shared.config.output, sizes.batch_bytes as u64);
        let short = shortfall(sizes, decode_bytes, plan_bytes);
        let message = if let Some(gpu) = &sizes.gpu {
            let enough = gpu.enough_host_bytes(decode_bytes, plan_bytes);
            format!(
                "{uri}: a chunk of this array ({facts}) does not fit beside the staging memory: {short}; raise \
                 max_host_memory_bytes to {enough}"
            )
        } else {
            format!(
                "{uri}: a chunk of this array ({facts}) does not fit beside two output buffers: {batch}, and {short}; {}",
                remedy(sizes)
            )
        };
        Error::new(Status::Budget, "plan", message)
    }

    /// Records an error at the batch of a sample, which leaves with all those after it.
    fn blame(&self, taken: &mut Taken, sample: usize, error: Error) {
        let batch = sample / self.shared.sizes.samples;
        self.shared.fail(taken.first_batch + batch as u64, error);
        let rest = taken.samples.split_off(batch * self.shared.sizes.samples);
        self.shared.lock().forming = batch;
        drop_quietly(rest);
    }

    /// A checked plan and the uses of each sample; `None` if a sample was blamed and fewer batches are left.
    fn plan(&mut self, taken: &mut Taken, opened: &Opened, batches: usize) -> Result<Option<(Plan, Vec<usize>)>> {
        let config = &self.shared.config;
        let boxes = &opened.boxes[..taken.samples.len()];
        let request = Request {
            spec: &config.output,
            arrays: &opened.metadata,
            samples: boxes,
            missing: &[],
            encoded_ratios: &[],
            limits: config.planner.into(),
        };
        match self.guest.plan(&request) {
            Ok(plan) => {
                let chunk_shapes: Vec<&[u64]> = opened.metadata.iter().map(|m| m.chunk_shape()).collect();
                let expected = Expected {
                    shape: &config.output.shape,
                    chunk_shapes: &chunk_shapes,
                    samples: boxes,
                    max_uses: config.planner.max_chunks,
                };
                let uses = uses_per_sample(&plan, &expected)?;
                Ok(Some((plan, uses)))
            }
            Err(error) if error.status == Status::Budget && batches > 1 => {
                Err(Error::new(Status::Budget, "plan", error.to_string()))
            }
            Err(error) => {
                let sample = error.sample.and_then(|s| usize::try_from(s).ok()).filter(|&s| s < taken.samples.len());
                let error = self.describe(&error, taken, opened, sample);
                match sample {
                    Some(sample) => {
                        self.blame(taken, sample, error);
                        Ok(None)
                    }
                    None => Err(error),
                }
            }
        }
    }

    /// The planner's error with URI and facts of the array to blame.
    fn describe(
        &self,
        error: &damacy_core::error::Error,
        taken: &Taken,
        opened: &Opened,
        sample: Option<usize>,
    ) -> Error {
        let array = sample.map(|s| opened.boxes[s].array).or(error.array);
        let array = array.and_then(|index| opened.arrays.get(index as usize));
        let place = match sample {
            Some(sample) => {
                let (batch, within) = (sample / self.shared.sizes.samples, sample % self.shared.sizes.samples);
                format!("batch {}, sample {within}", taken.first_batch + batch as u64)
            }
            None => format!("batch {}", taken.first_batch),
        };
        let said = error.to_string();
        // The planner counts samples from the start of its request, which the caller knows nothing of.
        let said = match sample.and_then(|s| said.strip_prefix(&format!("sample {s}: "))) {
            Some(rest) => rest,
            None => &said,
        };
        let message = match array {
            Some(array) => format!("{}: {said}; {place}{}", array.uri(), facts_unless_said(array, said)),
            None => format!("{said}; {place}"),
        };
        Error::new(error.status, "plan", message)
    }

    /// Gets buffers for the window, then hands it to the workers.
    fn start(&mut self, taken: &mut Taken, opened: &Opened, plan: Plan, uses: &[usize]) -> Result<Attempt> {
        let shared = self.shared;
        let batches = taken.samples.len().div_ceil(shared.sizes.samples);
        let layout = match &shared.gpu {
            Some(_) => Some(Layout::new(&plan, &opened.arrays, &shared.config.output, batches)?),
            None => None,
        };
        let cache_roles = self.cache.as_ref().map_or(0, |_| roles_bytes(plan.chunks.len()));
        let host_bytes = plan_bytes(&plan) + layout.as_ref().map_or(0, Layout::host_bytes) + cache_roles;
        let (mut memory, segment) = match self.reserve(opened, batches, host_bytes, layout.as_ref())? {
            Reserved::Buffers(memory, segment) => (memory, segment),
            Reserved::Fewer(fewer) => return Ok(Attempt::Fewer(fewer)),
            Reserved::Closed => return Ok(Attempt::Closed),
        };
        let reused = memory.len();
        let gpu = match self.prepare(&mut memory, batches, layout.zip(segment)) {
            Ok(gpu) => gpu,
            Err(error) => {
                let mut state = shared.lock();
                if !state.closed {
                    state.pool.existing -= batches - memory.len();
                    state.pool.free.append(&mut memory);
                }
                let surplus = shared.release_plan(&mut state, host_bytes);
                drop(state);
                drop(surplus);
                return Err(error);
            }
        };
        let by_batch = uses.chunks(shared.sizes.samples).map(|samples| samples.iter().sum());
        let targets = memory.iter().zip(by_batch).map(|(m, uses)| Target::new(Arc::clone(m), uses)).collect();
        let is_fresh = |output: &&Arc<Output>| output.host().is_some_and(Memory::is_fresh);
        let fresh = memory[reused..].iter().filter(is_fresh).cloned().collect();
        let arrays = opened.arrays.clone();
        let (roles, cache_bytes) = match &mut self.cache {
            Some(cache) if cache.wait(shared) => cache.roles(&plan, &arrays),
            Some(_) => return Ok(Attempt::Closed),
            None => (Vec::new(), 0),
        };
        let (first_batch, samples) = (taken.first_batch, shared.sizes.samples);
        let window = Arc::new(Window::new(plan, arrays, first_batch, samples, targets, host_bytes, roles, fresh, gpu));
        self.cache.iter_mut().for_each(|cache| cache.started(&window));
        let earlier = self.joinable();
        let joined = earlier.and_then(|earlier| Joined::new(&earlier, &window).map(|joined| (earlier, joined)));
        let formed = Instant::now();
        let mut samples = std::mem::take(&mut taken.samples).into_iter();
        let mut slots: Vec<Slot> = memory
            .into_iter()
            .enumerate()
            .map(|(batch, memory)| {
                let tags = samples.by_ref().take(shared.sizes.samples).map(|sample| sample.tag).collect();
                let info = info(shared, taken.first_batch + batch as u64, tags, taken.first_batch, formed);
                Slot { info, memory, complete: false }
            })
            .collect();
        let mut state = shared.lock();
        if state.closed {
            drop(state);
            drop_quietly(slots);
            return Ok(Attempt::Closed);
        }
        // Under the lock, so that no worker has the next window before it has joined; `earlier` is dropped after it.
        let (earlier, joined) = joined.unzip();
        if let Some(from) = earlier.as_ref().zip(joined).and_then(|(earlier, joined)| earlier.join(joined)) {
            slots.iter_mut().for_each(|slot| slot.info.timing.joined = Some(from as u64));
        }
        // Counted before its batches can be popped.
        shared.count(&Stats { windows: 1, ..Stats::default() });
        self.last = Arc::downgrade(&window);
        state.slots.extend(slots);
        state.forming = 0;
        state.pool.cache_bytes = cache_bytes;
        state.pool.note_peak(&shared.sizes);
        state.windows.push_back(window);
        shared.work.notify_all();
        drop(state);
        drop(earlier);
        Ok(Attempt::Started)
    }

    /// The window before, if the next one may join it: in host memory, and where no cache serves both.
    fn joinable(&self) -> Option<Arc<Window>> {
        let may = self.shared.gpu.is_none() && self.cache.is_none();
        may.then(|| self.last.upgrade()).flatten().filter(|window| !window.is_claimed())
    }

    /// Makes the buffers that are missing, and the window's place on the GPU ready for its chunks.
    fn prepare(
        &self,
        memory: &mut Vec<Arc<Output>>,
        batches: usize,
        place: Option<(Layout, damacy_cuda::Reserved)>,
    ) -> Result<Option<GpuWindow>> {
        while memory.len() < batches {
            memory.push(Arc::new(Output::new(self.shared)?));
        }
        place.map(|(layout, segment)| GpuWindow::new(layout, segment)).transpose()
    }
}

/// Batch `id`, not complete before its workers say so.
fn info(shared: &Shared, id: u64, tags: Vec<Option<super::Tag>>, window: u64, formed: Instant) -> BatchInfo {
    let (spec, samples) = (&shared.config.output, tags.len() as u64);
    let shape = std::iter::once(samples).chain(spec.shape.iter().copied()).collect();
    let nbytes = samples * shared.sizes.sample_bytes as u64;
    let timing = Timing { window, joined: None, formed, complete: formed };
    BatchInfo { id, samples, shape, dtype: spec.dtype, nbytes, tags, timing }
}
