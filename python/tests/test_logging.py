"""What the host logs reaches logging.getLogger("damacy"), at the level set there, without holding anybody up."""

import logging
import subprocess
import sys
import threading

import damacy
import pytest
from conftest import ROW

SPEC = damacy.BatchSpec(2, ROW, "u16")


def test_host_records_reach_the_python_logger(row_samples, caplog):
    """Closing with a generator that is still busy is noted at debug level."""
    release = threading.Event()

    def stuck():
        yield from row_samples(3)
        release.wait(60)

    with caplog.at_level(logging.DEBUG, logger="damacy"):
        pipeline = damacy.Pipeline(SPEC)
        pipeline.push(stuck())
        pipeline.pop(timeout=60)
        pipeline.close()
    release.set()
    records = [record for record in caplog.records if record.name == "damacy"]
    assert any("iterator" in record.getMessage() and record.levelno == logging.DEBUG for record in records)


def test_the_loggers_level_counts(row_samples, caplog):
    with caplog.at_level(logging.CRITICAL, logger="damacy"):
        with damacy.Pipeline(SPEC) as pipeline:
            pipeline.push(row_samples(64))
            for _ in pipeline:
                pass
    assert not [record for record in caplog.records if record.name == "damacy"]


def test_a_handler_may_use_damacy(row_samples):
    class Handler(logging.Handler):
        def emit(self, record):
            with damacy.Pipeline(SPEC) as inner:
                inner.push(row_samples(2))
                inner.pop(timeout=60)

    logger = logging.getLogger("damacy")
    handler = Handler()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        with damacy.Pipeline(SPEC) as pipeline:
            pipeline.push(row_samples(64))
            assert sum(1 for _ in pipeline) == 32
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def test_damacy_is_quiet_by_default(rows):
    script = f"""
import damacy
with damacy.Pipeline(damacy.BatchSpec(2, (1, 5))) as pipeline:
    pipeline.push(damacy.Sample({rows[0]!r}, [(0, 1), (0, 5)]) for _ in range(8))
    assert len(list(pipeline)) == 4
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


class Failing(logging.Handler):
    def emit(self, record):
        raise ValueError("disk full")


def test_a_handler_that_raises_breaks_nothing(row_samples, tmp_path, monkeypatch):
    """Its exceptions go to sys.unraisablehook; errors, batches and closing stay what they are."""
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda failure: seen.append(failure.exc_value))
    logger = logging.getLogger("damacy")
    handler, level = Failing(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    release = threading.Event()

    def stuck():
        yield from row_samples(2)
        yield damacy.Sample(tmp_path / "missing", [(0, 1), (0, 5)])
        yield damacy.Sample(tmp_path / "missing", [(0, 1), (0, 5)])
        release.wait(60)

    try:
        pipeline = damacy.Pipeline(SPEC)
        pipeline.push(stuck())
        assert pipeline.pop(timeout=60).info.id == 0
        for _ in range(3):
            with pytest.raises(damacy.NotFound):
                pipeline.pop(timeout=60)
        pipeline.close()
        with pytest.raises(damacy.ShutdownError):
            pipeline.pop()
    finally:
        release.set()
        logger.removeHandler(handler)
        logger.setLevel(level)
    assert any("disk full" in str(failure) for failure in seen)


AT_EXIT = """
import logging, threading
import damacy

class Failing(logging.Handler):
    def emit(self, record):
        raise {kind}("disk full")

logging.getLogger("damacy").addHandler(Failing())
logging.getLogger("damacy").setLevel(logging.DEBUG)

def samples():
    while True:
        yield damacy.Sample({path!r}, [(0, 1), (0, 5)])
        if {stuck}:
            threading.Event().wait()

pipelines = [damacy.Pipeline(damacy.BatchSpec(1, (1, 5))) for _ in range(3)]
for pipeline in pipelines:
    pipeline.push(samples())
    pipeline.pop(timeout=30)
print("end", flush=True)
"""


@pytest.mark.parametrize("kind", ["ValueError", "KeyboardInterrupt"])
@pytest.mark.parametrize("stuck", [True, False])
def test_the_interpreter_exits_with_a_handler_that_raises(rows, kind, stuck):
    script = AT_EXIT.format(path=rows[0], kind=kind, stuck=stuck)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout == "end\n" and done.returncode == 0, done.stderr
