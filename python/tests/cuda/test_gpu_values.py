"""Batches on the GPU hold the CPU's bits."""

import damacy
import numpy as np
import pytest
from soft import Context, Tensor, bits

SOURCES = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32"]
DTYPES = list(damacy.Dtype)
SMALL = damacy.CudaLimits(max_gpu_memory_bytes=8 << 20, max_host_memory_bytes=16 << 20, workers=2)


def values(dtype, shape, seed=0):
    """Every kind of value: any bits, and many small ones."""
    random = np.random.default_rng(seed)
    raw = random.integers(0, 256, int(np.prod(shape)) * np.dtype(dtype).itemsize, np.uint8).view(dtype)
    small = random.integers(0, 100, raw.shape).astype(dtype)
    return np.where(random.random(raw.shape) < 0.5, raw, small).reshape(shape)


def run(spec, samples, executor, **options):
    with damacy.Pipeline(spec, executor, **options) as pipeline:
        pipeline.push(samples)
        return [(batch.info.shape, batch.info.tags, bits(batch)) for batch in pipeline]


def assert_same(spec, samples, limits=SMALL, **options):
    expected = run(spec, samples, damacy.CpuExecutor(), **options)
    assert expected
    assert run(spec, samples, damacy.CudaExecutor(limits=limits), **options) == expected


def crops(uri, shape, extent, count, seed=0):
    random = np.random.default_rng(seed)
    for i in range(count):
        start = [int(random.integers(0, size - n + 1)) for size, n in zip(shape, extent, strict=True)]
        yield damacy.Sample(uri, [(at, at + n) for at, n in zip(start, extent, strict=True)], tag=i)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.full_name)
def test_all_sources_in_one_batch(write, dtype):
    shape, extent = (13, 9, 21), (5, 4, 11)
    paths = [write(values(source, shape, i), name=source, chunks=(4, 5, 8)) for i, source in enumerate(SOURCES)]
    samples = [sample for path in paths for sample in crops(path, shape, extent, 3)]
    order = np.random.default_rng(1).permutation(len(samples))
    assert_same(damacy.BatchSpec(10, extent, dtype), [samples[i] for i in order])


@pytest.mark.parametrize("big", [False, True], ids=["little", "big"])
def test_byte_orders(write, big):
    data = values("int32", (40,)).astype(">i4" if big else "<i4")
    path = write(data, chunks=(7,))
    assert_same(damacy.BatchSpec(4, (9,), "int16"), list(crops(path, (40,), (9,), 8)))


@pytest.mark.parametrize(
    ("shape", "chunks", "extent"),
    [
        ((), (), ()),
        ((1,), (1,), (1,)),
        ((1001,), (10,), (37,)),
        ((40, 37), (7, 16), (9, 20)),
        ((17, 19, 23), (5, 4, 6), (3, 9, 11)),
        ((6, 5, 7, 4), (2, 5, 3, 1), (3, 2, 4, 4)),
        ((3, 2, 3, 2, 3, 2, 3, 2, 3, 2), (2, 1) * 5, (2, 1, 2, 2, 3, 1, 2, 2, 2, 2)),
        ((2,) * 12, (1, 2) * 6, (2,) * 12),
        # The most that there are, twelve of which do not merge: more than a use's record holds.
        ((3,) * 12 + (1,) * 20, (3,) * 12 + (1,) * 20, (2,) * 12 + (1,) * 20),
    ],
    ids=lambda value: f"rank{len(value)}",
)
def test_ranks(write, shape, chunks, extent):
    path = write(values("float32", shape), chunks=chunks)
    assert_same(damacy.BatchSpec(3, extent, "bf16"), list(crops(path, shape, extent, 9)))
    assert_same(damacy.BatchSpec(2, extent, "i64"), list(crops(path, shape, extent, 4)))


@pytest.mark.parametrize("dtype", ["u8", "f32", "bf16", "i64"])
def test_missing_chunks_are_fills(write, tmp_path, dtype):
    path = write(values("float32", (30, 30)), chunks=(7, 8), fill_value=-3.75)
    holes = sorted((tmp_path / "array" / "c").glob("*/*"))[::3]
    assert holes
    for hole in holes:
        hole.unlink()
    assert_same(damacy.BatchSpec(4, (11, 13), dtype), list(crops(path, (30, 30), (11, 13), 12)))


def test_nothing_but_fills(write, tmp_path):
    path = write(values("int16", (20,)), chunks=(6,), fill_value=-300)
    for chunk in (tmp_path / "array" / "c").iterdir():
        chunk.unlink()
    assert_same(damacy.BatchSpec(2, (11,), "i8"), list(crops(path, (20,), (11,), 4)))


def test_a_partial_last_batch(write):
    path = write(values("uint16", (50, 3)), chunks=(4, 3))
    samples = list(crops(path, (50, 3), (5, 3), 11))
    assert_same(damacy.BatchSpec(4, (5, 3), "f32"), samples, drop_last=False)
    assert_same(damacy.BatchSpec(4, (5, 3), "f32"), samples, drop_last=True)


