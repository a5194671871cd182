//! A batch's memory as Python consumers take it: DLPack capsules and the buffer protocol, without a copy.
//!
//! Every export owns a reference to the buffer; the last of them gives it back to the pool. The deleters touch
//! no Python object: consumers call them from any thread, attached or not. An export of a batch on a GPU makes the
//! consumer's stream wait for the batch, and the buffer's next writer for what is on that stream when it is deleted.

use crate::errors::{invalid, to_python};
use damacy::Dtype;
use damacy::pipeline::{BatchData, Device};
use dlpark::ffi::{DLDataType, DLDataTypeCode, DLDevice, DLManagedTensor, DLManagedTensorVersioned};
use dlpark::metadata::Dynamic;
use dlpark::python::{ExportAbi, ExportRequest};
use dlpark::{DlpackFlags, Managed, ManagedTensorBase, OpaqueContext};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyMemoryError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use std::collections::TryReserveError;
use std::ffi::c_int;

/// Keeps a batch's memory alive and exports it.
#[pyclass(frozen, module = "damacy._native")]
pub struct Buffer {
    data: BatchData,
    shape: Vec<u64>,
    dtype: Dtype,
}

impl Buffer {
    /// A handle on the memory of a batch of `shape`.
    pub fn new(data: BatchData, shape: Vec<u64>, dtype: Dtype) -> Buffer {
        Buffer { data, shape, dtype }
    }

    fn view<M: ManagedTensorBase>(&self) -> PyResult<Managed<M>> {
        let data = self.data.as_ptr();
        // SAFETY: the context keeps `data` alive, and the batch has `shape` elements of `dtype`.
        unsafe { self.managed(Box::new(self.data.clone()), data, DLDevice::CPU, DlpackFlags::empty()) }
    }

    fn view_on_gpu<M: ManagedTensorBase>(
        &self,
        py: Python<'_>,
        gpu: DLDevice,
        stream: Option<i64>,
    ) -> PyResult<Managed<M>> {
        let export = self.data.export(stream).map_err(|error| to_python(py, &error))?;
        // SAFETY: the context keeps the buffer alive, and the batch has `shape` elements of `dtype`.
        unsafe { self.managed(Box::new(export), self.data.as_ptr(), gpu, DlpackFlags::empty()) }
    }

    fn copy_on_gpu<M: ManagedTensorBase>(
        &self,
        py: Python<'_>,
        gpu: DLDevice,
        stream: Option<i64>,
    ) -> PyResult<Managed<M>> {
        let copy = py.detach(|| self.data.copy_on_gpu(stream)).map_err(|error| to_python(py, &error))?;
        let data = copy.as_ptr();
        // SAFETY: the context keeps the copy alive; nobody else has it, so that IS_COPIED is true.
        unsafe { self.managed(Box::new(copy), data, gpu, DlpackFlags::IS_COPIED) }
    }

    /// A copy in host memory.
    fn copy<M: ManagedTensorBase>(&self, py: Python<'_>) -> PyResult<Managed<M>> {
        let bytes = self.data.len();
        let refused = |error| PyMemoryError::new_err(format!("no memory for a copy of {bytes} bytes: {error}"));
        let mut lines = Lines::of(bytes).map_err(refused)?;
        let (source, on_cpu) = (Address(self.data.as_ptr()), self.device() == DLDevice::CPU);
        let copied = py.detach(|| {
            if !on_cpu {
                return self.data.copy_to(lines.zeroed());
            }
            // SAFETY: the batch lies in host memory, holds `bytes` bytes and outlives the call.
            unsafe { lines.copy_from(&source) };
            Ok(())
        });
        copied.map_err(|error| to_python(py, &error))?;
        let data = lines.as_mut_ptr();
        // SAFETY: the context keeps `data` alive; nobody else has it, so that IS_COPIED is true.
        unsafe { self.managed(Box::new(lines), data, DLDevice::CPU, DlpackFlags::IS_COPIED) }
    }

