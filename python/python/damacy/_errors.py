"""Statuses and exceptions: a status of the host -> the exception that Python code catches.

Every exception is a :class:`DamacyError` with ``.status`` and ``.what`` (the stage: ``"open"``, ``"plan"``,
``"read"``, ``"decode"`` ...), and also of the builtin class that such a failure has elsewhere in Python. Those that are
``OSError`` have the ``filename`` of the file or folder that they are about, and the system's ``errno``, where these are known.
"""

from __future__ import annotations

import enum
import os
from typing import Any, ClassVar

from damacy._used import Used


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


class WrongType(InvalidArgument, TypeError):
    """An argument of a type that is not accepted."""


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


class RefusalKind(enum.StrEnum):
    """Why a :class:`PlannerPool` refused a call. Those with a limit's name are that limit of :class:`TenantLimits`."""

    INVALID = "invalid"
    """The job itself is wrong."""
    TENANTS = "tenants"
    """The pool keeps as many tenants as it may, or the tenant's name is too long."""
    WAITING = "waiting"
    MAX_WAIT = "max_wait"
    INPUT_BYTES = "input_bytes"
    ARRAYS = "arrays"
    SAMPLES = "samples"
    CHUNKS = "chunks"
    MEMORY_BYTES = "memory_bytes"
    METADATA = "metadata"
    """A limit of :class:`MetadataLimits`."""
    RANGE = "range"
    """A number of bytes or elements beyond 64 bits."""
    RESULT_BYTES = "result_bytes"
    DEADLINE = "deadline"
    FUEL = "fuel"
    CANCELLED = "cancelled"
    """By a :class:`Cancel`."""
    CLOSED = "closed"
    """The pool was closed."""
    SYSTEM = "system"
    """The system has no memory for another instance."""
    BUG = "bug"
    """A bug of damacy."""


class PoolError(DamacyError):
    """A call that a :class:`PlannerPool` refused. It is also the exception of its status: a limit that was met is a
    :class:`BudgetExceeded` too, a document that cannot be parsed a :class:`DecodeError`.

    Attributes:
        kind: Which limit, or what else.
        name: The limit's name (``"chunks"``, ``"metadata.max_rank"``); without one, the kind's.
        tenant: Whose call.
        limit: The limit's value where there is one: bytes, a count, fuel, or nanoseconds (``deadline``, ``max_wait``).
        asked: What was asked for, in the limit's unit, where it is one number.
        array: Index of the array to blame, if one is.
        sample: Index of the sample to blame, if one is.
        path: JSON path in the array's document (``/codecs/0/name``), or ``""``.
        used: What the call had taken when it ended; zeros if it was refused before it began.
    """

    kind: RefusalKind = RefusalKind.BUG
    name: str = ""
    tenant: str = ""
    limit: int | None = None
    asked: int | None = None
    array: int | None = None
    sample: int | None = None
    path: str = ""
    used: Used = Used(0.0, 0.0, 0, None)

    def __reduce__(self) -> tuple[Any, ...]:
        used = self.used
        limit = (self.name, self.limit, self.asked)
        took = (used.run_s, used.wait_s, used.memory_bytes, used.fuel)
        place = (self.array, self.sample, self.path)
        return refusal_for, (int(self.status), self.kind.value, str(self), self.tenant, limit, place, took)


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


_REFUSALS: dict[int, type[PoolError]] = {}


def refusal_for(
    status: int,
    kind: str,
    message: str,
    tenant: str,
    limit: tuple[str, int | None, int | None],
    place: tuple[int | None, int | None, str],
    took: tuple[float, float, int, int | None],
) -> PoolError:
    """The exception for a call that a pool refused (called by the native module, for every such call)."""
    made = _REFUSALS.get(status)
    if made is None:
        base = _BY_STATUS.get(status, InternalError)
        names = {"__doc__": f"{base.__name__}, from a pool.", "__module__": __name__}
        made = _REFUSALS[status] = type(f"Pool{base.__name__}", (PoolError, base), names)
    error = made(message, "pool")
    error.kind, error.tenant = RefusalKind(kind), tenant
    error.name, error.limit, error.asked = limit
    error.array, error.sample, error.path = place
    error.used = Used(*took)
    return error
