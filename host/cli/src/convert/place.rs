//! An output file that appears as a whole: written beside its place under another name, then put there in one step, over an
//! existing file only if that was asked for.
//!
//! A file that is replaced keeps its mode (its owner becomes who runs this); of a symbolic link, the file that it leads to is
//! replaced, and the link stays.

use crate::failure::Failure;
use damacy::{Error, Status, text};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// Where a file may be written.
pub struct Place {
    /// Not through a link.
    path: PathBuf,
    /// The mode of the file to replace; `None` if there is none.
    replaced: Option<Permissions>,
    force: bool,
}

/// A file that is being written.
pub struct Output {
    file: NamedTempFile<File>,
    place: Place,
}

/// Refuses a place that cannot be written to, before any work.
pub fn check(place: &Path, force: bool) -> Result<Place, Failure> {
    if place.as_os_str() == "-" {
        return Err(Failure::usage("convert", "the output is a file, never standard output; ./- is a file named -"));
    }
    match fs::metadata(place) {
        Ok(metadata) if !metadata.is_file() => {
            Err(Failure::inval(format!("{} is there and no regular file; it will not be replaced", text::path(place))))
        }
        Ok(_) if !force => Err(exists(place)),
        Ok(metadata) => {
            let path = fs::canonicalize(place).map_err(|error| failed(place, error))?;
            // Not the bits that run it as somebody else.
            Ok(Place { path, replaced: Some(Permissions::from_mode(metadata.permissions().mode() & 0o777)), force })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if place.is_symlink() {
                let shown = text::path(place);
                return Err(Failure::inval(format!("{shown} exists: a link to nothing, which will not be replaced")));
            }
            let folder = folder(place);
            let missing = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
            if fs::metadata(folder).is_err_and(missing) {
                let message = format!(
                    "{} cannot be written: there is no folder {}; make it, or name another place",
                    text::path(place),
                    text::path(folder)
                );
                return Err(Error::new(Status::Io, "convert", message).into());
            }
            Ok(Place { path: place.to_owned(), replaced: None, force })
        }
        Err(error) => Err(failed(place, error)),
    }
}

/// What a file lies in.
fn folder(place: &Path) -> &Path {
    place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn exists(place: &Path) -> Failure {
    Failure::inval(format!("{} exists; it is replaced only with --force", text::path(place)))
}

fn failed(place: &Path, error: io::Error) -> Failure {
    let message = format!("{} cannot be written", text::path(place));
    Failure::Error(Error::new(Status::Io, "convert", message).with_source(error).with_path(place))
}

impl Output {
    /// Starts a file; it vanishes again unless it is finished.
    pub fn new(place: Place) -> Result<Output, Failure> {
        let path = &place.path;
        // The system's own words: the error that the builder gives names the temporary file, which nobody asked for.
        let mut said = None;
        let file = Builder::new().prefix(".damacy-").suffix(".part").make_in(folder(path), |part| {
            // As other new files, instead of for the owner alone; the umask still counts.
            let made = OpenOptions::new().write(true).create_new(true).mode(0o666).open(part);
            made.inspect_err(|error| said = error.raw_os_error())
        });
        let file = file.map_err(|error| {
            let cause = said.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
            let message = format!(
                "{} cannot be written: in the folder {} no file can be made",
                text::path(path),
                text::path(folder(path))
            );
            Error::new(Status::Io, "convert", message).with_source(cause).with_path(path)
        })?;
        Ok(Output { file, place })
    }

    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        // Through the file itself: the wrapper's errors name the temporary file.
        self.file.as_file_mut().write_all(bytes).map_err(|error| failed(&self.place.path, error))
    }

    /// Puts the file in its place, once its bytes are on the disk: a crash leaves the old file or the new one, not half of it.
    pub fn finish(self) -> Result<(), Failure> {
        let Output { file, place: Place { path, replaced, force } } = self;
        let written = match &replaced {
            Some(permissions) => file.as_file().set_permissions(permissions.clone()),
            None => Ok(()),
        };
        written.and_then(|()| file.as_file().sync_all()).map_err(|error| failed(&path, error))?;
        if force {
            return file.persist(&path).map(drop).map_err(|error| failed(&path, error.error));
        }
        file.persist_noclobber(&path).map(drop).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => exists(&path),
            _ => failed(&path, error.error),
        })
    }
}
