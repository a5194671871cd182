//! The way into the driver: every exported call passes here -> counted, failed where a test says so, checked for
//! initialisation, context and sticky errors, and kept from unwinding into C.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::capture;
use crate::codes::{
    self, CONTEXT_IS_DESTROYED, Code, INVALID_CONTEXT, NOT_INITIALIZED, NOT_PERMITTED, SUCCESS, UNKNOWN,
};
use crate::current;
use crate::failures::Manner;
use crate::handles::{Missing, Table};
use crate::state::{Driver, State, forked};

pub type Answer = Result<(), Code>;

/// What a call needs before it can do anything.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// `cuInit`.
    Init,
    /// A current context without a sticky error.
    Context,
    /// A current context. Where that has a sticky error the call still releases what it names, and returns the error.
    Release,
}

/// One call on its way.
pub struct Call {
    pub name: &'static str,
    /// The current context, where the call needs one.
    pub context: u64,
    /// The work that this call enqueues fails with this code when it executes.
    pub fail_later: Option<Code>,
    /// The context has a sticky error: release what the call names, check nothing.
    pub poisoned: bool,
}

thread_local! {
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// Runs a host function of a stream: it may not call the driver.
pub fn host_function(run: impl FnOnce()) {
    IN_HOST_FUNCTION.set(true);
    run();
    IN_HOST_FUNCTION.set(false);
}

/// Runs the body of the exported call `name`.
pub fn call(name: &'static str, needs: Needs, body: impl FnOnce(&mut Driver, &Call) -> Answer) -> Code {
    if forked() {
        eprintln!("soft-cuda: {name}: a fork of a process that has called cuInit cannot use the driver");
        return NOT_INITIALIZED;
    }
    let run = || {
        let mut driver = Driver::lock();
        enter(&mut driver, name, needs).and_then(|call| {
            body(&mut driver, &call)?;
            // A release of something in a broken context is done, but not well.
            if call.poisoned { Err(driver.poison(call.context).unwrap_or(UNKNOWN)) } else { Ok(()) }
        })
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => SUCCESS,
        Ok(Err(code)) => code,
        Err(_) => {
            Driver::lock().violations.add("internal", format!("{name} panicked inside the soft driver"));
            UNKNOWN
        }
    }
}

fn enter(driver: &mut Driver, name: &'static str, needs: Needs) -> Result<Call, Code> {
    if IN_HOST_FUNCTION.get() {
        driver.violations.add("call-in-host-function", format!("{name} was called from a stream's host function"));
        return Err(NOT_PERMITTED);
    }
    *driver.calls.entry(name).or_default() += 1;
    let mut call = Call { name, context: 0, fail_later: None, poisoned: false };
    if !driver.ready && needs != Needs::Nothing {
        return Err(NOT_INITIALIZED);
    }
    let met = driver.failures.met_by(name);
    if matches!(needs, Needs::Context | Needs::Release) {
        call.context = current_context(driver, name)?;
    }
    if call.context != 0 {
        capture::check_mode(driver, name)?;
    }
    if let Some((code, manner)) = met {
        inject(driver, &mut call, code, manner)?;
    }
    match driver.poison(call.context) {
        Some(code) if needs == Needs::Context => Err(code),
        poison => {
            call.poisoned = poison.is_some();
            Ok(call)
        }
    }
}

/// The current context, alive.
fn current_context(driver: &mut State, name: &str) -> Result<u64, Code> {
    let Some(context) = current::top() else {
        driver.violations.add("no-context", format!("{name}: this thread has no current context"));
        return Err(INVALID_CONTEXT);
    };
    if driver.contexts.get(context).is_some_and(|found| found.alive) {
        return Ok(context);
    }
    let number = driver.contexts.number(context);
    driver
        .violations
        .add("context-destroyed", format!("{name}: the thread's current context {number} has been released"));
    Err(CONTEXT_IS_DESTROYED)
}

fn inject(driver: &mut Driver, call: &mut Call, code: Code, manner: Manner) -> Result<(), Code> {
    match manner {
        Manner::Once => return Err(code),
        Manner::Async => {
            call.fail_later = Some(code);
            return Ok(());
        }
        Manner::Sticky => driver.poison_context(call.context, code),
        Manner::Lost => {
            let device = driver.contexts.get(call.context).map(|context| context.device);
            for (index, found) in driver.devices.iter_mut().enumerate() {
                if device.is_none_or(|device| device == index) {
                    found.lost = Some(code);
                }
            }
        }
    }
    driver.changed();
    // A release still gives back what it names, so that a test sees what was never given back.
    if call.context == 0 { Err(code) } else { Ok(()) }
}

/// Why `handle` has no object, as a violation and a code.
pub fn missing<T>(table: &Table<T>, handle: u64, name: &str) -> (&'static str, String) {
    let kind = table.kind().name();
    match table.why_missing(handle) {
        Missing::Destroyed => {
            ("use-after-destroy", format!("{name}: {kind} {} has been destroyed", table.number(handle)))
        }
        Missing::NeverIssued => ("bogus-handle", format!("{name}: {handle:#x} is no {kind}")),
    }
}

/// A wrong handle: the violation, and the code for the caller.
pub fn refuse(state: &mut State, (kind, text): (&'static str, String), code: Code) -> Code {
    state.violations.add(kind, format!("{text}: {}", codes::name(code)));
    code
}
