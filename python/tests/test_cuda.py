"""The CUDA executor, on the soft driver: the tests in ``cuda/`` run in processes that load it as ``libcuda.so.1``."""

import os
import re
import subprocess
import sys
from pathlib import Path

import damacy
import pytest

TESTS = Path(__file__).parent
ROOT = TESTS.parents[1]
PARTS = sorted(path.name for path in (TESTS / "cuda").glob("test_*.py"))


def soft_driver() -> Path:
    """The driver that cargo built, or a skip without it; DAMACY_TEST_SOFT_CUDA=1 says that it must be there."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    library = target / "release" / "libsoft_cuda.so"
    if os.environ.get("DAMACY_TEST_SOFT_CUDA") != "1" and not library.exists():
        pytest.skip(f"{library} is not built (cargo build --release --workspace)")
    return library


def with_driver(folder: Path) -> dict[str, str]:
    """An environment whose processes find the soft driver."""
    (folder / "libcuda.so.1").symlink_to(soft_driver())
    paths = [str(folder), os.environ.get("LD_LIBRARY_PATH", "")]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, paths)), "DAMACY_SOFT_CUDA": "1"}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", PARTS)
def test_on_the_soft_driver(tmp_path, part):
    command = [sys.executable, "-m", "pytest", f"cuda/{part}", "-q", "--timeout", "300", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=TESTS, env=with_driver(tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d+ passed", done.stdout) and "skipped" not in done.stdout, done.stdout


@pytest.mark.skipif(damacy.cuda.is_available(), reason="this machine has a CUDA driver")
def test_without_a_driver_that_is_said_in_one_sentence():
    assert not damacy.cuda.is_available() and damacy.cuda.device_count() == 0
    with pytest.raises(damacy.NativeCudaError, match=r"^CUDA is not available: .*libcuda\.so\.1") as caught:
        damacy.Pipeline(damacy.BatchSpec(1, (1,)), damacy.CudaExecutor(0))
    assert (caught.value.status, caught.value.what) == (damacy.Status.CUDA, "config")
    assert str(caught.value) == damacy.cuda.unavailable_because()
    with damacy.Pipeline(damacy.BatchSpec(1, (1,))):
        pass


def test_a_driver_without_devices_is_none(tmp_path):
    script = "import damacy; print(damacy.cuda.device_count(), damacy.cuda.unavailable_because())"
    env = {**with_driver(tmp_path), "SOFT_CUDA_DEVICES": "0"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    assert done.stdout.startswith("0 CUDA is not available: ") and "no device" in done.stdout, done.stdout + done.stderr


def test_budgets_are_checked_before_the_driver_is_asked():
    spec = damacy.BatchSpec(3, (5, 7), "u16")
    limits = damacy.CudaLimits(max_gpu_memory_bytes=(1 << 20) + 2 * 256 - 1)
    arithmetic = (
        r"3 samples x 5 x 7 elements x 2 bytes = 210 bytes: 2 x 256 .* \+ 1048576 .* = 1049088 bytes > .* = 1049087"
    )
    with pytest.raises(damacy.BudgetExceeded, match=arithmetic):
        damacy.Pipeline(spec, damacy.CudaExecutor(limits=limits))
    limits = damacy.CudaLimits(max_host_memory_bytes=1000, workers=1)
    with pytest.raises(
        damacy.BudgetExceeded, match=r"\(staging\) \+ 1048576 \(decoding\) = \d+ bytes > max_host_memory"
    ):
        damacy.Pipeline(spec, damacy.CudaExecutor(limits=limits))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: damacy.CudaLimits(max_gpu_memory_bytes=0), "max_gpu_memory_bytes is 0"),
        (lambda: damacy.CudaLimits(max_host_memory_bytes=-1), "max_host_memory_bytes is -1"),
        (lambda: damacy.CudaLimits(workers=0), "workers is 0"),
        (lambda: damacy.CudaLimits(output_buffers=1), "output_buffers is 1.*from 2"),
        (lambda: damacy.CudaExecutor(-1), "device is -1"),
        (lambda: damacy.CudaExecutor("cuda:0"), "device is 'cuda:0'"),
        (lambda: damacy.CudaExecutor(limits=damacy.CpuLimits()), "limits is CpuLimits.*damacy.CudaLimits"),
    ],
)
def test_limits_are_checked_when_they_are_made(make, said):
    with pytest.raises(damacy.InvalidArgument, match=said):
        make()


def test_values_print_and_compare():
    executor = damacy.CudaExecutor(1, damacy.CudaLimits(1 << 20, workers=3))
    assert (
        eval(repr(executor), vars(damacy)) == executor == damacy.CudaExecutor(1, damacy.CudaLimits(1 << 20, workers=3))
    )
    assert damacy.CudaExecutor() == damacy.CudaExecutor(device=None, limits=damacy.CudaLimits())


def test_a_batch_on_the_cpu_refuses_events(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(store=str(tmp_path / "a"), shape=(4,), chunks=(2,), dtype="uint8")[...] = 5
    with damacy.Pipeline(damacy.BatchSpec(1, (4,), "u8")) as pipeline:
        pipeline.push([damacy.Sample(tmp_path / "a", [(0, 4)])])
        batch = pipeline.pop(timeout=60)
        assert str(batch.info.device) == "cpu" and batch.to_host().tolist() == [[5] * 4]
        with pytest.raises(damacy.InvalidArgument, match="event is 5; a batch on the CPU accepts None only"):
            batch.release(event=5)
