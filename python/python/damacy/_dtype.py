"""Output types: whatever names an element type -> a :class:`Dtype`, or an error that says what is accepted."""

from __future__ import annotations

import enum
import operator
from typing import Any

import ml_dtypes
import numpy as np

from damacy._errors import InvalidArgument


class Dtype(enum.IntEnum):
    """Element type of a batch. The values are those of the C interface.

    >>> Dtype.parse("uint8"), Dtype.BF16.full_name, Dtype.BF16.itemsize
    (<Dtype.U8: 2>, 'bfloat16', 2)
    """

    F32 = 0
    BF16 = 1
    U8 = 2
    U16 = 3
    U32 = 4
    U64 = 5
    I8 = 6
    I16 = 7
    I32 = 8
    I64 = 9

    @property
    def short_name(self) -> str:
        """``f32``, ``bf16``, ``u8`` ..."""
        return self.name.lower()

    @property
    def full_name(self) -> str:
        """``float32``, ``bfloat16``, ``uint8`` ..."""
        return _FULL_NAMES[self]

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type (:class:`ml_dtypes.bfloat16` for ``BF16``)."""
        return _NUMPY[self]

    @property
    def itemsize(self) -> int:
        """Bytes an element."""
        return self.numpy.itemsize

    @property
    def dlpack(self) -> tuple[int, int]:
        """DLPack's ``(code, bits)``."""
        return _DLPACK_CODES[self.short_name.rstrip("0123456789")], self.itemsize * 8

    def __str__(self) -> str:
        return self.full_name

    @staticmethod
    def parse(given: object) -> Dtype:
        """The type that ``given`` names.

        Accepted: short and full names without regard to case, members, their integer values, NumPy dtypes and
        scalar types, :class:`ml_dtypes.bfloat16` and ``torch.dtype``.

        Raises:
            InvalidArgument: anything else, ``bool`` included.
        """
        found = _find(given)
        if found is None:
            raise InvalidArgument(f"{_describe(given)} is not an output type; accepted are {_ACCEPTED}", "config")
        return found


_FULL_NAMES = {
    Dtype.F32: "float32",
    Dtype.BF16: "bfloat16",
    Dtype.U8: "uint8",
    Dtype.U16: "uint16",
    Dtype.U32: "uint32",
    Dtype.U64: "uint64",
    Dtype.I8: "int8",
    Dtype.I16: "int16",
    Dtype.I32: "int32",
    Dtype.I64: "int64",
}
_DLPACK_CODES = {"i": 0, "u": 1, "f": 2, "bf": 4}
_NUMPY = {d: np.dtype(ml_dtypes.bfloat16 if d is Dtype.BF16 else name) for d, name in _FULL_NAMES.items()}
_BY_NUMPY = {numpy: dtype for dtype, numpy in _NUMPY.items()}
_BY_NAME = {name: d for d in Dtype for name in (d.short_name, d.full_name)}
# Scalar types without a width: NumPy would guess one.
_ABSTRACT = {np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact, np.floating}
_ACCEPTED = (
    ", ".join(f"{d.full_name} ({d.short_name}, {d.value})" for d in Dtype)
    + "; as a name, a damacy.Dtype or its value, a numpy dtype or scalar type in native byte order, "
    "ml_dtypes.bfloat16 or a torch.dtype"
)


def _find(given: object) -> Dtype | None:
    if isinstance(given, Dtype):
        return given
    if isinstance(given, str):
        return _BY_NAME.get(given.lower())
    if isinstance(given, (bool, np.bool_)):
        return None
    if isinstance(given, (int, np.integer)):
        value = operator.index(given)
        return Dtype(value) if 0 <= value < len(Dtype) else None
    if isinstance(given, type) and issubclass(given, (np.generic, ml_dtypes.bfloat16)):
        return None if given in _ABSTRACT else _BY_NUMPY.get(np.dtype(given))
    if isinstance(given, np.dtype):
        return _BY_NUMPY.get(given)
    if type(given).__module__ == "torch" and type(given).__name__ == "dtype":
        return _BY_NAME.get(str(given).removeprefix("torch."))
    return None


def _describe(given: object) -> str:
    text = repr(given)
    return text if len(text) <= 80 else f"{text[:77]}..."
