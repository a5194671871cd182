"""``damacy.estimate`` agrees with brute force: every start, every chunk, counted; and with ``damacy.plan``."""

import dataclasses
import itertools
import json
import pickle

import damacy
import numpy as np
import pytest
import zarr
from damacy import BatchSpec, Grid, PlanLimits, Planner, Sample, Uniform

SHAPE, CHUNKS, SHARDS, EXTENT = (9, 14), (2, 3), (4, 6), (3, 4)


@pytest.fixture
def path(write):
    return write(np.zeros(SHAPE, np.uint16), chunks=CHUNKS)


def starts(shape=SHAPE, stride=(1, 1)):
    axes = (range(0, n - e + 1, s) for n, e, s in zip(shape, EXTENT, stride, strict=True))
    return list(itertools.product(*axes))


def touched(start, chunks):
    """Chunks that hold an element of the crop, element by element."""
    elements = itertools.product(*(range(s, s + e) for s, e in zip(start, EXTENT, strict=True)))
    return {tuple(at // c for at, c in zip(element, chunks, strict=True)) for element in elements}


def boxes(path, count, seed=0):
    drawn = np.random.default_rng(seed).choice(len(starts()), count)
    corners = [starts()[n] for n in drawn]
    return corners, [Sample(path, [(s, s + e) for s, e in zip(c, EXTENT, strict=True)]) for c in corners]


@pytest.mark.parametrize("window", [4, 9, 64])
def test_given_boxes_are_priced_exactly_window_by_window(write, window):
    path = write(np.zeros(SHAPE, np.uint16), chunks=CHUNKS, shards=SHARDS)
    corners, samples = boxes(path, 21)
    cost = damacy.estimate(BatchSpec(4, EXTENT, "i64"), iter(samples), window=window, encoded=0.25)
    size = max(1, window // 4) * 4
    windows = [corners[n : n + size] for n in range(0, 21, size)]
    unique = sum(len(set().union(*(touched(c, CHUNKS) for c in w))) for w in windows)
    objects = sum(len(set().union(*(touched(c, SHARDS) for c in w))) for w in windows)
    assert cost.certainty is damacy.Certainty.EXACT and (cost.samples, cost.windows) == (21, len(windows))
    assert cost.uses == sum(len(touched(c, CHUNKS)) for c in corners)
    assert (cost.chunks, cost.objects) == (unique, objects)
    chunk_bytes, elements = 2 * 2 * 3, 21 * 3 * 4
    assert cost.decoded_bytes == unique * chunk_bytes == cost.largest_chunk_bytes * unique
    assert cost.needed_bytes == 2 * elements and cost.elements == elements
    assert cost.decode_waste == cost.decoded_bytes / cost.needed_bytes
    assert cost.read_bytes == pytest.approx(0.25 * cost.decoded_bytes, abs=len(windows))
    assert cost.output_bytes == {d.full_name: elements * d.itemsize for d in damacy.Dtype}
    assert cost.arrays == (damacy.PlannedArray(path, SHAPE, "uint16", CHUNKS, SHARDS),)


def test_one_window_of_boxes_is_what_the_planner_plans(path):
    _, samples = boxes(path, 16)
    spec = BatchSpec(4, EXTENT)
    cost, planned = damacy.estimate(spec, samples), damacy.plan(spec, samples)
    totals = planned.totals
    assert (cost.chunks, cost.uses) == (len(planned.chunk_key), len(planned.use_sample))
    for name in ("elements", "needed_bytes", "decoded_bytes", "largest_chunk_bytes", "decode_waste"):
        assert getattr(cost, name) == getattr(totals, name)
    assert cost.output_bytes["float32"] == totals.output_bytes and cost.host.batch_bytes == totals.batch_bytes


@pytest.mark.parametrize("stride", [None, (1, 1), (2, 5)])
@pytest.mark.parametrize("window", [4, 32])
def test_drawn_crops_are_averages_over_all_draws(path, stride, window):
    crops = Uniform(path) if stride == (1, 1) else Grid(path, stride=stride)
    cost = damacy.estimate(BatchSpec(4, EXTENT), crops, window=window)
    places = starts(stride=stride or EXTENT)
    counts = {}
    for start in places:
        for chunk in touched(start, CHUNKS):
            counts[chunk] = counts.get(chunk, 0) + 1
    assert cost.certainty is damacy.Certainty.EXPECTED and (cost.samples, cost.windows) == (window, 1)
    assert cost.uses == pytest.approx(window * sum(counts.values()) / len(places), rel=1e-9)
    different = sum(1 - (1 - n / len(places)) ** window for n in counts.values())
    assert cost.chunks == pytest.approx(different, rel=1e-9)
    assert cost.decoded_bytes == round(different * 12)


def test_weights_choose_the_array(write):
    a = write(np.zeros(SHAPE, np.uint8), name="a", chunks=(9, 14))
    b = write(np.zeros(SHAPE, np.uint8), name="b", chunks=(1, 1))
    spec = BatchSpec(1, EXTENT)
    alone = damacy.estimate(spec, Uniform(a), window=1)
    both = damacy.estimate(spec, Uniform([a, b], weights=(3, 1)), window=1)
    assert alone.uses == 1 and both.uses == pytest.approx(0.75 * 1 + 0.25 * 12)


def test_sizes_of_single_chunks_are_read_and_missing_ones_are_not_decoded(path):
    sizes = np.arange(25)  # 5 x 5 chunks, the first one missing
    corners, samples = boxes(path, 8)
    cost = damacy.estimate(BatchSpec(8, EXTENT), samples, encoded={path: sizes})
    unique = set().union(*(touched(c, CHUNKS) for c in corners))
    assert cost.read_bytes == sum(int(sizes[y * 5 + x]) for y, x in unique)
    assert cost.decoded_bytes == 12 * len(unique - {(0, 0)})
    with pytest.raises(damacy.InvalidArgument, match="24 encoded sizes"):
        damacy.estimate(BatchSpec(8, EXTENT), samples, encoded={path: sizes[:24]})


def test_advice_is_for_the_array_asked_for(write):
    a = write(np.zeros((512, 512), np.uint16), name="a", chunks=(512, 1))
    b = write(np.zeros((512, 512), np.uint16), name="b", chunks=(64, 64))
    spec = BatchSpec(4, (64, 64))
    cost = damacy.estimate(spec, Uniform([b, a]), advise_layout=a, advise_lookahead=True, memory_bytes=8 << 20)
    assert cost.layout.array == 1 and cost.layout.current.chunk_shape == (512, 1)

    def price(layout):  # decoded bytes, and 16 KiB for each different chunk
        return layout.chunks * (layout.chunk_bytes + (16 << 10))

    assert price(cost.layout.best) < price(cost.layout.current) / 2
    steps = cost.lookahead.steps
    assert steps[0].samples == 4 and steps[-1].samples == cost.lookahead.most >= cost.lookahead.enough
    assert all(one.decode_waste > two.decode_waste for one, two in itertools.pairwise(steps))
    plain = damacy.estimate(spec, Uniform([b, a]))
    assert plain.layout is None and plain.lookahead is None


def test_an_array_of_10_to_the_12_chunks_is_priced(tmp_path):
    zarr.create_array(store=str(tmp_path), shape=(10**6 * 64, 10**6 * 64), chunks=(64, 64), dtype="u2")
    cost = damacy.estimate(BatchSpec(8, (100, 100)), Uniform(str(tmp_path)))
    assert cost.uses / cost.samples == pytest.approx((1 + 99 / 64) ** 2, rel=1e-4)


def test_memory_is_the_documented_formula(path):
    cost = damacy.estimate(BatchSpec(4, EXTENT), Uniform(path), window=8, workers=3)
    host = cost.host
    assert (host.batch_bytes, host.buffers, host.workers) == (4 * 12 * 4, 4, 3)
    assert host.decode_bytes == 12 + 12 * 9 // 8 + (64 << 10) + (1 << 20)
    assert host.total_bytes == host.buffers * host.batch_bytes + host.workers * host.decode_bytes + host.plan_bytes
    cached = damacy.estimate(BatchSpec(4, EXTENT), Uniform(path), window=8, workers=3, chunk_cache_bytes=1 << 20).host
    assert (host.cache_bytes, cached.cache_bytes) == (0, 1 << 20)
    assert cached.total_bytes - cached.plan_bytes == host.total_bytes - host.plan_bytes + (1 << 20)
    assert cost.device.total_bytes == cost.device.output_bytes + cost.device.staging_bytes + cost.device.table_bytes


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"crops": 5}, damacy.InvalidArgument, "crops is a int"),
        ({"crops": [5]}, damacy.InvalidArgument, "sample 0"),
        ({"window": 0}, damacy.InvalidArgument, "window is 0"),
        ({"workers": 0}, damacy.InvalidArgument, "workers is 0"),
        ({"encoded": 0}, damacy.InvalidArgument, "ratio above 0"),
        ({"encoded": float("nan")}, damacy.InvalidArgument, "ratio above 0"),
        ({"encoded": "0.5"}, damacy.InvalidArgument, "ratio above 0"),
        ({"encoded": {"other": 0.5}}, damacy.InvalidArgument, "'other'"),
        ({"advise_layout": "other"}, damacy.InvalidArgument, "'other'"),
        ({"advise_lookahead": 1}, damacy.InvalidArgument, "advise_lookahead is 1"),
        ({"output": BatchSpec(1, (1, 1, 1))}, damacy.RankMismatch, "2 axes"),
        ({"output": BatchSpec(1, (10, 1))}, damacy.InvalidArgument, "origin"),
        ({"planner": Planner(PlanLimits(max_chunks=1))}, damacy.BudgetExceeded, "max_chunks is 1"),
        ({"planner": Planner(PlanLimits(memory_bytes=1))}, damacy.BudgetExceeded, "memory_bytes is 1"),
    ],
)
def test_refusals_say_what_was_given(path, arguments, error, match):
    given = {"output": BatchSpec(4, EXTENT), "crops": Uniform(path), **arguments}
    with pytest.raises(error, match=match):
        damacy.estimate(given.pop("output"), given.pop("crops"), **given)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Uniform([]),
        lambda: Uniform(""),
        lambda: Uniform(5),
        lambda: Uniform(["a", "a"]),
        lambda: Uniform(["a", "b"], weights=[1]),
        lambda: Uniform("a", weights=[0]),
        lambda: Uniform("a", weights=[-1]),
        lambda: Grid("a", stride=[0]),
        lambda: Grid("a", stride=5),
    ],
)
def test_crops_are_checked_when_they_are_made(make):
    with pytest.raises(damacy.InvalidArgument):
        make()


