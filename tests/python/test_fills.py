"""Missing chunks read as the fill value, converted like any value; present ones do not."""

import json

import judge
import numpy as np
import oracle
import pytest
import zarr

SHAPE, CHUNKS, SHARDS, CROP = (20, 20), (4, 5), (8, 10), (11, 13)
BOXES = judge.random_boxes(SHAPE, CROP, 6)
LAYOUTS = {"v2": {"zarr_format": 2}, "v3": {}, "v3 sharded": {"shards": SHARDS}}
FILLS = [
    ("uint8", 200), ("uint16", 65280), ("int8", -128), ("int16", -7), ("int32", -(2**31)),
    ("int64", -(2**63)), ("int64", 2**53 + 1), ("int64", 2**63 - 1), ("uint64", 2**53 + 1), ("uint64", 2**64 - 1),
    ("float16", float("nan")), ("float16", 65504.0), ("float32", float("nan")), ("float32", float("inf")),
    ("float32", float("-inf")), ("float32", -0.0), ("float32", 3.7), ("float32", 1e-45),
]


def half_written(store, dtype, fill, layout):
    """Chunks in the upper left are written, the rest is missing."""
    array = zarr.create_array(store, shape=SHAPE, chunks=CHUNKS, dtype=dtype, fill_value=fill, **LAYOUTS[layout])
    array[:7, :9] = judge.telling_values(dtype, (7, 9), seed=3)
    return array


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("dtype", "fill"), FILLS)
def test_missing_chunks_beside_present_ones(store, dtype, fill, layout):
    half_written(store, dtype, fill, layout)
    judge.assert_same(store, BOXES, oracle.OUTPUTS)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_missing_chunks_in_the_sandbox(store, layout):
    half_written(store, "float32", float("nan"), layout)
    judge.assert_same(store, BOXES, oracle.OUTPUTS, ("sandbox",))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_array_without_any_chunk(store, layout):
    zarr.create_array(store, shape=SHAPE, chunks=CHUNKS, dtype="int16", fill_value=-3, **LAYOUTS[layout])
    assert (judge.through_damacy(store, BOXES, "float32") == -3).all()
    assert (judge.through_damacy(store, BOXES, "uint8") == 0).all()


def with_fill(store, dtype, spelling, zarr_format):
    """An empty array whose metadata spells its fill value as given."""
    zarr.create_array(store, shape=SHAPE, chunks=CHUNKS, dtype=dtype, zarr_format=zarr_format)
    path = store / ("zarr.json" if zarr_format == 3 else ".zarray")
    metadata = json.loads(path.read_text())
    metadata["fill_value"] = spelling
    path.write_text(json.dumps(metadata))


@pytest.mark.parametrize(("dtype", "spelling", "bits"), [
    ("float32", "0x40490fdb", 0x40490FDB), ("float32", "0x7fc00001", 0x7FC00001), ("float32", "0xffc12345", 0xFFC12345),
    ("float32", "NaN", 0x7FC00000), ("float32", "Infinity", 0x7F800000), ("float32", "-Infinity", 0xFF800000),
    ("float32", -0.0, 0x80000000), ("float32", 7, 0x40E00000),
    ("float16", "0x7e01", 0x7FC02000), ("float16", "NaN", 0x7FC00000),
])
def test_v3_spellings_of_a_float_fill(store, dtype, spelling, bits):
    with_fill(store, dtype, spelling, 3)
    assert set(judge.through_damacy(store, BOXES, "float32").view(np.uint32).ravel()) == {bits}


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(("dtype", "value"), [("int64", 2**53 + 1), ("int64", -(2**63)), ("uint64", 2**64 - 1)])
def test_integer_fills_keep_all_their_bits(store, dtype, value, zarr_format):
    with_fill(store, dtype, value, zarr_format)
    assert {int(v) for v in judge.through_damacy(store, BOXES, dtype).ravel()} == {value}


@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_a_v2_null_fill_reads_as_zero(store, dtype):
    with_fill(store, dtype, None, 2)
    assert not judge.through_damacy(store, BOXES, "float32").any()


@pytest.mark.parametrize(("dtype", "spelling", "words"), [
    ("uint32", -1, ["fill_value", "uint32", "4294967295"]),  # the range is named
    ("uint8", 256, ["fill_value", "uint8", "255"]),
    ("float32", None, ["fill_value", "null", "NaN"]),
])
def test_v3_fills_that_are_refused(store, dtype, spelling, words):
    with_fill(store, dtype, spelling, 3)
    message = str(judge.pop_error(store, CROP))
    assert all(word in message for word in words), message


def test_a_v2_integer_array_with_a_string_fill_is_refused(store):
    with_fill(store, "uint16", "0", 2)
    message = str(judge.pop_error(store, CROP))
    assert "fill_value" in message and "uint16" in message, message
