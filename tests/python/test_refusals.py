"""What this build cannot read is refused by name before any chunk is touched, never read as something else."""

import json

import damacy
import judge
import numcodecs
import pytest
import zarr

CROP = (4, 4)


def v3_array(store, change):
    """A readable array whose metadata is then changed."""
    zarr.create_array(store, shape=(8, 8), chunks=(4, 4), dtype="uint16")[:] = 1
    edit(store / "zarr.json", change)


def edit(path, change):
    metadata = json.loads(path.read_text())
    change(metadata)
    path.write_text(json.dumps(metadata))


V3_UNKNOWN = {
    "codec": ("frobnicate", lambda m: m["codecs"].append({"name": "frobnicate", "configuration": {}})),
    "codec by URI": ("example.org/x", lambda m: m["codecs"].append({"name": "https://example.org/x"})),
    "chunk grid": ("hexagonal", lambda m: m.update(chunk_grid={"name": "hexagonal", "configuration": {}})),
    "chunk key encoding": ("spiral", lambda m: m.update(chunk_key_encoding={"name": "spiral"})),
    "extension": ("frobnicate", lambda m: m.update(frobnicate={"name": "frobnicate", "must_understand": True})),
    "extension that does not say": ("frobnicate", lambda m: m.update(frobnicate={"name": "frobnicate"})),
    "storage transformer": ("cachetree", lambda m: m.update(storage_transformers=[{"name": "cachetree"}])),
}


@pytest.mark.parametrize("what", V3_UNKNOWN)
def test_v3_metadata_that_is_not_understood(store, what):
    name, change = V3_UNKNOWN[what]
    v3_array(store, change)
    error = judge.pop_error(store, CROP)
    assert isinstance(error, damacy.Unsupported) and name in str(error), error


def test_an_unknown_extension_that_may_be_ignored_is_ignored(store):
    v3_array(store, lambda m: m.update(frobnicate={"name": "frobnicate", "must_understand": False}))
    assert (judge.through_damacy(store, [((0, 4), (0, 4))], "uint16") == 1).all()


@pytest.mark.parametrize("codec", [numcodecs.LZ4(), numcodecs.LZMA()])
def test_v2_compressors_without_support(store, codec):
    zarr.create_array(store, shape=(8, 8), chunks=(4, 4), dtype="uint16", compressors=codec, zarr_format=2)[:] = 1
    error = judge.pop_error(store, CROP)
    assert isinstance(error, damacy.Unsupported) and codec.codec_id in str(error), error


def test_v2_filters(store):
    zarr.create_array(store, shape=(8, 8), chunks=(4, 4), dtype="uint16", filters=[numcodecs.Delta(dtype="u2")],
                      zarr_format=2)[:] = 1
    error = judge.pop_error(store, CROP)
    assert isinstance(error, damacy.Unsupported) and "delta" in str(error), error


def test_v2_unknown_compressor(store):
    zarr.create_array(store, shape=(8, 8), chunks=(4, 4), dtype="uint16", zarr_format=2)[:] = 1
    edit(store / ".zarray", lambda m: m.update(compressor={"id": "frobnicate"}))
    error = judge.pop_error(store, CROP)
    assert isinstance(error, damacy.Unsupported) and "frobnicate" in str(error), error


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype", ["float64", "bool", "complex64"])
def test_source_types_without_a_conversion(store, dtype, zarr_format):
    zarr.create_array(store, shape=(8, 8), chunks=(4, 4), dtype=dtype, zarr_format=zarr_format)[:] = 1
    for output in ("float32", "uint8"):
        error = judge.pop_error(store, CROP, output)
        assert isinstance(error, damacy.DtypeMismatch), error


def test_a_group_names_the_arrays_inside(tmp_path):
    group = zarr.create_group(tmp_path / "g.zarr")
    for name in ("raw", "labels"):
        group.create_array(name, shape=(8, 8), chunks=(4, 4), dtype="uint16")
    error = judge.pop_error(tmp_path / "g.zarr", CROP)
    assert isinstance(error, damacy.NotFound) and "raw" in str(error) and "labels" in str(error), error


def test_nothing_there(store):
    error = judge.pop_error(store, CROP)
    assert isinstance(error, damacy.NotFound) and str(store) in str(error), error
