"""Every driver call may fail: one typed error, nothing left, and the next pipeline works."""

import dataclasses
import gc
import itertools
import logging
import os
import re
import subprocess
import sys
import textwrap
import threading
import time

import damacy
import numpy as np
import pytest
from soft import Context, Tensor

LIMITS = damacy.CudaLimits(max_gpu_memory_bytes=4 << 20, max_host_memory_bytes=8 << 20, workers=2, output_buffers=3)
EXECUTOR = damacy.CudaExecutor(0, LIMITS)
SPEC = damacy.BatchSpec(2, (1, 50), "f32")
# Calls of destructors, and those around them: what they do not give back when they fail is left, whoever calls them.
ENDS = {
    "cuMemFree_v2", "cuMemFreeHost", "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuModuleUnload", "cuCtxPopCurrent_v2",
    "cuCtxPushCurrent_v2", "cuDevicePrimaryCtxRelease_v2", "cuGetErrorName", "cuGetErrorString",
}  # fmt: skip


@pytest.fixture
def samples(write):
    data = np.arange(60 * 50, dtype=np.uint16).reshape(60, 50)
    path = write(data, chunks=(4, 20))
    return [damacy.Sample(path, [(i, i + 1), (0, 50)]) for i in range(60)]


@pytest.fixture
def works(samples):
    """A run with views of the batches: the sum of what came out."""

    def run():
        total = 0.0
        with damacy.Pipeline(SPEC, EXECUTOR) as pipeline:
            pipeline.push(samples)
            for batch in pipeline:
                with batch:
                    Tensor(batch, 1).delete()
                    total += float(batch.to_host().astype(np.float64).sum())
        return total

    return run


TOTAL = float(np.arange(60 * 50).sum())


def counts(driver, run):
    """How often each call is made by a run."""
    before = driver.calls()
    assert run() == TOTAL
    gc.collect()
    return {name: count - before.get(name, 0) for name, count in driver.calls().items()}


def failing(driver, run, rule):
    """The error that a run ends with when that call fails; None if it does not matter."""
    driver.fail(rule)
    try:
        assert run() == TOTAL
        return None
    except damacy.DamacyError as error:
        return error
    finally:
        driver.library.soft_cuda_clear_failures()


