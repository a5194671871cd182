//! The arrays of a scenario: opened where they are given, else generated, into a temporary folder or one that is kept.
//!
//! Generated data is written beside its place and renamed when it is complete, with a marker that has its fingerprint: what is
//! found under the fingerprint is complete and is the same bytes. One run at a time makes data in a kept folder. A temporary folder
//! is removed when a [`Dataset`] is dropped; one that a killed run has left, by the next run that makes data there.

mod blosc;
mod encode;
mod folder;
pub(crate) mod layout;
mod lengths;
mod values;
mod write;

use crate::crops;
use crate::failure::{Failure, Result};
use crate::progress::Progress;
use crate::results::{self, ArrayFacts};
use crate::scenario::{Faults, Generate, Scenario};
use damacy::zarr::Array;
use damacy::{PlanLimits, PlannedArray};
use damacy_core::metadata::ArrayMetadata;
use folder::Temporary;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Raised when the same layout and seed give other bytes.
const GENERATOR: u32 = 1;
const MARKER: &str = "damacy-bench.json";

/// Arrays that are there.
pub struct Dataset {
    /// As the pipeline opens them.
    pub uris: Vec<Arc<str>>,
    /// Their facts.
    pub arrays: Vec<ArrayMetadata>,
    /// Encoded bytes of each chunk in C order, where known; of given arrays, of those that the scenario's crops touch.
    pub sizes: Vec<Option<Vec<u64>>>,
    /// What identifies generated data.
    pub fingerprint: Option<String>,
    /// Time to generate it, if it was not there.
    pub generate_s: Option<f64>,
    /// Holds what is removed with it.
    _folder: Option<Temporary>,
}

/// What is known of a folder of generated arrays.
#[derive(Serialize, Deserialize)]
struct Marker {
    fingerprint: String,
    generate: Generate,
    /// Encoded bytes of each array's chunks.
    sizes: Vec<Vec<u64>>,
    /// Of all files but this one.
    files: u64,
    bytes: u64,
}

/// Opens arrays that are given by URI and checks that the scenario fits them; `None` for data to generate. Messages call the
/// scenario by its title.
///
/// # Errors
/// All faults, each with its place.
pub fn open(scenario: &Scenario, title: &str) -> Result<Option<Dataset>> {
    let Some(uris) = &scenario.dataset.uris else { return Ok(None) };
    let mut faults = Faults::default();
    let opened = look(scenario, &mut faults)?;
    faults.finish(title)?;
    let arrays = metadata(&opened);
    let sizes = lengths::of(&opened, &crops::draw(&scenario.sampling, &arrays));
    let uris = uris.iter().map(|uri| Arc::from(uri.as_str())).collect();
    Ok(Some(Dataset { uris, arrays, sizes, fingerprint: None, generate_s: None, _folder: None }))
}

/// Opens the arrays that are given by URI -> what does not fit them, too; where one cannot be opened, what fits no arrays.
///
/// # Errors
/// Of the sandbox.
pub(crate) fn look(scenario: &Scenario, faults: &mut Faults) -> Result<Vec<Array>> {
    let opened = open_all(scenario, faults)?;
    if scenario.dataset.uris.is_some() {
        if !opened.is_empty() && faults.fine(&["/dataset"]) {
            crate::scenario::arrays_fit(scenario, &metadata(&opened), faults);
        } else {
            crate::scenario::batches_fit(scenario, faults);
        }
    }
    Ok(opened)
}

fn metadata(opened: &[Array]) -> Vec<ArrayMetadata> {
    opened.iter().map(|array| array.metadata().clone()).collect()
}

/// Those that cannot be opened are faults.
fn open_all(scenario: &Scenario, faults: &mut Faults) -> Result<Vec<Array>> {
    let uris = scenario.dataset.uris.as_deref().unwrap_or_default();
    let sandbox = damacy::sandbox::Sandbox::shared()?;
    let mut guest = sandbox.guest(PlanLimits::default().into())?;
    let mut opened = Vec::new();
    for (index, uri) in uris.iter().enumerate() {
        let place = format!("/dataset/uris/{index}");
        if uris[..index].contains(uri) {
            faults.add(&place, format!("{uri} was given before; accepted is each array once"));
            continue;
        }
        match Array::open(uri, &mut guest) {
            Ok(array) if array.metadata().source.is_none() => {
                let message =
                    format!("{uri}: {} has no conversion; accepted are the types of docs/formats.md", array.describe());
                faults.with_status(&place, message, damacy::Status::Dtype);
            }
            Ok(array) => opened.push(array),
            Err(error) => faults.with_status(&place, error.to_string(), error.status()),
        }
    }
    Ok(opened)
}

