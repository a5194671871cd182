//! Numbers of C -> the host's enums and durations, or `Inval` naming what is accepted; and the tables of names.

use crate::foreign::{Slot, Text, inval};
use crate::guard;
use damacy_core::metadata::ZarrFormat;
use host::{ByteOrder, Dtype, Engine, Result, SourceType, Status};
use std::ffi::c_char;
use std::time::Duration;

/// `damacy_dtype`.
pub fn dtype(value: i32) -> Result<Dtype> {
    u8::try_from(value)
        .ok()
        .and_then(Dtype::from_value)
        .ok_or_else(|| inval(format!("{value} is no damacy_dtype: give DAMACY_F32 (0) to DAMACY_I64 (9)")))
}

/// `damacy_source`.
pub fn source(value: i32) -> Result<SourceType> {
    u8::try_from(value).ok().and_then(SourceType::from_value).ok_or_else(|| {
        inval(format!("{value} is no damacy_source: give DAMACY_SOURCE_U8 (0) to DAMACY_SOURCE_F32 (9)"))
    })
}

/// `damacy_byte_order`.
pub fn order(value: i32) -> Result<ByteOrder> {
    match value {
        0 => Ok(ByteOrder::Little),
        1 => Ok(ByteOrder::Big),
        _ => Err(inval(format!(
            "{value} is no damacy_byte_order: give DAMACY_LITTLE_ENDIAN (0) or DAMACY_BIG_ENDIAN (1)"
        ))),
    }
}

/// `damacy_engine`.
pub fn engine(value: i32) -> Result<Engine> {
    match value {
        0 => Ok(Engine::Native),
        1 => Ok(Engine::Sandbox),
        _ => Err(inval(format!("{value} is no damacy_engine: give DAMACY_NATIVE (0) or DAMACY_SANDBOX (1)"))),
    }
}

/// `damacy_cuda_choice` and the device beside it.
pub fn cuda_device(choice: i32, device: i32) -> Result<Option<u32>> {
    match (choice, u32::try_from(device)) {
        (0, Ok(0)) => Ok(None),
        (0, _) => Err(inval(format!("device of cuda is {device}, but choice is DAMACY_CUDA_CURRENT (0): give 0"))),
        (1, Ok(device)) => Ok(Some(device)),
        (1, Err(_)) => Err(inval(format!("device of cuda is {device}: GPUs are numbered from 0"))),
        _ => Err(inval(format!(
            "{choice} is no damacy_cuda_choice: give DAMACY_CUDA_CURRENT (0) or DAMACY_CUDA_DEVICE (1)"
        ))),
    }
}

/// `damacy_zarr_format`.
pub fn format(value: i32, what: &str) -> Result<ZarrFormat> {
    match value {
        2 => Ok(ZarrFormat::V2),
        3 => Ok(ZarrFormat::V3),
        _ => Err(inval(format!(
            "format of {what} is {value}: give DAMACY_ZARR_V2 (2) for a .zarray, DAMACY_ZARR_V3 (3) for a zarr.json"
        ))),
    }
}

/// Whether a last partial batch is dropped: `damacy_partial`.
pub fn drop_last(value: i32) -> Result<bool> {
    match value {
        0 => Ok(true),
        1 => Ok(false),
        _ => Err(inval(format!("{value} is no damacy_partial: give DAMACY_DROP_LAST (0) or DAMACY_KEEP_LAST (1)"))),
    }
}

/// Members without a meaning yet.
pub fn reserved(value: i32, what: &str) -> Result<()> {
    match value {
        0 => Ok(()),
        _ => Err(inval(format!("the reserved member of {what} is {value}: set the whole struct to zero first"))),
    }
}

/// Seconds of a setting; 0 for its default.
pub fn seconds(value: f64, what: &str) -> Result<Option<Duration>> {
    if value == 0.0 {
        return Ok(None);
    }
    let duration = if value > 0.0 { limited(value) } else { None };
    duration.map(Some).ok_or_else(|| inval(format!("{what} is {value}: give seconds above 0, or 0 for the default")))
}

