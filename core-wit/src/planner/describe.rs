//! Facts in, words out: how messages name shapes and arrays. Bounded in length, whatever untrusted metadata holds.

use crate::metadata::ArrayMetadata;
use std::fmt::Write;

/// Axes that a message shows.
const MAX_AXES: usize = 16;
/// Characters of a data type's name that a message shows.
const MAX_NAME: usize = 48;

/// `(256, 512)`, as Python writes a tuple.
pub(super) fn tuple(extents: &[u64]) -> String {
    let mut text = String::from("(");
    for (axis, extent) in extents.iter().take(MAX_AXES).enumerate() {
        let separator = if axis == 0 { "" } else { ", " };
        let _ = write!(text, "{separator}{extent}");
    }
    match extents.len() {
        1 => text.push(','),
        n if n > MAX_AXES => {
            let _ = write!(text, ", ... {n} axes");
        }
        _ => {}
    }
    text.push(')');
    text
}

/// `3 axes`, `1 axis`.
pub(super) fn axes(count: usize) -> String {
    if count == 1 { "1 axis".into() } else { format!("{count} axes") }
}

/// The data type's name, cut where it is absurdly long.
pub(super) fn data_type(array: &ArrayMetadata) -> String {
    let mut name: String = array.data_type.chars().take(MAX_NAME).collect();
    if name.len() < array.data_type.len() {
        name.push_str("...");
    }
    name
}

/// `array 0 is uint16 of shape (256, 512, 512) in chunks of (32, 64, 64), shards of (128, 256, 256)`.
pub(super) fn facts(index: u32, array: &ArrayMetadata) -> String {
    let mut text = format!(
        "array {index} is {} of shape {} in chunks of {}",
        data_type(array),
        tuple(&array.shape),
        tuple(array.chunk_shape())
    );
    if array.levels.len() > 1 {
        let _ = write!(text, ", shards of {}", tuple(array.object_shape()));
    }
    text
}
