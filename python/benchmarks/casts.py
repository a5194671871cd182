"""damacy.convert beside numpy and torch, on all 100 pairs, one core, in one run: GiB/s, ratios, differing values.

    python casts.py [--mib 16] [--rounds 7] [--only uint16-float32] [--quick] [--out FILE]

Twice: into a buffer that exists already, where of a peer's ways (cast_peers.py) the fastest of those that give our
values is taken (where none does, the nearest one, and the elements that differ are counted); and as the expression
that one writes without thinking of memory, ours being `convert` without `out`. Rounds are interleaved, and a ratio
compares two measurements of one round. torch is left out where it is not installed.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import cast_peers
import damacy
import numpy as np

try:
    import torch

    torch.set_num_threads(1)
except ImportError:
    torch = None

SCHEMA = "damacy-casts/1"
SOURCES = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32")
LEAST_SECONDS = 1e-3
VALUES = (
    "as in the bench `pairs`: integers of random bits, half of them shifted right by a random distance; floats normal "
    "with deviation 300, 1 of 16 of a random magnitude up to 2^70, 1 of 1024 NaN and as many subnormal"
)


def values(source: np.dtype, count: int) -> np.ndarray:
    """The same values in every run."""
    rng = np.random.default_rng(5)
    if source.kind in "iu":
        info = np.iinfo(source)
        x = rng.integers(info.min, info.max, count, source, endpoint=True)
        return x >> (rng.integers(0, info.bits, count, np.uint8) * rng.integers(0, 2, count, np.uint8)).astype(source)
    x = rng.normal(0, 300, count).astype(np.float32)
    kind = rng.integers(0, 1024, count, np.uint16)
    wide = kind % 16 == 2
    x[wide] = np.ldexp(x[wide] / 300, rng.integers(-10, 71, wide.sum()))
    if source == np.float16:
        with np.errstate(over="ignore"):
            x = x.astype(np.float16)
    bits = x.view(np.uint16 if source == np.float16 else np.uint32)
    info = np.finfo(source)
    exponent = np.array([np.inf], source).view(bits.dtype)[0]
    bits[kind == 0] |= exponent | 1
    bits[kind == 1] &= bits.dtype.type(~int(exponent) & (2**info.bits - 1))
    return x


def seconds(run: Callable[[], object], repeats: int = 1) -> float:
    """Seconds of one run, on average."""
    started = time.perf_counter()
    for _ in range(repeats):
        run()
    return (time.perf_counter() - started) / repeats


def differences(got: np.ndarray, expected: np.ndarray) -> dict[str, int]:
    """Elements whose bits differ, and those of them that are NaN in both."""
    integers = np.dtype(f"u{got.dtype.itemsize}")
    differ = got.view(integers) != expected.view(integers)
    nan = 0
    if got.dtype in (cast_peers.BF16, cast_peers.F32):
        nan = int(np.count_nonzero(np.isnan(got[differ]) & np.isnan(expected[differ])))
    return {"elements": int(np.count_nonzero(differ)), "both_nan": nan}


def best_way(ways: cast_peers.Ways, out: np.ndarray, expected: np.ndarray) -> dict | None:
    """The fastest of the ways with the fewest differences; None if the library can do none."""
    tried = []
    for name, run in ways.items():
        out.view(np.uint8).fill(0xA5)
        try:
            run()
        except (TypeError, NotImplementedError, RuntimeError) as error:
            print(f"      {name}: {str(error).splitlines()[0][:100]}", file=sys.stderr)
            continue
        differ = differences(out, expected)
        wrong, once = differ["elements"] - differ["both_nan"], min(seconds(run) for _ in range(2))
        tried.append((wrong, differ["elements"], once, name, differ))
    if not tried:
        return None
    *_, name, differ = min(tried, key=lambda way: way[:3])
    return {"way": name, "run": ways[name], "differences": differ}


def expressions(x: np.ndarray, output: np.dtype) -> dict[str, Callable[[], object]]:
    """The peers' conversions into new arrays, of those that can."""
    found = {"numpy, new array": cast_peers.numpy_expression(x, output)}
    if torch is not None:
        found["torch, new array"] = cast_peers.torch_expression(torch, x, output)
    for name, run in list(found.items()):
        try:
            run()
        except (TypeError, NotImplementedError, RuntimeError) as error:
            print(f"      {name}: {str(error).splitlines()[0][:100]}", file=sys.stderr)
            del found[name]
    return found


