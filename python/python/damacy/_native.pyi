"""The compiled module: what the pure-Python surface stands on. Not for direct use."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, final

from damacy._estimate import Job
from damacy._pool_values import TenantLimits
from damacy._values import BatchSpec, CpuExecutor, CudaExecutor, PlanLimits, QueueLimits, Sample

__all__ = [
    "ArrayFacts",
    "Buffer",
    "Cancel",
    "Pipeline",
    "PlanColumns",
    "PlannerPool",
    "Tenant",
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
# run_s, wait_s, memory_bytes, fuel
_Used: TypeAlias = tuple[float, float, int, int | None]
# bounds of int64 in C order, (samples, axes, 2), and each sample's array, (samples,), or None: all of the first
_Boxes: TypeAlias = tuple[Any, Any | None]
_ListedBoxes: TypeAlias = list[tuple[int, tuple[tuple[int, int], ...]]]
# format, bytes
_Document: TypeAlias = tuple[int, bytes]

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

@final
class PlanColumns:
    """A plan, given out column by column."""

    def counts(self) -> tuple[int, int, int]:
        """Chunks, uses, axes."""
    def integers(self, name: str) -> bytes:
        """A column of int64, little-endian."""
    def keys(self) -> tuple[str, ...]: ...
    def arrays(self) -> tuple[dict[str, Any], ...]: ...
    def totals(self) -> dict[str, Any]: ...

def plan(
    output: BatchSpec, samples: list[tuple[str, tuple[tuple[int, int], ...]]], limits: PlanLimits
) -> PlanColumns:
    """Plans all samples as one window."""

@final
class Cancel:
    """The token of a ``damacy.Cancel``."""

    def __new__(cls) -> Cancel: ...
    def cancel(self) -> None: ...
    def cancelled(self) -> bool: ...

@final
class ArrayFacts:
    """What parsing a document gave."""

    def info(self, name: str) -> str:
        """The fields of a ``damacy.ArrayInfo`` as JSON."""

@final
class PlannerPool:
    """The host's pool."""

    def __new__(
        cls, limits: TenantLimits, running: int | None, standing: int, tenants: int, name_bytes: int
    ) -> PlannerPool: ...
    def tenant(self, name: str, cancel: Cancel | None) -> Tenant: ...
    def set_limits(self, tenant: str, limits: TenantLimits) -> None: ...
    def limits(self, tenant: str) -> dict[str, Any]: ...
    def metrics(self, tenant: str) -> dict[str, Any] | None: ...
    def tenants(self) -> tuple[str, ...]: ...
    def remove(self, tenant: str) -> bool: ...
    def close(self) -> None: ...

@final
class Tenant:
    """One tenant's calls; they release the GIL, and on the main thread notice signals."""

    def parse_metadata(self, document: _Document) -> tuple[ArrayFacts, _Used]: ...
    def plan(
        self,
        output: BatchSpec,
        names: list[str],
        documents: list[_Document],
        parsed: list[ArrayFacts],
        boxes: _Boxes | None,
        listed: _ListedBoxes,
        ratios: list[float],
    ) -> tuple[PlanColumns, int, _Used]: ...
    def validate(
        self,
        output: BatchSpec,
        names: list[str],
        documents: list[_Document],
        parsed: list[ArrayFacts],
        boxes: _Boxes | None,
        listed: _ListedBoxes,
        ratios: list[float],
    ) -> tuple[dict[str, Any], list[dict[str, Any]], int, _Used]: ...
    def estimate(
        self,
        job: Job,
        documents: list[_Document],
        parsed: list[ArrayFacts],
        boxes: _Boxes | None,
        listed: _ListedBoxes,
    ) -> tuple[str, _Used]: ...
    def check_samples(self, samples: int) -> None:
        """Raises if a tenant may not have so many."""
    def invalid(self, message: str, sample: int | None) -> Exception:
        """The exception for a job that the package refuses itself."""

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
