"""Who waits for whom: consumers' streams for batches, buffers for consumers; by the Array API's rules."""

import gc
import itertools
import threading

import damacy
import numpy as np
import pytest
from soft import Context, Tensor

TWO = damacy.CudaLimits(max_gpu_memory_bytes=4 << 20, max_host_memory_bytes=8 << 20, workers=2, output_buffers=2)
N = 5000
SPEC = damacy.BatchSpec(2, (N,), "f32")


@pytest.fixture
def rows(write):
    """An array whose row ``i`` holds ``i`` throughout, and samples of its rows for ever."""
    data = np.repeat(np.arange(40, dtype=np.uint16)[:, None], N, axis=1)
    path = write(data, chunks=(3, 1000))

    def samples():
        at = 0
        while True:
            yield damacy.Sample(path, [(at % 40, at % 40 + 1), (0, N)], tag=at)
            at += 1

    return samples


@pytest.fixture
def pipeline(rows):
    with damacy.Pipeline(damacy.BatchSpec(2, (1, N), "f32"), damacy.CudaExecutor(limits=TWO)) as pipeline:
        pipeline.push(rows())
        yield pipeline


@pytest.fixture
def context(driver):
    with Context(driver) as context:
        yield context


def expected(batch):
    rows = np.array(batch.info.tags, np.float32) % 40
    return np.repeat(rows, N)


def holds(context, tensor, batch, stream):
    got = context.read(tensor.data, tensor.nbytes, stream).view(np.float32)
    return np.array_equal(got, expected(batch))


@pytest.mark.parametrize("stream", [None, 1, 2, "own"])
def test_the_consumers_stream_waits_for_the_batch(pipeline, driver, context, stream):
    driver.set("delay_us", 3000)
    handle = context.stream() if stream == "own" else stream
    for _ in range(6):
        batch = pipeline.pop(timeout=60)
        tensor = Tensor(batch, handle)
        assert holds(context, tensor, batch, handle or 1)
        batch.release()
        tensor.delete()
    if stream == "own":
        context.destroy(handle)


def test_minus_one_waits_for_nothing(rows, driver, context):
    stream = context.stream()
    with damacy.Pipeline(damacy.BatchSpec(2, (1, N), "f32"), damacy.CudaExecutor(limits=TWO)) as pipeline:
        pipeline.push(itertools.islice(rows(), 2))
        batch = pipeline.pop(timeout=60)
        waited = batch.to_host().tobytes()
        made = driver.calls()
        tensor = Tensor(batch, -1)
        assert driver.calls() == made, "no call of the driver"
        assert context.read(tensor.data, tensor.nbytes, stream).tobytes() == waited
        tensor.delete()
        batch.release()
    context.destroy(stream)


@pytest.mark.parametrize("stream", [0, -2, -(2**63), True, "1", 1.5, 2**70, object()])
def test_what_is_no_stream_is_refused(pipeline, stream):
    batch = pipeline.pop(timeout=60)
    with pytest.raises(damacy.InvalidArgument, match="stream"):
        batch.__dlpack__(stream=stream)
    assert batch.to_host().shape == (2, 1, N)
    batch.release()


def test_a_bogus_handle_is_the_drivers_error(pipeline, driver, context):
    batch = pipeline.pop(timeout=60)
    destroyed = context.stream()
    context.destroy(destroyed)
    for bogus in (0x1234_5678, destroyed):
        with pytest.raises(
            damacy.NativeCudaError, match="cuStreamIsCapturing failed with CUDA_ERROR_.*live stream"
        ) as caught:
            batch.__dlpack__(stream=bogus)
        assert caught.value.what == "export"
    assert driver.violations()
    driver.library.soft_cuda_clear_violations()
    assert np.array_equal(batch.to_host().ravel(), expected(batch))
    batch.release()
    assert np.array_equal(pipeline.pop(timeout=60).to_host().shape, (2, 1, N))


