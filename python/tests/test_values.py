"""Specs, samples and limits are checked when they are made, compare by value, and say what is accepted."""

import dataclasses
import itertools
import pathlib
import pickle

import damacy
import numpy as np
import pytest
from damacy import BatchSpec, CpuExecutor, CpuLimits, Engine, PlanLimits, Planner, QueueLimits, Sample


def test_defaults_are_the_specifications():
    assert BatchSpec(2, (3,)) == BatchSpec(samples=2, shape=(3,), dtype="float32")
    assert CpuExecutor() == CpuExecutor(engine="native", limits=CpuLimits())
    assert CpuLimits() == CpuLimits(max_memory_bytes=1 << 30, workers=None, output_buffers=None, chunk_cache_bytes=0)
    assert Planner().limits == PlanLimits(memory_bytes=64 << 20, deadline_s=1.0, max_chunks=1 << 20)
    assert QueueLimits() == QueueLimits(lookahead_samples=None)
    assert Sample("a", [(0, 1)]).tag is None


@pytest.mark.parametrize(
    "value",
    [
        BatchSpec(8, (64, 64), "u8"),
        Sample("a", np.s_[0:1, 2:3]),
        CpuExecutor("sandbox", CpuLimits(1 << 20, workers=3, chunk_cache_bytes=1 << 19)),
        Planner(PlanLimits(deadline_s=2)),
        QueueLimits(7),
    ],
)
def test_values_pickle_compare_hash_and_print_as_they_are(value):
    again = pickle.loads(pickle.dumps(value))
    assert again == value and hash(again) == hash(value)
    names = {name: getattr(damacy, name) for name in damacy.__all__}
    source = repr(value).replace("<Dtype.U8: 2>", "2").replace("<Engine.SANDBOX: 'sandbox'>", "'sandbox'")
    assert eval(source, names) == value
    with pytest.raises(AttributeError):
        setattr(value, dataclasses.fields(value)[0].name, 1)


def test_engines_are_given_by_name_or_member():
    assert CpuExecutor("SANDBOX").engine is Engine.SANDBOX is CpuExecutor(Engine.SANDBOX).engine
    assert CpuExecutor().engine == "native"
    for given in ("fast", None, 1, b"native"):
        with pytest.raises(damacy.InvalidArgument, match="native.*sandbox"):
            CpuExecutor(given)


def test_zero_dimensional_specs_are_legal():
    assert BatchSpec(4, ()).shape == ()
    assert Sample("a", ()).aabb == ()


def test_numpy_integers_are_integers():
    assert BatchSpec(np.int32(2), np.array([3, 4])) == BatchSpec(2, (3, 4))
    assert Sample("a", [(np.uint8(1), np.int64(5))]).aabb == ((1, 5),)
    assert Sample("a", np.array([[0, 4], [2, 3]])) == Sample("a", [(0, 4), (2, 3)])


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: BatchSpec(0, (1,)), "samples is 0"),
        (lambda: BatchSpec(True, (1,)), "samples is True"),
        (lambda: BatchSpec(1.0, (1,)), "samples is 1.0"),
        (lambda: BatchSpec(2**63, (1,)), "samples is 9223372036854775808"),
        (lambda: BatchSpec(1, (4, 0)), r"shape\[1\] is 0"),
        (lambda: BatchSpec(1, (4, -1)), r"shape\[1\] is -1"),
        (lambda: BatchSpec(1, (4, 2.5)), r"shape\[1\] is 2.5"),
        (lambda: BatchSpec(1, 4), "shape is 4"),
        (lambda: BatchSpec(1, "44"), "shape is '44'"),
        (lambda: BatchSpec(1, np.array(5)), r"shape is array\(5\)"),
        (lambda: CpuLimits(max_memory_bytes=0), "max_memory_bytes is 0"),
        (lambda: CpuLimits(max_memory_bytes=None), "max_memory_bytes is None"),
        (lambda: CpuLimits(workers=0), "workers is 0"),
        (lambda: CpuLimits(output_buffers=1), "output_buffers is 1.*from 2"),
        (lambda: CpuLimits(chunk_cache_bytes=-1), "chunk_cache_bytes is -1"),
        (lambda: CpuLimits(chunk_cache_bytes=None), "chunk_cache_bytes is None"),
        (lambda: CpuExecutor(limits=5), "limits is 5"),
        (lambda: PlanLimits(deadline_s=0), "deadline_s is 0"),
        (lambda: PlanLimits(deadline_s=float("nan")), "deadline_s is nan"),
        (lambda: PlanLimits(deadline_s=float("inf")), "deadline_s is inf"),
        (lambda: PlanLimits(deadline_s="1"), "deadline_s is '1'"),
        (lambda: PlanLimits(max_chunks=0), "max_chunks is 0"),
        (lambda: Planner(CpuLimits()), "limits is CpuLimits"),
        (lambda: QueueLimits(0), "lookahead_samples is 0"),
        (lambda: damacy.Pipeline((8, (1,))), "output is"),
        (lambda: damacy.Pipeline(BatchSpec(1, (1,)), executor="cpu"), "executor is 'cpu'"),
        (lambda: damacy.Pipeline(BatchSpec(1, (1,)), planner=PlanLimits()), "planner is PlanLimits"),
        (lambda: damacy.Pipeline(BatchSpec(1, (1,)), queues=5), "queues is 5"),
        (lambda: damacy.Pipeline(BatchSpec(1, (1,)), drop_last=1), "drop_last is 1"),
        (lambda: damacy.Pipeline(BatchSpec(1, (1,)), pop_timeout_s=-1), "pop_timeout_s is -1"),
    ],
)
def test_bad_arguments_are_refused_by_name(make, named):
    with pytest.raises(damacy.InvalidArgument, match=named) as caught:
        make()
    assert "accepted" in str(caught.value)


