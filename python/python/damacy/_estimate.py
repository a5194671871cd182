"""Pricing a job before a byte is read: a batch and its crops -> chunks, bytes, waste, memory and advice.

The cost model runs in the sandbox; ``docs/cost-model.md`` has its formulas.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from damacy import _native
from damacy._check import instance, integer, uri
from damacy._cost import Estimate, estimate_of
from damacy._errors import InvalidArgument
from damacy._plan import boxes_of
from damacy._values import BatchSpec, PlanLimits, Planner, Sample, _is_scalar

# Encoded bytes / decoded bytes, or the encoded bytes of each chunk in C order, 0 for a missing one.
Encoded: TypeAlias = float | Sequence[int]


@dataclass(frozen=True, slots=True)
class Uniform:
    """Independent crops: first an array by its weight, then a start uniform over all places where the crop fits.

    Args:
        arrays: Paths or ``file://`` URIs, each once; a single one may stand alone.
        weights: How often each array is drawn, relative to the others; by default all alike.

    >>> Uniform("volume.zarr")
    Uniform(arrays=('volume.zarr',), weights=None)
    """

    arrays: tuple[str, ...]
    weights: tuple[int, ...] | None

    def __init__(
        self,
        arrays: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        weights: Iterable[int] | None = None,
    ) -> None:
        object.__setattr__(self, "arrays", _uris("Uniform.arrays", arrays))
        object.__setattr__(self, "weights", _weights("Uniform.weights", weights, len(self.arrays)))


@dataclass(frozen=True, slots=True)
class Grid:
    """Independent crops as :class:`Uniform`'s, with starts that are multiples of a stride.

    Args:
        arrays: As :class:`Uniform`'s.
        stride: Elements along each axis; by default the crop's own shape.
        weights: As :class:`Uniform`'s.

    >>> Grid(["a.zarr", "b.zarr"], stride=(8, 8), weights=(3, 1))
    Grid(arrays=('a.zarr', 'b.zarr'), stride=(8, 8), weights=(3, 1))
    """

    arrays: tuple[str, ...]
    stride: tuple[int, ...] | None
    weights: tuple[int, ...] | None

    def __init__(
        self,
        arrays: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        stride: Iterable[int] | None = None,
        weights: Iterable[int] | None = None,
    ) -> None:
        object.__setattr__(self, "arrays", _uris("Grid.arrays", arrays))
        steps = None if stride is None else _integers("Grid.stride", stride, 1)
        object.__setattr__(self, "stride", steps)
        object.__setattr__(self, "weights", _weights("Grid.weights", weights, len(self.arrays)))


@dataclass(frozen=True, slots=True)
class JobArray:
    """An array as the native module takes it."""

    uri: str
    weight: int
    ratio: float | None
    sizes: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the native module takes it."""

    output: BatchSpec
    arrays: list[JobArray]
    kind: str
    samples: list[tuple[str, tuple[tuple[int, int], ...]]]
    stride: tuple[int, ...]
    window: int
    workers: int
    memory_bytes: int
    chunk_cache_bytes: int
    advise_layout: int | None
    advise_lookahead: bool
    limits: PlanLimits


