//! OME-Zarr: a group's attributes -> its multiscale images: axes, and levels with shapes and scale factors.
//!
//! Version 0.5 keeps them in `zarr.json` under `attributes.ome`, 0.4 and before in `.zattrs` (or `attributes`) itself.
//! Of a transformation, `scale` and `translation` are read: a level's own, then those of the whole image.

use super::group::child;
use super::walk::At;
use super::{ArrayInfo, array_or_error};
use crate::Status;
use crate::error::{Error, Result};
use crate::zarr::ParseMetadata;
use crate::zarr::node::{Group, Node};
use damacy_core::metadata::ZarrFormat;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Component, Path};

/// Images of one group, axes of one image, transformations of one level.
const MAX_IMAGES: usize = 64;
const MAX_AXES: usize = 32;
const MAX_TRANSFORMATIONS: usize = 16;
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
    /// Finest first.
    pub levels: Vec<Level>,
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

/// The images that a group's attributes describe.
pub(super) fn multiscales(uri: &str, group: &Group, parser: &mut dyn ParseMetadata) -> Result<Vec<Multiscale>> {
    let at_uri = |error: Error| {
        let message = format!("{uri}: {error}");
        error.with_message(message)
    };
    let (attributes, place) = attributes(group).map_err(at_uri)?;
    let Some(Attributes { ome, multiscales }) = attributes else { return Ok(Vec::new()) };
    let ome = ome.filter(|value| !value.is_null());
    let (images, version, place) = match &ome {
        Some(value) => {
            let ome = At { value, path: format!("{place}/ome") };
            let text = |version: At<'_>| version.text().map(str::to_owned);
            let version = ome.get("version").and_then(|v| v.map(text).transpose()).map_err(at_uri)?;
            (ome.get("multiscales").map_err(at_uri)?.map(|at| at.value), version, format!("{place}/ome/multiscales"))
        }
        None => (multiscales.as_ref().filter(|value| !value.is_null()), None, format!("{place}/multiscales")),
    };
    let Some(value) = images else { return Ok(Vec::new()) };
    let mut levels_left = MAX_LEVELS;
    let images = At { value, path: place }.list(MAX_IMAGES).map_err(at_uri)?;
    let images = images.iter().map(|image| {
        let mut read = read(image, version.clone(), levels_left)?;
        levels_left -= read.levels.len();
        for level in &mut read.levels {
            level.array = open(group, &level.path, read.axes.len(), parser);
        }
        Ok(read)
    });
    images.collect::<Result<_>>().map_err(at_uri)
}

/// A group's attributes, and where they are in its document.
fn attributes(group: &Group) -> Result<(Option<Attributes>, &'static str)> {
    let name = match group.format {
        ZarrFormat::V2 => ".zattrs",
        ZarrFormat::V3 => "zarr.json",
    };
    let Some(document) = &group.document else { return Ok((None, "")) };
    let malformed = |e: serde_json::Error| {
        Error::new(Status::Decode, "open", format!("the group's {name} is malformed: {e}")).with_source(e)
    };
    match group.format {
        ZarrFormat::V2 => Ok((Some(serde_json::from_slice(document).map_err(malformed)?), "")),
        ZarrFormat::V3 => match serde_json::from_slice(document).map_err(malformed)? {
            GroupV3 { zarr_format: 3, attributes } => Ok((attributes, "/attributes")),
            GroupV3 { zarr_format, .. } => {
                let message = format!("the group's zarr.json has zarr_format {zarr_format}; accepted is 3");
                Err(Error::new(Status::Decode, "open", message))
            }
        },
    }
}

