//! Opening: a URI -> the metadata document of the array there, or what is there instead.

use super::document::Decoder;
use super::file::{self, io_error};
use super::{Array, ParseMetadata, cache::Cache, uri};
use crate::Status;
use crate::error::{Error, Result};
use damacy_core::metadata::ZarrFormat;
use serde_json::Value;
use std::fs;
use std::io;
use std::path::Path;

/// Bytes of a metadata document.
const MAX_METADATA_BYTES: u64 = 4 << 20;
/// Arrays that a message lists.
const MAX_LISTED: usize = 20;
/// Directory entries that are looked at to list them.
const MAX_EXAMINED: usize = 1000;

/// As [`Array::open`].
pub(super) fn open(uri: &str, parser: &mut dyn ParseMetadata) -> Result<Array> {
    let root = uri::local_path(uri)?;
    let (format, bytes) = match document(&root).map_err(|e| at(uri, e))? {
        Some(found) => found,
        None => return Err(no_array(uri, &root)),
    };
    if format == ZarrFormat::V3 && node_type(&bytes).as_deref() == Some("group") {
        return Err(no_array(uri, &root));
    }
    let metadata = parser.parse_metadata(format, &bytes).map_err(|e| {
        // A document that is not an array, of whatever other kind, is malformed here: groups are handled above.
        let status = if e.status == Status::Inval { Status::Decode } else { e.status };
        Error::new(status, "open", format!("{uri}: {e}"))
    })?;
    let decoder = Decoder::new(&metadata, &bytes)
        .map_err(|e| Error::new(e.status, "open", format!("{uri}: {} ({})", e.what, super::describe(&metadata))))?;
    let metadata_bytes = bytes.len() as u64;
    Ok(Array { uri: uri.to_owned(), root, metadata, metadata_bytes, decoder, cache: Cache::default() })
}

fn at(uri: &str, error: Error) -> Error {
    Error::new(error.status(), "open", format!("{uri}: {error}"))
}

/// The array's document: `zarr.json`, else `.zarray`.
fn document(root: &Path) -> Result<Option<(ZarrFormat, Vec<u8>)>> {
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

fn node_type(bytes: &[u8]) -> Option<String> {
    let document: Value = serde_json::from_slice(bytes).ok()?;
    document.get("node_type")?.as_str().map(str::to_owned)
}

/// What there is instead of an array.
fn no_array(uri: &str, root: &Path) -> Error {
    let message = match fs::metadata(root) {
        Ok(meta) if !meta.is_dir() => {
            format!("{uri}: a file, not an array: give the array's directory (stores inside a file are not read)")
        }
        Ok(_) if is_group(root) => {
            format!("{uri}: a group, not an array; {}", list(root))
        }
        Ok(_) => {
            format!("{uri}: no array: the directory has neither zarr.json nor .zarray; {}", list(root))
        }
        Err(_) => format!("{uri}: no array: there is no directory {}", root.display()),
    };
    Error::new(Status::NotFound, "open", message)
}

fn is_group(root: &Path) -> bool {
    root.join("zarr.json").exists() || root.join(".zgroup").exists()
}

/// `arrays inside: a, b`: the arrays one level below.
fn list(root: &Path) -> String {
    let Ok(entries) = fs::read_dir(root) else { return "it cannot be listed".into() };
    let mut entries = entries.filter_map(io::Result::ok);
    let mut names: Vec<String> = entries
        .by_ref()
        .take(MAX_EXAMINED)
        .filter(|entry| is_array(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let more = names.len().saturating_sub(MAX_LISTED);
    names.truncate(MAX_LISTED);
    let examined = if entries.next().is_some() { " (of the first 1000 entries)" } else { "" };
    match (names.is_empty(), more) {
        (true, _) => format!("no arrays directly inside{examined}"),
        (false, 0) => format!("arrays inside{examined}: {}", names.join(", ")),
        (false, more) => format!("arrays inside{examined}: {} and {more} more", names.join(", ")),
    }
}

fn is_array(path: &Path) -> bool {
    if path.join(".zarray").is_file() {
        return true;
    }
    let document = file::read_small(&path.join("zarr.json"), MAX_METADATA_BYTES);
    document.ok().flatten().and_then(|bytes| node_type(&bytes)).as_deref() == Some("array")
}
