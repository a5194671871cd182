"""A finished batch: its facts, and its memory for any consumer without a copy.

A :class:`Batch` holds its buffer until it is released or collected. Every view (DLPack capsule, NumPy array) holds
the buffer on its own, beyond the batch and the pipeline; the buffer goes back to the pool, to be written again,
only when the last of them is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from damacy import _native
from damacy._dtype import Dtype
from damacy._errors import InvalidArgument


class Device(NamedTuple):
    """Where a batch lies, as DLPack writes it: ``(1, 0)`` is the CPU."""

    device_type: int
    device_id: int


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
    """

    __slots__ = ("__weakref__", "_buffer", "_info")

    def __init__(self, info: BatchInfo, buffer: _native.Buffer) -> None:
        self._info = info
        self._buffer: _native.Buffer | None = buffer

    @property
    def info(self) -> BatchInfo:
        """What the batch holds; still there after the release."""
        return self._info

    def release(self, event: None = None) -> None:
        """Lets go of the buffer. Views made before stay valid and keep it from the pool. Idempotent.

        Args:
            event: When the consumer is done with the buffer; a batch on the CPU has none, so only None is accepted.
        """
        if event is not None:
            raise InvalidArgument(f"event is {event!r}; a batch on the CPU accepts None only", "release")
        self._buffer = None

    def _held(self) -> _native.Buffer:
        buffer = self._buffer
        if buffer is None:
            raise InvalidArgument(
                f"batch {self._info.id} has been released; make views before release(), or keep the batch", "export"
            )
        return buffer

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
            stream: None; the CPU has no streams.
            max_version: ``(1, 0)`` or above gives a versioned capsule, None or below a legacy one.
            dl_device: None or ``(1, 0)``.
            copy: True gives a copy of its own; None and False never copy.

        Raises:
            BufferError: for a stream or another device.
        """
        return self._held().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """``(1, 0)``: the CPU."""
        return self._held().__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """A NumPy view (a copy for another ``dtype``, or for ``copy=True``)."""
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
