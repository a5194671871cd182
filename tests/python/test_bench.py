"""Generated arrays as zarr-python reads them, against the generator's rule in NumPy; ``python -m damacy.bench``; its peers,
which are the real ones; and the executor "cuda", on the soft driver."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import damacy
import numpy as np
import pytest
import zarr
from damacy.bench import _peer_convert

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
    (data,) = (tmp_path / "data").glob("[!.]*")  # beside a lock
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
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


def test_a_hangup_that_was_ignored_before_stays_so(tmp_path):
    command = ["nohup", sys.executable, "-m", "damacy.bench", "smoke", "--repeat", "100", "--out", str(tmp_path / "out")]
    (tmp_path / "data").mkdir()
    with subprocess.Popen(
        command, env=os.environ | {"TMPDIR": str(tmp_path / "data")}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        until = time.monotonic() + 60
        while not list((tmp_path / "data").glob("*/damacy-bench.json")):
            assert time.monotonic() < until and process.poll() is None
            time.sleep(0.005)
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=100) == 0
    assert (tmp_path / "out/results.json").exists()


ROOT = Path(__file__).parents[2]
PEERS = ["tensorstore", "zarr", "zarrs"]


def test_a_cache_s_forecast_holds_for_given_arrays_that_lack_chunks(tmp_path):
    """`bench` ends with 0 only where decodes, reads and cache hits are as forecast: for no, half, and all chunk files."""
    uris = []
    for written in (0, 32, 64):
        array = zarr.create_array(
            tmp_path / f"{written}.zarr", shape=(64, 64), chunks=(16, 16), dtype="u2", zarr_format=2, fill_value=3
        )
        array[:written] = np.random.default_rng(written).integers(1, 9, (written, 64), "u2")
        uris.append(str(tmp_path / f"{written}.zarr"))
    scenario = {
        "dataset": {"uris": uris},
        "sampling": {"crop": [32, 32], "samples": 4, "batches": 16, "warmup": 2, "seed": 3},
        "pipeline": {"dtype": "float32", "memory": "32MiB", "lookahead": 8, "cache": "8MiB"},
    }
    (tmp_path / "sparse.json").write_text(json.dumps(scenario))
    bench(tmp_path / "sparse.json", "--repeat", "1", "--out", tmp_path / "out")
    [run] = json.loads((tmp_path / "out" / "results.json").read_text())["runs"]
    [passed] = run["rounds"]
    assert passed["cache_hits"] > 0 and passed["chunks_missing"] > 0, passed


def smoke(folder, dtype="float32", **pipeline):
    """The smoke scenario without its slow store, through which peers do not read; a file."""
    scenario = json.loads((ROOT / "host/scenarios/smoke.json").read_text())
    del scenario["store"]
    scenario["pipeline"] |= {"dtype": dtype} | pipeline
    (folder / "scenario.json").write_text(json.dumps(scenario))
    return folder / "scenario.json"


def run_with_peers(folder, scenario, peers, env=None, time="10min"):
    flags = ["--repeat", 2, "--quiet", "--search-time", time]
    bench(scenario, *flags, "--peers", ",".join(peers), "--out", folder / "out", env=env)
    (run,) = json.loads((folder / "out/results.json").read_text())["runs"]
    return run


# uint16 and float32 are among the sources: all but the widest integers are clamped for uint8.
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint8"])
def test_peers_give_our_batches_at_the_best_of_their_settings(tmp_path, dtype):
    run = run_with_peers(tmp_path, smoke(tmp_path, dtype), PEERS)
    assert [peer["name"] for peer in run["peers"]] == PEERS
    for peer in run["peers"]:
        assert peer["unavailable"] is None, peer
        assert peer["equality"]["elements"] == 12 * 4 * 16 * 32 * 32 and peer["equality"]["differing"] == 0, peer
        assert bool(peer["equality"]["note"]) == (dtype == "uint8"), peer["equality"]
        tried = {json.dumps(one["setting"]): one["pass_s"] for one in peer["search"]}
        assert len(tried) >= 6 and all(1 <= len(passes) <= 3 for passes in tried.values())
        fully = {setting: np.median(passes) for setting, passes in tried.items() if len(passes) == 3}
        assert fully[json.dumps(peer["setting"])] == min(fully.values())
        assert len(peer["rounds"]) == peer["ratio"]["n"] == 2 and peer["version"]
        # It holds a batch at least, however much of it the heap has kept from passes before.
        assert peer["peak_memory_bytes"] >= 4 * 16 * 32 * 32
        for round_, ours, ratio in zip(peer["rounds"], run["rounds"], range(2), strict=True):
            mean = (round_["before_s"] + round_["after_s"]) / 2
            low, high = peer["ratio"]["min"], peer["ratio"]["max"]
            assert low - 1e-9 <= mean / ours["pass_s"] <= high + 1e-9, ratio
        # The pass after ours is the one before the next.
        assert peer["rounds"][0]["after_s"] == peer["rounds"][1]["before_s"]


def test_a_search_without_time_looks_at_the_first_batches_and_says_so(tmp_path):
    run = run_with_peers(tmp_path, smoke(tmp_path), PEERS, time="1ms")
    for peer in run["peers"]:
        assert peer["sample_batches"] == 1 and peer["search_s"] > 0 and peer["equality"]["differing"] == 0
        looks = {json.dumps(one["setting"]): one["sample_s"] for one in peer["search"]}
        whole = {json.dumps(one["setting"]): one["pass_s"] for one in peer["search"] if one["pass_s"]}
        assert len(looks) >= 6 and all(looks.values())
        # One look is a part of a pass; two settings, and one for each size of cache, had a whole one.
        assert all(len(passes) == 1 for passes in whole.values())
        caches = {one["setting"].get("cache_bytes") for one in peer["search"]}
        assert max(len(caches), 1) <= len(whole) <= max(len(caches), 2)
        assert caches == {json.loads(setting).get("cache_bytes") for setting in whole}
        assert whole[json.dumps(peer["setting"])] == min(whole.values())
        assert min(looks, key=looks.get) in whole
        page = (tmp_path / "out/report.html").read_text()
        assert f"all {len(looks)} settings looked at on the first 1 of 12 batches" in page


def test_a_pass_may_be_of_the_first_batches_alone(tmp_path):
    """Asked of the peer itself: all batches but the first lie outside of the array."""
    array = zarr.create_array(tmp_path / "a.zarr", shape=(8,), chunks=(4,), dtype="u2")
    array[:] = np.arange(8)
    start = {
        "do": "start", "arrays": [str(tmp_path / "a.zarr")], "sources": ["uint16"], "crop": [4], "batch": 2,
        "samples": [[0, [0]], [0, [4]]] + [[0, [6]]] * 6, "dtype": "float32", "memory_bytes": 1 << 20, "threads": 2,
        "hold_s": 0.3, "touch": True,
    }
    for name, setting in {
        "tensorstore": {"cache_bytes": 0, "how": "cast", "batches_ahead": 2},
        "zarr": {"crops_at_once": 1, "batches_ahead": 1, "requests": 2},
    }.items():
        # Beyond the array from the second batch on, which no pass over the first alone may see; each is held for 0.3 s.
        requests = [start | {"peer": name}, {"do": "pass", "setting": setting, "batches": 1}]
        done = subprocess.run(
            [sys.executable, "-m", "damacy.bench.peer"], input="\n".join(map(json.dumps, requests)), capture_output=True,
            text=True, timeout=60, check=False,
        )
        started, passed = map(json.loads, done.stdout.splitlines())
        assert started["settings"] and passed["pass_s"] >= 0.3, done.stdout + done.stderr


def test_what_a_peer_s_own_cast_would_differ_in_is_counted(tmp_path):
    generate = {"shape": [32, 32], "chunks": [16, 16], "dtypes": ["u16"], "seed": 3}
    sampling = {"crop": [32, 32], "samples": 1, "batches": 2, "warmup": 0}
    scenario = {"dataset": {"generate": generate}, "sampling": sampling, "pipeline": {"dtype": "uint8"}}
    (tmp_path / "scenario.json").write_text(json.dumps(scenario))
    bench(tmp_path / "scenario.json", "--repeat", 1, "--quiet", "--data", tmp_path / "data", "--out", tmp_path / "kept")
    (array,) = (tmp_path / "data").glob("*/array-0.zarr")
    values = zarr.open_array(str(array), mode="r")[...]
    wraps = 2 * np.count_nonzero(np.minimum(values, 255) != values % 256)
    assert wraps > 0
    for peer in run_with_peers(tmp_path, tmp_path / "scenario.json", PEERS)["peers"]:
        assert peer["equality"]["differing"] == 0
        assert f" would give {wraps} other elements, since it does not clamp to the range of uint8" in peer["equality"]["note"]


def test_a_peer_that_cannot_run_says_why_and_the_others_do(tmp_path):
    def without(missing, peers):
        (tmp_path / missing).mkdir()
        (tmp_path / missing / f"{missing}.py").write_text(f"raise ImportError(\"No module named '{missing}'\")")
        env = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path / missing), os.environ.get("PYTHONPATH", "")])}
        return [peer["unavailable"] for peer in run_with_peers(tmp_path, smoke(tmp_path), peers, env=env)["peers"]]

    assert without("tensorstore", ["tensorstore", "zarr"]) == ["No module named 'tensorstore': pip install tensorstore", None]
    assert without("zarrs", ["zarrs"]) == ["No module named 'zarrs': pip install zarr zarrs"]
    slow = run_with_peers(tmp_path, "smoke", ["zarr"])["peers"][0]
    assert slow["unavailable"] == "the scenario models a slow store, which peers do not read through"


def child_of(process):
    """The peer's process, once it is there."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for number in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            if b"damacy.bench.peer" in Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0"):
                return int(number)
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    raise AssertionError("no peer was started")


