//! Steps through a JSON document that remember where they are, so that a refusal names the place.

use crate::Status;
use crate::error::{Error, Result};
use serde_json::Value;

/// A value and where it is.
#[derive(Clone)]
pub(super) struct At<'a> {
    pub value: &'a Value,
    /// `/attributes/ome/multiscales/0`.
    pub path: String,
}

impl<'a> At<'a> {
    /// A member of an object, unless it is missing or null.
    ///
    /// # Errors
    /// `Decode` for what is no object.
    pub fn get(&self, key: &str) -> Result<Option<At<'a>>> {
        let Value::Object(members) = self.value else { return Err(self.expected("an object")) };
        let member = members.get(key).filter(|value| !value.is_null());
        Ok(member.map(|value| At { value, path: format!("{}/{key}", self.path) }))
    }

    /// A member that must be there.
    ///
    /// # Errors
    /// `Decode`.
    pub fn need(&self, key: &str) -> Result<At<'a>> {
        self.get(key)?.ok_or_else(|| self.malformed(&format!("there is no {key:?}")))
    }

    /// The entries of a list of at most so many.
    ///
    /// # Errors
    /// `Decode` for what is no list, `Budget` for a longer one.
    pub fn list(&self, most: usize) -> Result<Vec<At<'a>>> {
        let Value::Array(entries) = self.value else { return Err(self.expected("a list")) };
        if entries.len() > most {
            let message = format!("{} has {} entries; the limit is {most}", self.path, entries.len());
            return Err(Error::new(Status::Budget, "open", message));
        }
        let entry = |(index, value)| At { value, path: format!("{}/{index}", self.path) };
        Ok(entries.iter().enumerate().map(entry).collect())
    }

    /// A text.
    ///
    /// # Errors
    /// `Decode` for anything else.
    pub fn text(&self) -> Result<&'a str> {
        self.value.as_str().ok_or_else(|| self.expected("a text"))
    }

    /// A number.
    ///
    /// # Errors
    /// `Decode` for anything else.
    pub fn number(&self) -> Result<f64> {
        self.value.as_f64().ok_or_else(|| self.expected("a number"))
    }

    /// A refusal of what was found here.
    pub fn expected(&self, accepted: &str) -> Error {
        let found = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "a text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        self.malformed(&format!("{found} was found where {accepted} is accepted"))
    }

    /// A refusal of this place.
    pub fn malformed(&self, what: &str) -> Error {
        Error::new(Status::Decode, "open", format!("{what} (at {})", self.path))
    }
}
