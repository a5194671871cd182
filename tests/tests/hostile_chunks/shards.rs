//! Shard indexes that point past the end, overflow, overlap or are damaged, at either end of the shard, nested or not.

use super::support::{BYTES, CRC32C, GZIP, OneChunk, assert_blames, sharding};
use damacy::Status;

/// Two inner chunks of 8 bytes.
const DATA: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18];
const FIRST: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
const MISSING: (u64, u64) = (u64::MAX, u64::MAX);

/// A shard of two inner chunks with these entries, its index before or behind the data.
fn shard(entries: [(u64, u64); 2], location: &str) -> OneChunk {
    let mut index: Vec<u8> = entries.iter().flat_map(|(o, n)| [o.to_le_bytes(), n.to_le_bytes()].concat()).collect();
    index.extend(crc32c::crc32c(&index).to_le_bytes());
    let object = if location == "end" { [&DATA[..], &index].concat() } else { [&index[..], &DATA].concat() };
    OneChunk::new(16, &[&sharding(8, &[BYTES], &[BYTES, CRC32C], location)], &object)
}

/// Bytes of an index of two entries with its checksum.
const INDEX: u64 = 2 * 16 + 4;

#[test]
fn entries_outside_the_shard_are_named() {
    let whole = 16 + INDEX;
    for location in ["end", "start"] {
        for bad in [
            (whole, 8),
            (whole - 7, 8),
            (0, whole + 1),
            (1 << 40, 8),
            (u64::MAX - 3, 8),
            (8, u64::MAX - 3),
            (u64::MAX, 8),
            (0, u64::MAX),
            (1 << 63, 1 << 63),
        ] {
            let start = if location == "end" { 0 } else { INDEX };
            let store = shard([(start, 8), bad], location);
            assert_eq!(store.read(0).expect("the entry beside it is sound"), Some(FIRST.to_vec()));
            let error = store.read(1).expect_err("refused");
            assert_eq!(error.status(), Status::Decode, "{bad:?}: {error}");
            for part in ["c/0", "entry 1", &bad.0.to_string(), &bad.1.to_string(), &format!("{whole} bytes")] {
                assert!(error.message().contains(part), "{part} is not in: {error}");
            }
        }
    }
}

#[test]
fn entries_that_overlap_are_legal_if_both_decode() {
    let store = shard([(0, 8), (0, 8)], "end");
    assert_eq!(store.read(0).expect("read"), Some(FIRST.to_vec()));
    assert_eq!(store.read(1).expect("read"), Some(FIRST.to_vec()));
    let store = shard([(0, 8), (4, 8)], "end");
    assert_eq!(store.read(1).expect("read"), Some(DATA[4..12].to_vec()));
}

#[test]
fn entries_of_the_wrong_length_do_not_decode() {
    for len in [0, 7, 9, 16] {
        let store = shard([(0, len), MISSING], "end");
        let error = store.read(0).expect_err("refused");
        assert_blames(&error, "c/0, inner chunk 0");
        assert!(error.message().contains(&format!("expected 8 encoded bytes, found {len}")), "{error}");
        assert_eq!(store.read(1).expect("read"), None);
    }
}

#[test]
fn a_damaged_index_is_found_by_its_checksum() {
    for location in ["end", "start"] {
        let sound = shard([(INDEX, 8), MISSING], location);
        let path = sound.folder.path().join("c/0");
        let object = std::fs::read(&path).expect("read");
        let index = if location == "end" { 16..object.len() } else { 0..INDEX as usize };
        for bit in index.start * 8..index.end * 8 {
            let mut damaged = object.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &damaged).expect("written");
            // A fresh array: the sound one may keep its index.
            let array = super::support::open(sound.folder.path()).expect("opens");
            let error = super::support::read(&array, 1).expect_err("refused");
            assert_eq!(error.status(), Status::Decode, "{error}");
            assert!(error.message().contains("c/0") && error.message().contains("crc32c"), "{error}");
        }
    }
}

#[test]
fn a_shard_shorter_than_its_index_is_damaged_and_not_empty() {
    for len in 0..INDEX {
        let codec = sharding(8, &[BYTES], &[BYTES, CRC32C], "end");
        let store = OneChunk::new(16, &[&codec], &vec![0xFF; len as usize]);
        let error = store.read(0).expect_err("refused");
        assert_blames(&error, "c/0");
        assert!(error.message().contains(&format!("a shard of {len} bytes")), "{error}");
    }
}

