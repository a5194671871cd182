//! Axes back in their order: elements stored with permuted axes -> C order, from one buffer to another or in place.
//!
//! In place, one axis after another is brought to the front of those that remain: a batch of matrix transposes. Each is
//! done in two moves, one within blocks that fit the scratch memory and one of whole rows of such blocks, so that
//! neither touches memory element by element far apart. Extents without a fitting divisor, and moves of too many items to
//! note, cost more: the rows are halved until they fit, and the halves are merged by rotations.

/// Bytes of scratch memory for the work in place.
pub(super) const SCRATCH: usize = 256 << 10;
/// Moving blocks of at least this size in place is efficient.
const GOOD_BLOCK: usize = 64;
/// Bytes of bits that note which items have moved; more are not taken.
const MAX_DONE_BYTES: usize = 256 << 10;

/// Where each element of a C-order array is stored.
pub(super) struct Permutation {
    /// Extents in C order, without those of 1; never empty.
    extents: Vec<usize>,
    /// Bytes between neighbours along each of those axes, in the stored array.
    strides: Vec<usize>,
    /// The axes in stored order.
    stored: Vec<usize>,
    width: usize,
}

impl Permutation {
    /// For an array of `shape` whose stored axis `i` is axis `axes[i]`; `None` if it is stored in C order.
    /// The shape's size in bytes must fit an address space.
    pub(super) fn new(shape: &[u64], axes: &[usize], width: usize) -> Option<Permutation> {
        // Axes of extent 1 may be anywhere.
        let kept: Vec<usize> = (0..shape.len()).filter(|&axis| shape[axis] != 1).collect();
        let stored: Vec<usize> = axes.iter().filter_map(|axis| kept.iter().position(|k| k == axis)).collect();
        if stored.is_sorted() {
            return None;
        }
        let extents: Vec<usize> = kept.iter().map(|&axis| shape[axis] as usize).collect();
        let mut strides = vec![0; extents.len()];
        let mut stride = width;
        for &axis in stored.iter().rev() {
            strides[axis] = stride;
            stride *= extents[axis];
        }
        Some(Permutation { extents, strides, stored, width })
    }

    /// Reorders `stored` into `out`; both hold the whole array.
    pub(super) fn apply(&self, stored: &[u8], out: &mut [u8]) {
        match self.width {
            1 => self.apply_width::<1>(stored, out),
            2 => self.apply_width::<2>(stored, out),
            4 => self.apply_width::<4>(stored, out),
            _ => self.apply_width::<8>(stored, out),
        }
    }

    fn apply_width<const N: usize>(&self, stored: &[u8], out: &mut [u8]) {
        let stored = stored.as_chunks::<N>().0;
        let out = out.as_chunks_mut::<N>().0;
        let Some((&row, outer)) = self.extents.split_last() else { return };
        let step = self.strides[outer.len()] / N;
        let mut index = vec![0; outer.len()];
        let mut from = 0;
        for row in out.chunks_exact_mut(row) {
            for (element, from) in row.iter_mut().zip((from..).step_by(step)) {
                *element = stored[from];
            }
            for axis in (0..outer.len()).rev() {
                index[axis] += 1;
                from += self.strides[axis] / N;
                if index[axis] < outer[axis] {
                    break;
                }
                from -= outer[axis] * (self.strides[axis] / N);
                index[axis] = 0;
            }
        }
    }

    /// Reorders the array where it is; `scratch` has [`SCRATCH`] bytes.
    pub(super) fn apply_in_place(&self, data: &mut [u8], scratch: &mut [u8]) {
        let mut order = self.stored.clone();
        for done in 0..order.len() {
            let Some(at) = order.iter().position(|&axis| axis == done).filter(|&at| at > done) else { continue };
            let product = |axes: &[usize]| axes.iter().map(|&axis| self.extents[axis]).product::<usize>();
            let matrix = Matrix {
                rows: product(&order[done..at]),
                columns: self.extents[done],
                item: product(&order[at + 1..]) * self.width,
            };
            for part in data.chunks_exact_mut(matrix.bytes()) {
                matrix.transpose(part, scratch);
            }
            let axis = order.remove(at);
            order.insert(done, axis);
        }
    }
}

/// A row-major matrix whose items have `item` bytes.
#[derive(Clone, Copy)]
pub(super) struct Matrix {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) item: usize,
}

impl Matrix {
    fn bytes(self) -> usize {
        self.rows * self.columns * self.item
    }

