"""A view keeps its memory, beyond batch, pipeline and module, and memory with a view is never written again."""

import gc
import subprocess
import sys
import threading
import time

import damacy
import numpy as np
import pytest
from conftest import ROW, framework

FEW = damacy.CpuExecutor(limits=damacy.CpuLimits(output_buffers=2, workers=2))


def consume(kind, batch):
    if kind == "numpy":
        return np.asarray(batch)
    if kind == "dlpack":
        return np.from_dlpack(batch)
    if kind == "torch":
        return framework("torch").from_dlpack(batch)
    return framework("jax").dlpack.from_dlpack(batch)


KINDS = ["numpy", "dlpack", "torch", "jax"]


@pytest.mark.parametrize("kind", KINDS)
def test_views_outlive_batch_and_pipeline(rows, row_samples, kind):
    _, data = rows
    pipeline = damacy.Pipeline(damacy.BatchSpec(4, ROW, "u16"), FEW)
    pipeline.push(row_samples(8))
    first, second = pipeline.batches(2)
    views = consume(kind, first), consume(kind, second)
    del first, second
    pipeline.close()
    del pipeline
    gc.collect()
    # New pipelines would reuse freed memory.
    with damacy.Pipeline(damacy.BatchSpec(4, ROW, "u16"), FEW) as other:
        other.push(row_samples(32, 64))
        for _ in other:
            pass
    np.testing.assert_array_equal(np.asarray(views[0])[:, 0], data[:4])
    np.testing.assert_array_equal(np.asarray(views[1])[:, 0], data[4:8])


@pytest.mark.parametrize("kind", KINDS)
def test_a_held_buffer_is_never_overwritten(rows, row_samples, kind):
    _, data = rows
    held, kept = None, None
    three = damacy.CpuExecutor(limits=damacy.CpuLimits(output_buffers=3))
    with damacy.Pipeline(damacy.BatchSpec(2, ROW, "u16"), three, pop_timeout_s=60) as pipeline:
        pipeline.push(row_samples(2000))
        for batch in pipeline:
            rows_here = [tag % 64 for tag in batch.info.tags]
            if held is None or batch.info.id % 7 == 0:
                held, kept = consume(kind, batch), data[rows_here]
            np.testing.assert_array_equal(np.asarray(batch)[:, 0], data[rows_here])
            batch.release()
            np.testing.assert_array_equal(np.asarray(held)[:, 0], kept)
        assert batch.info.id == 999


def test_buffers_come_back_when_the_last_view_goes(rows, row_samples):
    with damacy.Pipeline(damacy.BatchSpec(2, ROW, "u16"), FEW) as pipeline:
        pipeline.push(row_samples(1000))
        batch = pipeline.pop(timeout=60)
        views = [np.asarray(batch), np.from_dlpack(batch), np.asarray(batch)[0, 0, 1:]]
        batch.release()
        for left in range(len(views), 0, -1):
            assert pipeline.stats().buffers_held == 1, left
            views.pop(0)
        assert pipeline.stats().buffers_held == 0


def test_many_views_in_a_list_starve_the_pool_in_time(rows, row_samples):
    _, data = rows
    held = []
    with damacy.Pipeline(damacy.BatchSpec(2, ROW, "u16"), FEW, pop_timeout_s=0.3) as pipeline:
        pipeline.push(row_samples(200))
        start = time.monotonic()
        with pytest.raises(damacy.PoolStarved, match="held") as caught:
            for _ in range(100):
                held.append(np.asarray(pipeline.pop()))
        assert 0.3 <= time.monotonic() - start < 10
        assert isinstance(caught.value, damacy.TryAgain) and isinstance(caught.value, TimeoutError)
        for i, view in enumerate(held):
            np.testing.assert_array_equal(view[:, 0], data[2 * i : 2 * i + 2])
        # Not sticky: letting go lets the next batch come.
        held.clear()
        assert pipeline.pop(timeout=60).info.tags == (4, 5)


def test_the_time_waited_for_starvation_goes_on_from_pop_to_pop(rows, row_samples):
    with damacy.Pipeline(damacy.BatchSpec(2, ROW), FEW, pop_timeout_s=0.6) as pipeline:
        pipeline.push(row_samples(200))
        held = [pipeline.pop(timeout=60), pipeline.pop(timeout=60)]
        start = time.monotonic()
        kinds = []
        while damacy.PoolStarved not in kinds and len(kinds) < 1000:
            with pytest.raises(damacy.TryAgain) as caught:
                pipeline.pop(timeout=0.2)
            kinds.append(type(caught.value))
        assert len(kinds) > 1 and 0.5 <= time.monotonic() - start < 10
        assert len(held) == 2


def test_a_blocked_pop_goes_on_when_another_thread_lets_go(rows, row_samples):
    with damacy.Pipeline(damacy.BatchSpec(2, ROW), FEW) as pipeline:
        pipeline.push(row_samples(200))
        held = [pipeline.pop(timeout=60), pipeline.pop(timeout=60)]
        timer = threading.Timer(0.3, held.clear)
        timer.start()
        assert pipeline.pop(timeout=60).info.id == 2
        timer.join()


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_views_may_die_on_any_thread(rows, row_samples, kind):
    with damacy.Pipeline(damacy.BatchSpec(2, ROW, "u16"), FEW, pop_timeout_s=60) as pipeline:
        pipeline.push(row_samples(400))
        for batch in pipeline:
            box = [consume(kind, batch)]
            del batch
            thread = threading.Thread(target=box.clear)
            thread.start()
            thread.join()
        assert pipeline.stats().buffers_held == 0


def test_a_view_outlives_the_module(rows):
    path, _ = rows
    script = f"""
import gc, sys
import numpy as np, damacy
pipeline = damacy.Pipeline(damacy.BatchSpec(1, (2, 5), "u16"))
pipeline.push([damacy.Sample({path!r}, [(4, 6), (0, 5)])])
view = np.from_dlpack(pipeline.pop(timeout=60))
pipeline.close()
del pipeline
for name in [n for n in sys.modules if n.split(".")[0] == "damacy"]:
    del sys.modules[name]
del damacy
gc.collect()
print(view.tolist())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[[[20, 21, 22, 23, 24], [25, 26, 27, 28, 29]]]"
    assert not done.stderr
