//! What lies in a directory: an array, a group, or neither. A URI -> the opened array or the group's document; a group's
//! directory -> the names inside. All of it is untrusted.

use super::open::{MAX_METADATA_BYTES, array, at, document, no_array, node_type};
use super::{Array, ParseMetadata, file, uri};
use crate::Status;
use crate::error::{Error, Result};
use damacy_core::metadata::ZarrFormat;
use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// An array or a group.
pub(crate) enum Node {
    /// Its metadata has been parsed.
    Array(Box<Array>),
    /// Its document has been read, not parsed.
    Group(Group),
}

/// A group in a local directory.
pub(crate) struct Group {
    /// v2 or v3.
    pub format: ZarrFormat,
    /// The directory.
    pub root: PathBuf,
    /// The document that holds its attributes: `zarr.json`, or `.zattrs` where there is one; or why that cannot be read.
    pub document: Result<Option<Vec<u8>>>,
}

/// Names inside a directory.
pub(crate) struct Names {
    /// In order; numbers by value.
    pub names: Vec<OsString>,
    /// How many entries were looked at.
    pub examined: usize,
    /// False if there are more entries.
    pub complete: bool,
}

/// What lies at a URI.
///
/// # Errors
/// As [`Array::open`], but a group is no error.
pub(crate) fn open(uri: &str, parser: &mut dyn ParseMetadata) -> Result<Node> {
    let root = uri::local_path(uri)?;
    match look(uri, &root, parser)? {
        Some(node) => Ok(node),
        None => Err(no_array(uri, &root)),
    }
}

/// What lies in a directory, if it is a node at all. `uri` names it in errors.
///
/// # Errors
/// As [`open`], but for what is not there.
pub(crate) fn look(uri: &str, root: &Path, parser: &mut dyn ParseMetadata) -> Result<Option<Node>> {
    match document(root).map_err(|e| at(uri, e))? {
        Some((format, bytes)) if format == ZarrFormat::V3 && node_type(&bytes) == Some(b"group") => {
            Ok(Some(Node::Group(Group { format, root: root.to_owned(), document: Ok(Some(bytes)) })))
        }
        Some((format, bytes)) => {
            let array = array(uri, root.to_owned(), format, &bytes, parser)?;
            Ok(Some(Node::Array(Box::new(array))))
        }
        None => group_v2(uri, root).map(|group| group.map(Node::Group)),
    }
}

/// The Zarr v2 group in a directory, if there is one.
fn group_v2(uri: &str, root: &Path) -> Result<Option<Group>> {
    #[derive(serde::Deserialize)]
    struct Marker {
        zarr_format: u64,
    }

    if !root.is_dir() {
        return Ok(None);
    }
    let read = |name: &str| file::read_small(&root.join(name), MAX_METADATA_BYTES).map_err(|e| at(uri, e));
    let Some(marker) = read(".zgroup")? else { return Ok(None) };
    match serde_json::from_slice(&marker) {
        Ok(Marker { zarr_format: 2 }) => {}
        Ok(Marker { zarr_format }) => {
            let message = format!("{uri}: .zgroup has zarr_format {zarr_format}; accepted is 2");
            return Err(Error::new(Status::Decode, "open", message));
        }
        Err(e) => {
            let message = format!("{uri}: .zgroup is malformed: {e}; accepted is {{\"zarr_format\": 2}}");
            return Err(Error::new(Status::Decode, "open", message).with_source(e));
        }
    }
    Ok(Some(Group { format: ZarrFormat::V2, root: root.to_owned(), document: read(".zattrs") }))
}

impl Group {
    /// The directories inside, of the first `most` entries.
    ///
    /// # Errors
    /// `Io` if the directory cannot be listed.
    pub fn directories(&self, most: usize) -> Result<Names> {
        let failed = |e| file::io_error(&self.root, "cannot be listed", e);
        let mut entries = fs::read_dir(&self.root).map_err(failed)?;
        let mut found = Names { names: Vec::new(), examined: 0, complete: true };
        for entry in entries.by_ref().take(most) {
            let entry = entry.map_err(failed)?;
            found.examined += 1;
            // Follows links, as opening does.
            if !entry.path().is_dir() {
                continue;
            }
            found.names.push(entry.file_name());
        }
        found.complete &= entries.next().is_none();
        found.names.sort_by(|a, b| by_number_or_name(a, b));
        Ok(found)
    }
}

/// `2` before `10`, and numbers before other names.
fn by_number_or_name(a: &OsStr, b: &OsStr) -> Ordering {
    let number = |name: &OsStr| name.to_str().and_then(|name| name.parse::<u64>().ok());
    match (number(a), number(b)) {
        (Some(a_number), Some(b_number)) => a_number.cmp(&b_number).then_with(|| a.cmp(b)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}
