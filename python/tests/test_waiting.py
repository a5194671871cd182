"""Nothing waits for ever: time-outs, closing, Ctrl-C and other threads get through a blocked call."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import damacy
import pytest
from conftest import ROW

SPEC = damacy.BatchSpec(2, ROW, "u16")


def stuck(samples, release):
    yield from samples
    release.wait(60)


@pytest.fixture
def stuck_pipeline(row_samples):
    """A pipeline whose generator waits after three samples, so that pop blocks after the first batch."""
    release = threading.Event()
    with damacy.Pipeline(SPEC) as pipeline:
        pipeline.push(stuck(row_samples(3), release))
        yield pipeline
        release.set()


@pytest.mark.parametrize("timeout", [0, 0.02, 0.3])
def test_pop_gives_up_after_its_timeout(stuck_pipeline, timeout):
    stuck_pipeline.pop(timeout=60)
    start = time.monotonic()
    with pytest.raises(damacy.TryAgain) as caught:
        stuck_pipeline.pop(timeout=timeout)
    assert timeout <= time.monotonic() - start < timeout + 5
    assert type(caught.value) is damacy.TryAgain
    if timeout:
        assert f"{timeout} s" in str(caught.value)


@pytest.mark.parametrize("timeout", [-1, float("nan"), "1", True, object()])
def test_bad_timeouts_are_refused(stuck_pipeline, timeout):
    with pytest.raises(damacy.InvalidArgument, match="timeout"):
        stuck_pipeline.pop(timeout=timeout)


def test_endless_timeouts_are_legal(stuck_pipeline):
    assert stuck_pipeline.pop(timeout=float("inf")).info.id == 0


@pytest.mark.parametrize("take", ["pop", "__next__"])
def test_closing_wakes_blocked_calls(stuck_pipeline, take):
    stuck_pipeline.pop(timeout=60)
    raised = []

    def block():
        try:
            getattr(stuck_pipeline, take)()
        except damacy.ShutdownError as error:
            raised.append(error)

    threads = [threading.Thread(target=block) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    assert not raised
    stuck_pipeline.close()
    for thread in threads:
        thread.join(10)
    assert len(raised) == 3


def test_closing_does_not_wait_for_a_stuck_generator(row_samples):
    release = threading.Event()
    pipeline = damacy.Pipeline(SPEC)
    pipeline.push(stuck(row_samples(3), release))
    pipeline.pop(timeout=60)
    start = time.monotonic()
    pipeline.close()
    assert time.monotonic() - start < 10
    release.set()


def test_a_generator_may_close_its_own_pipeline(row_samples):
    pipeline = damacy.Pipeline(SPEC)

    def closing():
        yield from row_samples(3)
        pipeline.close()
        yield from row_samples(3)

    pipeline.push(closing())
    with pytest.raises(damacy.ShutdownError):
        for _ in range(3):
            pipeline.pop(timeout=30)
    pipeline.close()


def test_other_threads_run_while_pop_waits(stuck_pipeline):
    stuck_pipeline.pop(timeout=60)
    ticks = []
    thread = threading.Thread(target=lambda: [(ticks.append(time.monotonic()), time.sleep(0.001)) for _ in range(100)])
    thread.start()
    start = time.monotonic()
    with pytest.raises(damacy.TryAgain):
        stuck_pipeline.pop(timeout=1)
    assert sum(start <= t < start + 0.9 for t in ticks) > 50
    thread.join()


def test_several_threads_pop_every_batch_once(row_samples):
    got = []
    with damacy.Pipeline(SPEC) as pipeline:
        pipeline.push(row_samples(400))

        def take():
            got.extend(batch.info.id for batch in pipeline)

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert sorted(got) == list(range(200))


INTERRUPTED = """
import signal, sys, threading, time
import damacy
signal.signal(signal.SIGINT, signal.default_int_handler)

def endless():
    yield damacy.Sample({path!r}, [(0, 1), (0, 5)])
    {wait}

with damacy.Pipeline(damacy.BatchSpec(2, (1, 5))) as pipeline:
    pipeline.push(endless())
    print("ready", flush=True)
    try:
        {call}
    except KeyboardInterrupt:
        print("interrupted", time.monotonic(), flush=True)
"""


@pytest.mark.parametrize("call", ["pipeline.pop()", "next(pipeline)", "pipeline.pop(timeout=50)"])
@pytest.mark.parametrize("wait", ["time.sleep(5)", "threading.Event().wait(5)"])
def test_ctrl_c_interrupts_a_blocked_pop(rows, call, wait):
    script = textwrap.dedent(INTERRUPTED).format(path=rows[0], call=call, wait=wait)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        sent = time.monotonic()
        os.kill(child.pid, signal.SIGINT)
        word, at = child.stdout.readline().split()
        assert word == "interrupted"
        assert float(at) - sent < 0.2
        assert child.wait(30) == 0


def test_an_interrupted_pop_loses_no_batch(row_samples):
    def slowly():
        for sample in row_samples(12):
            time.sleep(0.01)
            yield sample

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    ids = []
    try:
        with damacy.Pipeline(SPEC) as pipeline:
            pipeline.push(slowly())
            while len(ids) < 6:
                signal.setitimer(signal.ITIMER_REAL, 0.005)
                try:
                    ids.append(pipeline.pop(timeout=60).info.id)
                except KeyboardInterrupt:
                    pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert ids == list(range(6))
