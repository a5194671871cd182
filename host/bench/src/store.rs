//! The output folder: checked before a run, written at its end, each file as a whole or not at all.

use crate::failure::{Failure, Result};
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Refuses a folder that could not be written to after minutes of work.
///
/// # Errors
/// `Inval` for what is no folder, `Io` for one that may not be written to.
pub fn check(folder: &Path) -> Result<()> {
    let there = folder.ancestors().find(|part| part.symlink_metadata().is_ok()).unwrap_or(Path::new("."));
    if !there.is_dir() {
        return Err(Failure::inval(format!("{} is no folder; results are written into one", there.display())));
    }
    let Ok(path) = std::ffi::CString::new(there.as_os_str().as_bytes()) else {
        return Err(Failure::inval("a path holds a zero byte"));
    };
    // SAFETY: the path ends with a zero byte; nothing is written.
    if unsafe { libc::access(path.as_ptr(), libc::W_OK | libc::X_OK) } != 0 {
        return Err(Failure::file(there, "cannot be written to", io::Error::last_os_error()));
    }
    Ok(())
}

/// Puts a file into the folder, which is made if it is missing.
///
/// # Errors
/// `Io`; what was there before is then still there.
pub fn write(folder: &Path, name: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let place = folder.join(name);
    let written = || -> io::Result<()> {
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
        file.persist(&place).map(drop).map_err(|error| error.error)
    };
    written().map_err(|error| Failure::file(&place, "cannot be written", error))
}
