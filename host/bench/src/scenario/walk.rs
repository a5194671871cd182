//! A JSON document against the schema: what fits it, and a fault for all that does not.
//!
//! Faulty members are left out of the result, so that what depends on the others alone can still be checked. Understands
//! what schemars writes for the types here, and no more of JSON Schema than that.

use super::Scenario;
use super::faults::{Faults, nearest};
use super::names;
use super::schema::SCHEMA;
use crate::failure::{Failure, Result};
use crate::json::Json;
use serde_json::{Map, Number, Value};

/// The scenario, defaults in place of what is faulty or missing, and the faults.
pub(super) fn read(json: &Json) -> Result<(Scenario, Faults)> {
    let mut faults = Faults::default();
    let clean = value(&SCHEMA, json, "", &mut faults).unwrap_or(Value::Object(Map::new()));
    let scenario = serde_json::from_value(clean)
        .map_err(|error| Failure::internal(format!("a scenario that fits the schema cannot be read: {error}")))?;
    Ok((scenario, faults))
}

/// The schema behind a reference, and the one that is not null's.
fn resolve(schema: &'static Value) -> &'static Value {
    if let Some(name) = schema["$ref"].as_str() {
        return resolve(SCHEMA.pointer(name.trim_start_matches('#')).unwrap_or(&Value::Null));
    }
    match schema["anyOf"].as_array().and_then(|any| any.iter().find(|one| one["type"] != "null")) {
        Some(one) => resolve(one),
        None => schema,
    }
}

fn is(schema: &Value, kind: &str) -> bool {
    match &schema["type"] {
        Value::String(one) => one == kind,
        Value::Array(kinds) => kinds.iter().any(|one| one == kind),
        _ => false,
    }
}

/// The names of an enumeration.
fn choices(schema: &Value) -> Option<Vec<&str>> {
    if let Some(names) = schema["enum"].as_array() {
        return names.iter().map(Value::as_str).collect();
    }
    schema["oneOf"].as_array()?.iter().map(|one| one["const"].as_str()).collect()
}

/// What is accepted, in words.
fn accepted(schema: &'static Value) -> String {
    let schema = resolve(schema);
    if let Some(words) = schema["format"].as_str().and_then(names::accepted) {
        return words;
    }
    if let Some(choices) = choices(schema) {
        return format!("one of {}", choices.join(", "));
    }
    if is(schema, "object") {
        return format!("an object with {}", keys(schema).join(", "));
    }
    if is(schema, "array") {
        let (least, most) = (schema["minItems"].as_u64().unwrap_or(0), schema["maxItems"].as_u64());
        let count = most.map_or_else(|| format!("{least} or more"), |most| format!("{least} to {most}"));
        return format!("a list of {count}, each {}", accepted(&schema["items"]));
    }
    if is(schema, "integer") || is(schema, "number") {
        let kind = if is(schema, "integer") { "a whole number" } else { "a number" };
        let least = number(&schema["minimum"]).unwrap_or_else(|| "0".into());
        let most = number(&schema["maximum"]).unwrap_or_else(|| "2^64 - 1".into());
        return format!("{kind} from {least} to {most}");
    }
    if is(schema, "boolean") { "true or false".into() } else { "a text".into() }
}

/// A bound as users write it: schemars has some as 1.0.
fn number(bound: &Value) -> Option<String> {
    bound.as_f64().map(|bound| bound.to_string())
}

fn keys(schema: &Value) -> Vec<&str> {
    let keys = schema["properties"].as_object().map(|members| members.keys().map(String::as_str));
    keys.map(|keys| keys.filter(|key| *key != "$schema").collect()).unwrap_or_default()
}

/// What fits, or `None` after a fault. Null is as good as missing.
fn value(schema: &'static Value, json: &Json, place: &str, faults: &mut Faults) -> Option<Value> {
    let schema = resolve(schema);
    if let Some(format) = schema["format"].as_str().filter(|format| names::accepted(format).is_some()) {
        return written(schema, format, json, place, faults);
    }
    let found = match json {
        Json::Object(members) if is(schema, "object") => return Some(object(schema, members, place, faults)),
        Json::List(entries) if is(schema, "array") => return list(schema, entries, place, faults),
        Json::Bool(given) if is(schema, "boolean") => Some((*given).into()),
        Json::Number(given) => in_range(schema, given).then(|| Value::Number(given.clone())),
        Json::Text(text) => match choices(schema) {
            Some(choices) if !choices.contains(&text.as_str()) => {
                let hint = nearest(text, &choices).map(|name| format!("; did you mean {name}?")).unwrap_or_default();
                let given = json.describe();
                faults.add(place, format!("{given} was given; accepted is {}{hint}", accepted(schema)));
                return None;
            }
            Some(_) => Some(text.as_str().into()),
            None => is(schema, "string").then(|| text.as_str().into()),
        },
        _ => None,
    };
    if found.is_none() {
        faults.add(place, format!("{} was given; accepted is {}", json.describe(), accepted(schema)));
    }
    found
}

/// A value that users write as a text or a number.
fn written(schema: &'static Value, format: &str, json: &Json, place: &str, faults: &mut Faults) -> Option<Value> {
    let (text, found) = match json {
        Json::Text(text) => (text.clone(), Value::String(text.clone())),
        Json::Number(given) if is(schema, "integer") || is(schema, "number") => {
            (given.to_string(), Value::Number(given.clone()))
        }
        _ => {
            faults.add(place, format!("{} was given; accepted is {}", json.describe(), accepted(schema)));
            return None;
        }
    };
    match names::check(format, &text) {
        Ok(()) => Some(found),
        Err(message) => {
            faults.add(place, message);
            None
        }
    }
}

fn in_range(schema: &Value, given: &Number) -> bool {
    let whole = is(schema, "integer");
    if !whole && !is(schema, "number") || whole && given.as_u64().is_none() {
        return false;
    }
    let Some(given) = given.as_f64() else { return false };
    schema["minimum"].as_f64().is_none_or(|least| given >= least)
        && schema["maximum"].as_f64().is_none_or(|most| given <= most)
}

fn list(schema: &'static Value, entries: &[Json], place: &str, faults: &mut Faults) -> Option<Value> {
    let count = entries.len() as u64;
    let (least, most) = (schema["minItems"].as_u64().unwrap_or(0), schema["maxItems"].as_u64().unwrap_or(u64::MAX));
    if count < least || count > most {
        faults.add(place, format!("a list of {count} was given; accepted is {}", accepted(schema)));
        return None;
    }
    let entry = |(index, json): (usize, &Json)| value(&schema["items"], json, &format!("{place}/{index}"), faults);
    let found: Vec<Option<Value>> = entries.iter().enumerate().map(entry).collect();
    // Another entry in place of a faulty one keeps the others where they are, to be checked on.
    let filler = found.iter().flatten().next().cloned()?;
    Some(found.into_iter().map(|entry| entry.unwrap_or_else(|| filler.clone())).collect())
}

fn object(schema: &'static Value, members: &[(String, Json)], place: &str, faults: &mut Faults) -> Value {
    let mut found = Map::new();
    let known = keys(schema);
    for (key, json) in members {
        let shown: String = key.chars().take(60).collect();
        let at = format!("{place}/{}", shown.replace('~', "~0").replace('/', "~1"));
        let Some(member) = schema["properties"].get(key) else {
            let hint = nearest(key, &known).map(|name| format!("did you mean {name}? ")).unwrap_or_default();
            faults.add(&at, format!("unknown; {hint}accepted are {}", known.join(", ")));
            continue;
        };
        if found.contains_key(key) {
            faults.add(&at, "given twice; accepted is each key once".into());
        } else if *json != Json::Null
            && let Some(value) = value(member, json, &at, faults)
        {
            found.insert(key.clone(), value);
        }
    }
    for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let given = members.iter().any(|(name, json)| name == key && *json != Json::Null);
        if !given {
            faults.add(
                &format!("{place}/{key}"),
                format!("missing; accepted is {}", accepted(&schema["properties"][key])),
            );
        }
    }
    Value::Object(found)
}
