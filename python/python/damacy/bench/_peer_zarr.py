"""zarr-python as a peer, with its own codecs or with those of zarrs: crops read by threads, converted by NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.metadata import version
from typing import Any

import numpy as np
import zarr

from damacy.bench import _peer_convert as convert
from damacy.bench._peer_job import Job, Refused, Sample, Setting


class Zarr:
    """A job's loader."""

    own_cast_name = "NumPy's astype"

    def __init__(self, name: str, job: Job) -> None:
        self.name, self.job = name, job
        self.version = version(name)
        self.kept: dict[int, Any] = {}
        zarr.config.set({"threading.max_workers": job.threads})
        if name == "zarrs":
            import zarrs  # noqa: F401  registers its codec pipeline

            # Strict: arrays that it cannot read are refused, and not read by zarr-python under its name.
            zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.strict": True})

    def settings(self) -> list[Setting]:
        """Crops read at once, batches on their way, and what each library lets one choose of its concurrency."""
        threads = self.job.threads
        knob, values = ("chunks_at_least", {1, 4}) if self.name == "zarrs" else ("requests", {threads, 10})
        return [
            {"crops_at_once": crops, "batches_ahead": ahead, knob: value}
            for crops in sorted({1, threads})
            for ahead in self.job.batches_ahead((1, 2))
            for value in sorted(values)
        ]

    def try_to_open(self) -> None:
        """Opens all arrays, and reads an element of each."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.kept = self.open(self.job)
                for array in self.kept.values():
                    array[(slice(0, 1),) * array.ndim]
        except Exception as error:
            raise Refused(f"{self.name} cannot read an array: {type(error).__name__}: {error}") from None

    def open(self, job: Job) -> dict[int, Any]:
        """All arrays, opened anew."""
        return {array: zarr.open_array(job.paths[array], mode="r") for array in job.arrays}

    def batches(self, job: Job, setting: Setting) -> Iterator[tuple[int, np.ndarray]]:
        """A pass."""
        if self.name == "zarrs":
            knobs = {"codec_pipeline.chunk_concurrent_minimum": setting["chunks_at_least"]}
        else:
            knobs = {"async.concurrency": setting["requests"]}
        with zarr.config.set(knobs), ThreadPoolExecutor(setting["crops_at_once"]) as pool:
            stores = self.open(job)

            def read(slot: np.ndarray, sample: Sample) -> None:
                array, starts = sample
                convert.convert_into(slot, stores[array][job.box(starts)])

            def begin(out: np.ndarray, batch: list[Sample]) -> list[Future[None]]:
                return [pool.submit(read, slot, sample) for slot, sample in zip(out, batch, strict=True)]

            def end(_: np.ndarray, pending: list[Future[None]]) -> None:
                for future in pending:
                    future.result()

            yield from job.in_order(setting["batches_ahead"], begin, end)

    def own_cast(self, sample: Sample) -> np.ndarray:
        """As NumPy casts what it is given."""
        array, starts = sample
        values: np.ndarray = self.kept[array][self.job.box(starts)]
        with np.errstate(invalid="ignore"):
            return values.astype(self.job.dtype)


def loader(name: str, job: Job) -> Zarr:
    """The loader of this module."""
    return Zarr(name, job)
