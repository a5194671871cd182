//! Axes back in their order: elements stored with permuted axes -> C order.

/// Where each element of a C-order array is stored.
pub(super) struct Permutation {
    /// Extents in C order; never of rank 0.
    extents: Vec<usize>,
    /// Bytes between neighbours along each of those axes, in the stored array.
    strides: Vec<usize>,
    width: usize,
}

impl Permutation {
    /// For an array of `shape` whose stored axis `i` is axis `axes[i]`; `None` if it is stored in C order.
    /// The shape's size in bytes must fit an address space.
    pub(super) fn new(shape: &[u64], axes: &[usize], width: usize) -> Option<Permutation> {
        let mut strides = vec![0; shape.len()];
        let mut stride = width;
        for &axis in axes.iter().rev() {
            strides[axis] = stride;
            stride *= shape[axis] as usize;
        }
        // Axes of extent 1 may be anywhere.
        let kept: Vec<usize> = (0..shape.len()).filter(|&axis| shape[axis] != 1).collect();
        if kept.windows(2).all(|pair| strides[pair[0]] >= strides[pair[1]]) {
            return None;
        }
        Some(Permutation {
            extents: kept.iter().map(|&axis| shape[axis] as usize).collect(),
            strides: kept.iter().map(|&axis| strides[axis]).collect(),
            width,
        })
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
}
