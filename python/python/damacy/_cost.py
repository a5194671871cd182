"""What a job costs: the figures of :func:`damacy.estimate`, as values that compare, print and convert to JSON."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from typing import Any, TypeVar

from damacy._plain import plain
from damacy._plan import PlannedArray
from damacy._values import BatchSpec


class Certainty(enum.StrEnum):
    """How far figures can be trusted."""

    EXACT = "exact"
    """They are what the planner will find."""
    EXPECTED = "expected"
    """They are averages over all draws."""
    APPROXIMATE = "approximate"
    """Averages; the number of different chunks is never too low, and less than 0.1 % too high in tests."""


@dataclass(frozen=True, slots=True)
class HostMemory:
    """Host memory to run look-ahead windows of one size without a pause.

    Attributes:
        batch_bytes: One batch in the output type.
        buffers: Output buffers: two windows of whole batches.
        decode_bytes: Decoding one of the largest chunks.
        workers: Decodes at a time.
        plan_bytes: The plans of two windows.
        cache_bytes: The chunk cache.
        total_bytes: ``buffers * batch_bytes + workers * decode_bytes + plan_bytes + cache_bytes``.
        least_bytes: The least that runs at all, one batch at a time.
    """

    batch_bytes: int
    buffers: int
    decode_bytes: int
    workers: int
    plan_bytes: int
    cache_bytes: int
    total_bytes: int
    least_bytes: int


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """Device memory to assemble batches there while the next one is uploaded.

    Attributes:
        output_bytes: Two output buffers.
        staging_bytes: Decoded chunks of two batches, in their source types.
        table_bytes: The tables of uses of two batches.
        total_bytes: Their sum.
    """

    output_bytes: int
    staging_bytes: int
    table_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout of an array and what crops cost with it.

    Attributes:
        chunk_shape: What is read and decoded at once.
        shard_shape: The stored object, or None without shards.
        chunk_bytes: Bytes of one decoded chunk.
        uses_per_sample: Chunks that a crop of the array touches, on average.
        chunks: Different chunks of the array in a window.
        objects: Different stored objects of the array in a window.
        decode_waste: Decoded bytes / needed bytes of the array's crops.
    """

    chunk_shape: tuple[int, ...]
    shard_shape: tuple[int, ...] | None
    chunk_bytes: int
    uses_per_sample: float
    chunks: float
    objects: float
    decode_waste: float


@dataclass(frozen=True, slots=True)
class LayoutAdvice:
    """The current layout of an array and the best one found.

    Attributes:
        array: Index in ``Estimate.arrays``.
        current: As it is stored.
        best: The one that costs least; the current one where that saves less than 5 %.
    """

    array: int
    current: Layout
    best: Layout


@dataclass(frozen=True, slots=True)
class LookAheadStep:
    """A window and its waste.

    Attributes:
        samples: Samples of the window.
        decode_waste: Decoded bytes / needed bytes with such windows.
    """

    samples: int
    decode_waste: float


