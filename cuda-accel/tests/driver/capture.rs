//! CUDA graphs that others capture meanwhile: nothing of ours gets into them, breaks them or is drawn in.

use damacy_core::{Dtype, SourceType};
use damacy_cuda::{
    Arena, Assembler, BufferFence, ConsumerStream, Converter, Device, DeviceMemory, Error, ForeignEvent, PinnedMemory,
    Priority, StagingRing, Stream,
};

use crate::soft_cuda::SoftCuda;
use crate::{open, raw, soft_cuda};

const GLOBAL: u32 = 0;
const THREAD_LOCAL: u32 = 1;

/// With the device's primary context current, as in a program that uses torch.
fn beside_torch(driver: &SoftCuda, body: impl FnOnce(&Device)) {
    let device = open(0);
    raw::retain_primary(driver, 0);
    body(&device);
    drop(device);
    raw::set_current(driver, std::ptr::null_mut());
    raw::release_primary(driver, 0);
}

fn consumer(handle: raw::Handle) -> ConsumerStream {
    ConsumerStream::parse(Some(handle as i64)).unwrap()
}

/// Everything that a pipeline makes and gives back.
fn make_and_drop_everything(device: &Device) {
    let assembler = Assembler::new(device, Dtype::U8).unwrap();
    let converter = Converter::new(device);
    converter.load(SourceType::U16, Dtype::F32).unwrap();
    let arena = Arena::new(assembler.copy_stream(), 4096).unwrap();
    let staging = StagingRing::new(device, 1, 1024).unwrap();
    let segment = arena.try_reserve(2000).unwrap().open().unwrap();
    assembler.upload_bytes(&[1; 2000], segment.range(0, 2000).unwrap(), &staging).unwrap();
    let memory = DeviceMemory::new(device, 64, "a test").unwrap();
    let fence = BufferFence::new(device);
    let stream = Stream::new(device, Priority::Low).unwrap();
    stream.fill(memory.all(), 3).unwrap();
    fence.add(&stream.record().unwrap());
    fence.before_write(assembler.compute_stream()).unwrap();
    stream.read(memory.all(), &mut [0; 64]).unwrap();
    let pinned = PinnedMemory::new(device, 64, "a test").unwrap();
    drop((pinned, stream, fence, memory, segment, arena, staging, converter, assembler));
}

/// torch captures its graphs in the global mode by default: what any thread calls must neither end that nor fail.
#[test]
fn everything_may_be_made_and_given_back_while_a_graph_is_captured() {
    soft_cuda::run(&[("delay_us", "300")], |driver| {
        beside_torch(driver, |device| {
            let theirs = raw::create_stream(driver);
            for mode in [GLOBAL, THREAD_LOCAL] {
                raw::begin_capture(driver, theirs, mode);
                make_and_drop_everything(device);
                std::thread::scope(|scope| {
                    scope.spawn(|| make_and_drop_everything(device));
                });
                assert_eq!(raw::end_capture(driver, theirs), 0, "the capture was broken");
            }
            raw::destroy_stream(driver, theirs);
        });
    });
}

#[test]
fn the_threads_capture_mode_stays() {
    soft_cuda::run(&[], |driver| {
        let device = open(0);
        assert_eq!(raw::exchange_capture_mode(driver, THREAD_LOCAL), GLOBAL);
        make_and_drop_everything(&device);
        assert_eq!(raw::exchange_capture_mode(driver, GLOBAL), THREAD_LOCAL);
        std::thread::spawn(move || drop(device)).join().unwrap();
    });
}

