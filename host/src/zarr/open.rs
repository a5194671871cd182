//! Opening: a URI -> the metadata document of the array there, or what is there instead.

use super::document::Decoder;
use super::file::{self, io_error};
use super::{Array, ParseMetadata, cache::Cache, uri};
use crate::Status;
use crate::error::{Error, Result};
use crate::text;
use damacy_core::metadata::ZarrFormat;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a metadata document.
pub(super) const MAX_METADATA_BYTES: u64 = 4 << 20;
/// Arrays that a message lists.
const MAX_LISTED: usize = 20;
/// Directory entries that are looked at to list them.
const MAX_EXAMINED: usize = 100;
/// Bytes of a document that is looked at to list an array; larger ones are not.
const MAX_EXAMINED_BYTES: u64 = 64 << 10;

/// As [`Array::open`].
pub(super) fn open(uri: &str, parser: &mut dyn ParseMetadata) -> Result<Array> {
    let root = uri::local_path(uri)?;
    match document(&root).map_err(|e| at(uri, e))? {
        Some((format, bytes)) => array(uri, root, format, &bytes, parser),
        None => Err(no_array(uri, &root)),
    }
}

/// The array in `root`, whose document is `bytes`.
pub(super) fn array(
    uri: &str,
    root: PathBuf,
    format: ZarrFormat,
    bytes: &[u8],
    parser: &mut dyn ParseMetadata,
) -> Result<Array> {
    let metadata = parser.parse_metadata(format, bytes).map_err(|e| {
        if format == ZarrFormat::V3 && node_type(bytes) == Some(b"group") {
            return no_array(uri, &root);
        }
        // A document that is neither an array nor a group is malformed here.
        let status = if e.status == Status::Inval { Status::Decode } else { e.status };
        Error::new(status, "open", format!("{uri}: {e}"))
    })?;
    let decoder = Decoder::new(&metadata, bytes)
        .map_err(|e| Error::new(e.status, "open", format!("{uri}: {} ({})", e.what, super::describe(&metadata))))?;
    let metadata_bytes = bytes.len() as u64;
    static NEXT_ID: AtomicU64 = AtomicU64::new(0);
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    Ok(Array { id, uri: uri.to_owned(), root, metadata, metadata_bytes, decoder, cache: Cache::default(), hook: None })
}

pub(super) fn at(uri: &str, error: Error) -> Error {
    let message = format!("{uri}: {error}");
    error.with_what("open").with_message(message)
}

/// The array's document: `zarr.json`, else `.zarray`.
pub(super) fn document(root: &Path) -> Result<Option<(ZarrFormat, Vec<u8>)>> {
    match fs::metadata(root) {
        Ok(meta) if meta.is_dir() => {}
        Ok(_) => return Ok(None),
        Err(e) if is_absent(&e) => return Ok(None),
        Err(e) => return Err(io_error(root, "cannot be examined", e)),
    }
    for (name, format) in [("zarr.json", ZarrFormat::V3), (".zarray", ZarrFormat::V2)] {
        if let Some(bytes) = file::read_small(&root.join(name), MAX_METADATA_BYTES)? {
            return Ok(Some((format, bytes)));
        }
    }
    Ok(None)
}

/// True where a path does not exist, also because a part of it is a file.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The text of a JSON object's `"node_type"`, found without parsing the rest: the document is untrusted, and all that
/// depends on this is how a refusal is worded. Allocates nothing; one pass.
pub(super) fn node_type(document: &[u8]) -> Option<&[u8]> {
    let (mut depth, mut key, mut value_next) = (0_usize, None, false);
    let mut at = 0;
    while let Some(&byte) = document.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let text = string(&document[at..])?;
                at += text.len() + 1;
                match (depth, value_next) {
                    (1, true) if key == Some(&b"node_type"[..]) => return Some(text),
                    (1, false) => key = Some(text),
                    _ => {}
                }
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b':' if depth == 1 => value_next = true,
            b',' if depth == 1 => (key, value_next) = (None, false),
            _ => {}
        }
    }
    None
}

