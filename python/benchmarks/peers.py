"""The same batches through TensorStore, zarr-python and zarrs, and the floor that plain zstd sets.

Every loader delivers (index, batch) to `sink` if there is one (to check values, untimed); batches are new arrays.
"""

import collections
import itertools
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
from workload import BATCH, CHUNKS, CROP, Origin, batches, box, crops

Sink = Callable[[int, np.ndarray], None]
Setting = tuple[int, str, int]  # cache bytes, "cast" or "read", batches in flight


def convert_into(slot: np.ndarray, values: np.ndarray) -> None:
    """The benchmark's conversion in NumPy: uint8 is clipped, the others only widen."""
    slot[...] = np.clip(values, 0, 255) if slot.dtype == np.uint8 else values


def tensorstore_open(path: Path, cache_bytes: int, threads: int):
    """The volume, opened anew: no pass inherits another's cache."""
    import tensorstore as ts

    context = {"data_copy_concurrency": {"limit": threads}, "cache_pool": {"total_bytes_limit": cache_bytes}}
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{path.resolve()}/"}, "context": context}
    return ts.open(spec, read=True).result()


def tensorstore_pass(path: Path, dtype: str, setting: Setting, threads: int, sink: Sink | None = None) -> None:
    """All batches. "cast" writes through `ts.cast` into the batch, "read" reads uint16 and converts in NumPy.

    TensorStore has no saturating cast, so uint8 always reads and clips.
    """
    import tensorstore as ts

    cache, how, ahead = setting
    store = tensorstore_open(path, cache, threads)
    cast = ts.cast(store, ts.dtype(np.dtype(dtype))) if how == "cast" else None
    todo, flying = iter(batches()), collections.deque()

    def issue() -> None:
        batch = next(todo, None)
        if batch is None:
            return
        out = np.empty((BATCH, *CROP), dtype)
        if cast is None:
            flying.append((out, [store[box(o)].read() for o in batch]))
        else:
            view = ts.array(out)
            pending = [view[s].write(cast[box(o)].translate_to[(0,) * 3]) for s, o in enumerate(batch)]
            flying.append((out, pending))

    for _ in range(ahead):
        issue()
    index = 0
    while flying:
        out, pending = flying.popleft()
        issue()
        for slot, future in enumerate(pending):
            result = future.result()
            if cast is None:
                convert_into(out[slot], result)
        if sink:
            sink(index, out)
        index += 1


def tensorstore_settings(dtype: str, memory_bytes: int) -> list[Setting]:
    """Every setting that is tried, within the same memory as ours."""
    ways = ("read",) if dtype == "uint8" else ("cast", "read")
    caches = (0, memory_bytes // 8, memory_bytes)
    return [(cache, how, ahead) for cache in caches for how in ways for ahead in (1, 2, 8)]


def zarr_pass(path: Path, dtype: str, codecs: str, threads: int, sink: Sink | None = None) -> None:
    """All batches through zarr-python; `codecs` is "zarr" (its own) or "zarrs" (the Rust codec pipeline)."""
    import zarr

    settings = {"threading.max_workers": threads}
    if codecs == "zarrs":
        import zarrs  # noqa: F401  registers its codec pipeline

        settings["codec_pipeline.path"] = "zarrs.ZarrsCodecPipeline"
    with zarr.config.set(settings):
        array = zarr.open_array(path, mode="r")
        for index, batch in enumerate(batches()):
            out = np.empty((BATCH, *CROP), dtype)
            for slot, origin in enumerate(batch):
                convert_into(out[slot], array[box(origin)])
            if sink:
                sink(index, out)


def chunks_of(origin: Origin) -> list[tuple[int, ...]]:
    """Grid coordinates of the chunks that a crop touches."""
    ranges = (range(o // k, (o + c - 1) // k + 1) for o, c, k in zip(origin, CROP, CHUNKS, strict=True))
    return list(itertools.product(*ranges))


class ZstdFloor:
    """Plain zstd decompression of the needed chunks from memory, without reading, converting or copying."""

    DECODED = int(np.prod(CHUNKS)) * 2

    def __init__(self, path: Path, threads: int) -> None:
        import zarr
        import zstandard

        volume, packer = zarr.open_array(path, mode="r")[:], zstandard.ZstdCompressor(level=3)
        uses = [c for o in crops() for c in chunks_of(o)]
        per_batch = [c for b in batches() for c in sorted({c for o in b for c in chunks_of(o)})]
        window = sorted(set(uses))
        self.threads = threads
        self.levels = {"every use": uses, "once a batch": per_batch, "once a window of 64": window}
        self.packed = {c: packer.compress(self._chunk(volume, c)) for c in window}

    @staticmethod
    def _chunk(volume: np.ndarray, coords: tuple[int, ...]) -> bytes:
        return volume[tuple(slice(i * k, (i + 1) * k) for i, k in zip(coords, CHUNKS, strict=True))].tobytes()

    def decode(self, level: str) -> None:
        """One pass at a level of sharing."""
        import zstandard

        items = self.levels[level]

        def work(k: int) -> None:
            unpacker = zstandard.ZstdDecompressor()
            for coords in items[k :: self.threads]:
                unpacker.decompress(self.packed[coords], max_output_size=self.DECODED)

        pool = [threading.Thread(target=work, args=(k,)) for k in range(self.threads)]
        for thread in pool:
            thread.start()
        for thread in pool:
            thread.join()
