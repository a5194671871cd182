//! Machines without a usable driver: one sentence each, no panic, the same answer again.

use damacy_core::Status;
use damacy_cuda::{DRIVER_CALLS, Device, DeviceChoice, Error, Unavailable, availability, device_count};

use crate::soft_cuda;

/// Every way in says the same.
fn refused() -> Unavailable {
    let reason = availability().expect_err("no driver");
    assert_eq!(availability(), Err(reason.clone()));
    for choice in [DeviceChoice::Index(0), DeviceChoice::Current] {
        let error = Device::open(choice).expect_err("no driver");
        assert!(matches!(&error, Error::Unavailable(same) if *same == reason), "{error:?}");
        assert_eq!(error.status(), Status::Cuda);
    }
    assert_eq!(device_count().expect_err("no driver").to_string(), reason.to_string());
    reason
}

#[test]
fn without_a_library_the_sentence_names_it() {
    soft_cuda::run_without(|| {
        assert_eq!(refused(), Unavailable::NoDriver);
        assert!(refused().to_string().contains("libcuda.so.1"), "{}", refused());
    });
}

#[test]
fn without_a_device_the_sentence_says_so() {
    soft_cuda::run(&[("devices", "0")], |_| {
        assert_eq!(refused(), Unavailable::NoDevice);
    });
}

#[test]
fn an_old_driver_is_refused_with_both_versions() {
    soft_cuda::run(&[("driver_version", "11080")], |_| {
        assert_eq!(refused(), Unavailable::TooOld { version: 11080, missing: None });
        assert!(refused().to_string().contains("11.8") && refused().to_string().contains("12.0"), "{}", refused());
    });
}

#[test]
fn a_driver_that_refuses_to_start_is_quoted() {
    soft_cuda::run(&[("fail", "cuInit:1:803")], |driver| {
        let reason = refused();
        let text = reason.to_string();
        assert!(text.contains("cuInit") && text.contains("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"), "{text}");
        assert!(matches!(reason, Unavailable::Refused { code: 803, .. }));
        assert_eq!(driver.calls("cuInit"), 1, "asking again is free");
    });
}

/// A library without the driver's calls, as `libcuda.so.1` in front of all others.
#[test]
fn a_library_that_lacks_calls_is_too_old() {
    soft_cuda::run_without(|| {
        let folder = std::env::temp_dir().join(format!("damacy-old-driver-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let source = folder.join("old.c");
        std::fs::write(&source, "int cuInit(unsigned flags) { return 0; }").unwrap();
        let library = folder.join("libold.so");
        let flags = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o"];
        let made = std::process::Command::new("cc").args(flags).args([&library, &source]).status();
        assert!(made.expect("a C compiler, as Rust's linker needs").success());
        let path = std::ffi::CString::new(library.to_str().unwrap()).unwrap();
        // SAFETY: zero-terminated; the library has no constructors.
        assert!(!unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) }.is_null());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(matches!(refused(), Unavailable::TooOld { missing: Some(_), .. }), "{}", refused());
        assert!(refused().to_string().contains("lacks cu"), "{}", refused());
    });
}

#[test]
fn the_toolkits_stub_is_told_apart() {
    soft_cuda::run(&[("fail", "cuInit:1:34")], |_| assert_eq!(refused(), Unavailable::Stub));
}

#[test]
fn a_code_that_nobody_knows_is_a_number() {
    soft_cuda::run(&[("fail", "cuInit:1:98765")], |_| {
        assert!(refused().to_string().contains("98765"), "{}", refused());
    });
}

#[test]
fn every_call_that_is_listed_is_one_of_the_driver() {
    soft_cuda::run(&[], |_| {
        assert_eq!(availability(), Ok(()), "the table was resolved");
        assert!(DRIVER_CALLS.len() > 30);
        assert!(DRIVER_CALLS.iter().all(|call| call.starts_with("cu")));
        assert_eq!(device_count().unwrap(), 1);
        assert_eq!(damacy_cuda::driver_version().unwrap(), 12080);
    });
}
