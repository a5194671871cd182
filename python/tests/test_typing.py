"""The types that are shipped are those of the code."""

import subprocess
import sys
from pathlib import Path

import damacy
import pytest

PACKAGE = Path(damacy.__file__).parent


def mypy(module, *arguments, cwd):
    pytest.importorskip("mypy")
    return subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, timeout=600, cwd=cwd
    )


@pytest.mark.timeout(600)
def test_stubs_agree_with_the_compiled_module(tmp_path):
    done = mypy("mypy.stubtest", "damacy", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.timeout(600)
def test_the_package_type_checks_strictly(tmp_path):
    done = mypy("mypy", "--strict", "--cache-dir", str(tmp_path), "-p", "damacy", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.timeout(600)
def test_a_user_gets_types(tmp_path):
    (tmp_path / "user.py").write_text(
        "import numpy as np, damacy\n"
        "with damacy.Pipeline(damacy.BatchSpec(2, (3,), dtype='u8')) as p:\n"
        "    p.push(damacy.Sample('a', np.s_[0:3]) for _ in range(2))\n"
        "    for b in p.batches(1):\n"
        "        reveal_type(b.info.dtype)\n"
        "    p.push(5)\n"
    )
    done = mypy("mypy", "--cache-dir", str(tmp_path), "user.py", cwd=tmp_path)
    assert 'Revealed type is "damacy._dtype.Dtype"' in done.stdout
    assert 'Argument 1 to "push"' in done.stdout and "Found 1 error" in done.stdout, done.stdout


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").is_file() and (PACKAGE / "_native.pyi").is_file()