@pytest.mark.timeout(280)
def test_any_call_may_fail_once(driver, works):
    made = {name: count for name, count in counts(driver, works).items() if count and name not in ENDS}
    assert len(made) > 15
    seen = set()
    for name, count in made.items():
        # All of the first calls, then fewer and fewer.
        for n in sorted({*range(1, min(count, 4) + 1), count // 3, count // 2, count} - {0}):
            plain = name.removesuffix("_v2")
            error = failing(driver, works, f"{plain}:{n}:999")
            if error is not None:
                assert type(error) is damacy.NativeCudaError, f"{name} {n}: {error!r}"
                assert f"{plain} failed with " in str(error) and "code 999" in str(error) and " while " in str(error)
                assert "max_" not in str(error)
                seen.add(plain)
                del error
            gc.collect()
            driver.library.soft_cuda_drain()
            assert driver.left() == {}, f"{name} {n}"
            assert driver.violations() == [], f"{name} {n}"
    assert {"cuMemAlloc", "cuMemHostAlloc", "cuModuleLoadDataEx", "cuLaunchKernel", "cuMemcpyHtoDAsync"} <= seen
    assert works() == TOTAL


@pytest.mark.parametrize("call", ["cuMemAlloc", "cuMemHostAlloc", "cuLaunchKernel", "cuEventRecord"])
def test_out_of_memory(driver, works, call):
    errors = [failing(driver, works, f"{call}:{n}:2") for n in (1, 2, 3)]
    for error in filter(None, errors):
        assert type(error) is damacy.OutOfMemory and isinstance(error, MemoryError)
        assert f"{call} failed with CUDA_ERROR_OUT_OF_MEMORY (code 2" in str(error)
        assert "max_gpu_memory_bytes" in str(error)
    assert errors[0] is not None
    del errors, error
    assert works() == TOTAL


@pytest.mark.parametrize("manner", ["sticky", "async", "lost"])
@pytest.mark.parametrize("call", ["cuLaunchKernel", "cuMemcpyHtoDAsync"])
def test_a_broken_context_is_the_error_of_every_batch(driver, works, samples, call, manner, caplog):
    for n in (1, 3, 8):
        error = failing(driver, works, f"{call}:{n}:719:{manner}")
        assert type(error) is damacy.NativeCudaError and "code 719" in str(error), f"{n}: {error!r}"
        del error
        gc.collect()
        assert driver.left() == {} and driver.violations() == []
        # The error has said it: what is given back afterwards makes no noise.
        assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []
        assert works() == TOTAL


def test_errors_are_sticky_and_other_pipelines_go_on(driver, samples):
    with damacy.Pipeline(SPEC, EXECUTOR) as other:
        other.push(samples)
        first = other.pop(timeout=60).to_host()
        with damacy.Pipeline(SPEC, EXECUTOR) as pipeline:
            driver.fail("cuLaunchKernel:2:999")
            pipeline.push(samples)
            caught = []
            for _ in range(2):
                with pytest.raises(damacy.NativeCudaError) as error:
                    for _ in range(40):
                        pipeline.pop(timeout=60).release()
                caught.append(str(error.value))
            assert caught[0] == caught[1]
            pipeline.close()
            with pytest.raises(damacy.ShutdownError):
                pipeline.pop()
        assert np.array_equal(first, np.arange(100).reshape(2, 1, 50))


def test_device_indices(driver):
    with pytest.raises(damacy.InvalidArgument, match="CUDA device 1 does not exist: the driver shows 1 device, 0"):
        damacy.Pipeline(SPEC, damacy.CudaExecutor(1, LIMITS))
    with pytest.raises(damacy.InvalidArgument, match="does not exist"):
        damacy.Pipeline(SPEC, damacy.CudaExecutor(2**40, LIMITS))
    with damacy.Pipeline(SPEC, EXECUTOR):
        pass


def test_a_batch_whose_chunks_do_not_fit_says_the_arithmetic(write):
    path = write(np.zeros(1_000_000, np.uint32), chunks=(500_000,))
    limits = damacy.CudaLimits(max_gpu_memory_bytes=2 << 20, max_host_memory_bytes=16 << 20)
    with damacy.Pipeline(damacy.BatchSpec(1, (10,), "u8"), damacy.CudaExecutor(0, limits)) as pipeline:
        pipeline.push([damacy.Sample(path, [(0, 10)])])
        with pytest.raises(
            damacy.BudgetExceeded, match=r"2000128 \(decoded chunks\) \+ \d+ \(table\) = .*max_gpu_memory"
        ):
            pipeline.pop(timeout=60)


def test_a_chunk_that_does_not_fit_the_host_says_the_arithmetic(write):
    path = write(np.zeros(3_000_000, np.uint32), chunks=(3_000_000,))
    limits = damacy.CudaLimits(max_gpu_memory_bytes=32 << 20, max_host_memory_bytes=4 << 20, workers=1)
    with damacy.Pipeline(damacy.BatchSpec(1, (10,), "u8"), damacy.CudaExecutor(0, limits)) as pipeline:
        pipeline.push([damacy.Sample(path, [(0, 10)])])
        with pytest.raises(
            damacy.BudgetExceeded, match="beside the staging memory: .*raise max_host_memory_bytes"
        ) as caught:
            pipeline.pop(timeout=60)
    # Whoever follows the message has enough.
    enough = int(re.search(r"raise max_host_memory_bytes to (\d+)$", str(caught.value))[1])
    limits = dataclasses.replace(limits, max_host_memory_bytes=enough)
    with damacy.Pipeline(damacy.BatchSpec(1, (10,), "u8"), damacy.CudaExecutor(0, limits)) as pipeline:
        pipeline.push([damacy.Sample(path, [(0, 10)])])
        assert pipeline.pop(timeout=60).to_host().tolist() == [[0] * 10]


def test_errors_of_chunks_are_the_cpus(write, tmp_path):
    path = write(np.arange(100, dtype=np.uint16), chunks=(10,))
    (tmp_path / "array" / "c" / "5").write_bytes(b"damaged")
    spec = damacy.BatchSpec(1, (10,), "f32")
    raised = []
    for executor in (damacy.CpuExecutor(), EXECUTOR):
        with damacy.Pipeline(spec, executor) as pipeline:
            pipeline.push([damacy.Sample(path, [(i, i + 10)]) for i in range(0, 100, 10)])
            for _ in range(5):
                pipeline.pop(timeout=60).release()
            with pytest.raises(damacy.DecodeError) as error:
                pipeline.pop(timeout=60)
            raised.append(str(error.value))
    assert raised[0] == raised[1]


def test_a_closed_pipeline_keeps_nothing(driver, samples):
    pipeline = damacy.Pipeline(SPEC, EXECUTOR)
    pipeline.push(samples)
    pipeline.pop(timeout=60).release()
    assert driver.left()["pinned_allocations"] == 1
    pipeline.close()
    assert driver.left() == {}
    assert pipeline.stats().batches == 1


@pytest.mark.timeout(280)
def test_a_hundred_pipelines_leave_nothing(driver, samples):
    for i in range(100):
        with damacy.Pipeline(SPEC, EXECUTOR) as pipeline:
            pipeline.push(itertools.cycle(samples))
            if i % 3:
                pipeline.pop(timeout=60).release()
        if i % 10 == 0:
            del pipeline
            gc.collect()
            assert driver.left() == {}
    assert driver.violations() == []


def test_closing_in_the_midst_of_work(driver, samples):
    driver.set("delay_us", 2000)
    for delay in (0, 0.01, 0.05, 0.1):
        pipeline = damacy.Pipeline(SPEC, EXECUTOR)
        pipeline.push(itertools.cycle(samples))
        errors = []

        def consume(pipeline=pipeline, errors=errors):
            try:
                while True:
                    pipeline.pop().release()
            except damacy.ShutdownError as error:
                errors.append(str(error))

        thread = threading.Thread(target=consume)
        thread.start()
        time.sleep(delay)
        begun = time.monotonic()
        pipeline.close()
        thread.join(30)
        assert time.monotonic() - begun < 30 and errors == ["the pipeline is closed"]
        del pipeline, thread, consume


@pytest.mark.parametrize(
    ("rank", "said"),
    [
        ("", ["no device was given and 3 are visible: batches are made on device 0", "made on device 1"]),
        ("1", ["LOCAL_RANK is 1, but batches are made on device 2 of 3", "is 1, but batches are made on device 0"]),
    ],
)
def test_several_devices_and_contexts(samples, rank, said):
    """In a process of its own, with three devices. Each surprise is said once."""
    script = f"""
        import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})
        import gc, logging
        import damacy
        from soft import Context, Driver
        logging.basicConfig(format="%(levelname)s %(message)s", stream=sys.stdout)
        driver = Driver()
        limits = damacy.CudaLimits(4 << 20, 8 << 20, workers=1)
        sample = damacy.Sample({samples[0].uri!r}, [(0, 1), (0, 50)])

        def device(index):
            with damacy.Pipeline(damacy.BatchSpec(1, (1, 50)), damacy.CudaExecutor(index, limits)) as pipeline:
                pipeline.push([sample])
                batch = pipeline.pop(timeout=60)
                assert batch.to_host().sum() == sum(range(50))
                return str(batch.info.device)

        print(damacy.cuda.device_count(), device(2), device(0), device(None), device(None))
        with Context(driver, 1):
            print(device(None), device(1))
            print(device(0))
        try:
            device(3)
        except damacy.InvalidArgument as error:
            print(error)
        gc.collect()
        print(driver.left(), driver.violations())
    """
    env = {**os.environ, "SOFT_CUDA_DEVICES": "3", "LOCAL_RANK": rank}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("WARNING")]
    assert lines == [
        "3 cuda:2 cuda:0 cuda:0 cuda:0",
        "cuda:1 cuda:1",
        "cuda:0",
        "CUDA device 3 does not exist: the driver shows 3 devices, 0 to 2",
        "{} []",
    ], done.stdout + done.stderr
    warnings = [line for line in done.stdout.splitlines() if line.startswith("WARNING")]
    for words in [*said, "current CUDA context is on device 1"]:
        assert sum(words in line for line in warnings) == 1, done.stdout


PROCESS = """
    import sys; sys.path.insert(0, {here!r})
    import os, signal, time, threading
    import damacy
    # Whoever runs the tests in the background may have it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from soft import Context, Driver, Tensor
    driver = Driver()
    limits = damacy.CudaLimits(4 << 20, 8 << 20, workers=2)
    pipeline = damacy.Pipeline(damacy.BatchSpec(1, (1, 50)), damacy.CudaExecutor(0, limits))

    def samples():
        while True:
            yield damacy.Sample({uri!r}, [(0, 1), (0, 50)])

    pipeline.push(samples())
    batch = pipeline.pop(timeout=60)
"""


def process(samples, script, timeout=120, **environment):
    begin = textwrap.dedent(PROCESS).format(here=os.path.dirname(__file__), uri=samples[0].uri)
    script = begin + textwrap.dedent(script)
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script]
    env = {**os.environ, **environment}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout)


