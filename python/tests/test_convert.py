"""damacy.convert takes any CPU array, gives the specified values, and writes where it is told."""

import array
import threading
import time

import damacy
import ml_dtypes
import numpy as np
import pytest
from conftest import framework
from damacy import convert

BF16 = np.dtype(ml_dtypes.bfloat16)
ENGINES = ["native", "sandbox"]
SOURCES = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4"]
INTEGERS = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"]


def expected(source, output):
    """An independent statement of the rules for values that float64 or Python integers hold exactly."""
    name = damacy.Dtype.parse(output).full_name
    with np.errstate(over="ignore", invalid="ignore"):
        if name == "float32":
            return source.astype(np.float32)
        if name == "bfloat16":
            return source.astype(np.float32).astype(ml_dtypes.bfloat16)
    info = np.iinfo(name)

    def one(value):
        if value != value:
            return 0
        if value in (float("inf"), float("-inf")):
            return info.max if value > 0 else info.min
        return min(max(int(value), info.min), info.max)

    return np.array([one(v) for v in source.ravel().tolist()], dtype=object).astype(name).reshape(source.shape)


def values(kind, shape, seed=0):
    """Values of all magnitudes, the special ones first."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(kind)
    count = int(np.prod(shape))
    data = np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).copy()
    if dtype.kind == "f":
        data[np.isnan(data)] = np.nan
        special = [0.0, -0.0, np.nan, np.inf, -np.inf, 0.5, -1.9, 255.5, 256.0, 65504.0]
    else:
        info = np.iinfo(dtype)
        special = [0, 1, info.max, info.min, info.max - 1]
    data[: len(special)] = np.array(special, dtype)[:count]
    return data.reshape(shape)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("output", ["f32", "bf16", *INTEGERS])
def test_every_pair_follows_the_rules(kind, output, engine):
    source = values(kind, (7, 11))
    result = convert(source, output, engine=engine)
    assert type(result) is np.ndarray and result.flags.c_contiguous and result.flags.owndata
    assert result.dtype == damacy.Dtype.parse(output).numpy
    assert_same(result, expected(source, output))


def assert_same(actual, desired):
    """Equal, bit for bit for bfloat16, whose NaNs NumPy does not know."""
    assert actual.dtype == desired.dtype and actual.shape == desired.shape
    if actual.dtype == BF16:
        actual, desired = actual.copy().view(np.uint16), desired.copy().view(np.uint16)
    np.testing.assert_array_equal(actual, desired)


VIEWS = {
    "whole": lambda a: a,
    "negative": lambda a: a[::-1, :, ::-1],
    "stepped": lambda a: a[::2, 1::3, ::-2],
    "transposed": lambda a: a.T,
    "fortran": np.asfortranarray,
    "broadcast": lambda a: np.broadcast_to(a[:, :1, :], a.shape),
    "scalar broadcast": lambda a: np.broadcast_to(a[0, 0, 0], (3, 4)),
    "0-d": lambda a: a[1, 2, 3],
    "0-d view": lambda a: a[1, 2, 3, ...],
    "empty": lambda a: a[:, 3:3],
    "empty 1-d": lambda a: a.ravel()[:0],
    "unaligned": lambda a: np.frombuffer(b"x" + a.tobytes(), a.dtype, offset=1).reshape(a.shape),
    "one element": lambda a: a[1:2, 2:3, ::-1][:, :, 2:3],
    "eight axes": lambda a: a[:, None, :, None, None, :, None, None],
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("view", VIEWS)
def test_any_strides_and_either_byte_order(view, kind, order, engine):
    source = VIEWS[view](values(kind, (4, 5, 6)).astype(order + kind))
    if view != "0-d":
        assert source.dtype.byteorder in (order, "|", "=")
    for output in ("u16", "f32", "bf16"):
        result = convert(source, output, engine=engine)
        assert_same(result, expected(source, output))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("view", ["whole", "negative", "stepped", "transposed", "0-d view", "empty", "eight axes"])
@pytest.mark.parametrize("output", ["f32", "bf16", "i8", "u64"])
def test_out_is_written_in_place_through_any_strides(view, output, engine):
    dtype = damacy.Dtype.parse(output).numpy
    backing = np.full((4, 5, 6), 77).astype(dtype)
    out = VIEWS[view](backing)
    source = values("i2", (out.size + 5,))[5:].reshape(out.shape)
    before = backing.copy()
    assert convert(source, output, out=out, engine=engine) is out
    assert_same(out, expected(source, output))
    VIEWS[view](before)[...] = expected(source, output)
    assert_same(backing, before)


@pytest.mark.parametrize("engine", ENGINES)
def test_out_may_share_memory_with_the_source(engine):
    backing = np.arange(20, dtype=np.int16)
    wanted = backing[:19].astype(np.uint16)
    out = backing[1:].view(np.uint16)
    convert(backing[:19], "u16", out=out, engine=engine)
    np.testing.assert_array_equal(out, wanted)
    backing = np.arange(20, dtype=np.int16)
    interleaved = backing[1::2].view(np.uint16)
    convert(backing[::2], "u16", out=interleaved, engine=engine)
    np.testing.assert_array_equal(backing, np.repeat(np.arange(0, 20, 2), 2))


def test_writing_into_out_allocates_nothing():
    import tracemalloc

    source = values("u2", (1 << 20,))
    out = np.empty(1 << 20, np.float32)
    convert(source, "f32", out=out)
    tracemalloc.start()
    try:
        convert(source, "f32", out=out)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 << 10


@pytest.mark.parametrize(
    ("out", "named"),
    [
        (np.zeros(3, np.uint16), r"dtype uint16.*uint8"),
        (np.zeros(4, np.uint8), r"shape \(4,\).*\(3,\)"),
        (np.zeros((3, 1), np.uint8), r"shape \(3, 1\)"),
        (np.frombuffer(b"abc", np.uint8), "read-only"),
        (bytearray(3), "bytearray"),
        (np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (3,), (0,)), "3 bytes and lie in 1; accepted"),
    ],
)
def test_an_out_that_does_not_fit_is_refused(out, named):
    with pytest.raises(damacy.InvalidArgument, match=named):
        convert(np.zeros(3, np.int16), "u8", out=out)


@pytest.mark.parametrize(
    ("source", "out", "said"),
    [
        (np.zeros((2, 3), "u2"), np.zeros((3, 2), "u1"), r"out has shape \[3, 2\]; accepted is \[2, 3\]"),
        (np.zeros(3, "u4"), np.zeros(3, "u1"), "the source has elements of 4 bytes; accepted are 2"),
        (np.zeros(3, "u2"), np.zeros(3, "u2"), "out has elements of 2 bytes; accepted are 1"),
        (np.zeros(3, "u2"), np.frombuffer(b"abc", np.uint8), "read-only"),
        (np.zeros(0, "u2"), np.zeros(0, "u1"), r"shape \[0\] .* accepted is at least one element"),
    ],
)
def test_the_native_module_checks_its_buffers_again_and_says_what_it_accepts(source, out, said):
    with pytest.raises(damacy.InvalidArgument, match=said):
        damacy._native.convert(source, "uint16", False, out, damacy.Dtype.U8, "native", None)


def test_the_native_module_refuses_overlap_with_both_places():
    memory = np.arange(8, dtype="u1")
    start = memory.ctypes.data
    said = rf"out \(4 bytes at {start + 3:#x}\) and the source \(4 bytes at {start:#x}\) overlap; accepted"
    with pytest.raises(damacy.InvalidArgument, match=said):
        damacy._native.convert(memory[:4], "uint8", False, memory[3:7], damacy.Dtype.U8, "native", None)
    assert memory.tolist() == list(range(8))


def test_a_byte_swapped_out_is_refused():
    with pytest.raises(damacy.InvalidArgument, match=">f4"):
        convert(np.zeros(3, np.int16), "f32", out=np.zeros(3, ">f4"))


@pytest.mark.parametrize(
    "source",
    [
        np.zeros(2, np.float64), np.zeros(2, bool), np.zeros(2, np.complex64), np.array(["a"]), np.array([b"a"]),
        np.zeros(2, object), np.zeros(2, "M8[s]"), np.zeros(2, "m8[s]"), np.zeros(2, BF16), np.zeros(2, "V2"),
        np.zeros(2, np.longdouble), np.zeros(2, ml_dtypes.float8_e5m2), np.zeros(2, "u1,u1"), [1.5, 2.5], "text",
    ],
)  # fmt: skip
def test_sources_without_a_conversion_are_refused_by_name(source):
    with pytest.raises(damacy.DtypeMismatch) as caught:
        convert(source, "f32")
    assert caught.value.status is damacy.Status.DTYPE and isinstance(caught.value, TypeError)
    message = str(caught.value)
    assert str(np.asarray(source).dtype) in message
    for accepted in ("uint8", "int64", "float16", "float32"):
        assert accepted in message


def test_what_is_no_array_is_refused():
    with pytest.raises(damacy.InvalidArgument, match="no array"):
        convert([[1], [2, 3]], "u8")


def test_buffers_of_other_libraries_are_arrays():
    np.testing.assert_array_equal(convert(array.array("h", [-1, 300]), "u8"), [0, 255])
    np.testing.assert_array_equal(convert(memoryview(b"\x01\xff"), "i8"), [1, 127])
    np.testing.assert_array_equal(convert(np.ma.masked_array([1, 300]), "u8"), [1, 255])
    assert type(convert(np.ma.masked_array([1, 300]), "u8")) is np.ndarray


def test_arguments_are_checked_before_the_array():
    with pytest.raises(damacy.InvalidArgument, match="f64"):
        convert(np.zeros(1, np.float64), "f64")
    with pytest.raises(damacy.InvalidArgument, match="engine"):
        convert(np.zeros(1, np.uint8), "u8", engine="gpu")


def test_too_many_axes_are_refused():
    if int(np.__version__.split(".")[0]) < 2:
        pytest.skip("this NumPy has no arrays of more than 32 axes")
    with pytest.raises(damacy.InvalidArgument, match="33 axes"):
        convert(np.ones((2,) + (1,) * 32, np.uint8), "u16")


def test_torch_tensors_are_sources():
    torch = framework("torch")
    tensor = torch.arange(12, dtype=torch.int16).reshape(3, 4) - 2
    np.testing.assert_array_equal(convert(tensor.T, "u8"), np.clip(tensor.numpy().T, 0, 255))
    np.testing.assert_array_equal(convert(torch.tensor(5, dtype=torch.float16), "bf16"), np.array(5, BF16))
    for dtype in (torch.bfloat16, torch.float64, torch.bool, torch.complex64):
        with pytest.raises(damacy.DtypeMismatch, match=str(dtype).removeprefix("torch.")):
            convert(torch.ones(2, dtype=dtype), "f32")
    with pytest.raises(damacy.InvalidArgument, match="grad"):
        convert(torch.ones(2, requires_grad=True), "f32")
    with pytest.raises(damacy.InvalidArgument):
        convert(torch.ones(2, device="meta"), "f32")


def test_jax_arrays_are_sources():
    jnp = framework("jax.numpy")
    np.testing.assert_array_equal(convert(jnp.array([-1.5, 300.0], jnp.float32), "u8"), [0, 255])
    with pytest.raises(damacy.DtypeMismatch, match="bfloat16"):
        convert(jnp.ones(2, jnp.bfloat16), "f32")


@pytest.mark.parametrize("threads", [None, 1, 2, 7])
def test_large_arrays_are_the_same_on_any_number_of_threads(threads):
    source = np.arange(3 * 1001 * 1003, dtype=np.int64).reshape(3, 1001, 1003) * 7919 % 70_000 - 2000
    expected = np.clip(source, 0, 65535).astype(np.uint16)
    np.testing.assert_array_equal(convert(source, "u16", threads=threads), expected)
    np.testing.assert_array_equal(convert(source.transpose(2, 0, 1), "u16", threads=threads), expected.transpose(2, 0, 1))
    out = np.full((3, 1001, 2 * 1003), 77, np.uint16)
    convert(source, "u16", out=out[:, ::-1, ::2], threads=threads)
    np.testing.assert_array_equal(out[:, :, ::2], expected[:, ::-1])
    assert (out[:, :, 1::2] == 77).all()


@pytest.mark.parametrize("threads", [0, -1, 1025, 2.0, True, "2"])
def test_a_number_of_threads_that_makes_no_sense_is_refused(threads):
    with pytest.raises(damacy.InvalidArgument, match="threads is .*accepted are None and 1 to 1024"):
        convert([1], "u8", threads=threads)


def test_other_threads_run_while_elements_are_converted():
    source = np.ones(1 << 26, np.float32)
    out = np.empty(source.shape, np.uint8)
    done, ticks = threading.Event(), []

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    convert(source, "u8", out=out, engine="sandbox")
    end = time.monotonic()
    done.set()
    thread.join()
    # Held throughout, the interpreter would have let the thread in at the ends only.
    assert sum(start < t < end for t in ticks) >= 5


def test_masked_elements_have_no_value_to_convert():
    masked = np.ma.masked_array([1, 2, 300], mask=[False, True, False])
    with pytest.raises(damacy.InvalidArgument, match=r"masked elements.*filled"):
        convert(masked, "u8")
    np.testing.assert_array_equal(convert(masked.filled(0), "u8"), [1, 0, 255])
    np.testing.assert_array_equal(convert(np.ma.masked_array([1, 300]), "u8"), [1, 255])


@pytest.mark.parametrize("device", [None, 1, (1,), ("cpu", 0), (1, 0, 0)])
def test_a_malformed_dlpack_device_is_a_clear_error(device):
    class Broken:
        def __dlpack__(self, **_):
            raise AssertionError("asked for data of an unknown device")

        def __dlpack_device__(self):
            return device

    with pytest.raises((damacy.InvalidArgument, damacy.DtypeMismatch), match="accepted are"):
        convert(Broken(), "u8")


def test_an_output_that_no_memory_can_hold_is_a_clear_error():
    for shape in ((1 << 18, 1 << 30), (1 << 31, 1 << 31)):  # a petabyte, and more bytes than an address can say
        with pytest.raises(damacy.OutOfMemory, match="no memory for an output of shape"):
            convert(np.broadcast_to(np.uint8(1), shape), "f32")
