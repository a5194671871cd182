"""Names that are not UTF-8 work wherever an array is named; what is no name is refused; messages send no control characters."""

import json
import os
import pickle

import damacy
import numpy as np
import pytest
import zarr

V2 = {"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<u2", "order": "C", "compressor": None, "filters": None,
      "fill_value": 0}
SPEC = damacy.BatchSpec(1, (2,), "u8")


@pytest.fixture
def odd(tmp_path):
    """An array in a folder whose name is no UTF-8, and its URI."""
    zarr.create_array(store=str(tmp_path / "plain"), data=np.array([7, 8, 9], "u2"), chunks=(2,))
    path = os.fsencode(tmp_path) + b"/caf\xe9 %.zarr"
    os.rename(tmp_path / "plain", path)
    return os.fsdecode(path), f"file://{tmp_path}/caf%E9%20%25.zarr"


def test_a_path_that_is_not_utf_8_is_read_by_every_call(odd):
    path, uri = odd
    sample = damacy.Sample(path, np.s_[1:3])
    assert sample.uri == uri
    assert damacy.inspect(path).uri == uri and damacy.inspect(path).shape == (3,)
    assert damacy.plan(SPEC, [sample]).arrays[0].uri == uri
    for crops in (damacy.Uniform(path), damacy.Grid([path]), [sample]):
        cost = damacy.estimate(SPEC, crops, encoded={path: 0.5}, advise_layout=path)
        assert cost.output_bytes["uint8"] > 0 and cost.layout is not None
    with damacy.Pipeline(SPEC) as pipeline:
        pipeline.push([sample])
        with pipeline.pop(timeout=60) as batch:
            assert np.asarray(batch).tolist() == [[8, 9]]


def test_a_relative_path_and_a_uri_with_such_bytes_name_the_same(odd, monkeypatch):
    path, uri = odd
    monkeypatch.chdir(os.path.dirname(path))
    assert damacy.Sample(os.path.basename(path), np.s_[0:2]).uri == uri
    raw = uri.replace("%E9", "\udce9")
    assert damacy.Uniform(raw).arrays == (uri,)
    with pytest.raises(damacy.InvalidArgument, match="each once"):
        damacy.Uniform([path, uri])


@pytest.mark.parametrize(
    "call",
    [
        lambda name: damacy.inspect(name),
        lambda name: damacy.Sample(name, np.s_[0:2]),
        lambda name: damacy.Uniform(name),
        lambda name: damacy.Grid([name]),
        lambda name: damacy.estimate(SPEC, damacy.Uniform("a"), advise_layout=name),
        lambda name: damacy.estimate(SPEC, damacy.Uniform("a"), encoded={name: 0.5}),
    ],
)
@pytest.mark.parametrize("name", ["\ud800", b"bytes", "", 5])
def test_what_is_no_name_is_refused_with_what_is_accepted(call, name):
    with pytest.raises(damacy.InvalidArgument, match="accepted") as caught:
        call(name)
    str(caught.value).encode()


def test_names_that_are_not_utf_8_are_listed_with_the_uri_to_use(odd):
    path, uri = odd
    zarr.create_group(store=os.path.dirname(path))
    found = damacy.inspect(os.path.dirname(path))
    (child,) = found.arrays
    assert child.path == "caf\\xe9 %.zarr" and child.array is None and found.complete
    assert child.error.status is damacy.Status.INVAL and uri in child.error.message


@pytest.mark.parametrize("ending", [b"", b"\xff"])
def test_as_much_metadata_is_read_under_any_name(tmp_path, ending):
    (tmp_path / ".zgroup").write_text('{"zarr_format": 2}')
    (tmp_path / "document").write_text(json.dumps(V2) + " " * (3 << 20))
    for number in range(30):
        folder = os.fsencode(tmp_path) + b"/%02d" % number + ending
        os.mkdir(folder)
        os.link(tmp_path / "document", folder + b"/.zarray")
    info = damacy.inspect(tmp_path)
    assert not info.complete and 20 <= len(info.arrays) < 25


def test_messages_hold_no_control_characters(tmp_path):
    name = str(tmp_path / "a\x1b[31m\u202eb\nc")
    for call in (damacy.inspect, lambda uri: damacy.plan(SPEC, [damacy.Sample(uri, np.s_[0:2])])):
        with pytest.raises(damacy.NotFound) as caught:
            call(name)
        message = str(caught.value)
        assert message.isprintable() and "a\\u{1b}[31m\\u{202e}b\\nc" in message
        # The file is what it is.
        assert caught.value.filename == name


def test_os_errors_have_their_file_and_number_and_keep_them(tmp_path, odd):
    path, uri = odd
    with pytest.raises(FileNotFoundError) as caught:
        damacy.inspect(tmp_path / "none")
    assert caught.value.filename == str(tmp_path / "none") and caught.value.errno == 2
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.filename, again.errno, again.strerror) == (caught.value.filename, 2, os.strerror(2))
    assert str(again) == str(caught.value) and again.what == "open"
    os.mkdir(path + "/c/9")
    os.rmdir(path + "/c/9")
    os.rename(path + "/c/1", path + "/c/1.gone")
    os.symlink("1", path + "/c/1")
    with damacy.Pipeline(SPEC) as pipeline:
        pipeline.push([damacy.Sample(path, np.s_[1:3])])
        with pytest.raises(damacy.StorageError) as caught:
            pipeline.pop(timeout=60)
    assert caught.value.filename == path + "/c/1" and os.strerror(caught.value.errno) in str(caught.value)
    document = tmp_path / "folder" / "zarr.json"
    document.mkdir(parents=True)
    with pytest.raises(damacy.StorageError) as caught:
        damacy.inspect(document.parent)
    assert caught.value.filename == str(document)


@pytest.mark.parametrize("given", [-1, 0, float("inf"), float("nan"), 1e10, True, "1"])
def test_a_deadline_is_refused_in_one_way(given):
    with pytest.raises(damacy.InvalidArgument, match="deadline_s is .*; accepted are seconds above 0, at most 10"):
        damacy.PlanLimits(deadline_s=given)
