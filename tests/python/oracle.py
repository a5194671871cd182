"""The conversion rules, written once more from their description, in NumPy: array in -> array out.

Nothing here comes from the implementation; `test_oracle.py` holds it against the judged vectors. NaN bits count, so
compare results by their bytes.
"""

import ml_dtypes
import numpy as np

SOURCES = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32")
OUTPUTS = ("float32", "bfloat16", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")


def numpy_dtype(name: str) -> np.dtype:
    """The NumPy type of an output type's full name."""
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def converted(array: np.ndarray, output: str) -> np.ndarray:
    """`array`, of any source type and byte order, converted to `output`; C-contiguous, native byte order."""
    array = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="), copy=False)).reshape(array.shape)
    if output == "float32":
        return _to_f32(array)
    if output == "bfloat16":
        return _f32_to_bf16(_to_f32(array))
    target = np.dtype(output)
    return _float_to_int(array, target) if array.dtype.kind == "f" else _int_to_int(array, target)


def _int_to_int(array: np.ndarray, target: np.dtype) -> np.ndarray:
    """Clamped; the bounds are met in the source type, so nothing passes through floating point."""
    to, of = np.iinfo(target), np.iinfo(array.dtype)
    low, high = array.dtype.type(max(to.min, of.min)), array.dtype.type(min(to.max, of.max))
    return np.clip(array, low, high).astype(target)


def _float_to_int(array: np.ndarray, target: np.dtype) -> np.ndarray:
    """Truncated, clamped, NaN is 0. float64 holds every f16 and f32, and both 2^n and -2^n."""
    to = np.iinfo(target)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        values = array.astype(np.float64)
    values = np.trunc(np.where(np.isnan(values), 0.0, values))
    above, below = values >= float(to.max + 1), values < float(to.min)
    result = np.where(above | below, 0.0, values).astype(target)
    result = np.where(above, target.type(to.max), result)
    return np.where(below, target.type(to.min), result).astype(target)


def _to_f32(array: np.ndarray) -> np.ndarray:
    """Nearest, ties to even. f32 keeps every bit; an f16 NaN keeps sign and payload, quieted."""
    if array.dtype == np.float32:
        return array.copy()
    result = array.astype(np.float32)
    if array.dtype == np.float16:
        bits = array.view(np.uint16).astype(np.uint32)
        quiet = ((bits & 0x8000) << 16) | 0x7FC00000 | ((bits & 0x3FF) << 13)
        result = np.where(np.isnan(array), quiet, result.view(np.uint32)).astype(np.uint32).view(np.float32)
    return result


def _f32_to_bf16(array: np.ndarray) -> np.ndarray:
    """The upper half, rounded to nearest, ties to even; a NaN keeps sign and upper payload, quieted."""
    bits = array.view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    result = np.where(np.isnan(array), (bits >> 16) | 0x40, rounded).astype(np.uint16)
    return result.view(ml_dtypes.bfloat16)
