"""Planning for many tenants that are not trusted: documents and boxes in -> plans, prices, and typed refusals out.

Each call runs in an instance of the sandboxed component of its own, within its tenant's limits, and does no I/O.
``docs/planner-pool.md`` says how calls are admitted, limited and metered.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import weakref
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from damacy import _native
from damacy._check import Presence, instance, integer
from damacy._cost import estimate_of
from damacy._errors import InvalidArgument, RefusalKind, WrongType
from damacy._estimate import Encoded, Grid, Job, Uniform, _arrays, _index, _ratio
from damacy._plan import PlannedArray, PlanTotals
from damacy._pool_answers import Arrays, ParsedArray, PoolEstimate, PoolPlan, Validated
from damacy._pool_values import Document, MetadataLimits, TenantLimits, TenantMetrics
from damacy._used import Used
from damacy._values import BatchSpec, PlanLimits, Sample, _box

# Samples that name arrays, boxes of the only array, or int64 of (samples, axes, 2).
Samples: TypeAlias = Iterable[Any] | npt.NDArray[np.integer[Any]]

# What a single array is called.
_ONLY = "array"
# Samples that are taken from an iterable before their number is looked at.
_BLOCK = 1024
_NO_LIMITS = PlanLimits()


class Cancel:
    """Cancels calls of a pool: waiting ones at once, running ones within some milliseconds. Usable from any thread.

    >>> token = Cancel()
    >>> token.cancel()
    >>> token
    <damacy.Cancel, cancelled>
    """

    __slots__ = ("_native",)

    def __init__(self) -> None:
        self._native = _native.Cancel()

    def cancel(self) -> None:
        """Cancels the calls that were given this token, also those that will be: they raise a :class:`PoolError` of kind
        ``cancelled``."""
        self._native.cancel()

    @property
    def cancelled(self) -> bool:
        """Whether it has been cancelled."""
        return self._native.cancelled()

    def __repr__(self) -> str:
        return f"<damacy.Cancel{', cancelled' if self.cancelled else ''}>"


class PlannerPool:
    """Plans and prices jobs of tenants that are not trusted.

    Calls may be made from any number of threads; they run on those threads, detached from the interpreter (calls of the
    main thread on a thread beside it, so that Ctrl-C ends them). A child made by fork cannot use its parent's pools and
    makes its own.

    Args:
        limits: Limits of tenants that have none of their own.
        running: Long calls that run at a time, of all tenants; with short ones, four times as many. By default, the cores
            that this process may use.
        standing: Calls that may stand still, with their memory, since others have their places.
        tenants: Tenants that the pool keeps limits and figures of.
        name_bytes: Bytes of a tenant's name.

    Raises:
        InvalidArgument: an argument is not what is documented.
        OutOfMemory: the system has no memory for the sandbox.

    >>> document = b'{"zarr_format": 2, "shape": [512, 512], "chunks": [64, 64], "dtype": "<u2", "order": "C",' + (
    ...     b'"compressor": null, "filters": null, "fill_value": 0}')
    >>> with PlannerPool(TenantLimits(chunks=100)) as pool:
    ...     alice = pool.tenant("alice")
    ...     array = alice.parse_metadata(Document(document, zarr_format=2))
    ...     plan = alice.plan(BatchSpec(1, (128, 128)), array, [np.s_[64:192, 0:128]])
    ...     print(plan.chunk_key)
    ...     try:
    ...         alice.plan(BatchSpec(1, (512, 512)), array, np.array([[[0, 512], [0, 512]]] * 2))
    ...     except PoolError as error:
    ...         print(error.kind, error.limit, isinstance(error, BudgetExceeded))
    ('1.0', '1.1', '2.0', '2.1')
    chunks 100 True
    """

    __slots__ = ("__weakref__", "_native")

    def __init__(
        self,
        limits: TenantLimits = TenantLimits(),  # noqa: B008 (immutable)
        *,
        running: int | None = None,
        standing: int = 256,
        tenants: int = 10_000,
        name_bytes: int = 256,
    ) -> None:
        self._native = _native.PlannerPool(
            instance("limits", limits, TenantLimits),
            None if running is None else integer("running", running, 1, Presence.OPTIONAL),
            integer("standing", standing, 0),
            integer("tenants", tenants, 1),
            integer("name_bytes", name_bytes, 1),
        )
        _open_pools.add(self)

    def tenant(self, name: str, *, cancel: Cancel | None = None) -> Tenant:
        """A tenant's view of the pool: its name goes into errors and figures. Nothing is kept of it before its first call.

        Args:
            name: Who calls.
            cancel: Cancels calls that are made through this view.
        """
        return Tenant(self, _name(name), cancel)

    def set_limits(self, tenant: str, limits: TenantLimits) -> None:
        """Gives a tenant limits of its own, for its calls from now on.

        Raises:
            BudgetExceeded: the pool keeps as many tenants as it may.
        """
        self._native.set_limits(_name(tenant), instance("limits", limits, TenantLimits))

    def limits(self, tenant: str) -> TenantLimits:
        """The limits of a tenant's next call: its own, or the pool's."""
        fields = self._native.limits(_name(tenant))
        return TenantLimits(**{**fields, "metadata": MetadataLimits(**fields["metadata"])})

    def metrics(self, tenant: str) -> TenantMetrics | None:
        """Figures of a tenant since its first call; None for one that the pool does not know."""
        fields = self._native.metrics(_name(tenant))
        if fields is None:
            return None
        refused = {RefusalKind(kind): count for kind, count in fields["refused"].items()}
        return TenantMetrics(**{**fields, "refused": refused})

    def tenants(self) -> tuple[str, ...]:
        """Names of the tenants that the pool keeps anything of."""
        return self._native.tenants()

    def remove(self, tenant: str) -> bool:
        """Forgets a tenant's limits and figures; False if it is unknown, or has calls that run or wait."""
        return self._native.remove(_name(tenant))

    def close(self) -> None:
        """Ends all calls, waiting and running ones within some milliseconds, and refuses new ones (``closed``). Idempotent."""
        try:
            self._native.close()
        finally:
            _open_pools.discard(self)

    def __enter__(self) -> PlannerPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<damacy.PlannerPool at {id(self):#x}>"


class Tenant:
    """A tenant's view of a :class:`PlannerPool`, from :meth:`PlannerPool.tenant`. Usable from any thread.

    What its calls refuse, they raise as :class:`PoolError`; arguments of a type that is not accepted, as
    :class:`WrongType`, a :class:`TypeError`.

    ``arrays`` are one array, or several by the names that samples give them as their ``uri``: each its document
    (``bytes`` of a ``zarr.json``, or a :class:`Document`), or what :meth:`parse_metadata` gave; documents and facts cannot
    be mixed. A single one is called ``"array"``.

    ``samples`` are an iterable of :class:`Sample`, of boxes of the only array (``np.s_[0:64, 0:64]``), or, with the least
    overhead, NumPy integers of shape ``(samples, axes, 2)``: half-open ``(start, stop)``, with ``array_of`` giving the
    position of each sample's array in ``arrays`` where there are several.
    """

    __slots__ = ("_name", "_native", "_pool")

    def __init__(self, pool: PlannerPool, name: str, cancel: Cancel | None = None) -> None:
        self._pool = instance("pool", pool, PlannerPool)
        self._name = _name(name)
        token = None if cancel is None else instance("cancel", cancel, Cancel)._native
        self._native = pool._native.tenant(name, token)

    @property
    def name(self) -> str:
        """Who calls."""
        return self._name

    def parse_metadata(self, document: Document | bytes | bytearray | memoryview) -> ParsedArray:
        """Parses a metadata document; bytes alone are taken for a ``zarr.json``.

        Raises:
            PoolError: the document is refused (``path`` says where), or a limit was met.
        """
        given = _document("document", document)
        facts, used = self._native.parse_metadata((given.zarr_format, given.data))
        return ParsedArray(facts, Used(*used))

    def plan(
        self,
        output: BatchSpec,
        arrays: Arrays,
        samples: Samples,
        *,
        array_of: npt.ArrayLike | None = None,
        encoded: Mapping[str, float] | float | None = None,
    ) -> PoolPlan:
        """Plans samples as one window.

        Args:
            output: What every batch looks like.
            arrays: The arrays (see :class:`Tenant`).
            samples: The crops (see :class:`Tenant`).
            array_of: With several arrays and boxes in NumPy's integers, the position of each one's array.
            encoded: Encoded bytes / decoded bytes, if known: one ratio for all arrays, or of each by its name.

        Raises:
            PoolError: the job is wrong (``sample`` and ``array`` say where), or a limit was met.
        """
        names, *given = self._job(output, arrays, samples, array_of, encoded)
        columns, count, used = self._native.plan(output, names, *given)
        return PoolPlan(output, count, columns, Used(*used))

    def validate(
        self,
        output: BatchSpec,
        arrays: Arrays,
        samples: Samples,
        *,
        array_of: npt.ArrayLike | None = None,
        encoded: Mapping[str, float] | float | None = None,
    ) -> Validated:
        """Whether samples can be planned within the tenant's limits, and what they come to. Arguments as :meth:`plan`'s.

        Raises:
            PoolError: as :meth:`plan`.
        """
        names, *given = self._job(output, arrays, samples, array_of, encoded)
        totals, facts, count, used = self._native.validate(output, names, *given)
        planned = tuple(PlannedArray(**fields) for fields in facts)
        return Validated(output, count, planned, PlanTotals(**totals), Used(*used))

    def estimate(
        self,
        output: BatchSpec,
        arrays: Arrays,
        crops: Samples | Uniform | Grid,
        *,
        array_of: npt.ArrayLike | None = None,
        window: int = 64,
        encoded: Mapping[str, Encoded] | float | None = None,
        workers: int = 1,
        memory_bytes: int = 1 << 30,
        chunk_cache_bytes: int = 0,
        advise_layout: str | None = None,
        advise_lookahead: bool = False,
    ) -> PoolEstimate:
        """Prices a job: exactly for given samples, on average for crops that are drawn.

        Args:
            output: What every batch looks like.
            arrays: The arrays (see :class:`Tenant`).
            crops: Given ones (see :class:`Tenant`), or :class:`Uniform` or :class:`Grid` over some of the arrays, by name.
            array_of: As :meth:`plan`'s.
            window, encoded, workers, memory_bytes, chunk_cache_bytes, advise_layout, advise_lookahead: As
                :func:`damacy.estimate`'s, with names for URIs.

        Raises:
            PoolError: as :meth:`plan`.
        """
        instance("output", output, BatchSpec)
        named = _named(arrays)
        stride: tuple[int, ...] = ()
        weights: tuple[int, ...] | None = None
        boxes: Any = None
        listed: Any = []
        if isinstance(crops, (Uniform, Grid)):
            kind = "grid" if isinstance(crops, Grid) else "uniform"
            for name in crops.arrays:
                _index(list(named), name, "crops")
            named, weights = {name: named[name] for name in crops.arrays}, crops.weights
            stride = (crops.stride or ()) if isinstance(crops, Grid) else ()
            if array_of is not None:
                raise InvalidArgument("array_of is given, but crops are drawn; accepted is None", "config")
        else:
            kind = "boxes"
            boxes, listed = self._samples(named, crops, array_of)
        if not isinstance(advise_lookahead, (bool, np.bool_)):
            raise InvalidArgument(f"advise_lookahead is {advise_lookahead!r}; accepted are True and False", "config")
        names = list(named)
        job = Job(
            output=output,
            arrays=_arrays(names, weights, encoded),
            kind=kind,
            samples=[],
            stride=stride,
            window=integer("window", window, 1),
            workers=integer("workers", workers, 1),
            memory_bytes=integer("memory_bytes", memory_bytes, 1),
            chunk_cache_bytes=integer("chunk_cache_bytes", chunk_cache_bytes, 0),
            advise_layout=None if advise_layout is None else _index(names, advise_layout),
            advise_lookahead=bool(advise_lookahead),
            limits=_NO_LIMITS,
        )
        report, used = self._native.estimate(job, *_split(named), boxes, listed)
        return estimate_of(output, json.loads(report), PoolEstimate, used=Used(*used))

    def _job(
        self,
        output: BatchSpec,
        arrays: Arrays,
        samples: Samples,
        array_of: npt.ArrayLike | None,
        encoded: Mapping[str, float] | float | None,
    ) -> tuple[Any, ...]:
        """Names, documents, facts, boxes, listed boxes, ratios, as the native module takes them."""
        instance("output", output, BatchSpec)
        named = _named(arrays)
        boxes, listed = self._samples(named, samples, array_of)
        names = list(named)
        ratios: list[float] = []
        if encoded is not None:
            for name in encoded if isinstance(encoded, Mapping) else ():
                _index(names, name, "encoded")
            ratios = [_known(name, encoded) for name in names]
        return (names, *_split(named), boxes, listed, ratios)

    def _samples(self, named: Mapping[str, object], samples: Samples, array_of: npt.ArrayLike | None) -> tuple[Any, Any]:
        """Boxes as buffers, or listed with the positions of their arrays."""
        if isinstance(samples, np.ndarray):
            return (_boxes(samples), _positions(array_of, len(named))), []
        if array_of is not None:
            raise InvalidArgument("array_of is given, but samples are no NumPy array; accepted is None", "config")
        if isinstance(samples, (Sample, str, bytes, slice)) or not isinstance(samples, Iterable):
            raise WrongType(
                f"samples is a {type(samples).__name__}; accepted are an iterable of damacy.Sample, of boxes, and NumPy "
                "integers of shape (samples, axes, 2)",
                "config",
            )
        position = {name: at for at, name in enumerate(named)}
        listed = []
        for index, sample in enumerate(samples):
            if index and index % _BLOCK == 0:
                self._native.check_samples(index + 1)
            if isinstance(sample, Sample):
                at = position.get(sample.uri)
                if at is None:
                    message = f"sample {index} is of {sample.uri!r}; the arrays are {list(position)[:10]}"
                    raise self._native.invalid(message, index)
                listed.append((at, sample.aabb))
                continue
            if len(named) != 1:
                raise WrongType(
                    f"sample {index} is a {type(sample).__name__}; with {len(named)} arrays, accepted is a damacy.Sample "
                    "that names one",
                    "config",
                )
            try:
                listed.append((0, _box(sample)))
            except InvalidArgument as error:
                raise self._native.invalid(f"sample {index}: {error}".replace("Sample.aabb", "box"), index) from None
        return None, listed

    def __repr__(self) -> str:
        return f"<damacy.Tenant {self._name!r}>"


def _name(given: object) -> str:
    if not isinstance(given, str):
        raise WrongType(f"tenant is {given!r}; accepted is a str", "config")
    return _text("tenant", given)


def _text(what: str, given: str) -> str:
    """The text, if all of it can be told to the native module."""
    try:
        given.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"{what} is {ascii(given)}; accepted are texts in Unicode", "config") from None
    return given