/// One image, whose levels are not opened yet.
fn read(image: &At<'_>, version: Option<String>, most_levels: usize) -> Result<Multiscale> {
    let text = |key: &str| -> Result<Option<String>> { optional_text(image, key) };
    let (name, version) = (text("name")?, version.map_or_else(|| text("version"), |version| Ok(Some(version)))?);
    let axes = match image.get("axes")? {
        Some(axes) => axes.list(MAX_AXES)?.iter().map(axis).collect::<Result<Vec<_>>>()?,
        None => Vec::new(),
    };
    let whole = Transformation::read(image, axes.len())?;
    let mut levels: Vec<Level> = Vec::new();
    for dataset in image.need("datasets")?.list(most_levels)? {
        let path = dataset.need("path")?;
        let path_text = inside(&path)?;
        let Transformation { scale, translation } =
            Transformation::read(&dataset, axes.len())?.then(&whole, &dataset)?;
        let first = levels.first().map_or(&scale, |level| &level.scale);
        let factors: Vec<f64> = scale.iter().zip(first).map(|(scale, first)| scale / first).collect();
        if !factors.iter().all(|factor| factor.is_finite()) {
            return Err(dataset.malformed("the scale over the first level's leaves the range of binary64"));
        }
        let array = Err(Error::new(Status::Internal, "open", "not opened yet"));
        levels.push(Level { path: path_text, scale, translation, factors, array });
    }
    Ok(Multiscale { name, version, axes, levels })
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

/// Scale, then translation; either may be empty, which changes nothing.
#[derive(Default)]
struct Transformation {
    scale: Vec<f64>,
    translation: Vec<f64>,
}

impl Transformation {
    /// `coordinateTransformations` of a level or an image.
    fn read(owner: &At<'_>, axes: usize) -> Result<Transformation> {
        let mut read = Transformation::default();
        let Some(list) = owner.get("coordinateTransformations")? else { return Ok(read) };
        for entry in list.list(MAX_TRANSFORMATIONS)? {
            let kind = entry.need("type")?;
            let text = kind.text()?;
            let target = match text {
                "identity" => continue,
                "scale" => &mut read.scale,
                "translation" => &mut read.translation,
                _ => {
                    let message = format!(
                        "transformation {text:?}; accepted are \"identity\", \"scale\" and \"translation\" (at {})",
                        kind.path
                    );
                    return Err(Error::new(Status::Unsupported, "open", message));
                }
            };
            let values = entry.need(text)?;
            let numbers = values.list(MAX_AXES)?.iter().map(At::number).collect::<Result<Vec<f64>>>()?;
            if !target.is_empty() {
                return Err(entry.malformed(&format!("a second {text}")));
            }
            if numbers.is_empty() || axes > 0 && numbers.len() != axes {
                return Err(values.malformed(&format!("{} numbers for {axes} axes", numbers.len())));
            }
            if text == "scale" && numbers.contains(&0.0) {
                return Err(values.malformed("a scale of 0"));
            }
            *target = numbers;
        }
        Ok(read)
    }

    /// This one, and then that of the whole image.
    fn then(self, whole: &Transformation, at: &At<'_>) -> Result<Transformation> {
        let combine = |own: &[f64], other: &[f64], both: fn(f64, f64) -> f64| match (own, other) {
            (own, []) => own.to_vec(),
            ([], other) => other.to_vec(),
            (own, other) => own.iter().zip(other).map(|(own, other)| both(*own, *other)).collect(),
        };
        let scale = combine(&self.scale, &whole.scale, |own, other| own * other);
        let moved = if self.translation.is_empty() {
            Vec::new()
        } else {
            combine(&self.translation, &whole.scale, |own, other| own * other)
        };
        let translation = combine(&moved, &whole.translation, |own, other| own + other);
        if scale.iter().chain(&translation).any(|number| !number.is_finite()) || scale.contains(&0.0) {
            return Err(at.malformed("scales and translations leave the range of binary64"));
        }
        Ok(Transformation { scale, translation })
    }
}

/// The array of a level.
fn open(group: &Group, path: &str, axes: usize, parser: &mut dyn ParseMetadata) -> Result<ArrayInfo> {
    let place = group.root.join(path);
    let not_found = |what: &str| {
        Err(Error::new(
            Status::NotFound,
            "open",
            format!("{}: {what} where the image's level should be", place.display()),
        ))
    };
    match child(group, path, parser)? {
        Some(Node::Array(array)) if axes > 0 && array.metadata().rank() != axes => {
            let message = format!(
                "{}: the image has {axes} axes, its level has {} ({})",
                place.display(),
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
