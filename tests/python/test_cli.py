"""The command line agrees with zarr-python, NumPy and the Python package, run as users run it."""

import json
import os
import re
import subprocess
from pathlib import Path

import damacy
import ml_dtypes
import numpy as np
import pytest
import zarr
from numpy.lib import format as npy_format

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parents[2] / "target"))
PROGRAM = TARGET / "release" / "damacy"


def run(*arguments, code=0, stdin=None):
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, input=stdin, timeout=60, check=False
    )
    assert done.returncode == code, done.stderr
    return done


def run_json(*arguments, stdin=None):
    return json.loads(run(*arguments, "--json", stdin=stdin).stdout)


LAYOUTS = {
    "v3": {"chunks": (3, 4)},
    "sharded": {"chunks": (2, 4), "shards": (4, 8)},
    "v2": {"chunks": (3, 4), "zarr_format": 2, "order": "F"},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["u1", "i8", "f2", "f4", "f8"])
def test_inspect_says_what_zarr_python_wrote(store, layout, dtype):
    array = zarr.create_array(store=str(store), shape=(9, 10), dtype=dtype, fill_value=5, **LAYOUTS[layout])
    found = run_json("inspect", store)
    # Shards are not looked into where nothing inside could be decoded.
    chunks = array.shards if dtype == "f8" and array.shards else array.chunks
    assert tuple(found["shape"]) == array.shape and tuple(found["chunk_shape"]) == chunks
    assert found["elements"] == array.size and found["zarr_format"] == array.metadata.zarr_format
    if dtype == "f8":
        assert found["source"] is None and found["converts_to"] == [] and found["refusal"]["status"] == "DTYPE"
    else:
        assert found["source"] == array.dtype.name and found["fill_value"] == array.fill_value
        assert found["bytes"] == array.nbytes and len(found["converts_to"]) == 10


def test_inspect_is_what_python_s_inspect_says(tmp_path):
    root = zarr.create_group(store=str(tmp_path))
    root.create_array("a", shape=(9, 10), chunks=(4, 4), dtype="u2")
    root.create_array("b", shape=(9,), chunks=(4,), dtype="f8")
    for place in (tmp_path, tmp_path / "a", tmp_path / "b"):
        assert run_json("inspect", place) == damacy.inspect(place).to_dict()


@pytest.fixture
def samples(store):
    zarr.create_array(store=str(store), shape=(40, 30), chunks=(7, 4), shards=(14, 12), dtype="u2")
    starts = np.random.default_rng(0).integers(0, (32, 25), (20, 2)).tolist()
    return [damacy.Sample(store, [(y, y + 9), (x, x + 6)]) for y, x in starts]


def test_plan_is_what_python_s_plan_says(store, samples):
    spec = {"samples": 4, "shape": [9, 6], "dtype": "bf16"}
    job = {"spec": spec, "arrays": [str(store)], "crops": {"boxes": [sample.aabb for sample in samples]}}
    found = run_json("plan", "-", stdin=json.dumps(job))
    boxes = found.pop("boxes")
    assert boxes == [{"array": 0, "box": [list(interval) for interval in sample.aabb]} for sample in samples]
    assert found == json.loads(damacy.plan(damacy.BatchSpec(4, (9, 6), "bf16"), samples).to_json())


def test_drawn_crops_are_planned_as_python_plans_them(store, samples):
    found = run_json("plan", "--array", store, "--shape", "9,6", "--uniform", 50, "--seed", 7)
    again = [damacy.Sample(store, box["box"]) for box in found.pop("boxes")]
    assert len(set(again)) > 40
    assert found == json.loads(damacy.plan(damacy.BatchSpec(1, (9, 6)), again).to_json())


