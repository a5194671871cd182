"""TensorStore as a peer: its own cache, its own cast or NumPy's, batches in flight as futures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import numpy as np
import tensorstore as ts

from damacy.bench import _peer_convert as convert
from damacy.bench._peer_job import Job, Refused, Sample, Setting


class TensorStore:
    """A job's loader."""

    name = "tensorstore"
    own_cast_name = "ts.cast"

    def __init__(self, job: Job) -> None:
        self.job = job
        self.version = version("tensorstore")
        # It has no clamping cast. The others are those of the rules.
        self.casts = [not convert.clamps(source, job.dtype) for source in job.sources]
        self.kept: dict[int, Any] = {}

    def settings(self) -> list[Setting]:
        """Caches up to our memory budget, its cast or a read and a conversion, batches on their way."""
        memory = self.job.memory_bytes
        ways = ("cast", "read") if any(self.casts[array] for array in self.job.arrays) else ("read",)
        return [
            {"cache_bytes": cache, "how": how, "batches_ahead": ahead}
            for cache in (0, memory // 8, memory)
            for how in ways
            for ahead in self.job.batches_ahead((1, 2, 8))
        ]

    def try_to_open(self) -> None:
        """Opens all arrays."""
        try:
            self.kept = self.open(self.job, 0)
        except ValueError as error:
            raise Refused(f"tensorstore cannot open an array: {str(error).splitlines()[0]}") from None

    def open(self, job: Job, cache_bytes: int) -> dict[int, Any]:
        """All arrays, opened anew, at once, with one cache: nothing is carried over from an earlier pass."""
        context = ts.Context({
            "data_copy_concurrency": {"limit": job.threads},
            "cache_pool": {"total_bytes_limit": cache_bytes},
        })
        opening = {array: ts.open(spec(job.paths[array]), read=True, context=context) for array in job.arrays}
        return {array: future.result() for array, future in opening.items()}

    def batches(self, job: Job, setting: Setting) -> Iterator[tuple[int, np.ndarray]]:
        """A pass."""
        stores = self.open(job, setting["cache_bytes"])
        cast = setting["how"] == "cast"
        casts = {
            array: ts.cast(store, ts.dtype(job.dtype))
            for array, store in stores.items() if cast and self.casts[array]
        }
        origin = (0,) * len(job.crop)

        def begin(out: np.ndarray, batch: list[Sample]) -> list[tuple[Any, bool]]:
            view = ts.array(out)
            pending = []
            for slot, (array, starts) in enumerate(batch):
                box = job.box(starts)
                if array in casts:
                    pending.append((view[slot].write(casts[array][box].translate_to[origin]), True))
                else:
                    pending.append((stores[array][box].read(), False))
            return pending

        def end(out: np.ndarray, pending: list[tuple[Any, bool]]) -> None:
            for slot, (future, written) in enumerate(pending):
                result = future.result()
                if not written:
                    convert.convert_into(out[slot], result)

        return job.in_order(setting["batches_ahead"], begin, end)

    def own_cast(self, sample: Sample) -> np.ndarray:
        """By ts.cast."""
        array, starts = sample
        values: np.ndarray = ts.cast(self.kept[array], ts.dtype(self.job.dtype))[self.job.box(starts)].read().result()
        return values


def spec(path: str) -> dict[str, Any]:
    """A Zarr array in a folder, of either format."""
    driver = "zarr3" if os.path.exists(os.path.join(path, "zarr.json")) else "zarr"
    return {"driver": driver, "kvstore": {"driver": "file", "path": path + "/"}}


def loader(name: str, job: Job) -> TensorStore:
    """The loader of this module."""
    return TensorStore(job)
