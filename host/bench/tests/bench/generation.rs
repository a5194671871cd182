//! Generated arrays: the same bytes for the same seed, the same elements in every layout, a ratio as stated.

use damacy::SourceType;
use damacy::zarr::{Array, NativeParser, Scratch};
use damacy_bench::dataset::{Dataset, generate};
use damacy_bench::progress::Progress;
use damacy_bench::scenario::{Codec, Format, Generate, SourceName};
use std::collections::BTreeMap;
use std::path::Path;

fn layout() -> Generate {
    Generate {
        arrays: 3,
        shape: vec![20, 30, 70],
        chunks: vec![8, 16, 32],
        shards: Some(vec![16, 16, 64]),
        dtypes: [SourceType::U16, SourceType::I8, SourceType::F32].map(SourceName).to_vec(),
        codecs: vec![Codec::Zstd, Codec::BloscLz4],
        entropy: 0.3,
        ..Generate::default()
    }
}

fn made(layout: &Generate) -> Dataset {
    generate(layout, None, 2, &Progress::new(true)).unwrap_or_else(|failure| panic!("{failure:?}"))
}

/// Every file below the arrays' folder.
fn files(data: &Dataset) -> BTreeMap<String, Vec<u8>> {
    let root = Path::new(&*data.uris[0]).parent().unwrap().to_owned();
    let (mut found, mut todo) = (BTreeMap::new(), vec![root.clone()]);
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else {
                found.insert(
                    path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned(),
                    std::fs::read(&path).unwrap(),
                );
            }
        }
    }
    found
}

/// All elements, C order, by the reader.
fn elements(uri: &str) -> Vec<u8> {
    let array = Array::open(uri, &mut NativeParser).unwrap();
    let metadata = array.metadata();
    let (shape, chunk, width) = (&metadata.shape, metadata.chunk_shape(), metadata.source.unwrap().width());
    let mut scratch = Scratch::default();
    let mut all = vec![0; shape.iter().product::<u64>() as usize * width];
    let grid: Vec<u64> = shape.iter().zip(chunk).map(|(s, c)| s.div_ceil(*c)).collect();
    for number in 0..grid.iter().product() {
        let at = [number / grid[2] / grid[1], number / grid[2] % grid[1], number % grid[2]];
        let encoded = array.fetch(&at, u64::MAX, Vec::new(), &mut 0).unwrap().expect("a chunk that is there");
        let decoded = array.decode(&encoded, &mut scratch).unwrap();
        for (index, element) in (0u64..).zip(decoded.chunks_exact(width)) {
            let inside = [index / chunk[2] / chunk[1], index / chunk[2] % chunk[1], index % chunk[2]];
            let place: Vec<u64> = (0..3).map(|axis| at[axis] * chunk[axis] + inside[axis]).collect();
            if place.iter().zip(shape).all(|(p, s)| p < s) {
                let flat = ((place[0] * shape[1] + place[1]) * shape[2] + place[2]) as usize;
                all[flat * width..][..width].copy_from_slice(element);
            }
        }
    }
    all
}

#[test]
fn a_seed_gives_the_same_bytes_by_any_number_of_threads_and_another_seed_others() {
    let one = files(&made(&layout()));
    let again = generate(&layout(), None, 5, &Progress::new(true)).unwrap_or_else(|failure| panic!("{failure:?}"));
    assert_eq!(one, files(&again));
    let other = files(&made(&Generate { seed: 1, ..layout() }));
    assert_ne!(one["array-0.zarr/c/0/0/0"], other["array-0.zarr/c/0/0/0"]);
    assert_eq!(one["array-0.zarr/zarr.json"], other["array-0.zarr/zarr.json"]);
}

#[test]
fn elements_do_not_depend_on_layout_format_or_codec() {
    let one = made(&layout());
    let expected: Vec<Vec<u8>> = one.uris.iter().map(|uri| elements(uri)).collect();
    let v2 =
        |codec| Generate { format: Format::V2, shards: None, chunks: vec![7, 30, 11], codecs: vec![codec], ..layout() };
    let v3 = |codec| Generate { shards: None, codecs: vec![codec], ..layout() };
    let both = [Codec::None, Codec::Zstd, Codec::Gzip, Codec::BloscLz4, Codec::BloscZstd];
    let all = both.iter().flat_map(|codec| [v2(*codec), v3(*codec)]);
    for other in all.chain([v2(Codec::Zlib), v2(Codec::Bz2), v3(Codec::ZstdCrc32c)]) {
        let data = made(&other);
        for (array, expected) in data.uris.iter().zip(&expected) {
            assert!(elements(array) == *expected, "{array} of {other:?}");
        }
    }
}

/// Encoded over decoded bytes of one array.
fn ratio(source: SourceType, codec: Codec, entropy: f64) -> f64 {
    let layout = Generate {
        shape: vec![64, 128, 128],
        chunks: vec![32, 64, 64],
        dtypes: vec![SourceName(source)],
        codecs: vec![codec],
        entropy,
        ..Generate::default()
    };
    let fact = made(&layout).facts().arrays.remove(0);
    fact.encoded_bytes.unwrap() as f64 / fact.decoded_bytes as f64
}

#[test]
fn no_codec_gets_below_the_entropy() {
    for source in SourceType::ALL {
        // Of a float the mantissa alone is random.
        let most = match source {
            SourceType::F16 => 10.0 / 16.0,
            SourceType::F32 => 23.0 / 32.0,
            _ => 1.0,
        };
        for codec in [Codec::Zstd, Codec::Gzip, Codec::BloscZstd] {
            for entropy in [0.1, 0.5, 1.0] {
                let found = ratio(source, codec, entropy);
                assert!(
                    found > f64::min(entropy, most) - 1e-3,
                    "{} {codec:?} {entropy}: {found:.3}",
                    source.full_name()
                );
            }
        }
    }
}

