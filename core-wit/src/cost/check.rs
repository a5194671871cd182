//! A request -> what the estimate relies on, or the first error. The spec, arrays and boxes are checked by the planner's
//! own checks, so that both accept the same; only what the cost model adds is checked here.

use super::{CostRequest, Crops, Encoded};
use crate::Status;
use crate::error::Error;
use crate::planner::check::{Counts, check, check_sample, product};
use crate::planner::number::Short;
use crate::planner::{Request, SampleBox};

/// A valid request.
pub(super) struct Checked<'a> {
    pub request: &'a CostRequest<'a>,
    /// Of one sample and one batch; for boxes of all of them.
    pub counts: Counts,
    /// Samples of a window, whole batches.
    pub window: u64,
    /// Sum of the weights.
    total_weight: f64,
}

pub(super) fn inval<T>(message: impl Into<String>) -> Result<T, Error> {
    Err(Error::new(Status::Inval, message))
}

pub(super) fn over_budget(samples: u64) -> Error {
    let message =
        format!("{samples} samples have more than 2^64 - 1 bytes to read, decode or hold; use a smaller window");
    Error::beyond_64_bits(message)
}

fn at_array(mut error: Error, array: u32) -> Error {
    error.array = Some(array);
    error
}

/// A ratio that makes more encoded bytes of these decoded ones than fit 64 bits.
pub(super) fn over_ratio(array: u32, ratio: f64, decoded: u64) -> Error {
    let message = format!(
        "the encoded ratio of array {array} is {}, which makes more than 2^64 - 1 bytes of {decoded} decoded \
         ones; accepted is one of at most {}",
        Short(ratio),
        u64::MAX / decoded.max(1)
    );
    at_array(Error::beyond_64_bits(message), array)
}

impl<'a> Checked<'a> {
    pub(super) fn new(request: &'a CostRequest<'a>) -> Result<Checked<'a>, Error> {
        let ratios: Vec<f64> =
            request.encoded.iter().map(|e| if let Encoded::Ratio(ratio) = e { *ratio } else { 1.0 }).collect();
        let boxes = if let Crops::Boxes(boxes) = request.crops { boxes } else { &[] };
        let planned = Request { samples: boxes, encoded_ratios: &ratios, ..request.planned() };
        let counts = check(&planned)?;
        if request.window == 0 || request.workers == 0 {
            return inval(format!(
                "the window has {} samples and there are {} workers; each must be at least 1",
                request.window, request.workers
            ));
        }
        let per_batch = request.spec.samples;
        let window = (request.window / per_batch).max(1) * per_batch;
        let checked = Checked { request, counts, window, total_weight: 0.0 };
        checked.check_sizes()?;
        match request.crops {
            Crops::Boxes(_) if !request.weights.is_empty() => {
                inval("weights were given for given boxes; they are for crops that are drawn")
            }
            Crops::Boxes(_) => Ok(checked),
            Crops::Uniform => checked.check_drawn(&planned, &[]),
            Crops::Grid(stride) => checked.check_drawn(&planned, stride),
        }
    }

    /// Encoded sizes: as many as chunks.
    fn check_sizes(&self) -> Result<(), Error> {
        for (index, (array, encoded)) in (0..).zip(self.request.arrays.iter().zip(self.request.encoded)) {
            let Encoded::Chunks(sizes) = encoded else { continue };
            let axes = array.shape.iter().zip(array.chunk_shape());
            let grid: Vec<u64> = axes.map(|(length, chunk)| length.div_ceil(*chunk)).collect();
            if product(&grid) != Some(sizes.len() as u64) {
                let message =
                    format!("array {index} has {} encoded sizes; give one for each chunk, in C order", sizes.len());
                return inval(message).map_err(|error| at_array(error, index));
            }
        }
        Ok(())
    }

    /// Weights, strides, and that a crop fits each array that is drawn from.
    fn check_drawn(mut self, planned: &Request<'_>, stride: &[u64]) -> Result<Checked<'a>, Error> {
        let request = self.request;
        let weights = request.weights;
        if !weights.is_empty() && weights.len() != request.arrays.len() {
            return inval(format!("{} weights were given for {} arrays", weights.len(), request.arrays.len()));
        }
        if !stride.is_empty() && stride.len() != request.spec.shape.len() || stride.contains(&0) {
            return inval("the grid's stride must have one number of at least 1 for each axis, or none");
        }
        let mut total = 0u64;
        for array in 0..request.arrays.len() {
            let weight = request.weight(array);
            let Some(sum) = total.checked_add(weight) else {
                return inval(format!(
                    "the weight of array {array} is {weight}, which with the {total} of those before it passes 2^64 - 1; give \
                     smaller weights"
                ))
                .map_err(|error| at_array(error, array as u32));
            };
            total = sum;
        }
        if total == 0 {
            return inval("there is no array to draw crops from; give at least one array, and a weight above 0");
        }
        self.total_weight = total as f64;
        let bounds: Vec<(u64, u64)> = request.spec.shape.iter().map(|&extent| (0, extent)).collect();
        let mut sample = SampleBox { array: 0, bounds };
        // The planner's own bound.
        let most = request.limits.max_chunks.min(u64::from(u32::MAX));
        for array in (0..).take(request.arrays.len()).filter(|&array| request.weight(array as usize) > 0) {
            sample.array = array;
            check_sample(planned, &sample, self.counts.sample_elements, most).map_err(|mut error| {
                error.message.insert_str(0, "a crop at the origin: ");
                at_array(error, array)
            })?;
        }
        Ok(self)
    }

    /// The probability that a crop is of an array.
    pub(super) fn chosen(&self, array: usize) -> f64 {
        self.request.weight(array) as f64 / self.total_weight
    }
}
