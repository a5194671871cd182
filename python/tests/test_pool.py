"""A pool's plans and prices are those of the package without one, and what it is asked in vain it refuses with a type."""

import asyncio
import copy
import json
import pickle
import threading
from pathlib import Path

import damacy
import numpy as np
import pytest
import zarr
from damacy import BatchSpec, Document, PlannerPool, RefusalKind, Sample, TenantLimits

SHAPE = (7, 9, 11)
EXTENT = (4, 3, 6)
SPEC = BatchSpec(8, EXTENT, "u8")
LAYOUTS = {
    "v3": {"chunks": (3, 4, 5)},
    "v3 sharded": {"chunks": (2, 4, 3), "shards": (4, 8, 9)},
    "v2": {"chunks": (3, 4, 5), "zarr_format": 2},
}
COLUMNS = (
    "arrays", "totals", "chunk_array", "chunk_key", "chunk_coords", "chunk_uses",
    "use_sample", "use_source", "use_extent", "use_target",
)  # fmt: skip
# Tests do not fail because the machine is busy.
PATIENT = TenantLimits(deadline_s=10, max_wait_s=60)


def v2(shape=(512, 512), chunks=(64, 64), dtype="<u2", **more):
    fields = {"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": dtype, "order": "C", "compressor": None}
    return Document(json.dumps({**fields, "filters": None, "fill_value": 0, **more}).encode(), 2)


def boxes(count, seed=0):
    random = np.random.default_rng(seed)
    starts = random.integers(0, np.subtract(SHAPE, EXTENT) + 1, (count, 3))
    return np.stack([starts, starts + EXTENT], axis=-1)


def document_of(path):
    v3 = Path(path, "zarr.json")
    return Document(v3.read_bytes()) if v3.exists() else Document(Path(path, ".zarray").read_bytes(), 2)


@pytest.fixture
def pool():
    with PlannerPool(PATIENT) as pool:
        yield pool


@pytest.fixture
def alice(pool):
    return pool.tenant("alice")


def same(one, other):
    for name in COLUMNS[2:]:
        left, right = getattr(one, name), getattr(other, name)
        assert (np.array_equal(left, right) if isinstance(left, np.ndarray) else left == right), name


@pytest.mark.parametrize("layout", LAYOUTS)
def test_plans_are_those_without_a_pool(write, alice, layout):
    path = write(np.zeros(SHAPE, np.uint16), **LAYOUTS[layout])
    wanted = boxes(20)
    expected = damacy.plan(SPEC, [Sample(path, box) for box in wanted])
    document = document_of(path)
    facts = alice.parse_metadata(document)
    slices = [tuple(slice(*map(int, axis)) for axis in box) for box in wanted]
    for arrays, samples in [
        (document, wanted),
        (facts, wanted),
        (facts, wanted.astype(np.uint8)),
        (facts, np.asfortranarray(wanted)),
        (facts, slices),
        (facts, wanted.tolist()),
        (facts, (Sample("array", box) for box in wanted)),
        ({path: facts}, [Sample(path, box) for box in wanted]),
        ({"other": document, path: document}, [Sample(path, box) for box in wanted]),
    ]:
        planned = alice.plan(SPEC, arrays, samples)
        assert planned.samples == 20 and planned.output is SPEC and planned.totals == expected.totals
        if "other" not in (arrays if isinstance(arrays, dict) else ()):
            same(planned, expected)
    assert planned.arrays[1] == expected.arrays[0]
    assert set(planned.chunk_array.tolist()) == {1}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_facts_are_those_of_inspect(write, alice, layout):
    path = write(np.zeros(SHAPE, ">i4"), **LAYOUTS[layout])
    expected = {**damacy.inspect(path).to_dict(), "uri": "array"}
    parsed = alice.parse_metadata(document_of(path))
    assert {k: v for k, v in parsed.to_dict().items() if k != "used"} == expected
    assert parsed.info.shape == SHAPE and parsed.used.memory_bytes > 0 and parsed.used.run_s > 0
    assert "int32" in repr(parsed) or "i4" in repr(parsed)