@dataclass(frozen=True, slots=True)
class LookAheadAdvice:
    """How far to look ahead.

    Attributes:
        enough: Samples of the smallest window beyond which waste falls by less than 5 %; 0 if not even one batch fits.
        most: Samples of the largest window that memory, limits and crops allow; 0 if not even one batch fits.
        steps: One batch, doubled until ``most``, and ``most`` itself.
    """

    enough: int
    most: int
    steps: tuple[LookAheadStep, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a job costs. Byte counts of drawn crops are averages, rounded to whole bytes.

    Attributes:
        output: The batch.
        arrays: The arrays.
        certainty: How far to trust the figures.
        samples: Samples that all sums are over: the given ones, or one window of drawn crops.
        windows: Windows that these samples make.
        elements: Elements of all samples.
        output_bytes: Those elements in each output type, by its full name.
        needed_bytes: The crops in their source types.
        uses: Chunk uses: a chunk needed by two samples counts twice.
        chunks: Different chunks in each window, summed over windows.
        objects: Different stored objects (shards, or chunks where there are none) in each window, summed over windows.
        decoded_bytes: Chunks to decode, each once a window; with a chunk cache, the most: as if it were empty.
        read_bytes: Encoded bytes of those chunks; None as long as they are unknown.
        largest_chunk_bytes: The largest decoded chunk.
        decode_waste: ``decoded_bytes / needed_bytes``.
        use_waste: Decode waste if every use were decoded on its own.
        read_waste: ``read_bytes / needed_bytes``; None as long as it is unknown.
        host: Host memory to run such windows.
        device: Device memory to assemble batches on an accelerator.
        layout: The advice on a layout, if it was asked for.
        lookahead: The advice on the look-ahead, if it was asked for.
    """

    output: BatchSpec
    arrays: tuple[PlannedArray, ...]
    certainty: Certainty
    samples: int
    windows: int
    elements: int
    output_bytes: dict[str, int]
    needed_bytes: int
    uses: float
    chunks: float
    objects: float
    decoded_bytes: int
    read_bytes: int | None
    largest_chunk_bytes: int
    decode_waste: float
    use_waste: float
    read_waste: float | None
    host: HostMemory
    device: DeviceMemory
    layout: LayoutAdvice | None
    lookahead: LookAheadAdvice | None

    def to_dict(self) -> dict[str, Any]:
        """Dicts, lists, numbers and strings; what is unknown is None."""
        fields: dict[str, Any] = plain(self)
        return fields

    def to_json(self, indent: int | None = None) -> str:
        """:meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        read = "unknown" if self.read_waste is None else f"{self.read_waste:.3g}: {self.read_bytes} bytes"
        output = self.output_bytes[self.output.dtype.full_name]
        lines = [
            f"{self.samples} samples of {self.output.shape} in {self.output.dtype}, {self.output.samples} a batch, "
            f"in {self.windows} window{'' if self.windows == 1 else 's'} ({self.certainty})",
            *(f"from {a.uri}: {a.dtype} {a.shape}, chunks {a.chunk_shape}" for a in self.arrays[:10]),
            *([f"and {len(self.arrays) - 10} more arrays"] if len(self.arrays) > 10 else []),
            f"{self.chunks:.2f} different chunks, {self.uses:.2f} uses, {self.objects:.2f} stored objects",
            f"decode waste {self.decode_waste:.3g}: {self.decoded_bytes} bytes for {self.needed_bytes} needed; "
            f"{self.use_waste:.3g} if every use were decoded alone",
            f"read waste {read}",
            f"{output} bytes of output; host memory {self.host.total_bytes} bytes, at least {self.host.least_bytes}",
        ]
        if self.layout is not None:
            best = self.layout.best
            where = f"{self.arrays[self.layout.array].uri}: chunks {best.chunk_shape}, shards {best.shard_shape}"
            lines.append(f"best layout of {where}, decode waste {best.decode_waste:.3g}")
        if self.lookahead is not None:
            lines.append(f"look-ahead: {self.lookahead.enough} samples are enough, {self.lookahead.most} at most")
        return "\n".join(lines)


_E = TypeVar("_E", bound=Estimate)


def estimate_of(output: BatchSpec, fields: dict[str, Any], make: type[_E], **more: Any) -> _E:
    """The estimate of the native module's fields, and ``more``."""
    layout, lookahead = fields["layout"], fields["lookahead"]
    if layout is not None:
        layout = LayoutAdvice(layout["array"], _layout(layout["current"]), _layout(layout["best"]))
    if lookahead is not None:
        steps = tuple(LookAheadStep(**step) for step in lookahead["steps"])
        lookahead = LookAheadAdvice(lookahead["enough"], lookahead["most"], steps)
    return make(
        **{
            **fields,
            **more,
            "output": output,
            "arrays": tuple(PlannedArray(**_shapes(array)) for array in fields["arrays"]),
            "certainty": Certainty(fields["certainty"]),
            "host": HostMemory(**fields["host"]),
            "device": DeviceMemory(**fields["device"]),
            "layout": layout,
            "lookahead": lookahead,
        }
    )


def _layout(fields: dict[str, Any]) -> Layout:
    return Layout(**_shapes(fields))


def _shapes(fields: dict[str, Any]) -> dict[str, Any]:
    """The same fields, their lists as tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
