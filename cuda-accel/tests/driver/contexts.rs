//! Devices and contexts: which one is used, what is current before and after, what is said where they disagree.

use std::sync::Barrier;

use damacy_cuda::{Device, DeviceChoice, DeviceMemory, Error, Event, PinnedMemory, Priority, Stream};

use crate::{open, raw, soft_cuda};

/// Uses every kind of resource once.
fn use_it(device: &Device) {
    let stream = Stream::new(device, Priority::Low).unwrap();
    let memory = DeviceMemory::new(device, 1000, "a test").unwrap();
    let pinned = PinnedMemory::new(device, 1000, "a test").unwrap();
    stream.write(&[7; 1000], memory.all()).unwrap();
    let event: Event = stream.record().unwrap();
    event.synchronize().unwrap();
    let mut back = vec![0; 1000];
    stream.read(memory.all(), &mut back).unwrap();
    assert_eq!(back, [7; 1000]);
    assert!(pinned.as_slice().iter().all(|&byte| byte == 0));
}

#[test]
fn an_index_opens_its_primary_context_and_leaves_none_current() {
    soft_cuda::run(&[("devices", "2"), ("name", "Soft"), ("multiprocessors", "5"), ("capability", "7.5")], |driver| {
        let device = open(1);
        assert!(raw::current(driver).is_null());
        assert_eq!((device.index(), device.multiprocessors(), device.compute_capability()), (1, 5, (7, 5)));
        assert!(device.name().contains("Soft"), "{}", device.name());
        assert_eq!((device.total_memory(), device.pci_bus_id()), (1 << 30, "0000:02:00.0"));
        assert!(device.is_primary() && device.notes().is_empty());
        use_it(&device);
        assert!(raw::current(driver).is_null());
        assert_eq!(driver.count("retained"), 1);
        let same = device.clone();
        drop(device);
        assert_eq!(driver.count("retained"), 1, "the last clone keeps it");
        drop(same);
    });
}

#[test]
fn an_index_that_does_not_exist_is_named_beside_those_that_do() {
    soft_cuda::run(&[("devices", "2")], |_| {
        let error = Device::open(DeviceChoice::Index(2)).unwrap_err();
        assert!(matches!(error, Error::Argument(_)), "{error:?}");
        assert_eq!(error.to_string(), "CUDA device 2 does not exist: the driver shows 2 devices, 0 to 1");
        let error = Device::open(DeviceChoice::Index(u32::MAX)).unwrap_err();
        assert!(error.to_string().contains("4294967295"), "{error}");
        use_it(&open(0));
    });
}

#[test]
fn without_a_current_context_the_first_device_is_opened() {
    soft_cuda::run(&[("devices", "3")], |_| {
        let device = Device::open(DeviceChoice::Current).unwrap();
        assert!((device.index(), device.is_primary()) == (0, true) && device.notes().is_empty());
    });
}

/// A thread keeps a context that another one has destroyed. It is named, and otherwise left alone.
#[test]
fn a_destroyed_context_that_is_still_current_does_not_matter() {
    soft_cuda::run(&[], |driver| {
        damacy_cuda::availability().unwrap();
        let context = raw::create_context(driver, 0) as usize;
        let (has_it, destroyed) = (Barrier::new(2), Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                raw::set_current(driver, context as raw::Handle);
                has_it.wait();
                destroyed.wait();
                for choice in [DeviceChoice::Index(0), DeviceChoice::Current] {
                    let device = Device::open(choice).unwrap();
                    assert!(device.is_primary() && device.notes().len() == 1, "{:?}", device.notes());
                    assert!(device.notes()[0].contains("was destroyed by somebody"), "{:?}", device.notes());
                    use_it(&device);
                }
                assert_eq!(raw::current(driver) as usize, context);
                raw::set_current(driver, std::ptr::null_mut());
            });
            has_it.wait();
            raw::destroy_context(driver, context as raw::Handle);
            destroyed.wait();
        });
    });
}

/// As after a reset of the device: the primary context's handle stays current, and lives again once it is retained.
#[test]
fn a_primary_context_that_was_reset_is_opened_again() {
    soft_cuda::run(&[], |driver| {
        damacy_cuda::availability().unwrap();
        raw::retain_primary(driver, 0);
        raw::release_primary(driver, 0);
        for choice in [DeviceChoice::Index(0), DeviceChoice::Current] {
            let device = Device::open(choice).unwrap();
            assert!(device.is_primary() && device.notes().is_empty(), "{:?}", device.notes());
            use_it(&device);
        }
        raw::set_current(driver, std::ptr::null_mut());
    });
}

