//! Whether this process can use CUDA: driver library, version, devices -> `Ok` or one clear sentence.

use std::fmt;
use std::sync::OnceLock;

use crate::driver::{Driver, NoDriver};
use crate::error::Result;

/// The oldest driver accepted, as `cuDriverGetVersion` counts (12.0).
pub const MIN_DRIVER_VERSION: u32 = 12000;

/// Why CUDA cannot be used in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unavailable {
    /// The dynamic loader finds no driver library.
    NoDriver,
    /// The toolkit's stub was found in the place of the driver library.
    Stub,
    /// The driver is older than [`MIN_DRIVER_VERSION`], or lacks a call that drivers of that age have.
    TooOld {
        /// The driver's version, as in 12040; 0 when it was not asked because a call is missing.
        version: u32,
        /// The call that the library lacks, if that is the reason.
        missing: Option<&'static str>,
    },
    /// The driver works, but no device is visible.
    NoDevice,
    /// The driver refused to start.
    Refused {
        /// The call that failed.
        call: &'static str,
        /// Its result code.
        code: u32,
        /// The code's name, and the driver's words for it.
        name: String,
    },
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let oldest = version(MIN_DRIVER_VERSION);
        match self {
            Unavailable::NoDriver => {
                write!(f, "CUDA is not available: no NVIDIA driver library (libcuda.so.1) was found on this machine")
            }
            Unavailable::Stub => write!(
                f,
                "CUDA is not available: the libcuda found is the toolkit's stub, not a driver (take its \"stubs\" folder \
                 out of LD_LIBRARY_PATH)"
            ),
            Unavailable::TooOld { missing: Some(call), .. } => write!(
                f,
                "CUDA is not available: the NVIDIA driver lacks {call}; drivers for CUDA {oldest} and later have it"
            ),
            Unavailable::TooOld { version: found, missing: None } => write!(
                f,
                "CUDA is not available: the NVIDIA driver supports CUDA {}, and {oldest} or later is needed",
                version(*found)
            ),
            Unavailable::NoDevice => {
                write!(f, "CUDA is not available: the NVIDIA driver reports no device")?;
                match std::env::var("CUDA_VISIBLE_DEVICES") {
                    Ok(visible) => write!(f, " (CUDA_VISIBLE_DEVICES is \"{visible}\")"),
                    Err(_) => Ok(()),
                }
            }
            Unavailable::Refused { call, code, name } => {
                write!(f, "CUDA is not available: the NVIDIA driver refused to start: {call} gave {name} (code {code})")
            }
        }
    }
}

impl std::error::Error for Unavailable {}

/// `Ok` when a device can be opened. Initialises the driver at the first call; the answer is kept, so that asking again
/// costs nothing.
///
/// # Errors
/// The reason, in one sentence (its `Display`).
pub fn availability() -> Result<(), Unavailable> {
    driver().map(|_| ())
}

/// How many devices the driver shows this process (`CUDA_VISIBLE_DEVICES` applies); at least 1.
///
/// # Errors
/// The reason why CUDA is not available, or the driver's error.
pub fn device_count() -> Result<u32> {
    let driver = driver()?;
    let mut count = 0;
    // SAFETY: `count` is a valid place for the answer.
    driver.check("cuDeviceGetCount", "counting devices", unsafe { (driver.cuDeviceGetCount)(&mut count) })?;
    Ok(u32::try_from(count).unwrap_or(0))
}

/// The CUDA version that the driver supports, as it counts: 12040 for 12.4.
///
/// # Errors
/// As [`device_count`].
pub fn driver_version() -> Result<u32> {
    let driver = driver()?;
    let mut version = 0;
    // SAFETY: `version` is a valid place for the answer.
    let code = unsafe { (driver.cuDriverGetVersion)(&mut version) };
    driver.check("cuDriverGetVersion", "asking for the driver's version", code)?;
    Ok(u32::try_from(version).unwrap_or(0))
}

/// The driver's table, once everything needed to open a device was seen.
pub(crate) fn driver() -> Result<&'static Driver, Unavailable> {
    static STARTED: OnceLock<Result<&'static Driver, Unavailable>> = OnceLock::new();
    STARTED.get_or_init(start).clone()
}

fn start() -> Result<&'static Driver, Unavailable> {
    const STUB_LIBRARY: u32 = 34;
    const NO_DEVICE: u32 = 100;
    let driver = Driver::get().map_err(|reason| match reason {
        NoDriver::NoLibrary => Unavailable::NoDriver,
        NoDriver::MissingCall(call) => Unavailable::TooOld { version: 0, missing: Some(call) },
    })?;
    let check = |call, code| match code {
        0 => Ok(()),
        NO_DEVICE => Err(Unavailable::NoDevice),
        STUB_LIBRARY => Err(Unavailable::Stub),
        _ => {
            let error = driver.error(call, "starting the driver", code);
            let name = if error.meaning.is_empty() { error.name } else { format!("{}, {}", error.name, error.meaning) };
            Err(Unavailable::Refused { call, code, name })
        }
    };
    let (mut found, mut count) = (0, 0);
    // SAFETY: `found` is a valid place for the answer; this call works before `cuInit`.
    check("cuDriverGetVersion", unsafe { (driver.cuDriverGetVersion)(&mut found) })?;
    let found = u32::try_from(found).unwrap_or(0);
    if found < MIN_DRIVER_VERSION {
        return Err(Unavailable::TooOld { version: found, missing: None });
    }
    // SAFETY: 0 is the only value that the call takes.
    check("cuInit", unsafe { (driver.cuInit)(0) })?;
    // SAFETY: `count` is a valid place for the answer.
    check("cuDeviceGetCount", unsafe { (driver.cuDeviceGetCount)(&mut count) })?;
    if count <= 0 { Err(Unavailable::NoDevice) } else { Ok(driver) }
}

/// 12040 as "12.4".
fn version(number: u32) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}
