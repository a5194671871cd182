//! A refused call -> `damacy_refusal`, whose texts the calling thread keeps until its next one.

use crate::last::c_string;
use crate::structs::{REFUSAL_KINDS, Refusal};
use host::pool::{Kind, PoolError};
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::sync::OnceLock;

/// `DAMACY_REFUSAL_NONE`: the call failed before it came to the pool.
const NONE: i32 = 0;

struct Texts {
    name: CString,
    tenant: CString,
    path: CString,
    message: CString,
}

thread_local! {
    static TEXTS: RefCell<Option<Texts>> = const { RefCell::new(None) };
}

/// How a call failed.
pub enum Failure {
    /// In the pool.
    Refused(PoolError),
    /// Before.
    Other(host::Error),
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        Failure::Refused(error)
    }
}

impl From<host::Error> for Failure {
    fn from(error: host::Error) -> Self {
        Failure::Other(error)
    }
}

impl From<Failure> for host::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(error) => error.into(),
            Failure::Other(error) => error,
        }
    }
}

/// `damacy_refusal_kind`.
pub fn number(kind: Kind) -> i32 {
    Kind::ALL.iter().position(|&other| other == kind).map_or(NONE, |at| at as i32 + 1)
}

const _: () = assert!(Kind::ALL.len() < REFUSAL_KINDS, "damacy_tenant_metrics.refused has room for every kind");

/// The refusal in parts.
pub fn filled(failure: &Failure) -> Refusal {
    let (kind, status, message, tenant, path) = match failure {
        Failure::Refused(error) => (number(error.kind), error.status, &*error.message, &*error.tenant, &*error.path),
        Failure::Other(error) => (NONE, error.status(), error.message(), "", ""),
    };
    let name = match failure {
        Failure::Refused(error) => error.name,
        Failure::Other(_) => "none",
    };
    let texts =
        Texts { name: c_string(name), tenant: c_string(tenant), path: c_string(path), message: c_string(message) };
    let mut filled = Refusal {
        struct_size: 0,
        kind,
        status: status as i32,
        limit: 0,
        asked: 0,
        limit_known: 0,
        asked_known: 0,
        array: -1,
        sample: -1,
        tenant: c"".as_ptr(),
        path: c"".as_ptr(),
        message: c"".as_ptr(),
        name: c"".as_ptr(),
    };
    if let Failure::Refused(error) = failure {
        filled.limit = error.limit.unwrap_or(0);
        filled.limit_known = i32::from(error.limit.is_some());
        filled.asked = error.asked.unwrap_or(0);
        filled.asked_known = i32::from(error.asked.is_some());
        filled.array = error.array.map_or(-1, i64::from);
        filled.sample = error.sample.and_then(|sample| i64::try_from(sample).ok()).unwrap_or(-1);
    }
    // The CStrings' memory stays where it is when they move. A thread that is ending keeps none.
    let pointers = [&texts.tenant, &texts.path, &texts.message, &texts.name].map(|text| text.as_ptr());
    if TEXTS.try_with(|slot| slot.replace(Some(texts))).is_ok() {
        [filled.tenant, filled.path, filled.message, filled.name] = pointers;
    }
    filled
}

#[unsafe(no_mangle)]
extern "C" fn damacy_refusal_name(kind: i32) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    let names = NAMES.get_or_init(|| std::iter::once("none").chain(Kind::ALL.map(Kind::name)).map(c_string).collect());
    let name = usize::try_from(kind).ok().and_then(|at| names.get(at));
    name.map_or(c"?".as_ptr(), |name| name.as_ptr())
}
