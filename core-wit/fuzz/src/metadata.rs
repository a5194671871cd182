//! Target `metadata`: arbitrary bytes as a document of either format -> an error, or metadata that keeps its promises.

use super::memory::measured;
use damacy_core::cost::{CostRequest, estimate};
use damacy_core::error::Error;
use damacy_core::metadata::{ArrayMetadata, MetadataLimits, ZarrFormat, decoder_document, parse};
use damacy_core::planner::{BatchSpec, PlanLimits, Request, SampleBox, plan};
use damacy_core::{Dtype, Status};

/// What `docs/metadata-parser.md` promises beyond the document's size.
const PROMISED: u64 = 4 << 20;
/// Tighter, for small documents: so many bytes for each one of the document, and some for messages.
const A_BYTE: u64 = 128;
const FIXED: u64 = 64 << 10;
/// Bytes of an error with its path.
const MESSAGE: usize = 4096;

/// Runs the target.
pub fn run(data: &[u8]) {
    for format in [ZarrFormat::V2, ZarrFormat::V3] {
        let _ = check(format, data, &MetadataLimits::default());
    }
}

/// Parses, and checks what every document's outcome must hold.
pub(super) fn check(format: ZarrFormat, bytes: &[u8], limits: &MetadataLimits) -> Result<ArrayMetadata, Error> {
    let (parsed, used) = measured(|| parse(format, bytes, limits));
    let length = bytes.len() as u64;
    let most = (length + PROMISED).min(FIXED + A_BYTE * length);
    assert!(used.bytes <= most, "parsing {length} bytes took {used:?}, more than {most}");

    let (decoder, used) = measured(|| decoder_document(format, bytes, limits));
    let most = FIXED + 8 * A_BYTE * length;
    assert!(used.bytes <= most, "the decoder's document for {length} bytes took {used:?}, more than {most}");
    match &parsed {
        Ok(array) => {
            promises(array, limits);
            assert_eq!(decoder.is_ok(), array.source.is_some(), "the decoder's document: {decoder:?}");
            usable(array);
        }
        Err(error) => {
            refusal(error);
            assert_eq!(decoder.as_ref().err(), Some(error), "planning and decoding refuse alike");
        }
    }
    parsed
}

/// What every refusal must hold.
pub(super) fn refusal(error: &Error) {
    assert_ne!(error.status, Status::Internal, "{error}");
    assert!(!error.message.is_empty());
    let length = error.to_string().len();
    assert!(length <= MESSAGE, "a message of {length} bytes");
}

fn promises(array: &ArrayMetadata, limits: &MetadataLimits) {
    let rank = array.rank();
    assert!(rank as u64 <= u64::from(limits.max_rank), "rank {rank}");
    assert!(!array.levels.is_empty() && array.levels.len() <= limits.max_codecs as usize + 1);
    // Format 2 has filters, which are limited, and one compressor.
    let one = usize::from(array.format == ZarrFormat::V2);
    assert!(array.codecs.len() <= limits.max_codecs as usize + one, "{} codecs", array.codecs.len());
    for level in &array.levels {
        assert_eq!(level.len(), rank);
        assert!(level.iter().all(|&extent| extent > 0));
    }
    for pair in array.levels.windows(2) {
        assert!(pair[0].iter().zip(&pair[1]).all(|(outer, inner)| outer % inner == 0), "{pair:?}");
    }
    assert_eq!(array.fill_value.len(), array.source.map_or(0, |source| source.width()));
    if let Some(source) = array.source {
        let bytes = array.object_shape().iter().try_fold(source.width() as u64, |n, &extent| n.checked_mul(extent));
        assert!(bytes.is_some(), "a chunk of more than 2^64 - 1 bytes");
    }
    let key = array.object_key(&vec![u64::MAX; rank]);
    assert!(key.len() <= 1 + 21 * rank && !key.is_empty(), "{key}");
}

/// Planning and pricing take what parsing accepts: the first and the last element of the array.
fn usable(array: &ArrayMetadata) {
    let spec = BatchSpec { samples: 1, shape: vec![1; array.rank()], dtype: Dtype::U8 };
    let first = array.shape.iter().map(|_| (0, 1)).collect();
    let last = array.shape.iter().map(|&extent| (extent.saturating_sub(1), extent)).collect();
    let samples = [first, last].map(|bounds| SampleBox { array: 0, bounds });
    let arrays = std::slice::from_ref(array);
    let limits = PlanLimits::default();
    let planned = plan(&Request { spec: &spec, arrays, samples: &samples, missing: &[], encoded_ratios: &[], limits });
    let expected = match array.source {
        None => Err(Status::Dtype),
        Some(_) if array.shape.contains(&0) => Err(Status::Inval),
        Some(_) => Ok(()),
    };
    match planned {
        Ok(plan) => {
            assert_eq!(expected, Ok(()));
            assert_eq!(plan.uses.len(), 2);
        }
        // Two chunks and two batches may be too large together.
        Err(error) if error.status == Status::Budget && expected.is_ok() => {}
        Err(error) => assert_eq!(expected, Err(error.status), "{error}"),
    }
    let price = estimate(&CostRequest { window: 1, ..CostRequest::new(&spec, arrays) });
    match price {
        Ok(price) => assert!(expected.is_ok() && (price.uses - 1.0).abs() < 1e-9, "{price:?}"),
        Err(error) if error.status == Status::Budget && expected.is_ok() => {}
        Err(error) => assert_eq!(expected, Err(error.status), "{error}"),
    }
}
