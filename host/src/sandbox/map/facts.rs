//! The facts of an array as the guest answers them -> the crate's, checked: what the parser promises of them is what
//! readers rely on, and the guest's word for it is not enough.

use super::super::bindings::exports::damacy::core::metadata as wit;
use crate::Status;
use damacy_core::error::Error;
use damacy_core::metadata::{ArrayMetadata, KeyEncoding};

impl TryFrom<wit::ArrayResult> for ArrayMetadata {
    type Error = Error;

    /// Refuses facts that no document has, as a bug of the guest.
    fn try_from(array: wit::ArrayResult) -> Result<Self, Error> {
        let separator = array.key_encoding.separator;
        let array = ArrayMetadata {
            format: array.format.into(),
            shape: array.shape,
            data_type: array.data_type,
            source: array.source.map(Into::into),
            byte_order: array.byte_order.into(),
            fortran_order: array.layout == wit::Layout::F,
            levels: array.levels,
            key_encoding: match array.key_encoding.style {
                wit::KeyStyle::Default => KeyEncoding::Default { separator },
                wit::KeyStyle::V2 => KeyEncoding::V2 { separator },
            },
            fill_value: array.fill_value,
            codecs: array.codecs,
        };
        match fault(&array, separator) {
            Some(fault) => Err(Error::new(Status::Internal, format!("the sandbox's guest answered {fault}"))),
            None => Ok(array),
        }
    }
}

/// What is wrong with the facts.
fn fault(array: &ArrayMetadata, separator: char) -> Option<String> {
    let rank = array.shape.len();
    if array.levels.is_empty() {
        return Some("an array without a chunk shape".into());
    }
    for level in &array.levels {
        if level.len() != rank {
            return Some(format!("a chunk shape of rank {} for an array of rank {rank}", level.len()));
        }
        if level.contains(&0) {
            return Some("a chunk extent of 0; the least is 1".into());
        }
    }
    for pair in array.levels.windows(2) {
        if pair[0].iter().zip(&pair[1]).any(|(outer, inner)| !outer.is_multiple_of(*inner)) {
            return Some("chunks that do not divide their shard".into());
        }
    }
    let width = array.source.map_or(0, |source| source.width());
    if array.fill_value.len() != width {
        return Some(format!("a fill value of {} bytes where {width} are needed", array.fill_value.len()));
    }
    if !matches!(separator, '/' | '.') {
        return Some(format!("the separator {separator:?} of chunk keys; there are '/' and '.'"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::super::bindings::exports::damacy::core::types;
    use super::*;

    /// A sharded array of uint16.
    fn answer() -> wit::ArrayResult {
        wit::ArrayResult {
            format: wit::Format::V3,
            shape: vec![9, 20],
            data_type: "uint16".into(),
            source: Some(types::Source::U16),
            byte_order: types::ByteOrder::Little,
            layout: wit::Layout::C,
            levels: vec![vec![4, 10], vec![2, 5]],
            key_encoding: wit::KeyEncoding { style: wit::KeyStyle::Default, separator: '/' },
            fill_value: vec![0, 0],
            codecs: vec!["sharding_indexed".into(), "bytes".into()],
        }
    }

    #[test]
    fn facts_that_a_document_may_have_are_taken() {
        let array = ArrayMetadata::try_from(answer()).expect("good facts");
        assert_eq!((array.chunk_shape(), array.object_shape()), (&[2, 5][..], &[4, 10][..]));
        let untyped = wit::ArrayResult { source: None, fill_value: Vec::new(), ..answer() };
        assert!(ArrayMetadata::try_from(untyped).is_ok());
        let scalar = wit::ArrayResult { shape: Vec::new(), levels: vec![Vec::new()], ..answer() };
        assert!(ArrayMetadata::try_from(scalar).is_ok());
    }

    #[test]
    fn facts_that_no_document_has_are_bugs_of_the_guest() {
        let levels = |levels: &[&[u64]]| wit::ArrayResult {
            levels: levels.iter().map(|level| level.to_vec()).collect(),
            ..answer()
        };
        for (wrong, words) in [
            (levels(&[]), "without a chunk shape"),
            (levels(&[&[4]]), "rank 1 for an array of rank 2"),
            (levels(&[&[4, 10], &[2, 5, 1]]), "rank 3 for an array of rank 2"),
            (levels(&[&[4, 0]]), "extent of 0"),
            (levels(&[&[4, 10], &[0, 5]]), "extent of 0"),
            (levels(&[&[4, 10], &[8, 5]]), "do not divide"),
            (levels(&[&[4, 10], &[4, 4]]), "do not divide"),
            (wit::ArrayResult { fill_value: vec![0], ..answer() }, "1 bytes where 2"),
            (wit::ArrayResult { source: None, ..answer() }, "2 bytes where 0"),
            (
                wit::ArrayResult {
                    key_encoding: wit::KeyEncoding { style: wit::KeyStyle::V2, separator: '\0' },
                    ..answer()
                },
                "separator",
            ),
        ] {
            let error = ArrayMetadata::try_from(wrong).expect_err(words);
            assert_eq!(error.status, Status::Internal);
            assert!(error.message.starts_with("the sandbox's guest answered"), "{}", error.message);
            assert!(error.message.contains(words), "{}", error.message);
        }
    }
}
