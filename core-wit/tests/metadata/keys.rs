//! Object keys of every encoding, rank 0 included.

use damacy_core::metadata::{ArrayMetadata, KeyEncoding, MetadataLimits, ZarrFormat, parse};

fn array(key_encoding: KeyEncoding) -> ArrayMetadata {
    let document = br#"{"zarr_format": 2, "shape": [], "chunks": [], "dtype": "|u1", "compressor": null,
        "fill_value": 0, "order": "C", "filters": null}"#;
    let parsed = parse(ZarrFormat::V2, document, &MetadataLimits::default()).unwrap();
    ArrayMetadata { key_encoding, ..parsed }
}

#[test]
fn keys_follow_the_encoding() {
    for (encoding, scalar, vector, matrix) in [
        (KeyEncoding::Default { separator: '/' }, "c", "c/7", "c/1/18446744073709551615"),
        (KeyEncoding::Default { separator: '.' }, "c", "c.7", "c.1.18446744073709551615"),
        (KeyEncoding::V2 { separator: '/' }, "0", "7", "1/18446744073709551615"),
        (KeyEncoding::V2 { separator: '.' }, "0", "7", "1.18446744073709551615"),
    ] {
        let array = array(encoding);
        assert_eq!(array.object_key(&[]), scalar);
        assert_eq!(array.object_key(&[7]), vector);
        assert_eq!(array.object_key(&[1, u64::MAX]), matrix);
    }
}
