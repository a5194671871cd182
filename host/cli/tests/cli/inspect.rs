//! What `inspect` says of fixtures that zarr-python wrote, and of what cannot be read.

use super::support::{damacy, fixture, repository, text};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

#[test]
fn every_fixture_has_the_shape_and_type_that_zarr_python_wrote() {
    let listed = fs::read_to_string(repository("tests/fixtures/fixtures.json")).expect("the list");
    let listed: Vec<Value> = serde_json::from_str(&listed).expect("JSON");
    assert!(listed.len() > 50);
    for entry in listed {
        let name = entry["name"].as_str().expect("a name");
        // It has no conversion; below.
        if entry["dtype"] == "float64" {
            continue;
        }
        let found = damacy(["inspect", &fixture(name), "--json"]).json();
        assert_eq!(
            (&found["kind"], &found["shape"], &found["source"]),
            (&json!("array"), &entry["shape"], &entry["dtype"])
        );
        assert_eq!(found["converts_to"].as_array().map(Vec::len), Some(10), "{name}");
        assert_eq!(found["refusal"], Value::Null);
        let grid = found["grid"].as_array().expect("a grid").iter().map(|n| n.as_u64().expect("a number"));
        assert_eq!(found["chunks"].as_u64(), Some(grid.product()), "{name}");
    }
}

#[test]
fn a_sharded_array_as_text() {
    let uri = fixture("v3-shard");
    let expected = format!(
        "{uri}: Zarr v3 array
  shape        (9, 20, 12): 2,160 elements, 4,320 bytes (4.2 KiB)
  data type    uint16, little-endian
  chunks       (2, 5, 6): 5 x 4 x 2 = 40, 120 bytes each decoded
  shards       (4, 10, 12): 6
  codecs       sharding_indexed, bytes, zstd
  fill value   0
  keys         default with '/'
  converts to  f32, bf16, u8, u16, u32, u64, i8, i16, i32, i64
"
    );
    assert_eq!(damacy(["inspect", &uri]).out, expected);
}

#[test]
fn a_type_without_a_conversion_is_told_and_is_no_failure() {
    let run = damacy(["inspect", &fixture("v3-float64"), "--json"]).json();
    assert_eq!(
        (&run["converts_to"], &run["refusal"]["status"], &run["refusal"]["code"]),
        (&json!([]), &json!("DTYPE"), &json!(4))
    );
    assert!(run["refusal"]["message"].as_str().expect("words").contains("float64"));
    assert!(damacy(["inspect", &fixture("v3-float64")]).out.contains("nothing: DTYPE"));
}

#[test]
fn groups_list_their_arrays() {
    for (name, format) in [("v3-group", 3), ("v2-group", 2)] {
        let found = damacy(["inspect", &fixture(name), "--json"]).json();
        assert_eq!((&found["kind"], &found["zarr_format"]), (&json!("group"), &json!(format)));
        let paths: Vec<&Value> = found["arrays"].as_array().expect("arrays").iter().map(|a| &a["path"]).collect();
        assert_eq!(paths, ["labels", "raw"]);
        assert_eq!(found["groups"], json!(["deeper"]));
        assert_eq!(found["arrays"][0]["array"]["shape"], json!([2]));
    }
    let out = damacy(["inspect", &fixture("v3-group")]).out;
    assert!(out.contains("labels  (2,)") && out.contains("groups inside: deeper"), "{out}");
}

#[test]
fn an_ome_zarr_image_as_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let group = json!({"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.5", "multiscales": [{
        "axes": [{"name": "y", "type": "space", "unit": "micrometer"}, {"name": "x"}],
        "datasets": [
            {"path": "full", "coordinateTransformations": [{"type": "scale", "scale": [0.5, 0.25]}]},
            {"path": "gone", "coordinateTransformations": [{"type": "scale", "scale": [1, 0.75]}]}]}]}}});
    fs::write(folder.path().join("zarr.json"), group.to_string()).expect("written");
    fs::create_dir(folder.path().join("full")).expect("a folder");
    fs::write(folder.path().join("full/.zarray"), super::support::zarray(&[8, 9], &[4, 4]).to_string())
        .expect("written");
    let out = damacy(["inspect", text(folder.path())]).out;
    for line in ["OME-Zarr 0.5 image", "y (space, micrometer), x", "2 3", "0.5 0.25", "(8, 9)", "NOTFOUND"] {
        assert!(out.contains(line), "{line}: {out}");
    }
}

