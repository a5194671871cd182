"""Statuses and exceptions: a status of the host -> the exception that Python code catches.

Every exception is a :class:`DamacyError` with ``.status`` and ``.what`` (the stage: ``"open"``, ``"plan"``,
``"read"``, ``"decode"`` ...), and also of the builtin class that such a failure has elsewhere in Python. Those that are
``OSError`` have the ``filename`` of the file or folder that they are about, and the system's ``errno``, where these are known.
"""

from __future__ import annotations

import enum
import os
from typing import Any, ClassVar


class Status(enum.IntEnum):
    """How a call ended; the numbers are those of the C interface."""

    OK = 0
    AGAIN = 1
    INVAL = 2
    NOTFOUND = 3
    DTYPE = 4
    RANK = 5
    IO = 6
    DECODE = 7
    CUDA = 8
    OOM = 9
    BUDGET = 10
    SHUTDOWN = 11
    UNSUPPORTED = 12
    INTERNAL = 13


class DamacyError(RuntimeError):
    """Base of all errors that damacy raises."""

    status: ClassVar[Status] = Status.INTERNAL
    what: str

    def __init__(self, message: str, what: str = "") -> None:
        super().__init__(message)
        self.what = what

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[type[DamacyError], tuple[str, str], dict[str, Any]]:
        state = dict(self.__dict__)
        if isinstance(self, OSError):
            # They are no entries of `__dict__`.
            state |= {name: getattr(self, name) for name in ("errno", "strerror", "filename")}
        return type(self), (str(self), self.what), state


class TryAgain(DamacyError):
    """No batch can complete with what was pushed, or ``timeout`` passed."""

    status = Status.AGAIN


class PoolStarved(TryAgain, TimeoutError):
    """The consumer held every output buffer for ``pop_timeout_s``."""


class InvalidArgument(DamacyError, ValueError):
    """Bad arguments, a box out of bounds, a box whose shape is not the batch's."""

    status = Status.INVAL


class NotFound(DamacyError, FileNotFoundError):
    """No array at the URI."""

    status = Status.NOTFOUND


class DtypeMismatch(DamacyError, TypeError):
    """A source type without a conversion."""

    status = Status.DTYPE


class RankMismatch(DamacyError, ValueError):
    """The array's rank is not the batch's."""

    status = Status.RANK


class StorageError(DamacyError, OSError):
    """Permission, a failed or short read, a vanished file."""

    status = Status.IO


class DecodeError(DamacyError, ValueError):
    """Malformed metadata, or chunk bytes that are corrupt."""

    status = Status.DECODE


class NativeCudaError(DamacyError):
    """No CUDA driver, or a driver call failed."""

    status = Status.CUDA


class OutOfMemory(DamacyError, MemoryError):
    """The system refused memory."""

    status = Status.OOM


class BudgetExceeded(DamacyError, MemoryError):
    """A memory budget or a planning limit would be passed."""

    status = Status.BUDGET


class ShutdownError(DamacyError):
    """The pipeline is closed."""

    status = Status.SHUTDOWN


class Unsupported(DamacyError, NotImplementedError):
    """A codec, grid, extension, store or feature that this build lacks."""

    status = Status.UNSUPPORTED


class InternalError(DamacyError):
    """A bug in damacy; that call alone fails."""

    status = Status.INTERNAL


_BY_STATUS: dict[int, type[DamacyError]] = {
    error.status: error
    for error in (
        TryAgain,
        InvalidArgument,
        NotFound,
        DtypeMismatch,
        RankMismatch,
        StorageError,
        DecodeError,
        NativeCudaError,
        OutOfMemory,
        BudgetExceeded,
        ShutdownError,
        Unsupported,
        InternalError,
    )
}


def exception_for(
    status: int, what: str, message: str, starved: bool, errno: int | None = None, filename: str | None = None
) -> DamacyError:
    """The exception for an error of the host (called by the native module, for every such error)."""
    kind = PoolStarved if starved else _BY_STATUS.get(status, InternalError)
    error = kind(message, what)
    if isinstance(error, OSError):
        error.filename = filename
        if errno is not None:
            error.errno, error.strerror = errno, os.strerror(errno)
    return error
