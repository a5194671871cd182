//! URIs and samples -> opened arrays and boxes that index them, for [`plan`](crate::plan) and
//! [`estimate`](crate::estimate); and their errors, with the array to blame.

use crate::error::{Error, Result};
use crate::sandbox::Guest;
use crate::zarr::Array;
use crate::{PlannedArray, Sample};
use damacy_core::metadata::ArrayMetadata;
use damacy_core::planner::SampleBox;
use std::collections::HashMap;
use std::sync::Arc;

/// Arrays in the order of their first use, and boxes of them.
#[derive(Default)]
pub(crate) struct Opened {
    arrays: Vec<Array>,
    indices: HashMap<Arc<str>, u32>,
    /// The samples' boxes, in order.
    pub boxes: Vec<SampleBox>,
}

impl Opened {
    /// The index of the array at a URI, opened at its first use.
    ///
    /// # Errors
    /// Those of [`Array::open`].
    pub fn array(&mut self, uri: &Arc<str>, guest: &mut Guest) -> Result<u32> {
        if let Some(&array) = self.indices.get(uri) {
            return Ok(array);
        }
        self.arrays.push(Array::open(uri, guest)?);
        let index = self.arrays.len() as u32 - 1;
        self.indices.insert(Arc::clone(uri), index);
        Ok(index)
    }

    /// Opens the arrays of samples and adds their boxes.
    ///
    /// # Errors
    /// Those of [`Array::open`], with the sample's index.
    pub fn samples(&mut self, samples: &[Sample], guest: &mut Guest) -> Result<()> {
        for (index, sample) in samples.iter().enumerate() {
            let array = self.array(&sample.uri, guest).map_err(|error| {
                let message = format!("{error}; sample {index}");
                error.with_message(message)
            })?;
            self.boxes.push(SampleBox { array, bounds: sample.bounds.clone() });
        }
        Ok(())
    }

    /// The facts of all arrays.
    pub fn metadata(&self) -> Vec<ArrayMetadata> {
        self.arrays.iter().map(|array| array.metadata().clone()).collect()
    }

    /// URIs and facts of all arrays.
    pub fn into_planned(self) -> Vec<PlannedArray> {
        let planned = |array: &Array| PlannedArray { uri: Arc::from(array.uri()), metadata: array.metadata().clone() };
        self.arrays.iter().map(planned).collect()
    }

    /// An error of stage `what` with the sample to blame, and URI and facts of its array.
    pub fn describe(&self, what: &'static str, error: &damacy_core::error::Error) -> Error {
        let sample = error.sample.and_then(|s| usize::try_from(s).ok()).filter(|&s| s < self.boxes.len());
        let array = sample.map(|s| self.boxes[s].array).or(error.array);
        let array = array.and_then(|index| self.arrays.get(index as usize));
        let mut message = match array {
            Some(array) => format!("{}: {error}", array.uri()),
            None => error.to_string(),
        };
        // The core begins with the sample where it is a sample's fault.
        if let Some(sample) = sample.filter(|sample| !error.message.starts_with(&format!("sample {sample}: "))) {
            message.push_str(&format!("; sample {sample}"));
        }
        if let Some(array) = array {
            let facts = facts_unless_said(array, &error.to_string());
            message.push_str(&facts);
        }
        Error::new(error.status, what, message)
    }
}

/// `; the array is ...`, or nothing where the core's message `said` so already ("array 0 is uint16 of shape ...").
pub(crate) fn facts_unless_said(array: &Array, said: &str) -> String {
    if said.contains(" in chunks of (") { String::new() } else { format!("; the array is {}", array.describe()) }
}
