"""What users describe work with: immutable values, checked when they are made, before any I/O.

All compare and hash by value and print as the call that makes them.
"""

from __future__ import annotations

import enum
import itertools
import operator
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from damacy._check import INT64_MAX, Presence, check_field, finite_seconds, instance, integer
from damacy._check import uri as checked_uri
from damacy._dtype import Dtype
from damacy._errors import InvalidArgument

# Axes of an array that is read: the parser's limit.
MAX_RANK = 32


class Engine(enum.StrEnum):
    """Which build of the conversion rules runs; both give the same bits."""

    NATIVE = "native"
    SANDBOX = "sandbox"

    @staticmethod
    def parse(given: object) -> Engine:
        """The engine of a member or its name."""
        if isinstance(given, str) and given.lower() in list(Engine):
            return Engine(given.lower())
        raise InvalidArgument(f"engine is {given!r}; accepted are 'native', 'sandbox' and damacy.Engine", "config")


@dataclass(frozen=True, slots=True)
class BatchSpec:
    """What every batch looks like: ``samples`` crops of ``shape``, converted to ``dtype``.

    Args:
        samples: Samples a batch, at least 1.
        shape: Extent of each sample along each axis, at least 1 each; ``()`` for 0-d arrays.
        dtype: Element type of the batch: whatever :meth:`Dtype.parse` takes.

    >>> BatchSpec(8, (64, 128, 128), "u8")
    BatchSpec(samples=8, shape=(64, 128, 128), dtype=<Dtype.U8: 2>)
    """

    samples: int
    shape: tuple[int, ...]
    dtype: Dtype

    def __init__(self, samples: int, shape: Iterable[int], dtype: object = "float32") -> None:
        object.__setattr__(self, "samples", integer("BatchSpec.samples", samples, 1))
        if isinstance(shape, (str, bytes)) or not isinstance(shape, Iterable) or _is_scalar(shape):
            raise InvalidArgument(
                f"BatchSpec.shape is {shape!r}; accepted is a tuple with the extent of each axis, such as (64, 64)",
                "config",
            )
        first = list(itertools.islice(shape, MAX_RANK + 1))
        if len(first) > MAX_RANK:
            raise InvalidArgument(f"BatchSpec.shape has more than {MAX_RANK} axes; accepted are 0 to {MAX_RANK}", "config")
        extents = tuple(integer(f"BatchSpec.shape[{axis}]", extent, 1) for axis, extent in enumerate(first))
        object.__setattr__(self, "shape", extents)
        object.__setattr__(self, "dtype", Dtype.parse(dtype))


@dataclass(frozen=True, slots=True)
class Sample:
    """One crop of one array.

    Args:
        uri: A path or ``file://`` URI of a Zarr array. A path that is not UTF-8 is kept as its URI.
        aabb: The crop's box: one half-open ``(start, stop)`` or slice per axis, in stored axis order.
            A slice without a start begins at 0; every stop must be given.
        tag: Any object; it is given back in ``BatchInfo.tags``.

    >>> Sample("volume.zarr", np.s_[0:64, 128:256])
    Sample(uri='volume.zarr', aabb=((0, 64), (128, 256)), tag=None)
    """

    uri: str
    aabb: tuple[tuple[int, int], ...]
    tag: Any = field(default=None, compare=False)

    def __init__(self, uri: str | os.PathLike[str], aabb: Any, tag: object = None) -> None:
        object.__setattr__(self, "uri", checked_uri("Sample.uri", uri))
        object.__setattr__(self, "aabb", _box(aabb))
        object.__setattr__(self, "tag", tag)


@dataclass(frozen=True, slots=True)
class CpuLimits:
    """Limits of the CPU executor.

    Args:
        max_memory_bytes: Output buffers, decoding, planning and the chunk cache together.
        workers: Worker threads; by default, the cores that this process may use.
        output_buffers: Output buffers at the most, at least 2; by default, as the budget carries.
        chunk_cache_bytes: Of the memory, what keeps decoded chunks beyond their look-ahead window; none by default. Worth it
            where windows read the same chunks again. Chunk files are taken not to change meanwhile.
    """

    max_memory_bytes: int = 1 << 30
    workers: int | None = None
    output_buffers: int | None = None
    chunk_cache_bytes: int = 0

    def __post_init__(self) -> None:
        check_field(self, "max_memory_bytes", 1)
        check_field(self, "workers", 1, Presence.OPTIONAL)
        check_field(self, "output_buffers", 2, Presence.OPTIONAL)
        check_field(self, "chunk_cache_bytes", 0)


@dataclass(frozen=True, slots=True)
class CpuExecutor:
    """Decodes and converts on the CPU."""

    engine: Engine
    limits: CpuLimits

    def __init__(self, engine: Engine | str = "native", limits: CpuLimits = CpuLimits()) -> None:  # noqa: B008
        object.__setattr__(self, "engine", Engine.parse(engine))
        object.__setattr__(self, "limits", instance("CpuExecutor.limits", limits, CpuLimits))


