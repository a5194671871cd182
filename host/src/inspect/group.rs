//! A group -> the arrays and groups inside, at any depth, and its multiscale images.

use super::{ArrayInfo, Multiscale, array_or_error, ome, optional_error};
use crate::error::{Error, Result};
use crate::zarr::node::{Group, Node, look};
use crate::zarr::{ParseMetadata, uri_of_path};
use crate::{Status, text};
use damacy_core::metadata::ZarrFormat;
use serde::Serialize;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Arrays of a group that are listed.
pub const MAX_ARRAYS: usize = 1000;
/// Directory entries of a group, at all depths, that are looked at.
pub const MAX_EXAMINED: usize = 10_000;
/// Groups inside groups that are entered.
const MAX_DEPTH: usize = 8;
/// Metadata of a group's arrays that is read, bytes.
const MAX_BYTES: u64 = 64 << 20;

/// What is in a group.
#[derive(Clone, Debug, Serialize)]
pub struct GroupInfo {
    /// Where it is.
    pub uri: String,
    /// 2 or 3.
    pub zarr_format: u8,
    /// OME-Zarr's multiscale images; empty in other groups.
    pub multiscales: Vec<Multiscale>,
    /// What is wrong with the attributes that list those images, if anything: some or all of them are missing then.
    #[serde(serialize_with = "optional_error")]
    pub multiscales_error: Option<Error>,
    /// Arrays at any depth, in order of depth and name.
    pub arrays: Vec<Child>,
    /// Paths of groups at any depth, likewise.
    pub groups: Vec<String>,
    /// False if the group holds more than is listed: more than [`MAX_ARRAYS`] arrays or [`MAX_EXAMINED`] entries, groups
    /// nested more than 8 deep, or 64 MiB of metadata.
    pub complete: bool,
}

/// An array of a group.
#[derive(Clone, Debug, Serialize)]
pub struct Child {
    /// Relative to the group; bytes that are not UTF-8 as `\xff`.
    pub path: String,
    /// Its facts, or why it cannot be opened. A node whose name is not UTF-8 is told by an `Inval` that has its `file://` URI,
    /// by which it can be inspected.
    #[serde(flatten, serialize_with = "array_or_error")]
    pub array: Result<ArrayInfo>,
}

impl GroupInfo {
    pub(super) fn of(uri: &str, group: &Group, parser: &mut dyn ParseMetadata) -> Result<GroupInfo> {
        let (multiscales, multiscales_error) = ome::multiscales(uri, group, parser)?;
        let mut info = GroupInfo {
            uri: uri.to_owned(),
            zarr_format: match group.format {
                ZarrFormat::V2 => 2,
                ZarrFormat::V3 => 3,
            },
            multiscales,
            multiscales_error,
            arrays: Vec::new(),
            groups: Vec::new(),
            complete: true,
        };
        info.walk(group, parser)?;
        Ok(info)
    }

    /// Lists what is inside, level by level.
    fn walk(&mut self, group: &Group, parser: &mut dyn ParseMetadata) -> Result<()> {
        let (mut left, mut bytes) = (MAX_EXAMINED, MAX_BYTES);
        let root = group.directories(left)?;
        left -= root.examined;
        self.complete = root.complete;
        let mut todo: VecDeque<(PathBuf, usize)> = root.names.into_iter().map(|name| (name.into(), 1)).collect();
        while let Some((path, depth)) = todo.pop_front() {
            if self.arrays.len() == MAX_ARRAYS || bytes == 0 {
                self.complete = false;
                return Ok(());
            }
            let found = child(group, &path, parser);
            bytes = bytes.saturating_sub(match &found {
                Ok(None) => 0,
                Ok(Some(Node::Array(array))) => array.metadata_bytes(),
                Ok(Some(Node::Group(inner))) => {
                    inner.document.as_ref().ok().and_then(Option::as_ref).map_or(0, |document| document.len() as u64)
                }
                Err(_) => MAX_BYTES / 256,
            });
            let Some(shown) = path.to_str().map(str::to_owned) else {
                if !matches!(found, Ok(None)) {
                    // What is inside a group of that kind is not looked at.
                    self.complete &= !matches!(found, Ok(Some(Node::Group(_))));
                    self.arrays.push(unnamed(group, &path));
                }
                continue;
            };
            match found {
                Ok(None) => {}
                Ok(Some(Node::Array(array))) => {
                    self.arrays.push(Child { path: shown, array: Ok(ArrayInfo::of(&array)) });
                }
                Ok(Some(Node::Group(inner))) => {
                    let inner = Group { document: Ok(None), ..inner };
                    match inner.directories(if depth < MAX_DEPTH { left } else { 0 }) {
                        Ok(found) => {
                            left -= found.examined;
                            self.complete &= found.complete;
                            todo.extend(found.names.into_iter().map(|name| (path.join(name), depth + 1)));
                        }
                        Err(_) => self.complete = false,
                    }
                    self.groups.push(shown);
                }
                Err(error) => {
                    self.arrays.push(Child { path: shown, array: Err(error) });
                }
            }
        }
        Ok(())
    }
}

/// What lies at a path inside a group. Paths of datasets are untrusted: the caller has checked that they stay inside.
pub(super) fn child(group: &Group, path: &Path, parser: &mut dyn ParseMetadata) -> Result<Option<Node>> {
    let place = group.root.join(path);
    look(&uri_of_path(&place), &place, parser)
}

/// A node that is there and cannot be named by a path of text.
fn unnamed(group: &Group, path: &Path) -> Child {
    let (path, uri) = (text::path(path), uri_of_path(&group.root.join(path)));
    let message = format!(
        "{path}: the name is not UTF-8, and is not looked into from here; accepted is the node's own URI, {uri}"
    );
    Child { path, array: Err(Error::new(Status::Inval, "open", message)) }
}
