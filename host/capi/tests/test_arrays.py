"""Batches of the C interface, as NumPy takes them through DLPack, against zarr-python's slices of the same arrays.

Needs libdamacy.so: its path in the environment variable DAMACY_LIBRARY (make test-c sets it).
"""

import ctypes as c
import gc
import os
from itertools import product

import numpy as np
import pytest
import zarr

LIBRARY = os.environ.get("DAMACY_LIBRARY")
pytestmark = pytest.mark.skipif(not LIBRARY, reason="DAMACY_LIBRARY is not set: run make test-c")
NO_TIMEOUT = -1.0
# By number, as the header has them.
DTYPES = ["float32", "bfloat16", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
SOURCES = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32"]


class Spec(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("samples", c.c_uint64),
        ("shape", c.POINTER(c.c_uint64)),
        ("rank", c.c_size_t),
        ("dtype", c.c_int32),
        ("reserved", c.c_int32),
    ]


class Config(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("output", c.POINTER(Spec)),
        ("planner", c.c_void_p),
        ("engine", c.c_int32),
        ("partial", c.c_int32),
        ("max_memory_bytes", c.c_uint64),
        ("workers", c.c_size_t),
        ("output_buffers", c.c_size_t),
        ("lookahead_samples", c.c_size_t),
        ("pop_timeout_s", c.c_double),
        ("chunk_cache_bytes", c.c_uint64),
        ("cuda", c.c_void_p),
    ]


class Sample(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("uri", c.c_char_p),
        ("bounds", c.c_void_p),
        ("rank", c.c_size_t),
        ("tag", c.c_void_p),
    ]


@pytest.fixture(scope="module")
def damacy():
    library = c.CDLL(LIBRARY)
    library.damacy_last_error.restype = c.c_char_p
    library.damacy_convert.argtypes = [c.c_int32] * 4 + [c.c_void_p, c.c_size_t] * 2
    library.damacy_pop.argtypes = [c.c_void_p, c.c_double, c.POINTER(c.c_void_p)]
    library.damacy_push.argtypes = [c.c_void_p, c.c_void_p, c.c_size_t]
    library.damacy_batch_dlpack.argtypes = [c.c_void_p, c.POINTER(c.c_void_p)]
    library.damacy_pipeline_destroy.argtypes = library.damacy_batch_release.argtypes = [c.c_void_p]
    return library


class Tensor:
    """A DLManagedTensorVersioned for `np.from_dlpack`."""

    def __init__(self, pointer):
        self.pointer = pointer

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        new = c.pythonapi.PyCapsule_New
        new.restype, new.argtypes = c.py_object, [c.c_void_p, c.c_char_p, c.c_void_p]
        return new(self.pointer, b"dltensor_versioned", None)


def popped(damacy, uri, boxes, dtype, engine=0):
    """One batch of the boxes, as a NumPy array that owns the memory; batch and pipeline are gone."""

    def ok(status):
        assert status == 0, damacy.damacy_last_error().decode()

    shape = [stop - start for start, stop in boxes[0]]
    rank = len(shape)
    spec = Spec(c.sizeof(Spec), len(boxes), (c.c_uint64 * rank)(*shape), rank, DTYPES.index(dtype), 0)
    config = Config(c.sizeof(Config), c.pointer(spec), None, engine, 0, 64 << 20, 2, 0, 0, 0.0)
    pipeline, batch, tensor = c.c_void_p(), c.c_void_p(), c.c_void_p()
    ok(damacy.damacy_pipeline_create(c.byref(config), c.byref(pipeline)))
    bounds = [(c.c_uint64 * (2 * rank))(*[edge for axis in box for edge in axis]) for box in boxes]
    samples = (Sample * len(boxes))(
        *[Sample(c.sizeof(Sample), str(uri).encode(), c.cast(edges, c.c_void_p), rank, None) for edges in bounds]
    )
    ok(damacy.damacy_push(pipeline, samples, len(boxes)))
    ok(damacy.damacy_pop(pipeline, NO_TIMEOUT, c.byref(batch)))
    ok(damacy.damacy_batch_dlpack(batch, c.byref(tensor)))
    ok(damacy.damacy_batch_release(batch))
    ok(damacy.damacy_pipeline_destroy(pipeline))
    return np.from_dlpack(Tensor(tensor))


def expected(values, dtype):
    """The conversion rules for integers and small floats, in NumPy."""
    if np.dtype(dtype).kind == "f":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    exact = np.trunc(values.astype(np.float64)) if values.dtype.kind == "f" else values.astype(object)
    return np.clip(exact, limits.min, limits.max).astype(dtype)


def random_values(generator, dtype, shape):
    if np.dtype(dtype).kind == "f":
        return (generator.normal(0, 300, shape)).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("engine", [0, 1])
@pytest.mark.parametrize("source", ["uint16", "int32", "float16", "int64"])
def test_batches_are_zarr_python_s_slices(damacy, tmp_path, source, engine):
    generator = np.random.default_rng(7)
    values = random_values(generator, source, (23, 31, 29))
    array = zarr.create_array(
        tmp_path / "a.zarr", shape=values.shape, dtype=source, chunks=(4, 8, 5), shards=(8, 16, 10)
    )
    array[:] = values
    boxes = []
    for _ in range(5):
        start = [
            int(generator.integers(0, extent - size + 1)) for extent, size in zip(values.shape, (6, 9, 11), strict=True)
        ]
        boxes.append([(at, at + size) for at, size in zip(start, (6, 9, 11), strict=True)])
    judged = np.stack([array[tuple(slice(*axis) for axis in box)] for box in boxes])
    for dtype in ["float32", "uint8", "uint64", "int16"]:
        batch = popped(damacy, tmp_path / "a.zarr", boxes, dtype, engine)
        gc.collect()
        assert batch.dtype == dtype and batch.shape == judged.shape
        np.testing.assert_array_equal(batch, expected(judged, dtype))


@pytest.mark.parametrize("engine", [0, 1])
def test_conversions_of_every_pair_of_integers_are_numpy_s(damacy, engine):
    generator = np.random.default_rng(8)
    pairs = product([s for s in SOURCES if "int" in s], [d for d in DTYPES if "int" in d])
    for source, dtype in pairs:
        values = random_values(generator, source, 1003)
        big, out = values.astype(values.dtype.newbyteorder(">")), np.zeros(values.shape, dtype)
        numbers = (engine, SOURCES.index(source), 1, DTYPES.index(dtype))
        assert damacy.damacy_convert(*numbers, big.ctypes.data, big.nbytes, out.ctypes.data, out.nbytes) == 0
        np.testing.assert_array_equal(out, expected(values, dtype), err_msg=f"{source} to {dtype}")
