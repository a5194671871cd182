//! Chunks that are not there, files that change, limits, and what an open array keeps.

use super::support::{chunk, copy_of, indices, open, read_all, store};
use damacy::Status;
use damacy::error::Error;
use damacy::zarr::{Array, Scratch};
use std::fs;
use std::path::Path;

fn fetch_error(array: &Array, coords: &[u64]) -> Error {
    array.fetch(coords, u64::MAX, Vec::new(), &mut 0).err().expect("refused")
}

fn assert_error(error: &Error, status: Status, parts: &[&str]) {
    assert_eq!(error.status(), status, "{error}");
    for part in parts {
        assert!(error.message().contains(part), "{part:?} is not in: {error}");
    }
}

#[test]
fn missing_files_shards_and_entries_are_none() {
    for (name, coords) in [
        ("v3-keys-default-slash", [1, 0, 0]),
        ("v3-keys-v2-dot", [1, 0, 0]),
        ("v2-keys-slash", [0, 1, 0]),
        ("v3-shard-holes", [0, 0, 0]),
        ("v3-shard-holes", [4, 0, 0]),
    ] {
        let array = open(&store(name)).expect("opens");
        let found = array.fetch(&coords, u64::MAX, Vec::new(), &mut 0).expect("read");
        assert!(found.is_none(), "{name} {coords:?}");
    }
    let filled = open(&store("v3-shard-17x17-fill")).expect("opens");
    for coords in indices(&[5, 5]) {
        assert!(filled.fetch(&coords, u64::MAX, Vec::new(), &mut 0).expect("read").is_none());
    }
}

#[test]
fn a_chunk_that_is_a_directory_is_an_io_error() {
    let folder = copy_of("v3-zstd");
    let key = folder.path().join("c/0/0/0");
    fs::remove_file(&key).expect("removed");
    fs::create_dir(&key).expect("a folder");
    let array = open(folder.path()).expect("opens");
    assert_error(&fetch_error(&array, &[0, 0, 0]), Status::Io, &["c/0/0/0", "a directory", "uint16 (7, 10, 12)"]);
    fs::remove_dir(&key).expect("removed");
    std::os::unix::fs::symlink("0", &key).expect("a link to itself");
    assert_error(&fetch_error(&array, &[0, 0, 0]), Status::Io, &["c/0/0/0", "cannot be opened"]);
    fs::remove_dir_all(folder.path().join("c/0")).expect("removed");
    fs::write(folder.path().join("c/0"), "no folder").expect("written");
    assert_error(&fetch_error(&array, &[0, 0, 0]), Status::Io, &["c/0/0/0"]);
}

#[test]
fn a_pipe_in_place_of_a_chunk_does_not_block() {
    let folder = copy_of("v3-zstd");
    let key = folder.path().join("c/0/0/0");
    fs::remove_file(&key).expect("removed");
    let made = std::process::Command::new("mkfifo").arg(&key).status().expect("mkfifo runs");
    assert!(made.success());
    let array = open(folder.path()).expect("opens");
    assert_error(&fetch_error(&array, &[0, 0, 0]), Status::Io, &["c/0/0/0", "no regular file"]);
}

#[test]
fn a_chunk_longer_than_the_limit_is_a_budget_error() {
    for name in ["v3-bytes", "v3-shard-raw-crc"] {
        let array = open(&store(name)).expect("opens");
        let encoded = array.fetch(&[0, 0, 0], u64::MAX, Vec::new(), &mut 0).expect("read").expect("there");
        let len = encoded.bytes.len() as u64;
        assert!(array.fetch(&[0, 0, 0], len, encoded.bytes, &mut 0).expect("read").is_some());
        let error = array.fetch(&[0, 0, 0], len - 1, Vec::new(), &mut 0).err().expect("refused");
        let parts = [encoded.place.as_str(), &format!("{len} encoded bytes"), &format!("limit is {}", len - 1)];
        assert_error(&error, Status::Budget, &parts);
    }
}

#[test]
fn memory_of_the_caller_is_reused() {
    let array = open(&store("v3-bytes")).expect("opens");
    let reuse = Vec::with_capacity(4096);
    let before = reuse.as_ptr();
    let encoded = array.fetch(&[0, 0, 0], u64::MAX, reuse, &mut 0).expect("read").expect("there");
    assert_eq!(encoded.bytes.as_ptr(), before);
    assert_eq!(encoded.bytes.len(), 4 * 5 * 12 * 2);
}

