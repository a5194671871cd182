"""Plans agree with brute force, element by element; errors are the specification's and name the sample."""

import dataclasses
import itertools
import json
import pickle

import damacy
import numpy as np
import pytest
import zarr
from damacy import BatchSpec, PlanLimits, Planner, Sample

LAYOUTS = {
    "v3": {"chunks": (3, 4, 5)},
    "v3 sharded": {"chunks": (2, 4, 3), "shards": (4, 8, 9)},
    "v2": {"chunks": (3, 4, 5), "zarr_format": 2},
    "v2 slashes": {"chunks": (9, 1, 2), "zarr_format": 2, "chunk_key_encoding": {"name": "v2", "separator": "/"}},
    "dots": {"chunks": (4, 4, 4), "chunk_key_encoding": {"name": "default", "separator": "."}},
}
SHAPE = (7, 9, 11)
EXTENT = (4, 3, 6)


def boxes(count, seed=0):
    random = np.random.default_rng(seed)
    starts = [random.integers(0, np.subtract(SHAPE, EXTENT) + 1) for _ in range(count)]
    return [tuple((int(s), int(s) + e) for s, e in zip(start, EXTENT, strict=True)) for start in starts]


def touched(array, box):
    """The chunks (coordinates in the grid of what is decoded) that hold an element of the box, element by element."""
    elements = itertools.product(*(range(*interval) for interval in box))
    return {tuple(at // c for at, c in zip(element, array.chunks, strict=True)) for element in elements}


def key_of(array, coords):
    """zarr-python's key of the object that holds a chunk."""
    objects = array.shards or array.chunks
    at = tuple(c * chunk // o for c, chunk, o in zip(coords, array.chunks, objects, strict=True))
    return array.metadata.encode_chunk_key(at)


def assembled(planned, opened):
    """The samples, copied use by use out of whole chunks of zarr-python's arrays; every element exactly once."""
    got = np.zeros((planned.samples, *planned.output.shape), np.int64)
    writes = np.zeros(got.shape, int)
    for chunk in planned.chunks():
        array, facts = opened[chunk.array], planned.arrays[chunk.array]
        begin = [c * n for c, n in zip(chunk.coords, facts.chunk_shape, strict=True)]
        whole = array[tuple(slice(b, b + n) for b, n in zip(begin, facts.chunk_shape, strict=True))]
        for use in chunk.uses:
            assert all(0 <= start < stop for start, stop in use.source)
            part = whole[tuple(slice(*interval) for interval in use.source)]
            assert part.shape == tuple(stop - start for start, stop in use.source)
            to = tuple(slice(t, t + n) for t, n in zip(use.target, part.shape, strict=True))
            got[use.sample][to] = part
            writes[use.sample][to] += 1
    assert (writes == 1).all()
    return got


@pytest.mark.parametrize("layout", LAYOUTS)
def test_plans_agree_with_brute_force(write, layout):
    data = np.arange(np.prod(SHAPE), dtype=np.uint16).reshape(SHAPE)
    path = write(data, **LAYOUTS[layout])
    array = zarr.open_array(path, mode="r")
    wanted = boxes(20)
    planned = damacy.plan(BatchSpec(8, EXTENT, "u8"), (Sample(path, box) for box in wanted))

    np.testing.assert_array_equal(assembled(planned, [array]), [data[tuple(slice(*i) for i in box)] for box in wanted])
    expected = {(coords, n) for n, box in enumerate(wanted) for coords in touched(array, box)}
    assert {(chunk.coords, use.sample) for chunk in planned.chunks() for use in chunk.uses} == expected
    assert len(planned.use_sample) == len(expected)
    unique = {coords for coords, _ in expected}
    assert len(planned.chunk_key) == len(unique)
    assert all(chunk.key == key_of(array, chunk.coords) for chunk in planned.chunks())

    facts = damacy.PlannedArray(path, SHAPE, "uint16", array.chunks, array.shards)
    assert planned.arrays == (facts,)
    elements, chunk_bytes = 20 * int(np.prod(EXTENT)), 2 * int(np.prod(array.chunks))
    totals = planned.totals
    assert (totals.elements, totals.output_bytes, totals.needed_bytes) == (elements, elements, 2 * elements)
    assert (totals.batch_bytes, totals.largest_chunk_bytes) == (8 * int(np.prod(EXTENT)), chunk_bytes)
    assert totals.decoded_bytes == chunk_bytes * len(unique)
    assert totals.decode_waste == totals.decoded_bytes / totals.needed_bytes
    assert totals.memory_bytes > 3 * totals.batch_bytes + chunk_bytes
    assert totals.read_bytes is None and totals.read_waste is None


def test_columns_have_the_documented_shapes_and_say_what_the_chunks_say(write):
    path = write(np.zeros(SHAPE, np.uint8), chunks=(3, 4, 5))
    planned = damacy.plan(BatchSpec(2, EXTENT), [Sample(path, box) for box in boxes(5)])
    chunks, uses = len(planned.chunk_key), len(planned.use_sample)
    assert planned.chunk_coords.shape == (chunks, 3) and planned.chunk_uses.shape == (chunks + 1,)
    assert planned.chunk_array.tolist() == [0] * chunks
    assert planned.chunk_uses[0] == 0 and planned.chunk_uses[-1] == uses
    for column in (planned.use_source, planned.use_extent, planned.use_target):
        assert column.shape == (uses, 3) and column.dtype == np.int64 and not column.flags.writeable
    flat = [use for chunk in planned.chunks() for use in chunk.uses]
    assert [use.sample for use in flat] == planned.use_sample.tolist()
    assert [[start for start, _ in use.source] for use in flat] == planned.use_source.tolist()
    assert [[stop - start for start, stop in use.source] for use in flat] == planned.use_extent.tolist()
    assert [list(use.target) for use in flat] == planned.use_target.tolist()


def test_the_pipeline_decodes_what_was_planned(write):
    path = write(np.arange(np.prod(SHAPE), dtype=np.int32).reshape(SHAPE), chunks=(3, 4, 5))
    samples = [Sample(path, box) for box in boxes(16)]
    spec = BatchSpec(4, EXTENT)
    planned = damacy.plan(spec, samples)
    with damacy.Pipeline(spec, queues=damacy.QueueLimits(16)) as pipeline:
        pipeline.push(samples)
        assert len(list(pipeline)) == 4
        stats = pipeline.stats()
    if stats.windows == 1:
        assert stats.decoded_bytes == planned.totals.decoded_bytes
        assert stats.chunks_decoded == len(planned.chunk_key)
    assert stats.needed_bytes == planned.totals.needed_bytes


def test_several_arrays_and_types_in_one_plan(write):
    a, b = np.arange(20, dtype=">i2"), np.arange(40, dtype=np.float32)
    paths = [write(a, name="a", chunks=(4,)), write(b, name="b", chunks=(10,), shards=(20,))]
    planned = damacy.plan(BatchSpec(2, (7,)), [Sample(paths[n % 2], [(n, n + 7)]) for n in range(6)])
    assert [(array.uri, array.dtype) for array in planned.arrays] == list(zip(paths, ("int16", "float32"), strict=True))
    opened = [zarr.open_array(path, mode="r") for path in paths]
    np.testing.assert_array_equal(assembled(planned, opened), [np.arange(n, n + 7) for n in range(6)])


def test_arrays_without_axes_and_plans_without_samples(write):
    path = write(np.array(7, np.uint8))
    planned = damacy.plan(BatchSpec(2, ()), [Sample(path, ())] * 3)
    assert [(c.coords, [u.sample for u in c.uses]) for c in planned.chunks()] == [((), [0, 1, 2])]
    assert planned.use_source.shape == (3, 0)
    empty = damacy.plan(BatchSpec(2, (3, 3)), [])
    assert (empty.samples, empty.arrays, list(empty.chunks())) == (0, (), [])
    assert empty.totals.decode_waste == 0 and empty.chunk_coords.shape == (0, 2)


def test_huge_arrays_are_planned_exactly(tmp_path):
    path, side = str(tmp_path / "huge"), 2**62
    zarr.create_array(store=path, shape=(side,), chunks=(2**40,), dtype="u1")
    planned = damacy.plan(BatchSpec(1, (5,)), [Sample(path, [(side - 5, side)])])
    (chunk,) = planned.chunks()
    assert chunk.coords == (2**22 - 1,) and chunk.uses[0].source == ((2**40 - 5, 2**40),)


def test_plans_print_pickle_and_convert(write):
    path = write(np.zeros(SHAPE, np.uint8), chunks=(3, 4, 5))
    planned = damacy.plan(BatchSpec(2, EXTENT, "bf16"), [Sample(path, box) for box in boxes(3)])
    assert f"{len(planned.chunk_key)} chunks" in repr(planned) and "3 samples" in repr(planned)
    for fact in (path, "uint8 (7, 9, 11)", "chunks (3, 4, 5)", "bfloat16", "decode waste", "read waste unknown"):
        assert fact in str(planned)
    as_dict = planned.to_dict()
    assert json.loads(planned.to_json()) == json.loads(json.dumps(as_dict)) == json.loads(planned.to_json(indent=2))
    assert as_dict["output"] == {"samples": 2, "shape": EXTENT, "dtype": "bfloat16"}
    assert as_dict["totals"]["read_bytes"] is None and as_dict["arrays"][0]["chunk_shape"] == (3, 4, 5)
    assert sum(len(chunk["uses"]) for chunk in as_dict["chunks"]) == len(planned.use_sample)
    assert pickle.loads(pickle.dumps(planned)).to_dict() == as_dict
    with pytest.raises(dataclasses.FrozenInstanceError):
        planned.samples = 4


def test_errors_name_the_sample(write, tmp_path):
    good = Sample(write(np.zeros(SHAPE, np.uint8), name="good", chunks=(3, 4, 5)), boxes(1)[0])
    other_rank = write(np.zeros((9, 9), np.uint8), name="rank")
    no_conversion = write(np.zeros(SHAPE, np.float64), name="type")
    spec = BatchSpec(2, EXTENT)
    for bad, status, also, facts in [
        (Sample(other_rank, [(0, 4), (0, 3)]), "RANK", damacy.RankMismatch, other_rank),
        (Sample(no_conversion, good.aabb), "DTYPE", damacy.DtypeMismatch, "float64"),
        (Sample(good.uri, [(5, 9), (0, 3), (0, 6)]), "INVAL", damacy.InvalidArgument, r"uint8 of shape \(7, 9, 11\)"),
        (Sample(good.uri, [(0, 3), (0, 3), (0, 6)]), "INVAL", damacy.InvalidArgument, good.uri),
        (Sample(tmp_path / "missing", good.aabb), "NOTFOUND", damacy.NotFound, "missing"),
        (Sample("http://host/a", good.aabb), "UNSUPPORTED", damacy.Unsupported, "http"),
    ]:
        with pytest.raises(also, match=facts) as caught:
            damacy.plan(spec, [good, good, bad, good])
        assert caught.value.status is damacy.Status[status]
        assert "sample 2" in str(caught.value), caught.value


def test_malformed_metadata_is_a_decode_error(tmp_path):
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "array", "shape": [')
    with pytest.raises(damacy.DecodeError, match="sample 0"):
        damacy.plan(BatchSpec(1, (1,)), [Sample(tmp_path, [(0, 1)])])


def test_limits_are_kept(write):
    path = write(np.zeros((64, 64), np.uint8), chunks=(1, 1))
    whole = Sample(path, np.s_[0:64, 0:64])
    spec = BatchSpec(1, (64, 64))
    with pytest.raises(damacy.BudgetExceeded, match="sample 0"):
        damacy.plan(spec, [whole], Planner(PlanLimits(max_chunks=4095)))
    with pytest.raises(damacy.BudgetExceeded, match="2 samples"):
        damacy.plan(spec, [whole] * 2, Planner(PlanLimits(max_chunks=8191)))
    assert len(damacy.plan(spec, [whole] * 2, Planner(PlanLimits(max_chunks=8192))).use_sample) == 8192
    with pytest.raises(damacy.BudgetExceeded, match="sample 8 "):
        endless = itertools.repeat(Sample(path, np.s_[:1, :1]))
        damacy.plan(BatchSpec(1, (1, 1)), endless, Planner(PlanLimits(max_chunks=8)))
    with pytest.raises(damacy.BudgetExceeded, match="memory"):
        damacy.plan(spec, [whole] * 200, Planner(PlanLimits(memory_bytes=4 << 20)))
    with pytest.raises(damacy.BudgetExceeded, match="deadline"):
        damacy.plan(spec, [whole] * 250, Planner(PlanLimits(memory_bytes=1 << 30, deadline_s=0.01)))
    assert [c.coords for c in damacy.plan(spec, [whole]).chunks()] == list(itertools.product(range(64), range(64)))


def test_arguments_are_checked():
    spec, sample = BatchSpec(1, (1,)), Sample("a", [(0, 1)])
    for call, named in [
        (lambda: damacy.plan((1, (1,)), []), "output is"),
        (lambda: damacy.plan(spec, [], PlanLimits()), "planner is"),
        (lambda: damacy.plan(spec, 5), "samples is a int"),
        (lambda: damacy.plan(spec, sample), r"\[sample\]"),
        (lambda: damacy.plan(spec, ["a"]), "sample 0 is a str"),
    ]:
        with pytest.raises(damacy.InvalidArgument, match=named) as caught:
            call()
        assert "accepted" in str(caught.value)


def test_what_the_iterable_raises_is_passed_on():
    def failing():
        yield Sample("a", [(0, 1)])
        raise KeyError("label")

    with pytest.raises(KeyError, match="label"):
        damacy.plan(BatchSpec(1, (1,)), failing())