    /// A capsule of a batch on the GPU, or of its copy on the host.
    fn gpu_capsule(
        &self,
        py: Python<'_>,
        gpu: DLDevice,
        stream: Option<Bound<'_, PyAny>>,
        wanted: (u32, i32),
        request: &ExportRequest<'_>,
    ) -> PyResult<Py<PyAny>> {
        let stream = stream.map(|stream| stream_number(&stream)).transpose()?;
        let copy = request.copy();
        let (own, cpu) = (<(u32, i32)>::from(gpu), <(u32, i32)>::from(DLDevice::CPU));
        if wanted == cpu && copy != Some(false) {
            return match request.abi() {
                ExportAbi::Legacy => capsule(py, self.copy::<DLManagedTensor>(py)?),
                ExportAbi::Versioned => capsule(py, self.copy::<DLManagedTensorVersioned>(py)?),
            };
        }
        let on = format!("a batch on cuda:{}", gpu.device_id);
        if wanted == cpu {
            return Err(PyBufferError::new_err(format!("{on} is not on the CPU without a copy, and copy is False")));
        }
        if wanted != own {
            let message = format!("dl_device is {wanted:?}; {on} accepts None, {own:?}, and {cpu:?} for a copy");
            return Err(PyBufferError::new_err(message));
        }
        if copy == Some(true) {
            return match request.abi() {
                ExportAbi::Legacy => capsule(py, self.copy_on_gpu::<DLManagedTensor>(py, gpu, stream)?),
                ExportAbi::Versioned => capsule(py, self.copy_on_gpu::<DLManagedTensorVersioned>(py, gpu, stream)?),
            };
        }
        match request.abi() {
            ExportAbi::Legacy => capsule(py, self.view_on_gpu::<DLManagedTensor>(py, gpu, stream)?),
            ExportAbi::Versioned => capsule(py, self.view_on_gpu::<DLManagedTensorVersioned>(py, gpu, stream)?),
        }
    }

    fn device(&self) -> DLDevice {
        match self.data.device() {
            Device::Cpu => DLDevice::CPU,
            Device::Cuda(index) => DLDevice::cuda(index as i32),
        }
    }

    /// # Safety
    /// `data` must hold a batch for as long as `owner` lives, and `flags` must be true of it.
    unsafe fn managed<M: ManagedTensorBase>(
        &self,
        owner: impl OpaqueContext,
        data: *mut u8,
        device: DLDevice,
        flags: DlpackFlags,
    ) -> PyResult<Managed<M>> {
        let prepared = Dynamic::compact(self.shape.as_slice())
            .prepare_as::<M>()
            .map_err(|error| PyBufferError::new_err(error.to_string()))?;
        let dlpack = self.dtype.dlpack();
        let mut tensor = prepared.initialize(owner);
        tensor
            .set_data(data.cast())
            .set_device(device)
            .set_dtype(DLDataType::scalar(DLDataTypeCode(dlpack.code), dlpack.bits));
        // SAFETY: as this function requires; the strides are explicit.
        unsafe {
            tensor.set_flags_unchecked(flags);
            Ok(tensor.finish())
        }
    }
}

#[pymethods]
impl Buffer {
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(u32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        let device = self.device();
        if device != DLDevice::CPU {
            let wanted = dl_device.unwrap_or(device.into());
            let request = ExportRequest::parse(None, max_version, None, copy)?;
            return self.gpu_capsule(py, device, stream, wanted, &request);
        }
        if let Some(stream) = stream {
            let message = format!("stream is {}; a batch on the CPU accepts None only", stream.repr()?);
            return Err(PyBufferError::new_err(message));
        }
        let cpu = (DLDevice::CPU.device_type.0, DLDevice::CPU.device_id);
        if dl_device.is_some_and(|device| device != cpu) {
            let message = format!("dl_device is {dl_device:?}; a batch on the CPU accepts None and {cpu:?} only");
            return Err(PyBufferError::new_err(message));
        }
        let request = ExportRequest::parse(None, max_version, dl_device, copy)?;
        match (request.abi(), copy) {
            (ExportAbi::Legacy, Some(true)) => capsule(py, self.copy::<DLManagedTensor>(py)?),
            (ExportAbi::Versioned, Some(true)) => capsule(py, self.copy::<DLManagedTensorVersioned>(py)?),
            (ExportAbi::Legacy, _) => capsule(py, self.view::<DLManagedTensor>()?),
            (ExportAbi::Versioned, _) => capsule(py, self.view::<DLManagedTensorVersioned>()?),
        }
    }

