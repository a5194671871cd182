//! Checks that go on after a fault: a JSON tree -> values, and a list of everything that is wrong with it, each with its
//! place and what is accepted there.

use crate::failure::Failure;
use damacy_bench::json::Json;
use std::fmt;

/// Faults that are told; more are counted.
const MAX_TOLD: usize = 50;

/// Where a value is; written only if something is wrong with it.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    parent: Option<&'a Place<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl<'a> Place<'a> {
    /// The whole document.
    pub const ROOT: Place<'static> = Place { parent: None, step: Step::Root };

    /// A member of this place.
    pub fn key(&'a self, key: &'a str) -> Place<'a> {
        Place { parent: Some(self), step: Step::Key(key) }
    }

    /// An entry of this place.
    pub fn index(&'a self, index: usize) -> Place<'a> {
        Place { parent: Some(self), step: Step::Index(index) }
    }
}

/// `/arrays/0/uri`; the whole document is `/`.
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent.filter(|parent| parent.parent.is_some()) {
            write!(f, "{parent}")?;
        }
        match self.step {
            Step::Root => f.write_str("/"),
            Step::Key(key) => write!(f, "/{}", key.replace('~', "~0").replace('/', "~1")),
            Step::Index(index) => write!(f, "/{index}"),
        }
    }
}

/// Everything that is wrong so far.
#[derive(Default)]
pub struct Problems {
    told: Vec<String>,
    more: usize,
}

impl Problems {
    /// Adds a fault.
    pub fn add(&mut self, place: &Place<'_>, message: impl fmt::Display) {
        if self.told.len() < MAX_TOLD {
            self.told.push(format!("{place}: {message}"));
        } else {
            self.more += 1;
        }
    }

    /// Adds that a value is not what is accepted.
    pub fn refuse(&mut self, place: &Place<'_>, given: &Json, accepted: impl fmt::Display) {
        self.add(place, format_args!("{} was given; accepted is {accepted}", given.describe()));
    }

    /// One error of all faults, if there are any.
    pub fn finish(self) -> Result<(), Failure> {
        let faults = self.told.len() + self.more;
        if faults == 0 {
            return Ok(());
        }
        let head = format!("the job has {faults} fault{}", if faults == 1 { "" } else { "s" });
        let mut faults = self.told;
        if self.more > 0 {
            faults.push(format!("and {} more", self.more));
        }
        Err(Failure::Faults { status: damacy::Status::Inval, head, faults })
    }

    /// The members of an object that has no others than these, each once; `None` for what is no object.
    pub fn object<'a>(&mut self, place: &Place<'_>, json: &'a Json, accepted: &[&str]) -> Option<Members<'a>> {
        let Json::Object(members) = json else {
            self.refuse(place, json, format_args!("an object with {}", accepted.join(", ")));
            return None;
        };
        // By accepted key, so that a million repeated keys take no longer than a million others.
        let mut seen = vec![false; accepted.len()];
        for (key, _) in members {
            match accepted.iter().position(|accepted| accepted == key) {
                None => {
                    let shown: String = key.chars().take(60).collect();
                    self.add(&place.key(&shown), format_args!("unknown; accepted are {}", accepted.join(", ")));
                }
                Some(index) if seen[index] => self.add(&place.key(key), "given twice; accepted is each key once"),
                Some(index) => seen[index] = true,
            }
        }
        Some(Members(members))
    }

    /// The entries of a list; none for what is no list.
    pub fn list<'a>(&mut self, place: &Place<'_>, json: &'a Json, accepted: &str) -> &'a [Json] {
        match json {
            Json::List(entries) => entries,
            _ => {
                self.refuse(place, json, accepted);
                &[]
            }
        }
    }

    /// A whole number from `least` on; 0 for anything else.
    pub fn integer(&mut self, place: &Place<'_>, json: &Json, least: u64) -> u64 {
        let number = match json {
            Json::Number(number) => number.as_u64().filter(|&number| number >= least),
            _ => None,
        };
        number.unwrap_or_else(|| {
            self.refuse(place, json, format_args!("a whole number from {least} to 2^64 - 1"));
            0
        })
    }

    /// A list of whole numbers.
    pub fn integers(&mut self, place: &Place<'_>, json: &Json, least: u64, accepted: &str) -> Vec<u64> {
        let entries = self.list(place, json, accepted);
        entries.iter().enumerate().map(|(index, entry)| self.integer(&place.index(index), entry, least)).collect()
    }

    /// What a text or a number means, by a reader of values as users write them.
    pub fn value<T>(
        &mut self,
        place: &Place<'_>,
        json: &Json,
        accepted: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = match json {
            Json::Text(text) => text.clone(),
            Json::Number(number) => number.to_string(),
            _ => {
                self.refuse(place, json, accepted);
                return None;
            }
        };
        match read(&text) {
            Ok(value) => Some(value),
            Err(message) => {
                self.add(place, message);
                None
            }
        }
    }
}

/// The members of an object.
#[derive(Clone, Copy)]
pub struct Members<'a>(pub &'a [(String, Json)]);

impl<'a> Members<'a> {
    /// A member, unless it is missing or null.
    pub fn get(&self, key: &str) -> Option<&'a Json> {
        self.0.iter().find(|(name, value)| name == key && *value != Json::Null).map(|(_, value)| value)
    }
}
