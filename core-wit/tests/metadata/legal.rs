//! Legal documents parse to what zarr-python reads in them.

use crate::corpus;
use damacy_core::metadata::{ArrayMetadata, MetadataLimits, ZarrFormat, decoder_document, parse};
use damacy_core::{ByteOrder, Status};
use serde_json::{Value, json};

fn facts(array: &ArrayMetadata) -> Value {
    let hex: String = array.fill_value.iter().map(|b| format!("{b:02x}")).collect();
    let order = match array.byte_order {
        ByteOrder::Little => "little",
        ByteOrder::Big => "big",
    };
    json!({
        "shape": array.shape,
        "levels": array.levels,
        "data_type": array.data_type,
        "source": array.source.map(|s| s.full_name()),
        "byte_order": array.source.map(|_| order),
        "order": if array.fortran_order { "F" } else { "C" },
        "fill_value": hex,
    })
}

#[test]
fn legal_documents_parse_to_zarr_pythons_facts() {
    for case in corpus::legal() {
        let array = parse(case.format, case.document.as_bytes(), &MetadataLimits::default())
            .unwrap_or_else(|e| panic!("{}: {e}", case.name));
        assert_eq!(array.format, case.format, "{}", case.name);
        let mut expected = case.facts.clone();
        let keys = expected.as_object_mut().unwrap().remove("keys").unwrap();
        assert_eq!(facts(&array), expected, "{}", case.name);
        for pair in keys.as_array().unwrap() {
            let coords: Vec<u64> = pair[0].as_array().unwrap().iter().map(|c| c.as_u64().unwrap()).collect();
            assert_eq!(array.object_key(&coords), pair[1].as_str().unwrap(), "{}", case.name);
        }
    }
}

#[test]
fn the_decoder_gets_a_document_for_every_type_with_a_conversion() {
    for case in corpus::legal() {
        let decoder = decoder_document(case.format, case.document.as_bytes(), &MetadataLimits::default());
        match decoder {
            Ok(_) => assert!(!case.facts["source"].is_null(), "{}", case.name),
            Err(e) => {
                assert!(case.facts["source"].is_null(), "{}: {e}", case.name);
                assert_eq!(e.status, Status::Dtype, "{}", case.name);
            }
        }
    }
}

fn v3(replace: &[(&str, &str)]) -> ArrayMetadata {
    let mut document = corpus::base(ZarrFormat::V3);
    for (from, to) in replace {
        assert_eq!(document.matches(from).count(), 1, "{from}");
        document = document.replace(from, to);
    }
    parse(ZarrFormat::V3, document.as_bytes(), &MetadataLimits::default()).unwrap()
}

#[test]
fn hexadecimal_fill_values_have_their_most_significant_digit_first() {
    for endian in ["little", "big"] {
        for (digits, bits) in
            [("0x40490fdb", 0x4049_0fdb_u32), ("0x7fc00001", 0x7fc0_0001), ("0x7f800001", 0x7f80_0001)]
        {
            let array = v3(&[
                ("\"uint16\"", "\"float32\""),
                ("\"fill_value\": 7", &format!("\"fill_value\": {digits:?}")),
                ("\"little\"", &format!("{endian:?}")),
            ]);
            assert_eq!(array.fill_value, bits.to_le_bytes(), "{digits} in a {endian}-endian array");
        }
    }
    // zarr-python loses a half's NaN payload on its way through float64; the specification keeps it.
    let half = v3(&[("\"uint16\"", "\"float16\""), ("\"fill_value\": 7", "\"fill_value\": \"0x7e01\"")]);
    assert_eq!(half.fill_value, 0x7e01_u16.to_le_bytes());
    assert_eq!(f32::from_bits(0x4049_0fdb), std::f32::consts::PI);
}

#[test]
fn codecs_are_named_in_order_with_nested_ones_after_their_parent() {
    let bytes = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
    let shard = |chunk: &str, codecs: &str| {
        format!(
            r#"{{"name": "sharding_indexed", "configuration": {{"chunk_shape": {chunk}, "codecs": [{codecs}],
                "index_codecs": [{bytes}, "crc32c"]}}}}"#
        )
    };
    let gzip = r#"{"name": "gzip", "configuration": {"level": 1}}"#;
    let inner = shard("[5, 3]", &format!("{bytes}, {gzip}"));
    let array = v3(&[(bytes, &format!("{}, \"crc32c\"", shard("[5, 6]", &inner)))]);
    assert_eq!(array.codecs, ["sharding_indexed", "sharding_indexed", "bytes", "gzip", "crc32c"]);
    // The checksum covers the whole object, so nothing inside can be read in part.
    assert_eq!(array.levels, [[10, 12]]);
}

#[test]
fn ignorable_codecs_are_ignored_by_planner_and_decoder() {
    let array =
        v3(&[("[{\"name\": \"bytes\"", "[{\"name\": \"hint\", \"must_understand\": false}, {\"name\": \"bytes\"")]);
    assert_eq!(array.codecs, ["bytes"]);
    let document = corpus::base(ZarrFormat::V3)
        .replace("[{\"name\": \"bytes\"", "[{\"name\": \"hint\", \"must_understand\": false}, {\"name\": \"bytes\"");
    let decoder = decoder_document(ZarrFormat::V3, document.as_bytes(), &MetadataLimits::default()).unwrap();
    assert!(!decoder.to_string().contains("hint"));
}

#[test]
fn types_without_a_conversion_parse_whatever_their_codecs_and_fill() {
    for data_type in ["\"bool\"", "\"r16\"", "\"string\"", "\"float8_e4m3\"", "{\"name\": \"numpy.datetime64\"}"] {
        let array = v3(&[
            ("\"uint16\"", data_type),
            ("{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}", "\"vlen-utf8\""),
            ("\"fill_value\": 7", "\"fill_value\": [\"x\"]"),
        ]);
        assert_eq!(array.source, None, "{data_type}");
        assert_eq!((array.fill_value.len(), array.codecs[0].as_str()), (0, "vlen-utf8"), "{data_type}");
    }
}
