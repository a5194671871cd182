//! What a job will cost, before a byte of data is read: a batch spec, arrays and crops -> chunks, bytes, waste, memory, and
//! advice on layout and look-ahead.
//!
//! [`estimate`] is exact for given boxes, where it agrees with [`plan`](crate::planner::plan), and an expectation for crops
//! that are drawn, in closed form: its work depends on how many chunks a crop spans, not on how many there are.
//! `docs/cost-model.md` has the formulas and a worked example.

use crate::error::Error;
use crate::metadata::ArrayMetadata;
use crate::planner::{BatchSpec, PlanLimits, Request, SampleBox};

mod axis;
mod boxes;
mod check;
mod drawn;
mod layout;
mod lookahead;
pub mod memory;
mod shapes;
mod sums;
mod unique;

pub use layout::{CHUNK_OVERHEAD_BYTES, Layout, LayoutAdvice, advise_layout};
pub use lookahead::{LookAheadAdvice, Step, advise_lookahead};
use memory::{DeviceMemory, HostMemory};

/// Which crops a job takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crops<'a> {
    /// These, in order. At most [`PlanLimits::max_chunks`] chunk uses together.
    Boxes(&'a [SampleBox]),
    /// Independent crops: first an array by its weight, then a start uniform over all places where the crop fits.
    Uniform,
    /// The same with starts that are multiples of a stride, elements for each axis; empty: the crop's own shape.
    Grid(&'a [u64]),
}

/// What is known of the encoded sizes of an array's chunks.
#[derive(Clone, Debug, PartialEq)]
pub enum Encoded {
    /// Nothing.
    Unknown,
    /// Encoded bytes / decoded bytes: finite, above 0.
    Ratio(f64),
    /// Bytes of each chunk of the innermost level, in C order of the grid. 0: the chunk is missing, a fill that is neither
    /// read nor decoded.
    Chunks(Vec<u64>),
}

/// One job to price.
#[derive(Clone, Copy, Debug)]
pub struct CostRequest<'a> {
    /// The batch.
    pub spec: &'a BatchSpec,
    /// The arrays that crops are of.
    pub arrays: &'a [ArrayMetadata],
    /// The crops.
    pub crops: Crops<'a>,
    /// How often each array is drawn, relative to the others; empty: all alike. Must be empty for [`Crops::Boxes`].
    pub weights: &'a [u64],
    /// Encoded sizes, one an array, or empty if none is known.
    pub encoded: &'a [Encoded],
    /// Samples of a look-ahead window, at least 1; rounded down to whole batches, but at least one batch. Default 64.
    pub window: u64,
    /// Decodes at a time, at least 1. Default 1.
    pub workers: u64,
    /// Host memory that the pipeline may use, bytes: bounds the advised look-ahead. Default 1 GiB.
    pub memory_bytes: u64,
    /// Of it, what the chunk cache may take. Default 0: no cache.
    pub chunk_cache_bytes: u64,
    /// Limits of planning, which hold for the estimate too.
    pub limits: PlanLimits,
}

impl<'a> CostRequest<'a> {
    /// Uniform crops of all arrays alike, and the defaults.
    pub fn new(spec: &'a BatchSpec, arrays: &'a [ArrayMetadata]) -> CostRequest<'a> {
        CostRequest {
            spec,
            arrays,
            crops: Crops::Uniform,
            weights: &[],
            encoded: &[],
            window: 64,
            workers: 1,
            memory_bytes: 1 << 30,
            chunk_cache_bytes: 0,
            limits: PlanLimits::default(),
        }
    }

    /// As the planner takes it, without samples.
    fn planned(&self) -> Request<'a> {
        Request {
            spec: self.spec,
            arrays: self.arrays,
            samples: &[],
            missing: &[],
            encoded_ratios: &[],
            limits: self.limits,
        }
    }

    fn weight(&self, array: usize) -> u64 {
        if self.weights.is_empty() { 1 } else { self.weights[array] }
    }
}

