//! Memory, streams, events, slots, segments: what they do, and that nothing is left.

use damacy_core::{Dtype, SourceType};
use damacy_cuda::{
    Arena, Assembler, BufferFence, Converter, Device, DeviceMemory, Error, Event, PinnedMemory, Priority, StagingRing,
    Stream,
};

use crate::{open, soft_cuda};

#[test]
fn ranges_are_checked() {
    soft_cuda::run(&[], |_| {
        let memory = DeviceMemory::new(&open(0), 100, "a test").unwrap();
        let part = memory.range(10, 90).unwrap();
        assert_eq!((part.address(), part.len()), (memory.address() + 10, 90));
        assert_eq!(part.range(90, 0).unwrap().len(), 0);
        for (offset, len) in [(0, 101), (101, 0), (50, 51), (usize::MAX, 2), (2, usize::MAX)] {
            assert!(matches!(memory.range(offset, len), Err(Error::Argument(_))), "{offset} {len}");
        }
        assert!(part.range(1, 90).is_err());
    });
}

#[test]
fn copies_fills_and_events_do_what_they_say() {
    soft_cuda::run(&[("delay_us", "200")], |_| {
        let device = open(0);
        let (one, two) = (Stream::new(&device, Priority::High).unwrap(), Stream::new(&device, Priority::Low).unwrap());
        let (a, b) = (DeviceMemory::new(&device, 4096, "a").unwrap(), DeviceMemory::new(&device, 4096, "b").unwrap());
        let mut pinned = PinnedMemory::new(&device, 4096, "a test").unwrap();
        pinned.as_mut_slice().iter_mut().enumerate().for_each(|(i, byte)| *byte = i as u8);
        // SAFETY: the memory is left alone until `back` is waited for.
        unsafe { one.copy_from_host(&pinned, a.all()).unwrap() };
        one.fill(a.range(100, 50).unwrap(), 0xee).unwrap();
        two.wait(&one.record().unwrap()).unwrap();
        two.copy_on_device(a.all(), b.all()).unwrap();
        let mut back = PinnedMemory::new(&device, 4096, "a test").unwrap();
        // SAFETY: as above.
        unsafe { two.copy_to_host(b.all(), &mut back).unwrap() };
        let done = two.record().unwrap();
        done.synchronize().unwrap();
        assert!(done.is_done().unwrap());
        for (i, &byte) in back.as_slice().iter().enumerate() {
            assert_eq!(byte, if (100..150).contains(&i) { 0xee } else { i as u8 }, "byte {i}");
        }
        for (from, to) in [(10, 11), (11, 10)] {
            let (from, to) = (a.range(0, from).unwrap(), b.range(0, to).unwrap());
            assert!(matches!(one.copy_on_device(from, to), Err(Error::Argument(_))));
        }
        assert!(one.write(&[0; 3], a.range(0, 4).unwrap()).is_err() && one.read(a.all(), &mut [0; 4]).is_err());
    });
}

#[test]
fn time_between_timed_events_is_measured() {
    soft_cuda::run(&[], |_| {
        let device = open(0);
        let stream = Stream::new(&device, Priority::Low).unwrap();
        let (start, end) = (Event::timed(&device).unwrap(), Event::timed(&device).unwrap());
        stream.record_into(&start).unwrap();
        stream.record_into(&end).unwrap();
        end.synchronize().unwrap();
        assert!(end.milliseconds_since(&start).unwrap() >= 0.0);
        let plain = stream.record().unwrap();
        plain.synchronize().unwrap();
        assert!(plain.milliseconds_since(&start).is_err(), "made without timing");
    });
}

#[test]
fn anything_may_be_dropped_last_and_on_any_thread() {
    soft_cuda::run(&[("delay_us", "100")], |driver| {
        let device = open(0);
        let assembler = Assembler::new(&device, Dtype::F32).unwrap();
        let arena = Arena::new(assembler.copy_stream(), 1 << 16).unwrap();
        let staging = StagingRing::new(&device, 2, 4096).unwrap();
        let segment = arena.try_reserve(8192).unwrap().open().unwrap();
        for offset in [0, 4096] {
            let slot = staging.acquire().unwrap().unwrap();
            assembler.upload(slot, segment.range(offset, 4096).unwrap()).unwrap();
        }
        let slot = staging.acquire().unwrap().unwrap();
        let event = assembler.copy_stream().record().unwrap();
        let (memory, pinned) =
            (DeviceMemory::new(&device, 64, "m").unwrap(), PinnedMemory::new(&device, 64, "p").unwrap());
        let fence = BufferFence::new(&device);
        assembler.compute_stream().fill(memory.all(), 3).unwrap();
        drop((device, assembler, arena, staging));
        std::thread::spawn(move || drop((memory, fence))).join().unwrap();
        std::thread::spawn(move || drop((slot, pinned))).join().unwrap();
        std::thread::spawn(move || drop(segment)).join().unwrap();
        assert_eq!((driver.count("device_allocations"), driver.count("retained")), (0, 1));
        drop(event);
        driver.assert_clean();
    });
}

