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

    /// The axes around the rows, innermost first.
    pub fn outer(&self) -> &[Axis] {
        &self.axes[..self.outer]
    }

    /// Units that cover any of the rows, the first of which starts `destination` bytes after a unit's boundary.
    pub fn units(&self, destination: u64, width: u64, unit_bytes: u64) -> u64 {
        // Rows start at all multiples of this after the first.
        let granule = self.outer().iter().fold(unit_bytes, |granule, axis| {
            granule.min(1 << axis.destination.trailing_zeros().min(unit_bytes.trailing_zeros()))
        });
        let largest_lead = unit_bytes - granule + destination % granule;
        (largest_lead + self.elements * width).div_ceil(unit_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(extent: &[u64], source: &[u64], destination: &[u64]) -> (u64, Vec<(u64, u64, u64)>) {
        let rows = Rows::new(extent, (source, 2), (destination, 4));
        (rows.elements, rows.outer().iter().map(|axis| (axis.extent, axis.source, axis.destination)).collect())
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
    fn units_cover_every_alignment_that_occurs() {
        let units = |extent: &[u64], steps: &[u64], destination| {
            Rows::new(extent, (steps, 4), (steps, 4)).units(destination, 4, 16)
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
