//! Sound chunks keep the promise, too: expected size, encoded size and 1 MiB, whatever the chain does to them.

use super::encode::{bz2, gzip, with_checksum, zlib, zstd};
use super::memory::{in_child, peak_of};
use super::support::{BLOSC, BYTES, BZ2, CRC32C, GZIP, OneChunk, ZLIB, ZSTD, sharding};
use damacy::zarr::Scratch;

const SLACK: u64 = 1 << 20;
const ROWS: usize = 2048;
const COLUMNS: usize = 4096;

/// 8 MiB that compress to almost nothing.
fn matrix() -> Vec<u8> {
    (0..ROWS * COLUMNS).map(|i| (i / COLUMNS % 7 * 16 + i % COLUMNS / 512) as u8).collect()
}

fn transposed(matrix: &[u8]) -> Vec<u8> {
    (0..ROWS * COLUMNS).map(|i| matrix[i % ROWS * COLUMNS + i / ROWS]).collect()
}

/// Decodes twice with the same scratch memory: right both times, the first within the promise, the second for nothing.
fn assert_kept(name: &str, chunk: &OneChunk, coords: &[u64], right: &[u8]) {
    let encoded = chunk.array.fetch(coords, u64::MAX, Vec::new(), &mut 0).expect("read").expect("there");
    let mut scratch = Scratch::default();
    let mut equal = true;
    let first = peak_of(|| equal &= chunk.array.decode(&encoded, &mut scratch).expect("decodes") == right);
    let again = peak_of(|| equal &= chunk.array.decode(&encoded, &mut scratch).expect("decodes") == right);
    println!("{name}: {first} bytes for {} expected, {} encoded, then {again}", right.len(), encoded.bytes.len());
    assert!(equal, "{name}");
    assert!(first <= right.len() as u64 + encoded.bytes.len() as u64 + SLACK, "{name}: {first} bytes");
    assert!(again <= SLACK, "{name}: {again} bytes more for the second time");
}

#[test]
fn compressors_and_checksums() {
    in_child("promise::compressors_and_checksums", || {
        let right = matrix();
        let n = right.len() as u64;
        let one = |codecs: &[&str], object: &[u8]| OneChunk::new(n, codecs, object);
        assert_kept("bytes", &one(&[BYTES], &right), &[0], &right);
        assert_kept("crc32c", &one(&[BYTES, CRC32C], &with_checksum(right.clone())), &[0], &right);
        assert_kept("zstd", &one(&[BYTES, ZSTD], &zstd(&right)), &[0], &right);
        assert_kept("zstd, crc32c", &one(&[BYTES, ZSTD, CRC32C], &with_checksum(zstd(&right))), &[0], &right);
        assert_kept("crc32c, zstd", &one(&[BYTES, CRC32C, ZSTD], &zstd(&with_checksum(right.clone()))), &[0], &right);
        assert_kept("gzip", &one(&[BYTES, GZIP], &gzip(&right)), &[0], &right);
        assert_kept("zlib", &one(&[BYTES, ZLIB], &zlib(&right)), &[0], &right);
        assert_kept("zstd, gzip", &one(&[BYTES, ZSTD, GZIP], &gzip(&zstd(&right))), &[0], &right);
        let small = right[..239_000].to_vec();
        let stored = OneChunk::new(239_000, &[BYTES, BZ2], &bz2(&small));
        assert_kept("bz2", &stored, &[0], &small);
    });
}

#[test]
fn blosc_with_the_largest_blocks_that_it_chooses() {
    in_child("promise::blosc_with_the_largest_blocks_that_it_chooses", || {
        // 8 blocks of 1 MiB, each one lz4 stream of its bytes shuffled as 4-byte elements.
        let right = matrix();
        let size = 1 << 20;
        let mut body = vec![0; 4 * right.len() / size];
        for (nth, block) in right.chunks_exact(size).enumerate() {
            let shuffled: Vec<u8> = (0..size).map(|i| block[i % (size / 4) * 4 + i / (size / 4)]).collect();
            let stream = lz4_flex::block::compress(&shuffled);
            let start = 16 + body.len() as u32;
            body[4 * nth..][..4].copy_from_slice(&start.to_le_bytes());
            body.extend((stream.len() as u32).to_le_bytes());
            body.extend(stream);
        }
        let mut container = vec![2, 1, 0x31, 4];
        for field in [right.len(), size, 16 + body.len()] {
            container.extend((field as u32).to_le_bytes());
        }
        container.extend(body);
        let stored = OneChunk::new(right.len() as u64, &[BYTES, BLOSC], &container);
        assert_kept("blosc", &stored, &[0], &right);
    });
}

