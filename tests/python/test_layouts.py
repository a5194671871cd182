"""Ranks, edge chunks, memory order, chunk keys, shards: elements are where zarr-python finds them."""

import damacy
import judge
import numpy as np
import pytest
import zarr

RANKS = {
    0: ((), (), (), ()),
    1: ((1001,), (10,), (100,), (37,)),
    2: ((45, 61), (7, 16), (21, 32), (20, 33)),
    3: ((19, 23, 31), (4, 8, 5), (8, 16, 15), (7, 11, 13)),
    4: ((7, 9, 11, 13), (2, 4, 3, 5), (4, 8, 6, 10), (3, 5, 7, 9)),
    5: ((5, 4, 6, 7, 3), (2, 3, 4, 2, 1), (4, 3, 8, 6, 2), (3, 2, 4, 5, 2)),
    8: ((3, 2, 4, 2, 3, 2, 3, 5), (2, 1, 3, 2, 2, 1, 2, 3), (4, 2, 3, 2, 2, 2, 2, 6), (2, 2, 3, 1, 2, 1, 3, 4)),
}
LAYOUTS = ("v2", "v3", "v3 sharded")
OUTPUTS = ("float32", "uint16", "int64")


def numbered(shape, dtype="uint32"):
    """Every element different, so that a swapped axis or a shifted box shows."""
    return np.arange(1, int(np.prod(shape)) + 1, dtype=dtype).reshape(shape)


def write(store, rank, layout, **settings):
    """An array of `rank` whose edge chunks are partial; returns its shape and crop extent."""
    shape, chunks, shards, crop = RANKS[rank]
    if layout == "v2":
        settings |= {"zarr_format": 2}
    elif layout == "v3 sharded":
        settings |= {"shards": shards}
    array = zarr.create_array(store, shape=shape, chunks=chunks, dtype="uint32", **settings)
    array[...] = numbered(shape)
    return shape, crop


# zarr-python writes no sharded 0-d array.
@pytest.mark.parametrize(("rank", "layout"), [(r, x) for r in RANKS for x in LAYOUTS if r or x != "v3 sharded"])
def test_every_rank(store, rank, layout):
    shape, crop = write(store, rank, layout)
    judge.assert_same(store, judge.random_boxes(shape, crop, 6), OUTPUTS, judge.ENGINES)


@pytest.mark.parametrize("rank", [r for r in RANKS if r])
def test_v2_fortran_order(store, rank):
    shape, crop = write(store, rank, "v2", order="F")
    judge.assert_same(store, judge.random_boxes(shape, crop, 6), OUTPUTS)


@pytest.mark.parametrize("extent", [1, 2])
def test_crops_of_one_or_two_elements_an_axis(store, extent):
    shape, _ = write(store, 3, "v3 sharded")
    judge.assert_same(store, judge.random_boxes(shape, (extent,) * 3, 40), ("uint32",))


def test_a_crop_of_the_whole_array(store):
    shape, _ = write(store, 4, "v3")
    judge.assert_same(store, judge.random_boxes(shape, shape, 2), ("uint32",))


def test_a_chunk_larger_than_the_array(store):
    array = zarr.create_array(store, shape=(5, 3), chunks=(64, 64), dtype="uint32")
    array[:] = numbered((5, 3))
    judge.assert_same(store, judge.random_boxes((5, 3), (4, 3), 3), ("uint32",))


@pytest.mark.parametrize("separator", [".", "/"])
@pytest.mark.parametrize("encoding", ["default", "v2"])
def test_v3_chunk_keys(store, encoding, separator):
    shape, crop = write(store, 3, "v3", chunk_key_encoding={"name": encoding, "separator": separator})
    judge.assert_same(store, judge.random_boxes(shape, crop, 4), ("uint32",))


@pytest.mark.parametrize("separator", [".", "/"])
def test_v2_chunk_keys(store, separator):
    shape, crop = write(store, 3, "v2", chunk_key_encoding={"name": "v2", "separator": separator})
    judge.assert_same(store, judge.random_boxes(shape, crop, 4), ("uint32",))


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_an_array_inside_groups(tmp_path, zarr_format):
    group = zarr.create_group(tmp_path / "root.zarr", zarr_format=zarr_format)
    array = group.create_group("a").create_array("0", shape=(9, 9), chunks=(4, 4), dtype="uint32")
    array[:] = numbered((9, 9))
    judge.assert_same(tmp_path / "root.zarr" / "a" / "0", judge.random_boxes((9, 9), (5, 5), 4), ("uint32",))


def test_a_file_uri_is_the_path(store):
    shape, crop = write(store, 2, "v3")
    boxes = judge.random_boxes(shape, crop, 2)
    expected = judge.through_zarr(store, boxes, "uint32")
    with damacy.Pipeline(damacy.BatchSpec(2, crop, "uint32")) as pipeline:
        pipeline.push([damacy.Sample(store.as_uri(), box) for box in boxes])
        with pipeline.pop(timeout=judge.TIMEOUT_S) as batch:
            assert np.asarray(batch).tobytes() == expected.tobytes()


def test_arrays_of_several_layouts_in_one_batch(tmp_path):
    crop, paths = (7, 11, 13), []
    for layout in LAYOUTS:
        paths.append(tmp_path / f"{layout}.zarr")
        shape, _ = write(paths[-1], 3, layout)
    boxes = judge.random_boxes(shape, crop, 9)
    samples = [damacy.Sample(str(paths[i % 3]), box, tag=i) for i, box in enumerate(boxes)]
    with damacy.Pipeline(damacy.BatchSpec(9, crop, "int64")) as pipeline:
        pipeline.push(samples)
        with pipeline.pop(timeout=judge.TIMEOUT_S) as batch:
            assert list(batch.info.tags) == list(range(9))
            assert np.asarray(batch).tobytes() == judge.through_zarr(paths[0], boxes, "int64").tobytes()
