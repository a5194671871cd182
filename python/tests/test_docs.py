"""The examples in the docstrings run and print what they say."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import damacy
import numpy as np
import pytest

MODULES = ["damacy", *(f"damacy.{m.name}" for m in pkgutil.iter_modules(damacy.__path__) if m.name != "_native")]


@pytest.fixture
def names(write):
    return {"np": np, "store": write(np.arange(100, dtype=np.uint16).reshape(10, 10)), **vars(damacy)}


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples(module, names):
    result = doctest.testmod(importlib.import_module(module), extraglobs=names, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_the_example_of_the_pools_page(capsys):
    page = (Path(__file__).parents[2] / "docs" / "planner-pool.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(example, "planner-pool.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("('0.1', '0.2', '1.1', '1.2') ") and int(lines[1]) > 0
    assert lines[2].startswith("invalid mallory None ") and lines[3].startswith("1 calls (0 running")
    assert lines[4].startswith("8 samples of (128, 128) in bfloat16")


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    examples = [t for m in MODULES for t in finder.find(importlib.import_module(m)) if t.examples]
    assert len(examples) >= 5


def test_every_public_name_is_documented():
    for name in damacy.__all__:
        assert getattr(damacy, name).__doc__, name
        public = getattr(damacy, name)
        if isinstance(public, type) and public.__module__.startswith("damacy"):
            for member, value in vars(public).items():
                if callable(value) and not member.startswith("_"):
                    assert value.__doc__, f"{name}.{member}"
