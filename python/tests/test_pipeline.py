"""Batches come out in push order; errors at the batch they belong to, after the earlier ones, and sticky."""

import errno
import itertools
import json
import os
import shutil
import threading
import weakref
from pathlib import Path

import damacy
import numpy as np
import pytest
from conftest import ROW

SPEC = damacy.BatchSpec(2, ROW, "u16")


def tags(batches):
    return [batch.info.tags for batch in batches]


def test_batches_come_out_in_push_order_with_ids_and_tags(rows, row_samples):
    _, data = rows
    with damacy.Pipeline(SPEC) as pipeline:
        pipeline.push(row_samples(0, 3))
        pipeline.push(list(row_samples(3, 50)))
        pipeline.push(tuple(row_samples(50, 64)))
        for number, batch in enumerate(pipeline):
            assert batch.info.id == number
            assert batch.info.tags == (2 * number, 2 * number + 1)
            np.testing.assert_array_equal(np.asarray(batch)[:, 0], data[2 * number : 2 * number + 2])
        assert number == 31


@pytest.mark.parametrize("engine", ["native", "sandbox"])
@pytest.mark.parametrize("dtype", list(damacy.Dtype))
def test_batches_hold_the_converted_crops(write, dtype, engine):
    data = np.random.default_rng(0).integers(-40000, 40000, (9, 11, 7)).astype(np.int32)
    path = write(data, chunks=(4, 3, 7))
    boxes = [np.s_[i : i + 4, j : j + 5, 1:7] for i, j in itertools.product((0, 2, 5), (0, 3, 6))]
    with damacy.Pipeline(damacy.BatchSpec(3, (4, 5, 6), dtype), damacy.CpuExecutor(engine)) as pipeline:
        pipeline.push(damacy.Sample(path, box) for box in boxes)
        got = [np.array(batch) for batch in pipeline]
    expected = damacy.convert(np.stack([data[box] for box in boxes]), dtype)
    np.testing.assert_array_equal(np.concatenate(got), expected)


def test_samples_come_from_several_arrays_of_several_types(write):
    a = np.arange(20, dtype=">i2") - 5
    b = np.linspace(-3, 300, 20).astype(np.float16)
    paths = [write(a, name="a"), write(b, name="b")]
    with damacy.Pipeline(damacy.BatchSpec(2, (20,), "u8")) as pipeline:
        pipeline.push(damacy.Sample(Path(path), [(0, 20)]) for path in paths)
        batch = np.asarray(pipeline.pop(timeout=60))
    np.testing.assert_array_equal(batch, [damacy.convert(a, "u8"), damacy.convert(b, "u8")])


def test_endless_generators_are_advanced_lazily(row_samples):
    pulled = []

    def endless():
        for sample in row_samples(10**12):
            pulled.append(sample.tag)
            yield sample

    queues = damacy.QueueLimits(lookahead_samples=8)
    with damacy.Pipeline(SPEC, queues=queues) as pipeline:
        pipeline.push(endless())
        assert tags(pipeline.batches(10)) == [(2 * i, 2 * i + 1) for i in range(10)]
        assert tags(pipeline.batches(2)) == [(20, 21), (22, 23)]
    assert pulled == list(range(len(pulled)))
    assert len(pulled) < 200


def test_a_generator_may_wait_for_what_the_consumer_does_with_earlier_batches(row_samples):
    seen = threading.Semaphore(0)

    def feedback():
        for pair in range(5):
            if pair > 0:
                assert seen.acquire(timeout=60)
            yield from row_samples(2 * pair, 2 * pair + 2)

    with damacy.Pipeline(SPEC) as pipeline:
        pipeline.push(feedback())
        assert len([seen.release() for _ in pipeline]) == 5