def test_a_held_batch_is_never_rewritten(pipeline, context):
    stream = context.stream()
    held = pipeline.pop(timeout=60)
    tensor = Tensor(held, stream)
    held.release()
    for _ in range(8):
        batch = pipeline.pop(timeout=60)
        assert np.array_equal(batch.to_host().ravel(), expected(batch))
        batch.release()
    assert holds(context, tensor, held, stream)
    tensor.delete()
    context.destroy(stream)


def test_a_buffer_is_rewritten_only_after_what_is_on_the_streams_of_its_views(pipeline, driver, context):
    """The copies are only queued when the views go: they must still see their batch."""
    driver.set("delay_us", 4000)
    streams = [context.stream(), context.stream()]
    queued = []
    for _ in range(8):
        batch = pipeline.pop(timeout=60)
        for stream in streams:
            tensor = Tensor(batch, stream)
            host = context.read_later(tensor.data, tensor.nbytes, stream)
            tensor.delete()
            queued.append((host, expected(batch)))
        batch.release()
    for stream in streams:
        context.synchronize(stream)
        context.destroy(stream)
    for host, wanted in queued:
        assert np.array_equal(host.view(np.float32), wanted)


@pytest.mark.parametrize("kind", ["int", "torch", "cupy"])
def test_release_after_an_event(pipeline, driver, context, kind):
    """The consumer works on another stream than it named, says so by an event, and destroys that at once."""

    class Torch:
        def __init__(self, handle):
            self.cuda_event = handle

    class Cupy:
        def __init__(self, handle):
            self.ptr = handle

    driver.set("delay_us", 4000)
    named, other = context.stream(), context.stream()
    queued = []
    for _ in range(8):
        batch = pipeline.pop(timeout=60)
        tensor = Tensor(batch, named)
        ready = context.event()
        context.record(ready, named)
        context.wait(other, ready)
        context.destroy_event(ready)
        host = context.read_later(tensor.data, tensor.nbytes, other)
        event = context.event()
        context.record(event, other)
        batch.release(event={"int": int, "torch": Torch, "cupy": Cupy}[kind](event))
        context.destroy_event(event)
        tensor.delete()
        queued.append((host, expected(batch)))
    context.synchronize(other)
    for host, wanted in queued:
        assert np.array_equal(host.view(np.float32), wanted)
    for stream in (named, other):
        context.destroy(stream)


def test_the_event_alone_keeps_the_buffer(pipeline, driver, context):
    driver.set("delay_us", 4000)
    stream = context.stream()
    queued = []
    for _ in range(8):
        batch = pipeline.pop(timeout=60)
        address = Tensor(batch, 1)
        data, nbytes = address.data, address.nbytes
        address.delete()
        batch.__dlpack__(stream=stream)  # the stream waits for the batch; the capsule goes at once
        host = context.read_later(data, nbytes, stream)
        event = context.event()
        context.record(event, stream)
        batch.release(event)
        context.destroy_event(event)
        queued.append((host, expected(batch)))
    context.synchronize(stream)
    context.destroy(stream)
    for host, wanted in queued:
        assert np.array_equal(host.view(np.float32), wanted)


@pytest.mark.parametrize("event", [0, -1, True, "e", 2**64, object()])
def test_what_is_no_event_is_refused(pipeline, event):
    batch = pipeline.pop(timeout=60)
    with pytest.raises(damacy.InvalidArgument, match="event"):
        batch.release(event)
    assert batch.to_host().shape == (2, 1, N), "still held"
    batch.release()
    batch.release()
    with pytest.raises(damacy.InvalidArgument, match="released"):
        batch.release(5)


def test_a_bogus_event_is_the_drivers_error(pipeline, driver):
    batch = pipeline.pop(timeout=60)
    with pytest.raises(damacy.NativeCudaError, match="cuEventQuery failed with .*release"):
        batch.release(0x1234)
    assert driver.violations()
    driver.library.soft_cuda_clear_violations()
    batch.release()


def test_views_without_synchronisation_have_the_next_writer_wait_for_the_whole_context(pipeline, driver, context):
    driver.set("delay_us", 4000)
    stream = context.stream()
    queued = []
    for _ in range(6):
        batch = pipeline.pop(timeout=60)
        first = Tensor(batch, stream)
        silent = Tensor(batch, -1)
        host = context.read_later(silent.data, silent.nbytes, stream)
        queued.append((host, expected(batch)))
        silent.delete()
        batch.release()
        first.delete()
    context.synchronize(stream)
    context.destroy(stream)
    for host, wanted in queued:
        assert np.array_equal(host.view(np.float32), wanted)


