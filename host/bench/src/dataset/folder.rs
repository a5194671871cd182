//! Folders that data is generated in: made and locked, removed when they are dropped, and those that a killed run has left.
//!
//! A lock is the system's (`flock`), so it ends with its process, however that ends.

use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::progress::Progress;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// What temporary folders' names begin with; in a folder of kept data they are hidden.
const PREFIX: &str = "damacy-bench-";
/// In a folder of kept data: whoever makes data there has it locked.
const LOCK: &str = ".damacy-bench.lock";
/// In a temporary folder: says that it is one, whatever others are called.
pub(super) const MARK: &str = ".damacy-bench.temporary";
/// A folder that is younger may be one that is not locked yet.
const YOUNG: Duration = Duration::from_secs(60);

/// A temporary folder, locked as long as it is there.
pub(super) struct Temporary {
    /// Removed first.
    folder: TempDir,
    _lock: Option<File>,
}

impl Temporary {
    /// A new one in `parent`; removes those there that belong to the same user and to no process any more.
    pub(super) fn new(parent: &Path, hidden: bool, progress: &Progress) -> Result<Temporary> {
        let prefix = if hidden { format!(".{PREFIX}") } else { PREFIX.to_owned() };
        let failed = |error| Failure::file(parent, "cannot hold a temporary folder", error);
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent).map_err(failed)?;
        File::create_new(folder.path().join(MARK)).map_err(failed)?;
        let lock = File::open(folder.path()).ok().filter(|lock| lock.try_lock().is_ok());
        sweep(parent, &prefix, folder.path(), progress);
        Ok(Temporary { folder, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Leaves the folder, which was moved to `place`, without its mark.
    pub(super) fn keep(self, place: &Path) {
        drop(self.folder.keep());
        drop(fs::remove_file(place.join(MARK)));
    }
}

/// Removes what killed runs have left beside `own`. What cannot be removed stays: it harms nobody but the disk.
fn sweep(parent: &Path, prefix: &str, own: &Path, progress: &Progress) {
    let Ok(owner) = fs::metadata(own).map(|facts| facts.uid()) else { return };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        let ours = entry.file_name().to_string_lossy().starts_with(prefix) && path != own;
        let Some(facts) = entry.metadata().ok().filter(|facts| ours && facts.is_dir() && facts.uid() == owner) else {
            continue;
        };
        let old = facts.modified().ok().and_then(|time| time.elapsed().ok()).is_some_and(|age| age >= YOUNG);
        let open = || OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(&path);
        let left = old && path.join(MARK).is_file() && open().is_ok_and(|folder| folder.try_lock().is_ok());
        if left && fs::remove_dir_all(&path).is_ok() {
            progress.say(&format!("data: removed {}, which a run that was killed had left", path.display()));
        }
    }
}

/// Waits until no other run makes data in a folder. The lock ends with the file; there is none where the file system has none.
///
/// # Errors
/// An interruption.
pub(super) fn alone_in(folder: &Path, progress: &Progress) -> Result<Option<File>> {
    let opened = OpenOptions::new().create(true).append(true).open(folder.join(LOCK));
    let file = opened.map_err(|error| Failure::file(folder, "cannot be written to", error))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::Error(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) => {
                interrupt::check()?;
                progress.step(|| format!("data: waiting for another run that makes data in {}", folder.display()));
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}
