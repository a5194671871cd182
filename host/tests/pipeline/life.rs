//! Consumers that hold batches, pipelines that close: nothing is overwritten, nothing hangs.

use crate::store::{PATIENCE, Store, as_u16, config, cpu, good, pipeline, random, row, values};
use damacy::{Batch, Pipeline, Sample, Status, Tag};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn holding_every_buffer_starves_and_letting_one_go_helps() {
    let store = Store::new(&[100], &[9]);
    let mut config = config(2, &[5]);
    cpu(&mut config).limits.output_buffers = Some(4);
    config.pop_timeout = Some(Duration::from_millis(50));
    let pipeline = Pipeline::new(config).unwrap();
    pipeline.push(good((0..40).map(|i| row(&store, i, 5)).collect())).unwrap();
    let mut held: Vec<Batch> = (0..4).map(|_| pipeline.pop(PATIENCE).unwrap()).collect();
    let error = pipeline.pop(None).expect_err("all four are held");
    assert!(error.status() == Status::Again && error.is_starved(), "{error}");
    assert!(error.message().contains("4 of 4 output buffers are held"), "{error}");
    let short = pipeline.pop(Some(Duration::from_millis(5))).expect_err("timeout comes first");
    assert!(short.status() == Status::Again && !short.is_starved(), "{short}");
    let view = held[0].data();
    held.remove(0);
    assert!(pipeline.pop(None).expect_err("a view holds it still").is_starved());
    drop(view);
    assert_eq!(pipeline.pop(PATIENCE).unwrap().info().id, 4);
}

#[test]
fn a_held_batch_is_never_written_again() {
    let store = Store::new(&[2000], &[9]);
    let mut config = config(2, &[50]);
    cpu(&mut config).limits.output_buffers = Some(6);
    let pipeline = Pipeline::new(config).unwrap();
    let uri = store.uri();
    let endless =
        (0..).map(move |i: u64| Ok(Sample { uri: uri.clone(), bounds: vec![(i % 1900, i % 1900 + 50)], tag: None }));
    pipeline.push(Box::new(endless)).unwrap();
    let mut random = random(4);
    let mut held: Vec<Batch> = Vec::new();
    let check = |batch: &Batch| {
        let at = |i: u64| (2 * batch.info().id + i) % 1900;
        let expected = [values(&[(at(0), at(0) + 50)]), values(&[(at(1), at(1) + 50)])].concat();
        assert_eq!(as_u16(batch), expected, "batch {}", batch.info().id);
    };
    for _ in 0..1000 {
        if held.len() == 5 {
            let index = random(5) as usize;
            check(&held[index]);
            held.remove(index);
        }
        held.push(pipeline.pop(PATIENCE).unwrap());
    }
    held.iter().for_each(check);
}

#[test]
fn batches_and_views_outlive_their_pipeline() {
    let store = Store::new(&[100], &[9]);
    let pipeline = pipeline(2, &[5]);
    pipeline.push(good((0..8).map(|i| row(&store, i, 5)).collect())).unwrap();
    let first = pipeline.pop(PATIENCE).unwrap();
    let second = pipeline.pop(PATIENCE).unwrap();
    let view = second.data();
    let expected = second.bytes().to_vec();
    drop(second);
    drop(pipeline);
    assert_eq!(as_u16(&first), [values(&[(0, 5)]), values(&[(1, 6)])].concat());
    // SAFETY: the view keeps its bytes alive and nobody writes them.
    assert_eq!(unsafe { std::slice::from_raw_parts(view.as_ptr(), view.len()) }, expected);
    thread::spawn(move || drop((first, view))).join().unwrap();
}

#[test]
fn close_wakes_a_blocked_pop_and_is_final() {
    let store = Store::new(&[100], &[9]);
    let pipeline = pipeline(2, &[5]);
    let (send, receive) = mpsc::channel::<Sample>();
    pipeline.push(Box::new(receive.into_iter().map(Ok))).unwrap();
    thread::scope(|scope| {
        let blocked = scope.spawn(|| pipeline.pop(None));
        let iterating = scope.spawn(|| pipeline.next_batch(None).map(|_| ()));
        thread::sleep(Duration::from_millis(20));
        pipeline.close();
        assert_eq!(blocked.join().unwrap().expect_err("closed").status(), Status::Shutdown);
        assert_eq!(iterating.join().unwrap().expect_err("closed").status(), Status::Shutdown);
    });
    pipeline.close();
    assert_eq!(pipeline.push(good(vec![row(&store, 0, 5)])).expect_err("closed").status(), Status::Shutdown);
    assert_eq!(pipeline.pop(None).expect_err("closed").status(), Status::Shutdown);
    assert_eq!(pipeline.next_batch(None).err().map(|e| e.status()), Some(Status::Shutdown));
    // The iterator that blocked the feeder is still there: it was left behind, and ends now.
    drop(send);
}

