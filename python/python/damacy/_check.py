"""Checks of arguments: a value as given -> the value to use, or an error that says what is accepted."""

from __future__ import annotations

import enum
import operator
import os
import pathlib
import urllib.parse
from typing import TypeGuard, TypeVar

import numpy as np

from damacy._errors import InvalidArgument, WrongType

INT64_MAX = (1 << 63) - 1
# A wait of 30 years is no different from an endless one, and fits every clock.
_ENDLESS_S = 10**9
_T = TypeVar("_T")


class Presence(enum.Enum):
    """Whether None is a legal value."""

    REQUIRED = 1
    OPTIONAL = 2


def check_field(owner: object, name: str, least: int, presence: Presence = Presence.REQUIRED) -> None:
    """Replaces a field of a frozen dataclass by the integer it stands for."""
    value = getattr(owner, name)
    if value is None and presence is Presence.OPTIONAL:
        return
    checked = integer(f"{type(owner).__name__}.{name}", value, least, presence)
    object.__setattr__(owner, name, checked)


def integer(what: str, value: object, least: int, presence: Presence = Presence.REQUIRED) -> int:
    """An integer from ``least`` on; ``bool`` is none."""
    accepted = f"accepted are integers from {least} to 2**63 - 1"
    if presence is Presence.OPTIONAL:
        accepted += ", or None"
    if isinstance(value, (bool, np.bool_)):
        raise InvalidArgument(f"{what} is {value!r}; {accepted}", "config")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidArgument(f"{what} is {value!r}; {accepted}", "config") from None
    if not least <= number <= INT64_MAX:
        raise InvalidArgument(f"{what} is {number}; {accepted}", "config")
    return number


def _is_time(value: object) -> TypeGuard[float]:
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return number and bool(value >= 0)  # type: ignore[operator]


def seconds(what: str, value: object) -> float:
    """A time, 0 or more; it may be infinite."""
    if _is_time(value):
        return float(value) if value <= _ENDLESS_S else float("inf")
    raise InvalidArgument(f"{what} is {value!r}; accepted are seconds, 0 or more", "config")


def finite_seconds(what: str, value: object) -> float:
    """A time above 0 that ends."""
    if _is_time(value) and 0 < value <= _ENDLESS_S:
        return float(value)
    raise InvalidArgument(f"{what} is {value!r}; accepted are seconds above 0, at most 10**9", "config")


def optional_seconds(what: str, value: object) -> float | None:
    """A time to wait; None, and an infinite one, have no end."""
    if value is None:
        return None
    wait = seconds(what, value)
    return None if wait == float("inf") else wait


def uri(what: str, value: object) -> str:
    """The path or URI of an array. A path that is not UTF-8 becomes the ``file://`` URI that names its bytes."""
    if not isinstance(value, (str, os.PathLike)):
        raise InvalidArgument(f"{what} is {value!r}; accepted are a str and an os.PathLike", "config")
    text: str | bytes = os.fspath(value)
    if not isinstance(text, str):
        raise InvalidArgument(
            f"{what} is {value!r}, a path of bytes; accepted are paths of str, as os.fsdecode gives", "config"
        )
    if not text:
        raise InvalidArgument(f"{what} is empty; accepted are the path or file:// URI of a Zarr array", "config")
    try:
        text.encode()
    except UnicodeEncodeError:
        return _file_uri(what, text)
    return text


def _file_uri(what: str, text: str) -> str:
    """Of a path in which surrogates stand for bytes that are not UTF-8, as Python has such paths."""
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:
        raise InvalidArgument(
            f"{what} is {ascii(text)}, which is neither text nor a path; accepted are texts in Unicode, and paths as "
            "os.fsdecode gives",
            "config",
        ) from None
    if "://" in text:
        return urllib.parse.quote_from_bytes(encoded, safe=bytes(range(128)))
    return pathlib.Path(text).absolute().as_uri()


def instance(what: str, value: object, *kinds: type[_T]) -> _T:
    """The value itself, if it is of one of those classes."""
    if isinstance(value, kinds):
        return value
    accepted = " and ".join(f"a damacy.{kind.__name__}" for kind in kinds)
    raise WrongType(f"{what} is {value!r}; accepted {'is' if len(kinds) == 1 else 'are'} {accepted}", "config")
