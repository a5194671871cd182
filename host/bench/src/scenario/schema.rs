//! The JSON Schema of scenarios, out of the types.

use super::Scenario;
use serde_json::Value;
use std::sync::LazyLock;

/// The schema.
pub(super) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = schemars::schema_for!(Scenario).to_value();
    schema["title"] = "damacy benchmark scenario".into();
    schema
});

/// The schema as it is committed: indented, with a line end.
pub fn schema_text() -> String {
    format!("{:#}\n", *SCHEMA)
}
