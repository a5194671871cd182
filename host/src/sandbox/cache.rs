//! Compiled code on disk: a component -> machine code, from the user's cache folder where it was left, else compiled and left there.
//!
//! A file's name is a hash of the component, of the engine's version and of all settings that its code depends on; the file starts
//! with a hash of its own contents. A file that is not what it was when it was written is not run but replaced. The folder and the
//! file must belong to the user and be writable by nobody else, since machine code that somebody else wrote would run outside the
//! sandbox; the file must not be a link. Without such a folder the component is compiled in every process.

use sha2::{Digest, Sha256};
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use wasmtime::Engine;
use wasmtime::component::Component;

/// Bytes of a hash.
const HASH: usize = 32;

/// `$XDG_CACHE_HOME/damacy`, or `~/.cache/damacy`.
pub(super) fn folder() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("damacy"))
}

/// The component's code for an engine.
///
/// # Errors
/// Those of the compiler. What is wrong with the folder is logged.
pub(super) fn component(engine: &Engine, wasm: &[u8], folder: Option<&Path>) -> wasmtime::Result<Component> {
    let key = key(engine, wasm);
    let folder = folder.filter(|folder| match prepare(folder) {
        Ok(()) => true,
        Err(error) => {
            log::debug!("compiling without a cache in {}: {error}", folder.display());
            false
        }
    });
    let file = folder.map(|folder| folder.join(format!("{}.cwasm", hex(&key))));
    if let Some(found) = file.as_deref().and_then(|file| load(engine, &key, file)) {
        return Ok(found);
    }
    let component = Component::from_binary(engine, wasm)?;
    if let Some(file) = file {
        match component.serialize().map_err(io::Error::other).and_then(|code| store(&key, &code, &file)) {
            Ok(()) => log::debug!("left compiled code in {}", file.display()),
            Err(error) => log::debug!("cannot leave compiled code in {}: {error}", file.display()),
        }
    }
    Ok(component)
}

/// A hash of all that the code depends on.
fn key(engine: &Engine, wasm: &[u8]) -> [u8; HASH] {
    let mut hasher = Sha(Sha256::new());
    hasher.0.update(wasm);
    // The engine's version, target and settings.
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.0.finalize().into()
}

fn load(engine: &Engine, key: &[u8; HASH], file: &Path) -> Option<Component> {
    let bytes = match read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            log::warn!("compiling anew instead of running {}: {error}", file.display());
            return None;
        }
    };
    let (hash, code) = bytes.split_at_checked(HASH)?;
    if hash != contents(key, code) {
        log::warn!("{} is not what was written there; compiling anew", file.display());
        return None;
    }
    // SAFETY: `deserialize` must be given what `serialize` gave for an engine of the same version and settings, unchanged. The hash
    // shows that the code is what was written for this key, which names the component, the version and the settings; and
    // nobody but this user could write to the file or in the folder.
    let found = unsafe { Component::deserialize(engine, code) };
    found.inspect_err(|error| log::warn!("{} does not load: {error:#}", file.display())).ok()
}

/// Writes to another name first, so that nobody reads half a file.
fn store(key: &[u8; HASH], code: &[u8], file: &Path) -> io::Result<()> {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let draft = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let draft = file.with_extension(format!("{}-{draft}.draft", std::process::id()));
    // Left by a process of the same number that was killed.
    let _ = fs::remove_file(&draft);
    let written = create(&draft).and_then(|mut out| {
        out.write_all(&contents(key, code))?;
        out.write_all(code)
    });
    let done = written.and_then(|()| fs::rename(&draft, file));
    if done.is_err() {
        let _ = fs::remove_file(&draft);
    }
    done
}

fn contents(key: &[u8; HASH], code: &[u8]) -> [u8; HASH] {
    Sha256::new().chain_update(key).chain_update(code).finalize().into()
}

/// Makes the folder, and makes sure that only its user writes there.
#[cfg(unix)]
fn prepare(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let meta = fs::symlink_metadata(folder)?;
    if meta.is_dir() && meta.uid() == user() && meta.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(io::Error::other("it is not a folder of this user's, or others may write there"))
}

#[cfg(unix)]
fn user() -> u32 {
    // SAFETY: the call has no preconditions.
    unsafe { libc::geteuid() }
}

/// A new file that is the user's alone.
#[cfg(unix)]
fn create(file: &Path) -> io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)
}

