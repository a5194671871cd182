//! A value of each process: a child made by fork has one of its own from the start, and neither locks nor drops what its
//! parent's threads held at that moment.

use std::process;
use std::sync::OnceLock;

/// One value for each process.
pub struct PerProcess<T>(OnceLock<Own<T>>);

/// The value of one process, and that of the child that it became.
struct Own<T> {
    id: u32,
    value: T,
    child: OnceLock<Box<Own<T>>>,
}

impl<T: Default> Own<T> {
    fn new(id: u32) -> Own<T> {
        Own { id, value: T::default(), child: OnceLock::new() }
    }
}

impl<T: Default> PerProcess<T> {
    /// Values are made when they are needed.
    pub const fn new() -> PerProcess<T> {
        PerProcess(OnceLock::new())
    }

    /// This process's.
    pub fn get(&self) -> &T {
        let id = process::id();
        let mut own = self.0.get_or_init(|| Own::new(id));
        while own.id != id {
            own = own.child.get_or_init(|| Box::new(Own::new(id)));
        }
        &own.value
    }
}