@dataclass(frozen=True, slots=True)
class CudaLimits:
    """Limits of the CUDA executor.

    Args:
        max_gpu_memory_bytes: Output buffers and decoded chunks on the GPU together.
        max_host_memory_bytes: Pinned memory, decoding and planning on the host together.
        workers: Worker threads; by default, the cores that this process may use.
        output_buffers: Output buffers at the most, at least 2; by default, as half of the GPU's budget carries.
    """

    max_gpu_memory_bytes: int = 1 << 30
    max_host_memory_bytes: int = 1 << 30
    workers: int | None = None
    output_buffers: int | None = None

    def __post_init__(self) -> None:
        check_field(self, "max_gpu_memory_bytes", 1)
        check_field(self, "max_host_memory_bytes", 1)
        check_field(self, "workers", 1, Presence.OPTIONAL)
        check_field(self, "output_buffers", 2, Presence.OPTIONAL)


@dataclass(frozen=True, slots=True)
class CudaExecutor:
    """Decodes on the CPU, converts and assembles on a GPU: batches are tensors in its memory, with the CPU's bits.

    Args:
        device: Number of the GPU, counted as ``CUDA_VISIBLE_DEVICES`` leaves them. By default, the GPU of the CUDA
            context that is current in the thread that makes the pipeline (which torch and others make for the GPU they
            use), else GPU 0.
        limits: Memory, threads, buffers.
    """

    device: int | None = None
    limits: CudaLimits = CudaLimits()

    def __post_init__(self) -> None:
        check_field(self, "device", 0, Presence.OPTIONAL)
        instance("CudaExecutor.limits", self.limits, CudaLimits)


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """Limits of each planning call.

    Args:
        memory_bytes: Memory of the planner's sandbox.
        deadline_s: Time for one call, seconds: above 0, at most 10**9.
        max_chunks: Chunk uses in one window (a chunk that two samples need counts twice).
    """

    memory_bytes: int = 64 << 20
    deadline_s: float = 1.0
    max_chunks: int = 1 << 20

    def __post_init__(self) -> None:
        check_field(self, "memory_bytes", 1)
        check_field(self, "max_chunks", 1)
        object.__setattr__(self, "deadline_s", finite_seconds("PlanLimits.deadline_s", self.deadline_s))


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans reads in the sandbox."""

    limits: PlanLimits = PlanLimits()

    def __post_init__(self) -> None:
        instance("Planner.limits", self.limits, PlanLimits)


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """Limits of the queues.

    Args:
        lookahead_samples: Samples in a look-ahead window; by default, as far ahead as the memory budget carries,
            at most 256.
    """

    lookahead_samples: int | None = None

    def __post_init__(self) -> None:
        check_field(self, "lookahead_samples", 1, Presence.OPTIONAL)


def _is_scalar(given: object) -> bool:
    """Whether it is an array of no axes, which looks iterable and is not."""
    return isinstance(given, np.ndarray) and given.ndim == 0


def _is_listing(given: object) -> bool:
    """Whether entries can be taken from it by position. A range is no listing of bounds: ``range(0, 2)`` means 0, 1."""
    if isinstance(given, (str, bytes, bytearray, memoryview, range)) or _is_scalar(given):
        return False
    return isinstance(given, (Sequence, np.ndarray))


def _box(given: Any) -> tuple[tuple[int, int], ...]:
    if isinstance(given, slice):
        given = (given,)
    if not _is_listing(given):
        raise InvalidArgument(
            f"Sample.aabb is {given!r}; accepted is a (start, stop) or slice per axis, such as np.s_[0:4, 2:6]",
            "config",
        )
    return tuple(_interval(axis, entry) for axis, entry in enumerate(given))


def _interval(axis: int, entry: Any) -> tuple[int, int]:
    if isinstance(entry, slice):
        if entry.step is not None and _bound(axis, entry, entry.step) != 1:
            raise _refused(axis, entry, f"has step {entry.step}", "accepted is step 1")
        if entry.stop is None:
            raise _refused(axis, entry, "has no stop", "accepted are slices with a stop, such as slice(0, 4)")
        pair: Any = (0 if entry.start is None else entry.start, entry.stop)
    else:
        pair = entry
        if not _is_listing(entry) or len(entry) != 2:
            accepted = "accepted is a (start, stop) or a slice per axis"
            if isinstance(entry, (int, np.integer)) and not isinstance(entry, bool):
                accepted += f"; an index would drop the axis: write slice({entry}, {int(entry) + 1})"
            raise _refused(axis, entry, "is no interval", accepted)
    start, stop = (_bound(axis, entry, bound) for bound in pair)
    if start < 0:
        raise _refused(axis, entry, "starts below 0", "accepted are 0 <= start < stop")
    if stop <= start:
        raise _refused(axis, entry, "is empty", "accepted are 0 <= start < stop")
    if stop > INT64_MAX:
        raise _refused(axis, entry, "ends above 2**63 - 1", "accepted are 0 <= start < stop < 2**63")
    return start, stop


def _bound(axis: int, entry: Any, bound: Any) -> int:
    if isinstance(bound, (bool, np.bool_)):
        raise _refused(axis, entry, f"has the bound {bound!r}", "accepted are integers")
    try:
        return operator.index(bound)
    except TypeError:
        raise _refused(axis, entry, f"has the bound {bound!r}", "accepted are integers") from None


def _refused(axis: int, entry: Any, why: str, accepted: str) -> InvalidArgument:
    shown = f"{entry.start}:{entry.stop}:{entry.step}" if isinstance(entry, slice) else repr(entry)
    return InvalidArgument(f"Sample.aabb[{axis}] ({shown}) {why}; {accepted}", "config")