def start_with_peer(folder, flags=("--quiet", "--repeat", "20")):
    (folder / "temporary").mkdir()
    command = [sys.executable, "-m", "damacy.bench", str(smoke(folder)), "--peers", "zarr"]
    env = os.environ | {"TMPDIR": str(folder / "temporary")}
    pipe = subprocess.PIPE
    # In a group of its own, as a shell starts what a terminal's Ctrl-C then reaches.
    return subprocess.Popen(
        [*command, *flags, "--out", str(folder / "out")], env=env, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )


@pytest.mark.parametrize("seconds", [0, 0.5, 2])
def test_a_run_goes_on_without_a_peer_that_dies(tmp_path, seconds):
    with start_with_peer(tmp_path) as process:
        child = child_of(process)
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        out, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    assert "ran without zarr: its process has ended (signal: 9 (SIGKILL))" in out
    (run,) = json.loads((tmp_path / "out/results.json").read_text())["runs"]
    (peer,) = run["peers"]
    assert peer["unavailable"].startswith("its process has ended") and not peer["rounds"] and len(run["rounds"]) == 20
    assert not list((tmp_path / "temporary").iterdir())


def test_a_peer_that_dies_in_a_round_says_in_which_and_is_gone(tmp_path):
    with start_with_peer(tmp_path, ["--search-time", "0.1s", "--repeat", "100"]) as process:
        child = child_of(process)
        said = ""
        while "round" not in said:
            said = process.stderr.readline()
            assert said or process.poll() is None
        os.kill(child, signal.SIGKILL)
        while not said.startswith("note: "):
            said = process.stderr.readline()
        assert not Path(f"/proc/{child}").exists()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    reason = r"its process has ended \(signal: 9 \(SIGKILL\)\) in round \d+ of 100\n"
    assert re.fullmatch("note: smoke goes on without zarr: " + reason, said)


