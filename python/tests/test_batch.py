"""Batches reach every consumer without a copy, by the rules of DLPack and NumPy, and say what they are."""

import ctypes
import gc

import damacy
import ml_dtypes
import numpy as np
import pytest
from conftest import framework

DATA = np.arange(4 * 3 * 5, dtype=np.int32).reshape(4, 3, 5) * 1000 - 30000
NAMES = [d.full_name for d in damacy.Dtype]


@pytest.fixture
def make_batch(write):
    path = write(DATA)

    def make(dtype="int32", **options):
        with damacy.Pipeline(damacy.BatchSpec(2, (1, 3, 5), dtype), **options) as pipeline:
            pipeline.push([damacy.Sample(path, np.s_[i : i + 1, 0:3, 0:5], tag=i) for i in (1, 3)])
            return pipeline.pop(timeout=60)

    return make


EXPECTED = DATA[[1, 3]][:, None]


def as_numpy(name, values=EXPECTED):
    return damacy.convert(values, name)


def test_info_says_what_the_batch_holds(make_batch):
    batch = make_batch("bfloat16")
    info = batch.info
    assert (info.id, info.samples, info.shape, info.dtype) == (0, 2, (2, 1, 3, 5), damacy.Dtype.BF16)
    assert (info.nbytes, info.tags, info.device) == (60, (1, 3), (1, 0))
    assert info.device == batch.__dlpack_device__() and info.device.device_type == 1
    assert len(batch) == 2
    assert "bfloat16 (2, 1, 3, 5)" in repr(batch)


@pytest.mark.parametrize("name", NAMES)
def test_array_views_without_a_copy(make_batch, name):
    batch = make_batch(name)
    array = np.asarray(batch)
    assert array.dtype == damacy.Dtype.parse(name).numpy
    assert array.flags.c_contiguous and array.flags.writeable
    assert array.ctypes.data % 64 == 0
    np.testing.assert_array_equal(array, as_numpy(name))
    assert np.asarray(batch).ctypes.data == array.ctypes.data
    array[0, 0, 0, 0] = 3
    assert np.asarray(batch)[0, 0, 0, 0] == 3


def test_array_copies_as_numpy_asks(make_batch):
    batch = make_batch()
    here = np.asarray(batch).ctypes.data
    assert np.array(batch).ctypes.data != here
    assert batch.__array__(copy=True).ctypes.data != here
    assert batch.__array__(copy=False).ctypes.data == here
    assert batch.__array__(dtype="int32").ctypes.data == here
    as_float = np.asarray(batch, dtype=np.float64)
    assert as_float.dtype == np.float64
    np.testing.assert_array_equal(as_float, EXPECTED)
    with pytest.raises(ValueError, match="copy"):
        batch.__array__(dtype="float64", copy=False)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "bfloat16"])
def test_numpy_takes_it_by_dlpack(make_batch, name):
    batch = make_batch(name)
    array = np.from_dlpack(batch)
    assert array.dtype == name and array.shape == (2, 1, 3, 5)
    assert array.ctypes.data == np.asarray(batch).ctypes.data
    np.testing.assert_array_equal(array, as_numpy(name))


def test_numpys_refusal_of_bfloat16_reaches_the_user_and_leaks_nothing(write):
    path = write(DATA)
    limits = damacy.CpuLimits(output_buffers=2)
    spec = damacy.BatchSpec(1, (1, 3, 5), "bf16")
    with damacy.Pipeline(spec, damacy.CpuExecutor(limits=limits), pop_timeout_s=20) as pipeline:
        pipeline.push(damacy.Sample(path, np.s_[0:1, 0:3, 0:5]) for _ in range(20))
        for batch in pipeline:
            with pytest.raises((BufferError, RuntimeError)) as caught:
                np.from_dlpack(batch)
            assert not isinstance(caught.value, damacy.DamacyError)
            del caught
            batch.release()
        assert pipeline.stats().buffers_held == 0


@pytest.mark.parametrize("name", NAMES)
def test_torch_takes_it_by_dlpack(make_batch, name):
    torch = framework("torch")
    batch = make_batch(name)
    tensor = torch.from_dlpack(batch)
    assert str(tensor.dtype) == f"torch.{name}" and tensor.shape == (2, 1, 3, 5) and tensor.is_contiguous()
    assert tensor.data_ptr() == np.asarray(batch).ctypes.data
    bits = tensor.view(torch.uint8).numpy()
    np.testing.assert_array_equal(bits, as_numpy(name).view(np.uint8))


@pytest.mark.parametrize("name", [n for n in NAMES if "64" not in n])
def test_jax_takes_it_by_dlpack(make_batch, name):
    jax = framework("jax")
    batch = make_batch(name)
    array = jax.dlpack.from_dlpack(batch)
    assert str(array.dtype) == name and array.shape == (2, 1, 3, 5)
    assert array.unsafe_buffer_pointer() == np.asarray(batch).ctypes.data
    np.testing.assert_array_equal(np.asarray(array), as_numpy(name))


def capsule_name(capsule):
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get(capsule).decode()