#[test]
fn nested_shards_are_checked_against_their_own_bytes() {
    // The inner shard lies at 4..56 of the outer one; its entry may not reach beyond it, though the file goes on.
    let inner_codec = sharding(8, &[BYTES], &[BYTES], "end");
    let outer_codec = sharding(16, &[&inner_codec], &[BYTES], "end");
    let read = |entries: [(u64, u64); 2]| {
        let index: Vec<u8> = entries.iter().flat_map(|(o, n)| [o.to_le_bytes(), n.to_le_bytes()].concat()).collect();
        let inner = [&DATA[..], &index].concat();
        let outer_index = [4_u64, inner.len() as u64].map(u64::to_le_bytes).concat();
        let object = [&[0xAA; 4][..], &inner, &[0xBB; 40], &outer_index].concat();
        OneChunk::new(16, &[&outer_codec], &object).read(1)
    };
    assert_eq!(read([(0, 8), (8, 8)]).expect("read"), Some(DATA[8..].to_vec()));
    let error = read([(0, 8), (41, 8)]).expect_err("refused");
    assert_eq!(error.status(), Status::Decode);
    assert!(error.message().contains("c/0, inner chunk 0: index entry 1"), "{error}");
    assert!(error.message().contains("outside the shard of 48 bytes"), "{error}");
}

#[test]
fn whole_shards_are_checked_as_well() {
    // A checksum around the shard: it cannot be read in part.
    let codec = sharding(8, &[BYTES], &[BYTES], "end");
    let read = |entries: [(u64, u64); 2]| {
        let index: Vec<u8> = entries.iter().flat_map(|(o, n)| [o.to_le_bytes(), n.to_le_bytes()].concat()).collect();
        let mut object = [&DATA[..], &index].concat();
        object.extend(crc32c::crc32c(&object).to_le_bytes());
        OneChunk::new(16, &[&codec, CRC32C], &object).read(0)
    };
    assert_eq!(read([(8, 8), MISSING]).expect("read"), Some([&DATA[8..], &[0; 8]].concat()));
    for bad in [(1 << 40, 8), (u64::MAX - 3, 8), (u64::MAX, 8), (41, 8)] {
        let error = read([bad, MISSING]).expect_err("refused");
        assert_blames(&error, "c/0");
        assert!(error.message().contains("entry 0"), "{error}");
    }
}

#[test]
fn an_index_larger_than_any_memory_is_refused_before_it_is_read() {
    let codec = sharding(1, &[BYTES], &[BYTES], "end");
    let store = OneChunk::new(1 << 40, &[&codec], &[0; 64]);
    let error = store.read(0).expect_err("refused");
    assert_eq!(error.status(), Status::Budget, "{error}");
    assert!(error.message().contains("c/0") && error.message().contains("index"), "{error}");
}

#[test]
fn shards_that_would_take_a_buffer_each_are_refused_before_any_read() {
    let inner = sharding(8, &[BYTES], &[BYTES, CRC32C], "end");
    let outer = sharding(16, &[&inner], &[BYTES, CRC32C], "end");
    let deep = sharding(16, &[&inner, CRC32C], &[BYTES, CRC32C], "end");
    let deepest = sharding(32, &[&deep], &[BYTES, CRC32C], "end");
    for codecs in [&[deep.as_str(), GZIP][..], &[deepest.as_str(), CRC32C]] {
        let error = OneChunk::try_shaped(&[32], codecs, &[]).err().expect("refused");
        assert_eq!((error.status(), error.what()), (Status::Unsupported, "open"), "{error}");
        assert!(error.message().contains("not supported inside another one"), "{error}");
    }
    // With plain shards inside, read one by one, or with nothing inside, they are fine.
    for codecs in [&[outer.as_str()][..], &[outer.as_str(), CRC32C], &[inner.as_str(), CRC32C], &[deep.as_str()]] {
        assert!(OneChunk::try_shaped(&[32], codecs, &[]).is_ok(), "{codecs:?}");
    }
}

#[test]
fn a_large_index_that_must_be_copied_is_refused_in_a_whole_shard() {
    let big = r#"{"name": "bytes", "configuration": {"endian": "big"}}"#;
    let shard = |index: &str| sharding(1, &[BYTES], &[index], "end");
    for (elements, index, refused) in [(5000, big, true), (4000, big, false), (5000, BYTES, false)] {
        let error = OneChunk::try_shaped(&[elements], &[&shard(index), CRC32C], &[]).err();
        assert_eq!(error.map(|e| e.status()), refused.then_some(Status::Unsupported), "{elements} {index}");
    }
}
