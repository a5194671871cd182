"""The page that is made of a device check's results, whole and cut short."""

import importlib.util
from pathlib import Path

PATH = Path(__file__).parents[2] / "cuda-accel" / "device-check" / "report.py"
SPEC = importlib.util.spec_from_file_location("device_report", PATH)
report = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(report)

DEVICE = {
    "name": "Some GPU",
    "driver_version": 13010,
    "compute_capability": [9, 0],
    "multiprocessors": 132,
    "memory_bytes": 139 << 30,
}


def rate(source: str, output: str, ratio: float, **more: object) -> dict[str, object]:
    return {"source": source, "output": output, "ratio": ratio, "copy_gigabytes_per_second": 4000.0, **more}


def test_what_misses_its_target_is_bold():
    flat = [rate("u16", "f32", 0.86), rate("u16", "bf16", 0.84), rate("u8", "f32", 0.71), rate("f32", "i8", 0.69)]
    boxes = [rate("u8", "f32", 0.69, shape="64^3, whole chunks", boxes=9), rate("u8", "f32", 0.1, shape="8^3", boxes=4)]
    gpu = {"device": DEVICE, "failures": [], "incomplete": [], "seconds": 61.2, "flat": flat, "assembly": boxes}
    page = report.page(gpu, None)
    assert "no failure, in 61 s." in page and "driver for CUDA 13.1" in page
    assert "| u16 | 0.86 | **0.84** |" in page
    assert "| u8 | 0.71 |" in page and "| **0.69** |" in page
    assert "2 of 4 pairs miss their target" in page
    assert "| u8 | **0.69** |" in page and "| u8 | 0.10 |" in page


def test_a_run_that_was_stopped_gives_a_page_of_what_it_had():
    checks = {"random batches": {"elements": 5, "wrong": ["the batch of seed 3"]}}
    gpu = {"device": DEVICE, "failures": ["random batches: the batch of seed 3"], "incomplete": ["7 of 1000 random batches"]}
    page = report.page({**gpu, "checks": checks}, {"torch": None, "failures": []})
    assert "FAILED; it was stopped before its end." in page
    assert "- random batches: the batch of seed 3" in page and "- 7 of 1000 random batches" in page
    assert "| random batches | 5 | 1 |" in page and "torch None; 0 elements" in page
    assert "## Flat" not in page and "## Assembly" not in page