/// A JSON string's raw text, without its quotes; `rest` begins behind the first one.
fn string(rest: &[u8]) -> Option<&[u8]> {
    let mut at = 0;
    loop {
        match rest.get(at)? {
            b'"' => return Some(&rest[..at]),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// What there is instead of an array.
pub(super) fn no_array(uri: &str, root: &Path) -> Error {
    let message = match fs::metadata(root) {
        Ok(meta) if !meta.is_dir() => {
            format!("{uri}: a file, not an array: give the array's directory (stores inside a file are not read)")
        }
        Ok(_) if is_group(root) => {
            let (inside, found) = list(root);
            let deeper = if found { "" } else { "; inspect lists those further down" };
            format!("{uri}: a group, not an array; {inside}{deeper}")
        }
        Ok(_) => {
            format!("{uri}: no array: the directory has neither zarr.json nor .zarray; {}", list(root).0)
        }
        Err(_) => format!("{uri}: no array: there is no directory {}", text::path(root)),
    };
    Error::new(Status::NotFound, "open", message).with_path(root)
}

fn is_group(root: &Path) -> bool {
    root.join("zarr.json").exists() || root.join(".zgroup").exists()
}

/// `arrays inside: a, b; cannot be read: c`: what is one level below, and whether there are any arrays (or it cannot be listed).
fn list(root: &Path) -> (String, bool) {
    let Ok(entries) = fs::read_dir(root) else { return ("it cannot be listed".into(), true) };
    let mut entries = entries.filter_map(io::Result::ok);
    let (mut arrays, mut unreadable) = (Vec::new(), Vec::new());
    for entry in entries.by_ref().take(MAX_EXAMINED) {
        let name = || text::path(Path::new(&entry.file_name()));
        match is_array(&entry.path()) {
            Ok(true) => arrays.push(name()),
            Ok(false) => {}
            Err(Unreadable) => unreadable.push(name()),
        }
    }
    let examined = if entries.next().is_some() { " (of the first 100 entries)" } else { "" };
    let any = !arrays.is_empty();
    let mut text = match any {
        true => format!("arrays inside{examined}: {}", listed(arrays)),
        false => format!("no arrays directly inside{examined}"),
    };
    if !unreadable.is_empty() {
        text.push_str(&format!("; cannot be read: {}", listed(unreadable)));
    }
    (text, any)
}

/// `a, b and 3 more`.
fn listed(mut names: Vec<String>) -> String {
    names.sort();
    let more = names.len().saturating_sub(MAX_LISTED);
    names.truncate(MAX_LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.join(", ") + &more
}

/// There is metadata, or may be, which the system does not give.
struct Unreadable;

/// Whether an array lies there. A document beyond the size that is looked at tells nothing, and is no array here.
fn is_array(path: &Path) -> Result<bool, Unreadable> {
    let place = path.join(".zarray");
    match fs::metadata(&place) {
        Ok(meta) => return if meta.is_file() { Ok(true) } else { Err(Unreadable) },
        Err(e) if is_absent(&e) => {}
        Err(_) => return Err(Unreadable),
    }
    match file::read_small(&path.join("zarr.json"), MAX_EXAMINED_BYTES) {
        Ok(document) => Ok(document.is_some_and(|bytes| node_type(&bytes) == Some(b"array"))),
        Err(error) if error.status() == Status::Budget || !path.is_dir() => Ok(false),
        Err(_) => Err(Unreadable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_node_is_found_in_any_document() {
        for (document, kind) in [
            (r#"{"node_type": "group"}"#, Some("group")),
            (r#"{"a": {"node_type": "array"}, "b": [1, "node_type"], "node_type" : "group"}"#, Some("group")),
            (r#"{"a": "node_type", "b\"": "\\", "node_type":"array", "c": "#, Some("array")),
            (r#"{"node_type": {"node_type": "array"}}"#, None),
            (r#"{"node_type": 1, "x": "array"}"#, None),
            (r#"["node_type", "array"]"#, None),
            (r#"}{"node_type": "array"}"#, None),
            (r#"{"node_type": "arr"#, None),
            (r#"{"node_type": "arr\"#, None),
            ("", None),
        ] {
            assert_eq!(node_type(document.as_bytes()), kind.map(str::as_bytes), "{document}");
        }
        let deep = b"[".repeat(1 << 20);
        assert_eq!(node_type(&deep), None);
    }
}
