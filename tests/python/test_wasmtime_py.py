"""The component in wasmtime-py: the example in core-wit/python, against zarr-python, numpy and brute force."""

import importlib.util
import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "core-wit" / "python" / "plan.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("plan_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def core(example):
    return example.Core()


def test_the_example_prints_a_plan(tmp_path):
    path = tmp_path / "volume.zarr"
    zarr.create_array(
        path, shape=(256, 512, 512), chunks=(32, 64, 64), shards=(64, 64, 128), dtype="uint16", fill_value=300
    )
    command = [sys.executable, EXAMPLE, path, "32:64,0:128,128:256", "48:80,32:160,0:128", "--dtype", "uint8"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = dict(line.split(None, 1) for line in ran.stdout.splitlines() if not line.startswith("fill"))
    assert rows["array"] == "uint16 (256, 512, 512), little-endian, chunks (32, 64, 64) in (64, 64, 128)"
    assert rows["codecs"].startswith("sharding_indexed, bytes, zstd")
    # By hand: 1 x 2 x 2 chunks, and 2 x 3 x 2 others.
    assert rows["chunks"] == "16 for 16 uses, the first in c/0/0/0"
    assert rows["batch"] == f"{2 * 32 * 128 * 128:,} bytes of u8"
    assert rows["needed"] == f"{2 * 32 * 128 * 128 * 2:,} bytes of u16"
    assert rows["decoded"] == f"{16 * 32 * 64 * 64 * 2:,} bytes, decode waste 2.000"
    assert "fill value  2c01 -> ff (little-endian)" in ran.stdout
    outside = subprocess.run([*command[:3], "0:257,0:128,0:128"], capture_output=True, text=True)
    assert (outside.returncode, outside.stdout) == (1, "")
    assert outside.stderr.startswith("error: invalid-argument: ") and "256" in outside.stderr


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype", ["uint8", ">i2", "float16", "int64", "float32"])
def test_metadata_is_what_zarr_python_wrote(core, example, tmp_path, zarr_format, dtype):
    dtype = np.dtype(dtype)
    array = zarr.create_array(
        tmp_path / "a", shape=(9, 7), chunks=(4, 3), dtype=dtype, fill_value=5, zarr_format=zarr_format
    )
    parsed = example.read_array(core, tmp_path / "a").__dict__
    assert (tuple(parsed["shape"]), [tuple(level) for level in parsed["levels"]]) == (array.shape, [array.chunks])
    assert parsed["source"] == f"{dtype.kind}{dtype.itemsize * 8}"
    assert np.frombuffer(parsed["fill-value"], dtype.newbyteorder("<"))[0] == 5
    assert core.object_key(example.read_array(core, tmp_path / "a"), [1, 2]) == ("1.2" if zarr_format == 2 else "c/1/2")


def test_a_window_is_what_brute_force_finds(core, example, tmp_path):
    zarr.create_array(tmp_path / "a", shape=(30, 40), chunks=(4, 6), dtype="float32")
    array = example.read_array(core, tmp_path / "a")
    rng = np.random.default_rng(1)
    boxes = [[(int(y), int(y) + 9), (int(x), int(x) + 11)] for y, x in rng.integers(0, (22, 30), (12, 2))]
    plan = core.plan(array, boxes, "i64", samples=5)

    users: dict[tuple[int, int], set[int]] = {}
    for sample, box in enumerate(boxes):
        for y, x in itertools.product(*(range(*interval) for interval in box)):
            users.setdefault((y // 4, x // 6), set()).add(sample)
    order = sorted(users, key=lambda chunk: (min(users[chunk]) // 5, chunk))
    assert list(zip(plan.coords[::2], plan.coords[1::2], strict=True)) == order
    for planned, chunk in zip(plan.chunks, order, strict=True):
        first, count = planned.__dict__["first-use"], planned.__dict__["use-count"]
        assert set(plan.uses[first : first + count]) == users[chunk]

    # Played back, the plan gives numpy's crops.
    stored = rng.random((30, 40), np.float32)
    padded = np.pad(stored, ((0, 2), (0, 2)))
    got = np.full((len(boxes), 9, 11), np.nan, np.float32)
    columns = [np.reshape(plan.__dict__[name], (-1, 2)) for name in ("use-sources", "use-extents", "use-targets")]
    for planned, (cy, cx) in zip(plan.chunks, order, strict=True):
        chunk = padded[cy * 4 : cy * 4 + 4, cx * 6 : cx * 6 + 6]
        first, count = planned.__dict__["first-use"], planned.__dict__["use-count"]
        for use in range(first, first + count):
            (sy, sx), (h, w), (ty, tx) = (column[use] for column in columns)
            got[plan.uses[use], ty : ty + h, tx : tx + w] = chunk[sy : sy + h, sx : sx + w]
    for crop, ((y0, y1), (x0, x1)) in zip(got, boxes, strict=True):
        np.testing.assert_array_equal(crop, stored[y0:y1, x0:x1])
    totals = plan.totals.__dict__
    assert totals["decoded-bytes"] == len(users) * 4 * 6 * 4
    assert totals["decode-waste"] == len(users) * 4 * 6 / (len(boxes) * 9 * 11)
    assert totals["batch-bytes"] == 5 * 9 * 11 * 8
    assert totals["read-bytes"] is None


def test_conversions_are_the_judged_ones(core):
    lines = (ROOT / "tests" / "vectors" / "pairs.jsonl").read_text().splitlines()
    assert len(lines) == 100
    for line in map(json.loads, lines):
        given, expected = bytes.fromhex(line["in"]), bytes.fromhex(line["out"])
        # The head of each pair: wasmtime-py passes bytes one by one.
        count = 40
        width = int(line["src"][1:]) // 8
        output = len(expected) * width // len(given)
        got = core.convert(given[: count * width], line["src"], line["dst"])
        assert got == expected[: count * output], (line["src"], line["dst"])
    values = np.array([-1.9, 12.9, np.nan, np.inf], ">f4")
    assert np.frombuffer(core.convert(values.tobytes(), "f32", "int16", "big"), "<i2").tolist() == [-1, 12, 0, 32767]


def test_refusals_say_what_is_accepted(core, example, tmp_path):
    with pytest.raises(ValueError, match="malformed: malformed JSON at byte 1"):
        core.parse(b"{", "v3")
    with pytest.raises(ValueError, match="'float64' is no output type; accepted are f32, bf16"):
        core.dtype("float64")
    with pytest.raises(ValueError, match="invalid-argument"):
        core.convert(b"abc", "u16", "f32")
    with pytest.raises(FileNotFoundError, match="neither zarr.json nor .zarray"):
        example.read_array(core, tmp_path)
    zarr.create_array(tmp_path / "a", shape=(30,), chunks=(4,), dtype="uint8")
    with pytest.raises(ValueError, match=r"invalid-argument: .*30"):
        core.plan(example.read_array(core, tmp_path / "a"), [[(28, 32)]], "u8", samples=1)
    # A failed call leaves the component usable.
    assert core.convert(b"\x01\x00", "u16", "u8") == b"\x01"


def test_the_sandbox_bounds_memory_and_time(example, monkeypatch):
    many = b'{"a": [' + b"0," * (1 << 18) + b"0]}"
    with pytest.raises(ValueError, match="over-budget"):
        example.Core().parse(many, "v3")
    monkeypatch.setattr(example, "FUEL", 200_000)
    with pytest.raises(Exception, match="fuel"):
        example.Core().parse(many, "v3")
    monkeypatch.setattr(example, "MEMORY_BYTES", 1 << 20)
    with pytest.raises(Exception, match="memory"):
        example.Core()
