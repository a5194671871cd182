"""What a :class:`PlannerPool` is told and what it tells of its tenants: limits, documents, figures."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from damacy._check import Presence, check_field, instance, integer, seconds
from damacy._errors import InvalidArgument, RefusalKind, WrongType
from damacy._plain import plain

_U32_MAX = (1 << 32) - 1
# A wait of 30 years is no different from an endless one.
_LONGEST_S = 1e9


@dataclass(frozen=True, slots=True)
class MetadataLimits:
    """Limits of the parser of metadata documents.

    Args:
        max_bytes: Bytes of JSON.
        max_depth: Nesting of arrays and objects.
        max_values: JSON values (scalars, arrays, objects and keys), attributes included.
        max_rank: Axes of the array.
        max_codecs: Codecs, over all nested chains.
    """

    max_bytes: int = 4 << 20
    max_depth: int = 64
    max_values: int = 1 << 18
    max_rank: int = 32
    max_codecs: int = 64

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_values"):
            check_field(self, name, 0)
        for name in ("max_depth", "max_rank", "max_codecs"):
            check_field(self, name, 0)
            object.__setattr__(self, name, min(getattr(self, name), _U32_MAX))


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """Limits of a tenant of a :class:`PlannerPool`, the same for each of its calls.

    Args:
        memory_bytes: Memory of one call in the sandbox.
        deadline_s: Seconds that one call may run, kept to within 5 ms of a machine that is not overloaded.
        fuel: About the number of WebAssembly instructions of one call, the same for the same call on every machine, so
            that it can be billed. Counting makes calls 15 to 30 % slower. By default, not counted.
        input_bytes: Bytes of a call's input: documents, or facts of arrays; 16 for each axis of a box, 8 for every other
            number.
        arrays: Arrays of one call.
        samples: Samples of one call.
        chunks: Chunk uses of one call (a chunk that two samples need counts twice).
        result_bytes: Bytes of a call's result.
        running: Calls that run at a time.
        waiting: Calls that wait.
        max_wait_s: Seconds that one call may wait in all.
        metadata: Limits of the parser of metadata documents.

    >>> TenantLimits(deadline_s=0.01).chunks
    65536
    """

    memory_bytes: int = 16 << 20
    deadline_s: float = 0.05
    fuel: int | None = None
    input_bytes: int = 1 << 20
    arrays: int = 256
    samples: int = 4096
    chunks: int = 1 << 16
    result_bytes: int = 8 << 20
    running: int = 1
    waiting: int = 64
    max_wait_s: float = 1.0
    metadata: MetadataLimits = MetadataLimits()

    def __post_init__(self) -> None:
        for name, least in (("memory_bytes", 1), ("running", 1)):
            check_field(self, name, least)
        check_field(self, "fuel", 1, Presence.OPTIONAL)
        for name in ("input_bytes", "arrays", "samples", "chunks", "result_bytes", "waiting"):
            check_field(self, name, 0)
        deadline = seconds("TenantLimits.deadline_s", self.deadline_s)
        if deadline == 0 or math.isinf(deadline):
            raise InvalidArgument(
                f"TenantLimits.deadline_s is {self.deadline_s!r}; accepted are finite seconds above 0", "config"
            )
        object.__setattr__(self, "deadline_s", deadline)
        object.__setattr__(self, "max_wait_s", min(seconds("TenantLimits.max_wait_s", self.max_wait_s), _LONGEST_S))
        instance("TenantLimits.metadata", self.metadata, MetadataLimits)


@dataclass(frozen=True, slots=True)
class Document:
    """An untrusted metadata document.

    Args:
        data: Its bytes: ``bytes``, ``bytearray`` or ``memoryview``.
        zarr_format: 3 for a ``zarr.json``, 2 for a ``.zarray``.
    """

    data: bytes
    zarr_format: int = 3

    def __post_init__(self) -> None:
        if isinstance(self.data, (bytearray, memoryview)):
            object.__setattr__(self, "data", bytes(self.data))
        elif not isinstance(self.data, bytes):
            hint = "; encode it" if isinstance(self.data, str) else ""
            raise WrongType(
                f"Document.data is a {type(self.data).__name__}; accepted are bytes, bytearray and memoryview{hint}",
                "config",
            )
        number = integer("Document.zarr_format", self.zarr_format, 0)
        if number not in (2, 3):
            raise InvalidArgument(
                f"Document.zarr_format is {number}; accepted are 3 (zarr.json) and 2 (.zarray)", "config"
            )
        object.__setattr__(self, "zarr_format", number)

    def __repr__(self) -> str:
        return f"Document(<{len(self.data)} bytes>, zarr_format={self.zarr_format})"


@dataclass(frozen=True, slots=True)
class TenantMetrics:
    """What a tenant's calls came to.

    Attributes:
        calls: Calls that have ended, refused ones included.
        refused: How many were refused, by kind; every kind is there.
        p50_s: Half of the calls that were let in took at most this long, waiting included; up to a quarter too large.
        p99_s: 99 % of them; up to a quarter too large.
        run_s: Seconds that all calls ran.
        wait_s: Seconds that all calls waited.
        memory_bytes: Most memory of one call in the sandbox.
        fuel: Fuel of all calls, where it is counted.
        running: Calls that run now.
        waiting: Calls that wait now.
    """

    calls: int
    refused: dict[RefusalKind, int]
    p50_s: float
    p99_s: float
    run_s: float
    wait_s: float
    memory_bytes: int
    fuel: int
    running: int
    waiting: int

    def to_dict(self) -> dict[str, Any]:
        """Dicts, numbers and strings."""
        fields: dict[str, Any] = plain(self)
        return fields

    def to_json(self, indent: int | None = None) -> str:
        """:meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        refused = ", ".join(f"{count} {kind}" for kind, count in self.refused.items() if count)
        return (
            f"{self.calls} calls ({self.running} running, {self.waiting} waiting), refused: {refused or 'none'}; "
            f"p50 {1e3 * self.p50_s:.3g} ms, p99 {1e3 * self.p99_s:.3g} ms; ran {self.run_s:.3g} s, "
            f"waited {self.wait_s:.3g} s; at most {self.memory_bytes} bytes"
        )