def test_boxes_are_pairs_or_slices():
    expected = ((0, 4), (2, 6))
    for box in ([(0, 4), (2, 6)], ((0, 4), [2, 6]), np.s_[0:4, 2:6], np.s_[:4, 2:6:1], [slice(0, 4), (2, 6)]):
        assert Sample("a", box).aabb == expected
    assert Sample("a", np.s_[3:9]).aabb == ((3, 9),)
    assert Sample("a", [(0, 2**63 - 1)]).aabb == ((0, 2**63 - 1),)


@pytest.mark.parametrize(
    ("box", "why"),
    [
        ((2, 5), "is no interval"),
        (np.s_[0:4, 3], "is no interval"),
        (7, "aabb is 7"),
        ("ab", "aabb is 'ab'"),
        (None, "aabb is None"),
        (np.array(5), r"aabb is array\(5\)"),
        ([np.array(3)], "is no interval"),
        ([range(0, 2)], "is no interval"),
        (range(0), "aabb is range"),
        ([b"ab"], "is no interval"),
        ([bytearray(b"ab")], "is no interval"),
        ({0: (1, 2)}, "aabb is"),
        (np.s_[0:4:2], "step 2"),
        (np.s_[4:0:-1], "step -1"),
        (np.s_[0:4, 3:3], r"aabb\[1\].*is empty"),
        ([(5, 2)], "is empty"),
        ([(-3, 2)], "starts below 0"),
        (np.s_[-3:2], "starts below 0"),
        (np.s_[0:-1], "is empty"),
        (np.s_[2:], "no stop"),
        (np.s_[:], "no stop"),
        (np.s_[..., 0:2], "is no interval"),
        (np.s_[None, 0:2], "is no interval"),
        ([(0, 1, 2)], "is no interval"),
        ([(0.0, 2)], "bound 0.0"),
        ([(False, True)], "bound False"),
        ([("0", 2)], "bound '0'"),
        ([(0, 2**63)], "ends above"),
    ],
)
def test_other_boxes_are_refused_when_the_sample_is_made(box, why):
    with pytest.raises(damacy.InvalidArgument, match=why) as caught:
        Sample("a", box)
    assert "accepted" in str(caught.value)


def test_uris_are_strings_or_paths():
    assert Sample(pathlib.Path("some") / "array", [(0, 1)]).uri == "some/array"
    for uri in (b"bytes", 5, None, ""):
        with pytest.raises(damacy.InvalidArgument, match="uri"):
            Sample(uri, [(0, 1)])


def test_tags_do_not_take_part_in_comparison():
    assert Sample("a", [(0, 1)], tag=np.arange(3)) == Sample("a", [(0, 1)], tag=np.arange(4))


@pytest.mark.parametrize("shape", [itertools.count(1), (1,) * 33])
def test_a_shape_of_too_many_axes_is_refused_without_reading_on(shape):
    with pytest.raises(damacy.InvalidArgument, match="more than 32 axes"):
        damacy.BatchSpec(1, shape)


def test_an_index_in_a_box_is_told_how_to_keep_its_axis():
    with pytest.raises(damacy.InvalidArgument, match=r"write slice\(3, 4\)"):
        damacy.Sample("a", np.s_[3, 0:4])
