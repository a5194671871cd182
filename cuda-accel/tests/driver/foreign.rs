//! Consumers' streams and events: whose work waits for whose, and handles that are none.

use damacy_cuda::{BufferFence, ConsumerStream, DeviceMemory, Event, ForeignEvent, ForeignStream, Priority, Stream};

use crate::{driver_error, open, raw, soft_cuda};

fn consumer(handle: i64) -> ForeignStream {
    match ConsumerStream::parse(Some(handle)).unwrap() {
        ConsumerStream::Stream(stream) => stream,
        ConsumerStream::PerThread(_) => ForeignStream::PER_THREAD,
        ConsumerStream::NoSync => panic!("a stream was given"),
    }
}

/// A consumer on each kind of stream fills the buffer after our write, and our next write comes after its fill.
#[test]
fn consumers_and_writers_take_turns_on_every_kind_of_stream() {
    soft_cuda::run(&[("delay_us", "2000")], |driver| {
        let device = open(0);
        raw::retain_primary(driver, 0);
        let own = raw::create_stream(driver);
        let writer = Stream::new(&device, Priority::High).unwrap();
        let buffer = DeviceMemory::new(&device, 64, "a batch").unwrap();
        let fence = BufferFence::new(&device);
        for handle in [1, 2, own as i64] {
            for round in 0..3 {
                fence.before_write(&writer).unwrap();
                writer.fill(buffer.all(), round).unwrap();
                let ready = writer.record().unwrap();
                consumer(handle).wait(&device, &ready).unwrap();
                raw::fill(driver, buffer.address(), 100 + round, 32, handle as raw::Handle);
                fence.consumer_done(ConsumerStream::parse(Some(handle)).unwrap());
            }
            let mut back = [0; 64];
            fence.before_write(&writer).unwrap();
            writer.read(buffer.all(), &mut back).unwrap();
            assert_eq!((back[0], back[63]), (102, 2), "stream {handle}");
        }
        assert!(fence.is_idle().unwrap());
        raw::destroy_stream(driver, own);
        raw::set_current(driver, std::ptr::null_mut());
        raw::release_primary(driver, 0);
    });
}

/// The per-thread default stream of the thread that drops a tensor last is not the one that used it.
#[test]
fn a_tensor_of_a_per_thread_stream_may_be_dropped_on_another_thread() {
    soft_cuda::run(&[("delay_us", "2000")], |driver| {
        let device = open(0);
        raw::retain_primary(driver, 0);
        let writer = Stream::new(&device, Priority::High).unwrap();
        let buffer = DeviceMemory::new(&device, 64, "a batch").unwrap();
        let fence = &BufferFence::new(&device);
        raw::fill(driver, buffer.address(), 5, 64, 2 as raw::Handle);
        std::thread::scope(|scope| {
            let stream = ConsumerStream::parse(Some(2)).unwrap();
            scope.spawn(move || fence.consumer_done(stream));
        });
        fence.before_write(&writer).unwrap();
        writer.fill(buffer.all(), 6).unwrap();
        let mut back = [0; 64];
        writer.read(buffer.all(), &mut back).unwrap();
        assert_eq!(back, [6; 64]);
        raw::set_current(driver, std::ptr::null_mut());
        raw::release_primary(driver, 0);
    });
}

#[test]
fn an_event_given_to_release_may_be_destroyed_at_once() {
    soft_cuda::run(&[("delay_us", "2000")], |driver| {
        let device = open(0);
        raw::retain_primary(driver, 0);
        let own = raw::create_stream(driver);
        let writer = Stream::new(&device, Priority::High).unwrap();
        let buffer = DeviceMemory::new(&device, 64, "a batch").unwrap();
        let fence = BufferFence::new(&device);
        let aside = Stream::new(&device, Priority::Low).unwrap();
        for round in 0..5 {
            fence.before_write(&writer).unwrap();
            writer.fill(buffer.all(), round).unwrap();
            consumer(own as i64).wait(&device, &writer.record().unwrap()).unwrap();
            raw::fill(driver, buffer.address(), 100 + round, 32, own);
            let event = raw::record_event(driver, own);
            fence.wait_for(ForeignEvent::parse(event as i64).unwrap(), &aside).unwrap();
            raw::destroy_event(driver, event);
        }
        let mut back = [0; 64];
        fence.before_write(&writer).unwrap();
        writer.read(buffer.all(), &mut back).unwrap();
        assert_eq!((back[0], back[63]), (104, 4));
        raw::destroy_stream(driver, own);
        raw::set_current(driver, std::ptr::null_mut());
        raw::release_primary(driver, 0);
    });
}

