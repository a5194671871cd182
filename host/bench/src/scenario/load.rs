//! What a user names on the command line -> a scenario: a file's, or a built-in one.

use super::faults::nearest;
use super::{NAMES, Scenario, builtin, dtype, read, read_and};
use crate::dataset;
use crate::failure::{Failure, Result};
use damacy::Dtype;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Bytes of a scenario.
const MAX_BYTES: u64 = 1 << 20;

/// `default:float32,uint8` -> the scenario's name, and the output types to run it in; none without a colon.
///
/// # Errors
/// An output type that there is not.
pub fn split(name: &str) -> Result<(&str, Vec<Dtype>)> {
    match name.rsplit_once(':') {
        Some((scenario, types)) if !scenario.is_empty() && !Path::new(name).exists() => {
            let types = types.split(',').map(|name| dtype(name).map_err(Failure::inval));
            Ok((scenario, types.collect::<Result<Vec<Dtype>>>()?))
        }
        _ => Ok((name, Vec::new())),
    }
}

/// Reads the scenario in a file of this name, or the built-in one if there is no such file.
///
/// # Errors
/// A file that cannot be read or is too large; everything that is wrong with the scenario.
pub fn load(name: &str) -> Result<Scenario> {
    let path = Path::new(name);
    if !path.exists()
        && let Some(text) = builtin(name)
    {
        return read(name, text.as_bytes());
    }
    if name.ends_with(".schema.json") {
        // As `host/scenarios/*.json` has one.
        return Err(Failure::inval(format!("{name} is a schema, no scenario; accepted are scenarios alone")));
    }
    let mut text = Vec::new();
    let file = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut text));
    file.map_err(|error| {
        let hint = nearest(name, &NAMES).map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        let what = format!("is no built-in scenario ({}{hint}) and cannot be read", NAMES.join(", "));
        Failure::file(path, &what, error)
    })?;
    if text.len() as u64 > MAX_BYTES {
        return Err(Failure::inval(format!("{name} is too large for a scenario: accepted are {MAX_BYTES} bytes")));
    }
    let stem = path.file_stem().map_or_else(|| name.into(), |stem| stem.to_string_lossy());
    read_and(&stem, Some(name), &text, &|scenario, faults| dataset::look(scenario, faults).map(drop))
}

/// A scenario that was named so on the command line, in a message: with its file, if it is one's.
pub fn title(scenario: &Scenario, given: &str) -> String {
    titled(&scenario.name, Path::new(given).exists().then_some(given))
}

/// The same of its own name.
pub(super) fn titled(name: &str, file: Option<&str>) -> String {
    match file {
        None => format!("the scenario {name}"),
        Some(file) if Path::new(file).file_stem().is_some_and(|stem| stem == name) => format!("the scenario {file}"),
        Some(file) => format!("the scenario {name} ({file})"),
    }
}