    /// Transposes in place; the matrix has at least one item.
    pub(super) fn transpose(self, data: &mut [u8], scratch: &mut [u8]) {
        let Matrix { rows, columns, item } = self;
        if self.bytes() <= scratch.len() {
            self.transpose_through(data, scratch);
            return;
        }
        // Columns of a part that fits the scratch memory, or rows: the longer ones make the larger blocks to move.
        let columns_part = block(columns, rows * item, scratch.len());
        let rows_part = block(rows, columns * item, scratch.len());
        if item >= GOOD_BLOCK || columns_part.max(rows_part) == 1 {
            self.move_items(data, scratch);
        } else if columns_part > rows_part {
            // Rows in parts: first the parts change places, then each column of parts is transposed.
            let inner = Matrix { rows, columns: columns_part, item };
            Matrix { rows, columns: columns / columns_part, item: columns_part * item }.move_items(data, scratch);
            data.chunks_exact_mut(inner.bytes()).for_each(|part| inner.transpose_through(part, scratch));
        } else {
            let inner = Matrix { rows: rows_part, columns, item };
            data.chunks_exact_mut(inner.bytes()).for_each(|part| inner.transpose_through(part, scratch));
            Matrix { rows: rows / rows_part, columns, item: rows_part * item }.move_items(data, scratch);
        }
    }

    /// Transposes through a copy in `scratch`, which must be large enough.
    fn transpose_through(self, data: &mut [u8], scratch: &mut [u8]) {
        let copy = &mut scratch[..self.bytes()];
        copy.copy_from_slice(data);
        match self.item {
            1 => self.gather::<1>(copy, data),
            2 => self.gather::<2>(copy, data),
            4 => self.gather::<4>(copy, data),
            8 => self.gather::<8>(copy, data),
            item => {
                for (nth, target) in data.chunks_exact_mut(item).enumerate() {
                    target.copy_from_slice(&copy[self.source(nth) * item..][..item]);
                }
            }
        }
    }

    fn gather<const N: usize>(self, from: &[u8], to: &mut [u8]) {
        let from = from.as_chunks::<N>().0;
        for (column, row) in to.as_chunks_mut::<N>().0.chunks_exact_mut(self.rows).enumerate() {
            for (item, at) in row.iter_mut().zip((column..).step_by(self.columns)) {
                *item = from[at];
            }
        }
    }

    /// Where item `nth` of the transposed matrix is in this one.
    fn source(self, nth: usize) -> usize {
        (nth % self.rows) * self.columns + nth / self.rows
    }

    /// Transposes item by item, or in halves where the marks of what is done would take too much memory.
    fn move_items(self, data: &mut [u8], scratch: &mut [u8]) {
        let words = (self.rows * self.columns).div_ceil(64);
        if 8 * words <= MAX_DONE_BYTES {
            self.transpose_by_cycles(data, &mut vec![0; words]);
        } else {
            self.transpose_in_halves(data, scratch);
        }
    }

    /// Transposes the upper and the lower rows, then puts each column's halves together. Allocates nothing.
    fn transpose_in_halves(self, data: &mut [u8], scratch: &mut [u8]) {
        let Matrix { rows, columns, item } = self;
        if rows < 2 || columns < 2 {
            return;
        }
        let (upper, lower) = (rows / 2, rows - rows / 2);
        let (above, below) = data.split_at_mut(upper * columns * item);
        Matrix { rows: upper, ..self }.transpose(above, scratch);
        Matrix { rows: lower, ..self }.transpose(below, scratch);
        interleave(data, columns, upper * item, lower * item, scratch);
    }

    /// Follows each cycle of the permutation, swapping items along it; `done` has one bit for each item.
    fn transpose_by_cycles(self, data: &mut [u8], done: &mut [u64]) {
        let count = self.rows * self.columns;
        for start in 0..count {
            let mut at = start;
            while done[at / 64] & (1 << (at % 64)) == 0 {
                done[at / 64] |= 1 << (at % 64);
                let next = self.source(at);
                if next == start {
                    break;
                }
                swap_items(data, at, next, self.item);
                at = next;
            }
        }
    }
}

/// The largest divisor of `extent` that makes so many times `unit` bytes fit into `room`; 1 if none does.
fn block(extent: usize, unit: usize, room: usize) -> usize {
    let most = (room / unit.max(1)).min(extent);
    (2..=most).rev().find(|&part| extent.is_multiple_of(part)).unwrap_or(1)
}

/// `count` blocks of `a` bytes, then as many of `b` bytes -> pairs of one and one, by rotations.
fn interleave(data: &mut [u8], count: usize, a: usize, b: usize, scratch: &mut [u8]) {
    if count < 2 {
        return;
    }
    if data.len() <= scratch.len() {
        let copy = &mut scratch[..data.len()];
        copy.copy_from_slice(data);
        let (firsts, seconds) = copy.split_at(count * a);
        for (nth, pair) in data.chunks_exact_mut(a + b).enumerate() {
            pair[..a].copy_from_slice(&firsts[nth * a..][..a]);
            pair[a..].copy_from_slice(&seconds[nth * b..][..b]);
        }
        return;
    }
    let half = count / 2;
    // Lower firsts, upper firsts, lower seconds, upper seconds: the middle two change places.
    data[half * a..count * a + half * b].rotate_left((count - half) * a);
    let (head, tail) = data.split_at_mut(half * (a + b));
    interleave(head, half, a, b, scratch);
    interleave(tail, count - half, a, b, scratch);
}

