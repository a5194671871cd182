"""damacy's loader beside its peers, on one workload, in one run: samples/s, ratios, memory.

    python loader.py [--rounds 7] [--memory 1073741824] [--dtypes float32,uint8,uint16] [--write docs/performance]

TensorStore's best setting is searched first, within the same memory as ours. Then rounds are interleaved (TensorStore,
ours, TensorStore, floor), so that each of our passes stands between two of the peer's; each pass opens its store or
pipeline anew. Values are checked in an untimed pass. Ratios are medians over rounds.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import damacy
import numpy as np
import peers
import report
from workload import BATCH, CROP, DTYPES, N_CROPS, batches, box, seconds, write_volume

ROOT = Path(__file__).resolve().parents[2]
THREADS = len(os.sched_getaffinity(0))
FLOOR = "once a window of 64"


def ours(path: Path, dtype: str, memory: int, sink: peers.Sink | None = None) -> None:
    """All batches through a new pipeline."""
    executor = damacy.CpuExecutor(limits=damacy.CpuLimits(max_memory_bytes=memory))
    with damacy.Pipeline(damacy.BatchSpec(BATCH, CROP, dtype), executor=executor) as pipeline:
        pipeline.push(damacy.Sample(str(path), box(origin)) for batch in batches() for origin in batch)
        count = 0
        for batch in pipeline:
            with batch:
                values = np.from_dlpack(batch)
                if sink:
                    sink(count, values)
                del values
            count += 1
    if count != len(batches()):
        raise SystemExit(f"damacy gave {count} batches instead of {len(batches())}")


def check_values(path: Path, dtype: str, memory: int) -> None:
    """Every batch of ours against TensorStore's, exactly (uint8 against the clipped read)."""
    expected: dict[int, np.ndarray] = {}
    peers.tensorstore_pass(path, dtype, (0, "read", 1), THREADS, expected.__setitem__)

    def compare(index: int, batch: np.ndarray) -> None:
        if batch.dtype != np.dtype(dtype) or batch.tobytes() != expected.pop(index).tobytes():
            raise SystemExit(f"{dtype}: batch {index} differs from TensorStore's")

    ours(path, dtype, memory, compare)
    assert not expected


def best_setting(path: Path, dtype: str, memory: int, repeats: int) -> peers.Setting:
    """TensorStore's fastest setting by the median of `repeats` passes, after one to warm up."""
    timed = []
    for setting in peers.tensorstore_settings(dtype, memory):
        passes = [seconds(lambda s=setting: peers.tensorstore_pass(path, dtype, s, THREADS)) for _ in range(repeats + 1)]
        timed.append((statistics.median(passes[1:]), setting))
    return min(timed)[1]


def compare(path: Path, dtype: str, args: argparse.Namespace, floor: peers.ZstdFloor) -> dict:
    """The interleaved rounds of one output type."""
    check_values(path, dtype, args.memory)
    setting = best_setting(path, dtype, args.memory, args.search_repeats)
    report.say(f"{dtype}: values equal TensorStore's; its best setting is {report.setting_text(setting)}")

    def peer() -> float:
        return seconds(lambda: peers.tensorstore_pass(path, dtype, setting, THREADS))

    mine, theirs, floors, to_peer, to_floor = [], [], [], [], []
    before = peer()
    for _ in range(args.rounds):
        own, after, bottom = seconds(lambda: ours(path, dtype, args.memory)), peer(), seconds(lambda: floor.decode(FLOOR))
        mine.append(own)
        theirs.append(after)
        floors.append(bottom)
        to_peer.append((before + after) / 2 / own)
        to_floor.append(bottom / own)
        before = after
    rates = {"damacy": mine, "tensorstore (best)": theirs, f"zstd floor, {FLOOR}": floors}
    for codecs in ("zarrs", "zarr"):
        rates[f"zarr-python, {codecs} codecs"] = [
            seconds(lambda c=codecs: peers.zarr_pass(path, dtype, c, THREADS)) for _ in range(args.other_repeats)
        ]
    samples_per_s = {name: [N_CROPS / t for t in times] for name, times in rates.items()}
    return {
        "dtype": dtype,
        "tensorstore_setting": dict(zip(("cache_bytes", "how", "batches_ahead"), setting, strict=True)),
        "samples_per_s": {n: {"median": statistics.median(r), "min": min(r), "max": max(r)} for n, r in samples_per_s.items()},
        "ratio_to_tensorstore": {"median": statistics.median(to_peer), "min": min(to_peer), "max": max(to_peer)},
        "ratio_to_floor": {"median": statistics.median(to_floor), "min": min(to_floor), "max": max(to_floor)},
        "peak_growth_bytes": {who: peak_growth(path, dtype, args.memory, who, setting) for who in ("damacy", "tensorstore")},
    }


def peak_growth(path: Path, dtype: str, memory: int, who: str, setting: peers.Setting) -> int:
    """How far the resident memory of a fresh process rises during one pass, bytes."""
    command = [sys.executable, __file__, "--measure-memory", json.dumps([str(path), dtype, memory, who, setting])]
    return int(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)


def measure_memory(job: str) -> None:
    """The child's side of `peak_growth`."""
    path, dtype, memory, who, setting = json.loads(job)
    import tensorstore  # noqa: F401  loaded before the baseline for either

    Path("/proc/self/clear_refs").write_text("5")  # the peak starts from here
    baseline = status_kib("VmRSS")
    if who == "damacy":
        ours(Path(path), dtype, memory)
    else:
        peers.tensorstore_pass(Path(path), dtype, tuple(setting), THREADS)
    print((status_kib("VmHWM") - baseline) * 1024)


def status_kib(field: str) -> int:
    """A field of /proc/self/status, KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))


def machine() -> dict:
    """Where and with what this ran."""
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    packages = ("tensorstore", "zarr", "zarrs", "zstandard", "numpy")
    return {
        "date": datetime.date.today().isoformat(),
        "cpu": model,
        "cores": THREADS,
        "python": platform.python_version(),
        "versions": {"damacy": damacy.__version__} | {name: version(name) for name in packages},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="interleaved rounds per output type (default 9)")
    parser.add_argument("--search-repeats", type=int, default=3, help="passes per TensorStore setting (default 3)")
    parser.add_argument("--other-repeats", type=int, default=3, help="passes of the other peers (default 3)")
    parser.add_argument("--memory", type=int, default=1 << 30, help="bytes for us and for TensorStore's cache (default 2^30)")
    parser.add_argument("--dtypes", default=",".join(DTYPES), help="output types, comma-separated")
    parser.add_argument("--volume", type=Path, default=ROOT / ".cache/loader-volume.zarr", help="made if missing")
    parser.add_argument("--write", type=Path, help="folder that receives loader.json and loader.md")
    parser.add_argument("--measure-memory", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure_memory:
        return measure_memory(args.measure_memory)
    if not (args.volume / "zarr.json").exists():
        report.say("writing the volume")
        args.volume.parent.mkdir(parents=True, exist_ok=True)
        write_volume(args.volume)
    floor = peers.ZstdFloor(args.volume, THREADS)
    floor.decode(FLOOR)
    ours(args.volume, "uint16", args.memory)  # warms the page cache
    results = {"machine": machine(), "memory_bytes": args.memory, "rounds": args.rounds,
               "types": [compare(args.volume, dtype, args, floor) for dtype in args.dtypes.split(",")]}
    text = report.markdown(results)
    print(text)
    if args.write:
        report.write(results, text, args.write)


if __name__ == "__main__":
    main()