#[test]
fn closing_in_the_midst_of_work_returns() {
    let store = Store::new(&[4000], &[3]);
    for _ in 0..20 {
        let pipeline = pipeline(4, &[500]);
        pipeline.push(good((0..400).map(|i| row(&store, 8 * i, 500)).collect())).unwrap();
        let batch = pipeline.pop(PATIENCE).unwrap();
        pipeline.close();
        assert_eq!(as_u16(&batch)[..500], values(&[(0, 500)]));
    }
}

struct CountsDrops(Arc<AtomicUsize>);

impl Drop for CountsDrops {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn closing_lets_go_of_iterators_and_tags() {
    let store = Store::new(&[100], &[9]);
    let drops = Arc::new(AtomicUsize::new(0));
    let pipeline = pipeline(2, &[5]);
    let tagged = |i| Sample { tag: Some(Arc::new(CountsDrops(Arc::clone(&drops))) as Tag), ..row(&store, i, 5) };
    pipeline.push(good((0..21).map(tagged).collect())).unwrap();
    pipeline.push(good((0..9).map(tagged).collect())).unwrap();
    let batch = pipeline.pop(PATIENCE).unwrap();
    pipeline.close();
    assert_eq!(drops.load(Ordering::SeqCst), 28);
    drop(batch);
    assert_eq!(drops.load(Ordering::SeqCst), 30);
}

#[test]
fn an_iterator_may_close_its_own_pipeline() {
    let pipeline = Arc::new(pipeline(2, &[5]));
    let inner = Arc::clone(&pipeline);
    let (send, receive) = mpsc::channel();
    pipeline
        .push(Box::new(std::iter::from_fn(move || {
            inner.close();
            send.send(()).unwrap();
            None
        })))
        .unwrap();
    receive.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(pipeline.pop(None).expect_err("closed").status(), Status::Shutdown);
}

#[test]
fn a_check_ends_a_wait_and_nothing_else() {
    let store = Store::new(&[100], &[9]);
    let pipeline = pipeline(2, &[5]);
    let (send, receive) = mpsc::channel::<Sample>();
    pipeline.push(Box::new(receive.into_iter().map(Ok))).unwrap();
    let mut left = 3;
    let mut check = || {
        left -= 1;
        if left == 0 { Err(damacy::Error::new(Status::Again, "pop", "interrupted")) } else { Ok(()) }
    };
    assert_eq!(pipeline.pop_checked(PATIENCE, &mut check).expect_err("interrupted").message(), "interrupted");
    assert_eq!(left, 0);
    for i in 0..2 {
        send.send(row(&store, i, 5)).unwrap();
    }
    let batch = pipeline.next_batch_checked(PATIENCE, &mut || Ok(())).unwrap().unwrap();
    assert_eq!(batch.info().id, 0);
    drop(send);
    assert!(pipeline.next_batch_checked(PATIENCE, &mut || Ok(())).unwrap().is_none());
}

#[test]
fn a_consumer_that_polls_is_told_that_it_starves() {
    let store = Store::new(&[100], &[9]);
    let mut config = config(2, &[5]);
    cpu(&mut config).limits.output_buffers = Some(2);
    config.pop_timeout = Some(Duration::from_millis(300));
    let pipeline = Pipeline::new(config).unwrap();
    pipeline.push(good((0..40).map(|i| row(&store, i, 5)).collect())).unwrap();
    let mut held: Vec<Batch> = (0..2).map(|_| pipeline.pop(PATIENCE).unwrap()).collect();
    let starves = |timeout: Duration| {
        let begun = Instant::now();
        loop {
            let error = pipeline.pop(Some(timeout)).expect_err("both are held");
            assert!(error.status() == Status::Again && begun.elapsed() < Duration::from_secs(60), "{error}");
            if error.is_starved() {
                return begun.elapsed();
            }
        }
    };
    // Each report begins the time anew.
    for timeout in [50, 0, 20] {
        let waited = starves(Duration::from_millis(timeout));
        assert!(waited >= Duration::from_millis(250), "{waited:?}");
    }
    // So does a buffer that comes back.
    std::thread::sleep(Duration::from_millis(200));
    held.remove(0);
    held.push(pipeline.pop(PATIENCE).unwrap());
    assert!(starves(Duration::from_millis(10)) >= Duration::from_millis(250));
}

struct BlocksWhenDropped(Arc<Mutex<mpsc::Receiver<()>>>);

impl Drop for BlocksWhenDropped {
    fn drop(&mut self) {
        let _ = self.0.lock().unwrap().recv();
    }
}

#[test]
fn closing_does_not_wait_for_the_destructor_of_an_iterator() {
    let store = Store::new(&[100], &[9]);
    let pipeline = pipeline(2, &[5]);
    let (release, blocked) = mpsc::channel();
    let guard = BlocksWhenDropped(Arc::new(Mutex::new(blocked)));
    let uri = store.uri();
    pipeline
        .push(Box::new((0..).map(move |i: u64| {
            let _ = &guard;
            Ok(Sample { uri: Arc::clone(&uri), bounds: vec![(i % 90, i % 90 + 5)], tag: None })
        })))
        .unwrap();
    pipeline.pop(PATIENCE).unwrap();
    // The feeder has pulled all that the look-ahead wants, and rests.
    thread::sleep(Duration::from_millis(100));
    let (send, closed) = mpsc::channel();
    let closing = thread::spawn(move || {
        pipeline.close();
        send.send(()).unwrap();
    });
    let closed = closed.recv_timeout(Duration::from_secs(20));
    drop(release);
    closing.join().unwrap();
    assert!(closed.is_ok(), "close waited for the destructor");
}

#[derive(Debug)]
struct Cause(Arc<AtomicUsize>);

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the cause")
    }
}