def test_windows_larger_than_the_arena(write):
    """Each batch needs about a fifth of the arena, so windows shrink, and the ring goes round many times."""
    path = write(values("uint32", (400_000,)), chunks=(10_000,))
    samples = list(crops(path, (400_000,), (30_000,), 60))
    spec = damacy.BatchSpec(2, (30_000,), "u16")
    limits = damacy.CudaLimits(
        max_gpu_memory_bytes=2 << 20, max_host_memory_bytes=16 << 20, workers=2, output_buffers=8
    )
    assert_same(spec, samples, limits)


def test_chunks_larger_than_a_staging_slot(write):
    path = write(values("uint64", (300_000,)), chunks=(100_000,))
    limits = damacy.CudaLimits(max_gpu_memory_bytes=16 << 20, max_host_memory_bytes=8 << 20, workers=2)
    assert_same(damacy.BatchSpec(2, (150_001,), "f32"), list(crops(path, (300_000,), (150_001,), 6)), limits)


def test_codecs_and_shards(write):
    data = values("uint16", (64, 64))
    path = write(data, chunks=(8, 16), shards=(32, 32))
    assert_same(damacy.BatchSpec(4, (20, 30), "f32"), list(crops(path, (64, 64), (20, 30), 12)))


def test_delays_change_nothing(write, driver):
    """Streams run at random times, so what lacks a wait is seen (and reported by the driver)."""
    driver.set("delay_us", 500)
    path = write(values("int16", (300, 40)), chunks=(16, 40))
    samples = list(crops(path, (300, 40), (20, 40), 120))
    assert_same(damacy.BatchSpec(4, (20, 40), "f32"), samples)
    three = damacy.CudaLimits(max_gpu_memory_bytes=2 << 20, max_host_memory_bytes=16 << 20, workers=3, output_buffers=3)
    assert_same(damacy.BatchSpec(4, (20, 40), "f32"), samples, three)


def test_what_a_batch_says_of_itself(write, driver):
    path = write(np.arange(24, dtype=np.int32).reshape(4, 6))
    with damacy.Pipeline(damacy.BatchSpec(2, (2, 6), "int16"), damacy.CudaExecutor(0, SMALL)) as pipeline:
        pipeline.push(crops(path, (4, 6), (2, 6), 2))
        batch = pipeline.pop(timeout=60)
        info = batch.info
        assert (info.device, str(info.device), info.nbytes, info.shape) == ((2, 0), "cuda:0", 48, (2, 2, 6))
        assert batch.__dlpack_device__() == (2, 0) and info.tags == (0, 1)
        with Context(driver) as context:
            stream = context.stream()
            for version in (None, (1, 0)):
                tensor = Tensor(batch, stream, version)
                assert (tensor.device, tensor.shape, tensor.dtype) == ((2, 0), (2, 2, 6), (0, 16, 1))
                assert tensor.data % 64 == 0
                assert context.read(tensor.data, 48, stream).tobytes() == bits(batch)
                tensor.delete()
            context.destroy(stream)
        host = batch.to_host()
        assert (host.dtype, host.shape) == (np.int16, (2, 2, 6))
        stats = pipeline.stats()
        assert stats.upload_bytes >= stats.decoded_bytes > 0
        assert 0 < stats.gpu_memory_bytes <= stats.peak_gpu_memory_bytes <= SMALL.max_gpu_memory_bytes
        assert stats.peak_memory_bytes <= SMALL.max_host_memory_bytes
        batch.release()


def test_copies_are_made_where_they_are_asked_for(write, driver):
    path = write(np.arange(4, dtype=np.float32))
    with damacy.Pipeline(damacy.BatchSpec(1, (4,)), damacy.CudaExecutor(limits=SMALL)) as pipeline:
        pipeline.push([damacy.Sample(path, [(0, 4)])])
        batch = pipeline.pop(timeout=60)
        with pytest.raises(TypeError, match=r"batch 0 lies on cuda:0.*batch\.to_host\(\)"):
            np.asarray(batch)
        np.testing.assert_array_equal(np.from_dlpack(batch, device="cpu"), [[0, 1, 2, 3]])
        np.testing.assert_array_equal(np.from_dlpack(batch, device="cpu", copy=True), [[0, 1, 2, 3]])
        for options, said in [
            ({"dl_device": (1, 0), "copy": False}, "copy is False"),
            ({"dl_device": (2, 1)}, r"dl_device is \(2, 1\)"),
            ({"dl_device": (3, 0)}, "dl_device"),
        ]:
            with pytest.raises(BufferError, match=said):
                batch.__dlpack__(**options)
        with Context(driver) as context:
            copy = Tensor(batch, 1, copy=True)
            view = Tensor(batch, 1)
            assert (copy.device, copy.shape) == ((2, 0), (1, 4)) and copy.data != view.data
            assert (copy.flags, view.flags) == (2, 0), "IS_COPIED"
            batch.release()
            view.delete()
            assert context.read(copy.data, 16, 1).view(np.float32).tolist() == [0, 1, 2, 3]
            copy.delete()
        with pytest.raises(damacy.InvalidArgument, match="released"):
            batch.to_host()
