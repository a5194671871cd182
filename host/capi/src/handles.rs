//! Objects of C callers: numbers that look like pointers -> what they stand for, or `Inval`.
//!
//! A table holds each object and the number of its owners. Handles are never followed and never used twice, so one that is
//! stale, released too often or invented is refused. A lookup takes a lock for an instant; objects are dropped outside of it.
//! A child made by fork starts with an empty table: it neither locks nor drops what its parent made.

use crate::foreign::inval;
use crate::process::PerProcess;
use host::Result;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A `damacy_x *`.
#[repr(transparent)]
pub struct Handle<T>(usize, PhantomData<fn() -> T>);

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> Handle<T> {
    /// NULL.
    pub const NULL: Handle<T> = Handle(0, PhantomData);

    /// True for NULL.
    pub fn is_null(self) -> bool {
        self.0 == 0
    }
}

/// The objects of one type.
pub struct Table<T> {
    /// What an object is called in messages.
    what: &'static str,
    objects: PerProcess<Objects<T>>,
}

/// By their handles' numbers.
struct Objects<T>(Mutex<HashMap<usize, Object<T>>>);

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Objects(Mutex::default())
    }
}

struct Object<T> {
    value: Arc<T>,
    owners: u64,
}

/// The next handle's number, over all tables: no address of anything.
static NEXT: AtomicUsize = AtomicUsize::new(FIRST);
const FIRST: usize = 0x1000;
const STEP: usize = 0x10;

impl<T> Table<T> {
    /// An empty table of objects that messages call `what`.
    pub const fn new(what: &'static str) -> Table<T> {
        Table { what, objects: PerProcess::new() }
    }

    fn objects(&self) -> MutexGuard<'_, HashMap<usize, Object<T>>> {
        self.objects.get().0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A handle of a new object, with one owner.
    pub fn insert(&self, value: T) -> Handle<T> {
        let number = NEXT.fetch_add(STEP, Ordering::Relaxed);
        self.objects().insert(number, Object { value: Arc::new(value), owners: 1 });
        Handle(number, PhantomData)
    }

    /// The object.
    pub fn get(&self, handle: Handle<T>) -> Result<Arc<T>> {
        let objects = self.objects();
        let object = objects.get(&handle.0).ok_or_else(|| self.unknown(handle))?;
        Ok(Arc::clone(&object.value))
    }

    /// Counts one more owner.
    pub fn retain(&self, handle: Handle<T>) -> Result<()> {
        let mut objects = self.objects();
        let object = objects.get_mut(&handle.0).ok_or_else(|| self.unknown(handle))?;
        object.owners += 1;
        Ok(())
    }

    /// Counts one owner less. The object, if that was the last one.
    pub fn release(&self, handle: Handle<T>) -> Result<Option<Arc<T>>> {
        let mut objects = self.objects();
        let object = objects.get_mut(&handle.0).ok_or_else(|| self.unknown(handle))?;
        object.owners -= 1;
        let last = object.owners == 0;
        Ok(if last { objects.remove(&handle.0).map(|object| object.value) } else { None })
    }

    fn unknown(&self, handle: Handle<T>) -> host::Error {
        let (what, number) = (self.what, handle.0);
        inval(match number {
            0 => format!("the {what} is NULL"),
            _ => format!(
                "{number:#x} is no {what}: it was freed, or comes from somewhere else (also from the parent of a forked process)"
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_counted_and_what_is_gone_is_refused() {
        let table = Table::new("thing");
        let handle = table.insert(7);
        table.retain(handle).unwrap();
        assert!(table.release(handle).unwrap().is_none());
        assert_eq!(*table.get(handle).unwrap(), 7);
        assert_eq!(table.release(handle).unwrap().as_deref(), Some(&7));
        for refused in [table.get(handle).map(drop), table.retain(handle), table.release(handle).map(drop)] {
            let error = refused.unwrap_err();
            assert_eq!(error.status(), host::Status::Inval);
            assert!(error.message().contains("is no thing"), "{error}");
        }
        assert!(table.get(Handle::NULL).unwrap_err().message().contains("is NULL"));
        assert_ne!(table.insert(8).0, handle.0);
    }

    #[test]
    fn a_handle_of_one_table_is_none_of_another() {
        let (things, others) = (Table::new("thing"), Table::<u8>::new("other"));
        let thing = things.insert(1_u8);
        assert!(others.get(thing).is_err());
    }
}