impl std::error::Error for Cause {}

impl Drop for Cause {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn closing_lets_go_of_a_sticky_error_and_of_its_cause() {
    let store = Store::new(&[100], &[9]);
    let drops = Arc::new(AtomicUsize::new(0));
    let pipeline = pipeline(2, &[5]);
    let error = damacy::Error::new(Status::Io, "push", "no more").with_source(Cause(Arc::clone(&drops)));
    pipeline.push(Box::new([Ok(row(&store, 0, 5)), Err(error)].into_iter())).unwrap();
    drop(pipeline.pop(PATIENCE).expect_err("the iterator failed"));
    assert_eq!(drops.load(Ordering::SeqCst), 0);
    pipeline.close();
    assert_eq!(drops.load(Ordering::SeqCst), 1);
    assert_eq!(pipeline.pop(None).expect_err("closed").status(), Status::Shutdown);
    assert_eq!(pipeline.next_batch(None).err().map(|e| e.status()), Some(Status::Shutdown));
}

#[test]
fn an_iterator_may_fail_after_the_close() {
    let store = Store::new(&[100], &[9]);
    let mut config = config(2, &[5]);
    config.drop_last = false;
    cpu(&mut config).limits.output_buffers = Some(2);
    let pipeline = Pipeline::new(config).unwrap();
    pipeline.push(good((0..5).map(|i| row(&store, i, 5)).collect())).unwrap();
    // Both buffers are held: the partial batch is wanted, and stays so.
    let _held: Vec<Batch> = (0..2).map(|_| pipeline.pop(PATIENCE).unwrap()).collect();
    assert_eq!(pipeline.next_batch(Some(Duration::from_millis(20))).expect_err("held").status(), Status::Again);
    let (send, receive) = mpsc::channel::<damacy::Result<Sample>>();
    let (began, begins) = mpsc::channel();
    let mut receive = receive.into_iter();
    pipeline
        .push(Box::new(std::iter::from_fn(move || {
            began.send(()).unwrap();
            receive.next()
        })))
        .unwrap();
    begins.recv_timeout(Duration::from_secs(60)).unwrap();
    pipeline.close();
    send.send(Err(damacy::Error::new(Status::Io, "push", "too late"))).unwrap();
    // The iterator is let go of, by a feeder that ends without a panic.
    let until = Instant::now() + Duration::from_secs(60);
    while send.send(Err(damacy::Error::new(Status::Io, "push", "gone"))).is_ok() {
        assert!(Instant::now() < until);
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(pipeline.pop(None).expect_err("closed").message(), "the pipeline is closed");
}
