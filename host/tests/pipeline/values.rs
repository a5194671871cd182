//! Batches hold what the store holds.

use crate::store::{FILL, PATIENCE, Store, as_u16, boxes, config, cpu, good, pipeline, random, value, values};
use damacy::{Dtype, Engine, Pipeline, Sample};

fn random_crops(store: &Store, extent: &[u64], count: usize, seed: u64) -> Vec<Sample> {
    let mut random = random(seed);
    let crop = |random: &mut dyn FnMut(u64) -> u64| -> Vec<(u64, u64)> {
        store.shape.iter().zip(extent).map(|(s, e)| random(s - e + 1)).zip(extent).map(|(at, e)| (at, at + e)).collect()
    };
    (0..count).map(|_| store.sample(&crop(&mut random))).collect()
}

#[test]
fn random_crops_of_odd_grids_are_right_and_aligned() {
    for (shape, chunk, extent) in [
        (vec![1001], vec![10], vec![37]),
        (vec![40, 37], vec![7, 16], vec![9, 20]),
        (vec![17, 19, 23], vec![5, 4, 6], vec![3, 9, 11]),
        (vec![6, 5, 7, 4, 3], vec![2, 5, 3, 1, 2], vec![3, 2, 4, 4, 1]),
    ] {
        let store = Store::new(&shape, &chunk);
        let samples = random_crops(&store, &extent, 40, shape.len() as u64);
        let pipeline = pipeline(8, &extent);
        pipeline.push(good(samples.clone())).unwrap();
        for (id, expected) in samples.chunks(8).enumerate() {
            let batch = pipeline.pop(PATIENCE).unwrap();
            let expected: Vec<u16> = expected.iter().flat_map(|s| values(&s.bounds)).collect();
            assert_eq!(as_u16(&batch), expected);
            assert_eq!(batch.info().id, id as u64);
            assert_eq!(batch.info().shape, [&[8], extent.as_slice()].concat());
            assert_eq!(batch.info().nbytes, batch.bytes().len() as u64);
            assert_eq!(batch.data().as_ptr().addr() % 64, 0);
        }
    }
}

#[test]
fn a_window_decodes_each_chunk_once_and_the_figures_say_so() {
    let store = Store::new(&[16, 16], &[4, 4]);
    let samples = random_crops(&store, &[6, 6], 32, 3);
    let mut unique = std::collections::HashSet::new();
    let mut uses = 0;
    for sample in &samples {
        let touched: Vec<_> = sample.bounds.iter().map(|&(start, stop)| (start / 4, (stop - 1) / 4 + 1)).collect();
        uses += boxes(&touched).len() as u64;
        unique.extend(boxes(&touched));
    }
    let unique = unique.len() as u64;
    // Idle workers wait for samples only so long, so on a loaded machine the samples may come in two windows.
    let (pipeline, stats) = (0..50)
        .find_map(|_| {
            let pipeline = pipeline(4, &[6, 6]);
            pipeline.push(good(samples.clone())).unwrap();
            (0..8).for_each(|_| drop(pipeline.pop(PATIENCE).unwrap()));
            let stats = pipeline.stats();
            (stats.windows == 1).then_some((pipeline, stats))
        })
        .expect("one window of 32 samples");
    assert_eq!((stats.batches, stats.samples), (8, 32));
    assert_eq!((stats.chunks_decoded, stats.decodes_avoided, stats.chunks_missing), (unique, uses - unique, 0));
    assert_eq!((stats.decoded_bytes, stats.read_bytes), (unique * 32, unique * 32));
    assert_eq!((stats.needed_bytes, stats.output_bytes), (32 * 36 * 2, 32 * 36 * 2));
    assert_eq!(stats.decode_waste(), Some(unique as f64 * 32.0 / (32.0 * 72.0)));
    pipeline.reset_stats();
    assert_eq!((pipeline.stats().batches, pipeline.stats().decode_waste()), (0, None));
}

#[test]
fn missing_chunks_read_as_the_fill_value() {
    let store = Store::new(&[12, 12], &[4, 4]);
    std::fs::remove_file(store.chunk_path(&[1, 1])).unwrap();
    let pipeline = pipeline(1, &[12, 12]);
    pipeline.push(good(vec![store.sample(&[(0, 12), (0, 12)])])).unwrap();
    let batch = pipeline.pop(PATIENCE).unwrap();
    let expected: Vec<u16> = boxes(&[(0, 12), (0, 12)])
        .iter()
        .map(|at| if at.iter().all(|i| (4..8).contains(i)) { FILL } else { value(at) })
        .collect();
    assert_eq!(as_u16(&batch), expected);
    assert_eq!((pipeline.stats().chunks_missing, pipeline.stats().chunks_decoded), (1, 8));
}

#[test]
fn values_are_converted_by_both_engines() {
    let store = Store::new(&[30, 30], &[8, 8]);
    std::fs::remove_file(store.chunk_path(&[0, 0])).unwrap();
    let samples = random_crops(&store, &[20, 20], 6, 9);
    let at = |coords: &Vec<u64>| if coords.iter().all(|&i| i < 8) { FILL } else { value(coords) };
    let expected: Vec<u16> = samples.iter().flat_map(|s| boxes(&s.bounds)).map(|c| at(&c)).collect();
    for engine in [Engine::Native, Engine::Sandbox] {
        for dtype in [Dtype::F32, Dtype::U8, Dtype::I64] {
            let mut config = config(2, &[20, 20]);
            config.output.dtype = dtype;
            cpu(&mut config).engine = engine;
            let pipeline = Pipeline::new(config).unwrap();
            pipeline.push(good(samples.clone())).unwrap();
            let bytes: Vec<u8> = (0..3).flat_map(|_| pipeline.pop(PATIENCE).unwrap().bytes().to_vec()).collect();
            let expected: Vec<u8> = expected
                .iter()
                .flat_map(|&v| match dtype {
                    Dtype::F32 => f32::from(v).to_ne_bytes().to_vec(),
                    Dtype::U8 => vec![v.min(255) as u8],
                    _ => i64::from(v).to_ne_bytes().to_vec(),
                })
                .collect();
            assert!(bytes == expected, "{engine:?} {dtype}");
        }
    }
}

#[test]
fn an_array_without_axes_gives_batches_of_one_axis() {
    let store = Store::new(&[], &[]);
    let pipeline = pipeline(3, &[]);
    pipeline.push(good(vec![store.sample(&[]); 3])).unwrap();
    let batch = pipeline.pop(PATIENCE).unwrap();
    assert_eq!((as_u16(&batch), batch.info().shape.as_slice()), (vec![value(&[]); 3], &[3][..]));
}

#[test]
fn samples_of_many_arrays_mix_in_a_batch() {
    let stores: Vec<Store> = (1..=5).map(|chunk| Store::new(&[50], &[chunk * 3])).collect();
    let samples: Vec<Sample> = (0..40).map(|i| stores[i * 7 % 5].sample(&[(i as u64, i as u64 + 10)])).collect();
    let pipeline = pipeline(4, &[10]);
    pipeline.push(good(samples.clone())).unwrap();
    for expected in samples.chunks(4) {
        let expected: Vec<u16> = expected.iter().flat_map(|s| values(&s.bounds)).collect();
        assert_eq!(as_u16(&pipeline.pop(PATIENCE).unwrap()), expected);
    }
}
