"""Whatever names an output type is understood; everything else is refused by name."""

import damacy
import ml_dtypes
import numpy as np
import pytest
from conftest import framework
from damacy import Dtype

# The specification's table: value, short name, full name, bytes, DLPack (code, bits).
TABLE = [
    (0, "f32", "float32", 4, (2, 32)),
    (1, "bf16", "bfloat16", 2, (4, 16)),
    (2, "u8", "uint8", 1, (1, 8)),
    (3, "u16", "uint16", 2, (1, 16)),
    (4, "u32", "uint32", 4, (1, 32)),
    (5, "u64", "uint64", 8, (1, 64)),
    (6, "i8", "int8", 1, (0, 8)),
    (7, "i16", "int16", 2, (0, 16)),
    (8, "i32", "int32", 4, (0, 32)),
    (9, "i64", "int64", 8, (0, 64)),
]


def test_the_table_is_the_specifications():
    assert [(d.value, d.short_name, d.full_name, d.itemsize, d.dlpack) for d in Dtype] == TABLE
    assert [str(d) for d in Dtype] == [row[2] for row in TABLE]


@pytest.mark.parametrize(("value", "short", "full", "itemsize", "dlpack"), TABLE)
def test_every_spelling_gives_the_same_type(value, short, full, itemsize, dlpack):
    numpy_type = ml_dtypes.bfloat16 if short == "bf16" else getattr(np, full)
    expected = Dtype(value)
    for given in (
        short, short.upper(), full, full.title(), expected, value, np.int64(value), np.uint8(value),
        np.dtype(numpy_type), numpy_type,
    ):  # fmt: skip
        assert Dtype.parse(given) is expected
        assert damacy.BatchSpec(1, (1,), given).dtype is expected
    assert expected.numpy == np.dtype(numpy_type)


@pytest.mark.parametrize("full", [row[2] for row in TABLE])
def test_torch_types_are_accepted(full):
    torch = framework("torch")
    assert Dtype.parse(getattr(torch, full)).full_name == full


def test_torch_types_without_a_conversion_are_refused():
    torch = framework("torch")
    for given in (torch.float16, torch.float64, torch.bool, torch.complex64):
        with pytest.raises(damacy.InvalidArgument):
            Dtype.parse(given)


@pytest.mark.parametrize(
    "given",
    [
        True, False, np.True_, None, 10, -1, 2**70, 1.0, np.float32(1), "", "f64", "float64", "half", "u8 ", "torch.uint8",
        b"u8", np.float64, np.float16, np.bool_, np.complex64, np.integer, np.floating, np.generic, np.dtype("M8[s]"),
        np.dtype(">f4"), np.dtype("V4"), float, int, bool, object, ["u8"], ml_dtypes.float8_e4m3,
    ],
)  # fmt: skip
def test_anything_else_is_refused_naming_given_and_accepted(given):
    with pytest.raises(damacy.InvalidArgument) as caught:
        damacy.BatchSpec(1, (1,), given)
    assert caught.value.status is damacy.Status.INVAL
    assert isinstance(caught.value, ValueError)
    message = str(caught.value)
    assert repr(given)[:40] in message
    for _, short, full, _, _ in TABLE:
        assert short in message and full in message
