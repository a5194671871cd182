"""The soft driver's control functions, and a consumer of DLPack capsules as torch would be one."""

from __future__ import annotations

import ctypes
import json
from ctypes import (
    POINTER,
    byref,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

import damacy
import numpy as np

LEFT = (
    "contexts retained streams events modules device_allocations device_bytes pinned_allocations pinned_bytes registered"
).split()


class Driver:
    """``libcuda.so.1`` of this process."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        self.library.soft_cuda_report.restype = c_size_t
        self.call("cuInit", 0)

    def call(self, name: str, *arguments: Any) -> None:
        """A driver call that must succeed."""
        code = getattr(self.library, name)(*arguments)
        assert code == 0, f"{name}: {code}"

    def set(self, name: str, value: object) -> None:
        assert self.library.soft_cuda_set(name.encode(), str(value).encode()) == 0

    def fail(self, rules: str) -> None:
        """``call:n:code[:once|sticky|lost|async]``."""
        assert self.library.soft_cuda_fail(rules.encode()) == 0

    def report(self) -> dict[str, Any]:
        size = self.library.soft_cuda_report(None, c_size_t(0))
        text = ctypes.create_string_buffer(size + 4096)
        self.library.soft_cuda_report(text, c_size_t(len(text)))
        return json.loads(text.value)

    def violations(self) -> list[str]:
        return [f"{found['kind']}: {found['text']}" for found in self.report()["violations"]]

    def left(self) -> dict[str, int]:
        report = self.report()
        left = {name: report[name] for name in LEFT if report[name]}
        return {**left, "allocations": report["allocations"]} if left else {}

    def calls(self) -> dict[str, int]:
        return self.report()["calls"]

    def clear(self) -> None:
        """Forgets failures and violations; delays as they are by default."""
        self.library.soft_cuda_clear_failures()
        self.library.soft_cuda_clear_violations()
        self.set("delay_us", 0)


class Context:
    """The primary context of a device, current while ``with`` lasts."""

    def __init__(self, driver: Driver, device: int = 0) -> None:
        self.driver, self.device, self.handle = driver, device, c_void_p()
        self.pinned: list[c_void_p] = []

    def __enter__(self) -> Context:
        self.driver.call("cuDevicePrimaryCtxRetain", byref(self.handle), c_int(self.device))
        self.driver.call("cuCtxPushCurrent_v2", self.handle)
        return self

    def __exit__(self, *_: object) -> None:
        for memory in self.pinned:
            self.driver.call("cuMemFreeHost", memory)
        self.driver.call("cuCtxPopCurrent_v2", byref(c_void_p()))
        self.driver.call("cuDevicePrimaryCtxRelease_v2", c_int(self.device))

    def stream(self) -> int:
        stream = c_void_p()
        self.driver.call("cuStreamCreate", byref(stream), c_uint32(1))
        assert stream.value is not None
        return stream.value

    def destroy(self, stream: int) -> None:
        self.driver.call("cuStreamDestroy_v2", c_void_p(stream))

    def event(self) -> int:
        event = c_void_p()
        self.driver.call("cuEventCreate", byref(event), c_uint32(2))
        assert event.value is not None
        return event.value

    def record(self, event: int, stream: int) -> None:
        self.driver.call("cuEventRecord", c_void_p(event), c_void_p(stream))

    def wait(self, stream: int, event: int) -> None:
        self.driver.call("cuStreamWaitEvent", c_void_p(stream), c_void_p(event), c_uint32(0))

    def begin_capture(self, stream: int) -> None:
        """As torch does by default: in the global mode."""
        self.driver.call("cuStreamBeginCapture_v2", c_void_p(stream), c_uint32(0))

    def end_capture(self, stream: int) -> None:
        """Fails if the capture was broken."""
        self.driver.call("cuStreamEndCapture", c_void_p(stream), byref(c_void_p()))

    def destroy_event(self, event: int) -> None:
        self.driver.call("cuEventDestroy_v2", c_void_p(event))

    def read(self, address: int, nbytes: int, stream: int) -> np.ndarray:
        """Device memory, read behind what is on the stream."""
        host = self.read_later(address, nbytes, stream)
        self.synchronize(stream)
        return host.copy()

    def read_later(self, address: int, nbytes: int, stream: int) -> np.ndarray:
        """What will hold it when the stream has come so far; as long as ``with`` lasts."""
        memory = c_void_p()
        self.driver.call("cuMemHostAlloc", byref(memory), c_size_t(nbytes), c_uint32(0))
        self.pinned.append(memory)
        self.driver.call("cuMemcpyDtoHAsync_v2", memory, c_uint64(address), c_size_t(nbytes), c_void_p(stream))
        return np.ctypeslib.as_array(ctypes.cast(memory, POINTER(c_uint8)), (nbytes,))

    def synchronize(self, stream: int) -> None:
        self.driver.call("cuStreamSynchronize", c_void_p(stream))


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
        ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]  # fmt: skip


class _Legacy(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", ctypes.CFUNCTYPE(None, c_void_p))]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", ctypes.CFUNCTYPE(None, c_void_p)),
        ("flags", c_uint64), ("tensor", _Tensor),
    ]  # fmt: skip


# A capsule does not copy its name.
_LEGACY = (_Legacy, b"dltensor", b"used_dltensor")
_VERSIONED = (_Versioned, b"dltensor_versioned", b"used_dltensor_versioned")
_POINTER_OF = ctypes.pythonapi.PyCapsule_GetPointer
_POINTER_OF.restype, _POINTER_OF.argtypes = c_void_p, [ctypes.py_object, c_char_p]
_RENAME = ctypes.pythonapi.PyCapsule_SetName
_RENAME.argtypes = [ctypes.py_object, c_char_p]


class Tensor:
    """A consumed capsule: it owns the batch until ``delete``."""

    def __init__(
        self,
        batch: damacy.Batch,
        stream: int | None = None,
        max_version: tuple[int, int] | None = (1, 0),
        copy: bool | None = None,
    ) -> None:
        capsule = batch.__dlpack__(stream=stream, max_version=max_version, copy=copy)
        kind, name, used = _LEGACY if max_version is None else _VERSIONED
        address = _POINTER_OF(capsule, name)
        self.managed = kind.from_address(address)
        self.address = address
        _RENAME(capsule, used)
        self.flags = None if max_version is None else self.managed.flags
        tensor = self.managed.tensor
        self.device = (tensor.device_type, tensor.device_id)
        self.data = tensor.data + tensor.byte_offset
        self.shape = tuple(tensor.shape[: tensor.ndim])
        self.dtype = (tensor.code, tensor.bits, tensor.lanes)
        self.nbytes = int(np.prod(self.shape)) * tensor.bits // 8
        steps = np.cumprod((1, *self.shape[:0:-1]))[::-1] if self.shape else ()
        assert not tensor.strides or tuple(tensor.strides[: tensor.ndim]) == tuple(steps)

    def delete(self) -> None:
        """From any thread; needs nothing of Python but ctypes."""
        if self.address:
            address, self.address = self.address, 0
            self.managed.deleter(address)


def bits(batch: damacy.Batch) -> bytes:
    """A batch's bytes on the host."""
    return batch.to_host().tobytes()