/// The contents of a file that only the user can have written. What is checked is what was opened.
#[cfg(unix)]
fn read(file: &Path) -> io::Result<Vec<u8>> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    // Not blocking: a pipe of that name would never open.
    let mut opened = fs::OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(file)?;
    let meta = opened.metadata()?;
    if !meta.is_file() || meta.uid() != user() || meta.mode() & 0o022 != 0 {
        return Err(io::Error::other("it is not a file of this user's, or others may write to it"));
    }
    let mut bytes = Vec::new();
    opened.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(not(unix))]
fn prepare(_folder: &Path) -> io::Result<()> {
    Err(unknown())
}

#[cfg(not(unix))]
fn create(_file: &Path) -> io::Result<fs::File> {
    Err(unknown())
}

#[cfg(not(unix))]
fn read(_file: &Path) -> io::Result<Vec<u8>> {
    Err(unknown())
}

#[cfg(not(unix))]
fn unknown() -> io::Error {
    io::Error::other("whether others may write there is not known on this system")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Sha(Sha256);

impl Hasher for Sha {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let hash = self.0.clone().finalize();
        hash.iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use wasmtime::Config;

    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    fn files(folder: &Path) -> Vec<PathBuf> {
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
    }

    #[test]
    fn code_is_left_once_for_each_engine_and_component() {
        let folder = tempfile::tempdir().expect("a folder");
        let plain = Engine::default();
        let metered = Engine::new(Config::new().consume_fuel(true)).expect("an engine");
        for _ in 0..2 {
            component(&plain, EMPTY, Some(folder.path())).expect("compiles");
            assert_eq!(files(folder.path()).len(), 1);
        }
        component(&metered, EMPTY, Some(folder.path())).expect("compiles");
        assert_eq!(files(folder.path()).len(), 2);
    }

    #[test]
    fn a_changed_file_is_not_run_but_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let engine = Engine::default();
        component(&engine, EMPTY, Some(folder.path())).expect("compiles");
        let file = files(folder.path()).remove(0);
        let good = fs::read(&file).expect("a file");
        let key = key(&engine, EMPTY);
        assert!(load(&engine, &key, &file).is_some());
        let mut changed = vec![Vec::new(), good[..20].to_vec(), good[..good.len() - 1].to_vec()];
        for at in [0, HASH, good.len() / 2, good.len() - 1] {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            changed.push(bytes);
        }
        for bytes in changed {
            fs::write(&file, &bytes).expect("written");
            assert!(load(&engine, &key, &file).is_none(), "{} bytes", bytes.len());
            component(&engine, EMPTY, Some(folder.path())).expect("compiles");
            assert!(load(&engine, &key, &file).is_some(), "replaced");
        }
    }

    #[test]
    fn a_file_that_others_may_have_written_is_not_run_but_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let engine = Engine::default();
        component(&engine, EMPTY, Some(folder.path())).expect("compiles");
        let file = files(folder.path()).remove(0);
        let key = key(&engine, EMPTY);
        let mode = || fs::symlink_metadata(&file).expect("a file").permissions().mode() & 0o7777;
        assert_eq!(mode(), 0o600);
        let elsewhere = folder.path().join("elsewhere");
        let changes: [&dyn Fn(); 4] = [
            &|| fs::set_permissions(&file, fs::Permissions::from_mode(0o620)).expect("changed"),
            &|| fs::set_permissions(&file, fs::Permissions::from_mode(0o602)).expect("changed"),
            &|| {
                fs::rename(&file, &elsewhere).expect("moved");
                std::os::unix::fs::symlink(&elsewhere, &file).expect("linked");
            },
            &|| {
                fs::remove_file(&file).expect("removed");
                fs::create_dir(&file).expect("a folder");
            },
        ];
        for (index, change) in changes.into_iter().enumerate() {
            change();
            assert!(load(&engine, &key, &file).is_none(), "change {index}");
            component(&engine, EMPTY, Some(folder.path())).expect("compiles");
            if file.is_dir() {
                continue;
            }
            assert!(load(&engine, &key, &file).is_some(), "replaced after change {index}");
            assert_eq!(mode(), 0o600, "after change {index}");
        }
        let drafts = files(folder.path()).iter().filter(|file| file.extension().is_some_and(|e| e == "draft")).count();
        assert_eq!(drafts, 0);
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("changed");
        component(&Engine::default(), EMPTY, Some(folder.path())).expect("compiles");
        assert_eq!(files(folder.path()).len(), 0);
        component(&Engine::default(), EMPTY, Some(Path::new("/proc/none"))).expect("compiles");
        component(&Engine::default(), EMPTY, None).expect("compiles");
    }
}
