//! `damacy_inspection`: what is at a URI, as JSON text that the object lends.

use crate::foreign::{Slot, Text};
use crate::guard;
use crate::handles::{Handle, Table};
use crate::last::c_string;
use host::{Error, Status};
use std::ffi::{CString, c_char};

static INSPECTIONS: Table<Inspection> = Table::new("inspection");

/// An answer as C sees it.
pub struct Inspection(CString);

#[unsafe(no_mangle)]
extern "C" fn damacy_inspect(uri: Text, inspection: Slot<Handle<Inspection>>) -> i32 {
    guard::call(|| {
        inspection.put(Handle::NULL, "inspection")?;
        let found = host::inspect(uri.get("uri")?)?;
        let json = serde_json::to_string(&found)
            .map_err(|error| Error::new(Status::Internal, "open", "the answer is no JSON").with_source(error))?;
        inspection.put(INSPECTIONS.insert(Inspection(c_string(&json))), "inspection")
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_inspection_json(inspection: Handle<Inspection>, json: Slot<*const c_char>) -> i32 {
    guard::call(|| json.put(INSPECTIONS.get(inspection)?.0.as_ptr(), "json"))
}

#[unsafe(no_mangle)]
extern "C" fn damacy_inspection_destroy(inspection: Handle<Inspection>) -> i32 {
    guard::call(|| {
        if !inspection.is_null() {
            drop(INSPECTIONS.release(inspection)?);
        }
        Ok(())
    })
}