/// Generates arrays, or finds them in `keep` under their fingerprint.
///
/// # Errors
/// `Io` and `Oom` of the system; an interruption, which leaves nothing behind.
pub fn generate(generate: &Generate, keep: Option<&Path>, threads: usize, progress: &Progress) -> Result<Dataset> {
    let arrays = layout::metadata(generate).map_err(|error| Failure::internal(error.to_string()))?;
    let Some(keep) = keep else {
        let (temporary, marker, time) = make(generate, &arrays, &std::env::temp_dir(), false, threads, progress)?;
        let folder = temporary.path().to_owned();
        return Ok(Dataset::new(&folder, arrays, marker, Some(time), Some(temporary)));
    };
    let fingerprint = fingerprint(generate);
    let folder = keep.join(&fingerprint[..16]);
    let there = || {
        let marker = found(&folder, &fingerprint, &arrays)?;
        progress.say(&format!("data: found in {}", folder.display()));
        Some(Dataset::new(&folder, arrays.clone(), marker, None, None))
    };
    if let Some(dataset) = there() {
        return Ok(dataset);
    }
    fs::create_dir_all(keep).map_err(|error| Failure::file(keep, "cannot be made", error))?;
    let _alone = folder::alone_in(keep, progress)?;
    // Another run may have made it meanwhile.
    if let Some(dataset) = there() {
        return Ok(dataset);
    }
    let (temporary, marker, time) = make(generate, &arrays, keep, true, threads, progress)?;
    let placed = || {
        // What is there is incomplete or has been changed.
        if folder.symlink_metadata().is_ok() {
            fs::remove_dir_all(&folder)?;
        }
        fs::rename(temporary.path(), &folder)
    };
    placed().map_err(|error| Failure::file(&folder, "cannot be put in its place", error))?;
    temporary.keep(&folder);
    Ok(Dataset::new(&folder, arrays, marker, Some(time), None))
}

/// Makes all of it in a temporary folder of `parent`, in so many seconds.
fn make(
    generate: &Generate,
    arrays: &[ArrayMetadata],
    parent: &Path,
    hidden: bool,
    threads: usize,
    progress: &Progress,
) -> Result<(Temporary, Marker, f64)> {
    let begun = Instant::now();
    let temporary = Temporary::new(parent, hidden, progress)?;
    room(parent, arrays)?;
    let sizes = write_all(generate, arrays, temporary.path(), threads, progress)?;
    let (files, bytes) = count(temporary.path());
    let marker = Marker { fingerprint: fingerprint(generate), generate: generate.clone(), sizes, files, bytes };
    let text = serde_json::to_vec(&marker).map_err(|error| Failure::internal(error.to_string()))?;
    let written = fs::write(temporary.path().join(MARKER), text);
    written.map_err(|error| Failure::file(temporary.path(), "cannot be written", error))?;
    Ok((temporary, marker, begun.elapsed().as_secs_f64()))
}

fn write_all(
    generate: &Generate,
    arrays: &[ArrayMetadata],
    folder: &Path,
    threads: usize,
    progress: &Progress,
) -> Result<Vec<Vec<u64>>> {
    let total: u64 = arrays.iter().map(decoded_bytes).sum();
    let done = AtomicU64::new(0);
    let note = |bytes| {
        let sum = done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        progress.step(|| format!("data: {} of {} MiB written", sum >> 20, total >> 20));
    };
    let one = |(array, metadata): (usize, &ArrayMetadata)| {
        let name = layout::name(array as u64);
        write::array(generate, array as u64, metadata, &folder.join(name), threads, &note)
    };
    arrays.iter().enumerate().map(one).collect()
}

/// All chunks of an array, decoded.
fn decoded_bytes(array: &ArrayMetadata) -> u64 {
    let width = array.source.map_or(0, |source| source.width() as u64);
    let whole = array.shape.iter().zip(array.chunk_shape()).map(|(extent, chunk)| extent.div_ceil(*chunk) * chunk);
    whole.fold(width, u64::saturating_mul)
}

