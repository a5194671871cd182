//! What opening says when there is no array, or none that it can read.

use super::support::{copy_of, open, store};
use damacy::Status;
use damacy::error::Error;
use damacy::zarr::{Array, NativeParser, ParseMetadata};
use damacy_core::metadata::{ArrayMetadata, ZarrFormat};
use std::fs;
use std::os::unix::fs::symlink;

fn refusal(path: &std::path::Path) -> Error {
    open(path).err().expect("refused")
}

fn assert_refused(error: &Error, status: Status, parts: &[&str]) {
    assert_eq!(error.status(), status, "{error}");
    assert_eq!(error.what(), "open", "{error}");
    for part in parts {
        assert!(error.message().contains(part), "{part:?} is not in: {error}");
    }
}

#[test]
fn a_path_and_a_file_uri_open_the_same_array() {
    let folder = copy_of("v3-zstd");
    let spaced = folder.path().parent().expect("a parent").join(format!("a b%20é-{}", std::process::id()));
    symlink(folder.path(), &spaced).expect("a link");
    let path = spaced.to_str().expect("UTF-8");
    let encoded = path.replace('%', "%25").replace(' ', "%20").replace('é', "%C3%A9");
    for uri in [path.to_owned(), format!("file://{encoded}"), format!("file://localhost{encoded}")] {
        let array = Array::open(&uri, &mut NativeParser).expect("opens");
        assert_eq!(array.uri(), uri);
        assert_eq!(array.metadata().shape, [7, 10, 12]);
        assert!(array.metadata_bytes() > 100);
    }
    fs::remove_file(spaced).expect("removed");
}

#[test]
fn other_schemes_and_hosts_are_named() {
    for (uri, part) in [
        ("http://example.org/a.zarr", "http"),
        ("s3://bucket/a.zarr", "s3"),
        ("gs://bucket/a.zarr", "gs"),
        ("file://server/share/a.zarr", "server"),
    ] {
        let error = Array::open(uri, &mut NativeParser).err().expect("refused");
        assert_refused(&error, Status::Unsupported, &[uri, part, "file://"]);
    }
}

#[test]
fn a_group_is_named_with_the_arrays_inside() {
    for name in ["v3-group", "v2-group"] {
        let error = refusal(&store(name));
        assert_refused(&error, Status::NotFound, &[name, "a group", "arrays inside: labels, raw"]);
        assert!(!error.message().contains("deeper"), "{error}");
    }
}

#[test]
fn of_a_group_of_groups_inspect_knows_more() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join(".zgroup"), r#"{"zarr_format": 2}"#).expect("written");
    let deep = folder.path().join("deep");
    fs::create_dir(&deep).expect("a folder");
    fs::write(deep.join(".zgroup"), r#"{"zarr_format": 2}"#).expect("written");
    let error = refusal(folder.path());
    assert_refused(&error, Status::NotFound, &["a group", "no arrays directly inside", "inspect"]);
}

#[test]
fn the_list_of_arrays_is_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join(".zgroup"), r#"{"zarr_format": 2}"#).expect("written");
    for nth in 0..25 {
        let array = folder.path().join(format!("a{nth:02}"));
        fs::create_dir(&array).expect("a folder");
        fs::write(array.join(".zarray"), "{}").expect("written");
    }
    let error = refusal(folder.path());
    assert_refused(&error, Status::NotFound, &["a00, a01", "a19 and 5 more"]);
    assert!(!error.message().contains("a20"), "{error}");
}

#[test]
fn nothing_there_says_what_was_looked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_refused(&refusal(folder.path()), Status::NotFound, &["zarr.json", ".zarray", "no arrays"]);
    let missing = folder.path().join("missing/a.zarr");
    assert_refused(&refusal(&missing), Status::NotFound, &["missing/a.zarr", "no directory"]);
    let file = folder.path().join("a.zarr.zip");
    fs::write(&file, "PK").expect("written");
    assert_refused(&refusal(&file), Status::NotFound, &["a.zarr.zip", "a file"]);
    assert_refused(&refusal(&file.join("inner")), Status::NotFound, &["a.zarr.zip/inner"]);
}

