"""Faults that users of comparable software reported, restated as inputs; the judge is the array that was written."""

import damacy
import judge
import numpy as np
import pytest
import zarr


def whole(path, shape, output):
    """The whole array in one sample."""
    return judge.through_damacy(path, [tuple((0, s) for s in shape)], output)[0]


def test_v2_big_endian_values_are_not_swapped(store):
    array = zarr.create_array(store, shape=(4,), chunks=(4,), dtype=">u2", zarr_format=2)
    array[:] = 65280
    assert (whole(store, (4,), "uint16") == 65280).all()


def test_rows_of_one_row_inner_chunks_in_tall_shards(store):
    values = np.arange(1000 * 1000, dtype="uint32").reshape(1000, 1000)
    array = zarr.create_array(store, shape=values.shape, chunks=(1, 1000), shards=(20, 1000), dtype="uint32")
    array[:] = values
    rows = (0, 1, 19, 20, 999)
    got = judge.through_damacy(store, [((r, r + 1), (0, 1000)) for r in rows], "uint32")
    assert (got[:, 0] == values[list(rows)]).all()


def test_a_partial_read_of_shards_that_do_not_exist_is_fill(store):
    zarr.create_array(store, shape=(17, 17), chunks=(4, 4), shards=(8, 8), dtype="uint8", fill_value=9)
    got = judge.through_damacy(store, [((5, 17), (3, 15)), ((0, 12), (4, 16))], "uint8")
    assert (got == 9).all()


def test_the_last_element_of_an_array_that_ends_inside_a_shard(store):
    values = np.arange(1001, dtype="uint16")
    array = zarr.create_array(store, shape=(1001,), chunks=(10,), shards=(100,), dtype="uint16")
    array[:] = values
    assert judge.through_damacy(store, [((1000, 1001),)], "uint16").ravel().tolist() == [1000]


def test_an_asymmetric_shard_index_puts_each_inner_chunk_in_its_place(store):
    values = np.arange(3 * 6 * 8, dtype="uint16").reshape(3, 6, 8) // 24 + 1
    values += np.arange(8, dtype="uint16") // 4 * 100
    array = zarr.create_array(store, shape=(3, 6, 8), chunks=(1, 6, 4), shards=(3, 6, 8), dtype="uint16")
    array[:] = values
    assert len({values[i, 0, j] for i in range(3) for j in (0, 4)}) == 6  # every inner chunk differs
    assert (whole(store, (3, 6, 8), "uint16") == values).all()


def test_a_crop_of_a_shard_reads_only_its_inner_chunks(store):
    values = np.random.default_rng(0).integers(0, 1 << 16, (64, 64), dtype="uint16")
    array = zarr.create_array(store, shape=(64, 64), chunks=(16, 16), shards=(64, 64), dtype="uint16", compressors=None)
    array[:] = values
    inner, index = 16 * 16 * 2, 16 * 16 + 4  # sixteen entries of offset and length, a checksum
    with damacy.Pipeline(damacy.BatchSpec(1, (8, 8), "uint16")) as pipeline:
        pipeline.push([damacy.Sample(str(store), ((20, 28), (36, 44)))])
        with pipeline.pop(timeout=judge.TIMEOUT_S) as batch:
            assert (np.asarray(batch)[0] == values[20:28, 36:44]).all()
        stats = pipeline.stats()
    assert stats.read_bytes == inner
    assert stats.decoded_bytes == inner
    assert stats.chunks_decoded == 1
    metadata = (store / "zarr.json").stat().st_size
    assert index <= stats.index_bytes <= index + 2 * metadata


def small_volume(store):
    values = np.arange(32 * 32, dtype="uint16").reshape(32, 32)
    array = zarr.create_array(store, shape=(32, 32), chunks=(8, 8), dtype="uint16")
    array[:] = values
    return values


def test_numpys_own_refusal_of_bfloat16_leaks_no_buffer(store):
    small_volume(store)
    executor = damacy.CpuExecutor(limits=damacy.CpuLimits(output_buffers=2))
    spec = damacy.BatchSpec(2, (8, 8), "bfloat16")
    with damacy.Pipeline(spec, executor=executor, pop_timeout_s=20) as pipeline:
        pipeline.push(damacy.Sample(str(store), ((0, 8), (0, 8))) for _ in range(40))
        for batch in pipeline:
            with pytest.raises((BufferError, RuntimeError, TypeError, ValueError)) as refusal:
                np.from_dlpack(batch)
            assert not isinstance(refusal.value, damacy.DamacyError)  # numpy's, not ours
            batch.release()
            del refusal
        assert pipeline.stats().samples == 40


def test_views_of_many_batches_starve_the_pool_and_are_never_overwritten(store):
    values = small_volume(store)
    rng = np.random.default_rng(0)
    starts = [tuple(int(x) for x in rng.integers(0, 25, 2)) for _ in range(100)]
    executor = damacy.CpuExecutor(limits=damacy.CpuLimits(output_buffers=8))
    with damacy.Pipeline(damacy.BatchSpec(1, (8, 8), "uint16"), executor=executor, pop_timeout_s=0.5) as pipeline:
        pipeline.push(damacy.Sample(str(store), ((r, r + 8), (c, c + 8))) for r, c in starts)
        views = []
        with pytest.raises(damacy.PoolStarved, match="8"):
            for _ in range(100):
                views.append(np.from_dlpack(pipeline.pop(timeout=judge.TIMEOUT_S)))
        assert len(views) == 8
        for view, (r, c) in zip(views, starts, strict=False):
            assert (view[0] == values[r : r + 8, c : c + 8]).all()
        views.pop(0)
        r, c = starts[8]
        with pipeline.pop(timeout=judge.TIMEOUT_S) as batch:  # starving is no end: one freed buffer is enough
            assert (np.asarray(batch)[0] == values[r : r + 8, c : c + 8]).all()
