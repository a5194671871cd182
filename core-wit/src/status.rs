//! Statuses that every face of damacy reports: Rust, C, Python, the command line, the component.

/// How a call ended. The numbers are part of the C and Python interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Status {
    /// Success.
    Ok = 0,
    /// No batch can complete now, or a time-out passed. Trying again may succeed.
    Again = 1,
    /// Bad arguments, a box out of bounds, a box whose shape is not the batch's.
    Inval = 2,
    /// No array at the URI.
    NotFound = 3,
    /// A source type without a conversion.
    Dtype = 4,
    /// The array's rank is not the batch's.
    Rank = 5,
    /// Permission, failed or short read, vanished file.
    Io = 6,
    /// Malformed metadata or chunk bytes.
    Decode = 7,
    /// No CUDA driver, or a driver call failed.
    Cuda = 8,
    /// The system refused memory.
    Oom = 9,
    /// A memory budget or a planning limit would be passed.
    Budget = 10,
    /// Closed or cancelled.
    Shutdown = 11,
    /// A codec, grid, extension, store or feature that this build lacks.
    Unsupported = 12,
    /// A bug of ours.
    Internal = 13,
}

impl Status {
    /// Every status, by value.
    pub const ALL: [Status; 14] = [
        Status::Ok,
        Status::Again,
        Status::Inval,
        Status::NotFound,
        Status::Dtype,
        Status::Rank,
        Status::Io,
        Status::Decode,
        Status::Cuda,
        Status::Oom,
        Status::Budget,
        Status::Shutdown,
        Status::Unsupported,
        Status::Internal,
    ];

    /// The name without prefix, as in C's `DAMACY_*` and Python's `Status.*`.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Ok => "OK",
            Status::Again => "AGAIN",
            Status::Inval => "INVAL",
            Status::NotFound => "NOTFOUND",
            Status::Dtype => "DTYPE",
            Status::Rank => "RANK",
            Status::Io => "IO",
            Status::Decode => "DECODE",
            Status::Cuda => "CUDA",
            Status::Oom => "OOM",
            Status::Budget => "BUDGET",
            Status::Shutdown => "SHUTDOWN",
            Status::Unsupported => "UNSUPPORTED",
            Status::Internal => "INTERNAL",
        }
    }
}

impl core::fmt::Display for Status {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}
