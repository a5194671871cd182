//! Zarr v3's named objects: `"name"` or `{"name", "configuration", "must_understand"}` -> the three parts.

use super::json::{Members, Node, quote};
use super::value::Value;
use crate::error::Error;

/// Whether a reader that does not know the name may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MustUnderstand {
    Yes,
    No,
}

/// A codec, chunk grid, key encoding, data type or storage transformer.
pub(super) struct Named<'a> {
    pub name: &'a str,
    pub must_understand: MustUnderstand,
    configuration: Option<&'a Members<'a>>,
    node: Node<'a>,
}

impl<'a> Named<'a> {
    /// Reads the name and its parts.
    pub fn read(node: Node<'a>) -> Result<Named<'a>, Error> {
        let object = match node.value {
            Value::String(name) => {
                return Ok(Named { name, must_understand: MustUnderstand::Yes, configuration: None, node });
            }
            Value::Object(object) => object,
            _ => return Err(node.expected("a name or an object with a \"name\"")),
        };
        let mut name = None;
        let mut must_understand = MustUnderstand::Yes;
        let mut configuration = None;
        for (key, value) in object {
            // Its path is made for what is wrong only.
            let child = || node.child(key, value);
            match (key.as_ref(), value) {
                ("name", Value::String(text)) => name = Some(text.as_ref()),
                ("name", _) => name = Some(child().str()?),
                ("configuration", Value::Null) => {}
                ("configuration", Value::Object(members)) => configuration = Some(members.as_slice()),
                ("configuration", _) => configuration = Some(child().object()?),
                ("must_understand", Value::Bool(true)) => must_understand = MustUnderstand::Yes,
                ("must_understand", Value::Bool(false)) => must_understand = MustUnderstand::No,
                ("must_understand", _) => return Err(child().expected("true or false")),
                _ => {
                    return Err(child().unsupported(format!(
                        "unknown key {}; \"name\", \"configuration\" and \"must_understand\" are known here",
                        quote(key)
                    )));
                }
            }
        }
        let Some(name) = name else { return Err(node.malformed("the object has no \"name\"")) };
        Ok(Named { name, must_understand, configuration, node })
    }

    /// Where it stands.
    pub fn node(&self) -> &Node<'a> {
        &self.node
    }

    /// The configuration, once it is known to hold none but these keys.
    pub fn options(&self, known: &[&str]) -> Result<Options<'a>, Error> {
        let node = match self.node.value.get("configuration") {
            Some(value) => self.node.child("configuration", value),
            None => self.node.clone(),
        };
        Options::new(self.name, self.configuration, node, known)
    }
}

/// The options of something named.
pub(super) struct Options<'a> {
    name: &'a str,
    members: Option<&'a Members<'a>>,
    node: Node<'a>,
}

impl<'a> Options<'a> {
    /// The options in `members`, once it is known to hold none but these keys.
    pub fn new(
        name: &'a str,
        members: Option<&'a Members<'a>>,
        node: Node<'a>,
        known: &[&str],
    ) -> Result<Options<'a>, Error> {
        for (key, value) in members.map_or(&[][..], |members| members) {
            if !known.contains(&key.as_ref()) {
                let accepted = if known.is_empty() { "none".to_string() } else { known.join(", ") };
                return Err(node.child(key, value).unsupported(format!(
                    "{} has no option {} here; accepted: {accepted}",
                    quote(name),
                    quote(key)
                )));
            }
        }
        Ok(Options { name, members, node })
    }

    /// An option, if given.
    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        let (_, value) = self.members?.iter().find(|(k, _)| k == key)?;
        Some(self.node.child(key, value))
    }

    /// An option that must be given.
    pub fn need(&self, key: &str) -> Result<Node<'a>, Error> {
        self.get(key)
            .ok_or_else(|| self.node.malformed(format!("{} needs the option {}", quote(self.name), quote(key))))
    }
}