def _document(what: str, given: object) -> Document:
    if isinstance(given, Document):
        return given
    if isinstance(given, (bytes, bytearray, memoryview)):
        return Document(given)  # type: ignore[arg-type]
    hint = "; encode it" if isinstance(given, str) else ""
    raise WrongType(
        f"{what} is a {type(given).__name__}; accepted are a damacy.Document, and the bytes of a zarr.json{hint}", "config"
    )


def _named(arrays: object) -> dict[str, Document | ParsedArray]:
    """The arrays by name."""
    if isinstance(arrays, ParsedArray):
        return {_ONLY: arrays}
    if not isinstance(arrays, Mapping):
        return {_ONLY: _document("arrays", arrays)}
    named = {}
    for name, array in arrays.items():
        if not isinstance(name, str):
            raise WrongType(f"arrays has the name {name!r}; accepted are names of str", "config")
        _text("a name of arrays", name)
        named[name] = array if isinstance(array, ParsedArray) else _document(f"arrays[{name!r}]", array)
    return named


def _split(named: Mapping[str, Document | ParsedArray]) -> tuple[list[tuple[int, bytes]], list[_native.ArrayFacts]]:
    """The documents and the facts, of which one is empty."""
    documents = [(array.zarr_format, array.data) for array in named.values() if isinstance(array, Document)]
    facts = [array._facts for array in named.values() if isinstance(array, ParsedArray)]
    if documents and facts:
        raise InvalidArgument(
            f"arrays are {len(documents)} documents and {len(facts)} parsed before; accepted are either alone", "config"
        )
    return documents, facts


