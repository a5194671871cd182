//! OME-Zarr: a group's attributes -> its multiscale images: axes, and levels with shapes and scale factors.
//!
//! Version 0.5 keeps them in `zarr.json` under `attributes.ome`, 0.4 and before in `.zattrs` (or `attributes`) itself.
//! What is wrong with them is told beside the images, so that one bad attribute hides nothing else of the group.

use super::group::child;
use super::transformation::Transformation;
use super::walk::At;
use super::{ArrayInfo, array_or_error, optional_error};
use crate::error::{Error, Result};
use crate::zarr::ParseMetadata;
use crate::zarr::node::{Group, Node};
use crate::{Status, text};
use damacy_core::metadata::ZarrFormat;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Component, Path};

/// Images of one group, axes of one image.
const MAX_IMAGES: usize = 64;
pub(super) const MAX_AXES: usize = 32;
/// Levels of all images of a group.
const MAX_LEVELS: usize = 256;

/// One multiscale image.
#[derive(Clone, Debug, Serialize)]
pub struct Multiscale {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// OME-Zarr's version as the attributes give it: `0.4`, `0.5`.
    pub version: Option<String>,
    /// One for each axis of its arrays; empty in versions before 0.3, which do not name them.
    pub axes: Vec<Axis>,
    /// Finest first; empty if `error` is of the axes or levels.
    pub levels: Vec<Level>,
    /// The first fault of its attributes, if there is one, with its place.
    #[serde(serialize_with = "optional_error")]
    pub error: Option<Error>,
}

/// An axis of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// `z`.
    pub name: String,
    /// `space`, `time`, `channel` ...
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// `micrometer`.
    pub unit: Option<String>,
}

/// One resolution of an image.
#[derive(Clone, Debug, Serialize)]
pub struct Level {
    /// Relative to the group.
    pub path: String,
    /// Size of an element along each axis, in the axis's unit; empty if the attributes give none.
    pub scale: Vec<f64>,
    /// Where the first element is; empty if the attributes give none.
    pub translation: Vec<f64>,
    /// `scale` over that of the first level; empty where one of them is.
    pub factors: Vec<f64>,
    /// The array's facts, or why it cannot be opened.
    #[serde(flatten, serialize_with = "array_or_error")]
    pub array: Result<ArrayInfo>,
}

/// A group's document, as far as it matters here; the rest is checked to be JSON and dropped.
#[derive(Deserialize)]
struct GroupV3 {
    zarr_format: u64,
    #[serde(default)]
    attributes: Option<Attributes>,
}

#[derive(Deserialize)]
struct Attributes {
    ome: Option<Value>,
    multiscales: Option<Value>,
}

/// The images that a group's attributes describe, and what is wrong with the list of them.
///
/// # Errors
/// `Decode` for a `zarr.json` that is not a group's document at all.
pub(super) fn multiscales(
    uri: &str,
    group: &Group,
    parser: &mut dyn ParseMetadata,
) -> Result<(Vec<Multiscale>, Option<Error>)> {
    let at_uri = |error: Error| {
        let message = format!("{uri}: {error}");
        error.with_message(message)
    };
    let document = match &group.document {
        Ok(Some(document)) => document,
        Ok(None) => return Ok((Vec::new(), None)),
        Err(error) => return Ok((Vec::new(), Some(error.clone()))),
    };
    let (attributes, place) = match group.format {
        ZarrFormat::V3 => (attributes_v3(document).map_err(at_uri)?, "/attributes"),
        ZarrFormat::V2 => match serde_json::from_slice(document) {
            Ok(attributes) => (Some(attributes), ""),
            Err(error) => return Ok((Vec::new(), Some(at_uri(malformed(".zattrs", error))))),
        },
    };
    let Some(attributes) = attributes else { return Ok((Vec::new(), None)) };
    let Listed { images, version, mut error } = Listed::of(&attributes, place);
    let images = images.and_then(|images| images.list(MAX_IMAGES).map_err(|e| error = error.take().or(Some(e))).ok());
    let mut levels_left = MAX_LEVELS;
    let images = images.iter().flatten().map(|image| {
        let mut read = read(image, version.clone(), levels_left);
        levels_left -= read.levels.len();
        for level in &mut read.levels {
            level.array = open(group, &level.path, read.axes.len(), parser);
        }
        read.error = read.error.map(at_uri);
        read
    });
    Ok((images.collect(), error.map(at_uri)))
}

fn malformed(name: &str, error: serde_json::Error) -> Error {
    Error::new(Status::Decode, "open", format!("the group's {name} is malformed: {error}")).with_source(error)
}

fn attributes_v3(document: &[u8]) -> Result<Option<Attributes>> {
    match serde_json::from_slice(document).map_err(|error| malformed("zarr.json", error))? {
        GroupV3 { zarr_format: 3, attributes } => Ok(attributes),
        GroupV3 { zarr_format, .. } => {
            let message = format!("the group's zarr.json has zarr_format {zarr_format}; accepted is 3");
            Err(Error::new(Status::Decode, "open", message))
        }
    }
}