def estimate(
    output: BatchSpec,
    crops: Iterable[Sample] | Uniform | Grid,
    *,
    window: int = 64,
    encoded: Mapping[str, Encoded] | float | None = None,
    workers: int = 1,
    memory_bytes: int = 1 << 30,
    chunk_cache_bytes: int = 0,
    advise_layout: str | os.PathLike[str] | None = None,
    advise_lookahead: bool = False,
    planner: Planner = Planner(),  # noqa: B008 (immutable)
) -> Estimate:
    """Prices a job, without a pipeline: exactly for given samples, on average for crops that are drawn.

    No chunk is read; metadata is parsed, and the cost model runs, in the sandbox.

    Args:
        output: What every batch looks like.
        crops: A finite iterable of samples, :class:`Uniform` or :class:`Grid`.
        window: Samples of a look-ahead window; rounded down to whole batches, but at least one batch.
        encoded: What is known of encoded sizes: a ratio (encoded bytes / decoded bytes) for all arrays, or for arrays
            by their URI a ratio, or the bytes of each chunk in C order (0 for a missing one).
        workers: Decodes at a time.
        memory_bytes: Host memory that the pipeline may use; bounds the advised look-ahead.
        chunk_cache_bytes: Of it, what the chunk cache may take. It adds to the memory; what is decoded is told as if it
            were empty, which is the most.
        advise_layout: The array whose chunk and shard shape to advise on.
        advise_lookahead: Whether to advise on the look-ahead.
        planner: Limits of planning, which hold for pricing too.

    Raises:
        InvalidArgument: a box that is out of bounds, a crop that fits nowhere, weights, strides or sizes that do not
            match.
        RankMismatch: an array has another rank than ``output``.
        DtypeMismatch: an array's type has no conversion.
        NotFound: there is no array.
        BudgetExceeded: a limit of ``planner`` would be passed.
        DamacyError: the array cannot be opened.

    >>> cost = estimate(BatchSpec(2, (4, 4), "bf16"), Uniform(store), window=8, encoded=0.5)
    >>> cost.certainty.value, cost.output_bytes["bfloat16"], round(cost.chunks, 2)
    ('expected', 256, 7.75)
    >>> cost = estimate(BatchSpec(2, (4, 4)), [Sample(store, np.s_[y : y + 4, 0:4]) for y in (0, 2)])
    >>> cost.certainty.value, cost.uses, cost.chunks, cost.read_bytes
    ('exact', 3.0, 2.0, None)
    """
    output = instance("output", output, BatchSpec)
    limits = instance("planner", planner, Planner).limits
    samples: list[tuple[str, tuple[tuple[int, int], ...]]] = []
    stride: tuple[int, ...] = ()
    weights: tuple[int, ...] | None = None
    if isinstance(crops, (Uniform, Grid)):
        kind = "grid" if isinstance(crops, Grid) else "uniform"
        uris, weights = list(crops.arrays), crops.weights
        stride = (crops.stride or ()) if isinstance(crops, Grid) else ()
    else:
        kind = "boxes"
        samples = list(boxes_of(crops, limits.max_chunks, "estimate", "crops"))
        uris = list(dict.fromkeys(name for name, _ in samples))
    if not isinstance(advise_lookahead, (bool, np.bool_)):
        raise InvalidArgument(f"advise_lookahead is {advise_lookahead!r}; accepted are True and False", "config")
    job = Job(
        output=output,
        arrays=_arrays(uris, weights, encoded),
        kind=kind,
        samples=samples,
        stride=stride,
        window=integer("window", window, 1),
        workers=integer("workers", workers, 1),
        memory_bytes=integer("memory_bytes", memory_bytes, 1),
        chunk_cache_bytes=integer("chunk_cache_bytes", chunk_cache_bytes, 0),
        advise_layout=None if advise_layout is None else _index(uris, advise_layout),
        advise_lookahead=bool(advise_lookahead),
        limits=limits,
    )
    return estimate_of(output, json.loads(_native.estimate(job)), Estimate)


def _arrays(uris: list[str], weights: tuple[int, ...] | None, encoded: object) -> list[JobArray]:
    """The arrays with what is known of each."""
    ratios: list[float | None] = [None] * len(uris)
    sizes: list[tuple[int, ...] | None] = [None] * len(uris)
    if isinstance(encoded, Mapping):
        for key, known in encoded.items():
            at = _index(uris, key, "encoded")
            if isinstance(known, (int, float, np.integer, np.floating)):
                ratios[at] = _ratio(f"encoded[{key!r}]", known)
            else:
                sizes[at] = _integers(f"encoded[{key!r}]", known, 0)
    elif encoded is not None:
        ratios = [_ratio("encoded", encoded)] * len(uris)
    fields = zip(uris, weights or [1] * len(uris), ratios, sizes, strict=True)
    return [JobArray(*its) for its in fields]


def _ratio(what: str, given: object) -> float:
    number = isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool)
    if not number or not math.isfinite(given) or given <= 0:  # type: ignore[arg-type, operator]
        raise InvalidArgument(
            f"{what} is {given!r}; accepted is a ratio above 0 (encoded bytes / decoded bytes)", "config"
        )
    return float(given)  # type: ignore[arg-type]


def _index(uris: list[str], given: object, what: str = "advise_layout") -> int:
    if isinstance(given, (str, os.PathLike)) and (named := uri(what, given)) in uris:
        return uris.index(named)
    raise InvalidArgument(f"{what} names {given!r}; accepted are the arrays of the crops: {uris[:10]}", "config")


def _uris(what: str, given: object) -> tuple[str, ...]:
    if isinstance(given, (str, os.PathLike)):
        return (uri(what, given),)
    if isinstance(given, Iterable) and not isinstance(given, (bytes, bytearray)):
        given = tuple(given)
        entries = tuple(uri(f"{what}[{index}]", entry) for index, entry in enumerate(given))
        if entries and len(set(entries)) == len(entries):
            return entries
    raise InvalidArgument(
        f"{what} is {given!r}; accepted are the path or file:// URI of an array, or several, each once", "config"
    )


def _integers(what: str, given: object, least: int) -> tuple[int, ...]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) or _is_scalar(given):
        raise InvalidArgument(f"{what} is {given!r}; accepted is a sequence of integers", "config")
    return tuple(integer(f"{what}[{index}]", entry, least) for index, entry in enumerate(given))


def _weights(what: str, given: object, arrays: int) -> tuple[int, ...] | None:
    if given is None:
        return None
    weights = _integers(what, given, 0)
    if len(weights) != arrays or not any(weights):
        raise InvalidArgument(
            f"{what} is {weights}; accepted is one for each of {arrays} arrays, at least one of them above 0", "config"
        )
    return weights
