//! A group -> the arrays and groups inside, at any depth, and its multiscale images.

use super::{ArrayInfo, Multiscale, array_or_error, ome};
use crate::error::Result;
use crate::zarr::ParseMetadata;
use crate::zarr::node::{Group, Node, look};
use damacy_core::metadata::ZarrFormat;
use serde::Serialize;
use std::collections::VecDeque;

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
    /// Arrays at any depth, in order of depth and name.
    pub arrays: Vec<Child>,
    /// Paths of groups at any depth, likewise.
    pub groups: Vec<String>,
    /// False if the group holds more than is listed: more than [`MAX_ARRAYS`] arrays or [`MAX_EXAMINED`] entries, groups
    /// nested more than 8 deep, 64 MiB of metadata, or names that are not UTF-8.
    pub complete: bool,
}

/// An array of a group.
#[derive(Clone, Debug, Serialize)]
pub struct Child {
    /// Relative to the group.
    pub path: String,
    /// Its facts, or why it cannot be opened.
    #[serde(flatten, serialize_with = "array_or_error")]
    pub array: Result<ArrayInfo>,
}

impl GroupInfo {
    pub(super) fn of(uri: &str, group: &Group, parser: &mut dyn ParseMetadata) -> Result<GroupInfo> {
        let mut info = GroupInfo {
            uri: uri.to_owned(),
            zarr_format: match group.format {
                ZarrFormat::V2 => 2,
                ZarrFormat::V3 => 3,
            },
            multiscales: ome::multiscales(uri, group, parser)?,
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
        let mut todo: VecDeque<(String, usize)> = root.names.into_iter().map(|name| (name, 1)).collect();
        while let Some((path, depth)) = todo.pop_front() {
            if self.arrays.len() == MAX_ARRAYS || bytes == 0 {
                self.complete = false;
                return Ok(());
            }
            match child(group, &path, parser) {
                Ok(None) => {}
                Ok(Some(Node::Array(array))) => {
                    bytes = bytes.saturating_sub(array.metadata_bytes());
                    self.arrays.push(Child { path, array: Ok(ArrayInfo::of(&array)) });
                }
                Ok(Some(Node::Group(inner))) => {
                    bytes = bytes.saturating_sub(inner.document.map_or(0, |document| document.len() as u64));
                    let inner = Group { document: None, ..inner };
                    match inner.directories(if depth < MAX_DEPTH { left } else { 0 }) {
                        Ok(found) => {
                            left -= found.examined;
                            self.complete &= found.complete;
                            todo.extend(found.names.into_iter().map(|name| (format!("{path}/{name}"), depth + 1)));
                        }
                        Err(_) => self.complete = false,
                    }
                    self.groups.push(path);
                }
                Err(error) => {
                    bytes = bytes.saturating_sub(MAX_BYTES / 256);
                    self.arrays.push(Child { path, array: Err(error) });
                }
            }
        }
        Ok(())
    }
}

/// What lies at a path inside a group. Paths of datasets are untrusted: the caller has checked that they stay inside.
pub(super) fn child(group: &Group, path: &str, parser: &mut dyn ParseMetadata) -> Result<Option<Node>> {
    let place = group.root.join(path);
    look(&place.display().to_string(), &place, parser)
}