def test_one_thread_at_a_time_advances_the_iterators(row_samples):
    threads = set()

    class Watched:
        def __init__(self, items):
            self.items, self.inside = items, 0

        def __iter__(self):
            return self

        def __next__(self):
            assert self.inside == 0
            self.inside += 1
            threads.add(threading.get_ident())
            item = next(self.items, None)
            self.inside -= 1
            if item is None:
                raise StopIteration
            return item

    with damacy.Pipeline(SPEC) as pipeline:
        for start in range(0, 60, 20):
            pipeline.push(Watched(row_samples(start, start + 20)))
        assert len(tags(pipeline)) == 30
    assert threading.get_ident() not in threads


def test_what_an_iterator_keeps_by_thread_is_there_at_the_next_item(row_samples):
    local = threading.local()

    def counting():
        for sample in row_samples(20):
            local.count = getattr(local, "count", 0) + 1
            yield damacy.Sample(sample.uri, sample.aabb, tag=local.count)

    with damacy.Pipeline(SPEC) as pipeline:
        pipeline.push(counting())
        pipeline.push(counting())
        assert tags(pipeline) == [(2 * i + 1, 2 * i + 2) for i in range(20)]


def test_what_an_iterator_keeps_by_thread_goes_when_the_pipeline_closes(row_samples):
    class Connection:
        pass

    local, connections = threading.local(), []

    def connected():
        local.connection = Connection()
        connections.append(weakref.ref(local.connection))
        yield from row_samples(4)

    with damacy.Pipeline(SPEC) as pipeline:
        pipeline.push(connected())
        assert len(list(pipeline)) == 2
        assert connections[0]() is not None
    assert connections[0]() is None


def test_iteration_ends_and_goes_on_after_another_push(row_samples):
    with damacy.Pipeline(SPEC) as pipeline:
        assert list(pipeline) == []
        pipeline.push(row_samples(4))
        assert len(list(pipeline)) == 2
        assert list(pipeline) == []
        pipeline.push(row_samples(4, 6))
        assert tags(pipeline) == [(4, 5)]
        with pytest.raises(StopIteration):
            next(pipeline)


def test_batches_gives_as_many_as_asked_or_all_there_are(row_samples):
    with damacy.Pipeline(SPEC) as pipeline:
        pipeline.push(row_samples(10))
        assert len(list(pipeline.batches(2))) == 2
        assert list(pipeline.batches(0)) == []
        assert len(list(pipeline.batches(100))) == 3
        for n in (-1, 1.5, None, True):
            with pytest.raises(damacy.InvalidArgument, match="n is"):
                pipeline.batches(n)


def test_a_last_partial_batch_is_dropped_and_counted(row_samples):
    with damacy.Pipeline(damacy.BatchSpec(4, ROW)) as pipeline:
        pipeline.push(row_samples(10))
        assert len(list(pipeline)) == 2
        stats = pipeline.stats()
        assert (stats.batches, stats.samples, stats.dropped_samples) == (2, 8, 2)


def test_a_last_partial_batch_comes_out_with_its_true_length(rows, row_samples):
    _, data = rows
    with damacy.Pipeline(damacy.BatchSpec(4, ROW, "u16"), drop_last=False) as pipeline:
        pipeline.push(row_samples(10))
        *_, last = pipeline
        assert (last.info.samples, last.info.shape, last.info.tags) == (2, (2, 1, 5), (8, 9))
        assert last.info.nbytes == 20 and len(last) == 2
        np.testing.assert_array_equal(np.from_dlpack(last)[:, 0], data[8:10])
        assert pipeline.stats().dropped_samples == 0


def test_tags_are_given_back_as_they_are(rows):
    path, _ = rows
    given = [object(), {"label": 3}, None, np.arange(3), lambda: 1]
    with damacy.Pipeline(damacy.BatchSpec(5, ROW)) as pipeline:
        pipeline.push([damacy.Sample(path, [(0, 1), (0, 5)], tag=tag) for tag in given])
        back = pipeline.pop(timeout=60).info.tags
    assert all(a is b for a, b in zip(back, given, strict=True))