/// Each opening waits for its own streams when it frees memory, so the two do not mix.
#[test]
fn memory_and_streams_of_two_openings_are_refused_together() {
    soft_cuda::run(&[], |_| {
        let (one, two) = (open(0), open(0));
        assert!(one.is_same_context(&two));
        let stream = Stream::new(&one, Priority::Low).unwrap();
        let memory = DeviceMemory::new(&two, 16, "a test").unwrap();
        for refused in [stream.fill(memory.all(), 1), stream.read(memory.all(), &mut [0; 16])] {
            assert!(refused.unwrap_err().to_string().contains("two openings"));
        }
    });
}

#[test]
fn a_primary_context_that_is_current_is_captured_and_kept() {
    soft_cuda::run(&[("devices", "2")], |driver| {
        // Opening anything initialises the driver; others then make contexts.
        damacy_cuda::availability().unwrap();
        let context = raw::retain_primary(driver, 1);
        let device = Device::open(DeviceChoice::Current).unwrap();
        assert!((device.index(), device.is_primary()) == (1, true) && device.notes().is_empty());
        assert!(device.is_same_context(&open(1)) && !device.is_same_context(&open(0)));
        assert_eq!(raw::current(driver), context);
        raw::set_current(driver, std::ptr::null_mut());
        raw::release_primary(driver, 1);
        use_it(&device);
        assert!(raw::current(driver).is_null());
    });
}

#[test]
fn a_foreign_context_is_used_by_pushing_and_popping() {
    soft_cuda::run(&[("devices", "2")], |driver| {
        damacy_cuda::availability().unwrap();
        let context = raw::create_context(driver, 1);
        let device = Device::open(DeviceChoice::Current).unwrap();
        assert!((device.index(), device.is_primary()) == (1, false));
        assert!(device.notes()[0].contains("not the device's primary context"), "{:?}", device.notes());
        assert_eq!(driver.count("retained"), 0, "no primary context was made for asking");
        raw::set_current(driver, std::ptr::null_mut());
        use_it(&device);
        std::thread::scope(|scope| {
            scope.spawn(|| use_it(&device));
        });
        assert!(raw::current(driver).is_null());
        drop(device);
        raw::destroy_context(driver, context);
    });
}

#[test]
fn a_foreign_context_beside_an_active_primary_one_is_not_mistaken_for_it() {
    soft_cuda::run(&[], |driver| {
        let primary = open(0);
        let context = raw::create_context(driver, 0);
        let captured = Device::open(DeviceChoice::Current).unwrap();
        assert!(!captured.is_primary() && !captured.is_same_context(&primary));
        assert_eq!(driver.count("retained"), 1);
        let again = open(0);
        assert!(again.notes()[0].contains("is not the primary context"), "{:?}", again.notes());
        assert_eq!(raw::current(driver), context);
        use_it(&again);
        use_it(&captured);
        drop(captured);
        raw::destroy_context(driver, context);
    });
}

#[test]
fn another_device_than_the_current_ones_is_opened_and_noted() {
    soft_cuda::run(&[("devices", "2")], |driver| {
        damacy_cuda::availability().unwrap();
        let context = raw::retain_primary(driver, 0);
        let device = open(1);
        let notes = device.notes();
        assert!(notes.len() == 1 && notes[0].contains("device 1 was asked for") && notes[0].contains("on device 0"));
        use_it(&device);
        assert_eq!(raw::current(driver), context);
        assert!(open(0).notes().is_empty());
        raw::set_current(driver, std::ptr::null_mut());
        raw::release_primary(driver, 0);
    });
}

#[test]
fn a_captured_context_that_its_owner_destroys_gives_errors_and_no_crash() {
    soft_cuda::run_unchecked(&[], |driver| {
        damacy_cuda::availability().unwrap();
        let context = raw::create_context(driver, 0);
        let device = Device::open(DeviceChoice::Current).unwrap();
        let stream = Stream::new(&device, Priority::High).unwrap();
        let memory = DeviceMemory::new(&device, 100, "a test").unwrap();
        raw::destroy_context(driver, context);
        let error = crate::driver_error(stream.fill(memory.all(), 1));
        assert_eq!(error.call, "cuCtxPushCurrent", "{error}");
        drop((stream, memory));
        use_it(&open(0));
    });
}

#[test]
fn the_node_of_a_device_is_unknown_where_the_system_does_not_say() {
    soft_cuda::run(&[("pci", "ffff:ff:1f.7")], |_| {
        let device = open(0);
        assert_eq!((device.pci_bus_id(), device.numa().node), ("ffff:ff:1f.7", None));
        assert!(device.numa().cpus.is_empty());
    });
}