fn swap_items(data: &mut [u8], a: usize, b: usize, item: usize) {
    let (low, high) = (a.min(b) * item, a.max(b) * item);
    let (head, tail) = data.split_at_mut(high);
    head[low..low + item].swap_with_slice(&mut tail[..item]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every permutation of `0..rank`.
    fn permutations(rank: usize) -> Vec<Vec<usize>> {
        if rank == 0 {
            return vec![vec![]];
        }
        let shorter = permutations(rank - 1);
        (0..rank)
            .flat_map(|at| {
                shorter.iter().map(move |p| {
                    let mut longer = p.clone();
                    longer.insert(at, rank - 1);
                    longer
                })
            })
            .collect()
    }

    /// The stored form, element by element: stored axis `i` is axis `axes[i]`.
    fn stored(shape: &[u64], axes: &[usize], width: usize, data: &[u8]) -> Vec<u8> {
        let count = shape.iter().product::<u64>() as usize;
        let mut out = vec![0; data.len()];
        for flat in 0..count {
            let mut rest = flat;
            let mut index = vec![0; shape.len()];
            for axis in (0..shape.len()).rev() {
                index[axis] = rest % shape[axis] as usize;
                rest /= shape[axis] as usize;
            }
            let at = axes.iter().fold(0, |at, &axis| at * shape[axis] as usize + index[axis]);
            out[at * width..][..width].copy_from_slice(&data[flat * width..][..width]);
        }
        out
    }

    fn check(shape: &[u64], axes: &[usize], width: usize, scratch: usize) {
        let count = shape.iter().product::<u64>() as usize;
        let data: Vec<u8> = (0..count * width).map(|i| (i * 7 + i / 251) as u8).collect();
        let stored = stored(shape, axes, width, &data);
        let Some(permutation) = Permutation::new(shape, axes, width) else {
            assert_eq!(stored, data, "{shape:?} {axes:?}");
            return;
        };
        let mut apart = vec![0; data.len()];
        permutation.apply(&stored, &mut apart);
        assert_eq!(apart, data, "{shape:?} {axes:?} apart");
        let mut in_place = stored;
        permutation.apply_in_place(&mut in_place, &mut vec![0; scratch]);
        assert_eq!(in_place, data, "{shape:?} {axes:?} in place with {scratch}");
    }

    #[test]
    fn every_order_of_every_rank_in_both_ways() {
        for rank in 0..=5 {
            for axes in permutations(rank) {
                for shape in [[2_u64, 3, 4, 5, 6], [1, 4, 1, 8, 3], [7, 5, 1, 3, 2]] {
                    for width in [1, 2, 4, 8] {
                        // Scratch that holds all, some blocks, one pair, nothing.
                        for scratch in [1 << 16, 256, 40, 8, 0] {
                            check(&shape[..rank], &axes, width, scratch);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn large_matrices_in_place() {
        for shape in [[512_u64, 600], [509, 601], [3, 100_003], [100_003, 3]] {
            check(&shape, &[1, 0], 2, SCRATCH);
        }
    }

    #[test]
    fn more_items_than_are_noted_are_transposed_in_halves() {
        // Prime extents, more than 2 Mi elements.
        for shape in [[1_499_u64, 1_511], [3, 1_000_003], [1_000_003, 3]] {
            assert!(shape[0] * shape[1] > 8 * MAX_DONE_BYTES as u64);
            check(&shape, &[1, 0], 1, SCRATCH);
        }
    }

    #[test]
    fn halves_of_every_small_matrix() {
        for (rows, columns, item) in (1..=9).flat_map(|r| (1..=9).flat_map(move |c| [1, 3].map(|i| (r, c, i)))) {
            let matrix = Matrix { rows, columns, item };
            let data: Vec<u8> = (0..matrix.bytes()).map(|i| i as u8).collect();
            let mut right = data.clone();
            matrix.transpose_through(&mut right, &mut vec![0; data.len()]);
            for scratch in [0, 8, 20] {
                let mut found = data.clone();
                matrix.transpose_in_halves(&mut found, &mut vec![0; scratch]);
                assert_eq!(found, right, "{rows} x {columns} of {item} with {scratch}");
            }
        }
    }
}
