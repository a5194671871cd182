"""These tests run where ``test_cuda.py`` starts them, with the soft driver as ``libcuda.so.1``; nowhere else.

After each test the driver's report must be empty: nothing done wrong, nothing left.
"""

import gc
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

if os.environ.get("DAMACY_SOFT_CUDA") != "1":
    collect_ignore_glob = ["*"]
else:
    from soft import Driver

    @pytest.fixture(scope="session")
    def loaded() -> Driver:
        return Driver()

    @pytest.fixture(autouse=True)
    def driver(loaded):
        """The soft driver, with nothing in it before and after."""
        loaded.clear()
        yield loaded
        gc.collect()
        loaded.library.soft_cuda_drain()
        assert loaded.violations() == []
        assert loaded.left() == {}
        loaded.clear()