/// Refuses a disk that is too small, before anything is written: encoded data may be as large as decoded.
fn room(folder: &Path, arrays: &[ArrayMetadata]) -> Result<()> {
    let need: u64 = arrays.iter().map(decoded_bytes).sum();
    let Ok(path) = std::ffi::CString::new(std::os::unix::ffi::OsStrExt::as_bytes(folder.as_os_str())) else {
        return Ok(());
    };
    // SAFETY: all zeros are a valid `statvfs`, which the call fills; the path ends with a zero byte.
    let mut facts: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let known = unsafe { libc::statvfs(path.as_ptr(), &mut facts) } == 0;
    let free = (facts.f_bavail as u64).saturating_mul(facts.f_frsize as u64);
    if known && free < need {
        let message = format!(
            "{}: {free} bytes are free, and the data may take {need}; free some, or name another folder with --data or TMPDIR",
            folder.display()
        );
        return Err(damacy::Error::new(damacy::Status::Io, "bench", message).into());
    }
    Ok(())
}

/// SHA-256 of everything that the bytes follow from.
fn fingerprint(generate: &Generate) -> String {
    let text = serde_json::json!({"generator": GENERATOR, "generate": generate}).to_string();
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The marker of a folder that holds all of what it says.
fn found(folder: &Path, fingerprint: &str, arrays: &[ArrayMetadata]) -> Option<Marker> {
    let marker: Marker = serde_json::from_slice(&fs::read(folder.join(MARKER)).ok()?).ok()?;
    let chunks = |array: &ArrayMetadata| {
        array.shape.iter().zip(array.chunk_shape()).map(|(e, c)| e.div_ceil(*c)).product::<u64>() as usize
    };
    let sizes_fit = marker.sizes.len() == arrays.len()
        && marker.sizes.iter().zip(arrays).all(|(sizes, array)| sizes.len() == chunks(array));
    let (files, bytes) = count(folder);
    let marker_bytes = fs::metadata(folder.join(MARKER)).map_or(0, |facts| facts.len());
    let complete = (marker.files + 1, marker.bytes + marker_bytes) == (files, bytes);
    (marker.fingerprint == fingerprint && sizes_fit && complete).then_some(marker)
}

/// Files below a folder, and their bytes, without the mark of a temporary one.
fn count(folder: &Path) -> (u64, u64) {
    let (mut files, mut bytes, mut todo) = (0, 0, vec![folder.to_owned()]);
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(facts) if facts.is_dir() => todo.push(entry.path()),
                Ok(_) if entry.file_name() == folder::MARK => {}
                Ok(facts) => (files, bytes) = (files + 1, bytes + facts.len()),
                Err(_) => {}
            }
        }
    }
    (files, bytes)
}

impl Dataset {
    fn new(
        folder: &Path,
        arrays: Vec<ArrayMetadata>,
        marker: Marker,
        generate_s: Option<f64>,
        temporary: Option<Temporary>,
    ) -> Dataset {
        let path = |array: usize| -> PathBuf { folder.join(layout::name(array as u64)) };
        let uris = (0..arrays.len()).map(|array| Arc::from(path(array).to_string_lossy())).collect();
        Dataset {
            uris,
            arrays,
            sizes: marker.sizes.into_iter().map(Some).collect(),
            fingerprint: Some(marker.fingerprint),
            generate_s,
            _folder: temporary,
        }
    }

    /// The arrays as other parts of damacy name them.
    pub fn planned(&self) -> Vec<PlannedArray> {
        let pairs = self.uris.iter().zip(&self.arrays);
        pairs.map(|(uri, metadata)| PlannedArray { uri: Arc::clone(uri), metadata: metadata.clone() }).collect()
    }

    /// For the results.
    pub fn facts(&self) -> results::Dataset {
        let fact = |((uri, array), sizes): ((&Arc<str>, &ArrayMetadata), &Option<Vec<u64>>)| ArrayFacts {
            name: match &self.fingerprint {
                Some(_) => uri.rsplit('/').next().unwrap_or(uri).to_owned(),
                None => uri.to_string(),
            },
            data_type: array.data_type.clone(),
            shape: array.shape.clone(),
            chunks: array.chunk_shape().to_vec(),
            shards: (array.levels.len() > 1).then(|| array.object_shape().to_vec()),
            codecs: array.codecs.clone(),
            decoded_bytes: decoded_bytes(array),
            // Of given arrays only some chunks are looked at.
            encoded_bytes: sizes.as_ref().filter(|_| self.fingerprint.is_some()).map(|sizes| sizes.iter().sum()),
        };
        let arrays = self.uris.iter().zip(&self.arrays).zip(&self.sizes).map(fact).collect();
        results::Dataset { fingerprint: self.fingerprint.clone(), generate_s: self.generate_s, arrays }
    }
}
