//! Boxes as rows: extents and byte steps -> rows that are contiguous on both sides, and the axes around them.

use damacy_cuda_kernels::abi::{MAX_RANK, MAX_UNITS};

/// An axis, or several that were merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Axis {
    /// Steps along it.
    pub extent: u64,
    /// Bytes of a step in the source.
    pub source: u64,
    /// Bytes of a step in the destination.
    pub destination: u64,
}

/// A box as rows.
pub(super) struct Rows {
    /// Elements in a row.
    pub elements: u64,
    axes: [Axis; MAX_RANK],
    outer: usize,
}

impl Rows {
    /// For a box that is not empty and has as many steps on either side as axes. Elements have the given widths.
    pub fn new(extent: &[u64], source: (&[u64], u64), destination: (&[u64], u64)) -> Rows {
        let mut rows = Rows { elements: 1, axes: [Axis::default(); MAX_RANK], outer: 0 };
        let mut inner = Axis { extent: 1, source: source.1, destination: destination.1 };
        let mut is_row = true;
        for ((&extent, &source), &destination) in extent.iter().zip(source.0).zip(destination.0).rev() {
            if extent == 1 {
                continue;
            }
            // Boxes exist in memory, so their steps do not overflow.
            let joins = source == inner.source * inner.extent && destination == inner.destination * inner.extent;
            let merged = inner.extent.checked_mul(extent).filter(|&merged| joins && merged <= MAX_UNITS.into());
            if let Some(merged) = merged {
                inner.extent = merged;
            } else {
                rows.add(inner, is_row);
                is_row = false;
                inner = Axis { extent, source, destination };
            }
        }
        rows.add(inner, is_row);
        rows
    }

    fn add(&mut self, axis: Axis, is_row: bool) {
        if is_row {
            self.elements = axis.extent;
        } else {
            self.axes[self.outer] = axis;
            self.outer += 1;
        }
    }

    /// The axes around the rows, innermost first: those with steps that a kernel takes, and those with longer ones.
    pub fn near_and_far(&self) -> (&[Axis], &[Axis]) {
        let outer = &self.axes[..self.outer];
        let is_near = |axis: &&Axis| axis.source.max(axis.destination) <= u32::MAX.into();
        // In C order steps grow outwards.
        outer.split_at(outer.iter().take_while(is_near).count())
    }
}

/// Units that cover any row of so many bytes, the first of which starts `destination` bytes after a unit's boundary.
pub(super) fn units(axes: &[Axis], row_bytes: u64, destination: u64, unit_bytes: u64) -> u64 {
    // Rows start at all multiples of this after the first.
    let granule = axes.iter().fold(unit_bytes, |granule, axis| {
        granule.min(1 << axis.destination.trailing_zeros().min(unit_bytes.trailing_zeros()))
    });
    let largest_lead = unit_bytes - granule + destination % granule;
    (largest_lead + row_bytes).div_ceil(unit_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(extent: &[u64], source: &[u64], destination: &[u64]) -> (u64, Vec<(u64, u64, u64)>) {
        let rows = Rows::new(extent, (source, 2), (destination, 4));
        let near = rows.near_and_far().0;
        (rows.elements, near.iter().map(|axis| (axis.extent, axis.source, axis.destination)).collect())
    }

    #[test]
    fn axes_merge_where_both_sides_are_contiguous() {
        assert_eq!(rows(&[2, 3, 4], &[24, 8, 2], &[48, 16, 4]), (24, vec![]));
        assert_eq!(rows(&[2, 3, 4], &[240, 8, 2], &[48, 16, 4]), (12, vec![(2, 240, 48)]));
        assert_eq!(rows(&[2, 3, 4], &[24, 8, 2], &[500, 160, 4]), (4, vec![(3, 8, 160), (2, 24, 500)]));
        assert_eq!(rows(&[2, 3, 4], &[60, 20, 2], &[120, 40, 4]), (4, vec![(6, 20, 40)]));
        assert_eq!(rows(&[], &[], &[]), (1, vec![]));
        assert_eq!(rows(&[1, 1], &[20, 2], &[40, 4]), (1, vec![]));
        // A single element of the last axis, where that axis is longer: rows of one element.
        assert_eq!(rows(&[5, 1], &[20, 2], &[40, 4]), (1, vec![(5, 20, 40)]));
        assert_eq!(rows(&[5, 1], &[2, 2], &[4, 4]), (5, vec![]));
    }

    #[test]
    fn steps_past_4_gib_are_set_apart() {
        let rows = Rows::new(&[2, 3, 4], (&[1 << 33, 1 << 20, 2], 2), (&[1 << 30, 1 << 20, 4], 4));
        let (near, far) = rows.near_and_far();
        assert_eq!((near.len(), far.len(), far[0].source), (1, 1, 1 << 33));
    }

    #[test]
    fn units_cover_every_alignment_that_occurs() {
        let units = |extent: &[u64], steps: &[u64], destination| {
            let rows = Rows::new(extent, (steps, 4), (steps, 4));
            units(rows.near_and_far().0, rows.elements * 4, destination, 16)
        };
        assert_eq!(units(&[4], &[4], 0), 1);
        assert_eq!(units(&[4], &[4], 4), 2);
        assert_eq!(units(&[2, 4], &[32, 4], 0), 1);
        assert_eq!(units(&[2, 4], &[32, 4], 36), 2);
        assert_eq!(units(&[2, 4], &[24, 4], 0), 2);
        assert_eq!(units(&[2, 2], &[24, 4], 0), 1);
        assert_eq!(units(&[2, 4], &[20, 4], 0), 2);
        assert_eq!(units(&[2, 1], &[20, 4], 0), 1);
    }
}
