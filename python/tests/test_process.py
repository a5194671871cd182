"""Pipelines leave nothing behind: no thread, descriptor or memory; not at exit, not across a fork."""

import gc
import os
import subprocess
import sys
import textwrap

import damacy
import numpy as np
import pytest
from conftest import ROW, framework

SPEC = damacy.BatchSpec(2, ROW, "u16")


def run(script, **values):
    script = textwrap.dedent(script).format(**values)
    # Python 3.12 and newer warn of every fork in a process with threads.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def threads():
    return len(os.listdir("/proc/self/task"))


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def resident_kib():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


@pytest.mark.parametrize("end", ["close", "drop", "exhaust"])
def test_a_hundred_pipelines_leave_nothing_behind(row_samples, end):
    def one():
        pipeline = damacy.Pipeline(SPEC)
        pipeline.push(row_samples(64) if end == "exhaust" else row_samples(10**9))
        if end == "exhaust":
            assert sum(1 for _ in pipeline) == 32
        else:
            pipeline.pop(timeout=60)
        if end != "drop":
            pipeline.close()

    for _ in range(10):
        one()
    gc.collect()
    before = threads(), descriptors(), resident_kib()
    for _ in range(100):
        one()
    gc.collect()
    assert threads() <= before[0]
    assert descriptors() <= before[1]
    assert resident_kib() - before[2] < 16 << 10


EXIT = """
import threading, time
import damacy

def samples():
    for i in range(10**9):
        yield damacy.Sample({path!r}, [(0, 1), (0, 5)])
        {step}

def consume():
    try:
        for _ in pipeline:
            pass
    except damacy.ShutdownError:
        pass

pipeline = damacy.Pipeline(damacy.BatchSpec(2, (1, 5)))
pipeline.push(samples())
batch = pipeline.pop(timeout=30)
{end}
print("end", flush=True)
"""
STEPS = {
    "eager": "pass",
    "sleeping": "time.sleep(1000) if i > 2 else None",
    "napping": "time.sleep(0.0003)",
    "waiting": "threading.Event().wait() if i > 2 else None",
    "spinning": "sum(range(1000))",
}
ENDS = {
    "open": "",
    "open with a view": "import numpy as np; view = np.asarray(batch)",
    "blocked thread": "threading.Thread(target=consume, daemon=True).start()",
    "cycle": "pipeline.__class__.cycle = [pipeline]; cycle = [batch]; cycle.append(cycle)",
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("end", ENDS)
def test_the_interpreter_exits_with_a_pipeline_open(rows, step, end):
    for _ in range(3):
        done = run(EXIT, path=rows[0], step=STEPS[step], end=ENDS[end])
        assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


FORK = """
import os, sys, threading
import numpy as np
import damacy

def samples(n):
    return (damacy.Sample({path!r}, [(i % 64, i % 64 + 1), (0, 5)], tag=i) for i in range(n))

spec = damacy.BatchSpec(2, (1, 5), "u16")
parent = damacy.Pipeline(spec, damacy.CpuExecutor({engine!r}))
parent.push(samples(10**9))
batch = parent.pop(timeout=30)
view = np.asarray(batch)
damacy.convert(np.ones(5, np.int16), "u8", engine="sandbox")
sys.stdout.flush()
pid = os.fork()
if pid == 0:
    for call in (parent.pop, lambda: next(parent), lambda: parent.push([])):
        try:
            call()
        except damacy.InvalidArgument as error:
            assert "process" in str(error) and "new" in str(error), error
        else:
            raise SystemExit("not refused")
    parent.close()
    assert view[1, 0, 0] == 5
    del view, batch
    assert damacy.convert(np.array([300], np.int16), "u8", engine="sandbox")[0] == 255
    with damacy.Pipeline(spec, damacy.CpuExecutor({engine!r})) as child:
        child.push(samples(200))
        assert sum(b.info.tags[1] for b in child) == 100 * 100
    {exit}
_, status = os.waitpid(pid, 0)
print("child", os.waitstatus_to_exitcode(status), "parent", parent.pop(timeout=30).info.id, flush=True)
parent.close()
"""


@pytest.mark.parametrize("exit_", ["os._exit(0)", "sys.exit(0)", "del parent; sys.exit(0)"])
@pytest.mark.parametrize("engine", ["native", "sandbox"])
def test_a_forked_child_opens_pipelines_of_its_own(rows, engine, exit_):
    for _ in range(3):
        done = run(FORK, path=rows[0], engine=engine, exit=exit_)
        assert (done.stdout, done.stderr) == ("child 0 parent 1\n", "")
        assert done.returncode == 0


FORKS = """
import os
import damacy

def samples():
    while True:
        yield damacy.Sample({path!r}, [(0, 1), (0, 5)])

for _ in range(20):
    with damacy.Pipeline(damacy.BatchSpec(2, (1, 5))) as pipeline:
        pipeline.push(samples())
        for _ in range(10):
            pid = os.fork()
            if pid == 0:
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
            pipeline.pop(timeout=30)
print("end")
"""


def test_forking_while_a_generator_is_busy_hangs_nobody(rows):
    """Seen: the child waited for ever in CPython's own handler, when the feeder was attaching as it forked."""
    done = run(FORKS, path=rows[0])
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_a_forked_data_loader_worker_uses_damacy(rows, row_samples):
    torch_data = framework("torch.utils.data")
    path, data = rows
    with damacy.Pipeline(SPEC) as parent:
        parent.push(row_samples(64))
        parent.pop(timeout=60)

        class Rows(torch_data.IterableDataset):
            def __iter__(self):
                with damacy.Pipeline(SPEC) as pipeline:
                    pipeline.push(damacy.Sample(path, [(i, i + 1), (0, 5)]) for i in range(8))
                    for batch in pipeline:
                        yield np.array(batch)

        loader = torch_data.DataLoader(
            Rows(), batch_size=None, num_workers=2, multiprocessing_context="fork", timeout=60
        )
        got = [np.asarray(batch) for batch in loader]
        assert len(got) == 8
        np.testing.assert_array_equal(np.sort(np.concatenate(got)[:, 0, 0]), np.sort(np.tile(data[:8, 0], 2)))
        assert parent.pop(timeout=60).info.id == 1


def test_spawned_workers_can_import_and_pickle_what_describes_work(row_samples):
    import multiprocessing

    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(repr, (next(row_samples(1)),)) == repr(next(row_samples(1)))


@pytest.mark.parametrize("close", [True, False])
@pytest.mark.parametrize("step", ["pass", "time.sleep(0.001)"])
def test_a_generator_that_still_runs_at_exit_does_not_abort_the_process(rows, close, step):
    script = """
    import sys, time
    import damacy

    def samples():
        for i in range(2):
            yield damacy.Sample({path!r}, [(i, i + 1), (0, 5)])
        while True:
            {step}

    pipeline = damacy.Pipeline(damacy.BatchSpec(2, (1, 5), "u16"))
    pipeline.push(samples())
    pipeline.pop(timeout=60)
    if {close}:
        pipeline.close()
    sys.exit(3)
    """
    ended = run(script, path=rows[0], close=close, step=step)
    assert ended.returncode == 3, ended
