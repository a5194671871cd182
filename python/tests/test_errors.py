"""Statuses and exceptions are the specification's table."""

import builtins
import pickle

import damacy
import pytest
from damacy import Status
from damacy._errors import exception_for

TABLE = [
    (1, "AGAIN", "TryAgain", None),
    (2, "INVAL", "InvalidArgument", "ValueError"),
    (3, "NOTFOUND", "NotFound", "FileNotFoundError"),
    (4, "DTYPE", "DtypeMismatch", "TypeError"),
    (5, "RANK", "RankMismatch", "ValueError"),
    (6, "IO", "StorageError", "OSError"),
    (7, "DECODE", "DecodeError", "ValueError"),
    (8, "CUDA", "NativeCudaError", None),
    (9, "OOM", "OutOfMemory", "MemoryError"),
    (10, "BUDGET", "BudgetExceeded", "MemoryError"),
    (11, "SHUTDOWN", "ShutdownError", None),
    (12, "UNSUPPORTED", "Unsupported", "NotImplementedError"),
    (13, "INTERNAL", "InternalError", None),
]


def test_statuses_have_the_specified_values():
    assert [(s.value, s.name) for s in Status] == [(0, "OK")] + [row[:2] for row in TABLE]


@pytest.mark.parametrize(("value", "name", "exception", "builtin"), TABLE)
def test_each_status_has_its_exception(value, name, exception, builtin):
    error = exception_for(value, "plan", "what happened", False)
    assert type(error) is getattr(damacy, exception)
    assert error.status is Status[name] and error.what == "plan" and str(error) == "what happened"
    assert isinstance(error, damacy.DamacyError) and isinstance(error, RuntimeError)
    if builtin:
        assert isinstance(error, getattr(builtins, builtin))


def test_starvation_is_a_try_again_and_a_timeout():
    error = exception_for(1, "pop", "held", True)
    assert type(error) is damacy.PoolStarved and error.status is Status.AGAIN
    assert isinstance(error, damacy.TryAgain) and isinstance(error, TimeoutError)


@pytest.mark.parametrize("exception", [row[2] for row in TABLE] + ["PoolStarved", "DamacyError"])
def test_exceptions_survive_pickling(exception):
    error = getattr(damacy, exception)("the message", "decode")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.what, again.status) == ("the message", "decode", error.status)
    assert repr(again) == f"{exception}('the message')"