def test_several_arrays_and_known_ratios(write, alice):
    paths = {name: write(np.zeros(SHAPE, dtype), name=name, chunks=(3, 4, 5)) for name, dtype in [("a", "u1"), ("b", "f4")]}
    wanted, array_of = boxes(30), np.arange(30) % 2
    uris = list(paths.values())
    expected = damacy.plan(SPEC, [Sample(uris[at], box) for at, box in zip(array_of, wanted, strict=True)])
    arrays = {name: document_of(path) for name, path in paths.items()}
    planned = alice.plan(SPEC, arrays, wanted, array_of=array_of, encoded={"a": 0.5, "b": 0.5})
    same(planned, expected)
    assert [array.uri for array in planned.arrays] == ["a", "b"]
    assert planned.totals.read_bytes == planned.totals.decoded_bytes / 2
    assert planned.totals.read_waste == planned.totals.decode_waste / 2
    assert alice.plan(SPEC, arrays, wanted, array_of=array_of.tolist()).totals.read_bytes is None


def test_prices_are_those_without_a_pool(write, alice):
    path = write(np.zeros((40, 50, 60), np.uint16), chunks=(5, 10, 6))
    document, spec = document_of(path), BatchSpec(4, (8, 8, 8), "bf16")
    asked = {"window": 16, "workers": 3, "memory_bytes": 1 << 24, "advise_lookahead": True}
    for crops in (damacy.Uniform, lambda name: damacy.Grid(name, (4, 4, 4))):
        expected = damacy.estimate(spec, crops(path), encoded=0.25, advise_layout=path, **asked)
        priced = alice.estimate(spec, {"v": document}, crops("v"), encoded=0.25, advise_layout="v", **asked)
        got, expected = priced.to_dict(), expected.to_dict()
        assert got.pop("used")["memory_bytes"] > 0
        expected["arrays"][0]["uri"] = "v"
        assert got == expected
        assert str(priced) and json.loads(priced.to_json())["certainty"] == "expected"
    given = np.array([[[0, 8], [0, 8], [z, z + 8]] for z in range(10)])
    expected = damacy.estimate(spec, [Sample(path, box) for box in given])
    for crops in (given, given.tolist(), [Sample("array", box) for box in given]):
        priced = alice.estimate(spec, document, crops)
        assert (priced.chunks, priced.uses, priced.decoded_bytes) == (expected.chunks, expected.uses, expected.decoded_bytes)


def test_validating_gives_the_totals(alice):
    facts = alice.parse_metadata(v2())
    spec = BatchSpec(2, (64, 64))
    wanted = np.array([[[0, 64], [0, 64]], [[32, 96], [0, 64]]])
    validated = alice.validate(spec, facts, wanted)
    planned = alice.plan(spec, facts, wanted)
    assert validated.totals == planned.totals and validated.arrays == planned.arrays and validated.samples == 2
    assert json.loads(validated.to_json())["totals"]["decoded_bytes"] == 2 * 64 * 64 * 2
    assert "2 samples of (64, 64)" in str(validated)


def test_a_plan_prints_converts_and_travels(alice):
    planned = alice.plan(BatchSpec(1, (128, 128)), v2(), [np.s_[64:192, 0:128]])
    again, copied = pickle.loads(pickle.dumps(planned)), copy.copy(planned)
    for other in (again, copied):
        assert type(other) is damacy.PoolPlan and other.used == planned.used
        same(other, planned)
    fields = json.loads(planned.to_json())
    assert [chunk["key"] for chunk in fields["chunks"]] == ["1.0", "1.1", "2.0", "2.1"]
    assert set(fields["used"]) == {"run_s", "wait_s", "memory_bytes", "fuel"}
    assert repr(planned).startswith("<damacy.PoolPlan of 1 samples") and "4 chunks" in str(planned)
    assert isinstance(planned, damacy.Plan) and len(list(planned.chunks())) == 4
    assert not planned.use_source.flags.writeable
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = planned.nothing
    with pytest.raises(AttributeError):
        planned.samples = 3


def test_nothing_at_all_can_be_planned(alice):
    empty = alice.plan(BatchSpec(1, (4, 4)), v2(), np.zeros((0, 2, 2), np.int64))
    assert empty.samples == 0 and empty.chunk_key == () and empty.use_source.shape == (0, 2)
    scalar = alice.plan(BatchSpec(1, ()), v2((), ()), np.zeros((3, 0, 2), np.int64))
    assert scalar.samples == 3 and scalar.chunk_key == ("0",) and scalar.use_sample.tolist() == [0, 1, 2]


