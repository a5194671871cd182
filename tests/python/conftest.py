"""Fixtures of the zarr-python tests."""

from pathlib import Path

import pytest


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Where a test writes its array."""
    return tmp_path / "array.zarr"