def test_faults_of_arrays_and_samples_are_the_planner_s(path, tmp_path, write):
    spec = BatchSpec(4, EXTENT)
    with pytest.raises(damacy.NotFound, match="array 1 of the job"):
        damacy.estimate(spec, Uniform([path, str(tmp_path / "none")]))
    doubles = write(np.zeros(SHAPE, np.float64), name="doubles")
    with pytest.raises(damacy.DtypeMismatch, match="float64"):
        damacy.estimate(spec, Uniform(doubles))
    outside = Sample(path, [(8, 11), (0, 4)])
    with pytest.raises(damacy.InvalidArgument, match="sample 1"):
        damacy.estimate(spec, [boxes(path, 1)[1][0], outside])


def test_estimates_print_pickle_and_convert(path):
    cost = damacy.estimate(BatchSpec(4, EXTENT, "bf16"), Uniform(path), advise_layout=path, advise_lookahead=True)
    for fact in (path, "bfloat16", "decode waste", "read waste unknown", "best layout", "look-ahead"):
        assert fact in str(cost)
    as_dict = cost.to_dict()
    assert json.loads(cost.to_json(indent=2)) == json.loads(json.dumps(as_dict)) == as_dict
    assert as_dict["output"] == {"samples": 4, "shape": list(EXTENT), "dtype": "bfloat16"}
    assert as_dict["certainty"] == "expected" and as_dict["read_bytes"] is None
    assert pickle.loads(pickle.dumps(cost)) == cost
    with pytest.raises(dataclasses.FrozenInstanceError):
        cost.samples = 1
