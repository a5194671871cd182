//! OME-Zarr's `coordinateTransformations` -> scale and translation: a level's own, then those of the whole image.

use super::ome::MAX_AXES;
use super::walk::At;
use crate::Status;
use crate::error::{Error, Result};

/// Transformations of one level.
const MAX_TRANSFORMATIONS: usize = 16;

/// Scale, then translation; either may be empty, which changes nothing.
#[derive(Default)]
pub(super) struct Transformation {
    pub scale: Vec<f64>,
    pub translation: Vec<f64>,
}

impl Transformation {
    /// `coordinateTransformations` of a level or an image.
    pub fn read(owner: &At<'_>, axes: usize) -> Result<Transformation> {
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
    pub fn then(self, whole: &Transformation, at: &At<'_>) -> Result<Transformation> {
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
