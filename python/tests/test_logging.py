"""What the host logs reaches logging.getLogger("damacy"), at the level set there, without holding anybody up."""

import logging
import threading

import damacy
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
    import subprocess
    import sys

    script = f"""
import damacy
with damacy.Pipeline(damacy.BatchSpec(2, (1, 5))) as pipeline:
    pipeline.push(damacy.Sample({rows[0]!r}, [(0, 1), (0, 5)]) for _ in range(8))
    assert len(list(pipeline)) == 4
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
