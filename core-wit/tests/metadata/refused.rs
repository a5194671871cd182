//! Documents to refuse are refused with the right status, in words that name the fault, at its place.

use crate::corpus;
use damacy_core::metadata::{MetadataLimits, ZarrFormat, parse};

#[test]
fn base_documents_are_legal() {
    for format in [ZarrFormat::V2, ZarrFormat::V3] {
        let array = parse(format, corpus::base(format).as_bytes(), &MetadataLimits::default()).unwrap();
        assert_eq!((array.shape, array.levels), (vec![20, 30], vec![vec![10, 12]]));
    }
}

#[test]
fn refusals_name_the_fault_and_its_place() {
    let mut failures = Vec::new();
    for case in corpus::refused() {
        let error = match parse(case.format, case.document.as_bytes(), &MetadataLimits::default()) {
            Ok(array) => {
                failures.push(format!("{}: accepted as {array:?}", case.name));
                continue;
            }
            Err(error) => error,
        };
        let right = error.status.name() == case.status
            && case.says.iter().all(|part| error.message.contains(part))
            && case.at.as_ref().is_none_or(|at| *at == error.path)
            && error.to_string().len() < 1000;
        if !right {
            failures.push(format!("{}: {} {error} (path {:?})", case.name, error.status, error.path));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
