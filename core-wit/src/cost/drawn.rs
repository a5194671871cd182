//! Crops that are drawn -> averages over one window, in closed form.
//!
//! Along an axis the chance that a crop touches a chunk is a count of starts over all starts; over axes chances multiply;
//! of m crops at least one touches a chunk of chance p with `1 - (1 - p)^m`. Sums over chunks go over classes of chunks.

use super::axis::Axis;
use super::check::{Checked, over_budget, over_ratio};
use super::sums::{Sums, whole};
use super::unique::{Points, gain};
use super::{Certainty, CostRequest, Crops, Encoded};
use crate::error::Error;
use crate::metadata::ArrayMetadata;
use crate::planner::check::chunk_bytes;

/// Axes of an array in chunks of a shape.
pub(super) fn axes<'a>(
    request: &'a CostRequest<'_>,
    array: &'a ArrayMetadata,
    chunks: &'a [u64],
) -> impl Iterator<Item = Axis> + 'a {
    let sizes = array.shape.iter().zip(chunks).zip(&request.spec.shape).enumerate();
    sizes.map(|(axis, ((&length, &chunk), &crop))| {
        let stride = match request.crops {
            Crops::Grid([]) => crop,
            Crops::Grid(stride) => stride[axis],
            _ => 1,
        };
        Axis::new(length, chunk, crop, stride)
    })
}

/// Chunks of a shape that one crop of an array touches, on average.
pub(super) fn touched(request: &CostRequest<'_>, array: &ArrayMetadata, chunks: &[u64]) -> f64 {
    axes(request, array, chunks).map(|axis| axis.touched()).product()
}

/// Averages over what a window and a batch decode of one array.
#[derive(Clone, Copy, Default)]
struct Decoded {
    /// Chunks that one crop touches.
    touched: f64,
    window: f64,
    batch: f64,
    /// Encoded bytes of the window's.
    read: f64,
}

/// Adds up a window of so many crops.
pub(super) fn sums(checked: &Checked<'_>, window: u64) -> Result<Sums, Error> {
    let request = checked.request;
    let (mut width, mut widths_differ) = (0.0, false);
    let mut first_width = None;
    let mut sums = Sums {
        certainty: Certainty::Expected,
        samples: window,
        windows: 1,
        needed_bytes: 0,
        uses: 0.0,
        chunks: 0.0,
        objects: 0.0,
        used_bytes: 0.0,
        decoded_bytes: 0,
        read_bytes: None,
        largest_chunk_bytes: 0,
        window: (0, 0),
        batch: (0, 0, 0),
    };
    let (mut decoded_bytes, mut read_bytes) = (0.0, (!request.encoded.is_empty()).then_some(0.0));
    let (mut batch_chunks, mut batch_uses, mut batch_bytes) = (0.0, 0.0, 0.0);
    let per_batch = request.spec.samples;
    for (index, array) in request.arrays.iter().enumerate() {
        let chosen = checked.chosen(index);
        let Some(source) = array.source.filter(|_| chosen > 0.0) else { continue };
        // Checked to fit.
        let bytes = chunk_bytes(array, source).unwrap_or(u64::MAX);
        let own_width = source.width() as u64;
        widths_differ |= *first_width.get_or_insert(own_width) != own_width;
        width += chosen * own_width as f64;

        let points = Points::new(chosen, window.max(per_batch), axes(request, array, array.chunk_shape()));
        let touched = touched(request, array, array.chunk_shape());
        let all =
            Decoded { touched, window: points.touched_by(window), batch: points.touched_by(per_batch), read: 0.0 };
        let mut objects = all.window;
        let mut precise = points.precise;
        if array.levels.len() > 1 {
            let points = Points::new(chosen, window, axes(request, array, array.object_shape()));
            objects = points.touched_by(window);
            precise &= points.precise;
        }
        if !precise {
            sums.certainty = Certainty::Approximate;
        }
        let decoded = match request.encoded.get(index) {
            Some(Encoded::Chunks(sizes)) => stored(checked, index, sizes, window),
            Some(Encoded::Ratio(ratio)) => {
                let decoded = all.window * bytes as f64;
                if let (Some(decoded), None) = (whole(decoded), whole(decoded * ratio)) {
                    return Err(over_ratio(index as u32, *ratio, decoded));
                }
                Decoded { read: decoded * ratio, ..all }
            }
            _ => {
                read_bytes = None;
                all
            }
        };
        sums.uses += chosen * touched * window as f64;
        sums.chunks += all.window;
        sums.objects += objects;
        sums.used_bytes += chosen * decoded.touched * window as f64 * bytes as f64;
        sums.largest_chunk_bytes = sums.largest_chunk_bytes.max(bytes);
        decoded_bytes += decoded.window * bytes as f64;
        read_bytes = read_bytes.map(|read| read + decoded.read);
        batch_chunks += all.batch;
        batch_uses += chosen * touched * per_batch as f64;
        batch_bytes += decoded.batch * bytes as f64;
    }
    let mut total = || {
        let elements = checked.counts.sample_elements.checked_mul(window)?;
        sums.needed_bytes = match first_width.filter(|_| !widths_differ) {
            Some(width) => elements.checked_mul(width)?,
            None => whole(elements as f64 * width)?,
        };
        sums.decoded_bytes = whole(decoded_bytes)?;
        sums.read_bytes = match read_bytes {
            Some(bytes) => Some(whole(bytes)?),
            None => None,
        };
        sums.window = (whole(sums.chunks)?, whole(sums.uses)?);
        sums.batch = (whole(batch_chunks)?, whole(batch_uses)?, whole(batch_bytes)?);
        Some(sums)
    };
    total().ok_or_else(|| over_budget(window))
}

/// What is stored of an array whose chunks' encoded sizes are given: a walk over its grid.
fn stored(checked: &Checked<'_>, index: usize, sizes: &[u64], window: u64) -> Decoded {
    let request = checked.request;
    let array = &request.arrays[index];
    let chosen = checked.chosen(index);
    let axes: Vec<Axis> = axes(request, array, array.chunk_shape()).collect();
    let mut coords = vec![0; axes.len()];
    let mut decoded = Decoded::default();
    for &size in sizes {
        if size > 0 {
            let chances = axes.iter().zip(&coords).map(|(axis, &at)| axis.touching(at) as f64 / axis.starts as f64);
            let one: f64 = chances.product();
            let any = one * chosen;
            let window = any * gain(any, window);
            decoded.touched += one;
            decoded.window += window;
            decoded.batch += any * gain(any, request.spec.samples);
            decoded.read += window * size as f64;
        }
        for (axis, at) in axes.iter().zip(&mut coords).rev() {
            *at += 1;
            if *at < axis.grid() {
                break;
            }
            *at = 0;
        }
    }
    decoded
}
