"""The results of a device check as a page: the folder that run.sh wrote -> Markdown on standard output.

`python3 cuda-accel/device-check/report.py results >docs/gpu/results.md`. Below the targets of docs/gpu/device-check.md, a
figure is printed in bold.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TYPES = "f32 bf16 u8 u16 u32 u64 i8 i16 i32 i64".split()
SOURCES = "u8 u16 u32 u64 i8 i16 i32 i64 f16 f32".split()


def target(source: str, output: str) -> float:
    """Of a copy's bandwidth, what a flat conversion is to reach."""
    return 0.7 if {source, output} & {"u8", "i8"} else 0.85


def figure(ratio: float, least: float) -> str:
    return f"{ratio:.2f}" if ratio >= least else f"**{ratio:.2f}**"


def matrix(rows: list[dict[str, Any]], least: Any) -> list[str]:
    """A line a source, a column an output; what was not measured stays empty."""
    ratios = {(row["source"], row["output"]): row["ratio"] for row in rows}
    lines = ["| from | " + " | ".join(TYPES) + " |", "| --- |" + " ---: |" * len(TYPES)]
    for source in SOURCES:
        cells = [figure(ratios[source, o], least(source, o)) if (source, o) in ratios else "" for o in TYPES]
        if any(cells):
            lines.append(f"| {source} | " + " | ".join(cells) + " |")
    return lines


def page(gpu: dict[str, Any], python: dict[str, Any] | None) -> str:
    device = gpu["device"]
    version = device["driver_version"]
    major, minor = device["compute_capability"]
    lines = [
        f"# Device check on {device['name']}",
        "",
        "Made by `cuda-accel/device-check/report.py` from what `run.sh` wrote; [what is checked and measured](device-check.md).",
        f"Compute capability {major}.{minor}, {device['multiprocessors']} multiprocessors, {device['memory_bytes'] >> 20} MiB,"
        f" driver for CUDA {version // 1000}.{version % 1000 // 10}.",
        "",
        f"The program: {'no failure' if not gpu['failures'] else 'FAILED'}"
        + (f", in {gpu['seconds']:.0f} s." if "seconds" in gpu else "; it was stopped before its end."),
        *(f"- {text}" for text in gpu["failures"] + gpu["incomplete"]),
        "",
        "| check | elements | wrong |",
        "| --- | ---: | ---: |",
        *(f"| {name} | {found['elements']:,} | {len(found['wrong'])} |" for name, found in gpu.get("checks", {}).items()),
    ]
    if rows := gpu.get("flat"):
        copies = [row["copy_gigabytes_per_second"] for row in rows]
        missed = sum(row["ratio"] < target(row["source"], row["output"]) for row in rows)
        lines += ["", "## Flat conversion", "", "Bandwidth, that of a device-to-device copy in the same run"]
        lines += [f"({min(copies):.0f} to {max(copies):.0f} GB/s) being 1. {missed} of {len(rows)} pairs miss their target.", ""]
        lines += matrix(rows, target)
    shapes = dict.fromkeys(row["shape"] for row in gpu.get("assembly", []))
    if shapes:
        lines += ["", "## Assembly", "", "Bandwidth of one launch a batch, as above."]
    for shape in shapes:
        rows = [row for row in gpu["assembly"] if row["shape"] == shape]
        least = 0.7 if shape.startswith("64^3") else 0.0
        lines += ["", f"{shape}, {max(row['boxes'] for row in rows)} boxes at the most:", ""]
        lines += matrix(rows, lambda *_, least=least: least)
    if upload := gpu.get("upload"):
        lines += ["", "## Upload", "", f"{upload['gigabytes_per_second']:.1f} GB/s alone, {upload['upload_seconds']:.3f} s"]
        lines += [f"({upload['staged_seconds']:.3f} s with the host filling each slot); assembly alone"]
        lines += [f"{upload['assembly_seconds']:.3f} s, both {upload['both_seconds']:.3f} s: overlap {upload['overlap']:.2f}."]
    if loading := gpu.get("loading"):
        each = ", ".join(f"{one['round']} {one['all_seconds']:.2f} s" for one in loading)
        lines += ["", f"Loading all 110 kernels: {each}."]
    lines += ["", "## From Python", ""]
    if python is None:
        lines += ["Not run."]
    else:
        lines += [f"torch {python['torch']}; {python.get('elements_compared', 0):,} elements compared with the CPU executor's."]
        lines += [f"- {text}" for text in python["failures"]]
        if rates := python.get("batches_per_second"):
            lines += [f"{rates['device']:.1f} batches/s (8 x 96^3 float32), {rates['cpu']:.1f} with the CPU executor."]
    return "\n".join(lines) + "\n"


def main() -> int:
    if len(sys.argv) != 2:
        print(f"usage: {sys.argv[0]} RESULTS_FOLDER", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    python = folder / "python.json"
    gpu = json.loads((folder / "gpu.json").read_text())
    if "device" not in gpu:
        print(f"{folder}: no GPU was found: {gpu.get('error')}", file=sys.stderr)
        return 1
    print(page(gpu, json.loads(python.read_text()) if python.exists() else None), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
