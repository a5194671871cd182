"""Planning on its own: what a pipeline would read, decode and copy for some samples, known before a chunk is read.

A :class:`Plan` is a set of columns (NumPy arrays, read-only), since it may hold a million uses;
:meth:`Plan.chunks` and :meth:`Plan.to_dict` walk them chunk by chunk.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from damacy import _native
from damacy._check import instance
from damacy._errors import BudgetExceeded, InvalidArgument
from damacy._values import BatchSpec, Planner, Sample

_Integers = npt.NDArray[np.int64]
# Chunks that become objects at a time.
_BLOCK = 1024


@dataclass(frozen=True, slots=True)
class PlannedArray:
    """An array that samples of a plan name.

    Attributes:
        uri: As the samples give it.
        shape: Elements along each axis.
        dtype: Element type.
        chunk_shape: What is read and decoded at once (inside a shard, where there are shards).
        shard_shape: The stored object, or None without shards.
    """

    uri: str
    shape: tuple[int, ...]
    dtype: str
    chunk_shape: tuple[int, ...]
    shard_shape: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class PlanTotals:
    """What a plan costs.

    Attributes:
        elements: Elements of all samples.
        output_bytes: Those elements in the output type.
        batch_bytes: One whole batch in the output type.
        needed_bytes: The samples in their source types.
        decoded_bytes: Every chunk once, decoded.
        largest_chunk_bytes: The largest of those chunks, decoded.
        memory_bytes: Memory to run the plan at once: its batches, one decoded chunk, and the plan itself.
        decode_waste: ``decoded_bytes / needed_bytes``; below 1 where samples overlap, 0 without samples.
        read_bytes: Encoded bytes of the chunks; None as long as they are unknown.
        read_waste: ``read_bytes / needed_bytes``; None as long as it is unknown.
    """

    elements: int
    output_bytes: int
    batch_bytes: int
    needed_bytes: int
    decoded_bytes: int
    largest_chunk_bytes: int
    memory_bytes: int
    decode_waste: float
    read_bytes: int | None
    read_waste: float | None


@dataclass(frozen=True, slots=True)
class ChunkUse:
    """A box that is copied from a chunk into a sample.

    Attributes:
        sample: Which sample, counted from 0.
        source: ``(start, stop)`` along each axis, inside the chunk.
        target: Start along each axis, inside the sample.
    """

    sample: int
    source: tuple[tuple[int, int], ...]
    target: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlannedChunk:
    """A chunk that is read and decoded once.

    Attributes:
        array: Index in ``Plan.arrays``.
        key: Key of the stored object (chunk or shard) that holds it, relative to the array.
        coords: Its coordinates in the grid of the array's ``chunk_shape``.
        uses: Where its elements go, by sample.
    """

    array: int
    key: str
    coords: tuple[int, ...]
    uses: tuple[ChunkUse, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan:
    """What is read, decoded and copied for some samples, as one look-ahead window. Compares by identity.

    The columns are read-only NumPy arrays of int64 for ``n`` unique chunks, in reading order, and ``m`` uses of them.
    The uses of chunk ``c`` are the rows ``chunk_uses[c]`` to ``chunk_uses[c + 1]`` of the ``use_`` columns.

    Attributes:
        output: The batch.
        samples: How many samples were planned.
        arrays: The arrays, in the order of their first sample.
        totals: What the plan costs.
        chunk_array: ``(n,)``: index in ``arrays``.
        chunk_key: ``n`` keys of stored objects (chunk or shard), relative to the array.
        chunk_coords: ``(n, rank)``: coordinates in the grid of the array's ``chunk_shape``.
        chunk_uses: ``(n + 1,)``: the first use of each chunk, and ``m``.
        use_sample: ``(m,)``: index of the sample.
        use_source: ``(m, rank)``: start of the box inside the chunk.
        use_extent: ``(m, rank)``: extent of the box.
        use_target: ``(m, rank)``: start of the box inside the sample.
    """

    output: BatchSpec
    samples: int
    arrays: tuple[PlannedArray, ...]
    totals: PlanTotals
    chunk_array: _Integers
    chunk_key: tuple[str, ...]
    chunk_coords: _Integers
    chunk_uses: _Integers
    use_sample: _Integers
    use_source: _Integers
    use_extent: _Integers
    use_target: _Integers

    def chunks(self) -> Iterator[PlannedChunk]:
        """The chunks in reading order, one object at a time."""
        for first in range(0, len(self.chunk_key), _BLOCK):
            yield from self._block(slice(first, first + _BLOCK))

    def _block(self, chunks: slice) -> Iterator[PlannedChunk]:
        """Some of the chunks; their columns become lists in one go, which is many times faster than one by one."""
        begins = self.chunk_uses[chunks.start : chunks.stop + 1].tolist()
        base, rows = begins[0], slice(begins[0], begins[-1])
        starts = self.use_source[rows]
        boxes = np.stack([starts, starts + self.use_extent[rows]], axis=-1).tolist()
        columns = zip(self.use_sample[rows].tolist(), boxes, self.use_target[rows].tolist(), strict=True)
        uses = [ChunkUse(sample, tuple(map(tuple, box)), tuple(target)) for sample, box, target in columns]
        arrays, coords = self.chunk_array[chunks].tolist(), self.chunk_coords[chunks].tolist()
        for i, key in enumerate(self.chunk_key[chunks]):
            its_uses = tuple(uses[begins[i] - base : begins[i + 1] - base])
            yield PlannedChunk(arrays[i], key, tuple(coords[i]), its_uses)

    def to_dict(self) -> dict[str, Any]:
        """The plan as dicts, tuples, numbers and strings; the chunks one by one, with their uses."""
        output = {**asdict(self.output), "dtype": self.output.dtype.full_name}
        return {
            "output": output,
            "samples": self.samples,
            "arrays": [asdict(array) for array in self.arrays],
            "totals": asdict(self.totals),
            "chunks": [asdict(chunk) for chunk in self.chunks()],
        }

    def to_json(self, indent: int | None = None) -> str:
        """:meth:`to_dict` as JSON; unknown figures are null."""
        return json.dumps(self.to_dict(), indent=indent)

    def __repr__(self) -> str:
        arrays = f"{len(self.arrays)} array{'' if len(self.arrays) == 1 else 's'}"
        return (
            f"<damacy.Plan of {self.samples} samples of {arrays}: {len(self.chunk_key)} chunks, "
            f"{len(self.use_sample)} uses, decode waste {self.totals.decode_waste:.3g}>"
        )

    def __str__(self) -> str:
        totals = self.totals
        read = "unknown" if totals.read_waste is None else f"{totals.read_waste:.3g}"
        lines = [
            f"{self.samples} samples of {self.output.shape} in {self.output.dtype}, {self.output.samples} a batch",
            *(f"from {array.uri}: {_facts(array)}" for array in self.arrays[:10]),
            *([f"and {len(self.arrays) - 10} more arrays"] if len(self.arrays) > 10 else []),
            f"{len(self.chunk_key)} chunks, {len(self.use_sample)} uses",
            f"decode waste {totals.decode_waste:.3g}: {totals.decoded_bytes} bytes for {totals.needed_bytes} needed",
            f"read waste {read}",
            f"{totals.output_bytes} bytes of output, {totals.memory_bytes} bytes of memory to run it at once",
        ]
        return "\n".join(lines)


def plan(output: BatchSpec, samples: Iterable[Sample], planner: Planner = Planner()) -> Plan:  # noqa: B008 (immutable)
    """Plans samples as one look-ahead window, without a pipeline. No chunk is read; metadata is parsed in the sandbox.

    Args:
        output: What every batch looks like.
        samples: A finite iterable of samples. What it raises is passed on.
        planner: Limits of planning; ``max_chunks`` also limits the samples, which need a chunk each.

    Raises:
        InvalidArgument: a box that is out of bounds or has another shape than ``output``; the sample is named, here
            and below.
        RankMismatch: an array has another rank than ``output``.
        DtypeMismatch: an array's type has no conversion.
        NotFound: there is no array.
        BudgetExceeded: a limit of ``planner`` would be passed.
        DamacyError: the array cannot be opened.

    >>> planned = plan(BatchSpec(2, (4, 4), "u8"), [Sample(store, np.s_[y : y + 4, 2:6]) for y in (0, 2)])
    >>> print(planned.totals.decode_waste, planned.use_sample)
    2.0 [0 1 0 1 1 1]
    >>> for chunk in planned.chunks():
    ...     print(chunk.key, chunk.coords, chunk.uses[0])
    c/0/0 (0, 0) ChunkUse(sample=0, source=((0, 4), (2, 4)), target=(0, 0))
    c/0/1 (0, 1) ChunkUse(sample=0, source=((0, 4), (0, 2)), target=(0, 2))
    c/1/0 (1, 0) ChunkUse(sample=1, source=((0, 2), (2, 4)), target=(2, 0))
    c/1/1 (1, 1) ChunkUse(sample=1, source=((0, 2), (0, 2)), target=(2, 2))
    """
    output = instance("output", output, BatchSpec)
    limits = instance("planner", planner, Planner).limits
    boxes = list(boxes_of(samples, limits.max_chunks, "plan"))
    columns = _native.plan(output, boxes, limits)
    loaded = {name: load_column(columns, name) for name in COLUMNS}
    return Plan(output=output, samples=len(boxes), **loaded)


# The fields of a plan that the native module gives, and their axes: n chunks, m uses, the rank.
COLUMNS = {
    "arrays": "",
    "totals": "",
    "chunk_array": "n",
    "chunk_key": "",
    "chunk_coords": "nr",
    "chunk_uses": "+",
    "use_sample": "m",
    "use_source": "mr",
    "use_extent": "mr",
    "use_target": "mr",
}


def load_column(columns: _native.PlanColumns, name: str) -> Any:
    """A field of a plan."""
    if name == "arrays":
        return tuple(PlannedArray(**fields) for fields in columns.arrays())
    if name == "totals":
        return PlanTotals(**columns.totals())
    if name == "chunk_key":
        return columns.keys()
    chunks, uses, rank = columns.counts()
    extents = {"n": chunks, "+": chunks + 1, "m": uses, "r": rank}
    return _column(columns.integers(name), tuple(extents[axis] for axis in COLUMNS[name]))


def boxes_of(
    samples: Iterable[Sample], most: int, what: str, name: str = "samples"
) -> Iterator[tuple[str, tuple[tuple[int, int], ...]]]:
    """URI and box of each sample, of ``most`` at most; ``what`` (``plan`` or ``estimate``) is who asks."""
    if isinstance(samples, Sample) or not isinstance(samples, Iterable):
        hint = f"; for one sample, write {what}(output, [sample])" if isinstance(samples, Sample) else ""
        raise InvalidArgument(
            f"{name} is a {type(samples).__name__}; accepted is an iterable of damacy.Sample{hint}", what
        )
    for index, sample in enumerate(samples):
        if not isinstance(sample, Sample):
            raise InvalidArgument(f"sample {index} is a {type(sample).__name__}; accepted is a damacy.Sample", what)
        if index >= most:
            raise BudgetExceeded(
                f"sample {index} is one more than PlanLimits.max_chunks, {most}, and each needs a chunk; {what} fewer "
                "samples at once or raise max_chunks",
                what,
            )
        yield sample.uri, sample.aabb


def _column(column: bytes, shape: tuple[int, ...]) -> _Integers:
    return np.frombuffer(column, "<i8").reshape(shape)


def _facts(array: PlannedArray) -> str:
    shards = "" if array.shard_shape is None else f", shards {array.shard_shape}"
    return f"{array.dtype} {array.shape}, chunks {array.chunk_shape}{shards}"