@pytest.mark.parametrize("crops", ["boxes", "uniform", "grid"])
def test_estimate_is_what_python_s_estimate_says(store, samples, crops):
    spec = damacy.BatchSpec(4, (9, 6), "i8")
    given = {
        "boxes": ({"boxes": [sample.aabb for sample in samples]}, samples),
        "uniform": ("uniform", damacy.Uniform(store)),
        "grid": ({"grid": {"stride": [3, 2]}}, damacy.Grid(store, stride=(3, 2))),
    }
    as_json, as_python = given[crops]
    sizes = list(range(6 * 8))
    job = {
        "spec": {"samples": 4, "shape": [9, 6], "dtype": "int8"},
        "arrays": [{"uri": str(store), "sizes": sizes}],
        "crops": as_json,
        "window": 12,
        "workers": 2,
        "memory": "32MiB",
        "advise": {"layout": 0, "lookahead": True},
    }
    cost = damacy.estimate(
        spec,
        as_python,
        window=12,
        encoded={str(store): sizes},
        workers=2,
        memory_bytes=32 << 20,
        advise_layout=store,
        advise_lookahead=True,
    )
    assert run_json("estimate", "-", stdin=json.dumps(job)) == json.loads(cost.to_json())


SOURCES = ["u1", "<u2", ">u2", "<i4", ">i4", "<i8", ">u8", "<f2", ">f2", "<f4", ">f4"]


def values(source, shape=(3, 4, 5)):
    bits = np.random.default_rng(1).integers(0, 256, (int(np.prod(shape)) * np.dtype(source).itemsize,), np.uint8)
    return bits.view(source).reshape(shape)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_files_convert_as_the_package_does(tmp_path, source, version, order):
    data = np.asarray(values(source), order=order)
    with open(tmp_path / "in.npy", "wb") as file:
        npy_format.write_array(file, data, version)
    for dtype in ("f32", "bf16", "u8", "i64"):
        out = tmp_path / f"{dtype}.npy"
        done = run("convert", tmp_path / "in.npy", out, "--dtype", dtype)
        found, expected = np.load(out), damacy.convert(data, dtype)
        assert found.shape == data.shape and found.flags.fnc == (order == "F")
        assert ("bfloat16" in done.stderr) == (dtype == "bf16")
        if dtype == "bf16":
            assert found.dtype == np.uint16
            found = found.view(ml_dtypes.bfloat16)
        assert found.dtype == expected.dtype and found.tobytes("C") == expected.tobytes("C")
        run("convert", tmp_path / "in.npy", tmp_path / f"{dtype}.raw", "--dtype", dtype)
        assert (tmp_path / f"{dtype}.raw").read_bytes() == expected.tobytes("C")


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 1, 3)])
@pytest.mark.parametrize("engine", ["native", "sandbox"])
def test_odd_shapes_convert(tmp_path, shape, engine):
    data = np.full(shape, 300, ">i4")
    np.save(tmp_path / "in.npy", data)
    run("convert", tmp_path / "in.npy", tmp_path / "out.npy", "--dtype", "u8", "--engine", engine)
    found = np.load(tmp_path / "out.npy")
    assert found.dtype == np.uint8 and found.shape == shape and (found == 255).all()


def test_raw_files_convert_with_a_shape(tmp_path):
    data = values(">f4", (60,))
    (tmp_path / "in").write_bytes(data.tobytes())
    options = ("--source", "f32", "--byte-order", "big", "--dtype", "i16", "--shape", "3,4,5")
    run("convert", tmp_path / "in", tmp_path / "out.npy", *options)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), damacy.convert(data, "i16").reshape(3, 4, 5))


@pytest.mark.parametrize("dtype", ["f8", "?", "c8", "U4", "u1,f4"])
def test_types_without_a_conversion_exit_with_14(tmp_path, dtype):
    np.save(tmp_path / "in.npy", np.zeros(3, dtype))
    done = run("convert", tmp_path / "in.npy", tmp_path / "out", "--dtype", "u8", code=14)
    assert "accepted are uint8" in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_object_array_is_not_unpickled(tmp_path):
    np.save(tmp_path / "in.npy", np.array([{}], object), allow_pickle=True)
    run("convert", tmp_path / "in.npy", tmp_path / "out", "--dtype", "u8", code=14)


def test_the_documented_job_runs(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    (job,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    zarr.create_array(store=str(tmp_path / "volume.zarr"), shape=(256, 512, 512), chunks=(32, 64, 64), dtype="u1")
    monkeypatch.chdir(tmp_path)
    cost = run_json("estimate", "-", stdin=job)
    assert [array["dtype"] for array in cost["arrays"]] == ["uint8", "uint16"]
    assert cost["layout"]["array"] == 0 and cost["lookahead"]["most"] > 0 and cost["read_bytes"] is None
    assert run_json("plan", "-", stdin=job)["samples"] == 64
