//! The output memory of a closed pipeline serves the next one of the process. Alone in its process.
#![cfg(target_os = "linux")]

#[path = "pipeline/store.rs"]
#[expect(dead_code, reason = "shared with the other pipeline tests")]
mod store;

use damacy::Pipeline;
use store::{PATIENCE, Store, as_u16, config, cpu, good, row, values};

/// Pops two batches of a sample each and holds both, so that there are two buffers; answers where they lie and the bytes
/// that were new.
fn life(store: &Store, len: u64, start: u64) -> (Vec<usize>, u64) {
    let mut config = config(1, &[len]);
    cpu(&mut config).limits.output_buffers = Some(2);
    let pipeline = Pipeline::new(config).unwrap();
    pipeline.push(good((0..2).map(|i| row(store, start + i, len)).collect())).unwrap();
    let batches: Vec<_> = (0..2).map(|_| pipeline.pop(PATIENCE).unwrap()).collect();
    for (i, batch) in (0..2).zip(&batches) {
        assert_eq!(as_u16(batch), values(&[(start + i, start + i + len)]));
    }
    let mut places: Vec<usize> = batches.iter().map(|batch| batch.data().as_ptr().addr()).collect();
    places.sort_unstable();
    let new = pipeline.stats().allocated_bytes;
    drop(batches);
    pipeline.close();
    (places, new)
}

#[test]
fn the_next_pipeline_takes_over_the_memory_of_the_last() {
    const LEN: u64 = 1 << 20;
    let store = Store::new(&[3 << 20], &[1 << 19]);
    let (first, new) = life(&store, LEN, 0);
    assert_eq!(new, 2 * 2 * LEN);
    // The same blocks, with other values in them: whatever they held is overwritten.
    assert_eq!(life(&store, LEN, 7), (first.clone(), 0));

    // What somebody still looks at is not taken over.
    let pipeline = Pipeline::new(config(1, &[LEN])).unwrap();
    pipeline.push(good(vec![row(&store, 99, LEN)])).unwrap();
    let held = pipeline.pop(PATIENCE).unwrap();
    assert!(first.contains(&held.data().as_ptr().addr()));
    pipeline.close();
    let (places, new) = life(&store, LEN, 12345);
    assert_eq!(new, 2 * LEN);
    assert!(!places.contains(&held.data().as_ptr().addr()));
    assert_eq!(as_u16(&held), values(&[(99, 99 + LEN)]));
    drop(held);

    // A pipeline with other batches frees them, so that no more than the last one's is kept.
    let (_, new) = life(&store, LEN + 4096, 0);
    assert_eq!(new, 2 * 2 * (LEN + 4096));
    let (_, new) = life(&store, LEN, 0);
    assert_eq!(new, 2 * 2 * LEN);
}