def test_pop_says_at_once_when_no_batch_can_complete(row_samples):
    with damacy.Pipeline(damacy.BatchSpec(8, ROW)) as pipeline:
        with pytest.raises(damacy.TryAgain, match="0 of 8 samples"):
            pipeline.pop()
        pipeline.push(row_samples(3))
        with pytest.raises(damacy.TryAgain, match="3 of 8 samples pushed") as caught:
            pipeline.pop()
        assert caught.value.status is damacy.Status.AGAIN
        pipeline.push(row_samples(3, 8))
        assert pipeline.pop().info.tags == tuple(range(8))


def test_push_refuses_only_what_is_no_iterable(row_samples):
    sample = next(row_samples(1))
    with damacy.Pipeline(SPEC) as pipeline:
        for given in (None, 5, object()):
            with pytest.raises(damacy.InvalidArgument, match="iterable"):
                pipeline.push(given)
        with pytest.raises(damacy.InvalidArgument, match=r"push\(\[sample\]\)"):
            pipeline.push(sample)
        pipeline.push(())
        pipeline.push([sample, sample])
        assert pipeline.pop(timeout=60).info.tags == (0, 0)


def test_an_old_style_sequence_is_iterable(row_samples):
    class Sequence:
        items = list(row_samples(4))

        def __getitem__(self, index):
            return self.items[index]

    with damacy.Pipeline(SPEC) as pipeline:
        pipeline.push(Sequence())
        assert tags(pipeline) == [(0, 1), (2, 3)]


class Boom(Exception):
    pass


def failing(samples):
    yield from samples
    raise Boom("out of samples")


def test_what_an_iterable_raises_surfaces_chained_at_its_batch_and_sticks(row_samples):
    with damacy.Pipeline(SPEC) as pipeline:
        pipeline.push(failing(row_samples(5)))
        pipeline.push(row_samples(100))
        assert [pipeline.pop(timeout=60).info.id for _ in range(2)] == [0, 1]
        for take in (pipeline.pop, lambda: next(pipeline), pipeline.pop):
            with pytest.raises(damacy.InvalidArgument, match="sample 5.*Boom.*out of samples|Boom") as caught:
                take()
            cause = caught.value.__cause__
            assert type(cause) is Boom
            frames = []
            traceback = cause.__traceback__
            while traceback:
                frames.append(traceback.tb_frame.f_code.co_name)
                traceback = traceback.tb_next
            assert "failing" in frames
            assert caught.value.what == "push"


def test_what_iter_raises_surfaces_at_the_pop_too():
    class Broken:
        def __iter__(self):
            raise Boom("no iterator")

    with damacy.Pipeline(SPEC) as pipeline:
        pipeline.push(Broken())
        with pytest.raises(damacy.InvalidArgument) as caught:
            pipeline.pop(timeout=60)
        assert type(caught.value.__cause__) is Boom


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError])
def test_no_exception_of_an_iterable_ends_the_process(row_samples, error):
    def raising():
        yield from row_samples(2)
        raise error

    with damacy.Pipeline(SPEC) as pipeline:
        pipeline.push(raising())
        pipeline.pop(timeout=60)
        with pytest.raises(damacy.InvalidArgument, match=error.__name__) as caught:
            pipeline.pop(timeout=60)
        assert isinstance(caught.value.__cause__, error)


@pytest.mark.parametrize("item", [None, ("array", [(0, 1)]), "array", 5, damacy.Sample])
def test_items_that_are_no_samples_surface_at_their_batch(row_samples, item):
    with damacy.Pipeline(SPEC) as pipeline:
        pipeline.push([*row_samples(3), item, *row_samples(4)])
        assert pipeline.pop(timeout=60).info.tags == (0, 1)
        with pytest.raises(damacy.InvalidArgument, match="sample 3 of the iterable is a .*damacy.Sample"):
            pipeline.pop(timeout=60)


def broken_store(write, change):
    path = write(np.arange(20, dtype=np.uint8).reshape(4, 5), chunks=(1, 5), name="broken")
    change(Path(path))
    return path


def rewrite(path, **changes):
    metadata = json.loads((path / "zarr.json").read_text())
    metadata.update(changes)
    (path / "zarr.json").write_text(json.dumps(metadata))


def make_directory(path):
    chunk = path / "c" / "2" / "0"
    chunk.unlink()
    chunk.mkdir()


