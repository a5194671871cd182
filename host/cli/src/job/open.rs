//! A job's arrays -> their metadata, parsed in the sandbox, and errors of planning and pricing in the job's words.

use super::{Job, Origin, Store};
use crate::failure::Failure;
use damacy::sandbox::{Guest, Sandbox};
use damacy::zarr::Array;
use damacy::{Error, PlannedArray};
use damacy_core::metadata::{ArrayMetadata, MetadataLimits};

/// The sandbox's instance, and the arrays that it parsed.
pub struct Opened {
    /// With the job's limits.
    pub guest: Guest,
    /// In the job's order.
    pub arrays: Vec<PlannedArray>,
}

impl Opened {
    /// Opens all arrays of a job; of their files, only the metadata.
    pub fn of(job: &Job) -> Result<Opened, Failure> {
        let mut guest = Sandbox::shared()?.guest(job.limits.into())?;
        let mut arrays = Vec::with_capacity(job.arrays.len());
        for (index, array) in job.arrays.iter().enumerate() {
            let at = |message: String| match job.origin {
                Origin::Json => format!("{message}; at /arrays/{index}"),
                Origin::Options => message,
            };
            let planned = match &array.store {
                Store::Uri(uri) => {
                    let array = Array::open(uri, &mut guest).map_err(|error| {
                        let message = at(error.to_string());
                        error.with_message(message)
                    })?;
                    PlannedArray { uri: uri.as_str().into(), metadata: array.metadata().clone() }
                }
                Store::Document { name, format, bytes } => {
                    let parsed = guest.parse_metadata(*format, bytes, &MetadataLimits::default());
                    let metadata = parsed.map_err(|error| {
                        let place = format!("/arrays/{index}/metadata{}", error.path);
                        Error::new(error.status, "open", format!("{}; at {place}", error.message))
                    })?;
                    PlannedArray { uri: name.as_str().into(), metadata }
                }
            };
            arrays.push(planned);
        }
        Ok(Opened { guest, arrays })
    }

    /// The facts alone.
    pub fn metadata(&self) -> Vec<ArrayMetadata> {
        self.arrays.iter().map(|array| array.metadata.clone()).collect()
    }
}

/// An error of the planner or the cost model, with the array's name and the sample's place.
pub fn described(job: &Job, names: &[PlannedArray], error: &damacy_core::error::Error) -> Failure {
    let name = error.array.and_then(|array| names.get(array as usize)).map(|array| &array.uri);
    let mut message = match name {
        Some(name) => format!("{name}: {error}"),
        None => error.to_string(),
    };
    match (error.sample.and_then(|sample| job.place_of_sample(sample)), error.array) {
        (Some(place), _) => message.push_str(&format!("; at {place}")),
        (None, Some(array)) if job.origin == Origin::Json => message.push_str(&format!("; at /arrays/{array}")),
        _ => {}
    }
    Failure::Error(Error::new(error.status, "plan", message))
}
