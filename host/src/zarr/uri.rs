//! Where an array is: a path or a `file://` URI -> a path, or a refusal that says what is accepted.

use crate::Status;
use crate::error::{Error, Result};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The local directory that `uri` names.
///
/// # Errors
/// `Unsupported` for other schemes and hosts, `Inval` for what is no URI.
pub(super) fn local_path(uri: &str) -> Result<PathBuf> {
    if uri.is_empty() {
        return Err(inval(uri, "it is empty"));
    }
    if uri.contains('\0') {
        return Err(inval(uri, "it holds a NUL character"));
    }
    let Some((scheme, rest)) = split_scheme(uri) else { return Ok(PathBuf::from(uri)) };
    if !scheme.eq_ignore_ascii_case("file") {
        let message = format!("{uri}: no store for the scheme {scheme}: this build reads local paths and file:// URIs");
        return Err(Error::new(Status::Unsupported, "open", message));
    }
    let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    if !(host.is_empty() || host.eq_ignore_ascii_case("localhost")) {
        let message =
            format!("{uri}: the host {host} is not this machine: write file:///path, or file://localhost/path");
        return Err(Error::new(Status::Unsupported, "open", message));
    }
    if path.is_empty() {
        return Err(inval(uri, "it has no path"));
    }
    if let Some(mark) = path.chars().find(|c| matches!(c, '?' | '#')) {
        let escape = if mark == '?' { "%3F" } else { "%23" };
        return Err(inval(uri, &format!("file URIs have no query or fragment: write {mark} as {escape}")));
    }
    let bytes = percent_decode(path).ok_or_else(|| inval(uri, "a % is not followed by two hexadecimal digits"))?;
    if bytes.contains(&0) {
        return Err(inval(uri, "it holds a NUL character"));
    }
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

/// A path, or a URI, as arrays and groups are named by here: as it stands if it is UTF-8; else the `file://` URI of the same
/// place, which can name every byte.
///
/// ```
/// # use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};
/// let of = |bytes| damacy::zarr::uri_of_path(Path::new(OsStr::from_bytes(bytes)));
/// assert_eq!(of(b"some/caf\xc3\xa9.zarr"), "some/caf\u{e9}.zarr");
/// assert_eq!(of(b"/some/caf\xe9.zarr"), "file:///some/caf%E9.zarr");
/// ```
pub fn of_path(path: &Path) -> String {
    if let Some(text) = path.to_str() {
        return text.to_owned();
    }
    if split_scheme(&path.to_string_lossy()).is_some() {
        return percent_encode(path, |byte| byte.is_ascii());
    }
    // Without a current folder, the path is as good as it gets.
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    format!("file://{}", percent_encode(&absolute, plain))
}

fn percent_encode(path: &Path, plain: impl Fn(u8) -> bool) -> String {
    let shown = |&byte: &u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    path.as_os_str().as_bytes().iter().map(shown).collect()
}

/// Scheme and rest of `scheme://rest`, if the text is a URI.
fn split_scheme(uri: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = uri.split_once("://")?;
    let mut chars = scheme.chars();
    let first = chars.next()?.is_ascii_alphabetic();
    let others = chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    (first && others).then_some((scheme, rest))
}

fn percent_decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let digit = |b: Option<u8>| char::from(b?).to_digit(16);
        let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
        decoded.push((high * 16 + low) as u8);
    }
    Some(decoded)
}

fn inval(uri: &str, why: &str) -> Error {
    let message = format!("{uri:?} is not a place of an array: {why} (accepted: a local path, or a file:// URI)");
    Error::new(Status::Inval, "open", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_file_uris() {
        for (uri, path) in [
            ("/data/a.zarr", "/data/a.zarr"),
            ("a b/100%.zarr", "a b/100%.zarr"),
            ("./http://x", "./http://x"),
            ("file:///data/a%20b.zarr", "/data/a b.zarr"),
            ("FILE://LocalHost/a%C3%A9%25", "/aé%"),
        ] {
            assert_eq!(local_path(uri).unwrap(), PathBuf::from(path), "{uri}");
        }
    }

    #[test]
    fn every_path_has_a_name_that_leads_back_to_it() {
        for (bytes, name) in [
            (&b"a b/100%.zarr"[..], "a b/100%.zarr"),
            (b"/data/\xff a%.zarr", "file:///data/%FF%20a%25.zarr"),
            (b"/data/\xc3\xa9\xff?#", "file:///data/%C3%A9%FF%3F%23"),
            (b"file:///data/\xff%20", "file:///data/%FF%20"),
        ] {
            let path = PathBuf::from(OsString::from_vec(bytes.to_vec()));
            assert_eq!(of_path(&path), name);
            if !bytes.starts_with(b"file:") {
                assert_eq!(local_path(name).unwrap(), path);
            }
        }
        let relative = PathBuf::from(OsString::from_vec(b"\xff".to_vec()));
        assert_eq!(local_path(&of_path(&relative)).unwrap(), std::env::current_dir().unwrap().join(relative));
    }

    #[test]
    fn refusals_name_what_was_given() {
        for (uri, status, part) in [
            ("", Status::Inval, "empty"),
            ("http://host/a.zarr", Status::Unsupported, "scheme http"),
            ("s3://bucket/a.zarr", Status::Unsupported, "scheme s3"),
            ("file://server/a.zarr", Status::Unsupported, "host server"),
            ("file://localhost", Status::Inval, "no path"),
            ("file:///a%2", Status::Inval, "two hexadecimal digits"),
            ("file:///a%zz", Status::Inval, "two hexadecimal digits"),
            ("file:///a%00b", Status::Inval, "NUL"),
            ("file:///a?b", Status::Inval, "%3F"),
        ] {
            let error = local_path(uri).unwrap_err();
            assert_eq!(error.status(), status, "{uri}");
            assert!(error.message().contains(part), "{uri}: {error}");
        }
    }
}
