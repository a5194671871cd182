"""The compiled module: what the pure-Python surface stands on. Not for direct use."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, final

from damacy._estimate import Job
from damacy._values import BatchSpec, CpuExecutor, CudaExecutor, PlanLimits, QueueLimits, Sample

__all__ = [
    "Buffer",
    "Pipeline",
    "__version__",
    "after_fork",
    "at_exit",
    "before_fork",
    "bench",
    "convert",
    "cuda_device_count",
    "cuda_unavailable",
    "estimate",
    "inspect",
    "plan",
]
__version__: str

# id, shape, dtype, nbytes, tags, memory
_BatchParts: TypeAlias = tuple[int, tuple[int, ...], int, int, tuple[Any, ...], Buffer]

@final
class Buffer:
    """Keeps a batch's memory alive and exports it by DLPack and the buffer protocol (bytes)."""

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def hold_until(self, event: int) -> None:
        """Keeps a buffer on a GPU from being written again before a CUDA event."""
    def copy_to(self, host: Any) -> None:
        """Copies the batch's bytes into a writable buffer of as many."""
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Pipeline:
    """The host's pipeline; its waits release the GIL and notice signals."""

    def __new__(
        cls,
        output: BatchSpec,
        executor: CpuExecutor | CudaExecutor,
        limits: PlanLimits,
        queues: QueueLimits,
        drop_last: bool,
        pop_timeout_s: float | None,
    ) -> Pipeline: ...
    def push(self, samples: Iterator[Sample], at_a_time: int) -> None: ...
    def pop(self, timeout: float | None) -> _BatchParts: ...
    def next(self, timeout: float | None) -> _BatchParts | None: ...
    def stats(self) -> dict[str, Any]: ...
    def reset_stats(self) -> None: ...
    def close(self) -> None: ...

def convert(
    source: Any, source_type: str, big_endian: bool, out: Any, dtype: int, engine: str, threads: int | None
) -> None:
    """Converts the elements of one buffer into another of the same shape, any strides, not overlapping."""

def plan(
    output: BatchSpec, samples: list[tuple[str, tuple[tuple[int, int], ...]]], limits: PlanLimits
) -> dict[str, Any]:
    """The fields of a ``damacy.Plan``; columns of int64 as little-endian bytes."""

def cuda_unavailable() -> str | None:
    """Why CUDA cannot be used, in one sentence; None if it can."""

def cuda_device_count() -> int:
    """The devices that the driver shows to this process; 0 without a driver."""

def estimate(job: Job) -> str:
    """The fields of a ``damacy.Estimate`` as JSON."""

def inspect(uri: str) -> str:
    """The fields of a ``damacy.ArrayInfo`` or ``damacy.GroupInfo`` as JSON."""

def at_exit() -> None:
    """Makes background threads leave Python alone from now on."""

def before_fork() -> None:
    """Waits until no background thread is making its interpreter state, and keeps it so."""

def after_fork() -> None:
    """Undoes :func:`before_fork`."""

def bench(args: Sequence[str], python: str) -> int:
    """The benchmark's command, for a process of its own: its exit code. Peers run with the program `python`."""
