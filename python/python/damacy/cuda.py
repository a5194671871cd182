"""What of CUDA this process can use. Importing it, and asking, needs neither CUDA nor a GPU.

>>> import damacy
>>> damacy.cuda.is_available() == (damacy.cuda.device_count() > 0)
True
"""

from __future__ import annotations

from damacy import _native

__all__ = ["device_count", "is_available", "unavailable_because"]


def is_available() -> bool:
    """Whether a :class:`~damacy.CudaExecutor` can be used: a driver and at least one device."""
    return _native.cuda_unavailable() is None


def unavailable_because() -> str | None:
    """Why CUDA is not available, in one sentence; None if it is."""
    return _native.cuda_unavailable()


def device_count() -> int:
    """The devices that the driver shows to this process (as ``CUDA_VISIBLE_DEVICES`` says); 0 without a driver.

    Raises:
        NativeCudaError: the driver failed.
    """
    return _native.cuda_device_count()