@pytest.mark.parametrize("end", ["", "pipeline.close()", "del pipeline", "sys.exit(0)", "tensor.delete()"])
def test_the_interpreter_may_end_with_views_alive(samples, tmp_path, end):
    report = tmp_path / "report.json"
    done = process(samples, f"tensor = Tensor(batch, 1)\n{end}\nprint('end', flush=True)", SOFT_CUDA_REPORT=str(report))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert '"violations": []' in report.read_text()


def test_a_forked_child_is_refused_and_harms_nothing(samples):
    done = process(
        samples,
        """
        tensor = Tensor(batch, 1)
        child = os.fork()
        if child == 0:
            try:
                pipeline.pop()
            except damacy.InvalidArgument as error:
                assert "forked" in str(error)
                pipeline.close()
                batch.release()
                tensor.delete()
                del pipeline, batch, tensor
                os._exit(7)
            os._exit(8)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 7, status
        assert batch.to_host().sum() == sum(range(50))
        tensor.delete()
        batch.release()
        pipeline.close()
        print(driver.left(), driver.violations())
        """,
    )
    assert done.stdout == "{} []\n", done.stdout + done.stderr
    assert done.stderr == "", "the child called the driver: " + done.stderr


def test_ctrl_c_ends_a_wait(samples):
    done = process(
        samples,
        """
        batches = [batch]
        threading.Timer(0.5, os.kill, (os.getpid(), 2)).start()
        try:
            while True:
                batches.append(pipeline.pop())
        except KeyboardInterrupt:
            print("interrupted")
        pipeline.close()
        del batches, batch
        print(driver.left(), driver.violations())
        """,
    )
    assert done.stdout == "interrupted\n{} []\n", done.stdout + done.stderr


def test_a_pipeline_in_two_threads(driver, samples):
    seen = []
    with damacy.Pipeline(SPEC, EXECUTOR) as pipeline, Context(driver):
        pipeline.push(samples)

        def consume():
            for batch in pipeline:
                with batch:
                    seen.append((batch.info.id, batch.to_host().copy()))

        threads = [threading.Thread(target=consume) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert sorted(id for id, _ in seen) == list(range(30))
    for id, values in seen:
        assert np.array_equal(values.ravel(), np.arange(id * 100, id * 100 + 100))


def test_ptx_that_the_driver_refuses(samples):
    """A driver too old for the kernels says so when the pipeline is made."""
    script = f"""
        import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})
        import damacy
        from soft import Driver
        driver = Driver()
        driver.fail("cuModuleLoadDataEx:1:218")
        try:
            damacy.Pipeline(damacy.BatchSpec(1, (1,)), damacy.CudaExecutor(0))
        except damacy.NativeCudaError as error:
            print(error)
        print(driver.left(), driver.violations())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120)
    first, last = done.stdout.splitlines()
    assert "cuModuleLoadDataEx failed with CUDA_ERROR_INVALID_PTX (code 218" in first and "compute capability" in first
    assert last == "{} []"
