//! A batch as DLPack 1.0's `DLManagedTensorVersioned`: without a copy, an owner of the batch's memory.
//!
//! The structs are dlpack.h's. The consumer calls the deleter once, from any thread, and with it gives back what
//! [`export`] allocated.

use host::Result;
use host::pipeline::{self, Export as Hold};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[repr(C)]
struct Version {
    major: u32,
    minor: u32,
}

#[repr(C)]
struct Device {
    device_type: i32,
    device_id: i32,
}

#[repr(C)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: DataType,
    shape: *mut i64,
    /// Elements.
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
pub struct ManagedTensor {
    version: Version,
    manager_ctx: *mut c_void,
    deleter: Option<extern "C" fn(*mut ManagedTensor)>,
    flags: u64,
    tensor: Tensor,
}

/// The legacy default stream, DLPack's default consumer.
const LEGACY: i64 = 1;

/// `kDLCPU` or `kDLCUDA`, and the device's number.
pub fn device(device: pipeline::Device) -> (i32, i32) {
    match device {
        pipeline::Device::Cpu => (1, 0),
        // The driver counts devices in an `int`.
        pipeline::Device::Cuda(index) => (2, index as i32),
    }
}

/// What one export owns. The tensor is its first member, so that both have one address.
#[repr(C)]
struct Export {
    managed: ManagedTensor,
    shape: Vec<i64>,
    strides: Vec<i64>,
    hold: Hold,
}

/// A tensor whose deleter is to be called once.
///
/// # Errors
/// `Cuda`, for a batch on a GPU.
pub fn export(batch: &host::Batch) -> Result<*mut ManagedTensor> {
    let info = batch.info();
    let hold = batch.data().export(Some(LEGACY))?;
    let (device_type, device_id) = device(batch.device());
    // The batch lies in memory, so its extents and their product fit.
    let mut shape: Vec<i64> = info.shape.iter().map(|&extent| extent as i64).collect();
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    let dtype = info.dtype.dlpack();
    let managed = ManagedTensor {
        version: Version { major: 1, minor: 0 },
        manager_ctx: std::ptr::null_mut(),
        deleter: Some(delete),
        flags: 0,
        tensor: Tensor {
            data: hold.data().as_ptr().cast(),
            device: Device { device_type, device_id },
            ndim: shape.len() as i32,
            dtype: DataType { code: dtype.code, bits: dtype.bits, lanes: 1 },
            // The lists' elements stay where they are when the lists move.
            shape: shape.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            byte_offset: 0,
        },
    };
    Ok(Box::into_raw(Box::new(Export { managed, shape, strides, hold })).cast())
}

extern "C" fn delete(tensor: *mut ManagedTensor) {
    if tensor.is_null() {
        return;
    }
    // SAFETY: deleters are called once, with their own tensor: the first member of an `Export` that `export` made and gave away.
    let export = unsafe { Box::from_raw(tensor.cast::<Export>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let Export { managed, shape, strides, hold } = *export;
        drop((managed, shape, strides, hold));
    }));
}
