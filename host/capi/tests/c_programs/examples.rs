//! The examples, against elements that numpy has and chunks counted one by one.

use crate::support::{Fixture, Linkage, command, compile, compile_text, fixture, run, sharded, text};
use std::fs;
use std::ops::Range;

const SHAPE: [u64; 3] = [9, 20, 12];
const CHUNK: [u64; 3] = [2, 5, 6];
const SHARD: [u64; 3] = [4, 10, 12];

fn crop_of<T: Clone>(elements: &[T], shape: [u64; 3], crop: &[Range<u64>; 3]) -> Vec<T> {
    let [z, y, x] = crop.clone();
    let mut cropped = Vec::new();
    for (z, y, x) in z.flat_map(|z| y.clone().map(move |y| (z, y))).flat_map(|(z, y)| x.clone().map(move |x| (z, y, x)))
    {
        cropped.push(elements[((z * shape[1] + y) * shape[2] + x) as usize].clone());
    }
    cropped
}

fn intervals(crop: &[Range<u64>; 3]) -> [String; 3] {
    crop.clone().map(|axis| format!("{},{}", axis.start, axis.end))
}

fn elements(fixture: &Fixture) -> Vec<u16> {
    let bytes = fs::read(&fixture.values).unwrap();
    bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()
}

/// The example's seven crops, of an array of `shape`, as bytes of `dtype`.
fn batches(fixture: &Fixture, shape: [u64; 3], dtype: &str, linkage: Linkage, convert: impl Fn(u16) -> Vec<u8>) {
    let crop = [1..5, 3..15, 2..9];
    let output = run(command(compile("batches", linkage)).arg(&fixture.store).arg(dtype).args(intervals(&crop)));
    let expected: Vec<u8> = crop_of(&elements(fixture), shape, &crop).into_iter().flat_map(convert).collect();
    assert!(output.stdout == expected.repeat(7), "{dtype}: other elements than numpy's");
    let said = text(&output.stderr);
    assert!(said.contains("batch 0: ") && said.contains("(2, 4, 12, 7)") && said.contains("samples: first second\n"));
    assert!(said.contains("batch 3: ") && said.contains("(1, 4, 12, 7)") && said.contains("7 samples in 4 batches"));
}

#[test]
#[ignore = "make test-c"]
fn batches_have_the_elements_that_numpy_has() {
    let shard = sharded();
    batches(&shard, SHAPE, "float32", Linkage::Shared, |e| f32::from(e).to_le_bytes().to_vec());
    batches(&shard, SHAPE, "u8", Linkage::Static, |e| vec![e.min(255) as u8]);
    batches(&shard, SHAPE, "I16", Linkage::Shared, |e| (e.min(32767) as i16).to_le_bytes().to_vec());
    let fortran = fixture("v2-fortran-big", "uint16_7x10x12_c0a8d620.bin");
    let listed = fs::read_to_string(fortran.store.join("../../fixtures.json")).unwrap();
    let at = listed.find("\"name\": \"v2-fortran-big\"").unwrap();
    assert!(listed[at..].lines().nth(1).unwrap().contains("uint16_7x10x12_c0a8d620.bin"), "the fixtures have changed");
    let crop = [0..7, 0..10, 5..12];
    let output =
        run(command(compile("batches", Linkage::Shared)).arg(&fortran.store).arg("u64").args(intervals(&crop)));
    let expected: Vec<u8> =
        crop_of(&elements(&fortran), [7, 10, 12], &crop).into_iter().flat_map(|e| u64::from(e).to_le_bytes()).collect();
    assert!(output.stdout == expected.repeat(7));
}

#[test]
#[ignore = "make test-c"]
fn the_examples_exit_with_the_status_and_say_why() {
    let shard = sharded();
    for (array, dtype, crop, status, part) in [
        (shard.store.as_path(), "float64", ["0,1", "0,1", "0,1"], 12, "float32 (f32)"),
        (shard.store.as_path(), "u8", ["8,10", "0,1", "0,1"], 12, "INVAL: "),
        ("/no/such/array".as_ref(), "u8", ["0,1", "0,1", "0,1"], 13, "/no/such/array"),
    ] {
        let output = command(compile("batches", Linkage::Shared)).arg(array).arg(dtype).args(crop).output().unwrap();
        assert_eq!(output.status.code(), Some(status));
        assert!(text(&output.stderr).contains(part), "{}", text(&output.stderr));
    }
}

/// Chunks that a crop of one axis touches.
fn touched(axis: usize, crop: Range<u64>) -> Range<u64> {
    crop.start / CHUNK[axis]..(crop.end - 1) / CHUNK[axis] + 1
}

