//! Pipelines leave nothing behind: no thread, no file descriptor, no growing memory. Alone in its process.
#![cfg(target_os = "linux")]

#[path = "pipeline/store.rs"]
#[expect(dead_code, reason = "shared with the other pipeline tests")]
mod store;

use damacy::Pipeline;
use std::time::{Duration, Instant};
use store::{PATIENCE, Store, config, good, row};

fn entries(folder: &str) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// One life of a pipeline, closed in the midst of its work with a batch still held.
fn life(store: &Store) {
    let mut config = config(4, &[1 << 17]);
    config.queues.lookahead_samples = Some(8);
    let pipeline = Pipeline::new(config).unwrap();
    pipeline.push(good((0..400).map(|i| row(store, i, 1 << 17)).collect())).unwrap();
    let batches: Vec<_> = (0..3).map(|_| pipeline.pop(PATIENCE).unwrap()).collect();
    assert!(batches.iter().all(|batch| batch.bytes().len() == 1 << 20));
    pipeline.close();
}

#[test]
fn a_hundred_pipelines_leave_nothing_behind() {
    let store = Store::new(&[200_000], &[20_000]);
    (0..10).for_each(|_| life(&store));
    let before = (entries("/proc/self/task"), entries("/proc/self/fd"), resident_kib());
    (0..100).for_each(|_| life(&store));
    // A joined thread may stay in /proc for a moment.
    let until = Instant::now() + Duration::from_secs(10);
    while entries("/proc/self/task") > before.0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!((entries("/proc/self/task"), entries("/proc/self/fd")), (before.0, before.1));
    let grown = resident_kib().saturating_sub(before.2);
    assert!(grown < 16 << 10, "{grown} KiB more than before; a hundred lives' buffers are 400 MiB");
}
