"""Conversion of arrays in memory, by the rules that batches follow.

Any CPU array -> a NumPy array of the output type. The GIL is released while elements are converted.
"""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

import numpy as np

from damacy import _native
from damacy._dtype import Dtype, _describe
from damacy._errors import DtypeMismatch, InvalidArgument, OutOfMemory
from damacy._values import Engine

_SOURCES = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32")
_SOURCE_TYPES = {np.dtype(name): name for name in _SOURCES}
# DLPack's kDLCPU and kDLCUDAHost (pinned host memory).
_HOST_DEVICES = (1, 3)
_MOST_THREADS = 1024


def convert(
    array: Any,
    dtype: object,
    out: np.ndarray[Any, Any] | None = None,
    engine: Engine | str = "native",
    threads: SupportsIndex | None = None,
) -> np.ndarray[Any, Any]:
    """Converts an array: truncated, then clamped to integer outputs (NaN is 0); to nearest, ties to even, for floats.

    Args:
        array: Any CPU array that NumPy or DLPack can view, with any strides and in either byte order: integers of
            8 to 64 bits, float16 or float32, at most 32 axes.
        dtype: The output type: whatever :meth:`Dtype.parse` takes.
        out: Where to write: an array of the same shape and the output type (:class:`ml_dtypes.bfloat16` for
            bfloat16), with any strides. Nothing is allocated, unless it shares memory with ``array``: then the
            source is copied first.
        engine: ``"native"``, or ``"sandbox"`` for the same bits out of the WebAssembly component.
        threads: At most so many threads, from 1 on; ``None`` for the cores that the process may use. Arrays of less
            than 4 MiB, source and output together, are converted by the calling thread alone.

    Returns:
        ``out``, or a new C-contiguous array (:class:`ml_dtypes.bfloat16` for bfloat16).

    Raises:
        DtypeMismatch: the element type of ``array`` has no conversion (float64, bool, complex ...).
        InvalidArgument: no CPU array, an ``out`` that does not fit, or no number of threads.

    >>> convert(np.array([-1, 12, 256], np.int16), "u8")
    array([  0,  12, 255], dtype=uint8)
    >>> convert(np.array([-1.9, 12.9, np.nan, np.inf], np.float32), "i16")
    array([   -1,    12,     0, 32767], dtype=int16)
    """
    output = Dtype.parse(dtype)
    chosen = Engine.parse(engine)
    limit = _thread_limit(threads)
    source = _view(array)
    name = _SOURCE_TYPES.get(source.dtype.newbyteorder("="))
    if name is None:
        raise _no_conversion(source.dtype)
    if out is None:
        out = _new(source.shape, output)
    else:
        _check_out(out, source.shape, output)
        if np.may_share_memory(source, out):
            source = source.copy()
    if source.size > 0:
        _run(source, name, out, output, chosen, limit)
    return out


def _new(shape: tuple[int, ...], output: Dtype) -> np.ndarray[Any, Any]:
    try:
        return np.empty(shape, output.numpy)
    except (MemoryError, ValueError) as error:  # ValueError: more bytes than an address can say
        raise OutOfMemory(f"no memory for an output of shape {shape} in {output.full_name}", "convert") from error


def _thread_limit(threads: SupportsIndex | None) -> int | None:
    if threads is None:
        return None
    try:
        limit = 0 if isinstance(threads, (bool, np.bool_)) else operator.index(threads)
    except TypeError:
        limit = 0
    if not 1 <= limit <= _MOST_THREADS:
        raise InvalidArgument(f"threads is {_describe(threads)}; accepted are None and 1 to {_MOST_THREADS}", "convert")
    return limit


def _run(
    source: np.ndarray[Any, Any],
    name: str,
    out: np.ndarray[Any, Any],
    output: Dtype,
    engine: Engine,
    threads: int | None,
) -> None:
    # 0-d arrays have no shape in the buffer protocol, and bfloat16 has no buffer at all.
    if out.ndim == 0:
        source, out = source.reshape(1), out.reshape(1)
    if output is Dtype.BF16:
        out = out.view(np.uint16)
    _native.convert(source, name, not source.dtype.isnative, out, output, engine, threads)


def _view(array: Any) -> np.ndarray[Any, Any]:
    """The array as NumPy sees it, without a copy where it can be had."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise InvalidArgument(
            "a masked array with masked elements, which have no value to convert; accepted are arrays without: fill them "
            "first, with array.filled(value)",
            "convert",
        )
    if isinstance(array, np.ndarray):
        return np.asarray(array)
    if not hasattr(array, "__dlpack__"):
        return _view_otherwise(array, None)
    try:
        kind, number = (int(part) for part in array.__dlpack_device__())
    except Exception as error:
        return _view_otherwise(array, error)
    if kind not in _HOST_DEVICES:
        raise InvalidArgument(
            f"the array is on DLPack device {(kind, number)}; accepted are CPU arrays: copy it to the CPU first",
            "convert",
        )
    try:
        return np.from_dlpack(array)
    except Exception as error:
        return _view_otherwise(array, error)


def _view_otherwise(array: Any, reason: Exception | None) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(array)
    except Exception as error:
        cause = reason or error
        if "bfloat16" in str(getattr(array, "dtype", "")):
            raise _no_conversion(array.dtype) from cause
        raise InvalidArgument(
            f"{_describe(array)} is no array that NumPy can view ({cause}); accepted are CPU arrays", "convert"
        ) from cause


def _check_out(out: Any, shape: tuple[int, ...], output: Dtype) -> None:
    if not isinstance(out, np.ndarray):
        raise InvalidArgument(f"out is a {type(out).__name__}; accepted is a numpy.ndarray", "convert")
    if out.dtype != output.numpy:
        raise InvalidArgument(f"out has dtype {out.dtype}; accepted is {output.numpy}, the output type", "convert")
    if out.shape != shape:
        raise InvalidArgument(f"out has shape {out.shape}; accepted is {shape}, the source's", "convert")
    if not out.flags.writeable:
        raise InvalidArgument("out is read-only; accepted is an array that can be written", "convert")


def _no_conversion(dtype: object) -> DtypeMismatch:
    return DtypeMismatch(f"the array has dtype {dtype}; accepted are {', '.join(_SOURCES)}", "convert")
