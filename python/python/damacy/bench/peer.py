"""``python -m damacy.bench.peer``: another loader, run beside ours by ``damacy bench --peers``.

Requests as lines of JSON on standard input -> one line of JSON each on standard output, which libraries cannot write to:
they have standard error. ``docs/bench.md`` has the protocol. An error is answered and ends the process, as does the end of
standard input; Ctrl-C is the benchmark's, which ends this process.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
from typing import IO, Any

import numpy as np

from damacy.bench import _peer_convert as convert
from damacy.bench import _peer_memory as memory
from damacy.bench._peer_job import Job, Loader, Refused, Setting

# Peer -> module of its loader, and what to install for it.
LOADERS = {
    "tensorstore": ("damacy.bench._peer_tensorstore", ["tensorstore"]),
    "zarr": ("damacy.bench._peer_zarr", ["zarr"]),
    "zarrs": ("damacy.bench._peer_zarr", ["zarr", "zarrs"]),
}


class Peer:
    """What the requests ask for."""

    def __init__(self, requests: IO[bytes]) -> None:
        self.requests = requests
        self.loader: Loader | None = None
        self.resident: int | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """One request's answer."""
        if request["do"] == "start":
            return self.start(request)
        if self.loader is None:
            raise ValueError(f"{request['do']!r} was asked for before a start that succeeded")
        if request["do"] == "pass":
            return timed_pass(self.loader, request["setting"], request.get("batches"), self.resident)
        if request["do"] == "compare":
            return self.compare(self.loader, request["setting"])
        raise ValueError(f"{request['do']!r} was asked for; known are start, pass and compare")

    def start(self, request: dict[str, Any]) -> dict[str, Any]:
        """Opens every array once, to find out whether the peer can read them."""
        module, packages = LOADERS[request["peer"]]
        job = Job.of(request)
        # Read when the libraries are loaded: no more threads than ours.
        os.environ["RAYON_NUM_THREADS"] = str(job.threads)
        try:
            for package in packages:
                importlib.import_module(package)
        except ImportError as error:
            return {"unavailable": f"{error}: pip install {' '.join(packages)}"}
        except Exception as error:
            return {"unavailable": f"{' and '.join(packages)} cannot be imported: {type(error).__name__}: {error}"}
        try:
            loader = importlib.import_module(module).loader
            # With all that is imported, before an array is opened.
            self.resident = memory.resident()
            self.loader = loader(request["peer"], job)
            self.loader.try_to_open()
        except Refused as refused:
            return {"unavailable": str(refused)}
        return {"version": self.loader.version, "settings": self.loader.settings()}

    def compare(self, loader: Loader, setting: Setting) -> dict[str, Any]:
        """Our batches follow the request; the peer's are set beside them as they come."""
        counts = {"elements": 0, "differing": 0}
        nans = own_differs = 0
        job = loader.job
        ours = np.empty(job.batch_shape, job.dtype)
        for index, theirs in loader.batches(job, setting):
            read_exactly(self.requests, ours)
            counts["elements"] += ours.size
            counts["differing"] += convert.differing(ours, theirs)
            nans += convert.other_nans(ours, theirs)
            for slot, sample in enumerate(job.batches[index]):
                # What the peer would have given by its own cast, where it has another than ours.
                if convert.clamps(job.sources[sample[0]], job.dtype):
                    own_differs += convert.differing(ours[slot], loader.own_cast(sample))
        notes = []
        if nans:
            notes.append(f"{nans} of them are NaN in both, of another sign or payload: damacy keeps those of the source")
        if counts["differing"] > nans:
            notes.append(f"{counts['differing'] - nans} have other values, which should not be")
        if own_differs:
            notes.append(
                f"{loader.own_cast_name} would give {own_differs} other elements, since it does not clamp to the range of "
                f"{job.dtype.name}: NumPy clamps and casts what {loader.name} reads"
            )
        return counts | {"note": "; ".join(notes) or None}


def timed_pass(loader: Loader, setting: Setting, count: int | None, resident: int | None) -> dict[str, Any]:
    """A pass, or its first batches, with everything opened anew, each batch read, held and touched; and how much more memory
    the process took meanwhile than after its start."""
    job = loader.job.first(count)
    known = memory.forget_peak()
    begun = time.perf_counter()
    for _, batch in loader.batches(job, setting):
        if job.touch:
            touch(batch)
        if job.hold_s:
            time.sleep(job.hold_s)
    seconds = time.perf_counter() - begun
    return {"pass_s": seconds, "peak_bytes": memory.peak_above(resident) if known else None}


def touch(batch: np.ndarray) -> None:
    """Reads every element, as the benchmark's own consumer does."""
    flat = batch.reshape(-1).view(np.uint8)
    whole = len(flat) // 8 * 8
    np.bitwise_xor.reduce(flat[:whole].view(np.uint64))
    np.bitwise_xor.reduce(flat[whole:])


def read_exactly(stream: IO[bytes], into: np.ndarray) -> None:
    """Fills an array from a stream."""
    left = into.reshape(-1).view(np.uint8).data
    while len(left):
        count = stream.readinto(left)  # type: ignore[attr-defined]
        if not count:
            raise EOFError("our batches ended early")
        left = left[count:]


def main() -> int:
    """Serves requests until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        requests = sys.stdin.buffer
        peer = Peer(requests)
        for line in requests:
            try:
                answer = peer.answer(json.loads(line))
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), file=answers, flush=True)
            if "error" in answer:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
