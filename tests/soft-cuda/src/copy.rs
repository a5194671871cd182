//! Copies and fills: two ranges -> one item of work, checked against allocations when called and shadows when executed.
//!
//! Host memory that is not pinned is copied while the call runs, as real drivers do it. Pinned sources are read when the
//! item executes; one that changed in between is a violation.

use std::ffi::c_uchar;
use std::slice;

use crate::abi::bytes_at;
use crate::call::{Answer, Call, Needs, call};
use crate::clock::{Access, Clock};
use crate::codes::{Code, INVALID_VALUE};
use crate::memory::{self, Kind, Place};
use crate::queue::{self, Ticket, Work};
use crate::shadow::Mode;
use crate::state::{Driver, State};
use crate::stream;

enum Source {
    Memory(u64),
    /// A copy of host memory that is not pinned.
    Bytes(Vec<u8>),
    /// One byte, again and again.
    Byte(u8),
}

pub struct Copy {
    to: u64,
    from: Source,
    length: usize,
    /// What the pinned source's bytes summed up to when the copy was enqueued.
    sum: Option<u64>,
}

impl Copy {
    /// From pinned memory, or registered one, to somewhere.
    pub fn is_upload(&self) -> bool {
        self.sum.is_some()
    }
}

/// Which memory a call expects at an address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Device,
    Host,
    /// Any: the call goes by the address.
    Either,
}

/// Whether the range is tracked memory (device, pinned, registered); host memory that is not is untracked.
fn check(state: &mut State, call: &Call, address: u64, length: usize, side: Side) -> Result<bool, Code> {
    if address == 0 {
        return Err(INVALID_VALUE);
    }
    let name = call.name;
    let (kind, text) = match state.memory.find(address, length as u64) {
        Place::Inside(found) if side == Side::Host && found.kind == Kind::Device => {
            ("bad-address", format!("{name}: {address:#x} is taken for host memory and is in {}", found.label()))
        }
        Place::Inside(_) => return Ok(true),
        Place::Beyond(found) => {
            ("out-of-bounds", format!("{name}: {length} bytes at {address:#x} end behind {}", found.label()))
        }
        Place::Freed(label) => ("use-after-free", format!("{name}: {address:#x} is in {label}, which has been freed")),
        Place::Unknown if side == Side::Device => {
            ("bad-address", format!("{name}: {address:#x} is in no allocation of device or pinned memory"))
        }
        Place::Unknown => return Ok(false),
    };
    state.violations.add(kind, text);
    Err(INVALID_VALUE)
}