def managed(capsule):
    """The words of the managed tensor: version, context, deleter and flags come first in a versioned one."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(capsule, capsule_name(capsule).encode()), ctypes.POINTER(ctypes.c_uint64))


@pytest.mark.parametrize(
    ("max_version", "name"),
    [
        (None, "dltensor"),
        ((0, 8), "dltensor"),
        ((1, 0), "dltensor_versioned"),
        ((1, 3), "dltensor_versioned"),
        ((2, 0), "dltensor_versioned"),
    ],
)
def test_max_version_selects_the_capsule(make_batch, max_version, name):
    batch = make_batch()
    capsule = batch.__dlpack__(max_version=max_version)
    assert capsule_name(capsule) == name
    if name == "dltensor_versioned":
        assert managed(capsule)[0] & 0xFFFFFFFF == 1
        assert managed(capsule)[3] == 0  # neither read-only nor a copy


class Producer:
    """Passes a batch on with fixed arguments, as a consumer that asks for them would."""

    def __init__(self, batch, **forced):
        self.batch, self.forced = batch, forced

    def __dlpack_device__(self):
        return self.batch.__dlpack_device__()

    def __dlpack__(self, **asked):
        return self.batch.__dlpack__(**{**asked, **self.forced})


@pytest.mark.parametrize("max_version", [None, (1, 0)])
def test_copy_is_the_consumers_own(make_batch, max_version):
    batch = make_batch()
    capsule = batch.__dlpack__(copy=True, max_version=max_version)
    if max_version:
        assert managed(capsule)[3] == 2  # IS_COPIED
    del capsule
    copy = np.from_dlpack(Producer(batch, copy=True, max_version=max_version))
    view = np.asarray(batch)
    np.testing.assert_array_equal(copy, EXPECTED)
    assert not np.shares_memory(copy, view)
    assert copy.ctypes.data % 64 == 0
    view[...] = 0
    np.testing.assert_array_equal(copy, EXPECTED)
    for never in (None, False):
        assert np.shares_memory(np.from_dlpack(Producer(batch, copy=never)), view)


def test_legacy_capsules_hold_the_same_memory(make_batch):
    batch = make_batch()
    legacy = np.from_dlpack(Producer(batch, max_version=None))
    np.testing.assert_array_equal(legacy, EXPECTED)
    assert legacy.ctypes.data == np.asarray(batch).ctypes.data


def test_only_the_cpu_is_a_device(make_batch):
    batch = make_batch()
    assert batch.__dlpack__(dl_device=(1, 0)) is not None
    for device in ((2, 0), (1, 1), (1, -1)):
        with pytest.raises(BufferError, match="dl_device"):
            batch.__dlpack__(dl_device=device)


def test_the_cpu_has_no_streams(make_batch):
    batch = make_batch()
    for stream in (0, 1, -1, object()):
        with pytest.raises(BufferError, match="stream"):
            batch.__dlpack__(stream=stream)
    with pytest.raises(TypeError):
        batch.__dlpack__(None)


def test_a_released_batch_refuses_exports_and_keeps_its_facts(make_batch):
    batch = make_batch()
    view = np.asarray(batch)
    batch.release()
    batch.release()
    for export in (np.asarray, np.from_dlpack, lambda b: b.__dlpack__(), lambda b: b.__dlpack_device__()):
        with pytest.raises(damacy.InvalidArgument, match="batch 0 has been released"):
            export(batch)
    np.testing.assert_array_equal(view, EXPECTED)
    assert batch.info.tags == (1, 3) and "released" in repr(batch)


def test_release_takes_no_event_on_the_cpu(make_batch):
    batch = make_batch()
    with pytest.raises(damacy.InvalidArgument, match="event"):
        batch.release(event=object())
    batch.release(event=None)


def test_a_batch_is_a_context(make_batch):
    with make_batch() as batch:
        view = np.asarray(batch)
    with pytest.raises(damacy.InvalidArgument, match="released"):
        np.asarray(batch)
    np.testing.assert_array_equal(view, EXPECTED)


def test_unconsumed_capsules_leave_nothing_behind(write):
    path = write(DATA)
    with damacy.Pipeline(damacy.BatchSpec(1, (1, 3, 5))) as pipeline:
        pipeline.push([damacy.Sample(path, np.s_[0:1, 0:3, 0:5])])
        batch = pipeline.pop(timeout=60)
        capsules = [batch.__dlpack__(max_version=v, copy=c) for v in (None, (1, 0)) for c in (None, True)]
        batch.release()
        assert pipeline.stats().buffers_held == 1
        del capsules
        gc.collect()
        assert pipeline.stats().buffers_held == 0


def test_zero_dimensional_samples_make_vectors(write):
    path = write(np.array(7, np.uint8))
    with damacy.Pipeline(damacy.BatchSpec(3, (), ml_dtypes.bfloat16)) as pipeline:
        pipeline.push([damacy.Sample(path, ())] * 3)
        assert np.asarray(pipeline.pop(timeout=60)).tolist() == [7, 7, 7]
