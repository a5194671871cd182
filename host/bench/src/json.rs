//! JSON as it is written: text -> a tree that keeps the order of members and repeated keys, which are then refused by name.
//!
//! serde_json reads it, which stops at 128 levels and refuses numbers beyond binary64.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Number;
use std::fmt;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// An object's members in order.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// What it is, for messages; long values are cut.
    pub fn describe(&self) -> String {
        match self {
            Json::List(entries) => format!("a list of {}", entries.len()),
            Json::Object(_) => "an object".to_owned(),
            Json::Text(text) if text.chars().count() > 60 => {
                format!("{:?}...", text.chars().take(60).collect::<String>())
            }
            Json::Text(text) => format!("{text:?}"),
            Json::Number(number) => number.to_string(),
            Json::Bool(value) => value.to_string(),
            Json::Null => "null".to_owned(),
        }
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Json, E> {
        Number::from_f64(value).map(Json::Number).ok_or_else(|| E::custom("a number beyond binary64"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element()? {
            list.push(entry);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object = Vec::new();
        while let Some(member) = members.next_entry()? {
            object.push(member);
        }
        Ok(Json::Object(object))
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

/// The same document again, for the sandbox's own parser.
impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Number(number) => number.serialize(serializer),
            Json::Text(text) => serializer.serialize_str(text),
            Json::List(entries) => serializer.collect_seq(entries),
            Json::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_repeated_keys_are_kept() {
        let text = r#"{"b":1,"a":[null,true,-2,0.5,"x"],"b":{}}"#;
        let json: Json = serde_json::from_str(text).expect("JSON");
        assert_eq!(serde_json::to_string(&json).expect("text"), text);
        let Json::Object(members) = json else { panic!("no object") };
        assert_eq!(members.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["b", "a", "b"]);
    }

    #[test]
    fn hostile_documents_are_errors() {
        let deep = "[".repeat(100_000);
        for text in ["1e999", "-1e999", "{", "", "[1,]", "\u{0}", &deep] {
            assert!(serde_json::from_str::<Json>(text).is_err());
        }
    }
}
