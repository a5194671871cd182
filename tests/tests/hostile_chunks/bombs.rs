//! Streams that inflate to gigabytes, and headers that claim them, behind chunks of 16 bytes and of 1 MiB.

use super::encode::{bz2, gzip, with_checksum, zlib, zstd};
use super::memory::{in_child, peak_of};
use super::support::{BLOSC, BYTES, BZ2, CRC32C, GZIP, OneChunk, ZLIB, ZSTD, assert_blames, sharding};
use damacy::Status;
use damacy::zarr::Scratch;
use std::io::Write;

/// Expected sizes of the chunks that the bombs are behind.
const SIZES: [u64; 2] = [16, 1 << 20];
/// What decoding may take beyond the expected size.
const SLACK: u64 = 1 << 20;

/// A zstd frame without a content size: 32768 blocks that repeat a zero 128 Ki times, 4 GiB.
fn zstd_bomb(content_size: Option<u64>) -> Vec<u8> {
    let mut frame = 0xFD2F_B528_u32.to_le_bytes().to_vec();
    match content_size {
        // No content size, not a single segment; a window of 128 KiB.
        None => frame.extend([0x00, 7 << 3]),
        // An 8-byte content size, not a single segment.
        Some(size) => {
            frame.extend([0xC0, 7 << 3]);
            frame.extend(size.to_le_bytes());
        }
    }
    let blocks = 1 << 15;
    for nth in 1..=blocks {
        let last = u32::from(nth == blocks);
        let header = last | (1 << 1) | ((128 << 10) << 3);
        frame.extend(&header.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}

/// The deflate stream of 16 MiB of zeros, closed at a byte boundary, 256 times over: 4 GiB.
fn deflate_bomb() -> Vec<u8> {
    let mut deflate = flate2::Compress::new(flate2::Compression::best(), false);
    let mut piece = Vec::with_capacity(64 << 10);
    deflate.compress_vec(&vec![0; 16 << 20], &mut piece, flate2::FlushCompress::Full).expect("compressed");
    assert!(deflate.total_in() == 16 << 20 && piece.len() < 64 << 10);
    piece.repeat(256)
}

fn gzip_bomb() -> Vec<u8> {
    let mut stream = vec![0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF];
    stream.extend(deflate_bomb());
    stream
}

fn zlib_bomb() -> Vec<u8> {
    let mut stream = vec![0x78, 0x9C];
    stream.extend(deflate_bomb());
    stream
}

/// 90 streams of 45 MB of zeros each: 4 GB.
fn bz2_bomb() -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    encoder.write_all(&vec![0; 45 << 20]).expect("compressed");
    encoder.finish().expect("finished").repeat(90)
}

/// A blosc header and whatever follows it.
fn blosc(flags: u8, typesize: u8, nbytes: u32, blocksize: u32, body: &[u8]) -> Vec<u8> {
    let cbytes = 16 + body.len() as u32;
    let mut container = vec![2, 1, flags, typesize];
    for field in [nbytes, blocksize, cbytes] {
        container.extend(field.to_le_bytes());
    }
    container.extend(body);
    container
}

/// One block: its offset, then the length and bytes of one stream.
fn block(stream: &[u8]) -> Vec<u8> {
    let mut body = 20_u32.to_le_bytes().to_vec();
    body.extend((stream.len() as u32).to_le_bytes());
    body.extend(stream);
    body
}

/// As [`assert_within`], with nothing but the expected size and the slack.
fn assert_bounded(name: &str, elements: u64, codecs: &[&str], object: &[u8], warm_up: &[u8]) {
    assert_within(elements + SLACK, name, elements, codecs, object, warm_up);
}

/// As [`assert_within`], for chains with bytes between two compressors: as many as there are encoded ones, too.
fn assert_bounded_between(name: &str, elements: u64, codecs: &[&str], object: &[u8], warm_up: &[u8]) {
    assert_within(elements + object.len() as u64 + SLACK, name, elements, codecs, object, warm_up);
}

/// Decodes in this process, which is a child of its own, and measures.
fn assert_within(limit: u64, name: &str, elements: u64, codecs: &[&str], object: &[u8], warm_up: &[u8]) {
    let valid = OneChunk::new(16, codecs, warm_up);
    let hostile = OneChunk::new(elements, codecs, object);
    let fetch = |chunk: &OneChunk| chunk.array.fetch(&[0], u64::MAX, Vec::new(), &mut 0).expect("read").expect("there");
    // The code is paged in and the thread's contexts exist before anything is measured.
    let encoded = fetch(&valid);
    let decoded = valid.array.decode(&encoded, &mut Scratch::default()).map(<[u8]>::to_vec);
    assert_eq!(decoded.expect("the valid chunk decodes"), [7; 16], "{name}");
    let encoded = fetch(&hostile);
    let mut outcome = None;
    let peak = peak_of(|| {
        outcome = hostile.array.decode(&encoded, &mut Scratch::default()).err();
    });
    let error = outcome.unwrap_or_else(|| panic!("{name} of {elements} bytes decodes"));
    if error.status() == Status::Unsupported {
        // What lies between two compressors has no known size: the limit shows no damage.
        assert!(error.message().contains("c/0") && error.message().contains("between two compressors"), "{error}");
    } else {
        assert_blames(&error, "c/0");
    }
    println!("{name}, {elements} expected: {peak} bytes, {error}");
    assert!(peak <= limit, "{name}: {peak} bytes for {elements} expected");
}

const VALID: [u8; 16] = [7; 16];

#[test]
fn zstd_bombs() {
    in_child("bombs::zstd_bombs", || {
        for size in SIZES {
            assert_bounded("zstd", size, &[BYTES, ZSTD], &zstd_bomb(None), &zstd(&VALID));
            assert_bounded("zstd claiming 4 GiB", size, &[BYTES, ZSTD], &zstd_bomb(Some(1 << 32)), &zstd(&VALID));
            assert_bounded("zstd lying", size, &[BYTES, ZSTD], &zstd_bomb(Some(size)), &zstd(&VALID));
            let many = zstd(&vec![0; size as usize]).repeat(1000);
            assert_bounded("zstd frames", size, &[BYTES, ZSTD], &many, &zstd(&VALID));
            let checked = with_checksum(zstd_bomb(None));
            assert_bounded("zstd, crc32c", size, &[BYTES, ZSTD, CRC32C], &checked, &with_checksum(zstd(&VALID)));
        }
    });
}

#[test]
fn gzip_bombs() {
    in_child("bombs::gzip_bombs", || {
        let bomb = gzip_bomb();
        for size in SIZES {
            assert_bounded("gzip", size, &[BYTES, GZIP], &bomb, &gzip(&VALID));
            let members = gzip(&vec![0; size as usize]).repeat(1000);
            assert_bounded("gzip members", size, &[BYTES, GZIP], &members, &gzip(&VALID));
            let mut header = vec![0x1F, 0x8B, 8, 0x1C, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF];
            header.resize(4 << 20, b'x');
            assert_bounded("gzip with a long header", size, &[BYTES, GZIP], &header, &gzip(&VALID));
        }
    });
}

#[test]
fn zlib_bombs() {
    in_child("bombs::zlib_bombs", || {
        let bomb = zlib_bomb();
        for size in SIZES {
            assert_bounded("zlib", size, &[BYTES, ZLIB], &bomb, &zlib(&VALID));
        }
    });
}

#[test]
fn bz2_bombs() {
    in_child("bombs::bz2_bombs", || {
        let bomb = bz2_bomb();
        assert_bounded("bz2", 16, &[BYTES, BZ2], &bomb, &bz2(&VALID));
        // The largest chunk whose blocks a decoder can hold in 1 MiB.
        assert_bounded("bz2", 239_000, &[BYTES, BZ2], &bomb, &bz2(&VALID));
    });
}

#[test]
fn blosc_bombs_and_lies() {
    in_child("bombs::blosc_bombs_and_lies", || {
        let valid = blosc(0x02, 1, 16, 16, &VALID);
        let lz4 = lz4_flex::block::compress(&vec![0; 8 << 20]);
        let snappy = snap::raw::Encoder::new().compress_vec(&vec![0; 8 << 20]).expect("compressed");
        for size in SIZES {
            let n = size as u32;
            let hostile: Vec<(&str, Vec<u8>)> = vec![
                ("blosc claiming 2 GiB", blosc(0x31, 1, i32::MAX as u32, n, &block(&lz4))),
                ("blosc claiming 4 GiB", blosc(0x31, 1, u32::MAX, n, &block(&lz4))),
                ("blosc with blocks of 1 GiB", blosc(0x31, 2, n, 1 << 30, &block(&lz4))),
                ("blosc with blocks of -1", blosc(0x31, 2, n, u32::MAX, &block(&lz4))),
                ("blosc with blocks of 0", blosc(0x31, 2, n, 0, &block(&lz4))),
                ("blosc with blocks of 1", blosc(0x31, 2, n, 1, &block(&lz4))),
                ("blosc with types of 0", blosc(0x31, 0, n, n, &block(&lz4))),
                ("blosc with types of 255", blosc(0x34, 255, n, n, &block(&lz4))),
                ("blosc, lz4 inside", blosc(0x31, 2, n, n, &block(&lz4))),
                ("blosc, snappy inside", blosc(0x50, 1, n, n, &block(&snappy))),
                ("blosc, zstd inside", blosc(0x91, 2, n, n, &block(&zstd_bomb(None)))),
                ("blosc, zlib inside", blosc(0x71, 2, n, n, &block(&zlib_bomb()))),
                ("blosc, a copy of too little", blosc(0x02, 1, n, n, &[7; 8])),
                ("blosc, an unknown compressor", blosc(0xE0, 1, n, n, &block(&lz4))),
                ("blosc, a stream beyond the end", blosc(0x30, 1, n, n, &[20, 0, 0, 0, 255, 255, 255, 127])),
                ("blosc, a block beyond the end", blosc(0x30, 1, n, n, &[255, 255, 255, 127, 1, 0, 0, 0])),
                ("blosc, a block of -1", blosc(0x30, 1, n, n, &[255; 8])),
            ];
            for (name, object) in hostile {
                assert_bounded(name, size, &[BYTES, BLOSC], &object, &valid);
            }
        }
    });
}

#[test]
fn bombs_between_two_compressors() {
    in_child("bombs::bombs_between_two_compressors", || {
        for size in SIZES {
            let codecs = [BYTES, GZIP, ZSTD];
            assert_bounded_between("gzip in zstd", size, &codecs, &zstd_bomb(None), &zstd(&gzip(&VALID)));
            assert_bounded_between("a gzip bomb in zstd", size, &codecs, &zstd(&gzip_bomb()), &zstd(&gzip(&VALID)));
            let codecs = [BYTES, ZSTD, CRC32C, GZIP];
            let warm_up = gzip(&with_checksum(zstd(&VALID)));
            assert_bounded_between("zstd, crc32c in gzip", size, &codecs, &gzip_bomb(), &warm_up);
        }
    });
}

#[test]
fn a_long_stream_between_two_compressors_is_unsupported_and_not_damaged() {
    // 1 MiB of zeros, stored by gzip and then compressed to almost nothing: sound, but more than the room between.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    encoder.write_all(&vec![0; 1 << 20]).expect("compressed");
    let stored = encoder.finish().expect("finished");
    let chunk = OneChunk::new(1 << 20, &[BYTES, GZIP, ZSTD], &zstd(&stored));
    let error = chunk.read(0).expect_err("refused");
    assert_eq!(error.status(), Status::Unsupported, "{error}");
    for part in ["c/0", "zstd", "between two compressors", &stored.len().to_string()] {
        assert!(error.message().contains(part), "{part} is not in: {error}");
    }
    // Longer than any such stream is.
    let error = OneChunk::new(16, &[BYTES, GZIP, ZSTD], &zstd(&stored)).read(0).expect_err("refused");
    assert_eq!(error.status(), Status::Decode, "{error}");
}

#[test]
fn bombs_in_shards() {
    in_child("bombs::bombs_in_shards", || {
        let shard = |inner: &[u8]| {
            let mut object = inner.to_vec();
            let mut index = [0_u64, inner.len() as u64].map(u64::to_le_bytes).concat();
            index = with_checksum(index);
            object.extend(index);
            object
        };
        for size in SIZES {
            for location in ["end", "start"] {
                let codec = sharding(16, &[BYTES, ZSTD], &[BYTES, CRC32C], location);
                let whole = sharding(16, &[BYTES, ZSTD], &[BYTES, CRC32C], "end");
                if location == "end" && size == 16 {
                    let object = shard(&zstd_bomb(None));
                    assert_bounded("a shard of one bomb", size, &[&codec], &object, &shard(&zstd(&VALID)));
                    let (object, valid) = (with_checksum(object), with_checksum(shard(&zstd(&VALID))));
                    assert_bounded("a whole shard of one bomb", size, &[&whole, CRC32C], &object, &valid);
                }
                let valid = gzip(&shard(&zstd(&VALID)));
                assert_bounded_between("a compressed shard", size, &[&whole, GZIP], &gzip_bomb(), &valid);
            }
        }
    });
}
