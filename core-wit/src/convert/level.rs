//! Which vector instructions the contiguous loops use.
//!
//! CPU and environment in -> a [`Level`], found once a process. On other machines than x86-64, and without `std`, there
//! is one level: what the compiler was told to build for.

use core::fmt;

/// The environment variable that asks for a level below the CPU's best, for tests: `baseline`, `avx2` or `avx512`.
pub const LEVEL_VARIABLE: &str = "DAMACY_SIMD";

/// A set of vector instructions. Larger ones contain smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// What the compiler was told to build for: SSE2 on x86-64, NEON on aarch64, simd128 in the component.
    Baseline,
    /// AVX2, FMA and F16C (x86-64).
    Avx2,
    /// AVX-512 F, BW, DQ and VL, beside AVX2 (x86-64).
    Avx512,
}

impl Level {
    /// Every level, lowest first.
    pub const ALL: [Level; 3] = [Level::Baseline, Level::Avx2, Level::Avx512];

    /// The name that [`LEVEL_VARIABLE`] takes.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Baseline => "baseline",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    /// Whether this CPU has the level's instructions.
    pub fn is_available(self) -> bool {
        match self {
            Level::Baseline => true,
            Level::Avx2 => detected::avx2(),
            Level::Avx512 => detected::avx2() && detected::avx512(),
        }
    }

    /// The highest level that this CPU has.
    pub fn best() -> Level {
        Level::ALL.into_iter().rev().find(|level| level.is_available()).unwrap_or(Level::Baseline)
    }

    /// The level of [`Kernel::select`](super::Kernel::select): that of [`LEVEL_VARIABLE`] when the process first
    /// asked, else (and where the variable is no name or too high, see [`Level::check_environment`]) the CPU's best.
    pub fn current() -> Level {
        environment::requested().ok().flatten().unwrap_or_else(Level::best)
    }

    /// Checks [`LEVEL_VARIABLE`], as it was when the process first asked.
    ///
    /// # Errors
    /// [`UnknownLevel`] if it is set to something else than the name of a level that this CPU has.
    pub fn check_environment() -> Result<(), UnknownLevel> {
        environment::requested().map(drop)
    }

    #[cfg(all(feature = "std", not(target_family = "wasm")))]
    fn from_name(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name) && level.is_available())
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// [`LEVEL_VARIABLE`] names no level that this CPU has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownLevel {
    given: &'static str,
}

impl fmt::Display for UnknownLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{LEVEL_VARIABLE} is {:?}; accepted is what this CPU has:", self.given)?;
        Level::ALL.into_iter().filter(|level| level.is_available()).try_for_each(|level| write!(f, " {level}"))
    }
}

impl core::error::Error for UnknownLevel {}

#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod detected {
    pub(super) fn avx2() -> bool {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
    }

    pub(super) fn avx512() -> bool {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
    }
}

#[cfg(not(all(feature = "std", target_arch = "x86_64")))]
mod detected {
    pub(super) fn avx2() -> bool {
        false
    }

    pub(super) fn avx512() -> bool {
        false
    }
}

#[cfg(all(feature = "std", not(target_family = "wasm")))]
mod environment {
    use super::{LEVEL_VARIABLE, Level, UnknownLevel};
    use std::sync::OnceLock;

    pub(super) fn requested() -> Result<Option<Level>, UnknownLevel> {
        static REQUESTED: OnceLock<Result<Option<Level>, UnknownLevel>> = OnceLock::new();
        *REQUESTED.get_or_init(|| match std::env::var_os(LEVEL_VARIABLE) {
            None => Ok(None),
            Some(name) if name.is_empty() => Ok(None),
            Some(name) => {
                let name = name.to_string_lossy();
                // Once a process, for an error that lives as long.
                let unknown = || UnknownLevel { given: name.clone().into_owned().leak() };
                Level::from_name(&name).map(Some).ok_or_else(unknown)
            }
        })
    }
}

#[cfg(not(all(feature = "std", not(target_family = "wasm"))))]
mod environment {
    use super::{Level, UnknownLevel};

    pub(super) fn requested() -> Result<Option<Level>, UnknownLevel> {
        Ok(None)
    }
}
