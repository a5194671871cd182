//! The output folder: checked before a run, written at its end, each file as a whole or not at all.

use crate::failure::{Failure, Result};
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::NamedTempFile;

/// Refuses a folder that could not be written to after minutes of work.
///
/// # Errors
/// `Inval` for what is no folder, `Io` for one that may not be written to.
pub fn check(folder: &Path) -> Result<()> {
    let there = folder.ancestors().find(|part| part.symlink_metadata().is_ok()).unwrap_or(Path::new("."));
    if !there.is_dir() {
        return Err(Failure::inval(format!("{} is no folder; results are written into one", there.display())));
    }
    // Permissions alone do not tell: root has them all, and a file system may be read-only or no store at all.
    tempfile::tempfile_in(there).map_err(|error| Failure::file(there, "cannot be written to", error))?;
    ["results.json", "report.html"].iter().try_for_each(|name| replaceable(&folder.join(name)))
}

/// Refuses to replace what is there and no file: a folder, a device such as `/dev/null`, a pipe.
fn replaceable(place: &Path) -> Result<()> {
    match fs::metadata(place) {
        Ok(there) if !there.is_file() => {
            let message =
                format!("{} is there and is no file; accepted is a new file, or one to replace", place.display());
            Err(Failure::inval(message))
        }
        _ => Ok(()),
    }
}

/// Puts files into the folder, which is made if it is missing: all of them, or none if one cannot be written.
///
/// # Errors
/// `Io`; `Inval` for something there that is no file. What was there before is then still there.
pub fn write(folder: &Path, files: &[(&OsStr, &[u8])]) -> Result<()> {
    let staged = files.iter().map(|(name, bytes)| stage(folder, &folder.join(name), bytes));
    let staged = staged.collect::<Result<Vec<_>>>()?;
    for (file, (name, _)) in staged.into_iter().zip(files) {
        let place = folder.join(name);
        file.persist(&place).map_err(|error| Failure::file(&place, "cannot be written", error.error))?;
    }
    Ok(())
}

/// The whole of a file beside its place, under a name of its own.
fn stage(folder: &Path, place: &Path, bytes: &[u8]) -> Result<NamedTempFile> {
    replaceable(place)?;
    let written = || -> io::Result<NamedTempFile> {
        fs::create_dir_all(folder)?;
        // As other new files, instead of for the owner alone; the umask still counts.
        let permissions = Permissions::from_mode(0o666);
        let mut file = tempfile::Builder::new()
            .prefix(".damacy-bench-")
            .suffix(".part")
            .permissions(permissions)
            .tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        Ok(file)
    };
    written().map_err(|error| Failure::file(place, "cannot be written", error))
}