def _known(name: str, encoded: Mapping[str, float] | float) -> float:
    if not isinstance(encoded, Mapping):
        return _ratio("encoded", encoded)
    if name not in encoded:
        raise InvalidArgument(f"encoded has no entry for {name!r}; accepted is one for each array, or None", "config")
    return _ratio(f"encoded[{name!r}]", encoded[name])


def _boxes(given: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    if given.ndim != 3 or given.shape[2] != 2:
        raise InvalidArgument(
            f"samples is an array of shape {given.shape}; accepted is (samples, axes, 2), a (start, stop) for each axis",
            "config",
        )
    return _int64("samples", given)


def _positions(given: npt.ArrayLike | None, arrays: int) -> npt.NDArray[np.int64] | None:
    if given is None:
        if arrays > 1:
            raise InvalidArgument(
                f"array_of is None, but there are {arrays} arrays; accepted is the position of each sample's array", "config"
            )
        return None
    try:
        array = np.asarray(given)
    except (ValueError, OverflowError) as error:
        raise InvalidArgument(f"array_of is no array of integers: {error}", "config") from None
    if array.ndim != 1:
        raise InvalidArgument(f"array_of has the shape {array.shape}; accepted is (samples,)", "config")
    return _int64("array_of", array)


def _int64(what: str, given: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    # NumPy takes an empty list for floats.
    if given.dtype.kind not in "iu" and given.size:
        raise WrongType(f"{what} is an array of {given.dtype}; accepted are arrays of integers", "config")
    if given.dtype.kind == "u" and given.dtype.itemsize == 8 and given.size and given.max() > np.iinfo(np.int64).max:
        raise InvalidArgument(f"{what} holds {given.max()}; accepted are integers up to 2**63 - 1", "config")
    return np.ascontiguousarray(given, np.int64)


_open_pools: weakref.WeakSet[PlannerPool] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    # Daemon threads may be waiting in calls.
    with contextlib.ExitStack() as stack:
        for pool in list(_open_pools):
            stack.callback(pool.close)


def _forget_all() -> None:
    _open_pools.clear()


os.register_at_fork(after_in_child=_forget_all)
