//! A job: what to read in batches, given as JSON or as options -> one description, checked before any I/O; then its arrays'
//! metadata, parsed in the sandbox.

mod agree;
mod check;
mod draw;
mod open;
mod read;

pub use draw::draw;
pub use open::{Opened, described};

use crate::args::JobArgs;
use crate::failure::Failure;
use damacy::zarr::uri_of_path;
use damacy::{BatchSpec, Dtype, Error, PlanLimits, Status};
use damacy_core::cost::Encoded;
use damacy_core::metadata::ZarrFormat;
use damacy_core::planner::SampleBox;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes of a job in JSON: some 200,000 boxes of three axes. The tree that it is read into takes some dozen times as much.
const MAX_JOB_BYTES: u64 = 8 << 20;

/// What to plan or price.
pub struct Job {
    /// The batch.
    pub spec: BatchSpec,
    /// The arrays.
    pub arrays: Vec<JobArray>,
    /// The crops.
    pub crops: Crops,
    /// Samples of a look-ahead window.
    pub window: u64,
    /// Of the crops that `plan` draws.
    pub seed: u64,
    /// Decodes at a time.
    pub workers: u64,
    /// Host memory that the pipeline may use.
    pub memory_bytes: u64,
    /// Of it, what the chunk cache may take.
    pub chunk_cache_bytes: u64,
    /// Of each call into the sandbox.
    pub limits: PlanLimits,
    /// The advice to give.
    pub advise: Advise,
    /// Where it was given.
    pub origin: Origin,
}

/// Which crops.
pub enum Crops {
    /// These.
    Boxes(Vec<SampleBox>),
    /// Anywhere.
    Uniform,
    /// At multiples of a stride; empty: of the crop's shape.
    Grid(Vec<u64>),
}

/// An array and what is known of it.
pub struct JobArray {
    /// Where it is.
    pub store: Store,
    /// How often it is drawn.
    pub weight: u64,
    /// Its chunks' encoded sizes.
    pub encoded: Encoded,
}

/// Where an array's metadata is.
pub enum Store {
    /// At a path or `file://` URI.
    Uri(String),
    /// In the job.
    Document {
        /// `array 0`
        name: String,
        /// v2 or v3.
        format: ZarrFormat,
        /// The JSON.
        bytes: Vec<u8>,
    },
}

/// Which advice to give.
#[derive(Clone, Copy, Default)]
pub struct Advise {
    /// On this array's layout.
    pub layout: Option<u32>,
    /// On the look-ahead.
    pub lookahead: bool,
}

/// Where a job was given: errors name places in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// In JSON.
    Json,
    /// As options.
    Options,
}

impl Default for Job {
    fn default() -> Self {
        Job {
            spec: BatchSpec { samples: 1, shape: Vec::new(), dtype: Dtype::F32 },
            arrays: Vec::new(),
            crops: Crops::Uniform,
            window: 64,
            seed: 0,
            workers: 1,
            memory_bytes: 1 << 30,
            chunk_cache_bytes: 0,
            limits: PlanLimits::default(),
            advise: Advise::default(),
            origin: Origin::Options,
        }
    }
}

impl JobArray {
    /// An array that is drawn as often as others, of unknown encoded sizes.
    pub fn new(store: Store) -> JobArray {
        JobArray { store, weight: 1, encoded: Encoded::Unknown }
    }
}

impl Job {
    /// The job of a command line; `command` is whose it is.
    pub fn of(args: &JobArgs, command: &str) -> Result<Job, Failure> {
        let mut job = match &args.job {
            Some(path) => read::read(&document(path)?)?,
            None => Job::of_options(args, command)?,
        };
        job.limits = args.limits.unwrap_or_default().over(job.limits);
        Ok(job)
    }

    fn of_options(args: &JobArgs, command: &str) -> Result<Job, Failure> {
        let mut job = Job::default();
        let Some(shape) = args.shape.clone().filter(|_| !args.arrays.is_empty()) else {
            return Err(Failure::usage(command, "give a job in JSON (a file, or -), or --array and --shape"));
        };
        job.spec.shape = shape.0;
        job.spec.samples = args.samples.unwrap_or(job.spec.samples);
        job.spec.dtype = args.dtype.unwrap_or(job.spec.dtype);
        let encoded = args.ratio.map_or(Encoded::Unknown, Encoded::Ratio);
        let array = |path: &OsString| {
            let store = Store::Uri(uri_of_path(Path::new(path)));
            JobArray { encoded: encoded.clone(), ..JobArray::new(store) }
        };
        job.arrays = args.arrays.iter().map(array).collect();
        if !args.boxes.is_empty() {
            if args.arrays.len() != 1 {
                return Err(Failure::usage(
                    command,
                    "--box needs a single --array; a job in JSON can have boxes of several",
                ));
            }
            let sample = |bounds: &crate::parse::Bounds| SampleBox { array: 0, bounds: bounds.0.clone() };
            job.crops = Crops::Boxes(args.boxes.iter().map(sample).collect());
        } else if args.grid.is_some() {
            job.crops = Crops::Grid(args.stride.clone().map_or(Vec::new(), |stride| stride.0));
        }
        job.window = args.uniform.or(args.grid).or(args.window).unwrap_or(job.window);
        job.seed = args.seed.unwrap_or(job.seed);
        job.workers = args.workers.unwrap_or(job.workers);
        job.memory_bytes = args.memory.unwrap_or(job.memory_bytes);
        job.chunk_cache_bytes = args.cache.unwrap_or(job.chunk_cache_bytes);
        job.advise = Advise { layout: args.advise.then_some(0), lookahead: args.advise };
        Ok(job)
    }

    /// The ratios as `plan` takes them: of all arrays or none. Sizes of single chunks are the cost model's.
    pub fn ratios(&self) -> Vec<f64> {
        let ratio = |array: &JobArray| if let Encoded::Ratio(ratio) = array.encoded { Some(ratio) } else { None };
        self.arrays.iter().map(ratio).collect::<Option<_>>().unwrap_or_default()
    }

    /// Where a sample is in a job that was given as JSON.
    pub fn place_of_sample(&self, sample: u64) -> Option<String> {
        let boxes = matches!(self.crops, Crops::Boxes(_)) && self.origin == Origin::Json;
        boxes.then(|| format!("/crops/boxes/{sample}"))
    }
}

/// The text of a job: a file's, or standard input's for `-`.
fn document(path: &Path) -> Result<Vec<u8>, Failure> {
    let shown = if path == Path::new("-") { "standard input".to_owned() } else { damacy::text::path(path) };
    let mut text = Vec::new();
    let read = if path == Path::new("-") {
        io::stdin().lock().take(MAX_JOB_BYTES + 1).read_to_end(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(MAX_JOB_BYTES + 1).read_to_end(&mut text))
    };
    read.map_err(|error| {
        let status = if error.kind() == io::ErrorKind::NotFound { Status::NotFound } else { Status::Io };
        Error::new(status, "read", format!("{shown} cannot be read: {error}"))
    })?;
    if text.len() as u64 > MAX_JOB_BYTES {
        let message = format!("{shown} is too large for a job: the limit is {MAX_JOB_BYTES} bytes");
        return Err(Error::new(Status::Budget, "read", message).into());
    }
    Ok(text)
}