    fn __dlpack_device__(&self) -> (u32, i32) {
        self.device().into()
    }

    /// Keeps a buffer on a GPU from being written again before a CUDA event, given by its handle.
    fn hold_until(&self, py: Python<'_>, event: i64) -> PyResult<()> {
        self.data.hold_until(event).map_err(|error| to_python(py, &error))
    }

    /// Copies the batch's bytes into a buffer of as many.
    fn copy_to(&self, py: Python<'_>, host: PyBuffer<u8>) -> PyResult<()> {
        if host.readonly() || !host.is_c_contiguous() {
            return Err(PyBufferError::new_err("the place for a copy is not writable, or not contiguous"));
        }
        // SAFETY: writable, contiguous memory of as many bytes that `host` keeps, and which nobody else uses: the caller
        // made it for this call.
        let bytes = unsafe { std::slice::from_raw_parts_mut(host.buf_ptr().cast::<u8>(), host.len_bytes()) };
        py.detach(|| self.data.copy_to(bytes)).map_err(|error| to_python(py, &error))
    }

    /// The batch's bytes, writable: the consumer has them alone.
    ///
    /// # Safety
    /// Called by Python's buffer protocol with a `view` to fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let data = &slf.get().data;
        if let Device::Cuda(index) = data.device() {
            return Err(PyBufferError::new_err(format!("a batch on cuda:{index} is not in host memory")));
        }
        let bytes = isize::try_from(data.len()).map_err(|_| PyBufferError::new_err("the batch is too large"))?;
        // SAFETY: `view` is Python's to fill; it keeps a reference to this object, and so to the memory.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), data.as_ptr().cast(), bytes, 0, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

fn capsule<'py, M>(py: Python<'py>, tensor: Managed<M>) -> PyResult<Py<PyAny>>
where
    M: ManagedTensorBase,
    Managed<M>: IntoPyObject<'py, Output = Bound<'py, PyAny>, Error = PyErr>,
{
    Ok(tensor.into_pyobject(py)?.unbind())
}

/// The number that a consumer calls its stream by.
fn stream_number(stream: &Bound<'_, PyAny>) -> PyResult<i64> {
    let bogus = || -> PyResult<PyErr> {
        let accepted = "accepted are None, 1, 2, a stream's handle, and -1 for no synchronisation";
        Ok(invalid(stream.py(), "export", format!("stream is {}; {accepted}", stream.repr()?)))
    };
    if stream.is_instance_of::<PyBool>() {
        return Err(bogus()?);
    }
    match stream.extract() {
        Ok(number) => Ok(number),
        Err(_) => Err(bogus()?),
    }
}

/// Memory for a copy, aligned as batches are.
#[repr(C, align(64))]
struct Line([u8; 64]);

/// So many bytes, in the vector's spare capacity: nothing is zeroed first.
struct Lines(Vec<Line>, usize);

impl Lines {
    fn of(bytes: usize) -> Result<Lines, TryReserveError> {
        let mut lines = Vec::new();
        lines.try_reserve_exact(bytes.div_ceil(size_of::<Line>()))?;
        Ok(Lines(lines, bytes))
    }

    fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }

    /// # Safety
    /// The address must hold as many bytes.
    unsafe fn copy_from(&mut self, source: &Address) {
        // SAFETY: as this function requires, and that much was reserved.
        unsafe { std::ptr::copy_nonoverlapping(source.0, self.as_mut_ptr(), self.1) };
    }

    fn zeroed(&mut self) -> &mut [u8] {
        let (start, bytes) = (self.as_mut_ptr(), self.1);
        // SAFETY: that much was reserved, is written before the slice exists, and is borrowed as long as that.
        unsafe {
            start.write_bytes(0, bytes);
            std::slice::from_raw_parts_mut(start, bytes)
        }
    }
}

/// An address that may cross into the detached section.
struct Address(*mut u8);

// SAFETY: a plain address; whoever dereferences it answers for it.
unsafe impl Sync for Address {}
