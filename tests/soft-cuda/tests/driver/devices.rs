//! What the driver tells about itself and its devices.

use std::ffi::{CStr, c_char};

use crate::support::{Soft, ok, out};

#[test]
fn nothing_works_before_init() {
    let soft = Soft::with(&[]);
    assert_eq!((soft.cuDeviceGetCount)(&mut 0), 3);
    assert_eq!((soft.cuMemAlloc_v2)(&mut 0, 8), 3);
    assert_eq!(out(|place| (soft.cuDriverGetVersion)(place)), 12_080);
    assert_eq!((soft.cuInit)(1), 1);
    ok((soft.cuInit)(0));
    ok((soft.cuInit)(0));
    assert_eq!(out(|place| (soft.cuDeviceGetCount)(place)), 1);
    soft.expect_none();
}

#[test]
fn no_device_is_an_error_of_init() {
    assert_eq!((Soft::with(&[("devices", "0")]).cuInit)(0), 100);
}

#[test]
fn devices_are_as_configured() {
    let settings = [
        ("devices", "3"),
        ("memory", "4096"),
        ("driver_version", "13000"),
        ("name", "Test"),
        ("capability", "7.5"),
        ("multiprocessors", "132"),
        ("numa", "0,1"),
        ("pci", "0000:0a:00.0,0001:41:02.0"),
    ];
    let soft = Soft::with(&settings);
    ok((soft.cuInit)(0));
    let text = |call: &dyn Fn(*mut c_char) -> u32| {
        let mut buffer = [1; 40];
        ok(call(buffer.as_mut_ptr().cast()));
        CStr::from_bytes_until_nul(&buffer).expect("a zero").to_str().expect("UTF-8").to_owned()
    };
    let attribute = |which, device| out(|place| (soft.cuDeviceGetAttribute)(place, which, device));
    assert_eq!(out(|place| (soft.cuDriverGetVersion)(place)), 13_000);
    assert_eq!(out(|place| (soft.cuDeviceGetCount)(place)), 3);
    assert_eq!(text(&|buffer| (soft.cuDeviceGetName)(buffer, 40, 1)), "Test 1");
    assert_eq!(text(&|buffer| (soft.cuDeviceGetName)(buffer, 4, 1)), "Tes");
    assert_eq!(text(&|buffer| (soft.cuDeviceGetPCIBusId)(buffer, 40, 1)), "0001:41:02.0");
    assert_eq!(text(&|buffer| (soft.cuDeviceGetPCIBusId)(buffer, 40, 2)), "0000:03:00.0");
    assert_eq!((soft.cuDeviceGetPCIBusId)([0; 12].as_mut_ptr(), 12, 1), 1);
    assert_eq!(out(|place| (soft.cuDeviceGetByPCIBusId)(place, c"0001:41:02.0".as_ptr())), 1);
    assert_eq!((soft.cuDeviceGetByPCIBusId)(&mut 0, c"0001:42:02.0".as_ptr()), 101);
    assert_eq!(out(|place| (soft.cuDeviceTotalMem_v2)(place, 0)), 4096);
    assert_ne!(out(|place| (soft.cuDeviceGetUuid_v2)(place, 0)), out(|place| (soft.cuDeviceGetUuid_v2)(place, 1)));
    assert_eq!((attribute(75, 0), attribute(76, 0), attribute(16, 0)), (7, 5, 132));
    assert_eq!((attribute(50, 1), attribute(33, 1), attribute(34, 1)), (1, 0x41, 2));
    assert_eq!((attribute(134, 0), attribute(134, 1), attribute(134, 2)), (0, 1, 1));
    assert_eq!((attribute(1, 0), attribute(10, 0), attribute(120, 0)), (1024, 32, 0));
    soft.expect_none();
}

#[test]
fn wrong_devices_and_places_are_refused() {
    let soft = Soft::with(&[]);
    ok((soft.cuInit)(0));
    for device in [-1, 1, i32::MAX] {
        assert_eq!((soft.cuDeviceGet)(&mut 0, device), 101);
        assert_eq!((soft.cuDeviceGetAttribute)(&mut 0, 1, device), 101);
        assert_eq!((soft.cuDevicePrimaryCtxRetain)(&mut 0, device), 101);
        assert_eq!((soft.cuDeviceGetName)([0; 9].as_mut_ptr(), 9, device), 101);
    }
    let null = std::ptr::null_mut();
    assert_eq!((soft.cuDeviceGet)(null, 0), 1);
    assert_eq!((soft.cuDeviceGetName)(null.cast(), 9, 0), 1);
    assert_eq!((soft.cuDeviceGetName)([0; 9].as_mut_ptr(), -1, 0), 1);
    assert_eq!((soft.cuDeviceGetAttribute)(&mut 0, 100_000, 0), 1);
    assert_eq!((soft.cuDevicePrimaryCtxRetain)(std::ptr::null_mut(), 0), 1);
    assert_eq!(soft.count("retained"), 0);
}

#[test]
fn errors_have_names() {
    let soft = Soft::with(&[]);
    assert_eq!(soft.name(0), "CUDA_SUCCESS");
    assert_eq!(soft.name(2), "CUDA_ERROR_OUT_OF_MEMORY");
    assert_eq!(soft.name(700), "CUDA_ERROR_ILLEGAL_ADDRESS");
    let mut text = std::ptr::null();
    ok((soft.cuGetErrorString)(999, &mut text));
    assert!(!text.is_null());
    assert_eq!((soft.cuGetErrorName)(12_345, &mut text), 1);
    assert!(text.is_null());
}

#[test]
fn calls_are_found_by_name() {
    let soft = Soft::with(&[]);
    let (mut address, mut status) = (0, 9);
    ok((soft.cuGetProcAddress_v2)(c"cuMemAlloc".as_ptr(), &mut address, 12_000, 0, &mut status));
    assert_eq!((address, status), (soft.cuMemAlloc_v2 as *const () as u64, 0));
    assert_eq!((soft.cuGetProcAddress_v2)(c"cuNothing".as_ptr(), &mut address, 12_000, 0, &mut status), 500);
    assert_eq!((address, status), (0, 1));
}