@pytest.mark.parametrize("seconds", [0, 0.5, 2])
@pytest.mark.parametrize("to", ["the group", "the benchmark"])
def test_ctrl_c_ends_the_peer_as_well(tmp_path, seconds, to):
    with start_with_peer(tmp_path) as process:
        child = child_of(process)
        time.sleep(seconds)
        (os.killpg if to == "the group" else os.kill)(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT and error == ""
    assert not Path(f"/proc/{child}").exists()
    assert not list((tmp_path / "temporary").iterdir()) and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "request_, answer",
    [
        ('{"do": "pass"}', "ValueError: 'pass' was asked for before a start that succeeded"),
        ('{"do": "start", "peer": "dask"}', "KeyError: 'dask'"),
        ("nonsense", "JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
        ("", None),
    ],
)
def test_a_peer_answers_errors_and_ends_with_its_input(request_, answer):
    command = [sys.executable, "-m", "damacy.bench.peer"]
    done = subprocess.run(command, input=request_, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == (1 if answer else 0) and done.stderr == ""
    assert (json.loads(done.stdout) if done.stdout else None) == ({"error": answer} if answer else None)


@pytest.mark.parametrize("source", DTYPES)
def test_peers_convert_by_our_rules(source):
    dtype, rng = np.dtype(source), np.random.default_rng(1)
    x = rng.integers(0, 256, dtype.itemsize * 4096, np.uint8).view(dtype)
    small = rng.integers(0, 300, 4096).astype(dtype) if dtype.kind in "iu" else rng.normal(0, 300, 4096).astype(dtype)
    x = np.concatenate([x, small])
    for output in damacy.Dtype:
        ours = np.asarray(damacy.convert(x, output))
        theirs = np.empty(x.shape, ours.dtype)
        with np.errstate(invalid="ignore", over="ignore"):
            _peer_convert.convert_into(theirs, x)
        differing = _peer_convert.differing(ours, theirs)
        # NaN comes out with another sign or payload.
        assert differing == _peer_convert.other_nans(ours, theirs), output
        assert dtype.kind == "f" or differing == 0


def test_the_executor_cuda_runs_on_the_soft_driver(tmp_path):
    library = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/libsoft_cuda.so"
    if os.environ.get("DAMACY_TEST_SOFT_CUDA") != "1" and not library.exists():
        pytest.skip("libsoft_cuda.so is not built")
    (tmp_path / "driver").mkdir()
    shutil.copy(library, tmp_path / "driver/libcuda.so.1")
    paths = [str(tmp_path / "driver"), os.environ.get("LD_LIBRARY_PATH", "")]
    env = os.environ | {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, paths))}
    scenario = smoke(tmp_path, executor="cuda")
    for touch in (True, False):
        changed = json.loads(scenario.read_text()) | {"consumer": {"touch": touch}}
        scenario.write_text(json.dumps(changed))
        run = run_with_peers(tmp_path, scenario, ["zarr"], env=env)
        names = [check["name"] for check in run["checks"] if check["passed"]]
        assert len(names) == len(run["checks"]) == 5 and "GPU memory within the budget" in names
        assert 0 < run["memory"]["peak_gpu_bytes"] <= run["memory"]["budget_bytes"]
        assert all(round_["stages"]["upload"]["bytes"] > 0 for round_ in run["rounds"])
        assert "GPU memory" in run["peers"][0]["unavailable"]
    none = bench(scenario, "--out", tmp_path / "none", code=18, env=env | {"SOFT_CUDA_DEVICES": "0"})
    assert "/pipeline/executor: cuda was given; accepted is cpu: CUDA is not available: " in none.stderr
    tight = json.loads(smoke(tmp_path, executor="cuda", memory="1500KiB").read_text())
    scenario.write_text(json.dumps(tight))
    refused = bench(scenario, "--out", tmp_path / "none", "--data", tmp_path / "data", code=20, env=env)
    assert "max_gpu_memory_bytes" in refused.stderr and not (tmp_path / "data").exists()