/// How far figures can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// They are what the planner will find.
    Exact,
    /// They are averages over all draws.
    Expected,
    /// Averages in which chunks of nearly the same probability were counted at their mean, to bound the work: the number of
    /// different chunks is never too low, and less than 0.1 % too high in the tests, which go up to 31 axes.
    Approximate,
}

/// What a job costs. Byte counts of drawn crops are averages, rounded to whole bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// How far to trust it.
    pub certainty: Certainty,
    /// Samples that all sums are over: the boxes, or one window of drawn crops.
    pub samples: u64,
    /// Windows that these samples make.
    pub windows: u64,
    /// Elements of all samples.
    pub elements: u64,
    /// Those elements in each output type, by its value ([`Dtype::ALL`](crate::Dtype::ALL)), bytes.
    pub output_bytes: [u64; 10],
    /// The crops in their source types, bytes.
    pub needed_bytes: u64,
    /// Chunk uses: a chunk needed by two samples counts twice. `uses / samples` is the chunks that a crop touches.
    pub uses: f64,
    /// Different chunks in each window, fills included, summed over windows. A chunk cache is taken to be of no help: with one it
    /// is the most that is decoded.
    pub chunks: f64,
    /// Different stored objects (shards, where there are any) in each window, summed over windows.
    pub objects: f64,
    /// Chunks to decode, each once a window, decoded size in bytes.
    pub decoded_bytes: u64,
    /// Encoded bytes of those chunks; `None` where a chunk's encoded size is unknown.
    pub read_bytes: Option<u64>,
    /// Largest decoded chunk, bytes.
    pub largest_chunk_bytes: u64,
    /// `decoded_bytes / needed_bytes`; 0 without samples.
    pub decode_waste: f64,
    /// Decode waste if every use were decoded on its own.
    pub use_waste: f64,
    /// `read_bytes / needed_bytes`, if known.
    pub read_waste: Option<f64>,
    /// Host memory to run such windows.
    pub host: HostMemory,
    /// Device memory to assemble batches on an accelerator.
    pub device: DeviceMemory,
}

/// Prices a job.
///
/// Sums of given boxes are over all of them, window by window; those of drawn crops are averages over one window. Chunks
/// at an array's edge count at their full size, as they are stored.
///
/// Work: given boxes are planned twice at most, with the planner's own memory; drawn crops take microseconds an array, and
/// a step for each encoded size that is given.
///
/// # Errors
/// Those of [`plan`](crate::planner::plan); `Inval` for a window or workers of 0, weights, strides or encoded sizes that do
/// not match the arrays; `Budget` where a byte count does not fit 64 bits in some output type. A sample or array at fault is
/// named.
///
/// ```
/// use damacy_core::cost::{CostRequest, Crops, Encoded, estimate};
/// use damacy_core::metadata::{MetadataLimits, ZarrFormat, parse};
/// use damacy_core::planner::BatchSpec;
/// use damacy_core::Dtype;
///
/// let document = br#"{"zarr_format": 2, "shape": [256, 512, 512], "chunks": [32, 64, 64], "dtype": "<u2", "order": "C",
///     "compressor": null, "filters": null, "fill_value": 0}"#;
/// let arrays = [parse(ZarrFormat::V2, document, &MetadataLimits::default())?];
/// let spec = BatchSpec { samples: 8, shape: vec![64, 128, 128], dtype: Dtype::F32 };
/// let request = CostRequest { encoded: &[Encoded::Ratio(0.5)], window: 64, ..CostRequest::new(&spec, &arrays) };
/// let cost = estimate(&request)?;
/// assert_eq!(cost.needed_bytes, 64 * 64 * 128 * 128 * 2);
/// assert_eq!(format!("{:.2} {:.2}", cost.use_waste, cost.decode_waste), "3.29 0.86");
/// assert_eq!(cost.read_waste.map(|w| format!("{w:.2}")), Some("0.43".into()));
/// # Ok::<(), damacy_core::error::Error>(())
/// ```
pub fn estimate(request: &CostRequest<'_>) -> Result<Estimate, Error> {
    let checked = check::Checked::new(request)?;
    let sums = sums::sums(&checked, checked.window)?;
    sums.estimate(&checked).ok_or_else(|| check::over_budget(sums.samples))
}
