"""Generated arrays as zarr-python reads them, against the generator's rule in NumPy; ``python -m damacy.bench``."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import zarr

MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


def bench(*arguments, code=0, env=None):
    done = subprocess.run(
        [sys.executable, "-m", "damacy.bench", *map(str, arguments)],
        capture_output=True, text=True, timeout=120, check=False, env=env,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def mix(z):
    """SplitMix64's finalizer, of Python integers."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def seed_of(*parts):
    seed = 0
    for part in parts:
        seed = mix(((seed + STEP) & MASK) ^ part)
    return seed


def element(seed, array, dtype, entropy, shape, place):
    """One element by docs/bench.md: the base value of its cell of 16 along each axis, and noise in its low bits."""
    dtype = np.dtype(dtype)
    bits, of_array = 8 * dtype.itemsize, seed_of(seed, array)
    mantissa = {"float16": 10, "float32": 23}.get(dtype.name)
    random_bits = min(entropy * bits, mantissa or bits)
    whole = int(random_bits)
    scale = min(32, max(63 - whole, 0))
    values = (1 << whole + scale) + (int((random_bits - whole) * 2**32) * (1 << whole + scale) >> 32)
    cell, number = of_array, 0
    for axis, at in enumerate(place[:-1]):
        cell = mix(cell ^ (at // 16 * STEP & MASK))
        number = (number + at) * shape[axis + 1]
    random = mix(cell ^ (place[-1] // 16 * STEP & MASK))
    noise = mix((of_array + (number + place[-1] + 1) * STEP) & MASK) * values >> 64 + scale
    if mantissa:
        one = {10: 15, 23: 127}[mantissa]
        base = (random & 1) << (bits - 1) | (one + (random >> 8) % 10) << mantissa | random >> (64 - mantissa)
        found = base ^ noise
    else:
        base = (random >> (66 - bits)) - ((1 << (bits - 3)) if dtype.kind == "i" else 0)
        found = base + noise
    return np.frombuffer((found % (1 << bits)).to_bytes(dtype.itemsize, "little"), dtype)[0]


DTYPES = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32"]
LAYOUTS = {
    "v3": {"codecs": ["none", "zstd", "zstd-crc32c", "gzip", "blosc-lz4", "blosc-zstd"]},
    "v3 shards": {"codecs": ["zstd", "none", "blosc-lz4"], "shards": [20, 24, 40]},
    "v2": {"format": "v2", "codecs": ["none", "zstd", "gzip", "zlib", "bz2", "blosc-lz4", "blosc-zstd"]},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("entropy", [0.0, 0.3, 1.0])
def test_zarr_python_reads_what_was_generated_and_the_values_are_the_rule_s(tmp_path, layout, entropy):
    shape = [23, 30, 50]
    # Every codec meets every type.
    count = len(LAYOUTS[layout]["codecs"]) * len(DTYPES)
    generate = {"arrays": count, "shape": shape, "chunks": [10, 12, 20], "dtypes": DTYPES, "entropy": entropy, "seed": 7}
    generate |= LAYOUTS[layout]
    scenario = {"dataset": {"generate": generate}, "sampling": {"crop": [4, 4, 4], "samples": 2, "batches": 2}}
    (tmp_path / "scenario.json").write_text(json.dumps(scenario))
    bench(tmp_path / "scenario.json", "--repeat", 1, "--quiet", "--data", tmp_path / "data", "--out", tmp_path / "out")
    (data,) = (tmp_path / "data").iterdir()
    rng = np.random.default_rng(0)
    places = np.concatenate([rng.integers(0, shape, (20, 3)), [[0, 0, 0], [22, 29, 49]]])
    for index in range(count):
        array = zarr.open_array(str(data / f"array-{index}.zarr"), mode="r")
        dtype = DTYPES[index % len(DTYPES)]
        assert array.dtype == np.dtype(dtype) and array.shape == tuple(shape)
        found = array[...]
        assert np.isfinite(found.astype(np.float64)).all()
        for place in places.tolist():
            expected = element(7, index, dtype, entropy, shape, place)
            assert found[tuple(place)].tobytes() == expected.tobytes(), (dtype, place)


def test_the_module_is_the_command(tmp_path):
    done = bench("smoke", "--repeat", 1, "--quiet", "--out", tmp_path)
    assert "decode waste as predicted" in done.stdout and done.stderr == ""
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["command"][0] == "python -m damacy.bench" and len(results["runs"]) == 1
    assert "Usage: python -m damacy.bench" in bench("--help").stdout
    refused = bench("nosuch", code=13)
    assert refused.stderr.startswith("damacy: NOTFOUND: nosuch is no built-in scenario")
    assert bench("schema").stdout == (Path(__file__).parents[2] / "host/scenarios/scenario.schema.json").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_the_module_and_leaves_nothing(tmp_path, number):
    temporary, out = tmp_path / "temporary", tmp_path / "out"
    temporary.mkdir()
    command = [sys.executable, "-m", "damacy.bench", "smoke", "--repeat", "100", "--quiet", "--out", str(out)]
    with subprocess.Popen(command, env=os.environ | {"TMPDIR": str(temporary)}, stdout=subprocess.DEVNULL) as process:
        until = time.monotonic() + 60
        while not list(temporary.glob("*/damacy-bench.json")):
            assert time.monotonic() < until and process.poll() is None
            time.sleep(0.005)
        time.sleep(0.1)
        process.send_signal(number)
        assert process.wait(timeout=30) == -number
    assert not list(temporary.iterdir()) and not out.exists()