#[test]
fn faults_of_images_are_told_and_the_arrays_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join(".zgroup"), r#"{"zarr_format": 2}"#).expect("written");
    fs::create_dir(folder.path().join("0")).expect("a folder");
    fs::write(folder.path().join("0/.zarray"), super::support::zarray(&[8, 9], &[4, 4]).to_string()).expect("written");
    let affine = json!({"multiscales": [{"name": "brain", "datasets": [
        {"path": "0", "coordinateTransformations": [{"type": "affine", "affine": []}]}]}]});
    for (attributes, place, status, line) in [
        (affine.to_string(), "/multiscales/0/error", "UNSUPPORTED", "  UNSUPPORTED: "),
        ("{".to_owned(), "/multiscales_error", "DECODE", "OME-Zarr attributes: DECODE: "),
    ] {
        fs::write(folder.path().join(".zattrs"), attributes).expect("written");
        let found = damacy(["inspect", text(folder.path()), "--json"]).json();
        assert_eq!(found.pointer(place).expect("an error")["status"], status);
        assert_eq!(found["arrays"][0]["array"]["shape"], json!([8, 9]));
        let out = damacy(["inspect", text(folder.path())]).out;
        assert!(out.contains(line) && out.contains("(8, 9)"), "{out}");
    }
}

#[test]
fn names_that_are_not_utf_8_are_taken_and_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join(".zgroup"), r#"{"zarr_format": 2}"#).expect("written");
    let odd = folder.path().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&odd).expect("a folder");
    fs::write(odd.join(".zarray"), super::support::zarray(&[8, 9], &[4, 4]).to_string()).expect("written");
    let uri = format!("file://{}/caf%E9", text(folder.path()));
    let array = damacy(["inspect".as_ref(), odd.as_os_str(), "--json".as_ref()]).json();
    assert_eq!((&array["uri"], &array["shape"]), (&json!(uri), &json!([8, 9])));
    let plan = damacy(["plan".as_ref(), "--array".as_ref(), odd.as_os_str(), "--shape".as_ref(), "4,4".as_ref()]);
    assert_eq!((plan.code, plan.out.contains(&uri)), (0, true), "{}", plan.err);
    let found = damacy(["inspect", text(folder.path()), "--json"]).json();
    let child = &found["arrays"][0];
    assert_eq!((&child["path"], &child["error"]["status"]), (&json!("caf\\xe9"), &json!("INVAL")));
    assert!(child["error"]["message"].as_str().expect("words").contains(&uri));
    let none = folder.path().join(OsStr::from_bytes(b"none\xe9"));
    damacy(["inspect".as_ref(), none.as_os_str()]).refused(13, &["none%E9", "none\\xe9"]);
}

#[test]
fn what_is_no_array_names_the_arrays_and_what_cannot_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join(".zgroup"), r#"{"zarr_format": 2}"#).expect("written");
    for name in ["a", "b", "c"] {
        fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    fs::create_dir(folder.path().join("a/zarr.json")).expect("a folder");
    fs::create_dir(folder.path().join("c/.zarray")).expect("a folder");
    fs::write(folder.path().join("b/.zarray"), super::support::zarray(&[8], &[4]).to_string()).expect("written");
    fs::write(folder.path().join("file"), "").expect("written");
    damacy(["plan", "--array", text(folder.path()), "--shape", "4"])
        .refused(13, &["arrays inside: b; cannot be read: a, c"]);
}

#[test]
fn what_cannot_be_read_has_the_exit_code_of_its_status() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    damacy(["inspect", text(&place("none"))]).refused(13, &["NOTFOUND", "none"]);
    damacy(["inspect", text(folder.path())]).refused(13, &["neither zarr.json nor .zarray"]);
    damacy(["inspect", "s3://bucket/a"]).refused(22, &["UNSUPPORTED", "s3"]);
    damacy(["inspect", ""]).refused(12, &["INVAL", "empty"]);
    fs::write(place(".zarray"), "{").expect("written");
    damacy(["inspect", text(folder.path())]).refused(17, &["DECODE"]);
    fs::remove_file(place(".zarray")).expect("removed");
    let document = fs::read_to_string(format!("{}/zarr.json", fixture("v3-zstd"))).expect("a document");
    fs::write(place("zarr.json"), document.replace("\"zstd\"", "\"zfp\"")).expect("written");
    damacy(["inspect", text(folder.path())]).refused(22, &["zfp"]);
    fs::remove_file(place("zarr.json")).expect("removed");
    fs::create_dir(place("zarr.json")).expect("a folder");
    damacy(["inspect", text(folder.path())]).refused(16, &["IO", "directory"]);
}

#[test]
fn names_cannot_send_control_characters() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).expect("written");
    let evil = folder.path().join("a\u{1b}[31m\nb");
    fs::create_dir(&evil).expect("a folder");
    fs::write(evil.join(".zarray"), super::support::zarray(&[8], &[4]).to_string()).expect("written");
    let run = damacy(["inspect", text(folder.path())]);
    assert!(!run.out.contains('\u{1b}') && run.out.contains("\\u{1b}") && run.out.contains("\\nb"), "{}", run.out);
    fs::write(evil.join(".zarray"), "{").expect("written");
    let run = damacy(["inspect", text(&evil)]);
    assert!(!run.err.contains('\u{1b}'), "{}", run.err);
}
