//! Input that is out to do harm: an error in bounded time, never a panic.

use crate::corpus;
use damacy_core::Status;
use damacy_core::error::Error;
use damacy_core::metadata::{MetadataLimits, ZarrFormat, parse};
use std::time::{Duration, Instant};

const FORMATS: [ZarrFormat; 2] = [ZarrFormat::V2, ZarrFormat::V3];

/// Parses with default limits; a parser that hangs fails.
fn refuse(format: ZarrFormat, bytes: &[u8]) -> Error {
    let start = Instant::now();
    let error = parse(format, bytes, &MetadataLimits::default()).expect_err("hostile input was accepted");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?} for {} bytes", start.elapsed(), bytes.len());
    assert!(error.to_string().len() < 1000, "a message of {} bytes", error.to_string().len());
    error
}

fn v3_with(from: &str, to: &str) -> Vec<u8> {
    let base = corpus::base(ZarrFormat::V3);
    assert_eq!(base.matches(from).count(), 1, "{from}");
    base.replace(from, to).into_bytes()
}

#[test]
fn truncation_at_every_byte_is_malformed() {
    for case in corpus::legal().into_iter().filter(|c| c.name.contains("shards-nested") || c.name == "v2-plain") {
        let bytes = case.document.trim_end().as_bytes();
        for end in 0..bytes.len() {
            assert_eq!(refuse(case.format, &bytes[..end]).status, Status::Decode, "{} up to {end}", case.name);
        }
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_malformed() {
    let base = corpus::base(ZarrFormat::V3).into_bytes();
    for at in 0..base.len() {
        for byte in [0x80, 0xc0, 0xff] {
            let mut bytes = base.clone();
            bytes[at] = byte;
            let error = refuse(ZarrFormat::V3, &bytes);
            assert_eq!(error.status, Status::Decode);
            assert!(error.message.contains(&format!("offset {at}")), "{error}");
        }
    }
}

#[test]
fn nesting_is_limited_everywhere() {
    for open in ["[", "{\"a\":"] {
        let deep = open.repeat(1 << 18);
        for format in FORMATS {
            let status = refuse(format, deep.as_bytes()).status;
            assert!(matches!(status, Status::Decode | Status::Budget), "{status}");
        }
        for member in ["\"attributes\": {}", "\"fill_value\": 7", "\"shape\": [20, 30]"] {
            let key = member.split(':').next().unwrap();
            let error = refuse(ZarrFormat::V3, &v3_with(member, &format!("{key}: {deep}")));
            assert_eq!(error.status, Status::Budget, "{error}");
            assert!(error.message.contains("64"), "{error}");
        }
    }
    let just_right = format!("\"attributes\": {{\"x\": {}{}}}", "[".repeat(62), "]".repeat(62));
    let bytes = v3_with("\"attributes\": {}", &just_right);
    parse(ZarrFormat::V3, &bytes, &MetadataLimits::default()).unwrap();
    // Whatever the caller allows, the recursive parser behind the scan is never reached by deep input.
    let no_limit = MetadataLimits { max_depth: u32::MAX, ..MetadataLimits::default() };
    let deep = v3_with("\"fill_value\": 7", &format!("\"fill_value\": {}{}", "[".repeat(50_000), "]".repeat(50_000)));
    assert_eq!(parse(ZarrFormat::V3, &deep, &no_limit).unwrap_err().status, Status::Budget);
}

#[test]
fn size_and_count_are_limited_and_named() {
    for format in FORMATS {
        for byte in [b' ', b'0', b'[', b'"', 0, 0xff] {
            let error = refuse(format, &vec![byte; (4 << 20) + 1]);
            assert_eq!(error.status, Status::Budget);
            assert!(error.message.contains("4194305") && error.message.contains("4194304"), "{error}");
            assert_eq!(refuse(format, &vec![byte; 4 << 20]).status, Status::Decode);
        }
    }
    let many = vec!["0"; 1 << 18].join(",");
    for (member, key) in [
        ("\"attributes\": {}", "\"attributes\""),
        ("\"shape\": [20, 30]", "\"shape\""),
        ("\"fill_value\": 7", "\"fill_value\""),
    ] {
        let error = refuse(ZarrFormat::V3, &v3_with(member, &format!("{key}: [{many}]")));
        assert_eq!(error.status, Status::Budget, "{error}");
        let limit = if key == "\"attributes\"" { "262144" } else { "16384" };
        assert!(error.message.contains(limit), "{error}");
    }
}

#[test]
fn junk_is_malformed() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut junk = vec![0; 4 << 20];
    for alphabet in [&b"[]{}:,\"\\0129.eE+-truefalsn \n"[..], &b"{\"a\":"[..], &b"\"\\u00d8"[..]] {
        for byte in &mut junk {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *byte = alphabet[(state % alphabet.len() as u64) as usize];
        }
        junk[0] = b'{';
        for format in FORMATS {
            assert!(matches!(refuse(format, &junk).status, Status::Decode | Status::Budget));
        }
    }
}

#[test]
fn ten_thousand_axes_are_over_the_limit() {
    let axes = vec!["1"; 10_000].join(",");
    let error = refuse(ZarrFormat::V3, &v3_with("[20, 30]", &format!("[{axes}]")));
    assert_eq!((error.status, error.path.as_str()), (Status::Budget, "/shape"));
    assert!(error.message.contains("10000") && error.message.contains("32"), "{error}");
    let v2 = corpus::base(ZarrFormat::V2).replace("[10, 12]", &format!("[{axes}]"));
    assert_eq!(refuse(ZarrFormat::V2, v2.as_bytes()).status, Status::Budget);
}

#[test]
fn five_thousand_keys_with_one_twice_are_found() {
    let prefix = "x".repeat(20);
    let mut keys: Vec<String> = (0..5_000).map(|i| format!("\"{prefix}{i}\": 0")).collect();
    keys.push(format!("\"{prefix}7\": 0"));
    let object = format!("\"fill_value\": {{{}}}", keys.join(","));
    let error = refuse(ZarrFormat::V3, &v3_with("\"fill_value\": 7", &object));
    assert_eq!(error.status, Status::Decode);
    assert_eq!(error.path, format!("/fill_value/{prefix}7"));
}

#[test]
fn shards_in_shards_end_at_a_limit() {
    let bytes = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
    let nested = |levels: usize| {
        let mut codec = bytes.to_string();
        for _ in 0..levels {
            codec = format!(
                r#"{{"name": "sharding_indexed", "configuration": {{"chunk_shape": [10, 12], "codecs": [{codec}], "index_codecs": [{bytes}]}}}}"#
            );
        }
        v3_with(bytes, &codec)
    };
    let array = parse(ZarrFormat::V3, &nested(19), &MetadataLimits::default()).unwrap();
    assert_eq!(array.levels.len(), 20);
    for levels in [40, 1000] {
        assert_eq!(refuse(ZarrFormat::V3, &nested(levels)).status, Status::Budget);
    }
    let few = MetadataLimits { max_codecs: 10, ..MetadataLimits::default() };
    let error = parse(ZarrFormat::V3, &nested(19), &few).unwrap_err();
    assert_eq!(error.status, Status::Budget);
    assert!(error.message.contains("max_codecs is 10"), "{error}");
}

#[test]
fn extents_up_to_all_bits_are_exact() {
    for extent in [1 << 62, 1 << 63, u64::MAX] {
        let bytes = v3_with("[20, 30]", &format!("[{extent}, {extent}]"));
        let array = parse(ZarrFormat::V3, &bytes, &MetadataLimits::default()).unwrap();
        assert_eq!(array.shape, [extent, extent]);
        let chunks = v3_with("[10, 12]", &format!("[{extent}, 12]"));
        assert_eq!(refuse(ZarrFormat::V3, &chunks).status, Status::Budget);
    }
}

#[test]
fn long_names_are_clipped_in_messages() {
    let long = "n".repeat(1 << 20);
    for (from, to) in [
        ("\"uint16\"", format!("\"{long}\"")),
        ("\"default\"", format!("\"{long}\"")),
        ("\"bytes\"", format!("\"{long}\"")),
        ("\"attributes\"", format!("\"{long}\"")),
        ("\"fill_value\": 7", format!("\"fill_value\": \"{long}\"")),
        ("\"fill_value\": 7", format!("\"fill_value\": 1{}", "0".repeat(300_000))),
    ] {
        refuse(ZarrFormat::V3, &v3_with(from, &to));
    }
}
