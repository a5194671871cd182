//! `damacy_job` -> opened arrays and boxes: what planning and estimating have in common.
//!
//! Metadata, from files or from the caller, is parsed in the sandbox by a guest of the job's own.

use crate::config;
use crate::foreign::{In, inval};
use crate::pool;
use crate::samples;
use crate::structs;
use crate::types;
use damacy_core::cost::{Crops, Encoded};
use damacy_core::metadata::{ArrayMetadata, MetadataLimits};
use damacy_core::planner::SampleBox;
use host::sandbox::{Guest, Sandbox};
use host::{BatchSpec, Error, PlanLimits, Result, zarr};

/// A job with its arrays.
pub struct Job {
    pub guest: Guest,
    pub output: BatchSpec,
    pub limits: PlanLimits,
    /// What messages call each array.
    names: Vec<String>,
    pub arrays: Vec<ArrayMetadata>,
    pub weights: Vec<u64>,
    pub encoded: Vec<Encoded>,
    pub boxes: Vec<SampleBox>,
    /// The rest as it was given.
    pub rest: structs::Job,
}

impl Job {
    /// Checks and copies what C gave, and opens the arrays.
    pub fn read(job: &In<structs::Job>) -> Result<Job> {
        let rest = job.read("job")?;
        types::reserved(rest.reserved, "job")?;
        let output = config::batch_spec(&rest.output)?;
        let limits = config::plan_limits(&rest.limits)?;
        let boxes = boxes(&rest)?;
        let guest = Sandbox::shared()?.guest(limits.into())?;
        let mut job = Job {
            guest,
            output,
            limits,
            names: Vec::new(),
            arrays: Vec::new(),
            weights: Vec::new(),
            encoded: Vec::new(),
            boxes,
            rest,
        };
        rest.arrays.read_all(rest.array_count, "arrays", |index, array| job.open(index, &array))?;
        Ok(job)
    }

    fn open(&mut self, index: usize, array: &structs::Array) -> Result<()> {
        let what = format!("arrays[{index}]");
        types::reserved(array.reserved, &what)?;
        let uri = array.uri.get_if_any(&format!("uri of {what}"))?;
        let metadata = if !array.facts.is_null() {
            if !array.metadata.is_null() {
                return Err(inval(format!("{what} has metadata and facts: give one")));
            }
            pool::facts(array.facts)?.metadata.clone()
        } else if array.metadata.is_null() {
            let uri = uri.ok_or_else(|| inval(format!("{what} has neither uri nor metadata nor facts: give one")))?;
            let opened = zarr::Array::open(uri, &mut self.guest).map_err(|error| {
                let message = format!("{error}; {what}");
                error.with_message(message)
            })?;
            opened.metadata().clone()
        } else {
            let format = types::format(array.format, &what)?;
            let bytes = array.metadata.get(array.metadata_bytes, &format!("metadata of {what}"))?;
            let parsed = self.guest.parse_metadata(format, bytes, &MetadataLimits::default());
            parsed.map_err(|error| {
                Error::new(error.status, "open", format!("{}: {error}; {what}", uri.unwrap_or("metadata")))
            })?
        };
        self.names.push(uri.map_or_else(|| what.clone(), |uri| format!("{uri} ({what})")));
        self.arrays.push(metadata);
        self.weights.push(array.weight.max(1));
        self.encoded.push(encoded(array, &what)?);
        Ok(())
    }

    /// An error of the sandbox, with the box and the array to blame.
    pub fn describe(&self, what: &'static str, error: &damacy_core::error::Error) -> Error {
        let blamed = error.sample.and_then(|s| usize::try_from(s).ok()).filter(|&s| s < self.boxes.len());
        let array = blamed.map(|s| self.boxes[s].array).or(error.array);
        let mut message = match array.and_then(|array| self.names.get(array as usize)) {
            Some(name) => format!("{name}: {error}"),
            None => error.to_string(),
        };
        if let Some(index) = blamed {
            message.push_str(&format!("; boxes[{index}]"));
        }
        Error::new(error.status, what, message)
    }
}

/// The job's boxes.
pub fn boxes(job: &structs::Job) -> Result<Vec<SampleBox>> {
    job.boxes.read_all(job.box_count, "boxes", |index, given| {
        let what = format!("boxes[{index}]");
        types::reserved(given.reserved, &what)?;
        Ok(SampleBox { array: given.array, bounds: samples::bounds(&given.bounds, given.rank, &what)? })
    })
}

/// The job's crops, some of them boxes.
pub fn crops<'a>(job: &'a structs::Job, boxes: &'a [SampleBox]) -> Result<Crops<'a>> {
    match job.crops {
        0 => Ok(Crops::Boxes(boxes)),
        1 => Ok(Crops::Uniform),
        2 => Ok(Crops::Grid(job.stride.get(job.stride_count, "stride")?)),
        other => Err(inval(format!(
            "{other} is no damacy_crops: give DAMACY_CROPS_BOXES (0), DAMACY_CROPS_UNIFORM (1) or DAMACY_CROPS_GRID (2)"
        ))),
    }
}

/// For plans of crops that are not given.
pub fn not_drawn() -> Error {
    inval("a plan takes the job's boxes: set crops to DAMACY_CROPS_BOXES (0), or estimate the job")
}

/// The ratios of all arrays; none if one is unknown.
pub fn ratios(encoded: &[Encoded]) -> Vec<f64> {
    let ratio = |encoded: &Encoded| match *encoded {
        Encoded::Ratio(ratio) => Some(ratio),
        _ => None,
    };
    encoded.iter().map(ratio).collect::<Option<_>>().unwrap_or_default()
}

/// What is known of an array's encoded sizes.
pub fn encoded(array: &structs::Array, what: &str) -> Result<Encoded> {
    if !array.encoded_bytes.is_null() {
        let bytes = array.encoded_bytes.get(array.encoded_count, &format!("encoded_bytes of {what}"))?;
        return Ok(Encoded::Chunks(bytes.to_vec()));
    }
    match array.encoded_ratio {
        0.0 => Ok(Encoded::Unknown),
        ratio if ratio.is_finite() && ratio > 0.0 => Ok(Encoded::Ratio(ratio)),
        ratio => {
            Err(inval(format!("encoded_ratio of {what} is {ratio}: give a number above 0, or 0 if it is unknown")))
        }
    }
}
