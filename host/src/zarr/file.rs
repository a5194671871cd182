//! Regular files of a store: open, identify, read a range. Nothing here blocks on a pipe or grows with a claim.

use crate::Status;
use crate::error::{Error, Result};
use crate::text;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// An open regular file and what it was when opened.
pub(super) struct Object {
    pub(super) file: File,
    pub(super) identity: Identity,
}

/// Tells whether a path still names the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// Bytes of the file.
    pub(super) len: u64,
    device: u64,
    inode: u64,
    modified: (i64, i64),
}

/// The link to nothing because of which a path leads nowhere: itself or a folder on the way. Such a link is there,
/// unlike what it links to, so that what lies behind it is not missing but out of reach.
fn dangling_link(path: &Path) -> Option<&Path> {
    let (there, meta) = path.ancestors().find_map(|part| Some((part, std::fs::symlink_metadata(part).ok()?)))?;
    (meta.is_symlink() && there.metadata().is_err()).then_some(there)
}

impl Object {
    /// Opens a file; `None` if there is none.
    ///
    /// # Errors
    /// `Io` for anything else than a readable regular file, also for a link to nothing.
    pub(super) fn open(path: &Path) -> Result<Option<Object>> {
        // Opening a pipe without a writer would block; on a regular file the flag does nothing.
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path);
        let file = match opened {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return match dangling_link(path) {
                    Some(link) => Err(io_error(link, "is a link to nothing", e)),
                    None => Ok(None),
                };
            }
            Err(e) => return Err(io_error(path, "cannot be opened", e)),
        };
        let meta = file.metadata().map_err(|e| io_error(path, "cannot be examined", e))?;
        if !meta.is_file() {
            let kind = if meta.is_dir() { "a directory" } else { "no regular file" };
            return Err(Error::new(Status::Io, "read", format!("{} is {kind}", text::path(path))).with_path(path));
        }
        let identity = Identity {
            len: meta.len(),
            device: meta.dev(),
            inode: meta.ino(),
            modified: (meta.mtime(), meta.mtime_nsec()),
        };
        Ok(Some(Object { file, identity }))
    }
}

/// Reads `len` bytes at `offset` into `bytes`, whose memory is reused.
///
/// # Errors
/// `Io` for a failed or short read, `Oom`.
pub(super) fn read_range(file: &File, path: &Path, offset: u64, len: u64, bytes: &mut Vec<u8>) -> Result<()> {
    let out_of_memory = || Error::new(Status::Oom, "read", format!("{}: no memory for {len} bytes", text::path(path)));
    let len = usize::try_from(len).map_err(|_| out_of_memory())?;
    bytes.truncate(len);
    bytes.try_reserve_exact(len - bytes.len()).map_err(|_| out_of_memory())?;
    bytes.resize(len, 0);
    file.read_exact_at(bytes, offset).map_err(|e| {
        let what = format!("bytes {offset} to {} cannot be read", offset.saturating_add(len as u64));
        io_error(path, &what, e)
    })
}

/// The whole file, if it is no longer than `limit`; `None` if there is none.
///
/// # Errors
/// As [`Object::open`] and [`read_range`]; `Budget` for a longer file.
pub(super) fn read_small(path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
    let Some(object) = Object::open(path)? else { return Ok(None) };
    let len = object.identity.len;
    if len > limit {
        let message = format!(
            "{} has {len} bytes, too large for an array's metadata: the limit is {limit} (if it is a group's consolidated \
             metadata, give one of the arrays inside)",
            text::path(path)
        );
        return Err(Error::new(Status::Budget, "open", message));
    }
    let mut bytes = Vec::new();
    read_range(&object.file, path, 0, len, &mut bytes)?;
    Ok(Some(bytes))
}

/// An `Io` error that names the path and what the system said.
pub(super) fn io_error(path: &Path, what: &str, cause: io::Error) -> Error {
    let reason = match cause.kind() {
        io::ErrorKind::UnexpectedEof => "the file ends before that".to_owned(),
        _ => cause.to_string(),
    };
    Error::new(Status::Io, "read", format!("{} {what}: {reason}", text::path(path))).with_source(cause).with_path(path)
}
