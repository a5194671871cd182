//! What opening says when there is no array, or none that it can read.

use super::support::{copy_of, open, store};
use damacy::Status;
use damacy::error::Error;
use damacy::zarr::{Array, NativeParser};
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