/// A 64-bit sum of the bytes at `address` that any likely change alters.
fn sum(address: u64, length: usize) -> u64 {
    // SAFETY: callers have checked that the range lies in one allocation, which stays until the work on it is done.
    let bytes = unsafe { slice::from_raw_parts(address as *const u8, length) };
    let (words, rest) = bytes.as_chunks::<8>();
    let mix = |sum: u64, word: u64| (sum.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let sum = words.iter().fold(0, |sum, word| mix(sum, u64::from_ne_bytes(*word)));
    rest.iter().fold(sum, |sum, &byte| mix(sum, byte.into()))
}

struct Transfer {
    to: (u64, Side),
    from: (u64, Side),
    length: usize,
    stream: u64,
}

/// Enqueues a copy: its ticket, and whether host memory that is not pinned has a part in it.
fn enqueue(driver: &mut Driver, call: &Call, transfer: &Transfer) -> Result<Option<(Ticket, bool)>, Code> {
    let stream = stream::find(driver, call, transfer.stream)?;
    let Transfer { to: (to, to_side), from: (from, from_side), length, .. } = *transfer;
    if length == 0 {
        return Ok(None);
    }
    let to_tracked = check(driver, call, to, length, to_side)?;
    let from_tracked = check(driver, call, from, length, from_side)?;
    let pinned = matches!(driver.memory.find(from, 1), Place::Inside(found) if found.kind != Kind::Device);
    let copy = Copy {
        to,
        from: if from_tracked { Source::Memory(from) } else { Source::Bytes(bytes_at(from, length)) },
        length,
        sum: pinned.then(|| sum(from, length)),
    };
    let ticket = queue::enqueue(driver, call, stream, Work::Copy(copy), Vec::new());
    Ok(Some((ticket, !(to_tracked && from_tracked))))
}

fn asynchronous(name: &'static str, transfer: &Transfer) -> Code {
    call(name, Needs::Context, |driver, call| {
        let Some((ticket, pageable)) = enqueue(driver, call, transfer)? else { return Ok(()) };
        if pageable {
            driver.pageable_copies += 1;
            // Into memory that is not pinned the call returns when the copy is done; out of it, the bytes are taken.
            if !matches!(driver.memory.find(transfer.to.0, 1), Place::Inside(_)) {
                return queue::wait_for(driver, call.context, &[ticket]);
            }
        }
        Ok(())
    })
}

fn synchronous(name: &'static str, transfer: &Transfer) -> Code {
    call(name, Needs::Context, |driver, call| match enqueue(driver, call, transfer)? {
        // Between two places on the device the host does not wait.
        Some(_) if transfer.to.1 == Side::Device && transfer.from.1 == Side::Device => Ok(()),
        Some((ticket, _)) => queue::wait_for(driver, call.context, &[ticket]),
        None => Ok(()),
    })
}

macro_rules! copies {
    ($($name:ident, $how:ident, $to:ident, $from:ident $(, $stream:ident)?;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(to: u64, from: u64, length: usize $(, $stream: u64)?) -> Code {
            #[allow(unused_mut, unused_assignments, reason = "only the asynchronous ones are given a stream")]
            let mut on = 0;
            $(on = $stream;)?
            $how(stringify!($name), &Transfer { to: (to, Side::$to), from: (from, Side::$from), length, stream: on })
        }
    )*};
}

copies! {
    cuMemcpyHtoD_v2, synchronous, Device, Host;
    cuMemcpyDtoH_v2, synchronous, Host, Device;
    cuMemcpyDtoD_v2, synchronous, Device, Device;
    cuMemcpy, synchronous, Either, Either;
    cuMemcpyHtoDAsync_v2, asynchronous, Device, Host, stream;
    cuMemcpyDtoHAsync_v2, asynchronous, Host, Device, stream;
    cuMemcpyDtoDAsync_v2, asynchronous, Device, Device, stream;
    cuMemcpyAsync, asynchronous, Either, Either, stream;
}

fn fill(driver: &mut Driver, call: &Call, to: u64, value: c_uchar, length: usize, stream: u64) -> Answer {
    let stream = stream::find(driver, call, stream)?;
    if length > 0 {
        check(driver, call, to, length, Side::Device)?;
        let copy = Copy { to, from: Source::Byte(value), length, sum: None };
        queue::enqueue(driver, call, stream, Work::Copy(copy), Vec::new());
    }
    Ok(())
}

/// Does not wait, as the real one does not for device memory.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8_v2(to: u64, value: c_uchar, length: usize) -> Code {
    call("cuMemsetD8_v2", Needs::Context, |driver, call| fill(driver, call, to, value, length, 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8Async(to: u64, value: c_uchar, length: usize, stream: u64) -> Code {
    call("cuMemsetD8Async", Needs::Context, |driver, call| fill(driver, call, to, value, length, stream))
}

/// Does the work on the stream's thread.
pub fn execute(driver: &mut Driver, by: &Access, clock: &Clock, copy: &Copy) {
    let length = copy.length as u64;
    if let Source::Memory(from) = copy.from {
        memory::touch(driver, slice::from_ref(&(from..from + length)), Mode::Read, 1, by, clock);
    }
    memory::touch(driver, slice::from_ref(&(copy.to..copy.to + length)), Mode::Write, 1, by, clock);
    let changed = driver.unlocked(|| {
        let to = copy.to as *mut u8;
        match &copy.from {
            // SAFETY: both ranges were checked when the copy was enqueued, and memory stays until its work is done; the
            // ranges may overlap. Where the program lets others write at the same time, that is reported as a race.
            Source::Memory(from) => unsafe { std::ptr::copy(*from as *const u8, to, copy.length) },
            // SAFETY: as above; the bytes are our own.
            Source::Bytes(bytes) => unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, copy.length) },
            // SAFETY: as above.
            Source::Byte(byte) => unsafe { std::ptr::write_bytes(to, *byte, copy.length) },
        }
        match copy.from {
            Source::Memory(from) => copy.sum.is_some_and(|before| sum(from, copy.length) != before),
            _ => false,
        }
    });
    if changed {
        let text = format!("{}: its pinned source changed before the copy was done", by.what);
        driver.violations.add("source-changed", text);
    }
}
