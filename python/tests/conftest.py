"""Small Zarr arrays, written by zarr-python, whose values tell where they came from."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import damacy
import numpy as np
import pytest
import zarr

Write = Callable[..., str]

# Those run in processes of their own, which test_cuda.py starts; their conftest.py would take this one's name.
collect_ignore = [] if os.environ.get("DAMACY_SOFT_CUDA") == "1" else ["cuda"]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """``write(data, chunks=..., name=..., **zarr options)`` -> the path of a Zarr array with those values."""

    def write(data: Any, name: str = "array", **options: Any) -> str:
        data = np.asarray(data)
        options.setdefault("chunks", tuple(max(1, min(4, n)) for n in data.shape))
        path = tmp_path / name
        array = zarr.create_array(store=str(path), shape=data.shape, dtype=data.dtype, **options)
        array[...] = data
        return str(path)

    return write


@pytest.fixture
def rows(write: Write) -> tuple[str, np.ndarray]:
    """A (64, 5) array of uint16 in chunks of three rows: path and values. One sample is one row."""
    data = np.arange(64 * 5, dtype=np.uint16).reshape(64, 5)
    return write(data, name="rows", chunks=(3, 5)), data


@pytest.fixture
def row_samples(rows: tuple[str, np.ndarray]) -> Callable[..., Iterator[damacy.Sample]]:
    """``row_samples(0, 8)`` -> samples of rows 0 to 7, tagged with their number, lazily."""
    path, _ = rows

    def samples(*span: int) -> Iterator[damacy.Sample]:
        return (damacy.Sample(path, [(i % 64, i % 64 + 1), (0, 5)], tag=i) for i in range(*span))

    return samples


ROW = (1, 5)


def framework(name: str) -> Any:
    """torch or jax, or a skip without it; DAMACY_TEST_FRAMEWORKS=1 says that it must be there."""
    if os.environ.get("DAMACY_TEST_FRAMEWORKS") == "1":
        return importlib.import_module(name)
    return pytest.importorskip(name)
