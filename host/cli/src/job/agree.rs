//! What does not fit together in a job whose parts are well formed: faults, as far as the job alone tells.

use super::check::{Place, Problems};
use super::{Crops, Job};

/// Boxes and strides that do not fit the spec, and weights that leave nothing to draw.
pub fn contradictions(job: &Job, problems: &mut Problems) {
    let (shape, crops) = (&job.spec.shape, Place::ROOT.key("crops"));
    if let Crops::Boxes(boxes) = &job.crops {
        let place = crops.key("boxes");
        for (index, sample) in boxes.iter().enumerate() {
            if let Err(message) = fits(&sample.bounds, shape) {
                problems.add(&place.index(index), message);
            }
        }
        return;
    }
    if let Crops::Grid(stride) = &job.crops
        && !stride.is_empty()
        && stride.len() != shape.len()
    {
        let message = format!(
            "{} steps were given; accepted are {}, one for each axis of /spec/shape",
            stride.len(),
            shape.len()
        );
        problems.add(&crops.key("grid").key("stride"), message);
    }
    let mut total = 0u64;
    for (index, array) in job.arrays.iter().enumerate() {
        let Some(sum) = total.checked_add(array.weight) else {
            let message = format!(
                "{} was given, {total} for the arrays before it; accepted are weights whose sum is at most 2^64 - 1",
                array.weight
            );
            problems.add(&Place::ROOT.key("arrays").index(index).key("weight"), message);
            break;
        };
        total = sum;
    }
    if job.arrays.iter().all(|array| array.weight == 0) {
        problems
            .add(&Place::ROOT.key("arrays"), "every weight is 0; accepted is a weight above 0 of at least one array");
    }
}

/// Whether a box has the shape of a sample.
fn fits(bounds: &[(u64, u64)], shape: &[u64]) -> Result<(), String> {
    if bounds.len() != shape.len() {
        return Err(format!(
            "a box of {} axes was given; accepted is one of {}, as many as /spec/shape has",
            bounds.len(),
            shape.len()
        ));
    }
    for (axis, (&(start, stop), extent)) in bounds.iter().zip(shape).enumerate() {
        if stop.checked_sub(start) != Some(*extent) {
            return Err(format!(
                "[{start}, {stop}] was given on axis {axis}; accepted is a stop {extent} above the start, as /spec/shape says"
            ));
        }
    }
    Ok(())
}
