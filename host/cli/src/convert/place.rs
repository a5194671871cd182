//! An output file that appears as a whole: written beside its place under another name, then put there in one step, over an
//! existing file only if that was asked for.

use crate::failure::Failure;
use damacy::{Error, Status};
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// A file that is being written.
pub struct Output {
    file: NamedTempFile,
    place: PathBuf,
    force: bool,
}

/// Refuses a place that cannot be written to, before any work.
pub fn check(place: &Path, force: bool) -> Result<(), Failure> {
    match fs::metadata(place) {
        Ok(metadata) if !metadata.is_file() => {
            Err(Failure::inval(format!("{} is there and no regular file; it will not be replaced", place.display())))
        }
        Ok(_) if !force => Err(exists(place)),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(place, error)),
    }
}

fn exists(place: &Path) -> Failure {
    Failure::inval(format!("{} exists; it is replaced only with --force", place.display()))
}

fn failed(place: &Path, error: io::Error) -> Failure {
    let message = format!("{} cannot be written", place.display());
    Failure::Error(Error::new(Status::Io, "convert", message).with_source(error))
}

impl Output {
    /// Starts a file; it vanishes again unless it is finished.
    pub fn new(place: &Path, force: bool) -> Result<Output, Failure> {
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // As other new files, instead of for the owner alone; the umask still counts.
        let permissions = Permissions::from_mode(0o666);
        let file = Builder::new().prefix(".damacy-").suffix(".part").permissions(permissions).tempfile_in(folder);
        let file = file.map_err(|error| failed(place, error))?;
        Ok(Output { file, place: place.to_owned(), force })
    }

    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file.write_all(bytes).map_err(|error| failed(&self.place, error))
    }

    /// Puts the file in its place.
    pub fn finish(self) -> Result<(), Failure> {
        let Output { file, place, force } = self;
        if force {
            return file.persist(&place).map(drop).map_err(|error| failed(&place, error.error));
        }
        file.persist_noclobber(&place).map(drop).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => exists(&place),
            _ => failed(&place, error.error),
        })
    }
}