/// Seconds to wait; negative for as long as it takes.
pub fn timeout(value: f64) -> Result<Option<Duration>> {
    if value.is_nan() {
        return Err(inval("timeout_s is not a number: give seconds, or DAMACY_NO_TIMEOUT to wait as long as it takes"));
    }
    Ok(if value < 0.0 { None } else { limited(value) })
}

/// A duration as long as there can be.
fn limited(seconds: f64) -> Option<Duration> {
    const A_HUNDRED_YEARS: f64 = 3.2e9;
    Duration::try_from_secs_f64(seconds.min(A_HUNDRED_YEARS)).ok()
}

/// Zero-terminated static names, in the order of the enum's numbers.
macro_rules! names {
    ($($name:literal),* $(,)?) => { [$(concat!($name, "\0")),*] };
}

const STATUSES: [&str; 14] = names!(
    "OK",
    "AGAIN",
    "INVAL",
    "NOTFOUND",
    "DTYPE",
    "RANK",
    "IO",
    "DECODE",
    "CUDA",
    "OOM",
    "BUDGET",
    "SHUTDOWN",
    "UNSUPPORTED",
    "INTERNAL",
);
const DTYPES: [&str; 10] =
    names!("float32", "bfloat16", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",);
const SOURCES: [&str; 10] =
    names!("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32",);

fn name(names: &'static [&'static str], value: i32) -> *const c_char {
    let name = usize::try_from(value).ok().and_then(|at| names.get(at));
    name.map_or("?\0", |name| name).as_ptr().cast()
}

#[unsafe(no_mangle)]
extern "C" fn damacy_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

#[unsafe(no_mangle)]
extern "C" fn damacy_status_name(status: i32) -> *const c_char {
    name(&STATUSES, status)
}

#[unsafe(no_mangle)]
extern "C" fn damacy_dtype_name(value: i32) -> *const c_char {
    name(&DTYPES, value)
}

#[unsafe(no_mangle)]
extern "C" fn damacy_source_name(value: i32) -> *const c_char {
    name(&SOURCES, value)
}

#[unsafe(no_mangle)]
extern "C" fn damacy_dtype_bytes(value: i32) -> usize {
    dtype(value).map_or(0, Dtype::width)
}

#[unsafe(no_mangle)]
extern "C" fn damacy_source_bytes(value: i32) -> usize {
    source(value).map_or(0, SourceType::width)
}

#[unsafe(no_mangle)]
extern "C" fn damacy_dtype_parse(name: Text, dtype: Slot<i32>) -> i32 {
    guard::call(|| {
        let name = name.get("name")?;
        let parsed =
            Dtype::parse(name).map_err(|unknown| host::Error::new(Status::Inval, "argument", unknown.to_string()))?;
        dtype.put(parsed as i32, "dtype")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_rules_own() {
        let bare = |name: &'static str| name.trim_end_matches('\0');
        assert!(STATUSES.into_iter().map(bare).eq(Status::ALL.into_iter().map(Status::name)));
        assert!(DTYPES.into_iter().map(bare).eq(Dtype::ALL.into_iter().map(Dtype::full_name)));
        assert!(SOURCES.into_iter().map(bare).eq(SourceType::ALL.into_iter().map(SourceType::full_name)));
    }

    #[test]
    fn numbers_outside_are_refused() {
        for value in [-1, 10, i32::MIN, i32::MAX, 256] {
            assert!(dtype(value).is_err() && source(value).is_err() && order(value).is_err());
            assert!(engine(value).is_err() && format(value, "x").is_err() && drop_last(value).is_err());
        }
    }

    #[test]
    fn seconds_of_every_kind() {
        assert_eq!(seconds(0.0, "x").unwrap(), None);
        assert_eq!(seconds(0.25, "x").unwrap(), Some(Duration::from_millis(250)));
        for refused in [-1.0, f64::NAN, f64::NEG_INFINITY] {
            assert!(seconds(refused, "x").is_err(), "{refused}");
        }
        assert_eq!(timeout(-0.5).unwrap(), None);
        assert_eq!(timeout(0.0).unwrap(), Some(Duration::ZERO));
        assert!(timeout(f64::INFINITY).unwrap().is_some_and(|long| long > Duration::from_secs(1 << 31)));
        assert!(timeout(f64::NAN).is_err());
    }
}