/// Where a group's attributes list its images.
struct Listed<'a> {
    images: Option<At<'a>>,
    /// That of all images.
    version: Option<String>,
    error: Option<Error>,
}

impl<'a> Listed<'a> {
    /// Looks in `ome` (0.5), else in the attributes themselves. A fault of the version does not hide the images.
    fn of(attributes: &'a Attributes, place: &str) -> Listed<'a> {
        let mut error = None;
        let mut told = |fault: Error| error = error.take().or(Some(fault));
        let there = |value: &'a Option<Value>| value.as_ref().filter(|value| !value.is_null());
        let (images, version) = match there(&attributes.ome) {
            Some(value) => {
                let ome = At { value, path: format!("{place}/ome") };
                let version = optional_text(&ome, "version").map_err(&mut told).ok().flatten();
                (ome.get("multiscales").map_err(&mut told).ok().flatten(), version)
            }
            None => {
                let at = |value| At { value, path: format!("{place}/multiscales") };
                (there(&attributes.multiscales).map(at), None)
            }
        };
        Listed { images, version, error }
    }
}

/// One image, whose levels are not opened yet, or as much of it as can be read. `version` is that of all images, if it is given.
fn read(image: &At<'_>, version: Option<String>, most_levels: usize) -> Multiscale {
    let mut error = None;
    let mut told = |fault: Error| error = error.take().or(Some(fault));
    let name = optional_text(image, "name").map_err(&mut told).ok().flatten();
    let version = version.or_else(|| optional_text(image, "version").map_err(&mut told).ok().flatten());
    let axes = axes(image).map_err(&mut told);
    let levels = axes.as_ref().ok().and_then(|axes| levels(image, axes.len(), most_levels).map_err(&mut told).ok());
    Multiscale { name, version, axes: axes.unwrap_or_default(), levels: levels.unwrap_or_default(), error }
}

fn axes(image: &At<'_>) -> Result<Vec<Axis>> {
    match image.get("axes")? {
        Some(axes) => axes.list(MAX_AXES)?.iter().map(axis).collect(),
        None => Ok(Vec::new()),
    }
}

fn levels(image: &At<'_>, axes: usize, most: usize) -> Result<Vec<Level>> {
    let whole = Transformation::read(image, axes)?;
    let mut levels: Vec<Level> = Vec::new();
    for dataset in image.need("datasets")?.list(most)? {
        let path = inside(&dataset.need("path")?)?;
        let Transformation { scale, translation } = Transformation::read(&dataset, axes)?.then(&whole, &dataset)?;
        let first = levels.first().map_or(&scale, |level| &level.scale);
        let factors: Vec<f64> = scale.iter().zip(first).map(|(scale, first)| scale / first).collect();
        if !factors.iter().all(|factor| factor.is_finite()) {
            return Err(dataset.malformed("the scale over the first level's leaves the range of binary64"));
        }
        let array = Err(Error::new(Status::Internal, "open", "not opened yet"));
        levels.push(Level { path, scale, translation, factors, array });
    }
    Ok(levels)
}

fn optional_text(at: &At<'_>, key: &str) -> Result<Option<String>> {
    at.get(key)?.map(|text| text.text().map(str::to_owned)).transpose()
}

/// `{"name": "z", "type": "space", "unit": "micrometer"}`, or only the name (version 0.3).
fn axis(axis: &At<'_>) -> Result<Axis> {
    if let Some(name) = axis.value.as_str() {
        return Ok(Axis { name: name.to_owned(), kind: None, unit: None });
    }
    let name = axis.need("name")?.text()?.to_owned();
    Ok(Axis { name, kind: optional_text(axis, "type")?, unit: optional_text(axis, "unit")? })
}

/// A dataset's path, which must stay inside the group.
fn inside(path: &At<'_>) -> Result<String> {
    let text = path.text()?;
    let parts = || Path::new(text).components();
    let stays = !text.is_empty()
        && !text.contains('\0')
        && parts().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if stays {
        Ok(text.to_owned())
    } else {
        Err(path.malformed(&format!("the path {text:?} does not lie inside the group")))
    }
}

/// The array of a level.
fn open(group: &Group, path: &str, axes: usize, parser: &mut dyn ParseMetadata) -> Result<ArrayInfo> {
    let place = group.root.join(path);
    let not_found = |what: &str| {
        Err(Error::new(
            Status::NotFound,
            "open",
            format!("{}: {what} where the image's level should be", text::path(&place)),
        ))
    };
    match child(group, Path::new(path), parser)? {
        Some(Node::Array(array)) if axes > 0 && array.metadata().rank() != axes => {
            let message = format!(
                "{}: the image has {axes} axes, its level has {} ({})",
                text::path(&place),
                array.metadata().rank(),
                array.describe()
            );
            Err(Error::new(Status::Decode, "open", message))
        }
        Some(Node::Array(array)) => Ok(ArrayInfo::of(&array)),
        Some(Node::Group(_)) => not_found("a group"),
        None => not_found("no array"),
    }
}
