"""``damacy.inspect`` says what zarr-python wrote; groups and OME-Zarr images are listed; faults are typed."""

import dataclasses
import json
import pickle

import damacy
import numpy as np
import pytest
import zarr

SHAPE = (7, 9, 11)
LAYOUTS = {
    "v3": {"chunks": (3, 4, 5)},
    "v3 sharded": {"chunks": (2, 4, 3), "shards": (4, 8, 9)},
    "v2": {"chunks": (3, 4, 5), "zarr_format": 2},
    "v2 fortran": {"chunks": (3, 4, 5), "zarr_format": 2, "order": "F"},
    "v2 slashes": {"chunks": (9, 1, 2), "zarr_format": 2, "chunk_key_encoding": {"name": "v2", "separator": "/"}},
    "dots": {"chunks": (4, 4, 4), "chunk_key_encoding": {"name": "default", "separator": "."}},
    "no axes": {"shape": (), "chunks": ()},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_arrays_are_what_zarr_python_says(tmp_path, layout, dtype):
    path = str(tmp_path / "array")
    options = {"shape": SHAPE, **LAYOUTS[layout]}
    array = zarr.create_array(store=path, dtype=dtype, fill_value=3, **options)
    found = damacy.inspect(path)
    assert isinstance(found, damacy.ArrayInfo)
    assert (found.uri, found.zarr_format, found.shape) == (path, array.metadata.zarr_format, array.shape)
    assert found.source == array.dtype.name and found.chunk_shape == array.chunks
    assert found.shard_shapes == ((array.shards,) if array.shards else ())
    grid = tuple(-(-n // c) for n, c in zip(array.shape, array.chunks, strict=True))
    assert found.grid == grid and found.chunks == int(np.prod(grid))
    stored = array.shards or array.chunks
    assert found.objects == int(np.prod([-(-n // c) for n, c in zip(array.shape, stored, strict=True)]))
    assert (found.elements, found.bytes) == (array.size, array.nbytes)
    assert found.chunk_bytes == int(np.prod(array.chunks)) * array.dtype.itemsize
    assert found.fill_value == array.fill_value == 3
    assert found.order == ("F" if "order" in options else "C")
    assert found.converts_to == tuple(damacy.Dtype) and found.refusal is None
    document = tmp_path / "array" / ("zarr.json" if found.zarr_format == 3 else ".zarray")
    assert found.metadata_bytes == document.stat().st_size


@pytest.mark.parametrize(
    ("dtype", "fill", "expected"),
    [
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("int64", -(2**63), -(2**63)),
        ("float32", 0.1, 0.1),
        ("float16", 1.5, 1.5),
        ("float32", float("nan"), "NaN"),
        ("float16", float("-inf"), "-Infinity"),
    ],
)
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_fill_values_are_those_written(tmp_path, dtype, fill, expected, zarr_format):
    options = {"dtype": dtype, "fill_value": fill, "zarr_format": zarr_format}
    zarr.create_array(store=str(tmp_path), shape=(4,), chunks=(2,), **options)
    found = damacy.inspect(tmp_path).fill_value
    assert found == expected
    assert type(found) is type(expected)


def test_an_array_without_a_conversion_is_told_with_the_reason(tmp_path):
    zarr.create_array(store=str(tmp_path), shape=(4,), chunks=(2,), dtype="float64")
    found = damacy.inspect(tmp_path)
    assert found.converts_to == () and found.source is None and found.fill_value is None and found.bytes is None
    assert found.refusal.status is damacy.Status.DTYPE
    assert "float64" in found.refusal.message and "float32" in found.refusal.message
    assert "nothing: DTYPE" in str(found)


def test_huge_arrays_have_counts_or_none(tmp_path):
    zarr.create_array(store=str(tmp_path), shape=(2**40, 2**40), chunks=(1, 1), dtype="u1")
    found = damacy.inspect(tmp_path)
    assert found.grid == (2**40, 2**40)
    assert found.chunks is None and found.elements is None and found.bytes is None and found.chunk_bytes == 1
    assert "2**64" in str(found)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_groups_list_arrays_and_groups_at_any_depth(tmp_path, zarr_format):
    root = zarr.create_group(store=str(tmp_path / "root"), zarr_format=zarr_format)
    for name in ("10", "2", "b"):
        root.create_array(name, shape=(4, 4), chunks=(2, 2), dtype="u1")
    inner = root.create_group("g").create_group("h")
    inner.create_array("deep", shape=(3,), chunks=(3,), dtype="f8")
    (tmp_path / "root" / "no-node").mkdir()
    found = damacy.inspect(tmp_path / "root")
    assert isinstance(found, damacy.GroupInfo) and found.zarr_format == zarr_format and found.complete
    assert [array.path for array in found.arrays] == ["2", "10", "b", "g/h/deep"]
    assert found.groups == ("g", "g/h") and found.multiscales == ()
    deep = found.arrays[-1].array
    assert deep.uri == str(tmp_path / "root" / "g" / "h" / "deep") and deep.refusal.status is damacy.Status.DTYPE
    assert damacy.inspect(deep.uri) == deep


def test_a_broken_array_does_not_hide_the_others(tmp_path):
    root = zarr.create_group(store=str(tmp_path))
    root.create_array("good", shape=(4,), chunks=(2,), dtype="u1")
    for name, text in [("bad", "{"), ("codec", None)]:
        root.create_array(name, shape=(4,), chunks=(2,), dtype="u1")
        document = tmp_path / name / "zarr.json"
        if text is None:
            text = document.read_text().replace('"bytes"', '"zfp"')
        document.write_text(text)
    found = {array.path: array for array in damacy.inspect(tmp_path).arrays}
    assert found["good"].array.shape == (4,) and found["good"].error is None
    assert found["bad"].array is None and found["bad"].error.status is damacy.Status.DECODE
    assert found["codec"].error.status is damacy.Status.UNSUPPORTED and "zfp" in found["codec"].error.message
    assert "UNSUPPORTED" in str(damacy.inspect(tmp_path))


def image(path, version, scales, *, whole=None, arrays=None, axes=("c", "z", "y")):
    """An OME-Zarr image whose arrays zarr-python wrote."""
    zarr_format = 2 if version == "0.4" else 3
    datasets = [
        {"path": str(level), "coordinateTransformations": [{"type": "scale", "scale": list(scale)}]}
        for level, scale in enumerate(scales)
    ]
    named = [
        {"name": name, "type": "channel" if name == "c" else "space", **({} if name == "c" else {"unit": "micrometer"})}
        for name in axes
    ]
    multiscale = {"name": "brain", "axes": named, "datasets": datasets}
    if whole:
        multiscale["coordinateTransformations"] = whole
    if version == "0.4":
        attributes = {"multiscales": [{**multiscale, "version": version}]}
    else:
        attributes = {"ome": {"version": version, "multiscales": [multiscale]}}
    root = zarr.create_group(store=str(path), zarr_format=zarr_format, attributes=attributes)
    for level in range(len(scales)) if arrays is None else arrays:
        shape = (2, 64 >> level, 48 >> level)
        root.create_array(str(level), shape=shape, chunks=(1, 16, 16), dtype="u2")
    return path


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_ome_zarr_levels(tmp_path, version):
    whole = [{"type": "scale", "scale": [1, 0.5, 0.5]}, {"type": "translation", "translation": [0, 10, 20]}]
    found = damacy.inspect(image(tmp_path / "i", version, [(1, 0.5, 0.25), (1, 1.0, 0.5), (1, 2.0, 1.0)], whole=whole))
    (multiscale,) = found.multiscales
    assert (multiscale.name, multiscale.version) == ("brain", version)
    assert multiscale.axes == (
        damacy.Axis("c", "channel", None),
        damacy.Axis("z", "space", "micrometer"),
        damacy.Axis("y", "space", "micrometer"),
    )
    assert [level.path for level in multiscale.levels] == ["0", "1", "2"]
    assert [level.scale for level in multiscale.levels] == [(1, 0.25, 0.125), (1, 0.5, 0.25), (1, 1.0, 0.5)]
    assert [level.factors for level in multiscale.levels] == [(1, 1, 1), (1, 2, 2), (1, 4, 4)]
    assert all(level.translation == (0, 10, 20) for level in multiscale.levels)
    for n, level in enumerate(multiscale.levels):
        array = zarr.open_array(str(tmp_path / "i" / str(n)), mode="r")
        assert (level.array.shape, level.array.chunk_shape) == (array.shape, array.chunks)
    for fact in ("brain", version, "z (micrometer)", "level 2", "(1.0, 4.0, 4.0)"):
        assert fact in str(found)


def test_a_missing_level_is_told_beside_it(tmp_path):
    found = damacy.inspect(image(tmp_path / "i", "0.5", [(1, 1, 1), (1, 2, 2)], arrays=[0]))
    first, second = found.multiscales[0].levels
    assert first.error is None and second.array is None and second.error.status is damacy.Status.NOTFOUND
    other = damacy.inspect(image(tmp_path / "j", "0.5", [(1, 1)], axes=("z", "y")))
    assert other.multiscales[0].levels[0].error.status is damacy.Status.DECODE
    assert "2 axes" in other.multiscales[0].levels[0].error.message


@pytest.mark.parametrize(
    ("multiscales", "error", "place"),
    [
        ({}, damacy.DecodeError, "/attributes/ome/multiscales"),
        ([5], damacy.DecodeError, "/multiscales/0"),
        ([{}], damacy.DecodeError, "datasets"),
        ([{"datasets": [{}]}], damacy.DecodeError, "/multiscales/0/datasets/0"),
        ([{"datasets": [{"path": "../secret"}]}], damacy.DecodeError, "inside the group"),
        ([{"datasets": [{"path": "/etc"}]}], damacy.DecodeError, "inside the group"),
        ([{"datasets": [{"path": "a/../../b"}]}], damacy.DecodeError, "inside the group"),
        ([{"datasets": [{"path": ""}]}], damacy.DecodeError, "inside the group"),
        ([{"datasets": [{"path": "a\0b"}]}], damacy.DecodeError, "inside the group"),
        ([{"datasets": [], "axes": [{}]}], damacy.DecodeError, "axes/0"),
        ([{"datasets": [], "axes": [{"name": "z"}] * 33}], damacy.BudgetExceeded, "limit is 32"),
        ([{"datasets": [{"path": "0"}] * 257}], damacy.BudgetExceeded, "limit is 256"),
        ([{"datasets": []}] * 65, damacy.BudgetExceeded, "limit is 64"),
    ],
)
def test_malformed_images_are_told_by_place_and_hide_nothing(tmp_path, multiscales, error, place):
    attributes = {"ome": {"version": "0.5", "multiscales": multiscales}}
    root = zarr.create_group(store=str(tmp_path), attributes=attributes)
    root.create_array("good", shape=(4,), chunks=(2,), dtype="u1")
    found = damacy.inspect(tmp_path)
    assert [child.array.shape for child in found.arrays] == [(4,)]
    if isinstance(multiscales, dict) or len(multiscales) > 64:
        refusal = found.multiscales_error
        assert found.multiscales == ()
    else:
        assert found.multiscales_error is None
        (image,) = found.multiscales
        assert image.levels == ()
        refusal = image.error
    assert refusal.status is error.status and place in refusal.message and str(tmp_path) in refusal.message
    assert str(refusal) in str(found)
    assert json.loads(found.to_json()) == found.to_dict()


def test_a_fault_of_one_image_leaves_the_others_and_their_names(tmp_path):
    affine = {"type": "affine", "affine": [[1, 0, 0], [0, 1, 0]]}
    multiscales = [
        {"name": "bad", "axes": [{"name": "y"}, {"name": "x"}], "datasets": [{"path": "0", "coordinateTransformations": [affine]}]},
        {"name": "good", "version": 0.4, "datasets": [{"path": "0"}]},
    ]
    (tmp_path / ".zgroup").write_text('{"zarr_format": 2}')
    (tmp_path / ".zattrs").write_text(json.dumps({"multiscales": multiscales}))
    zarr.create_array(store=str(tmp_path / "0"), shape=(4, 5), chunks=(2, 2), dtype="u1", zarr_format=2)
    bad, good = damacy.inspect(tmp_path).multiscales
    assert (bad.name, len(bad.axes), bad.levels) == ("bad", 2, ())
    assert bad.error.status is damacy.Status.UNSUPPORTED and "affine" in bad.error.message
    assert "/multiscales/0/datasets/0/coordinateTransformations/0" in bad.error.message
    # A version that is no text costs the version alone.
    assert (good.name, good.version, good.levels[0].array.shape) == ("good", None, (4, 5))
    assert good.error.status is damacy.Status.DECODE and "/multiscales/1/version" in good.error.message


def test_a_version_that_is_no_text_and_attributes_that_cannot_be_read_are_told_beside_the_arrays(tmp_path):
    versioned = image(tmp_path / "i", "0.5", [(1, 1, 1)])
    document = versioned / "zarr.json"
    document.write_text(document.read_text().replace('"0.5"', "0.5"))
    found = damacy.inspect(versioned)
    assert found.multiscales_error.status is damacy.Status.DECODE and "ome/version" in found.multiscales_error.message
    assert found.multiscales[0].version is None and found.multiscales[0].levels[0].array.shape == (2, 64, 48)
    old = image(tmp_path / "j", "0.4", [(1, 1, 1)])
    for spoil in ("{", "[]", None):
        (old / ".zattrs").unlink()
        (old / ".zattrs").mkdir() if spoil is None else (old / ".zattrs").write_text(spoil)
        found = damacy.inspect(old)
        assert found.multiscales == () and [child.path for child in found.arrays] == ["0"]
        status = damacy.Status.IO if spoil is None else damacy.Status.DECODE
        assert found.multiscales_error.status is status and ".zattrs" in found.multiscales_error.message
    assert "OME-Zarr attributes: IO" in str(found)


@pytest.mark.parametrize(
    ("transformation", "error", "place"),
    [
        ({"type": "scale", "scale": [1]}, damacy.DecodeError, "1 numbers for 2 axes"),
        ({"type": "scale", "scale": [1, 0]}, damacy.DecodeError, "scale of 0"),
        ({"type": "scale", "scale": [1, "x"]}, damacy.DecodeError, "scale/1"),
        ({"type": "scale"}, damacy.DecodeError, "scale"),
        ({"type": "rotation"}, damacy.Unsupported, "rotation"),
        ({"type": "scale", "path": "scales"}, damacy.DecodeError, "scale"),
    ],
)
def test_malformed_transformations_are_refused_by_place(tmp_path, transformation, error, place):
    axes = [{"name": "y"}, {"name": "x"}]
    image = {"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": [transformation]}]}
    zarr.create_group(store=str(tmp_path), attributes={"ome": {"version": "0.5", "multiscales": [image]}})
    refusal = damacy.inspect(tmp_path).multiscales[0].error
    assert refusal.status is error.status and place in refusal.message


@pytest.mark.parametrize(
    ("document", "error"),
    [
        ('{"zarr_format": 3, "node_type": "group", "attributes": ' + "[" * 100_000, damacy.DecodeError),
        (
            '{"zarr_format": 3, "node_type": "group", "attributes": {"ome": ' + "[" * 200 + "]" * 200 + "}}",
            damacy.DecodeError,
        ),
        ('{"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"multiscales": 1e999}}}', damacy.DecodeError),
        ('{"zarr_format": 4, "node_type": "group"}', damacy.DecodeError),
        ('{"node_type": "group"}', damacy.DecodeError),
        ('{"zarr_format": 3, "node_type": "group", "attributes": {"ome": {}, "ome": {}}}', damacy.DecodeError),
        ('{"zarr_format": 3, "node_type": "group"}' + " " * (4 << 20), damacy.BudgetExceeded),
        ("", damacy.DecodeError),
        ("null", damacy.DecodeError),
    ],
)
def test_hostile_group_documents_are_typed_errors(tmp_path, document, error):
    (tmp_path / "zarr.json").write_text(document)
    with pytest.raises(error):
        damacy.inspect(tmp_path)


def test_invalid_utf_8_is_a_decode_error(tmp_path):
    (tmp_path / "zarr.json").write_bytes(b'{"zarr_format": 3, "node_type": "group", "attributes": {"ome": "\xff"}}')
    with pytest.raises(damacy.DecodeError):
        damacy.inspect(tmp_path)


def test_more_arrays_than_are_listed_is_said(tmp_path):
    root = zarr.create_group(store=str(tmp_path))
    root.create_array("0", shape=(4,), chunks=(2,), dtype="u1")
    document = (tmp_path / "0" / "zarr.json").read_text()
    for n in range(1, 1001):
        (tmp_path / str(n)).mkdir()
        (tmp_path / str(n) / "zarr.json").write_text(document)
    found = damacy.inspect(tmp_path)
    assert len(found.arrays) == 1000 and not found.complete and "not listed" in str(found)


def test_a_loop_of_links_ends(tmp_path):
    root = zarr.create_group(store=str(tmp_path))
    root.create_group("g")
    (tmp_path / "g" / "again").symlink_to(tmp_path / "g")
    found = damacy.inspect(tmp_path)
    assert not found.complete and len(found.groups) <= 8


@pytest.mark.parametrize(
    ("uri", "error"),
    [
        ("/no/such/place", damacy.NotFound),
        ("http://host/a", damacy.Unsupported),
        ("", damacy.InvalidArgument),
        (5, damacy.InvalidArgument),
        (b"bytes", damacy.InvalidArgument),
    ],
)
def test_what_is_no_place_is_refused(uri, error):
    with pytest.raises(error):
        damacy.inspect(uri)


def test_file_uris_and_paths_say_the_same(tmp_path):
    zarr.create_array(store=str(tmp_path / "a b"), shape=(4,), chunks=(2,), dtype="u1")
    uri = (tmp_path / "a b").as_uri()
    by_uri, by_path = damacy.inspect(uri), damacy.inspect(tmp_path / "a b")
    assert by_uri.uri == uri and dataclasses.replace(by_uri, uri=by_path.uri) == by_path


def test_infos_compare_pickle_and_convert(tmp_path):
    found = damacy.inspect(image(tmp_path / "i", "0.5", [(1, 1, 1), (1, 2, 2)], arrays=[0]))
    assert pickle.loads(pickle.dumps(found)) == found and hash(found) == hash(pickle.loads(pickle.dumps(found)))
    as_dict = found.to_dict()
    assert as_dict["kind"] == "group" and json.loads(found.to_json(indent=1)) == as_dict
    error = as_dict["multiscales"][0]["levels"][1]["error"]
    assert (error["status"], error["code"]) == ("NOTFOUND", 3)
    array = found.arrays[0].array
    assert array.to_dict()["converts_to"][:2] == ["float32", "bfloat16"]
    assert json.loads(array.to_json()) == array.to_dict()
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.complete = False
