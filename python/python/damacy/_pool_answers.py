"""What the calls of a :class:`PlannerPool` give: facts, plans, prices, and what each call took."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from damacy import _native
from damacy._cost import Estimate
from damacy._inspect import ArrayInfo, array_info
from damacy._plain import plain
from damacy._plan import COLUMNS, Plan, PlannedArray, PlanTotals, load_column
from damacy._pool_values import Document
from damacy._used import Used
from damacy._values import BatchSpec


class ParsedArray:
    """An array's facts, from :meth:`Tenant.parse_metadata`: given to later calls, they stand for the document and save
    parsing it. Immutable; compares by identity.

    Attributes:
        used: What the call took.
    """

    __slots__ = ("_facts", "_info", "used")

    used: Used
    _facts: _native.ArrayFacts
    _info: ArrayInfo | None

    def __init__(self, facts: _native.ArrayFacts, used: Used) -> None:
        self._facts, self._info, self.used = facts, None, used

    @property
    def info(self) -> ArrayInfo:
        """The facts. Its ``uri`` is ``"array"``, and whether this build can decode the codecs is not looked at."""
        if self._info is None:
            self._info = array_info(json.loads(self._facts.info("array")))
        return self._info

    def to_dict(self) -> dict[str, Any]:
        """:meth:`ArrayInfo.to_dict`, and what the call used."""
        return {**self.info.to_dict(), "used": plain(self.used)}

    def to_json(self, indent: int | None = None) -> str:
        """:meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def __repr__(self) -> str:
        info = self.info
        return f"<damacy.ParsedArray {info.data_type} {info.shape}, chunks {info.chunk_shape}>"


Metadata: TypeAlias = Document | ParsedArray | bytes | bytearray | memoryview
# One array, or several by the names that samples call them.
Arrays: TypeAlias = Metadata | Mapping[str, Metadata]


class PoolPlan(Plan):
    """A :class:`Plan` from a pool, verified by the host against the job, and what it took. Its columns are made when they
    are first looked at.

    Attributes:
        used: What the call took.
    """

    __slots__ = ("_columns", "used")

    used: Used
    _columns: _native.PlanColumns

    def __init__(self, output: BatchSpec, samples: int, columns: _native.PlanColumns, used: Used) -> None:
        put = object.__setattr__
        put(self, "output", output)
        put(self, "samples", samples)
        put(self, "_columns", columns)
        put(self, "used", used)

    def __getattr__(self, name: str) -> Any:
        # Called for slots that are empty.
        if name not in COLUMNS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        column = load_column(self._columns, name)
        object.__setattr__(self, name, column)
        return column

    def to_dict(self) -> dict[str, Any]:
        """The plan as dicts, tuples, numbers and strings, and what the call used."""
        return {**Plan.to_dict(self), "used": plain(self.used)}

    def __reduce__(self) -> tuple[Any, ...]:
        return _plan_again, (self.used, {field.name: getattr(self, field.name) for field in dataclasses.fields(Plan)})

    def __repr__(self) -> str:
        return Plan.__repr__(self).replace("damacy.Plan", "damacy.PoolPlan", 1)


def _plan_again(used: Used, fields: dict[str, Any]) -> PoolPlan:
    plan = object.__new__(PoolPlan)
    for name, value in {**fields, "used": used}.items():
        object.__setattr__(plan, name, value)
    return plan


@dataclass(frozen=True, slots=True)
class Validated:
    """A job that can be planned within the tenant's limits.

    Attributes:
        output: The batch.
        samples: How many samples it has.
        arrays: The arrays.
        totals: What it comes to.
        used: What the call took.
    """

    output: BatchSpec
    samples: int
    arrays: tuple[PlannedArray, ...]
    totals: PlanTotals
    used: Used

    def to_dict(self) -> dict[str, Any]:
        """Dicts, lists, numbers and strings; what is unknown is None."""
        fields: dict[str, Any] = plain(self)
        return fields

    def to_json(self, indent: int | None = None) -> str:
        """:meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        totals = self.totals
        return (
            f"{self.samples} samples of {self.output.shape} in {self.output.dtype} can be planned: decode waste "
            f"{totals.decode_waste:.3g}, {totals.output_bytes} bytes of output, {totals.memory_bytes} bytes of memory"
        )


@dataclass(frozen=True)
class PoolEstimate(Estimate):
    """An :class:`Estimate` from a pool, and what it took.

    Attributes:
        used: What the call took.
    """

    used: Used

    def __str__(self) -> str:
        return Estimate.__str__(self)