#[test]
#[ignore = "make test-c"]
fn plans_and_prices_are_those_of_counting() {
    let shard = sharded();
    let crop = [0..3, 4..11, 2..9];
    let output = run(command(compile("plan", Linkage::Shared)).arg(&shard.store).arg("f32").args(intervals(&crop)));
    let again = run(command(compile("plan", Linkage::Static)).arg(&shard.store).arg("f32").args(intervals(&crop)));
    assert_eq!(text(&output.stdout), text(&again.stdout));
    let lines: Vec<&str> = text(&output.stdout).lines().collect();

    let (extent, chunk_elements) = (crop.clone().map(|axis| axis.end - axis.start), CHUNK.iter().product::<u64>());
    let [z, y, x] = [0, 1, 2].map(|axis| touched(axis, crop[axis].clone()));
    let mut chunks = Vec::new();
    for chunk in z.flat_map(|z| y.clone().map(move |y| (z, y))).flat_map(|(z, y)| x.clone().map(move |x| [z, y, x])) {
        let key = [0, 1, 2].map(|axis| chunk[axis] * CHUNK[axis] / SHARD[axis]);
        let key = format!("c/{}/{}/{}", key[0], key[1], key[2]);
        assert!(shard.store.join(&key).exists(), "{key}");
        chunks.push((key.clone(), format!("chunk {} {} {} in {key}", chunk[0], chunk[1], chunk[2])));
    }
    // One shard after the other, as they are read.
    chunks.sort();
    let waste = (chunks.len() as u64 * chunk_elements) as f64 / extent.iter().product::<u64>() as f64;
    let count = chunks.len();
    assert_eq!(lines[0], format!("uint16 array of 3 axes, {count} chunks, decode waste {waste:.2}"));
    let listed: Vec<&str> = chunks.iter().map(|(_, line)| line.as_str()).collect();
    assert_eq!(lines[1..=count], listed);

    // Random crops: each chunk's probability, counted start by start.
    let [pz, py, px] = [0, 1, 2].map(|axis| {
        let starts = SHAPE[axis] - extent[axis] + 1;
        let mut counts = vec![0.0; SHAPE[axis].div_ceil(CHUNK[axis]) as usize];
        for start in 0..starts {
            touched(axis, start..start + extent[axis]).for_each(|chunk| counts[chunk as usize] += 1.0 / starts as f64);
        }
        counts
    });
    let mut uses = 0.0;
    let mut different = 0.0;
    for p in pz.iter().flat_map(|z| py.iter().map(move |y| z * y)).flat_map(|zy| px.iter().map(move |x| zy * x)) {
        uses += p;
        different += 1.0 - (1.0_f64 - p).powi(64);
    }
    let waste = different * chunk_elements as f64 / (64 * extent.iter().product::<u64>()) as f64;
    let priced = format!("random crops, windows of 64: {uses:.1} chunks a crop, decode waste {waste:.2}, host memory ");
    assert!(lines[count + 1].starts_with(&priced), "{priced}: {}", lines[count + 1]);
    assert!(lines[count + 2].starts_with("better chunks: ") && lines[count + 3].starts_with("look ahead "));
}

#[test]
#[ignore = "make test-c"]
fn a_pool_admits_four_tenants_and_refuses_a_fifth() {
    for linkage in [Linkage::Shared, Linkage::Static] {
        let output = run(command(compile("pool", linkage)).arg(sharded().store));
        let lines: Vec<&str> = text(&output.stdout).lines().collect();
        // A crop of a chunk's shape that starts at 1 touches two chunks along each axis.
        assert!(lines[0].starts_with("8 chunks for one crop; random crops: "), "{lines:?}");
        assert!(lines[1].starts_with("DECODE, invalid: tenant mallory: "), "{lines:?}");
        assert!(lines[2].starts_with("BUDGET, input_bytes, limit 65536, asked 1048576: "), "{lines:?}");
        assert!(lines[3].starts_with("BUDGET, samples, limit 4096, asked 5000: "), "{lines:?}");
        let tenants = ["lab 0", "lab 1", "lab 2", "lab 3"].map(|name| format!("{name}: 33 calls, 0 refused"));
        assert_eq!(lines[4..8], tenants);
        assert_eq!(lines[8..], ["mallory: 3 calls, 3 refused"]);
    }
}

#[test]
#[ignore = "make test-c"]
fn the_pools_rates_are_measured() {
    let output = run(command(compile("pool_rate", Linkage::Shared)).arg("0.01"));
    assert_eq!(text(&output.stdout).lines().filter(|line| line.contains(" a second, ")).count(), 5);
}

#[test]
#[ignore = "make test-c"]
fn the_program_of_the_guide_runs() {
    let guide = include_str!("../../../../docs/c-api.md");
    let program = guide.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let program = run(command(compile_text("guide", program)).arg(sharded().store));
    assert_eq!(text(&program.stdout), "4 axes, 1024 bytes of bfloat16\n");
}
