//! A forked child refuses its parent's pipeline in one clear sentence, may drop it, and may make its own.
#![cfg(unix)]

#[path = "pipeline/store.rs"]
#[expect(dead_code, reason = "shared with the other pipeline tests")]
mod store;

use damacy::{Batch, Pipeline, Status};
use std::time::{Duration, Instant};
use store::{PATIENCE, Store, as_u16, good, pipeline, row, values};

/// What the child finds wrong, as an exit status; 0 is right.
fn child(parents: Pipeline, batch: Batch, store: &Store) -> i32 {
    let refused = |error: Option<damacy::Error>| {
        error.is_some_and(|e| e.status() == Status::Inval && e.message().contains("new pipeline in the child"))
    };
    if !refused(parents.pop(None).err()) || !refused(parents.next_batch(None).err()) {
        return 1;
    }
    if !refused(parents.push(good(vec![])).err()) || parents.stats().batches != 0 {
        return 2;
    }
    if as_u16(&batch)[..5] != values(&[(0, 5)]) {
        return 3;
    }
    parents.reset_stats();
    parents.close();
    drop(parents);
    drop(batch);
    let own = pipeline(2, &[5]);
    if own.push(good((0..4).map(|i| row(store, i, 5)).collect())).is_err() {
        return 4;
    }
    match own.pop(PATIENCE) {
        Ok(batch) if as_u16(&batch)[..5] == values(&[(0, 5)]) => 0,
        _ => 5,
    }
}

#[test]
fn a_forked_child_refuses_its_parents_pipeline_and_makes_its_own() {
    let store = Store::new(&[100], &[9]);
    let parents = pipeline(2, &[5]);
    parents.push(good((0..80).map(|i| row(&store, i, 5)).collect())).unwrap();
    let batch = parents.pop(PATIENCE).unwrap();
    // SAFETY: the child runs only code that is made for forked children, and leaves through _exit.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| child(parents, batch, &store)));
        // SAFETY: ends the child without the parent's exit handlers.
        unsafe { libc::_exit(outcome.unwrap_or(6)) };
    }
    let until = Instant::now() + Duration::from_secs(60);
    let mut status = 0;
    loop {
        // SAFETY: `status` is a valid place for the result.
        match unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) } {
            0 if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            0 => {
                // SAFETY: `pid` is our own child, which has not been waited for.
                unsafe { libc::kill(pid, libc::SIGKILL) };
                panic!("the child hangs");
            }
            _ => break,
        }
    }
    assert_eq!((libc::WIFEXITED(status), libc::WEXITSTATUS(status)), (true, 0));
    assert_eq!(as_u16(&batch)[..5], values(&[(0, 5)]));
    assert_eq!(parents.pop(PATIENCE).unwrap().info().id, 1);
}
