"""damacy's conversion rules in NumPy: a crop in its source type -> a slot of a batch; and how batches are compared.

Integers are clamped to the range of integers, floats truncated and then clamped, NaN is 0; float32 takes the nearest, and
bfloat16 the nearest of that.
"""

from __future__ import annotations

import numpy as np

F32 = np.dtype(np.float32)


def clamps(source: np.dtype, output: np.dtype) -> bool:
    """Whether values of `source` can be out of the range of `output`, so that a plain cast is not damacy's."""
    if output.kind not in "iu":
        return False
    if source.kind == "f":
        return True
    of, to = np.iinfo(source), np.iinfo(output)
    return of.min < to.min or of.max > to.max


def convert_into(out: np.ndarray, values: np.ndarray) -> None:
    """Converts a whole crop."""
    source, output = values.dtype, out.dtype
    if not clamps(source, output):
        # To bfloat16 by way of float32, as the rules have it.
        wide = values if output.kind in "iuf" or source == F32 else values.astype(F32)
        np.copyto(out, wide, casting="unsafe")
    elif source.kind == "f":
        truncate_into(out, values)
    else:
        of, to = np.iinfo(source), np.iinfo(output)
        low, high = source.type(max(of.min, to.min)), source.type(min(of.max, to.max))
        np.clip(values, low, high, out=out, casting="unsafe")


def truncate_into(out: np.ndarray, values: np.ndarray) -> None:
    """Floats to integers."""
    to = np.iinfo(out.dtype)
    values = values.astype(F32, copy=False)
    # The first float32 beyond the range; below it, whatever truncates into the range.
    beyond = F32.type(2.0 ** (to.bits - (to.min < 0)))
    clipped = np.clip(np.nan_to_num(values, nan=0.0), F32.type(to.min), np.nextafter(beyond, F32.type(0)))
    np.copyto(out, clipped, casting="unsafe")
    out[values >= beyond] = to.max


def differing(ours: np.ndarray, theirs: np.ndarray) -> int:
    """How many elements have other bits."""
    return int(np.count_nonzero(other_bits(ours, theirs)))


def other_nans(ours: np.ndarray, theirs: np.ndarray) -> int:
    """How many of them are NaN in both."""
    if ours.dtype.kind in "iu":
        return 0
    return int(np.count_nonzero(other_bits(ours, theirs) & np.isnan(ours) & np.isnan(theirs)))


def other_bits(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Which elements have other bits."""
    bits = np.dtype(f"u{ours.dtype.itemsize}")
    differ: np.ndarray = ours.view(bits) != np.ascontiguousarray(theirs).view(bits)
    return differ
