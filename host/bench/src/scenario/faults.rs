//! Everything that is wrong with a scenario: faults with their places -> one error that tells them all.

use crate::failure::{Failure, Result};
use damacy::Status;

/// Faults that are told; more are counted.
const MAX_TOLD: usize = 50;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where: `/sampling/crop/0`.
    pub place: String,
    /// What was given and what is accepted.
    pub message: String,
    /// How it is reported where all faults share it.
    pub status: Status,
}

/// Everything that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// In the order in which they were found.
    pub list: Vec<Fault>,
}

impl Faults {
    /// Adds a fault.
    pub fn add(&mut self, place: &str, message: String) {
        self.with_status(place, message, Status::Inval);
    }

    /// Adds a fault of another status.
    pub fn with_status(&mut self, place: &str, message: String, status: Status) {
        let place = if place.is_empty() { "/" } else { place };
        self.list.push(Fault { place: place.to_owned(), message, status });
    }

    /// True if nothing is wrong at any of these places, inside them or around them.
    pub(crate) fn fine(&self, places: &[&str]) -> bool {
        let inside = |outer: &str, inner: &str| {
            outer == "/" || inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        !self.list.iter().any(|fault| places.iter().any(|p| inside(p, &fault.place) || inside(&fault.place, p)))
    }

    /// One error of all faults, if there are any.
    ///
    /// # Errors
    /// All faults.
    pub fn finish(self, what: &str) -> Result<()> {
        let count = self.list.len();
        let Some(first) = self.list.first() else { return Ok(()) };
        let same = self.list.iter().all(|fault| fault.status == first.status);
        let status = if same { first.status } else { Status::Inval };
        let head = format!("{what} has {count} fault{}", if count == 1 { "" } else { "s" });
        let mut faults: Vec<String> =
            self.list.iter().take(MAX_TOLD).map(|fault| format!("{}: {}", fault.place, fault.message)).collect();
        if count > MAX_TOLD {
            faults.push(format!("and {} more", count - MAX_TOLD));
        }
        Err(Failure::Faults { status, head, faults })
    }
}

/// The name that was meant, if one is like what was given.
pub(super) fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    let given = given.to_lowercase();
    let best = known.iter().copied().min_by_key(|name| distance(&given, name))?;
    (distance(&given, best) <= (best.len() / 3).max(1)).then_some(best)
}

/// Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_suggested_only_if_it_is_near() {
        let known = ["shape", "chunks", "shards", "entropy"];
        assert_eq!(nearest("chunk", &known), Some("chunks"));
        assert_eq!(nearest("Shape", &known), Some("shape"));
        assert_eq!(nearest("entropie", &known), Some("entropy"));
        assert_eq!(nearest("colour", &known), None);
        assert_eq!(nearest("", &known), None);
    }

    #[test]
    fn a_fault_covers_what_is_inside_and_around_it() {
        let mut faults = Faults::default();
        faults.add("/sampling/crop/0", String::new());
        for (place, fine) in [
            ("/sampling", false),
            ("/sampling/crop", false),
            ("/sampling/crop/0", false),
            ("/sampling/crop/1", true),
            ("/sampling/cr", true),
            ("/pipeline", true),
        ] {
            assert_eq!(faults.fine(&[place]), fine, "{place}");
        }
    }
}