#[test]
fn a_hundred_rounds_leave_nothing() {
    soft_cuda::run(&[], |driver| {
        for _ in 0..100 {
            let device = open(0);
            let assembler = Assembler::new(&device, Dtype::U8).unwrap();
            let converter = Converter::new(&device);
            converter.load(SourceType::U16, Dtype::F32).unwrap();
            let arena = Arena::new(assembler.copy_stream(), 4096).unwrap();
            let staging = StagingRing::new(&device, 2, 1024).unwrap();
            let segment = arena.try_reserve(1000).unwrap().open().unwrap();
            assembler.upload_bytes(&[1; 1000], segment.range(0, 1000).unwrap(), &staging).unwrap();
            drop((assembler, converter, arena, staging, segment, device));
            driver.assert_clean();
        }
    });
}

#[test]
fn page_locked_memory_near_cpus_leaves_the_calling_thread_where_it_is() {
    soft_cuda::run(&[], |driver| {
        let device = open(0);
        let affinity = || std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let allowed = |text: String| text.lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap().to_owned();
        let before = allowed(affinity());
        for cpus in [vec![], vec![0], vec![4095], (0..64).collect()] {
            let mut pinned = PinnedMemory::near(&device, 5000, "a test", &cpus).unwrap();
            pinned.as_mut_slice().fill(1);
        }
        driver.fail("cuMemHostAlloc:1:2");
        let error = PinnedMemory::near(&device, 5000, "staging slots", &[0]).unwrap_err();
        assert!(error.is_out_of_memory() && error.to_string().contains("5000 bytes for staging slots"), "{error}");
        assert_eq!(allowed(affinity()), before);
    });
}

#[test]
fn slots_are_lent_again_once_their_copy_is_done_and_not_before() {
    // The driver checks that pinned memory does not change while a copy from it is under way.
    soft_cuda::run(&[("delay_us", "300")], |driver| {
        let device = open(0);
        let assembler = Assembler::new(&device, Dtype::F32).unwrap();
        let staging = StagingRing::new(&device, 3, 1000).unwrap();
        assert_eq!((staging.slots(), staging.slot_bytes()), (3, 1000));
        let memory = DeviceMemory::new(&device, 100_000, "a test").unwrap();
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let (assembler, staging, memory) = (&assembler, &staging, &memory);
                scope.spawn(move || {
                    for round in 0..25 {
                        let mut slot = staging.acquire().unwrap().unwrap();
                        slot.as_mut_slice().fill((worker * 25 + round) as u8);
                        let place = memory.range((worker * 25 + round) * 1000, 1000).unwrap();
                        assembler.upload(slot, place).unwrap();
                    }
                });
            }
        });
        let mut back = vec![0; 100_000];
        assembler.copy_stream().read(memory.all(), &mut back).unwrap();
        for (i, part) in back.chunks(1000).enumerate() {
            assert!(part.iter().all(|&byte| byte == i as u8), "part {i}");
        }
        assert_eq!(driver.calls("cuEventQuery"), 0, "who waits sleeps, and does not ask again and again");
        let slot = staging.acquire().unwrap().unwrap();
        let error = assembler.upload(slot, memory.range(0, 1001).unwrap()).unwrap_err();
        assert!(error.to_string().contains("1001") && error.to_string().contains("1000"), "{error}");
        for _ in 0..2 {
            drop((0..3).map(|_| staging.acquire().unwrap().unwrap()).collect::<Vec<_>>());
        }
    });
}

#[test]
fn closing_wakes_those_who_wait_for_a_slot() {
    soft_cuda::run(&[], |_| {
        let staging = StagingRing::new(&open(0), 1, 64).unwrap();
        let held = staging.acquire().unwrap().unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| staging.acquire().unwrap().is_none());
            std::thread::sleep(std::time::Duration::from_millis(20));
            staging.close();
            assert!(waiter.join().unwrap());
        });
        drop(held);
        assert!(staging.acquire().unwrap().is_none() && staging.is_closed());
    });
}

#[test]
fn too_much_is_refused_with_the_figures() {
    soft_cuda::run(&[("memory", "1000000")], |_| {
        let device = open(0);
        let error = DeviceMemory::new(&device, 2_000_000, "the chunk arena").unwrap_err();
        assert!(error.is_out_of_memory() && !error.is_sticky());
        let text = error.to_string();
        for part in
            ["cuMemAlloc", "CUDA_ERROR_OUT_OF_MEMORY", "code 2", "2000000", "the chunk arena", "1000000 bytes free"]
        {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(StagingRing::new(&device, usize::MAX, 2).unwrap_err().to_string().contains("too many"));
        still_works(&device);
    });
}

/// The device can be used.
pub fn still_works(device: &Device) {
    let stream = Stream::new(device, Priority::High).unwrap();
    let memory = DeviceMemory::new(device, 8, "a test").unwrap();
    stream.write(&[1, 2, 3, 4, 5, 6, 7, 8], memory.all()).unwrap();
    let mut back = [0; 8];
    stream.read(memory.all(), &mut back).unwrap();
    assert_eq!(back, [1, 2, 3, 4, 5, 6, 7, 8]);
}