def spread(numbers: list[float]) -> dict[str, float]:
    """Median and extremes."""
    figures = {"median": statistics.median(numbers), "min": min(numbers), "max": max(numbers)}
    return {name: round(number, 4) for name, number in figures.items()}


def measure(source: np.dtype, x: np.ndarray, output: damacy.Dtype, rounds: int) -> dict:
    """One pair: rounds in which every contender runs in turn."""
    expected = damacy.convert(x, output)
    out = np.empty_like(expected)
    peers = {"numpy": best_way(cast_peers.numpy_ways(x, out), out, expected)}
    if torch is not None:
        peers["torch"] = best_way(cast_peers.torch_ways(torch, x, out), out, expected)
    runs: dict[str, Callable[[], object]] = {
        "damacy": lambda: damacy.convert(x, output, out=out, threads=1),
        "damacy, new array": lambda: damacy.convert(x, output, threads=1),
    }
    runs |= {name: peer["run"] for name, peer in peers.items() if peer}
    runs |= expressions(x, expected.dtype)
    repeats = {name: max(1, round(LEAST_SECONDS / seconds(run))) for name, run in runs.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(rounds):
        for name in list(runs) if turn % 2 == 0 else reversed(runs):
            times[name].append(seconds(runs[name], repeats[name]))
    moved = x.nbytes + out.nbytes
    row: dict = {"source": source.name, "output": output.full_name, "bytes": moved,
                 "damacy_gib_s": spread([moved / 2**30 / t for t in times["damacy"]])}
    for name, peer in peers.items():
        row[name] = peer and {
            "times_as_fast": spread([theirs / ours for theirs, ours in zip(times[name], times["damacy"], strict=True)]),
            "way": peer["way"],
            "differences": peer["differences"],
        }
        if (new := f"{name}, new array") in times:
            ratios = [theirs / ours for theirs, ours in zip(times[new], times["damacy, new array"], strict=True)]
            row[new] = {"times_as_fast": spread(ratios)}
    return row


def machine(command: str) -> dict:
    """Where and with what this ran."""
    cpu = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), platform.machine())
    names = ("numpy", "ml_dtypes") + (("torch",) if torch is not None else ())
    return {"date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"), "cpu": cpu,
            "kernel": platform.release(), "load": Path("/proc/loadavg").read_text().strip(),
            "python": platform.python_version(), "command": command,
            "versions": {"damacy": damacy.__version__} | {name: version(name) for name in names}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=float, default=16, help="size of the larger of source and output (default 16)")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds (default 7)")
    parser.add_argument("--only", help="one pair, uint16-float32 for example")
    parser.add_argument("--quick", action="store_true", help="1 MiB and 2 rounds: to try it out")
    parser.add_argument("--out", type=Path, help="file for the JSON, else it is printed")
    args = parser.parse_args()
    if args.quick:
        args.mib, args.rounds = 1, 2
    warnings.simplefilter("ignore", RuntimeWarning)  # NaN and infinities are cast on purpose
    # One core for everybody, whatever a library's own idea of threads is.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    size, started, rows = int(args.mib * 2**20), time.perf_counter(), []
    for name in SOURCES:
        source = np.dtype(name)
        x = values(source, size // source.itemsize)
        for output in damacy.Dtype:
            if args.only in (None, f"{name}-{output.full_name}"):
                rows.append(measure(source, x[: size // max(source.itemsize, output.itemsize)], output, args.rounds))
        print(f"{name}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    if not rows:
        parser.error(f"--only {args.only}: no such pair")
    command = f"python python/benchmarks/casts.py --mib {args.mib:g} --rounds {args.rounds}"
    report = {"schema": SCHEMA, "machine": machine(command), "values": VALUES, "mib": args.mib, "rounds": args.rounds,
              "seconds": round(time.perf_counter() - started), "pairs": rows}
    text = json.dumps(report, indent=1) + "\n"
    if args.out:
        args.out.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
