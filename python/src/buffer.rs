//! A batch's memory as Python consumers take it: DLPack capsules and the buffer protocol, without a copy.
//!
//! Every export owns a reference to the buffer; the last of them gives it back to the pool. The deleters touch
//! no Python object: consumers call them from any thread, attached or not.

use damacy::Dtype;
use damacy::pipeline::BatchData;
use dlpark::ffi::{DLDataType, DLDataTypeCode, DLDevice, DLManagedTensor, DLManagedTensorVersioned};
use dlpark::metadata::Dynamic;
use dlpark::python::{ExportAbi, ExportRequest};
use dlpark::{DlpackFlags, Managed, ManagedTensorBase, OpaqueContext};
use pyo3::exceptions::{PyBufferError, PyMemoryError};
use pyo3::ffi;
use pyo3::prelude::*;
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
        unsafe { self.managed(Box::new(self.data.clone()), data, DlpackFlags::empty()) }
    }

    fn copy<M: ManagedTensorBase>(&self, py: Python<'_>) -> PyResult<Managed<M>> {
        let (source, bytes) = (Address(self.data.as_ptr()), self.data.len());
        // SAFETY: the batch holds `bytes` bytes and outlives the call.
        let lines = py.detach(move || unsafe { source.copied(bytes) });
        let mut lines =
            lines.map_err(|error| PyMemoryError::new_err(format!("no memory for a copy of {bytes} bytes: {error}")))?;
        let data = lines.as_mut_ptr();
        // SAFETY: the context keeps `data` alive; nobody else has it, so that IS_COPIED is true.
        unsafe { self.managed(Box::new(lines), data, DlpackFlags::IS_COPIED) }
    }

    /// # Safety
    /// `data` must hold a batch for as long as `owner` lives, and `flags` must be true of it.
    unsafe fn managed<M: ManagedTensorBase>(
        &self,
        owner: impl OpaqueContext,
        data: *mut u8,
        flags: DlpackFlags,
    ) -> PyResult<Managed<M>> {
        let prepared = Dynamic::compact(self.shape.as_slice())
            .prepare_as::<M>()
            .map_err(|error| PyBufferError::new_err(error.to_string()))?;
        let dlpack = self.dtype.dlpack();
        let mut tensor = prepared.initialize(owner);
        tensor
            .set_data(data.cast())
            .set_device(DLDevice::CPU)
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
        (DLDevice::CPU.device_type.0, DLDevice::CPU.device_id)
    }

    /// The batch's bytes, writable: the consumer has them alone.
    ///
    /// # Safety
    /// Called by Python's buffer protocol with a `view` to fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let data = &slf.get().data;
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

/// Memory for a copy, aligned as batches are.
#[repr(C, align(64))]
struct Line([u8; 64]);

/// The elements lie in the vector's spare capacity: nothing is zeroed first.
struct Lines(Vec<Line>);

impl Lines {
    fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// An address that may cross the detached section.
#[derive(Clone, Copy)]
struct Address(*mut u8);

// SAFETY: a plain address; whoever dereferences it answers for it.
unsafe impl Send for Address {}

impl Address {
    /// # Safety
    /// The address must hold `bytes` bytes.
    unsafe fn copied(self, bytes: usize) -> Result<Lines, TryReserveError> {
        let mut lines = Lines(Vec::new());
        lines.0.try_reserve_exact(bytes.div_ceil(size_of::<Line>()))?;
        // SAFETY: as this function requires, and that much was reserved just now.
        unsafe { std::ptr::copy_nonoverlapping(self.0, lines.as_mut_ptr(), bytes) };
        Ok(lines)
    }
}