/// A tensor is dropped while its stream is captured. What ran there before is waited for, once the capture has ended.
#[test]
fn a_consumer_whose_stream_is_captured_is_waited_for_after_the_capture() {
    soft_cuda::run(&[("delay_us", "3000")], |driver| {
        beside_torch(driver, |device| {
            let theirs = raw::create_stream(driver);
            let writer = Stream::new(device, Priority::High).unwrap();
            let buffer = DeviceMemory::new(device, 64, "a batch").unwrap();
            let fence = BufferFence::new(device);
            raw::fill(driver, buffer.address(), 5, 64, theirs);
            raw::begin_capture(driver, theirs, GLOBAL);
            for _ in 0..2 {
                fence.consumer_done(consumer(theirs));
            }
            assert!(!fence.is_idle().unwrap() && !fence.settle());
            let error = fence.before_write(&writer).unwrap_err();
            assert!(matches!(error, Error::Argument(_)) && error.to_string().contains("CUDA graph"), "{error}");
            assert_eq!(raw::end_capture(driver, theirs), 0, "the capture was broken");
            assert!(fence.settle());
            fence.before_write(&writer).unwrap();
            writer.fill(buffer.all(), 6).unwrap();
            let mut back = [0; 64];
            writer.read(buffer.all(), &mut back).unwrap();
            assert_eq!(back, [6; 64]);
            assert_eq!(driver.calls("cuCtxSynchronize"), 0, "only that stream was waited for");
            raw::destroy_stream(driver, theirs);
        });
    });
}

/// A thread's default stream, captured when its tensor is dropped, is no other thread's: a worker that asks for it waits until
/// the capture has ended, then for the whole context; the thread itself waits for its stream alone.
#[test]
fn a_captured_per_thread_stream_is_not_taken_for_the_asking_threads() {
    soft_cuda::run(&[("delay_us", "3000")], |driver| {
        beside_torch(driver, |device| {
            let writer = Stream::new(device, Priority::High).unwrap();
            let buffer = DeviceMemory::new(device, 64, "a batch").unwrap();
            let fence = &BufferFence::new(device);
            let own = 2 as raw::Handle;
            for by_worker in [false, true] {
                raw::fill(driver, buffer.address(), 5, 64, own);
                raw::begin_capture(driver, own, GLOBAL);
                fence.consumer_done(consumer(own));
                let settle = || match by_worker {
                    true => std::thread::scope(|scope| scope.spawn(|| fence.settle()).join().unwrap()),
                    false => fence.settle(),
                };
                for _ in 0..2 {
                    assert!(!settle(), "by a worker: {by_worker}");
                }
                let error = fence.before_write(&writer).unwrap_err();
                assert!(error.to_string().contains("CUDA graph"), "{error}");
                assert_eq!(raw::end_capture(driver, own), 0, "the capture was broken");
                assert!(settle(), "by a worker: {by_worker}");
                fence.before_write(&writer).unwrap();
                writer.fill(buffer.all(), 6).unwrap();
                let mut back = [0; 64];
                writer.read(buffer.all(), &mut back).unwrap();
                assert_eq!(back, [6; 64]);
                assert_eq!(driver.calls("cuCtxSynchronize"), u64::from(by_worker));
            }
        });
    });
}

/// A fence that cannot name the work goes while another thread's default stream is captured, and lets the capture be.
#[test]
fn a_buffer_is_given_up_by_another_thread_than_the_one_that_captures_its_default_stream() {
    soft_cuda::run(&[], |driver| {
        beside_torch(driver, |device| {
            let own = 2 as raw::Handle;
            let (buffer, fence) = (DeviceMemory::new(device, 64, "a batch").unwrap(), BufferFence::new(device));
            raw::begin_capture(driver, own, GLOBAL);
            fence.consumer_done(consumer(own));
            std::thread::spawn(move || drop((fence, buffer))).join().unwrap();
            assert_eq!(raw::end_capture(driver, own), 0, "the capture was broken");
        });
    });
}

/// The legacy default stream cannot be used while a blocking stream is captured, and asking breaks nothing.
#[test]
fn the_default_stream_beside_a_captured_blocking_stream_is_left_alone() {
    soft_cuda::run(&[], |driver| {
        beside_torch(driver, |device| {
            let theirs = raw::create_blocking_stream(driver);
            let fence = BufferFence::new(device);
            let ready = Stream::new(device, Priority::High).unwrap().record().unwrap();
            raw::begin_capture(driver, theirs, GLOBAL);
            fence.consumer_done(ConsumerStream::parse(None).unwrap());
            let legacy = ConsumerStream::parse(None).unwrap().here().unwrap();
            assert!(legacy.wait(device, &ready).unwrap_err().to_string().contains("legacy default stream"));
            assert!(!fence.settle());
            assert_eq!(raw::end_capture(driver, theirs), 0, "the capture was broken");
            assert!(fence.settle());
            raw::destroy_stream(driver, theirs);
        });
    });
}

