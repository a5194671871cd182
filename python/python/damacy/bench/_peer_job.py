"""What a peer is asked to do, and what its loader must be able to do. A start request -> `Job`."""

from __future__ import annotations

import dataclasses
import os
import urllib.parse
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import ml_dtypes
import numpy as np

Setting = dict[str, Any]
Sample = tuple[int, tuple[int, ...]]  # number of the array, starts


class Refused(Exception):
    """The peer cannot run this job; the message says why."""


@dataclasses.dataclass(frozen=True)
class Job:
    """The crops of a pass, and what becomes of them."""

    paths: list[str]
    sources: list[np.dtype]
    crop: tuple[int, ...]
    batches: list[list[Sample]]
    dtype: np.dtype
    memory_bytes: int
    threads: int
    hold_s: float
    touch: bool
    spare: list[np.ndarray] = dataclasses.field(default_factory=list)

    @staticmethod
    def of(request: dict[str, Any]) -> Job:
        """The job of a start request."""
        samples = [(array, tuple(starts)) for array, starts in request["samples"]]
        size = request["batch"]
        return Job(
            paths=[path_of(uri) for uri in request["arrays"]],
            sources=[np.dtype(source) for source in request["sources"]],
            crop=tuple(request["crop"]),
            batches=[samples[at : at + size] for at in range(0, len(samples), size)],
            dtype=np.dtype(ml_dtypes.bfloat16 if request["dtype"] == "bfloat16" else request["dtype"]),
            memory_bytes=request["memory_bytes"],
            threads=request["threads"],
            hold_s=request["hold_s"],
            touch=request["touch"],
        )

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Samples of a batch, then the crop."""
        return (len(self.batches[0]), *self.crop)

    @property
    def arrays(self) -> list[int]:
        """Numbers of the arrays that have a crop."""
        return sorted({array for batch in self.batches for array, _ in batch})

    def first(self, count: int | None) -> Job:
        """The same with its first batches alone; they are put into the same memory."""
        return self if count is None else dataclasses.replace(self, batches=self.batches[:count])

    def box(self, starts: tuple[int, ...]) -> tuple[slice, ...]:
        """A crop as an index."""
        return tuple(slice(start, start + extent) for start, extent in zip(starts, self.crop, strict=True))

    def batches_ahead(self, most: tuple[int, ...]) -> list[int]:
        """Those numbers of batches ahead with which the batches themselves fit into our memory budget."""
        batch_bytes = int(np.prod(self.batch_shape)) * self.dtype.itemsize
        return [ahead for ahead in most if ahead == most[0] or (ahead + 1) * batch_bytes <= self.memory_bytes]

    def in_order(
        self, ahead: int, begin: Callable[[np.ndarray, list[Sample]], Any], end: Callable[[np.ndarray, Any], None]
    ) -> Iterator[tuple[int, np.ndarray]]:
        """All batches in order, each with its number, while `ahead` more are on their way.

        `begin` starts to fill a batch's memory, `end` waits for it. A batch is valid until the next one is asked for:
        its memory is used again, in this pass and in later ones, as ours is.
        """
        count = min(ahead + 1, len(self.batches))
        self.spare.extend(np.empty(self.batch_shape, self.dtype) for _ in range(count - len(self.spare)))
        free = self.spare[:count]
        flying: deque[tuple[np.ndarray, Any]] = deque()
        todo = iter(self.batches)

        def issue() -> None:
            batch = next(todo, None) if free else None
            if batch is not None:
                out = free.pop()
                flying.append((out, begin(out, batch)))

        for _ in range(ahead):
            issue()
        for index in range(len(self.batches)):
            issue()
            out, pending = flying.popleft()
            end(out, pending)
            yield index, out
            free.append(out)


def path_of(uri: str) -> str:
    """The folder that a path or a file:// URI names."""
    if uri.startswith("file://"):
        uri = urllib.parse.unquote(urllib.parse.urlsplit(uri).path)
    return os.path.abspath(uri)


class Loader(Protocol):
    """A peer at work on a job."""

    name: str
    version: str
    job: Job
    own_cast_name: str

    def settings(self) -> list[Setting]:
        """Everything worth a try."""

    def try_to_open(self) -> None:
        """Raises `Refused` for an array that cannot be opened."""

    def batches(self, job: Job, setting: Setting) -> Iterator[tuple[int, np.ndarray]]:
        """A pass over this job, or over its first batches: everything opened anew, batches in order, by damacy's rules."""

    def own_cast(self, sample: Sample) -> np.ndarray:
        """A crop in the output type as the peer itself casts it."""
