//! What is at a URI, without reading a chunk: a URI -> an array's facts, or a group's arrays and its multiscale images.
//!
//! Array metadata is parsed in the sandbox, as the pipeline does; a group's attributes by serde_json, which stops at 128
//! levels, in documents of at most 4 MiB. How much of a group is looked at is bounded ([`MAX_ARRAYS`], [`MAX_EXAMINED`]).
//! Everything here serializes to the JSON that `damacy inspect --json` prints and Python's `damacy.inspect` reads.

mod array;
mod fill;
mod group;
mod ome;
mod transformation;
mod walk;

pub use array::{ArrayInfo, KeyInfo};
pub use fill::FillValue;
pub use group::{Child, GroupInfo, MAX_ARRAYS, MAX_EXAMINED};
pub use ome::{Axis, Level, Multiscale};

use crate::Error;
use crate::error::Result;
use crate::sandbox::{GuestLimits, Sandbox};
use crate::zarr::node::{self, Node};
use serde::{Serialize, Serializer};

/// What is at a URI.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Inspected {
    /// An array.
    Array(Box<ArrayInfo>),
    /// A group, perhaps an OME-Zarr image.
    Group(GroupInfo),
}

/// Looks at the array or group at a local path or `file://` URI.
///
/// # Errors
/// `NotFound` if there is neither, `Io`, `Decode` for malformed metadata, `Unsupported` for a codec, grid, extension or
/// store that this build lacks, `Budget` for metadata beyond the limits. What is wrong with one array of a group
/// or with the attributes of its images is told beside them, and is no error here.
///
/// ```
/// # let store = tempfile::tempdir()?;
/// # let uri = store.path().to_str().ok_or("a path")?;
/// # std::fs::write(store.path().join(".zarray"), r#"{"zarr_format": 2, "shape": [256, 512, 512], "chunks": [32, 64, 64],
/// #     "dtype": ">u2", "order": "C", "compressor": null, "filters": null, "fill_value": 7}"#)?;
/// use damacy::inspect::{FillValue, Inspected, inspect};
///
/// let Inspected::Array(array) = inspect(uri)? else { return Err("a group".into()) };
/// assert_eq!((array.grid, array.chunks), (vec![8, 8, 8], Some(512)));
/// assert_eq!((array.outputs.len(), array.fill_value), (10, Some(FillValue::Unsigned(7))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn inspect(uri: &str) -> Result<Inspected> {
    let mut guest = Sandbox::shared()?.guest(GuestLimits::default())?;
    match node::open(uri, &mut guest)? {
        Node::Array(array) => Ok(Inspected::Array(Box::new(ArrayInfo::of(&array)))),
        Node::Group(group) => GroupInfo::of(uri, &group, &mut guest).map(Inspected::Group),
    }
}

/// An error in JSON.
#[derive(Serialize)]
struct ErrorFields<'a> {
    status: &'static str,
    code: u8,
    message: &'a str,
}

impl<'a> From<&'a Error> for ErrorFields<'a> {
    fn from(error: &'a Error) -> Self {
        ErrorFields { status: error.status().name(), code: error.status() as u8, message: error.message() }
    }
}

fn optional_error<S: Serializer>(error: &Option<Error>, serializer: S) -> Result<S::Ok, S::Error> {
    error.as_ref().map(ErrorFields::from).serialize(serializer)
}

/// The members `"array"` and `"error"`, one of which is null.
fn array_or_error<S: Serializer>(array: &Result<ArrayInfo>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Outcome<'a> {
        array: Option<&'a ArrayInfo>,
        error: Option<ErrorFields<'a>>,
    }
    Outcome { array: array.as_ref().ok(), error: array.as_ref().err().map(ErrorFields::from) }.serialize(serializer)
}
