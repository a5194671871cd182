"""damacy's component in wasmtime-py: metadata, a plan and a small conversion, in a sandbox with limits.

    pip install wasmtime
    python core-wit/python/plan.py volume.zarr 0:64,0:128,0:128 16:80,32:160,0:128 --dtype bf16

An array in a local directory and boxes -> a summary of the chunks that the boxes need. wasmtime-py passes lists element
by element (seconds a MiB): plan and convert fill values this way, not chunk data. The package `damacy` does that.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from wasmtime import Config, Engine, Store
from wasmtime.component import Component, Instance, Linker, Record, Variant

COMPONENT = Path(__file__).parents[1] / "prebuilt" / "damacy-core.wasm"
# Limits on untrusted documents and requests: the component's memory, and instructions over a store's life.
MEMORY_BYTES = 64 << 20
FUEL = 10_000_000_000


def record(**fields: Any) -> Record:
    """A WIT record; `byte_order` stands for `byte-order`."""
    made = Record()
    for name, value in fields.items():
        setattr(made, name.replace("_", "-"), value)
    return made


class Core:
    """The component, started with limits. A call that fails raises ValueError with the component's own message."""

    def __init__(self, path: Path = COMPONENT) -> None:
        config = Config()
        config.consume_fuel = True
        engine = Engine(config)
        self._store = Store(engine)
        self._store.set_limits(memory_size=MEMORY_BYTES)
        self._store.set_fuel(FUEL)
        # It imports nothing, so the linker stays empty.
        self._instance: Instance = Linker(engine).instantiate(self._store, Component.from_file(engine, str(path)))

    def _call(self, interface: str, name: str, *arguments: Any) -> Any:
        outer = self._instance.get_export_index(self._store, f"damacy:core/{interface}@0.1.0")
        function = self._instance.get_func(self._store, self._instance.get_export_index(self._store, name, outer))
        answer = function(self._store, *arguments)
        function.post_return(self._store)
        if isinstance(answer, Variant):
            place = f" (at {answer.payload.path})" if answer.payload.path else ""
            raise ValueError(f"{answer.tag}: {answer.payload.message}{place}")
        return answer

    def parse(self, document: bytes, zarr_format: str) -> Record:
        """The array that a `zarr.json` ("v3") or `.zarray` ("v2") describes."""
        limits = record(max_bytes=4 << 20, max_depth=64, max_values=1 << 18, max_rank=32, max_codecs=64)
        return self._call("metadata", "parse", zarr_format, document, limits)

    def object_key(self, array: Record, coords: list[int]) -> str:
        """The key of a stored object, relative to the array."""
        return self._call("metadata", "object-key", array, coords)

    def plan(self, array: Record, boxes: list[list[tuple[int, int]]], dtype: str, samples: int) -> Record:
        """The chunks that boxes of one array need, `samples` to a batch."""
        shape = [stop - start for start, stop in boxes[0]] if boxes else []
        request = record(
            spec=record(samples=samples, shape=shape, dtype=self.dtype(dtype)),
            arrays=[array],
            samples=[record(array=0, bounds=box) for box in boxes],
            missing=[],
            encoded_ratios=[],
            limits=record(memory_bytes=MEMORY_BYTES // 2, max_chunks=1 << 20),
        )
        return self._call("planner", "window", request)

    def convert(self, elements: bytes, source: str, dtype: str, order: str = "little") -> bytes:
        """Elements of a source type -> little-endian elements of an output type."""
        return self._call("convert", "elements", source, order, self.dtype(dtype), elements)

    def dtype(self, name: str) -> str:
        """The short name of an output type, by a short or full name."""
        dtype = self._call("dtypes", "parse", name)
        if dtype is None:
            accepted = ", ".join(info.__dict__["short-name"] for info in self._call("dtypes", "outputs"))
            raise ValueError(f"{name!r} is no output type; accepted are {accepted}, and their full names")
        return dtype


def read_array(core: Core, path: Path) -> Record:
    """Finds and parses the metadata of an array in a directory."""
    for zarr_format, name in (("v3", "zarr.json"), ("v2", ".zarray")):
        if (path / name).is_file():
            return core.parse((path / name).read_bytes(), zarr_format)
    raise FileNotFoundError(f"{path} holds neither zarr.json nor .zarray")


def box(text: str) -> list[tuple[int, int]]:
    """`0:64,0:128` -> [(0, 64), (0, 128)]."""
    intervals = [tuple(int(bound) for bound in axis.split(":")) for axis in text.split(",")]
    if any(len(interval) != 2 or not 0 <= interval[0] < interval[1] for interval in intervals):
        raise ValueError(text)
    return intervals


def summary(core: Core, array: Record, boxes: list[list[tuple[int, int]]], dtype: str) -> dict[str, str]:
    """What a batch of boxes needs, in words."""
    plan = core.plan(array, boxes, dtype, samples=len(boxes))
    about, totals = array.__dict__, plan.totals.__dict__
    levels = " in ".join(str(tuple(level)) for level in reversed(array.levels))
    fill = core.convert(about["fill-value"], array.source, dtype)
    first = [c * n // outer for c, n, outer in zip(plan.coords, array.levels[-1], array.levels[0], strict=False)]
    return {
        "array": f"{about['data-type']} {tuple(array.shape)}, {about['byte-order']}-endian, chunks {levels}",
        "codecs": ", ".join(array.codecs),
        "chunks": f"{len(plan.chunks)} for {len(plan.uses)} uses, the first in {core.object_key(array, first)}",
        "batch": f"{totals['batch-bytes']:,} bytes of {core.dtype(dtype)}",
        "needed": f"{totals['needed-bytes']:,} bytes of {array.source}",
        "decoded": f"{totals['decoded-bytes']:,} bytes, decode waste {totals['decode-waste']:.3f}",
        "fill value": f"{about['fill-value'].hex()} -> {fill.hex()} (little-endian)",
    }


def main() -> None:
    """Prints a plan."""
    parser = argparse.ArgumentParser(description="Plan boxes of a Zarr array in a sandbox.")
    parser.add_argument("array", type=Path, help="directory of the array")
    parser.add_argument("boxes", type=box, nargs="+", metavar="START:STOP,...", help="an interval for each axis")
    parser.add_argument("--dtype", default="float32", help="output type (default: float32)")
    given = parser.parse_args()
    core = Core()
    try:
        rows = summary(core, read_array(core, given.array), given.boxes, given.dtype)
    except (ValueError, OSError) as error:
        parser.exit(1, f"error: {error}\n")
    for name, value in rows.items():
        print(f"{name:<11} {value}")


if __name__ == "__main__":
    main()
