//! `soft_cuda_...`: what tests set and ask. `soft_cuda.h` is the description.

use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::abi::{In, put_text};
use crate::context;
use crate::hold::Uploads;
use crate::memory::{self, Place};
use crate::queue;
use crate::shadow::Mode;
use crate::state::{Driver, State};

/// 0, or -1 with the reason on standard error.
fn control(body: impl FnOnce(&mut Driver) -> Result<(), String>) -> c_int {
    match catch_unwind(AssertUnwindSafe(|| body(&mut Driver::lock()))) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => {
            eprintln!("soft-cuda: {error}");
            -1
        }
        Err(_) => -1,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn soft_cuda_set(name: In<c_char>, value: In<c_char>) -> c_int {
    control(|driver| {
        let text = |text: &In<c_char>| text.text().map(str::to_owned).map_err(|_| "null is no setting".to_owned());
        let (name, value) = (text(&name)?, text(&value)?);
        let fixed = driver.ready;
        driver.config.set(&name, &value, fixed)?;
        driver.violations.manner = driver.config.manner();
        if name == "fail" { driver.failures.add(&value) } else { Ok(()) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn soft_cuda_fail(rules: In<c_char>) -> c_int {
    control(|driver| driver.failures.add(rules.text().map_err(|_| "null is no rule".to_owned())?))
}

#[unsafe(no_mangle)]
pub extern "C" fn soft_cuda_clear_failures() -> c_int {
    control(|driver| {
        driver.failures.clear();
        for device in &mut driver.devices {
            device.lost = None;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn soft_cuda_violations() -> u64 {
    Driver::lock().violations.total
}

#[unsafe(no_mangle)]
pub extern "C" fn soft_cuda_clear_violations() -> c_int {
    control(|driver| {
        driver.violations.clear();
        Ok(())
    })
}

/// Writes the report and a zero, cut to `size`; gives the bytes that the whole needs, the zero included.
#[unsafe(no_mangle)]
pub extern "C" fn soft_cuda_report(buffer: *mut c_char, size: usize) -> usize {
    let text = crate::report::json(&Driver::lock());
    // Without a buffer the caller asks for the length only.
    let _ = put_text(buffer, size, &text);
    text.len() + 1
}

fn host_touch(address: u64, length: usize, mode: Mode, name: &str) -> c_int {
    control(|driver| {
        let end = address.checked_add(length as u64).ok_or("a range past the end of memory")?;
        let wrong = match driver.memory.find(address, length as u64) {
            Place::Inside(_) => None,
            Place::Beyond(found) => {
                Some(("out-of-bounds", format!("{name}: {length} bytes end behind {}", found.label())))
            }
            Place::Freed(label) => Some(("use-after-free", format!("{name}: {label} has been freed"))),
            Place::Unknown => Some(("bad-address", format!("{name}: {address:#x} is in no allocation"))),
        };
        if let Some((kind, text)) = wrong {
            driver.violations.add(kind, text);
            return Ok(());
        }
        let state: &mut State = driver;
        let (by, clock) = state.host_access(&format!("{name} (the host)"));
        let range = address..end;
        memory::touch(state, std::slice::from_ref(&range), mode, 1, &by, &clock);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn soft_cuda_host_read(address: u64, length: usize) -> c_int {
    host_touch(address, length, Mode::Read, "soft_cuda_host_read")
}

#[unsafe(no_mangle)]
pub extern "C" fn soft_cuda_host_write(address: u64, length: usize) -> c_int {
    host_touch(address, length, Mode::Write, "soft_cuda_host_write")
}

/// Ends all contexts, as a process does, and starts anew with the same settings.
#[unsafe(no_mangle)]
pub extern "C" fn soft_cuda_reset() -> c_int {
    control(|driver| {
        for handle in driver.contexts.handles(|context| context.alive) {
            context::end(driver, handle, "soft_cuda_reset");
        }
        driver.failures.clear();
        driver.violations.clear();
        driver.calls.clear();
        driver.devices.clear();
        driver.ready = false;
        driver.pageable_copies = 0;
        driver.issued = 0;
        driver.uploads = Uploads::default();
        driver.memory.peak = 0;
        driver.memory.peak_pinned = 0;
        Ok(())
    })
}

/// Waits until every stream has executed what it has, without the program learning of it.
#[unsafe(no_mangle)]
pub extern "C" fn soft_cuda_drain() -> c_int {
    control(|driver| {
        let streams = driver.streams.handles(|_| true);
        queue::drain(driver, &streams);
        Ok(())
    })
}