#[test]
fn a_shard_index_is_read_once_and_counted_apart() {
    let array = open(&store("v3-shard")).expect("opens");
    let mut index_bytes = 0;
    for coords in indices(&[2, 2, 2]) {
        let encoded = array.fetch(&coords, u64::MAX, Vec::new(), &mut index_bytes).expect("read").expect("there");
        assert!(encoded.place.contains("c/0/0/0, inner chunk "), "{}", encoded.place);
    }
    // 2 x 2 x 2 entries of 16 bytes and a checksum.
    assert_eq!(index_bytes, 8 * 16 + 4);
    let nested = open(&store("v3-shard-nested")).expect("opens");
    let mut index_bytes = 0;
    let encoded = nested.fetch(&[3, 1, 3], u64::MAX, Vec::new(), &mut index_bytes).expect("read").expect("there");
    assert!(encoded.place.ends_with("c/0/0/0, inner chunk 3, inner chunk 7"), "{}", encoded.place);
    assert_eq!(index_bytes, (4 * 16 + 4) + (8 * 16 + 4));
}

#[test]
fn rows_of_a_tall_shard() {
    let array = open(&store("v3-shard-rows")).expect("opens");
    let whole = read_all(&array).expect("read");
    let mut scratch = Scratch::default();
    for row in [0_u64, 1, 19, 20, 39] {
        let found = chunk(&array, &[row, 0], &mut scratch).expect("read");
        assert_eq!(found, whole[row as usize * 2000..][..2000], "row {row}");
    }
}

#[test]
fn the_last_element_of_1001() {
    let array = open(&store("v3-rank1-1001")).expect("opens");
    let found = chunk(&array, &[100], &mut Scratch::default()).expect("read");
    let expected = fs::read(super::support::fixtures().join("fixtures.json")).expect("manifest");
    let manifest: serde_json::Value = serde_json::from_slice(&expected).expect("JSON");
    let entry = manifest.as_array().expect("a list").iter().find(|e| e["name"] == "v3-rank1-1001").expect("listed");
    let file = entry["values"].as_str().expect("text");
    let values = fs::read(super::support::fixtures().join("values").join(file)).expect("values");
    assert_eq!(found[..2], values[2000..]);
}

#[test]
fn a_shard_that_vanishes_shrinks_or_changes_is_never_a_fill() {
    type Change = fn(&Path);
    let change: [(&str, Change); 3] = [
        ("removed", |file| fs::remove_file(file).expect("removed")),
        ("truncated", |file| fs::File::options().write(true).open(file).expect("opened").set_len(9).expect("cut")),
        ("emptied", |file| fs::write(file, "").expect("written")),
    ];
    for (name, change) in change {
        let folder = copy_of("v3-shard");
        let array = open(folder.path()).expect("opens");
        let mut scratch = Scratch::default();
        let before = chunk(&array, &[0, 0, 0], &mut scratch).expect("read");
        change(&folder.path().join("c/0/0/0"));
        // The open file still has the removed bytes; a cut one is an error.
        match chunk(&array, &[0, 0, 1], &mut scratch) {
            Ok(after) => assert!(name == "removed" && after != before),
            Err(e) => assert_error(&e, Status::Io, &["c/0/0/0", "ends before"]),
        }
        drop(array);
    }
}

#[test]
fn threads_share_an_array() {
    let array = open(&store("v3-shard-nested")).expect("opens");
    let whole = read_all(&array).expect("read");
    let fresh = open(&store("v3-shard-nested")).expect("opens");
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| read_all(&fresh).expect("read"))).collect();
        for thread in threads {
            assert!(thread.join().expect("no panic") == whole);
        }
    });
}

