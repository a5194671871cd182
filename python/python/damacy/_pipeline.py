"""The pipeline: push samples in, pop batches out, in push order.

All methods may be called from any thread; none holds the GIL while it waits. Pushed iterables are advanced by one
background thread. Open pipelines are closed at interpreter exit.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType

from damacy import _native
from damacy._batch import Batch, BatchInfo, Device
from damacy._check import instance, integer, optional_seconds
from damacy._dtype import Dtype
from damacy._errors import InvalidArgument
from damacy._values import BatchSpec, CpuExecutor, CudaExecutor, Planner, QueueLimits, Sample


@dataclass(frozen=True, slots=True)
class Stats:
    """Figures of a pipeline since its start or the last reset. Bytes; seconds, summed over threads.

    Attributes:
        batches: Batches popped.
        samples: Samples in them.
        dropped_samples: Samples of dropped partial batches.
        windows: Look-ahead windows planned.
        chunks_decoded: Unique chunks decoded.
        decodes_avoided: Uses served by a chunk that was already decoded, for its window, the one before or in the cache.
        chunks_shared: Chunks of windows that were decoded for the window before as well, which still had to do them.
        cache_hits: Chunks of windows that came out of the cache, neither read nor decoded again.
        chunks_missing: Chunks that were missing and read as the fill value.
        read_bytes: Encoded chunk bytes read.
        index_bytes: Shard index and metadata bytes read.
        decoded_bytes: Decoded bytes.
        needed_bytes: The crops in their source types.
        output_bytes: Bytes of the batches popped.
        upload_bytes: Bytes copied to a GPU: decoded chunks, and the tables of batches.
        allocated_bytes: New output memory: neither this pipeline nor one closed before it had it yet.
        plan_time: Planning, seconds.
        allocate_time: Until the system had provided new output memory, seconds.
        read_time: Reading, seconds.
        decode_time: Decoding, seconds; with a chunk cache, copying into it as well.
        convert_time: Converting and scattering, seconds; for a GPU, staging chunks and starting copies and kernels.
        upload_wait_time: Of it, waiting for copies to a GPU: long where these, and not decoding, are the limit.
        wait_time: What the consumer waited in ``pop``, seconds.
        buffers: Output buffers that exist now.
        buffers_held: Of them, held by the consumer.
        memory_bytes: Bytes of the budget in use now.
        peak_memory_bytes: Highest use of the budget.
        cache_bytes: Of ``memory_bytes``, what chunks in the cache take.
        gpu_memory_bytes: Bytes of the GPU's budget in use now; 0 on the CPU.
        peak_gpu_memory_bytes: Highest use of the GPU's budget.
    """

    batches: int
    samples: int
    dropped_samples: int
    windows: int
    chunks_decoded: int
    decodes_avoided: int
    chunks_shared: int
    cache_hits: int
    chunks_missing: int
    read_bytes: int
    index_bytes: int
    decoded_bytes: int
    needed_bytes: int
    output_bytes: int
    upload_bytes: int
    allocated_bytes: int
    plan_time: float
    allocate_time: float
    read_time: float
    decode_time: float
    convert_time: float
    upload_wait_time: float
    wait_time: float
    buffers: int
    buffers_held: int
    memory_bytes: int
    peak_memory_bytes: int
    cache_bytes: int
    gpu_memory_bytes: int
    peak_gpu_memory_bytes: int

    @property
    def decode_waste(self) -> float | None:
        """Bytes decompressed / bytes needed; None before the first window."""
        return self.decoded_bytes / self.needed_bytes if self.needed_bytes else None

    @property
    def read_waste(self) -> float | None:
        """Bytes read / bytes needed, indexes and metadata apart; None before the first window."""
        return self.read_bytes / self.needed_bytes if self.needed_bytes else None


class Pipeline:
    """Batches out of Zarr arrays.

    Close it, best with ``with``. A pipeline that is dropped is closed too, but one that its own pushed generator refers
    to (``self.pipeline`` in a data set that yields the samples, say) is held by its feeder for as long as it is open:
    Python cannot collect it before the interpreter ends.

    Args:
        output: What every batch looks like.
        executor: Who decodes and converts, and where batches lie, with its memory limits.
        planner: Limits of planning.
        queues: How far to look ahead.
        drop_last: Whether a last partial batch is dropped (and counted), or comes out at the end of iteration.
        pop_timeout_s: Seconds that the consumer may hold every output buffer while it waits for a batch, over all its
            ``pop`` calls, before one raises :class:`PoolStarved`; by default, for ever.

    Raises:
        InvalidArgument: an argument is not what is documented.
        BudgetExceeded: two output buffers do not fit the memory limit.
        NativeCudaError: there is no CUDA driver, or it failed.

    >>> with Pipeline(BatchSpec(samples=2, shape=(3, 3), dtype="u8")) as pipeline:
    ...     pipeline.push([Sample(store, [(0, 3), (0, 3)]), Sample(store, [(3, 6), (0, 3)])])
    ...     print(pipeline.pop(timeout=60))
    <damacy.Batch 0: uint8 (2, 3, 3)>
    """

    __slots__ = ("__weakref__", "_drop_last", "_executor", "_native", "_output")

    def __init__(
        self,
        output: BatchSpec,
        executor: CpuExecutor | CudaExecutor = CpuExecutor(),  # noqa: B008 (immutable)
        planner: Planner = Planner(),  # noqa: B008
        queues: QueueLimits = QueueLimits(),  # noqa: B008
        drop_last: bool = True,
        pop_timeout_s: float | None = None,
    ) -> None:
        if not isinstance(drop_last, bool):
            raise InvalidArgument(f"drop_last is {drop_last!r}; accepted are True and False", "config")
        self._output = instance("output", output, BatchSpec)
        self._executor = instance("executor", executor, CpuExecutor, CudaExecutor)
        self._drop_last = drop_last
        self._native = _native.Pipeline(
            output,
            executor,
            instance("planner", planner, Planner).limits,
            instance("queues", queues, QueueLimits),
            drop_last,
            optional_seconds("pop_timeout_s", pop_timeout_s),
        )
        _open_pipelines.add(self)

    def push(self, samples: Iterable[Sample]) -> None:
        """Hands over samples, to be pulled lazily in the background; returns at once.

        Args:
            samples: Any iterable, an endless generator too. What it raises, and what is wrong with a sample,
                surfaces at the ``pop`` of the batch it belongs to.

        Raises:
            InvalidArgument: ``samples`` is not iterable.
            ShutdownError: the pipeline is closed.
        """
        kind = type(samples)
        if getattr(kind, "__iter__", None) is None and not hasattr(kind, "__getitem__"):
            hint = "; to push one sample, write push([sample])" if isinstance(samples, Sample) else ""
            raise InvalidArgument(f"push got a {kind.__name__}; accepted is an iterable of damacy.Sample{hint}", "push")
        iterator: Iterator[Sample]
        try:
            iterator = iter(samples)
        except Exception as error:
            iterator = _raising(error)
        # Lists and tuples cannot block: several items may be taken from them at a time.
        self._native.push(iterator, 64 if kind in (list, tuple) else 1)

    def pop(self, timeout: float | None = None) -> Batch:
        """The next whole batch.

        Args:
            timeout: Seconds to wait for a batch that can complete; by default, as long as it takes.

        Raises:
            TryAgain: at once if no batch can complete with what was pushed, else after ``timeout``.
            PoolStarved: every output buffer was held by the consumer for ``pop_timeout_s``.
            ShutdownError: the pipeline is closed, now or while waiting.
            DamacyError: what went wrong in this batch; sticky.
        """
        return _batch(self._native.pop(optional_seconds("timeout", timeout)))

    def batches(self, n: int) -> Iterator[Batch]:
        """Iterates over the next ``n`` batches; over fewer if the pushed samples end before."""
        return self._take(integer("n", n, 0))

    def _take(self, n: int) -> Iterator[Batch]:
        for _ in range(n):
            parts = self._native.next(None)
            if parts is None:
                return
            yield _batch(parts)

    def __iter__(self) -> Iterator[Batch]:
        """Iterates until all pushed samples are consumed."""
        return self

    def __next__(self) -> Batch:
        parts = self._native.next(None)
        if parts is None:
            raise StopIteration
        return _batch(parts)

    def stats(self) -> Stats:
        """Figures since the start or the last reset."""
        return Stats(**self._native.stats())

    def reset_stats(self) -> None:
        """Starts the figures anew."""
        self._native.reset_stats()

    def close(self) -> None:
        """Stops everything and wakes blocked calls with :class:`ShutdownError`. Popped batches stay valid. Idempotent."""
        try:
            self._native.close()
        finally:
            _open_pipelines.discard(self)

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<damacy.Pipeline {self._output!r}, {self._executor!r}>"


def _batch(parts: _native._BatchParts) -> Batch:
    id_, shape, dtype, nbytes, tags, buffer = parts
    device = Device(*buffer.__dlpack_device__())
    return Batch(BatchInfo(id_, shape[0], shape, Dtype(dtype), device, nbytes, tags), buffer)


def _raising(error: Exception) -> Iterator[Sample]:
    """An iterator whose first item is ``error``."""
    raise error
    yield


os.register_at_fork(
    before=_native.before_fork, after_in_parent=_native.after_fork, after_in_child=_native.after_fork
)
_open_pipelines: weakref.WeakSet[Pipeline] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    # Whatever one of these raises, the others are called.
    with contextlib.ExitStack() as stack:
        stack.callback(_native.at_exit)
        for pipeline in list(_open_pipelines):
            stack.callback(pipeline.close)
