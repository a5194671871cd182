"""Every source type, in both formats and byte orders, to every output type on both engines."""

import judge
import numcodecs
import numpy as np
import oracle
import pytest
import zarr
from zarr.codecs import BytesCodec, ZstdCodec

SHAPE, CHUNKS, CROP = (37, 29), (8, 10), (13, 11)


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("source", oracle.SOURCES)
def test_v3_to_every_output(store, source, order):
    array = zarr.create_array(store, shape=SHAPE, dtype=source, chunks=CHUNKS, serializer=BytesCodec(endian=order),
                              compressors=ZstdCodec(level=1))
    array[:] = judge.telling_values(source, SHAPE)
    judge.assert_same(store, judge.random_boxes(SHAPE, CROP, 5), oracle.OUTPUTS, judge.ENGINES)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("source", oracle.SOURCES)
def test_v2_to_every_output(store, source, order):
    dtype = np.dtype(source).newbyteorder(order)
    array = zarr.create_array(store, shape=SHAPE, dtype=dtype, chunks=CHUNKS, compressors=numcodecs.Zstd(level=1),
                              zarr_format=2)
    array[:] = judge.telling_values(source, SHAPE, seed=1)
    judge.assert_same(store, judge.random_boxes(SHAPE, CROP, 5, seed=1), oracle.OUTPUTS)


def test_the_judge_reads_back_the_values_that_were_written(store):
    """A guard against a test that compares one wrong reading with another."""
    values = judge.telling_values("uint64", SHAPE)
    array = zarr.create_array(store, shape=SHAPE, dtype="uint64", chunks=CHUNKS)
    array[:] = values
    boxes = judge.random_boxes(SHAPE, CROP, 3)
    got = judge.through_damacy(store, boxes, "uint64")
    for crop, ((a, b), (c, d)) in zip(got, boxes, strict=True):
        assert (crop == values[a:b, c:d]).all()
