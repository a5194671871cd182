//! Random edits of the corpus: whatever they make, parsing ends in an error or in metadata that keeps its promises.

use crate::corpus;
use damacy_core::metadata::{ArrayMetadata, MetadataLimits, decoder_document, parse};
use proptest::prelude::*;

/// Pieces that documents are made of, and some that they must not be made of.
const PIECES: [&str; 40] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "null",
    "true",
    "false",
    "NaN",
    "-Infinity",
    "0",
    "-1",
    "1e999",
    "0.5",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775808",
    "\"NaN\"",
    "\"0x7fc00001\"",
    "\"0xa\u{e9}b\"",
    "\"bytes\"",
    "\"sharding_indexed\"",
    "\"transpose\"",
    "\"order\":",
    "\"codecs\":",
    "\"name\":",
    "\"configuration\":",
    "\"must_understand\": false",
    "\"endian\":",
    "\"big\"",
    "\"float32\"",
    "\"<f4\"",
    "\"r8\"",
    "\u{0}",
    " ",
];

/// One edit: where (as a share of the length), how much is cut, what is put there.
#[derive(Clone, Debug)]
struct Edit {
    at: f64,
    cut: usize,
    put: Put,
}

#[derive(Clone, Debug)]
enum Put {
    Piece(usize),
    Byte(u8),
    /// A stretch of the document itself.
    Copy(f64, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let put = prop_oneof![
        (0..PIECES.len()).prop_map(Put::Piece),
        any::<u8>().prop_map(Put::Byte),
        (0.0..1.0, 0..200_usize).prop_map(|(at, length)| Put::Copy(at, length)),
    ];
    (0.0..1.0, prop_oneof![Just(0_usize), Just(1), 0..40_usize], put).prop_map(|(at, cut, put)| Edit { at, cut, put })
}

fn apply(bytes: &mut Vec<u8>, edit: &Edit) {
    let place = |at: f64, length: usize| ((at * length as f64) as usize).min(length);
    let start = place(edit.at, bytes.len());
    let end = (start + edit.cut).min(bytes.len());
    let put = match edit.put {
        Put::Piece(i) => PIECES[i].as_bytes().to_vec(),
        Put::Byte(byte) => vec![byte],
        Put::Copy(at, length) => {
            let from = place(at, bytes.len());
            bytes[from..(from + length).min(bytes.len())].to_vec()
        }
    };
    bytes.splice(start..end, put);
}

fn check(array: &ArrayMetadata) {
    let rank = array.rank();
    assert!(!array.levels.is_empty());
    for (i, level) in array.levels.iter().enumerate() {
        assert_eq!(level.len(), rank);
        assert!(level.iter().all(|&extent| extent > 0));
        if i > 0 {
            assert!(level.iter().zip(&array.levels[i - 1]).all(|(inner, outer)| outer % inner == 0));
        }
    }
    assert_eq!(array.fill_value.len(), array.source.map_or(0, |s| s.width()));
    if let Some(source) = array.source {
        array.object_shape().iter().try_fold(source.width() as u64, |n, &e| n.checked_mul(e)).unwrap();
    }
    array.object_key(&vec![u64::MAX; rank]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn edited_documents_never_break_the_parser(
        index in any::<prop::sample::Index>(),
        edits in prop::collection::vec(edit(), 1..6),
    ) {
        thread_local!(static LEGAL: Vec<corpus::Legal> = corpus::legal());
        LEGAL.with(|legal| {
            let case = index.get(legal);
            let mut bytes = case.document.clone().into_bytes();
            edits.iter().for_each(|edit| apply(&mut bytes, edit));
            let limits = MetadataLimits::default();
            match parse(case.format, &bytes, &limits) {
                Ok(array) => {
                    check(&array);
                    // What planning accepts, the decoder's own parser accepts.
                    assert_eq!(decoder_document(case.format, &bytes, &limits).is_ok(), array.source.is_some());
                }
                Err(error) => assert!(error.to_string().len() < 1000),
            }
        });
    }
}