BROKEN = {
    "NotFound": lambda path: os.rename(path, str(path) + ".gone"),
    "DtypeMismatch": lambda path: rewrite(path, data_type="float64", fill_value=0.0),
    "RankMismatch": lambda path: rewrite(
        path, shape=[20], chunk_grid={"name": "regular", "configuration": {"chunk_shape": [5]}}, dimension_names=None
    ),
    "DecodeError": lambda path: (path / "c" / "2" / "0").write_bytes(b"junk"),
    "StorageError": make_directory,
    "Unsupported": lambda path: rewrite(path, codecs=[{"name": "bytes"}, {"name": "no-such-codec"}]),
}
def link_to_itself(path):
    chunk = path / "c" / "2" / "0"
    chunk.unlink()
    chunk.symlink_to(chunk)


@pytest.mark.parametrize(
    "exception, change, number", [("NotFound", BROKEN["NotFound"], "ENOENT"), ("StorageError", link_to_itself, "ELOOP")]
)
def test_what_is_an_os_error_has_the_system_s_number(write, exception, change, number):
    path = broken_store(write, change)
    with damacy.Pipeline(damacy.BatchSpec(1, (1, 5), "u8")) as pipeline:
        pipeline.push([damacy.Sample(path, [(2, 3), (0, 5)])])
        with pytest.raises(OSError) as caught:
            pipeline.pop(timeout=60)
    assert type(caught.value) is getattr(damacy, exception)
    assert caught.value.errno == getattr(errno, number)


@pytest.mark.parametrize("exception", BROKEN)
def test_each_status_surfaces_at_its_batch_names_the_uri_and_sticks(write, row_samples, exception):
    path = broken_store(write, BROKEN[exception])
    with damacy.Pipeline(SPEC) as pipeline:
        pipeline.push(row_samples(4))
        pipeline.push([damacy.Sample(path, [(2, 3), (0, 5)])] * 2)
        pipeline.push(row_samples(50))
        assert [pipeline.pop(timeout=60).info.id for _ in range(2)] == [0, 1]
        messages = set()
        for take in (lambda: pipeline.pop(timeout=60), lambda: next(pipeline), pipeline.pop):
            with pytest.raises(damacy.DamacyError) as caught:
                take()
            assert type(caught.value) is getattr(damacy, exception)
            messages.add(str(caught.value))
        assert len(messages) == 1 and "broken" in messages.pop()
    pipeline.close()


@pytest.mark.parametrize(
    "box",
    [[(63, 65), (0, 5)], [(0, 1), (0, 4)], [(0, 1)], [(0, 1), (0, 5), (0, 1)], [(2**62, 2**62 + 1), (0, 5)]],
)
def test_boxes_that_do_not_fit_surface_at_their_batch(rows, row_samples, box):
    path, _ = rows
    with damacy.Pipeline(SPEC) as pipeline:
        pipeline.push([*row_samples(2), damacy.Sample(path, box), *row_samples(1)])
        assert pipeline.pop(timeout=60).info.id == 0
        with pytest.raises(damacy.InvalidArgument):
            pipeline.pop(timeout=60)


