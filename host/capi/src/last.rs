//! The calling thread's last failure, and the text that a sample source gives its own.

use crate::foreign::{Out, Text};
use crate::guard;
use crate::structs::ErrorInfo;
use host::Error;
use std::cell::RefCell;
use std::ffi::{CString, c_char};

struct Last {
    status: i32,
    starved: bool,
    message: CString,
    stage: CString,
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
    /// For the failure that this thread's sample source is about to return.
    static SOURCE_TEXT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps an error as this thread's last. (A thread that is ending has none.)
pub fn set(error: &Error) {
    let last = Last {
        status: error.status() as i32,
        starved: error.is_starved(),
        message: c_string(&error.message_with_causes(|_| true)),
        stage: c_string(error.what()),
    };
    let _ = LAST.try_with(|slot| slot.replace(Some(last)));
}

/// The text without NULs inside.
pub fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "\\0")).unwrap_or_default()
}

/// Takes the text that `damacy_set_error` left on this thread.
pub fn take_source_text() -> Option<String> {
    SOURCE_TEXT.try_with(|text| text.take()).ok().flatten()
}

#[unsafe(no_mangle)]
extern "C" fn damacy_last_error() -> *const c_char {
    let message = LAST.try_with(|last| last.borrow().as_ref().map(|last| last.message.as_ptr()));
    message.ok().flatten().unwrap_or(c"".as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn damacy_last_error_info(info: Out<ErrorInfo>) -> i32 {
    guard::call(|| {
        let info = info.check("info")?;
        let nothing = ErrorInfo { struct_size: 0, message: c"".as_ptr(), stage: c"".as_ptr(), status: 0, starved: 0 };
        let filled = LAST.try_with(|last| {
            last.borrow().as_ref().map(|last| ErrorInfo {
                message: last.message.as_ptr(),
                stage: last.stage.as_ptr(),
                status: last.status,
                starved: i32::from(last.starved),
                ..nothing
            })
        });
        info.fill(filled.ok().flatten().unwrap_or(nothing));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_set_error(message: Text) -> i32 {
    guard::call(|| {
        let message = message.get_if_any("message")?.map(str::to_owned);
        let _ = SOURCE_TEXT.try_with(|text| text.replace(message));
        Ok(())
    })
}

/// What `damacy_last_error` points to.
#[cfg(test)]
pub fn message_of_this_thread() -> String {
    LAST.with_borrow(|last| last.as_ref().map_or_else(String::new, |last| last.message.to_str().unwrap().to_owned()))
}