def test_a_stream_may_be_destroyed_before_its_views_go(pipeline, driver, context):
    for _ in range(4):
        batch = pipeline.pop(timeout=60)
        stream = context.stream()
        tensor = Tensor(batch, stream)
        context.read(tensor.data, tensor.nbytes, stream)
        context.destroy(stream)
        batch.release()
        tensor.delete()
    assert {text.split(":")[0] for text in driver.violations()} <= {"use-after-destroy"}
    driver.library.soft_cuda_clear_violations()
    batch = pipeline.pop(timeout=60)
    assert np.array_equal(batch.to_host().ravel(), expected(batch))
    batch.release()


def test_views_may_go_from_any_thread(pipeline, context):
    stream = context.stream()
    for _ in range(10):
        batch = pipeline.pop(timeout=60)
        tensor = Tensor(batch, stream)
        assert holds(context, tensor, batch, stream)
        batch.release()
        thread = threading.Thread(target=tensor.delete)
        thread.start()
        thread.join()
    context.destroy(stream)


def test_views_outlive_their_pipeline(rows, driver, context):
    stream = context.stream()
    tensors = []
    with damacy.Pipeline(damacy.BatchSpec(2, (1, N), "f32"), damacy.CudaExecutor(limits=TWO)) as pipeline:
        pipeline.push(rows())
        for _ in range(2):
            batch = pipeline.pop(timeout=60)
            tensors.append((Tensor(batch, stream), batch))
    del pipeline
    gc.collect()
    assert driver.report()["device_allocations"] == 2, "the two buffers are all that is left"
    for tensor, batch in tensors:
        assert holds(context, tensor, batch, stream)
        assert np.array_equal(batch.to_host().ravel(), expected(batch))
        batch.release()
        thread = threading.Thread(target=tensor.delete)
        thread.start()
        thread.join()
    assert driver.report()["device_allocations"] == 0
    context.destroy(stream)


def test_a_graph_is_captured_while_views_come_and_go(pipeline, driver, context):
    driver.set("delay_us", 500)
    stream, other = context.stream(), context.stream()
    for _ in range(3):
        batch, kept = pipeline.pop(timeout=60), pipeline.pop(timeout=60)
        tensor = Tensor(batch, stream)
        queued = context.read_later(tensor.data, tensor.nbytes, stream)
        wanted = expected(batch)
        context.begin_capture(stream)
        with pytest.raises(damacy.InvalidArgument, match="is being captured into a CUDA graph"):
            kept.__dlpack__(stream=stream)
        Tensor(kept, other).delete()
        kept.release()
        tensor.delete()
        batch.release()
        gc.collect()
        context.end_capture(stream)
        context.synchronize(stream)
        assert np.array_equal(queued.view(np.float32), wanted)
    # Buffers that were dropped in a capture ask the stream again when they are used next, or given back.
    pipeline.close()
    for handle in (stream, other):
        context.destroy(handle)


def test_a_capsule_that_nobody_takes_lets_go(pipeline):
    for _ in range(6):
        batch = pipeline.pop(timeout=60)
        batch.__dlpack__(stream=1)
        batch.__dlpack__()
        batch.release()


def test_order_and_starvation_are_the_cpus(rows, driver):
    executor = damacy.CudaExecutor(limits=TWO)
    with damacy.Pipeline(damacy.BatchSpec(2, (1, N), "f32"), executor, pop_timeout_s=0.3) as pipeline:
        pipeline.push(rows())
        held = [pipeline.pop(timeout=60) for _ in range(2)]
        assert [batch.info.id for batch in held] == [0, 1]
        with pytest.raises(damacy.PoolStarved, match="raise max_gpu_memory_bytes or output_buffers"):
            pipeline.pop()
        held.pop().release()
        assert pipeline.pop(timeout=60).info.id == 2
        held.pop().release()
