"""A finished batch: its facts, and its memory for any consumer without a copy.

A :class:`Batch` holds its buffer until it is released or collected. Every view (DLPack capsule, NumPy array) holds
the buffer on its own, beyond the batch and the pipeline; the buffer goes back to the pool, to be written again,
only when the last of them is gone.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from damacy import _native
from damacy._check import INT64_MAX
from damacy._dtype import Dtype
from damacy._errors import InvalidArgument

# DLPack's number for host memory.
_CPU = 1


class Device(NamedTuple):
    """Where a batch lies, as DLPack writes it: ``(1, 0)`` is the CPU, ``(2, n)`` GPU ``n``.

    >>> str(Device(1, 0)), str(Device(2, 1))
    ('cpu', 'cuda:1')
    """

    device_type: int
    device_id: int

    def __str__(self) -> str:
        """As torch writes it."""
        return "cpu" if self.device_type == _CPU else f"cuda:{self.device_id}"


@dataclass(frozen=True, slots=True)
class BatchInfo:
    """What a batch holds.

    Attributes:
        id: 0, 1, 2 ... in push order.
        samples: Samples in the batch, ``shape[0]``.
        shape: ``(samples, *sample shape)``.
        dtype: Element type.
        device: Where the batch lies; equal to DLPack's ``(device_type, device_id)``.
        nbytes: Bytes of the batch.
        tags: The ``tag`` of each sample.
    """

    id: int
    samples: int
    shape: tuple[int, ...]
    dtype: Dtype
    device: Device
    nbytes: int
    tags: tuple[Any, ...]


class Batch:
    """A batch of samples, C-contiguous and aligned to 64 bytes.

    ``np.asarray(batch)``, ``np.from_dlpack(batch)``, ``torch.from_dlpack(batch)`` and
    ``jax.dlpack.from_dlpack(batch)`` view it without a copy. (NumPy's DLPack has no bfloat16;
    ``np.asarray`` gives :class:`ml_dtypes.bfloat16`.)

    A batch on a GPU is viewed by ``torch.from_dlpack(batch)``, ``cupy.from_dlpack(batch)`` and the like, also without a
    copy; :meth:`to_host` copies it into a NumPy array. Nothing waits for the GPU on the way: the consumer's stream does.
    When the last view of such a batch is gone, the buffer is written again only after the work that is on the view's
    stream by then. Work on another stream must be waited for by that one before, or given to :meth:`release` as an event.

    CUDA graphs: a batch is viewed before a capture begins, and copied into a tensor that the graph reads. A view that is
    dropped while its stream is captured keeps the buffer from being written until the capture has ended; the stream must
    live until the buffer is written again, or the pipeline closed.
    """

    __slots__ = ("__weakref__", "_buffer", "_info")

    def __init__(self, info: BatchInfo, buffer: _native.Buffer) -> None:
        self._info = info
        self._buffer: _native.Buffer | None = buffer

    @property
    def info(self) -> BatchInfo:
        """What the batch holds; still there after the release."""
        return self._info

    def release(self, event: object = None) -> None:
        """Lets go of the buffer. Views made before stay valid and keep it from the pool. Idempotent.

        Args:
            event: For a batch on a GPU: a CUDA event that marks the end of the consumer's work, recorded already. The
                buffer is not written again before. An int (its handle) or an object that has it as ``cuda_event``
                (torch's), ``ptr`` (CuPy's) or ``handle``; it may be destroyed afterwards. A batch on the CPU accepts
                None only.

        Raises:
            InvalidArgument: what is no event, an event of a CUDA graph's capture, or an event for a batch on the CPU or one
                that was released.
            NativeCudaError: the driver does not know the event.
        """
        if event is not None:
            if self._info.device.device_type == _CPU:
                raise InvalidArgument(f"event is {event!r}; a batch on the CPU accepts None only", "release")
            self._held("release").hold_until(_event_handle(event))
        self._buffer = None

    def _held(self, what: str = "export") -> _native.Buffer:
        buffer = self._buffer
        if buffer is None:
            raise InvalidArgument(
                f"batch {self._info.id} has been released; make views before release(), or keep the batch", what
            )
        return buffer

    def to_host(self) -> np.ndarray[Any, Any]:
        """A copy in host memory, from wherever the batch lies.

        On a GPU this waits for the batch, and for nothing else: what a consumer writes into a view must be done before
        (``torch.cuda.current_stream().synchronize()``).
        """
        buffer = self._held()
        flat = np.empty(self._info.nbytes, np.uint8)
        buffer.copy_to(flat)
        return flat.view(self._info.dtype.numpy).reshape(self._info.shape)

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule, as the Python array API standard says.

        Args:
            stream: The CPU has no streams: None. On a GPU the one that the consumer works on, which is made to wait for
                the batch: None or 1 for the legacy default stream, 2 for the per-thread default stream, a handle, or -1
                for no synchronisation at all. A stream must live until the consumer has dropped its tensor: what it
                then has queued there is waited for before the memory is written again.
            max_version: ``(1, 0)`` or above gives a versioned capsule, None or below a legacy one.
            dl_device: None or the batch's own; for a batch on a GPU also ``(1, 0)``, for a copy in host memory.
            copy: True gives a copy of its own, beside the pipeline's budget; None copies to another device, False never.

        Raises:
            BufferError: for another device, a copy that cannot be made, or a stream on the CPU.
            InvalidArgument: a stream that is none, or that is being captured into a CUDA graph.
            NativeCudaError: a stream that the driver does not know.
        """
        return self._held().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """``(1, 0)``: the CPU; ``(2, n)``: GPU ``n``."""
        return self._held().__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """A NumPy view (a copy for another ``dtype``, or for ``copy=True``); TypeError for a batch on a GPU."""
        if self._info.device.device_type != _CPU:
            raise TypeError(
                f"batch {self._info.id} lies on {self._info.device}, which NumPy cannot view: copy it with "
                "batch.to_host(), or view it with torch.from_dlpack(batch)"
            )
        memory: Any = self._held()  # a buffer, which type checkers of Python 3.11 cannot know
        flat: np.ndarray[Any, Any] = np.frombuffer(memory, dtype=self._info.dtype.numpy)
        array = flat.reshape(self._info.shape)
        wanted = array.dtype if dtype is None else np.dtype(dtype)
        if wanted != array.dtype:
            if copy is False:
                raise ValueError(f"a {array.dtype} batch cannot be viewed as {wanted} without a copy")
            return array.astype(wanted)
        return array.copy() if copy else array

    def __len__(self) -> int:
        """Samples in the batch."""
        return self._info.samples

    def __enter__(self) -> Batch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()

    def __repr__(self) -> str:
        info = self._info
        released = ", released" if self._buffer is None else ""
        return f"<damacy.Batch {info.id}: {info.dtype} {info.shape}{released}>"


def _event_handle(event: object) -> int:
    for name in ("cuda_event", "ptr", "handle"):
        if not isinstance(event, int) and hasattr(event, name):
            event = getattr(event, name)
            break
    if isinstance(event, bool):
        handle = None
    else:
        try:
            handle = operator.index(event)  # type: ignore[arg-type]
        except TypeError:
            handle = None
    if handle is None or not 0 < handle <= INT64_MAX:
        raise InvalidArgument(
            f"event is {event!r}; accepted are None, the handle of a recorded CUDA event, and an object that has it as "
            "cuda_event, ptr or handle",
            "release",
        )
    return handle
