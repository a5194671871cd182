//! Limits of the parser: which, its value, what was asked, and where.

use crate::corpus;
use damacy_core::Status;
use damacy_core::error::{Limit, LimitName};
use damacy_core::metadata::{MetadataLimits, ZarrFormat, parse};

/// Refuses a document and checks the limit, in fields and in words.
fn refused(bytes: &[u8], limits: MetadataLimits, name: LimitName, value: u64, asked: u64, path: &str) {
    let error = parse(ZarrFormat::V3, bytes, &limits).expect_err("a limit");
    assert_eq!(error.limit, Some(Limit { name, value, asked: Some(asked) }), "{error}");
    assert_eq!((error.status, error.path.as_str()), (Status::Budget, path), "{error}");
    assert!(error.message.contains(&format!("{} is {value}", name.option())), "{error}");
}

#[test]
fn each_limit_is_named_with_its_value_and_what_was_asked() {
    let all = MetadataLimits::default();
    let base = corpus::base(ZarrFormat::V3);
    let bytes = base.len() as u64;
    refused(base.as_bytes(), MetadataLimits { max_bytes: 10, ..all }, LimitName::MaxBytes, 10, bytes, "");
    assert!(parse(ZarrFormat::V3, base.as_bytes(), &MetadataLimits { max_bytes: bytes, ..all }).is_ok());
    refused(base.as_bytes(), MetadataLimits { max_rank: 1, ..all }, LimitName::MaxRank, 1, 2, "/shape");
    refused(base.as_bytes(), MetadataLimits { max_codecs: 0, ..all }, LimitName::MaxCodecs, 0, 1, "/codecs/0");
    refused(base.as_bytes(), MetadataLimits { max_depth: 0, ..all }, LimitName::MaxDepth, 0, 1, "");
    let attributes = |values: usize| {
        let list = format!("\"attributes\": {{\"x\": [{}0]}}", "0,".repeat(values - 1));
        base.replace("\"attributes\": {}", &list).into_bytes()
    };
    assert!(parse(ZarrFormat::V3, &attributes(1 << 17), &all).is_ok());
    refused(&attributes(1 << 18), all, LimitName::MaxValues, 1 << 18, (1 << 18) + 1, "");
}

#[test]
fn the_share_of_what_is_read_is_said_as_the_limit_that_would_do() {
    let all = MetadataLimits::default();
    let shape = format!("\"shape\": [{}1]", "1,".repeat(20_000));
    let many = corpus::base(ZarrFormat::V3).replace("\"shape\": [20, 30]", &shape);
    let error = parse(ZarrFormat::V3, many.as_bytes(), &all).expect_err("more than 2^14 values");
    let asked = ((1 << 14) + 1) * 16;
    assert_eq!(error.limit, Some(Limit { name: LimitName::MaxValues, value: 1 << 18, asked: Some(asked) }));
    for words in ["16385 JSON values", "16384, a 16th of the limit", "max_values is 262144"] {
        assert!(error.message.contains(words), "{error}");
    }
    // With room for them it is the rank that is too much.
    let limits = MetadataLimits { max_values: 1 << 20, ..all };
    refused(many.as_bytes(), limits, LimitName::MaxRank, 32, 20_001, "/shape");
}

#[test]
fn a_depth_beyond_what_the_decoder_can_take_is_the_limit() {
    let limits = MetadataLimits { max_depth: u32::MAX, ..MetadataLimits::default() };
    let deep = "{\"attributes\": ".to_string() + &"[".repeat(1000);
    let error = parse(ZarrFormat::V3, deep.as_bytes(), &limits).expect_err("too deep");
    assert_eq!(error.limit, Some(Limit { name: LimitName::MaxDepth, value: 120, asked: Some(121) }));
}
