//! A job's arrays -> their metadata, parsed in the sandbox, and errors of planning and pricing in the job's words.

use super::{Job, Origin, Store};
use crate::failure::Failure;
use damacy::sandbox::{Guest, Sandbox};
use damacy::zarr::Array;
use damacy::{Error, PlannedArray, Status};
use damacy_bench::scenario::Faults;
use damacy_core::error::LimitName;
use damacy_core::metadata::{ArrayMetadata, MetadataLimits};

/// Arrays that cannot be opened before the others are left alone.
const MOST_FAULTS: usize = 50;

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
        let mut guest = Sandbox::shared()?.guest(job.limits.into()).map_err(|error| {
            let option = if error.status() == Status::Budget { option(LimitName::MemoryBytes) } else { "" };
            let message = format!("{error}{option}");
            error.with_message(message)
        })?;
        let (mut arrays, mut faults) = (Vec::with_capacity(job.arrays.len()), Faults::default());
        let mut what = "the job".to_owned();
        for (index, array) in job.arrays.iter().enumerate() {
            match open(&array.store, &mut guest) {
                Ok(planned) => arrays.push(planned),
                Err((path, error)) => {
                    let place = match job.origin {
                        Origin::Json => format!("/arrays/{index}{path}"),
                        Origin::Options => format!("--array {}", index + 1),
                    };
                    faults.with_status(&place, error.message_with_causes(|_| true), error.status());
                }
            }
            // A job may have a million arrays, none of which is there.
            if faults.list.len() == MOST_FAULTS {
                what = format!("the job up to array {index}");
                break;
            }
        }
        if let [only] = faults.list.as_slice() {
            let at = if job.origin == Origin::Json { format!("; at {}", only.place) } else { String::new() };
            return Err(Error::new(only.status, "open", format!("{}{at}", only.message)).into());
        }
        faults.finish(&what)?;
        Ok(Opened { guest, arrays })
    }

    /// The facts alone.
    pub fn metadata(&self) -> Vec<ArrayMetadata> {
        self.arrays.iter().map(|array| array.metadata.clone()).collect()
    }
}

/// An array's metadata, parsed; or the place inside the array's entry in the job, and what is wrong there.
fn open(store: &Store, guest: &mut Guest) -> Result<PlannedArray, (String, Error)> {
    let (uri, metadata) = match store {
        Store::Uri(uri) => (uri, Array::open(uri, guest).map_err(|error| (String::new(), error))?.metadata().clone()),
        Store::Document { name, format, bytes } => {
            let parsed = guest.parse_metadata(*format, bytes, &MetadataLimits::default());
            let refused = |error: damacy_core::error::Error| {
                (format!("/metadata{}", error.path), Error::new(error.status, "open", error.message))
            };
            (name, parsed.map_err(refused)?)
        }
    };
    Ok(PlannedArray { uri: uri.as_str().into(), metadata })
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
    message.push_str(error.limit.map_or("", |limit| option(limit.name)));
    Failure::Error(Error::new(error.status, "plan", message))
}

/// How the command line sets a limit, for the end of a message.
fn option(limit: LimitName) -> &'static str {
    match limit {
        LimitName::MemoryBytes => "; --limits memory=SIZE sets it",
        LimitName::MaxChunks => "; --limits chunks=NUMBER sets it",
        // Others are not this command's to set.
        _ => "",
    }
}
