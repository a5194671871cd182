//! Opaque handles: objects -> numbers that look like pointers and are never followed, so that no handle can crash us.

use std::collections::HashMap;

/// What a handle stands for; part of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Context = 1,
    Stream = 2,
    Event = 3,
    Module = 4,
    Function = 5,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Context => "context",
            Kind::Stream => "stream",
            Kind::Event => "event",
            Kind::Module => "module",
            Kind::Function => "function",
        }
    }

    fn base(self) -> u64 {
        0x5cda_0000_0000_u64 + ((self as u64) << 28)
    }
}

/// Why a handle has no object.
pub enum Missing {
    /// It was handed out and its object is gone.
    Destroyed,
    /// It was never handed out.
    NeverIssued,
}

/// The objects of one kind.
pub struct Table<T> {
    kind: Kind,
    issued: u64,
    live: HashMap<u64, T>,
}

impl<T> Table<T> {
    pub fn new(kind: Kind) -> Self {
        Self { kind, issued: 0, live: HashMap::new() }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Numbers count from 1 for the texts; numbers are never used again.
    pub fn insert(&mut self, object: T) -> u64 {
        self.issued += 1;
        let handle = self.kind.base() + self.issued * 16;
        self.live.insert(handle, object);
        handle
    }

    pub fn number(&self, handle: u64) -> u64 {
        handle.wrapping_sub(self.kind.base()) / 16
    }

    pub fn get(&self, handle: u64) -> Option<&T> {
        self.live.get(&handle)
    }

    pub fn get_mut(&mut self, handle: u64) -> Option<&mut T> {
        self.live.get_mut(&handle)
    }

    pub fn remove(&mut self, handle: u64) -> Option<T> {
        self.live.remove(&handle)
    }

    pub fn why_missing(&self, handle: u64) -> Missing {
        let offset = handle.wrapping_sub(self.kind.base());
        if offset.is_multiple_of(16) && (16..=self.issued * 16).contains(&offset) {
            Missing::Destroyed
        } else {
            Missing::NeverIssued
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.live.iter().map(|(handle, object)| (*handle, object))
    }

    /// The handles of the objects that `wanted` picks, oldest first.
    pub fn handles(&self, wanted: impl Fn(&T) -> bool) -> Vec<u64> {
        let mut handles: Vec<u64> =
            self.iter().filter(|(_, object)| wanted(object)).map(|(handle, _)| handle).collect();
        handles.sort_unstable();
        handles
    }
}