#[test]
fn a_consumer_that_wants_no_synchronisation_is_waited_for_all_the_same() {
    soft_cuda::run(&[("delay_us", "2000")], |driver| {
        let device = open(0);
        raw::retain_primary(driver, 0);
        let own = raw::create_stream(driver);
        let writer = Stream::new(&device, Priority::High).unwrap();
        let buffer = DeviceMemory::new(&device, 64, "a batch").unwrap();
        let fence = BufferFence::new(&device);
        raw::fill(driver, buffer.address(), 9, 64, own);
        fence.consumer_done(ConsumerStream::parse(Some(-1)).unwrap());
        assert!(!fence.is_idle().unwrap());
        fence.before_write(&writer).unwrap();
        writer.fill(buffer.all(), 1).unwrap();
        assert!(fence.is_idle().unwrap());
        raw::destroy_stream(driver, own);
        raw::set_current(driver, std::ptr::null_mut());
        raw::release_primary(driver, 0);
    });
}

#[test]
fn handles_that_are_none_are_named_in_the_error() {
    soft_cuda::run_unchecked(&[], |driver| {
        let device = open(0);
        let writer = Stream::new(&device, Priority::High).unwrap();
        let ready = writer.record().unwrap();
        let error = driver_error(consumer(0x7777_0000).wait(&device, &ready));
        assert_eq!((error.call, error.code, error.is_sticky()), ("cuStreamIsCapturing", 400, false));
        assert!(error.to_string().contains("0x77770000") && error.to_string().contains("INVALID_HANDLE"), "{error}");
        let error = driver_error(consumer(0x7777_0000).record(&device));
        assert_eq!((error.call, error.code), ("cuEventRecord", 400));
        let fence = BufferFence::new(&device);
        let error = driver_error(fence.wait_for(ForeignEvent::parse(0x8888_0000).unwrap(), &writer));
        assert!(
            error.to_string().contains("0x88880000") && error.to_string().contains("event given to release"),
            "{error}"
        );
        assert!(fence.is_idle().unwrap(), "nothing to wait for was added");
        // A consumer that destroyed its stream: the buffer's next use waits for everything instead.
        raw::retain_primary(driver, 0);
        let own = raw::create_stream(driver);
        raw::destroy_stream(driver, own);
        fence.consumer_done(ConsumerStream::Stream(consumer(own as i64)));
        assert!(!fence.is_idle().unwrap());
        fence.before_write(&writer).unwrap();
        assert!(fence.is_idle().unwrap());
        raw::set_current(driver, std::ptr::null_mut());
        raw::release_primary(driver, 0);
        crate::resources::still_works(&device);
    });
}

#[test]
fn a_stream_of_another_context_gives_a_clear_error() {
    soft_cuda::run_unchecked(&[("devices", "2")], |driver| {
        let device = open(0);
        let context = raw::create_context(driver, 1);
        let theirs = raw::create_stream(driver);
        let ready = Event::new(&device).unwrap();
        for error in [consumer(theirs as i64).record(&device).map(drop), consumer(theirs as i64).wait(&device, &ready)]
        {
            let error = driver_error(error);
            assert!(error.to_string().contains("must be a live stream of device 0"), "{error}");
        }
        assert_eq!(raw::current(driver), context);
        crate::resources::still_works(&device);
        raw::destroy_stream(driver, theirs);
        raw::destroy_context(driver, context);
    });
}