#[test]
fn metadata_that_cannot_be_read_is_an_io_error_and_not_a_missing_array() {
    let folder = copy_of("v2-zstd");
    fs::create_dir(folder.path().join("zarr.json")).expect("a folder");
    assert_refused(&refusal(folder.path()), Status::Io, &["zarr.json", "a directory"]);
    let looped = tempfile::tempdir().expect("a folder");
    symlink("zarr.json", looped.path().join("zarr.json")).expect("a link");
    assert_refused(&refusal(looped.path()), Status::Io, &["zarr.json", "cannot be opened"]);
}

#[test]
fn metadata_beyond_the_limit_is_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = fs::File::create(folder.path().join("zarr.json")).expect("a file");
    file.set_len(1 << 40).expect("a sparse file");
    assert_refused(&refusal(folder.path()), Status::Budget, &["zarr.json", "1099511627776 bytes", "4194304"]);
}

#[test]
fn malformed_metadata_and_unknown_codecs_are_named_before_any_chunk_is_read() {
    let folder = copy_of("v3-zstd");
    let document = fs::read_to_string(folder.path().join("zarr.json")).expect("metadata");
    let with = |from: &str, to: &str| {
        assert!(document.contains(from), "{from}");
        fs::write(folder.path().join("zarr.json"), document.replace(from, to)).expect("written");
        refusal(folder.path())
    };
    let path = folder.path().to_str().expect("UTF-8");
    assert_refused(&with("\"zstd\"", "\"lzma\""), Status::Unsupported, &[path, "lzma"]);
    assert_refused(&with("\"bytes\"", "\"vlen-utf8\""), Status::Unsupported, &[path, "vlen-utf8"]);
    assert_refused(&with("\"regular\"", "\"rectilinear\""), Status::Unsupported, &[path, "rectilinear"]);
    assert_refused(&with("\"codecs\"", "\"codecs"), Status::Decode, &[path]);
    assert_refused(&with("\"array\"", "\"tensor\""), Status::Decode, &[path]);
}

/// Refuses everything, as the sandbox does with a document beyond its limits.
struct Refusing;

impl ParseMetadata for Refusing {
    fn parse_metadata(&mut self, _: ZarrFormat, _: &[u8]) -> Result<ArrayMetadata, damacy_core::error::Error> {
        Err(damacy_core::error::Error::new(Status::Budget, "too much"))
    }
}

#[test]
fn a_group_is_recognised_whatever_else_its_document_holds() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    let nested = format!(r#"{{"attributes": {}{}, "node_type": "group"}}"#, "[".repeat(1 << 20), "]".repeat(1 << 20));
    fs::write(folder.path().join("zarr.json"), nested).expect("written");
    let error = Array::open(path, &mut Refusing).err().expect("refused");
    assert_refused(&error, Status::NotFound, &[path, "a group"]);
    assert_refused(&refusal(folder.path()), Status::NotFound, &[path, "a group"]);
    fs::write(folder.path().join("zarr.json"), r#"{"node_type": "array"}"#).expect("written");
    assert_refused(&Array::open(path, &mut Refusing).err().expect("refused"), Status::Budget, &[path, "too much"]);
}

#[test]
fn a_large_consolidated_group_is_too_large_for_an_array() {
    let folder = tempfile::tempdir().expect("a folder");
    let document = format!(r#"{{"node_type": "group", "attributes": "{}"}}"#, "x".repeat(5 << 20));
    fs::write(folder.path().join("zarr.json"), document).expect("written");
    let error = refusal(folder.path());
    assert_refused(&error, Status::Budget, &["zarr.json", "too large for an array's metadata", "4194304", "group"]);
}

#[test]
fn listing_a_group_reads_little() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("zarr.json"), r#"{"node_type": "group"}"#).expect("written");
    let child = |name: &str, attributes: usize| {
        let path = folder.path().join(name);
        fs::create_dir_all(&path).expect("a folder");
        let document = format!(r#"{{"attributes": "{}", "node_type": "array"}}"#, "x".repeat(attributes));
        fs::write(path.join("zarr.json"), document).expect("written");
    };
    child("small", 60 << 10);
    child("vast", 70 << 10);
    let error = refusal(folder.path());
    assert_refused(&error, Status::NotFound, &["arrays inside: small"]);
    assert!(!error.message().contains("vast"), "{error}");
    (0..150).for_each(|nth| child(&format!("a{nth}"), 0));
    let error = refusal(folder.path());
    assert_refused(&error, Status::NotFound, &["of the first 100 entries"]);
    assert!(error.message().len() < 1000, "{error}");
}
