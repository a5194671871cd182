"""How many calls a second Python gets from a planner pool: small windows of 8 samples of 27 chunks each.

    .venv/bin/python python/benchmarks/pool.py [--seconds 0.25]

The array and the crops are those of `cargo bench --bench pool` and of the C example `pool_rate`. Prints the best of five rounds by
the clock on the wall, for calls of a worker thread, of the main thread (whose calls another thread makes, so that Ctrl-C ends
them), and of two threads at once.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable

import damacy
import numpy as np

DOCUMENT = b"""{"zarr_format":3,"node_type":"array","shape":[2048,2048,2048],"data_type":"uint16","fill_value":0,
"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[128,256,256]}},"chunk_key_encoding":{"name":"default"},
"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[32,64,64],
"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":3,"checksum":false}}],
"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}]}"""
SPEC = damacy.BatchSpec(8, (64, 128, 128), "float32")
CHUNK = (32, 64, 64)
ROUNDS = 5


def crops(seed: int) -> list[tuple[tuple[int, int], ...]]:
    """Eight crops of 27 chunks each, anywhere."""
    state = seed

    def draw() -> int:
        nonlocal state
        state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
        return state >> 33

    def interval(chunk: int) -> tuple[int, int]:
        start = draw() % (2048 // chunk - 3) * chunk + 1
        start += draw() % (chunk - 1)
        return start, start + 2 * chunk

    return [tuple(interval(chunk) for chunk in CHUNK) for _ in range(8)]


WINDOWS = [crops(seed) for seed in range(64)]
BOXES = [np.array(window) for window in WINDOWS]
SAMPLES = [[damacy.Sample("array", box) for box in window] for window in WINDOWS]


def in_thread(work: Callable[[], float]) -> float:
    got: list[float] = []
    thread = threading.Thread(target=lambda: got.append(work()))
    thread.start()
    thread.join()
    return got[0]


def rate(work: Callable[[int], object], seconds: float) -> float:
    """Calls a second of the best round."""
    best = 0.0
    for _ in range(ROUNDS):
        started = time.perf_counter()
        calls = 0
        while (passed := time.perf_counter() - started) < seconds:
            work(calls % len(WINDOWS))
            calls += 1
        best = max(best, calls / passed)
    return best


def two_threads(work: Callable[[int, int], object], seconds: float) -> float:
    """Calls a second of both together in the best round."""
    best = 0.0
    for _ in range(ROUNDS):
        calls, end = [0, 0], time.perf_counter() + seconds

        def loop(which: int, calls: list[int] = calls, end: float = end) -> None:
            while time.perf_counter() < end:
                work(which, calls[which] % len(WINDOWS))
                calls[which] += 1

        threads = [threading.Thread(target=loop, args=(which,)) for which in (0, 1)]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        best = max(best, sum(calls) / (time.perf_counter() - started))
    return best


def show(name: str, calls: float) -> None:
    print(f"{name:<52} {calls:8.0f} a second, {1e6 / calls:6.1f} us", flush=True)


def columns(plan: damacy.PoolPlan) -> None:
    """All of a plan as NumPy arrays, and its keys."""
    assert len(plan.use_sample) == 8 * 27
    _ = plan.chunk_array, plan.chunk_key, plan.chunk_coords, plan.chunk_uses
    _ = plan.use_source, plan.use_extent, plan.use_target, plan.totals


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.25, help="of each of five rounds for each kind of call (0.25)")
    seconds = parser.parse_args().seconds
    with damacy.PlannerPool(damacy.TenantLimits(deadline_s=10), running=2) as pool:
        one = pool.tenant("one")
        array = one.parse_metadata(DOCUMENT)
        kinds: list[tuple[str, Callable[[int], object]]] = [
            ("plan, arrays parsed before, boxes of NumPy", lambda at: one.plan(SPEC, array, BOXES[at])),
            ("the same, and all columns", lambda at: columns(one.plan(SPEC, array, BOXES[at]))),
            ("plan, arrays parsed before, damacy.Sample", lambda at: one.plan(SPEC, array, SAMPLES[at])),
            ("plan, from a document", lambda at: one.plan(SPEC, DOCUMENT, BOXES[at])),
            ("validate, arrays parsed before", lambda at: one.validate(SPEC, array, BOXES[at])),
            ("estimate of random crops", lambda at: one.estimate(SPEC, array, damacy.Uniform("array"))),
            ("parse a document", lambda at: one.parse_metadata(DOCUMENT)),
        ]
        for name, work in kinds:
            show(name, in_thread(lambda work=work: rate(work, seconds)))
        show("plan, on the main thread", rate(kinds[0][1], seconds))
        both = pool.tenant("one"), pool.tenant("two")
        show("plan, two threads together", two_threads(lambda who, at: both[who].plan(SPEC, array, BOXES[at]), seconds))


if __name__ == "__main__":
    main()