#[test]
fn open_files_are_bounded_and_closed_with_the_array() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = copy_of("v3-shard-17x17-fill");
    let document = fs::read_to_string(source.path().join("zarr.json")).expect("metadata");
    let larger = document.replace("17", "1600");
    fs::write(folder.path().join("zarr.json"), larger).expect("written");
    // 200 shards whose entries are all missing: an index of 4 entries, its checksum at the end.
    let mut shard = vec![0xFF; 4 * 16];
    shard.extend(crc32c::crc32c(&shard).to_le_bytes());
    for nth in 0..200 {
        let key = folder.path().join(format!("c/{nth}"));
        fs::create_dir_all(&key).expect("a folder");
        fs::write(key.join("0"), &shard).expect("written");
    }
    let held = || {
        let links = fs::read_dir("/proc/self/fd")
            .expect("a process's files")
            .filter_map(|e| fs::read_link(e.ok()?.path()).ok());
        links.filter(|target| target.starts_with(folder.path())).count()
    };
    let array = open(folder.path()).expect("opens");
    for nth in 0..200 {
        assert!(array.fetch(&[2 * nth, 0], u64::MAX, Vec::new(), &mut 0).expect("read").is_none());
    }
    assert!((1..=64).contains(&held()), "{} files", held());
    // One whose file was let go, and has gone since: its index says that it was there.
    fs::remove_dir_all(folder.path().join("c/0")).expect("removed");
    assert_error(&fetch_error(&array, &[0, 0]), Status::Io, &["c/0/0", "vanished"]);
    drop(array);
    assert_eq!(held(), 0);
}

#[test]
fn a_chunk_of_an_array_that_has_vanished_is_not_a_fill() {
    for (name, document) in
        [("v3-keys-default-slash", "zarr.json"), ("v2-keys-slash", ".zarray"), ("v3-shard", "zarr.json")]
    {
        let folder = copy_of(name);
        let array = open(folder.path()).expect("opens");
        fs::remove_dir_all(folder.path()).expect("removed");
        let error = fetch_error(&array, &[0, 0, 0]);
        assert_error(&error, Status::Io, &[document, "vanished", array.uri()]);
    }
}

#[test]
fn a_link_to_nothing_is_an_io_error_and_not_a_missing_chunk() {
    let folder = copy_of("v3-zstd");
    let key = folder.path().join("c/0/0/0");
    fs::remove_file(&key).expect("removed");
    let array = open(folder.path()).expect("opens");
    assert!(array.fetch(&[0, 0, 0], u64::MAX, Vec::new(), &mut 0).expect("read").is_none());
    std::os::unix::fs::symlink("/nowhere/at/all", &key).expect("a link");
    assert_error(&fetch_error(&array, &[0, 0, 0]), Status::Io, &["c/0/0/0", "a link to nothing"]);
}

#[test]
fn chunks_behind_a_folder_that_is_a_link_to_nothing_are_an_io_error() {
    let folder = copy_of("v3-zstd");
    let array = open(folder.path()).expect("opens");
    let chunks = folder.path().join("c");
    fs::remove_dir_all(&chunks).expect("removed");
    std::os::unix::fs::symlink("/nowhere/at/all", &chunks).expect("a link");
    assert_error(&fetch_error(&array, &[0, 0, 0]), Status::Io, &["/c", "a link to nothing"]);
}

#[test]
fn a_chunk_of_the_wrong_length_is_a_decode_error_before_it_is_read() {
    // 4 x 5 x 12 elements of 2 bytes, and a checksum.
    for (name, expected) in [("v3-bytes", 480), ("v3-crc32c", 484)] {
        let folder = copy_of(name);
        let array = open(folder.path()).expect("opens");
        let file = fs::File::options().write(true).open(folder.path().join("c/0/0/0")).expect("opened");
        assert_eq!(file.metadata().expect("examined").len(), expected, "{name}");
        for found in [0, expected - 1, expected + 1, 1 << 40] {
            file.set_len(found).expect("a sparse file");
            let parts = ["c/0/0/0", &format!("expected {expected} encoded bytes"), &format!("found {found}")];
            let error = array.fetch(&[0, 0, 0], 1000, Vec::new(), &mut 0).err().expect("refused");
            assert_error(&error, Status::Decode, &parts);
        }
    }
    let folder = copy_of("v3-zstd");
    let array = open(folder.path()).expect("opens");
    let file = fs::File::options().write(true).open(folder.path().join("c/0/0/0")).expect("opened");
    file.set_len(1 << 40).expect("a sparse file");
    let error = array.fetch(&[0, 0, 0], 1 << 20, Vec::new(), &mut 0).err().expect("refused");
    assert_error(&error, Status::Decode, &["c/0/0/0", "for 480 decoded ones", "found 1099511627776"]);
}
