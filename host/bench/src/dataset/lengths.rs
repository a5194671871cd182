//! Encoded sizes of the chunks that crops of given arrays touch, before anything is read: metadata, crops -> bytes of each chunk.
//!
//! A chunk that is a file is as long as the file. How long one inside a shard is only the shard's index tells, which is not read here.

use super::layout::unravel;
use damacy::zarr::Array;
use damacy_core::planner::SampleBox;
use std::fs;
use std::io::ErrorKind;

/// Chunks of all arrays that sizes are kept of, 8 bytes each.
const MOST_CHUNKS: u64 = 1 << 20;
/// Stands for a chunk that was not looked at.
const UNSEEN: u64 = u64::MAX;

/// For each array the sizes of its chunks in C order, 0 for missing ones and those that no crop touches; `None` if not known.
pub(super) fn of(arrays: &[Array], crops: &[SampleBox]) -> Vec<Option<Vec<u64>>> {
    let mut left = MOST_CHUNKS;
    let one = |(index, array): (u32, &Array)| {
        let metadata = array.metadata();
        let grid: Vec<u64> = metadata.shape.iter().zip(metadata.chunk_shape()).map(|(e, c)| e.div_ceil(*c)).collect();
        let count = grid.iter().try_fold(1u64, |count, &axis| count.checked_mul(axis));
        let count = count.filter(|&count| metadata.levels.len() == 1 && count <= left)?;
        left -= count;
        let mut sizes = vec![UNSEEN; count as usize];
        for crop in crops.iter().filter(|crop| crop.array == index) {
            measure(array, crop, &grid, &mut sizes)?;
        }
        Some(sizes.into_iter().map(|size| if size == UNSEEN { 0 } else { size }).collect())
    };
    (0..).zip(arrays).map(one).collect()
}

/// Looks at the files of the chunks that a crop touches; `None` if one cannot be looked at.
fn measure(array: &Array, crop: &SampleBox, grid: &[u64], sizes: &mut [u64]) -> Option<()> {
    let chunk = array.metadata().chunk_shape();
    let first: Vec<u64> = crop.bounds.iter().zip(chunk).map(|((start, _), extent)| start / extent).collect();
    let stop = crop.bounds.iter().zip(chunk).map(|((_, stop), extent)| stop.div_ceil(*extent));
    let touched: Vec<u64> = stop.zip(&first).map(|(stop, first)| stop - first).collect();
    for number in 0..touched.iter().product() {
        let coords: Vec<u64> = unravel(number, &touched).iter().zip(&first).map(|(at, first)| at + first).collect();
        let place = coords.iter().zip(grid).fold(0, |place, (at, count)| place * count + at) as usize;
        if sizes[place] == UNSEEN {
            sizes[place] = match fs::metadata(array.root().join(array.metadata().object_key(&coords))) {
                Ok(file) => file.len(),
                Err(error) if error.kind() == ErrorKind::NotFound => 0,
                Err(_) => return None,
            };
        }
    }
    Some(())
}