#[test]
fn ratios_are_those_of_the_documentation() {
    let document = include_str!("../../../../docs/bench.md");
    let row = |start: &str| -> Vec<f64> {
        let line = document.lines().find(|line| line.starts_with(start)).expect("a row");
        line.split('|').filter_map(|cell| cell.trim().parse().ok()).collect()
    };
    let entropies = row("| `entropy`");
    assert_eq!(entropies.len(), 8);
    for (name, codec) in [
        ("| zstd", Codec::Zstd),
        ("| gzip", Codec::Gzip),
        ("| blosc-lz4", Codec::BloscLz4),
        ("| blosc-zstd", Codec::BloscZstd),
    ] {
        for (entropy, stated) in entropies.iter().zip(row(name)) {
            let found = ratio(SourceType::U16, codec, *entropy);
            assert!((found - stated).abs() < 0.015, "{name} at {entropy}: {found:.3}");
        }
    }
}

#[test]
fn sizes_are_those_of_the_chunks_files() {
    let layout = Generate { shards: None, ..layout() };
    let data = made(&layout);
    let files = files(&data);
    for array in 0..3 {
        let sizes = data.sizes[array].as_ref().unwrap();
        let grid = [3, 2, 3];
        for (number, size) in sizes.iter().enumerate() {
            let key =
                format!("array-{array}.zarr/c/{}/{}/{}", number / 6, number / grid[2] % grid[1], number % grid[2]);
            assert_eq!(files[&key].len() as u64, *size, "{key}");
        }
    }
}

#[test]
fn kept_data_is_used_again_unless_something_of_it_is_missing() {
    let keep = tempfile::tempdir().unwrap();
    let make = |layout: &Generate| {
        generate(layout, Some(keep.path()), 2, &Progress::new(true)).unwrap_or_else(|failure| panic!("{failure:?}"))
    };
    let one = make(&layout());
    assert!(one.generate_s.is_some());
    let again = make(&layout());
    assert_eq!((again.generate_s, &again.uris, &again.sizes), (None, &one.uris, &one.sizes));
    assert!(make(&Generate { seed: 9, ..layout() }).generate_s.is_some());
    let chunk = Path::new(&*one.uris[0]).join("c/0/0/0");
    let bytes = std::fs::read(&chunk).unwrap();
    std::fs::remove_file(&chunk).unwrap();
    assert!(make(&layout()).generate_s.is_some());
    assert_eq!(std::fs::read(&chunk).unwrap(), bytes);
    let left = names(keep.path());
    assert!(left.len() == 3 && left[0] == ".damacy-bench.lock", "{left:?}");
}

/// What is in a folder, by name.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn runs_that_repair_the_same_kept_data_at_the_same_time_all_find_it_whole() {
    let keep = tempfile::tempdir().unwrap();
    let make = || {
        generate(&layout(), Some(keep.path()), 1, &Progress::new(true)).unwrap_or_else(|failure| panic!("{failure:?}"))
    };
    let whole = files(&make());
    for _ in 0..3 {
        let incomplete = Path::new(&*make().uris[0]).join("c/0/0/0");
        std::fs::remove_file(&incomplete).unwrap();
        let found = std::thread::scope(|scope| {
            // Each looks at the files of what it was given, at once.
            let run = || {
                let data = make();
                (data.generate_s.is_some(), files(&data) == whole)
            };
            let runs: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(found.iter().all(|(_, same)| *same), "{found:?}");
        assert_eq!(found.iter().filter(|(made, _)| *made).count(), 1, "{found:?}");
    }
}

#[test]
fn what_a_killed_run_has_left_is_removed_and_nothing_else() {
    let keep = tempfile::tempdir().unwrap();
    let folder = |name: &str, minutes: u64, marked: bool| {
        let path = keep.path().join(name);
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("chunk"), [1]).unwrap();
        if marked {
            std::fs::write(path.join(".damacy-bench.temporary"), []).unwrap();
        }
        let opened = std::fs::File::open(&path).unwrap();
        opened.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(60 * minutes)).unwrap();
        opened
    };
    let left = folder(".damacy-bench-left", 5, true);
    drop(left);
    let used = folder(".damacy-bench-used", 5, true);
    used.lock().unwrap();
    folder(".damacy-bench-young", 0, true);
    // A name that a user may give as well.
    folder(".damacy-bench-results", 5, false);
    folder("damacy-bench-another", 5, true);
    folder(".somebody-else", 5, true);
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), keep.path().join(".damacy-bench-link")).unwrap();
    let made = generate(&layout(), Some(keep.path()), 1, &Progress::new(true));
    let place =
        made.unwrap_or_else(|failure| panic!("{failure:?}")).uris[0].split('/').rev().nth(1).unwrap().to_owned();
    let mut expected = vec![
        ".damacy-bench-link",
        ".damacy-bench-results",
        ".damacy-bench-used",
        ".damacy-bench-young",
        ".damacy-bench.lock",
        ".somebody-else",
        place.as_str(),
        "damacy-bench-another",
    ];
    expected.sort_unstable();
    assert_eq!(names(keep.path()), expected);
}

#[test]
fn temporary_data_is_removed_with_the_data_set() {
    let data = made(&layout());
    let folder = Path::new(&*data.uris[0]).parent().unwrap().to_owned();
    assert!(folder.join("array-0.zarr/zarr.json").exists());
    drop(data);
    assert!(!folder.exists());
}
