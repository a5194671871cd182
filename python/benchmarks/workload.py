"""The loader benchmark's one workload: 64 seeded random crops of a light-sheet-like volume, in batches of 8."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

SHAPE, CHUNKS, SHARDS = (256, 512, 512), (32, 64, 64), (128, 256, 256)
CROP, BATCH, N_CROPS, SEED = (64, 128, 128), 8, 64, 5
DTYPES = ("float32", "uint8", "uint16")
Origin = tuple[int, ...]


def crops() -> list[Origin]:
    """The first corner of each crop."""
    rng = np.random.default_rng(SEED)
    return [tuple(int(rng.integers(0, s - c + 1)) for s, c in zip(SHAPE, CROP, strict=True)) for _ in range(N_CROPS)]


def box(origin: Origin) -> tuple[slice, ...]:
    """The crop at `origin`."""
    return tuple(slice(o, o + c) for o, c in zip(origin, CROP, strict=True))


def batches() -> list[list[Origin]]:
    """The crops, BATCH at a time."""
    everything = crops()
    return [everything[i : i + BATCH] for i in range(0, N_CROPS, BATCH)]


def write_volume(path: Path) -> None:
    """uint16, smoothed structure plus shot noise, zstd level 3, sharded Zarr v3."""
    import scipy.ndimage
    import zarr
    from zarr.codecs import ZstdCodec

    rng = np.random.default_rng(1)
    coarse = scipy.ndimage.gaussian_filter(rng.normal(size=[s // 4 for s in SHAPE]).astype(np.float32), 2)
    volume = scipy.ndimage.zoom(coarse, 4, order=1)
    volume = (volume - volume.min()) / (volume.max() - volume.min()) * 4000 + 200
    volume = (volume + rng.poisson(20, SHAPE)).astype(np.uint16)
    array = zarr.create_array(path, shape=SHAPE, chunks=CHUNKS, shards=SHARDS, dtype="uint16",
                              compressors=ZstdCodec(level=3), overwrite=True)
    array[:] = volume


def seconds(run: Callable[[], None]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
