//! The report: what is there, what was called, what was wrong -> JSON.

use std::fmt::Write;
use std::sync::Once;

use crate::memory::Kind;
use crate::state::{Driver, State, forked};
use crate::stream::Role;

/// The report as one JSON object; `soft_cuda.h` describes its members.
pub fn json(state: &State) -> String {
    let mut text = String::from("{");
    let streams = state.streams.iter().filter(|(_, stream)| matches!(stream.role, Role::Blocking | Role::NonBlocking));
    let contexts = state.contexts.iter().filter(|(_, context)| context.alive).count();
    for (name, value) in [
        ("violation_count", state.violations.total),
        ("contexts", contexts as u64),
        ("retained", state.devices.iter().map(|device| device.retained).sum()),
        ("streams", streams.filter(|(_, stream)| !stream.destroyed).count() as u64),
        ("events", state.events.iter().count() as u64),
        ("modules", state.modules.iter().count() as u64),
        ("device_allocations", state.memory.allocations().filter(|found| found.kind == Kind::Device).count() as u64),
        ("device_bytes", state.memory.used.values().sum()),
        ("device_bytes_peak", state.memory.peak),
        ("pinned_allocations", state.memory.allocations().filter(|found| found.kind == Kind::Pinned).count() as u64),
        ("pinned_bytes", state.memory.pinned()),
        ("pinned_bytes_peak", state.memory.peak_pinned),
        ("registered", state.memory.allocations().filter(|found| found.kind == Kind::Registered).count() as u64),
        ("items", state.issued),
        ("pageable_copies", state.pageable_copies),
    ] {
        let _ = write!(text, "\"{name}\": {value}, ");
    }
    let allocations = state.memory.allocations().map(|found| quoted(&found.label()));
    let calls = state.calls.iter().map(|(name, count)| format!("\"{name}\": {count}"));
    let violations = state.violations.list.iter().map(|violation| {
        let (kind, text) = (quoted(violation.kind), quoted(&violation.text));
        format!("{{\"kind\": {kind}, \"text\": {text}, \"count\": {}}}", violation.count)
    });
    let _ = write!(text, "\"allocations\": [{}], ", joined(allocations));
    let _ = write!(text, "\"calls\": {{{}}}, ", joined(calls));
    let _ = write!(text, "\"violations\": [{}]}}", joined(violations));
    text
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            control if control < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Sees to it that the report is left where `report` says when the process exits.
pub fn leave_at_exit() {
    static ONCE: Once = Once::new();
    // SAFETY: registers a function that stays: the library is never unloaded.
    ONCE.call_once(|| unsafe {
        libc::atexit(leave);
    });
}

extern "C" fn leave() {
    // A fork that exits has nothing to say.
    if forked() {
        return;
    }
    let driver = Driver::lock();
    let path = &driver.config.report;
    if path.is_empty() {
        return;
    }
    if let Err(error) = std::fs::write(path, json(&driver)) {
        eprintln!("soft-cuda: {path}: {error}");
    }
}
