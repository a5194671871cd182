//! Every codec's bytes cut short, with bits flipped, and with junk behind them.
//!
//! The originals are the chunks that zarr-python wrote. A wrong value may pass only where nothing in the chunk could show
//! it: no checksum of the codec chain covers the data.

use super::support::{assert_blames, decode, open, store};
use damacy::zarr::{Array, Encoded};

/// Whether a fixture's chain has a checksum over the data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sum {
    Yes,
    No,
}

/// One fixture for each codec and the chains that differ in kind.
const FIXTURES: [(&str, Sum); 34] = [
    ("v3-bytes", Sum::No),
    ("v3-bytes-big", Sum::No),
    ("v3-zstd", Sum::No),
    ("v3-zstd-checksum", Sum::Yes),
    ("v3-gzip", Sum::Yes),
    ("v3-zlib", Sum::Yes),
    ("v3-bz2", Sum::Yes),
    ("v3-crc32c", Sum::Yes),
    ("v3-zstd-crc32c", Sum::Yes),
    ("v3-crc32c-zstd", Sum::Yes),
    ("v3-zstd-gzip", Sum::Yes),
    ("v3-gzip-crc32c-bz2", Sum::Yes),
    ("v3-blosc-blosclz-shuffle", Sum::No),
    ("v3-blosc-blosclz-bitshuffle", Sum::No),
    ("v3-blosc-lz4-noshuffle", Sum::No),
    ("v3-blosc-lz4-shuffle", Sum::No),
    ("v3-blosc-lz4hc-bitshuffle", Sum::No),
    ("v3-blosc-zlib-shuffle", Sum::No),
    ("v3-blosc-zstd-shuffle", Sum::No),
    ("v3-blosc-random", Sum::No),
    ("v3-blosc-blocks-blosclz-shuffle", Sum::No),
    ("v3-blosc-blocks-lz4-bitshuffle", Sum::No),
    ("v3-blosc-blocks-zstd-shuffle", Sum::No),
    ("v3-blosc-odd-type", Sum::No),
    ("v3-transpose-big-blosc", Sum::No),
    ("v3-shard", Sum::No),
    ("v3-shard-raw-crc", Sum::Yes),
    ("v3-shard-whole-crc", Sum::Yes),
    ("v3-shard-whole-gzip", Sum::Yes),
    ("v3-shard-whole-transpose", Sum::No),
    ("v2-fortran", Sum::No),
    ("v2-bz2", Sum::Yes),
    ("v2-blosc-zstd", Sum::No),
    ("v2-gzip", Sum::Yes),
];

/// A fixture's first chunk: its array, its encoded bytes and what they decode to.
fn original(name: &str) -> (Array, Encoded, Vec<u8>) {
    let array = open(&store(name)).expect("opens");
    let origin = vec![0; array.metadata().rank()];
    let encoded = array.fetch(&origin, u64::MAX, Vec::new(), &mut 0).expect("read").expect("there");
    let decoded = decode(&array, &encoded).expect("decodes");
    (array, encoded, decoded)
}

/// Decodes damaged bytes: an error names the file, a value is right or could not be known to be wrong.
fn assert_right_or_refused(array: &Array, place: &str, bytes: Vec<u8>, right: &[u8], sum: Sum, what: &str) {
    match decode(array, &Encoded { bytes, place: place.to_owned() }) {
        Ok(found) => {
            assert_eq!(found.len(), right.len(), "{place}: {what}");
            assert!(sum == Sum::No || found == right, "{place}: {what}: a wrong value passes its checksum");
        }
        Err(error) => assert_blames(&error, place),
    }
}

#[test]
fn truncation_at_every_tenth_byte() {
    for (name, _) in FIXTURES {
        let (array, encoded, right) = original(name);
        for cut in (0..encoded.bytes.len()).step_by(10) {
            let bytes = encoded.bytes[..cut].to_vec();
            let outcome = decode(&array, &Encoded { bytes, place: encoded.place.clone() });
            match outcome {
                Err(error) => assert_blames(&error, &encoded.place),
                // Only a chunk that was whole already may still decode.
                Ok(found) => assert!(found == right, "{name} cut at {cut} of {} decodes", encoded.bytes.len()),
            }
        }
    }
}

#[test]
fn single_bit_flips() {
    for (name, sum) in FIXTURES {
        let (array, encoded, right) = original(name);
        let bits = encoded.bytes.len() * 8;
        // All bits of the first KiB, where headers are, and a sample of the others.
        let sample = (0..bits.min(8192)).chain((8192..bits).step_by(13));
        for bit in sample {
            let mut bytes = encoded.bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_right_or_refused(&array, &encoded.place, bytes, &right, sum, &format!("{name}, bit {bit}"));
        }
    }
}

#[test]
fn trailing_junk() {
    for (name, sum) in FIXTURES {
        let (array, encoded, right) = original(name);
        for junk in [&[0_u8][..], &[0xFF], b"BZh", b"junk behind the data", &encoded.bytes.clone()] {
            let bytes = [&encoded.bytes[..], junk].concat();
            assert_right_or_refused(
                &array,
                &encoded.place,
                bytes,
                &right,
                sum,
                &format!("{name} and {} bytes", junk.len()),
            );
        }
    }
}

#[test]
fn trailing_bytes_are_taken_as_python_takes_them() {
    // numcodecs: gzip allows zero padding and more members, zlib and bz2 ignore what follows, zstd allows neither.
    for (name, junk, passes) in [
        ("v3-gzip", &[0_u8; 7][..], true),
        ("v3-gzip", b"junk", false),
        ("v3-zlib", b"junk", true),
        ("v3-bz2", b"junk", true),
        ("v3-zstd", b"junk", false),
        ("v3-bytes", b"junk", false),
        ("v3-blosc-lz4-shuffle", b"junk", false),
    ] {
        let (array, encoded, right) = original(name);
        let bytes = [&encoded.bytes[..], junk].concat();
        match decode(&array, &Encoded { bytes, place: encoded.place.clone() }) {
            Ok(found) => assert!(passes && found == right, "{name} and {junk:?}"),
            Err(error) => assert!(!passes, "{name} and {junk:?}: {error}"),
        }
    }
}

#[test]
fn random_bytes() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    for (name, _) in FIXTURES {
        let (array, encoded, right) = original(name);
        for len in (0..400).step_by(7) {
            let mut bytes: Vec<u8> = (0..len).map(|_| random()).collect();
            // Half of them begin as the original does, so that they pass for a stream.
            if len % 2 == 0 {
                let head = encoded.bytes.len().min(len).min(20);
                bytes[..head].copy_from_slice(&encoded.bytes[..head]);
            }
            assert_right_or_refused(&array, &encoded.place, bytes, &right, Sum::No, name);
        }
    }
}
