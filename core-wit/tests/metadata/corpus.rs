//! The corpus: documents that zarr-python wrote with the facts it reads in them, and documents to refuse.

use damacy_core::metadata::ZarrFormat;
use serde_json::Value;
use std::path::PathBuf;

fn read(file: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/metadata").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn lines(file: &str) -> Vec<Value> {
    read(file).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn format(line: &Value) -> ZarrFormat {
    if line["format"] == 2 { ZarrFormat::V2 } else { ZarrFormat::V3 }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_string()
}

/// A document with zarr-python's facts.
pub struct Legal {
    pub name: String,
    pub format: ZarrFormat,
    pub document: String,
    pub facts: Value,
}

pub fn legal() -> Vec<Legal> {
    let line = |line: Value| Legal {
        name: text(&line["name"]),
        format: format(&line),
        document: text(&line["document"]),
        facts: line["facts"].clone(),
    };
    let documents: Vec<Legal> = lines("legal.jsonl").into_iter().map(line).collect();
    assert!(documents.len() > 200, "the corpus is incomplete");
    documents
}

/// A document to refuse: a base document after some replacements.
pub struct Refused {
    pub name: String,
    pub format: ZarrFormat,
    pub document: String,
    pub status: String,
    /// Parts of the message.
    pub says: Vec<String>,
    /// JSON path, where it is fixed.
    pub at: Option<String>,
}

pub fn base(format: ZarrFormat) -> String {
    read(if format == ZarrFormat::V2 { "base-v2.json" } else { "base-v3.json" })
}

pub fn refused() -> Vec<Refused> {
    let line = |line: Value| {
        let name = text(&line["name"]);
        let mut document = base(format(&line));
        for pair in line["replace"].as_array().unwrap() {
            let from = pair[0].as_str().unwrap();
            assert_eq!(document.matches(from).count(), 1, "{name}: {from}");
            document = document.replace(from, pair[1].as_str().unwrap());
        }
        Refused {
            name,
            format: format(&line),
            document,
            status: text(&line["status"]),
            says: line["says"].as_array().unwrap().iter().map(text).collect(),
            at: line["at"].as_str().map(String::from),
        }
    };
    let documents: Vec<Refused> = lines("refused.jsonl").into_iter().map(line).collect();
    assert!(documents.len() > 200, "the corpus is incomplete");
    documents
}