def test_a_group_is_no_array_but_its_arrays_are_named(write, tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.create_group(store=str(tmp_path / "group"))
    group.create_array("inside", shape=(4, 5), dtype="u1", chunks=(4, 5))
    with damacy.Pipeline(SPEC) as pipeline:
        pipeline.push([damacy.Sample(str(tmp_path / "group"), [(0, 1), (0, 5)])] * 2)
        with pytest.raises(damacy.NotFound, match="inside"):
            pipeline.pop(timeout=60)


def test_a_budget_that_cannot_work_fails_at_construction():
    executor = damacy.CpuExecutor(limits=damacy.CpuLimits(max_memory_bytes=1 << 20))
    with pytest.raises(damacy.BudgetExceeded, match="1048576"):
        damacy.Pipeline(damacy.BatchSpec(8, (1 << 20,)), executor)
    with pytest.raises(damacy.DamacyError):
        damacy.Pipeline(damacy.BatchSpec(2**62, (2**62,)))


def test_a_cache_serves_later_windows_and_is_part_of_the_budget(rows, row_samples):
    path, data = rows
    limits = damacy.CpuLimits(chunk_cache_bytes=1 << 20)
    executor, queues = damacy.CpuExecutor(limits=limits), damacy.QueueLimits(lookahead_samples=2)
    with damacy.Pipeline(SPEC, executor, queues=queues) as pipeline:
        pipeline.push(row_samples(64))
        first = pipeline.pop(timeout=60)
        np.testing.assert_array_equal(np.asarray(first)[:, 0], data[:2])
        assert sum(1 for _ in pipeline) == 31
        assert pipeline.stats().chunks_decoded == 22
        # Only the cache still knows.
        shutil.rmtree(Path(path) / "c")
        pipeline.push(row_samples(64))
        again = np.concatenate([np.asarray(batch)[:, 0] for batch in pipeline])
        np.testing.assert_array_equal(again, data)
        stats = pipeline.stats()
        assert (stats.chunks_decoded, stats.chunks_missing) == (22, 0)
        assert stats.cache_hits >= 32 and 22 * 30 < stats.cache_bytes <= stats.memory_bytes
    limits = damacy.CpuLimits(max_memory_bytes=1 << 21, chunk_cache_bytes=1 << 20)
    with pytest.raises(damacy.BudgetExceeded, match=r"1048576 \(chunk cache\).*max_memory_bytes = 2097152"):
        damacy.Pipeline(SPEC, damacy.CpuExecutor(limits=limits))


def test_a_closed_pipeline_refuses_and_closes_again(row_samples):
    pipeline = damacy.Pipeline(SPEC)
    pipeline.push(row_samples(10))
    batch = pipeline.pop(timeout=60)
    pipeline.close()
    pipeline.close()
    for call in (lambda: pipeline.push([]), pipeline.pop, lambda: next(pipeline), lambda: list(pipeline.batches(1))):
        with pytest.raises(damacy.ShutdownError) as caught:
            call()
        assert caught.value.status is damacy.Status.SHUTDOWN
    assert np.asarray(batch).shape == (2, 1, 5)
    assert pipeline.stats().batches == 1


def test_stats_count_and_start_anew(row_samples):
    with damacy.Pipeline(SPEC) as pipeline:
        assert pipeline.stats().decode_waste is None and pipeline.stats().read_waste is None
        pipeline.push(row_samples(64))
        batches = sum(1 for _ in pipeline)
        stats = pipeline.stats()
        assert (stats.batches, stats.samples) == (batches, 64)
        assert stats.needed_bytes == stats.output_bytes == 64 * 5 * 2
        assert stats.decoded_bytes >= stats.needed_bytes
        assert stats.decode_waste == stats.decoded_bytes / stats.needed_bytes
        assert stats.read_waste == stats.read_bytes / stats.needed_bytes
        assert stats.wait_time > 0 and stats.memory_bytes <= stats.peak_memory_bytes
        pipeline.reset_stats()
        assert (pipeline.stats().batches, pipeline.stats().samples) == (0, 0)


def test_missing_chunks_read_as_the_fill_value(write):
    zarr = pytest.importorskip("zarr")
    path = write(np.full((8, 5), 9, np.int16), chunks=(4, 5), fill_value=-3)
    zarr.open_array(path)  # still readable by its judge
    os.remove(Path(path) / "c" / "1" / "0")
    with damacy.Pipeline(damacy.BatchSpec(1, (8, 5), "i8")) as pipeline:
        pipeline.push([damacy.Sample(path, [(0, 8), (0, 5)])])
        batch = np.asarray(pipeline.pop(timeout=60))
    np.testing.assert_array_equal(batch[0], zarr.open_array(path)[...])


def test_an_opened_pipeline_prints_what_it_is(row_samples):
    with damacy.Pipeline(SPEC) as pipeline:
        assert "BatchSpec(samples=2" in repr(pipeline) and "native" in repr(pipeline)
