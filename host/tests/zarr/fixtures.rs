//! Every fixture that zarr-python wrote reads as the values that numpy saved.

use super::support::{fixtures, open, read_all, store};
use damacy::Status;
use std::fs;

#[test]
fn every_fixture_reads_as_numpy_has_it() {
    let manifest = fs::read(fixtures().join("fixtures.json")).expect("the manifest");
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).expect("JSON");
    let entries = manifest.as_array().expect("a list");
    assert!(entries.len() > 100, "{} fixtures", entries.len());
    let mut wrong = Vec::new();
    for entry in entries {
        let text = |key: &str| entry[key].as_str().expect("text").to_owned();
        if text("dtype") == "float64" {
            continue;
        }
        let values = fs::read(fixtures().join("values").join(text("values"))).expect("values");
        match open(&store(&text("name"))).and_then(|array| read_all(&array)) {
            Ok(found) if found == values => {}
            Ok(_) => wrong.push(format!("{}: other values", text("name"))),
            Err(e) => wrong.push(format!("{}: {} {e}", text("name"), e.status())),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), entries.len(), wrong.join("\n"));
}

#[test]
fn a_type_without_conversion_opens_but_does_not_decode() {
    let array = open(&store("v3-float64")).expect("opens");
    assert_eq!(array.metadata().source, None);
    assert_eq!(array.metadata().data_type, "float64");
    let error = array.fetch(&[0], u64::MAX, Vec::new(), &mut 0).err().expect("refused");
    assert_eq!(error.status(), Status::Dtype);
    assert!(error.message().contains("float64"), "{error}");
}

#[test]
fn facts_for_messages() {
    for (name, facts) in [
        ("v3-shard-asymmetric", "uint16 (3, 6, 8), chunks (1, 6, 4), shards (3, 6, 8)"),
        ("v3-shard-nested", "uint16 (9, 20, 12), chunks (2, 5, 3), shards (4, 10, 6) in shards (8, 10, 12)"),
        ("v3-rank1-1001", "uint16 (1001,), chunks (10,), shards (100,)"),
        ("v3-rank0", "int32 (), chunks ()"),
        ("v2-fortran-big", ">u2 (7, 10, 12), chunks (4, 5, 12)"),
    ] {
        assert_eq!(open(&store(name)).expect("opens").describe(), facts);
    }
}