HOSTILE = {
    "deep": (b"[" * 100_000, "DecodeError", RefusalKind.INVALID),
    "deeper object": (b'{"a":' * 100_000, "BudgetExceeded", RefusalKind.METADATA),
    "empty": (b"", "DecodeError", RefusalKind.INVALID),
    "no utf-8": (b'{"zarr_format": 3, "x": "\xff"}', "DecodeError", RefusalKind.INVALID),
    "nul": (b"\0" * 100, "DecodeError", RefusalKind.INVALID),
    "a group": (b'{"zarr_format": 3, "node_type": "group"}', "InvalidArgument", RefusalKind.INVALID),
    "large": (b" " * (2 << 20), "BudgetExceeded", RefusalKind.INPUT_BYTES),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_documents_are_typed_refusals(pool, name):
    data, exception, kind = HOSTILE[name]
    mallory = pool.tenant("mallory")
    with pytest.raises(damacy.PoolError) as caught:
        mallory.parse_metadata(data)
    error = caught.value
    assert isinstance(error, getattr(damacy, exception)), type(error).__mro__
    assert (error.kind, error.tenant, error.what) == (kind, "mallory", "pool")
    assert "tenant mallory" in str(error) and len(str(error)) < 1000
    assert pool.metrics("mallory").refused[kind] == 1
    # The same with the document in a job says which array.
    with pytest.raises(damacy.PoolError) as caught:
        mallory.plan(BatchSpec(1, (1, 1)), {"good": v2(), "bad": Document(data)}, np.zeros((0, 2, 2), int), array_of=[])
    assert caught.value.kind is kind and caught.value.array == (None if name == "large" else 1)


def test_a_refusal_says_which_limit_what_was_asked_and_where(pool, alice):
    pool.set_limits("alice", TenantLimits(chunks=10, samples=5, arrays=2, deadline_s=10, metadata=damacy.MetadataLimits(max_rank=3)))
    spec, facts = BatchSpec(2, (128, 128)), pool.tenant("bob").parse_metadata(v2())
    good = np.array([[[0, 128], [0, 128]]])

    def refused(work):
        with pytest.raises(damacy.PoolError) as caught:
            work()
        error = caught.value
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and vars(again) == vars(error) and str(again) == str(error)
        return error

    error = refused(lambda: alice.plan(spec, facts, np.repeat(good, 3, 0)))
    assert (error.kind, error.limit, error.status) == (RefusalKind.CHUNKS, 10, damacy.Status.BUDGET)
    assert error.name == "chunks" and error.used.run_s > 0 and error.used.memory_bytes > 0
    error = refused(lambda: alice.plan(spec, facts, np.repeat(good, 6, 0)))
    assert (error.kind, error.limit, error.asked) == (RefusalKind.SAMPLES, 5, 6)
    error = refused(lambda: alice.plan(spec, {n: facts for n in "abc"}, good, array_of=[0]))
    assert (error.kind, error.limit, error.asked) == (RefusalKind.ARRAYS, 2, 3)
    error = refused(lambda: alice.plan(spec, facts, good + [[500], [0]]))
    assert (error.kind, error.sample) == (RefusalKind.INVALID, 0) and isinstance(error, damacy.InvalidArgument)
    error = refused(lambda: alice.plan(spec, {"a": facts, "b": facts}, good, array_of=[7]))
    assert (error.kind, error.sample) == (RefusalKind.INVALID, 0)
    error = refused(lambda: alice.parse_metadata(v2((1,) * 4, (1,) * 4)))
    assert error.kind is RefusalKind.METADATA and error.path == "/shape"
    error = refused(lambda: alice.parse_metadata(v2(compressor={"id": "pcodec"})))
    assert isinstance(error, damacy.Unsupported) and error.path.startswith("/compressor")
    error = refused(lambda: alice.plan(BatchSpec(1, (4,)), facts, np.array([[[0, 4]]])))
    assert isinstance(error, damacy.RankMismatch)
    float64 = alice.parse_metadata(v2(dtype="<f8"))
    assert float64.info.converts_to == () and float64.info.refusal.status is damacy.Status.DTYPE
    error = refused(lambda: alice.plan(spec, float64, good))
    assert isinstance(error, damacy.DtypeMismatch) and error.array == 0
    refusals = pool.metrics("alice").refused
    assert refusals[RefusalKind.CHUNKS] == refusals[RefusalKind.SAMPLES] == refusals[RefusalKind.ARRAYS] == 1


def test_fuel_is_the_same_for_the_same_call(pool):
    pool.set_limits("metered", TenantLimits(fuel=10**9, deadline_s=10))
    pool.set_limits("poor", TenantLimits(fuel=1000, deadline_s=10))
    fuels = {pool.tenant("metered").parse_metadata(v2()).used.fuel for _ in range(3)}
    assert len(fuels) == 1 and None not in fuels
    with pytest.raises(damacy.PoolError) as caught:
        pool.tenant("poor").parse_metadata(v2())
    assert caught.value.kind is RefusalKind.FUEL and caught.value.limit == 1000
    assert pool.tenant("unmetered").parse_metadata(v2()).used.fuel is None
    assert pool.metrics("metered").fuel == 3 * fuels.pop()


NEGATIVE = {
    "negative": ([[[-1, 4], [0, 5]]], "boxes\\[0, 0\\] is \\(-1, 4\\), which starts below 0"),
    "lowest": ([[[0, 5], [-(2**63), 5]]], "boxes\\[0, 1\\]"),
    "inverted": ([[[0, 5], [5, 0]]], "is empty"),
    "empty": ([[[0, 5], [3, 3]]], "is empty"),
    "edge": ([[[2**63 - 6, 2**63 - 1], [0, 5]]], "alice"),
}


@pytest.mark.parametrize("name", NEGATIVE)
def test_boxes_that_cannot_be_are_the_tenants_fault(alice, name):
    given, message = NEGATIVE[name]
    for samples in (np.array(given), given):
        with pytest.raises(damacy.PoolError, match=message if isinstance(samples, np.ndarray) else None) as caught:
            alice.plan(BatchSpec(1, (5, 5)), v2(), samples)
        assert (caught.value.kind, caught.value.sample) == (RefusalKind.INVALID, 0)
        assert isinstance(caught.value, damacy.InvalidArgument)


def test_numbers_beyond_64_bits(alice):
    with pytest.raises(damacy.PoolError, match="2\\*\\*63") as caught:
        alice.plan(BatchSpec(1, (5, 5)), v2(), [[(0, 5), (0, 2**64)]])
    assert caught.value.sample == 0
    with pytest.raises(damacy.InvalidArgument, match="18446744073709551615"):
        alice.plan(BatchSpec(1, (5, 5)), v2(), np.array([[[0, 2**64 - 1], [0, 5]]], np.uint64))
    with pytest.raises(damacy.WrongType, match="object"):
        alice.plan(BatchSpec(1, (5, 5)), v2(), np.array([[[0, 2**70], [0, 5]]], object))
    with pytest.raises(damacy.PoolError) as caught:
        alice.parse_metadata(v2((2**64, 1), (1, 1)))
    assert caught.value.path.startswith("/shape")


def test_wrong_types_say_what_was_given_and_what_is_accepted(pool, alice):
    spec, good = BatchSpec(1, (4, 4)), np.zeros((0, 2, 2), int)
    for work, part in [
        (lambda: alice.plan("spec", v2(), good), "output is 'spec'; accepted is a damacy.BatchSpec"),
        (lambda: alice.plan(spec, "text", good), "arrays is a str; accepted are .* encode it"),
        (lambda: alice.plan(spec, 5, good), "arrays is a int"),
        (lambda: alice.plan(spec, [v2()], good), "arrays is a list"),
        (lambda: alice.plan(spec, {1: v2()}, good), "the name 1"),
        (lambda: alice.plan(spec, {"a": None}, good), r"arrays\['a'\] is a NoneType"),
        (lambda: alice.plan(spec, v2(), 7), "samples is a int; accepted are an iterable"),
        (lambda: alice.plan(spec, v2(), np.s_[0:4]), "samples is a slice"),
        (lambda: alice.plan(spec, v2(), np.zeros((1, 2, 2))), "array of float64; accepted are arrays of integers"),
        (lambda: alice.plan(spec, v2(), np.zeros((1, 2, 2), bool)), "array of bool"),
        (lambda: alice.plan(spec, {"a": v2(), "b": v2()}, [np.s_[0:4, 0:4]]), "with 2 arrays, accepted is a damacy.Sample"),
        (lambda: alice.plan(spec, {"a": v2(), "b": v2()}, good, array_of=[0.5]), "array_of is an array of float64"),
        (lambda: alice.parse_metadata("{}"), "document is a str"),
        (lambda: Document("{}"), "Document.data is a str"),
        (lambda: pool.tenant(5), "tenant is 5; accepted is a str"),
        (lambda: pool.tenant("a", cancel=True), "cancel is True"),
        (lambda: pool.set_limits("a", {}), "limits is {}; accepted is a damacy.TenantLimits"),
        (lambda: PlannerPool(limits=5), "limits is 5"),
        (lambda: pool.metrics(None), "tenant is None"),
    ]:
        with pytest.raises(TypeError, match=part) as caught:
            work()
        assert isinstance(caught.value, damacy.WrongType) and isinstance(caught.value, damacy.InvalidArgument)
    for work, part in [
        (lambda: alice.plan(spec, v2(), np.zeros((2, 2), int)), r"shape \(2, 2\); accepted is \(samples, axes, 2\)"),
        (lambda: alice.plan(spec, {"a": v2(), "b": alice.parse_metadata(v2())}, good, array_of=[]), "1 documents and 1 parsed"),
        (lambda: alice.plan(spec, {"a": v2(), "b": v2()}, good), "array_of is None, but there are 2 arrays"),
        (lambda: alice.plan(spec, v2(), [], array_of=[0]), "array_of is given"),
        (lambda: alice.plan(spec, v2(), good, encoded=-1), "encoded is -1"),
        (lambda: alice.plan(spec, v2(), good, encoded={}), "no entry for 'array'"),
        (lambda: alice.plan(spec, v2(), good, encoded={"array": 1, "b": 1}), r"encoded names 'b'; accepted are .*\['array'\]"),
        (lambda: alice.validate(spec, {"a": v2()}, good, encoded={"a": 1, 5: 1}), r"encoded names 5; accepted are .*\['a'\]"),
        (lambda: alice.plan(spec, v2(), np.array([[[0, 4], [0, 4]]]), array_of=[0, 1]), "one entry for each box"),
        (lambda: alice.estimate(spec, v2(), damacy.Uniform("nothing")), "names 'nothing'; accepted are .*'array'"),
        (lambda: alice.estimate(spec, v2(), damacy.Uniform("array"), window=0), "window is 0"),
        (lambda: Document(b"", 4), "zarr_format is 4"),
        (lambda: TenantLimits(deadline_s=0), "deadline_s is 0"),
        (lambda: TenantLimits(memory_bytes=-1), "memory_bytes is -1"),
        (lambda: TenantLimits(fuel=0), "fuel is 0"),
        (lambda: PlannerPool(running=0), "running is 0"),
    ]:
        with pytest.raises(damacy.InvalidArgument, match=part):
            work()
    with pytest.raises(damacy.PoolError, match="of 'b'; the arrays are \\['a'\\]"):
        alice.plan(spec, {"a": v2()}, [Sample("b", np.s_[0:4, 0:4])])


def test_an_endless_iterable_is_refused(alice, pool):
    def endless():
        while True:
            yield np.s_[0:4, 0:4]

    with pytest.raises(damacy.PoolError) as caught:
        alice.plan(BatchSpec(1, (4, 4)), v2(), endless())
    assert caught.value.kind is RefusalKind.SAMPLES and caught.value.limit == 4096
    # A huge array of boxes is refused before it is copied.
    huge = np.broadcast_to(np.array([[[0, 4], [0, 4]]]), (4097, 2, 2))
    with pytest.raises(damacy.PoolError) as caught:
        alice.plan(BatchSpec(1, (4, 4)), v2(), huge)
    assert (caught.value.kind, caught.value.asked) == (RefusalKind.SAMPLES, 4097)
    assert pool.metrics("alice").refused[RefusalKind.SAMPLES] == 2


def test_what_an_iterable_raises_is_passed_on(alice):
    def broken():
        yield np.s_[0:4, 0:4]
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        alice.plan(BatchSpec(1, (4, 4)), v2(), broken())


def test_limits_are_kept_by_tenant(pool):
    assert pool.limits("alice") == PATIENT and pool.tenants() == ()
    own = TenantLimits(waiting=0, fuel=7, max_wait_s=0, metadata=damacy.MetadataLimits(max_depth=3))
    pool.set_limits("alice", own)
    assert pool.limits("alice") == own and pool.limits("bob") == PATIENT
    assert pool.tenants() == ("alice",) and pool.metrics("bob") is None
    assert pool.remove("alice") is True and pool.remove("alice") is False
    assert pool.limits("alice") == PATIENT
    with PlannerPool(tenants=1, name_bytes=8) as small:
        small.set_limits("one", PATIENT)
        with pytest.raises(damacy.BudgetExceeded):
            small.set_limits("two", PATIENT)
        with pytest.raises(damacy.PoolError) as caught:
            small.tenant("a name that is long").parse_metadata(v2())
        assert caught.value.kind is RefusalKind.TENANTS
        assert (caught.value.name, caught.value.limit, caught.value.asked) == ("name_bytes", 8, 19)


def test_metrics_have_every_kind_and_print(pool, alice):
    alice.parse_metadata(v2())
    with pytest.raises(damacy.DecodeError):
        alice.parse_metadata(b"?")
    metrics = pool.metrics("alice")
    assert list(metrics.refused) == list(RefusalKind)
    assert (metrics.calls, metrics.running, metrics.waiting) == (2, 0, 0)
    assert "2 calls" in str(metrics) and "1 invalid" in str(metrics)
    assert json.loads(metrics.to_json())["refused"]["invalid"] == 1
    assert 0 < metrics.p50_s <= metrics.p99_s and metrics.memory_bytes > 0


def test_many_tenants_from_many_threads(pool):
    spec, wanted = BatchSpec(2, (64, 64)), np.array([[[0, 64], [0, 64]], [[3, 67], [1, 65]]])
    facts = pool.tenant("one").parse_metadata(v2())
    failures = []

    def work(at):
        try:
            for job in range(20):
                tenant = pool.tenant(f"tenant {at} {job % 5}")
                assert len(tenant.plan(spec, facts if job % 2 else v2(), wanted).chunk_key) == 4
                assert tenant.validate(spec, facts, wanted).samples == 2
                with pytest.raises(damacy.DecodeError):
                    tenant.parse_metadata(b"[[[[")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert not failures
    assert len(pool.tenants()) == 81
    metrics = [pool.metrics(name) for name in pool.tenants() if name != "one"]
    assert all((each.calls, each.refused[RefusalKind.INVALID]) == (12, 4) for each in metrics)


def test_from_asyncio(pool):
    spec, wanted = BatchSpec(2, (64, 64)), np.array([[[0, 64], [0, 64]], [[3, 67], [1, 65]]])

    async def one(at):
        return await asyncio.to_thread(pool.tenant(f"{at % 7}").plan, spec, v2(), wanted)

    async def everything():
        return await asyncio.gather(*(one(at) for at in range(50)))

    assert all(len(planned.chunk_key) == 4 for planned in asyncio.run(everything()))


def test_closing_refuses_and_the_rest_stays(alice, pool):
    planned = alice.plan(BatchSpec(1, (128, 128)), v2(), [np.s_[64:192, 0:128]])
    facts = alice.parse_metadata(v2())
    pool.close()
    pool.close()
    with pytest.raises(damacy.ShutdownError) as caught:
        alice.parse_metadata(v2())
    assert caught.value.kind is RefusalKind.CLOSED
    assert len(planned.use_sample) == 4 and facts.info.shape == (512, 512)


def test_a_tenant_keeps_its_pool():
    tenant = PlannerPool(PATIENT).tenant("alice")
    assert tenant.parse_metadata(v2()).info.chunks == 64 and tenant.name == "alice"
    assert repr(tenant) == "<damacy.Tenant 'alice'>"


def test_zarr_writes_what_the_pool_reads(write, alice):
    path = write(np.zeros((4, 4)), chunks=(2, 2))
    assert alice.parse_metadata(document_of(path)).info.data_type == zarr.open_array(path).dtype.name


def test_what_tenants_write_moves_no_cursor(pool):
    with pytest.raises(damacy.PoolError) as caught:
        pool.tenant("al\x1b[31mice\n").parse_metadata(b'{"\\u001b[31m": [}')
    assert str(caught.value).isprintable() and "al\\u{1b}[31mice\\n" in str(caught.value)


def test_names_that_are_no_unicode_are_refused(pool):
    for work in (
        lambda: pool.tenant("\udc80"),
        lambda: pool.metrics("\udc80"),
        lambda: pool.tenant("alice").plan(BatchSpec(1, (1, 1)), {"\udc80": v2()}, []),
    ):
        with pytest.raises(damacy.InvalidArgument, match="Unicode"):
            work()
