//! `damacy_facts`: what parsing a document gave, for later jobs.

use crate::foreign::Out;
use crate::guard;
use crate::handles::{Handle, Table};
use crate::plan::{array_info, data_type};
use crate::structs::ArrayInfo;
use damacy_core::metadata::ArrayMetadata;
use host::Result;
use std::ffi::CString;
use std::sync::Arc;

static FACTS: Table<Facts> = Table::new("facts");

/// An array's facts as C sees them.
pub struct Facts {
    pub metadata: ArrayMetadata,
    data_type: CString,
}

/// A handle of new facts.
pub fn insert(metadata: ArrayMetadata) -> Handle<Facts> {
    FACTS.insert(Facts { data_type: data_type(&metadata), metadata })
}

/// The facts of a handle.
pub fn get(facts: Handle<Facts>) -> Result<Arc<Facts>> {
    FACTS.get(facts)
}

#[unsafe(no_mangle)]
extern "C" fn damacy_facts_info_get(facts: Handle<Facts>, info: Out<ArrayInfo>) -> i32 {
    guard::call(|| {
        let info = info.check("info")?;
        let facts = FACTS.get(facts)?;
        info.fill(array_info(&facts.metadata, &facts.data_type));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_facts_destroy(facts: Handle<Facts>) -> i32 {
    guard::call(|| {
        if !facts.is_null() {
            drop(FACTS.release(facts)?);
        }
        Ok(())
    })
}
