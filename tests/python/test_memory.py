"""The resident memory of a process grows by no more than a pipeline's budget and 64 MiB."""

import subprocess
import sys

import numpy as np
import pytest
import zarr

MIB = 1 << 20
SCRIPT = """
import sys
from pathlib import Path
import numpy as np
import damacy

path, engine, budget = sys.argv[1], sys.argv[2], int(sys.argv[3])

def status_kib(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))

rng = np.random.default_rng(0)
def crops():
    for _ in range(8 * 40):
        start = [int(rng.integers(0, s - c + 1)) for s, c in zip((128, 256, 256), (32, 128, 128))]
        yield damacy.Sample(path, tuple((o, o + c) for o, c in zip(start, (32, 128, 128))))

Path("/proc/self/clear_refs").write_text("5")  # the peak starts from here
before = status_kib("VmRSS")
executor = damacy.CpuExecutor(engine=engine, limits=damacy.CpuLimits(max_memory_bytes=budget))
with damacy.Pipeline(damacy.BatchSpec(8, (32, 128, 128), "float32"), executor=executor) as pipeline:
    pipeline.push(crops())
    count = 0
    for batch in pipeline:
        with batch:
            assert np.from_dlpack(batch).shape == (8, 32, 128, 128)
            count += 1
    assert count == 40
    assert pipeline.stats().peak_memory_bytes <= budget
print((status_kib("VmHWM") - before) * 1024)
"""


@pytest.fixture(scope="module")
def volume(tmp_path_factory):
    """Noise, so that chunks are as large encoded as decoded: 16 MiB, 64 chunks of 256 KiB."""
    path = tmp_path_factory.mktemp("memory") / "volume.zarr"
    array = zarr.create_array(path, shape=(128, 256, 256), chunks=(32, 64, 64), shards=(64, 128, 128), dtype="uint16")
    array[:] = np.random.default_rng(0).integers(0, 1 << 16, (128, 256, 256), dtype="uint16")
    return path


@pytest.mark.parametrize("budget", [96 * MIB, 256 * MIB])
@pytest.mark.parametrize("engine", ["native", "sandbox"])
def test_a_pipeline_stays_within_its_budget(volume, engine, budget):
    command = [sys.executable, "-c", SCRIPT, str(volume), engine, str(budget)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    growth = int(done.stdout)
    assert growth <= budget + 64 * MIB, f"{growth / MIB:.0f} MiB for a budget of {budget // MIB} MiB"