#[test]
fn a_captured_stream_is_refused_as_a_consumers_and_its_capture_goes_on() {
    soft_cuda::run(&[], |driver| {
        beside_torch(driver, |device| {
            let theirs = raw::create_stream(driver);
            let ready = Stream::new(device, Priority::High).unwrap().record().unwrap();
            let stream = consumer(theirs).here().unwrap();
            raw::begin_capture(driver, theirs, GLOBAL);
            let error = stream.wait(device, &ready).unwrap_err();
            assert!(matches!(error, Error::Argument(_)), "{error:?}");
            let text = format!("stream {:#x} is being captured into a CUDA graph", theirs as usize);
            assert!(error.to_string().contains(&text), "{error}");
            assert_eq!(raw::end_capture(driver, theirs), 0, "the capture was broken");
            stream.wait(device, &ready).unwrap();
            raw::destroy_stream(driver, theirs);
        });
    });
}

/// A mistake of the consumer's, which the driver answers by giving the capture up; our streams stay out of it.
#[test]
fn an_event_of_a_capture_is_refused() {
    soft_cuda::run_unchecked(&[], |driver| {
        beside_torch(driver, |device| {
            let theirs = raw::create_stream(driver);
            let fence = BufferFence::new(device);
            let aside = Stream::new(device, Priority::Low).unwrap();
            raw::begin_capture(driver, theirs, GLOBAL);
            let event = raw::record_captured_event(driver, theirs);
            let error = fence.wait_for(ForeignEvent::parse(event as i64).unwrap(), &aside).unwrap_err();
            assert!(matches!(error, Error::Argument(_)) && error.to_string().contains("marks no work"), "{error}");
            assert_ne!(raw::end_capture(driver, theirs), 904, "our stream was drawn in");
            assert!(fence.is_idle().unwrap());
            aside.synchronize().unwrap();
            raw::destroy_event(driver, event);
            raw::destroy_stream(driver, theirs);
        });
        driver.assert_nothing_left();
    });
}

/// Who wants no synchronisation is waited for by waiting for everything, which breaks captures: once each time it is tried.
#[test]
fn work_that_cannot_be_named_is_waited_for_when_no_capture_forbids_it() {
    soft_cuda::run_unchecked(&[], |driver| {
        beside_torch(driver, |device| {
            let theirs = raw::create_stream(driver);
            let writer = Stream::new(device, Priority::High).unwrap();
            let fence = BufferFence::new(device);
            fence.consumer_done(ConsumerStream::NoSync);
            raw::begin_capture(driver, theirs, GLOBAL);
            assert!(!fence.settle());
            raw::end_capture(driver, theirs);
            assert!(fence.settle());
            fence.before_write(&writer).unwrap();
            raw::destroy_stream(driver, theirs);
        });
        driver.assert_nothing_left();
    });
}

/// The last owner of a buffer may be the thread that captures: giving it up must not wait for the end of the capture.
#[test]
fn a_buffer_is_given_up_while_its_consumers_stream_is_captured() {
    soft_cuda::run(&[], |driver| {
        beside_torch(driver, |device| {
            let theirs = raw::create_stream(driver);
            let (buffer, fence) = (DeviceMemory::new(device, 64, "a batch").unwrap(), BufferFence::new(device));
            raw::begin_capture(driver, theirs, GLOBAL);
            fence.consumer_done(consumer(theirs));
            drop((fence, buffer));
            assert_eq!(raw::end_capture(driver, theirs), 0, "the capture was broken");
            raw::destroy_stream(driver, theirs);
        });
    });
}
