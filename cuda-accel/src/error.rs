//! Errors: which driver call failed, with which code, while doing what; or which argument was refused.

use std::fmt;

use damacy_core::Status;

use crate::Unavailable;
use crate::table::TableError;

/// `Result` with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Anything that can go wrong here.
#[derive(Debug, Clone)]
pub enum Error {
    /// CUDA cannot be used in this process at all.
    Unavailable(Unavailable),
    /// An argument that was refused before the driver saw it: what was given and what is accepted.
    Argument(String),
    /// A driver call failed.
    Driver(CudaError),
}

/// A driver call that failed.
#[derive(Debug, Clone)]
pub struct CudaError {
    /// The call, by its name in the driver's manual (`cuMemAlloc`).
    pub call: &'static str,
    /// The driver's result code.
    pub code: u32,
    /// The code's name (`CUDA_ERROR_OUT_OF_MEMORY`).
    pub name: String,
    /// The driver's own words for it ("out of memory"); may be empty.
    pub meaning: String,
    /// What was being done, as in "while {stage}".
    pub stage: &'static str,
    /// Sizes, devices and handles in play; may be empty.
    pub detail: String,
}

impl CudaError {
    /// True when device or page-locked memory ran out: the context is still usable.
    pub fn is_out_of_memory(&self) -> bool {
        self.code == 2
    }

    /// True when every later call in this context will fail too: the pipeline that sees this can only be closed.
    pub fn is_sticky(&self) -> bool {
        // DEINITIALIZED, ECC_UNCORRECTABLE, NVLINK_UNCORRECTABLE, CONTAINED, ILLEGAL_ADDRESS, LAUNCH_TIMEOUT,
        // CONTEXT_IS_DESTROYED, ASSERT, HARDWARE_STACK_ERROR to LAUNCH_FAILED, TENSOR_MEMORY_LEAK,
        // MPS_CLIENT_TERMINATED, UNKNOWN (what a device that fell off the bus gives).
        matches!(self.code, 4 | 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 721 | 810 | 999)
    }

    /// True when a CUDA graph's capture in the context forbids the call: it works once the capture has ended.
    pub fn is_capture(&self) -> bool {
        // STREAM_CAPTURE_UNSUPPORTED and _IMPLICIT.
        matches!(self.code, 900 | 906)
    }

    /// The same error with the sizes, devices or handles in play.
    pub fn with_detail(self, detail: impl Into<String>) -> CudaError {
        CudaError { detail: detail.into(), ..self }
    }
}

impl Error {
    /// True for a driver call that ran out of memory.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Error::Driver(error) if error.is_out_of_memory())
    }

    /// True for a driver error after which the context is lost.
    pub fn is_sticky(&self) -> bool {
        matches!(self, Error::Driver(error) if error.is_sticky())
    }

    /// True for a driver call that a CUDA graph's capture forbids for now.
    pub fn is_capture(&self) -> bool {
        matches!(self, Error::Driver(error) if error.is_capture())
    }

    /// The status that users of damacy see.
    pub fn status(&self) -> Status {
        match self {
            Error::Argument(_) => Status::Inval,
            Error::Driver(error) if error.is_out_of_memory() => Status::Oom,
            Error::Unavailable(_) | Error::Driver(_) => Status::Cuda,
        }
    }

    /// A driver error with the sizes, devices or handles in play; other errors as they are.
    pub fn with_detail(self, detail: impl FnOnce() -> String) -> Error {
        match self {
            Error::Driver(error) => Error::Driver(error.with_detail(detail())),
            other => other,
        }
    }
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed with {} (code {}", self.call, self.name, self.code)?;
        if !self.meaning.is_empty() {
            write!(f, ": {}", self.meaning)?;
        }
        write!(f, ") while {}", self.stage)?;
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unavailable(reason) => reason.fmt(f),
            Error::Argument(message) => f.write_str(message),
            Error::Driver(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CudaError {}
impl std::error::Error for Error {}

impl From<CudaError> for Error {
    fn from(error: CudaError) -> Error {
        Error::Driver(error)
    }
}

impl From<Unavailable> for Error {
    fn from(reason: Unavailable) -> Error {
        Error::Unavailable(reason)
    }
}

impl From<TableError> for Error {
    fn from(error: TableError) -> Error {
        Error::Argument(error.to_string())
    }
}