/// A blosc container of one block in one stream.
fn one_block(flags: u8, typesize: u8, nbytes: usize, stream: &[u8]) -> Vec<u8> {
    let mut container = vec![2, 1, flags, typesize];
    for field in [nbytes, nbytes, 16 + 8 + stream.len(), 20, stream.len()] {
        container.extend((field as u32).to_le_bytes());
    }
    container.extend(stream);
    container
}

#[test]
fn blosc_in_one_block() {
    in_child("promise::blosc_in_one_block", || {
        // 8 MiB in one block, larger than blosc makes: unshuffled where it is.
        let right = matrix();
        let n = right.len();
        let shuffled: Vec<u8> = (0..n).map(|i| right[i % (n / 8) * 8 + i / (n / 8)]).collect();
        let mut bits = vec![0_u8; n];
        for element in 0..n / 2 {
            for bit in 0..16 {
                let set = right[2 * element + bit / 8] >> (bit % 8) & 1;
                bits[bit * (n / 16) + element / 8] |= set << (element % 8);
            }
        }
        let zstd = one_block(0x91, 8, n, &zstd(&shuffled));
        assert_kept("zstd, shuffled", &OneChunk::new(n as u64, &[BYTES, BLOSC], &zstd), &[0], &right);
        let lz4 = one_block(0x34, 2, n, &lz4_flex::block::compress(&bits));
        assert_kept("lz4, bits shuffled", &OneChunk::new(n as u64, &[BYTES, BLOSC], &lz4), &[0], &right);
        let stream = snap::raw::Encoder::new().compress_vec(&right).expect("compressed");
        let snappy = one_block(0x50, 1, n, &stream);
        assert_kept("snappy", &OneChunk::new(n as u64, &[BYTES, BLOSC], &snappy), &[0], &right);
    });
}

#[test]
fn no_thread_is_started() {
    in_child("promise::no_thread_is_started", || {
        let threads = || std::fs::read_dir("/proc/self/task").expect("a process's threads").count();
        let before = threads();
        let stores = super::support::store("");
        for store in std::fs::read_dir(stores).expect("the fixtures") {
            let Ok(array) = super::support::open(&store.expect("an entry").path()) else { continue };
            let origin = vec![0; array.metadata().rank()];
            if array.metadata().source.is_some()
                && let Some(encoded) = array.fetch(&origin, u64::MAX, Vec::new(), &mut 0).expect("read")
            {
                array.decode(&encoded, &mut Scratch::default()).expect("decodes");
            }
        }
        assert_eq!(threads(), before);
    });
}

#[test]
fn permuted_axes() {
    in_child("promise::permuted_axes", || {
        let right = matrix();
        let shape = [ROWS as u64, COLUMNS as u64];
        let transpose = r#"{"name": "transpose", "configuration": {"order": [1, 0]}}"#;
        let stored = transposed(&right);
        let zstd = OneChunk::shaped(&shape, &[transpose, BYTES, ZSTD], &zstd(&stored));
        assert_kept("transpose, zstd", &zstd, &[0, 0], &right);
        let raw = OneChunk::shaped(&shape, &[transpose, BYTES], &stored);
        assert_kept("transpose", &raw, &[0, 0], &right);
    });
}

/// A shard of these inner chunks, its index at the end.
fn shard_of(chunks: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let (mut data, mut index) = (Vec::new(), Vec::new());
    for chunk in chunks {
        index.extend((data.len() as u64).to_le_bytes());
        index.extend((chunk.len() as u64).to_le_bytes());
        data.extend(chunk);
    }
    [data, with_checksum(index)].concat()
}

#[test]
fn whole_shards() {
    in_child("promise::whole_shards", || {
        let right = matrix();
        let n = right.len() as u64;
        let codec = sharding(64 << 10, &[BYTES, ZSTD], &[BYTES, CRC32C], "end");
        let of = |bytes: &[u8]| shard_of(bytes.chunks_exact(64 << 10).map(zstd));
        let stored = OneChunk::new(n, &[&codec, CRC32C], &with_checksum(of(&right)));
        assert_eq!(stored.array.metadata().levels.len(), 1);
        assert_kept("a whole shard", &stored, &[0], &right);
        // Shards of 4 MiB inside: none has a buffer of its own.
        let outer = sharding(4 << 20, &[&codec], &[BYTES, CRC32C], "end");
        let object = with_checksum(shard_of(right.chunks_exact(4 << 20).map(of)));
        let stored = OneChunk::new(n, &[&outer, CRC32C], &object);
        assert_eq!(stored.array.metadata().levels.len(), 1);
        assert_kept("shards in a whole shard", &stored, &[0], &right);
    });
}
