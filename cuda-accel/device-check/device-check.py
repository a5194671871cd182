"""damacy's CUDA executor beside torch on this machine's GPU: values, streams, lifetimes, speed.

Zarr arrays of random bits in a temporary folder -> batches of both executors, handed to torch by DLPack, compared bit for
bit. Where torch is missing, or has no CUDA, values and speed are looked at by copies to the host, and the rest is skipped.
Prints what it finds and writes JSON after each part; ends with 0 if all checks passed, else with 1. Each part has its time.
Run by run.sh, which puts damacy on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import damacy
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)
try:
    import torch
except (ImportError, OSError) as missing:  # OSError: a library of its is missing
    torch = None
    without_torch = str(missing)

SOURCES = "uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32".split()


def write_array(folder: Path, data: np.ndarray, chunks: tuple[int, ...], leave_out: int = 0) -> str:
    """A Zarr 3 array without compression; of ``leave_out`` > 0 chunks every so many-th is missing."""
    bytes_codec = {"name": "bytes", "configuration": {"endian": "little"}}
    metadata = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": data.shape,
        "data_type": data.dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 7,
        "codecs": [bytes_codec],
    }
    folder.mkdir(parents=True)
    (folder / "zarr.json").write_text(json.dumps(metadata))
    grid = [-(-extent // chunk) for extent, chunk in zip(data.shape, chunks, strict=True)]
    for number, place in enumerate(np.ndindex(*grid)):
        if leave_out and number % leave_out == 0:
            continue
        box = tuple(slice(i * chunk, (i + 1) * chunk) for i, chunk in zip(place, chunks, strict=True))
        part = data[box]
        padding = [(0, chunk - extent) for chunk, extent in zip(chunks, part.shape, strict=True)]
        path = folder.joinpath("c", *map(str, place))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(np.pad(part, padding).tobytes())
    return str(folder)


class Check:
    """What is checked, on one device: the GPU, or for a rehearsal the CPU."""

    def __init__(self, folder: Path, gpu: bool, torch_works: bool, json_path: Path | None) -> None:
        self.folder, self.gpu, self.torch, self.json_path = folder, gpu, torch_works, json_path
        self.random = np.random.default_rng(1)
        self.results: dict[str, Any] = {"failures": [], "parts": {}}

    def part(self, name: str, limit_s: int, run: Any) -> None:
        """Runs a part, ends it after its time, and saves what was found so far."""

        def late(*_: Any) -> None:
            raise TimeoutError(f"not done after {limit_s} s")

        signal.signal(signal.SIGALRM, late)
        signal.alarm(limit_s)
        start = time.perf_counter()
        try:
            run()
        except Exception as error:  # the others are still worth running
            self.fail(f"{name}: {type(error).__name__}: {error}")
        finally:
            signal.alarm(0)
        self.results["parts"][name] = time.perf_counter() - start
        self.save()

    def save(self) -> None:
        if self.json_path:
            self.json_path.write_text(json.dumps(self.results, indent=2) + "\n")

    def executor(self, buffers: int | None = None) -> Any:
        if not self.gpu:
            return damacy.CpuExecutor(limits=damacy.CpuLimits(workers=2, output_buffers=buffers))
        return damacy.CudaExecutor(0, limits=damacy.CudaLimits(max_gpu_memory_bytes=1 << 30, output_buffers=buffers))

    def fail(self, text: str) -> None:
        print(f"  WRONG: {text}")
        self.results["failures"].append(text)

    def bits(self, batch: Any) -> np.ndarray:
        """A batch's bits on the CPU, copied: through torch where that works."""
        if batch.__dlpack_device__() != ((2, 0) if self.gpu else (1, 0)):
            self.fail(f"a batch lies on {batch.__dlpack_device__()}")
        if not self.torch:
            return batch.to_host().reshape(-1).view(np.uint8)
        tensor = torch.from_dlpack(batch)
        if self.gpu != tensor.is_cuda:
            self.fail(f"a batch of {batch.info.device} came out on {tensor.device}")
        bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
        return tensor.view(bits).cpu().clone().numpy().reshape(-1).view(np.uint8)

    def boxes(self, shape: tuple[int, ...], crop: tuple[int, ...]) -> list[tuple[int, int]]:
        starts = [int(self.random.integers(0, extent - size + 1)) for extent, size in zip(shape, crop, strict=True)]
        return [(start, start + size) for start, size in zip(starts, crop, strict=True)]

    def values(self) -> None:
        """All 100 pairs, sources mixed in each batch, missing chunks, against the CPU executor."""
        shape, crop = (40, 61, 53), (17, 30, 29)
        uris = []
        for number, source in enumerate(SOURCES):
            width = np.dtype(source).itemsize
            data = np.frombuffer(self.random.bytes(int(np.prod(shape)) * width), source).reshape(shape)
            uris.append(write_array(self.folder / source, data, (16, 20, 24), leave_out=3 + number % 3))
        samples = [damacy.Sample(uri, self.boxes(shape, crop)) for _ in range(4) for uri in uris]
        compared = 0
        for dtype in damacy.Dtype:
            spec = damacy.BatchSpec(8, crop, dtype)
            with damacy.Pipeline(spec, self.executor()) as ours, damacy.Pipeline(spec) as judge:
                for pipeline in (ours, judge):
                    pipeline.push(samples)
                for got, expected in zip(ours.batches(5), judge.batches(5), strict=True):
                    with got, expected:
                        right = expected.to_host().reshape(-1).view(np.uint8)
                        compared += right.size // dtype.itemsize
                        if not np.array_equal(self.bits(got), right):
                            self.fail(f"{dtype.name} batch {got.info.id} differs from the CPU executor's")
        print(f"  values: {compared} elements compared")
        self.results["elements_compared"] = compared

    def numbered(self, count: int, size: int) -> str:
        """An array whose row ``i`` is ``i`` throughout."""
        rows = np.repeat(np.arange(count, dtype=np.uint16)[:, None], size, axis=1)
        return write_array(self.folder / f"rows-{count}", rows, (3, size))

    def streams(self) -> None:
        """Two buffers, slow consumers on streams of their own: no batch is overwritten while it is read."""
        count, size = 48, 1 << 16
        uri = self.numbered(count, size)
        spec = damacy.BatchSpec(2, (1, size), "float32")
        sums, expected = [], []
        with damacy.Pipeline(spec, self.executor(buffers=2)) as pipeline:
            pipeline.push(damacy.Sample(uri, [(i % count, i % count + 1), (0, size)]) for i in range(4 * count))
            for number, batch in enumerate(pipeline.batches(2 * count)):
                expected.append(float(sum(i % count for i in (2 * number, 2 * number + 1)) * size))
                with self.side_stream():
                    tensor = torch.from_dlpack(batch)
                    if self.gpu and number % 2:
                        # Read on another stream than that of the export, so that the event alone tells of it.
                        taken = torch.cuda.current_stream().record_event()
                        with self.side_stream():
                            torch.cuda.current_stream().wait_event(taken)
                            sums.append(self.slow_sum(tensor))
                            event = torch.cuda.current_stream().record_event()
                        del tensor
                        batch.release(event=event)
                        continue
                    sums.append(self.slow_sum(tensor))
                del tensor
                batch.release()
            if self.gpu:
                torch.cuda.synchronize()  # torch's streams of their own are not waited for by the default one
            found = [float(total) for total in sums]
        wrong = sum(a != b for a, b in zip(found, expected, strict=True))
        if wrong:
            self.fail(f"{wrong} of {len(found)} sums on side streams are wrong")
        print(f"  streams: {len(found)} batches read by slow consumers")

    def slow_sum(self, tensor: torch.Tensor) -> torch.Tensor:
        if self.gpu:
            torch.cuda._sleep(2_000_000)  # about a millisecond
        return tensor.sum(dtype=torch.float64)

    @contextlib.contextmanager
    def side_stream(self) -> Iterator[None]:
        if self.gpu:
            with torch.cuda.stream(torch.cuda.Stream()):
                yield
        else:
            yield

    def lifetimes(self) -> None:
        """Tensors outlive their batch and their pipeline."""
        count, size = 8, 5000
        uri = self.numbered(count, size)
        with damacy.Pipeline(damacy.BatchSpec(1, (1, size), "int32"), self.executor(buffers=4)) as pipeline:
            pipeline.push(damacy.Sample(uri, [(i, i + 1), (0, size)]) for i in range(3))
            kept = [torch.from_dlpack(batch) for batch in pipeline.batches(3)]
        if [int(tensor.sum()) for tensor in kept] != [0, size, 2 * size]:
            self.fail("a tensor changed after its pipeline was closed")
        del kept
        print("  lifetimes: tensors hold after the pipeline is closed")

    def graphs(self) -> None:
        """A CUDA graph is captured beside a pipeline, a tensor is dropped in the middle, and all values are right."""
        if not self.gpu:
            return
        count, size = 12, 4096
        uri = self.numbered(count, size)
        with damacy.Pipeline(damacy.BatchSpec(1, (1, size), "float32"), self.executor(buffers=2)) as pipeline:
            pipeline.push(damacy.Sample(uri, [(i % count, i % count + 1), (0, size)]) for i in range(3 * count))
            pipeline.pop(timeout=30).release()
            graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
            placed = torch.zeros((1, 1, size), device="cuda")
            torch.cuda.synchronize()
            batch, other = pipeline.pop(timeout=30), pipeline.pop(timeout=30)
            with torch.cuda.stream(stream):
                tensor = torch.from_dlpack(batch)
                placed.copy_(tensor)
            refused = False
            with torch.cuda.graph(graph, stream=stream):
                total = placed.sum()
                try:
                    torch.from_dlpack(other)
                except damacy.InvalidArgument:
                    refused = True
                del tensor
                batch.release()
            graph.replay()
            torch.cuda.synchronize()
            if not refused:
                self.fail("a batch was exported to a stream that was being captured")
            if float(total) != size:
                self.fail(f"a graph captured beside a pipeline gave {float(total)}, not {size}")
            other.release()
            for number, batch in enumerate(pipeline.batches(3 * count - 3), start=3):
                if float(torch.from_dlpack(batch).sum()) != number % count * size:
                    self.fail(f"batch {number} is wrong after a graph's capture")
                batch.release()
        print("  graphs: captured beside a pipeline")

    def speed(self, edge: int, batches: int) -> None:
        """Batches a second, uint16 chunks without compression to float32, both executors on this machine."""
        data = self.random.integers(0, 1 << 16, (2 * edge, 2 * edge, 2 * edge), dtype=np.uint16)
        uri = write_array(self.folder / "volume", data, (edge, edge, edge))
        spec = damacy.BatchSpec(8, (edge, edge, edge), "float32")
        rates = {}
        for name, executor in (("device", self.executor()), ("cpu", damacy.CpuExecutor())):
            with damacy.Pipeline(spec, executor) as pipeline:
                samples = [damacy.Sample(uri, self.boxes(data.shape, (edge,) * 3)) for _ in range(8 * batches)]
                pipeline.push(samples)
                start = time.perf_counter()
                for number, batch in enumerate(pipeline.batches(batches), start=1):
                    if number == batches:
                        batch.to_host()  # waits for what is queued
                    batch.release()
                rates[name] = batches / (time.perf_counter() - start)
        device, cpu = rates["device"], rates["cpu"]
        print(f"  speed: {device:.1f} batches/s here, {cpu:.1f} with the CPU executor (8 x {edge}^3 float32)")
        self.results["batches_per_second"] = rates


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="where to write the results")
    parser.add_argument("--rehearse", action="store_true", help="small sizes, on the CPU: to try the script out")
    options = parser.parse_args()
    print(f"Python {sys.version.split()[0]}, torch {getattr(torch, '__version__', None)}, damacy's CUDA: ", end="")
    print(damacy.cuda.unavailable_because() or f"{damacy.cuda.device_count()} device(s)")
    gpu = not options.rehearse
    if gpu and damacy.cuda.unavailable_because():
        return 0
    without = without_torch if torch is None else "torch sees no GPU" if gpu and not torch.cuda.is_available() else None
    if without:
        print(f"  without torch ({without}): values and speed by copies to the host, nothing else")
    with tempfile.TemporaryDirectory() as folder:
        check = Check(Path(folder), gpu, without is None, options.json)
        check.results["torch"] = torch.__version__ if without is None else None
        check.part("values", 40, check.values)
        if without is None:
            check.part("streams", 15, check.streams)
            check.part("lifetimes", 10, check.lifetimes)
            check.part("graphs", 15, check.graphs)
        check.part("speed", 25, lambda: check.speed(*((16, 3) if options.rehearse else (96, 60))))
    print("FAILED" if check.results["failures"] else "all checks passed" + ("" if gpu else " (a rehearsal on the CPU)"))
    return int(bool(check.results["failures"]))


if __name__ == "__main__":
    sys.exit(main())
