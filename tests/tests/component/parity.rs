//! The guest answers as the native code does: metadata, plans, conversions, and their errors.

use damacy::sandbox::{Guest, GuestLimits, Sandbox};
use damacy_core::convert::Kernel;
use damacy_core::metadata::{ArrayMetadata, KeyEncoding, MetadataLimits, ZarrFormat, parse};
use damacy_core::planner::{BatchSpec, MissingChunk, PlanLimits, Request, SampleBox, plan};
use damacy_core::{ByteOrder, Dtype, SourceType};
use proptest::prelude::*;

pub(crate) fn guest(limits: GuestLimits) -> Guest {
    Sandbox::shared().expect("a sandbox").guest(limits).expect("a guest")
}

/// An array of u16 zeros with the given levels of chunks.
pub(crate) fn array(shape: Vec<u64>, levels: Vec<Vec<u64>>) -> ArrayMetadata {
    ArrayMetadata {
        format: ZarrFormat::V3,
        shape,
        data_type: "uint16".into(),
        source: Some(SourceType::U16),
        byte_order: ByteOrder::Little,
        fortran_order: false,
        levels,
        key_encoding: KeyEncoding::Default { separator: '/' },
        fill_value: vec![0, 0],
        codecs: vec!["bytes".into(), "zstd".into()],
    }
}

const DOCUMENTS: [(ZarrFormat, &str); 9] = [
    (
        ZarrFormat::V3,
        r#"{"zarr_format":3,"node_type":"array","shape":[100,200],"data_type":"uint64","fill_value":18446744073709551615,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[50,40]}},
        "chunk_key_encoding":{"name":"default","configuration":{"separator":"."}},
        "codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[10,20],
          "codecs":[{"name":"bytes","configuration":{"endian":"big"}},{"name":"zstd","configuration":{"level":1,"checksum":false}}],
          "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}]}"#,
    ),
    (
        ZarrFormat::V3,
        r#"{"zarr_format":3,"node_type":"array","shape":[],"data_type":"float32","fill_value":"0x7fc00001",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[]}},"chunk_key_encoding":{"name":"default"},
        "codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"attributes":{"µ":[1,null,"ä"]}}"#,
    ),
    (
        ZarrFormat::V2,
        r#"{"zarr_format":2,"shape":[7,5],"chunks":[3,2],"dtype":">u2","compressor":null,"fill_value":null,"order":"F","filters":null}"#,
    ),
    (
        ZarrFormat::V2,
        r#"{"zarr_format":2,"shape":[7],"chunks":[3],"dtype":"<f2","compressor":{"id":"zlib","level":1},"fill_value":"NaN",
        "order":"C","filters":[],"dimension_separator":"/"}"#,
    ),
    (
        ZarrFormat::V2,
        r#"{"zarr_format":2,"shape":[7],"chunks":[3],"dtype":"<f8","compressor":null,"fill_value":0,"order":"C","filters":null}"#,
    ),
    (ZarrFormat::V3, r#"{"zarr_format":3,"node_type":"group"}"#),
    (ZarrFormat::V3, r#"{"zarr_format":3,"node_type":"array","shape":[-1]}"#),
    (ZarrFormat::V3, "{\"zarr_format\":3,"),
    (ZarrFormat::V3, "\u{0}"),
];

#[test]
fn metadata_parses_as_it_does_natively() {
    let mut guest = guest(GuestLimits::default());
    let mut parsed = 0;
    for (format, document) in DOCUMENTS {
        let native = parse(format, document.as_bytes(), &MetadataLimits::default());
        parsed += usize::from(native.is_ok());
        assert_eq!(guest.parse_metadata(format, document.as_bytes(), &MetadataLimits::default()), native, "{document}");
    }
    assert_eq!(parsed, 5);
}

#[test]
fn truncated_documents_fail_as_they_do_natively() {
    let mut guest = guest(GuestLimits::default());
    let (format, document) = DOCUMENTS[0];
    for length in 0..document.len() {
        let bytes = &document.as_bytes()[..length];
        let native = parse(format, bytes, &MetadataLimits::default());
        assert!(native.is_err());
        assert_eq!(guest.parse_metadata(format, bytes, &MetadataLimits::default()), native, "{length} bytes");
    }
}

#[test]
fn limits_of_the_parser_reach_the_guest() {
    let (format, document) = DOCUMENTS[0];
    let all = MetadataLimits::default();
    for limits in [
        MetadataLimits { max_bytes: 100, ..all },
        MetadataLimits { max_depth: 3, ..all },
        MetadataLimits { max_values: 10, ..all },
        MetadataLimits { max_rank: 1, ..all },
        MetadataLimits { max_codecs: 2, ..all },
    ] {
        let native = parse(format, document.as_bytes(), &limits);
        assert!(native.is_err(), "{limits:?}");
        assert_eq!(guest(GuestLimits::default()).parse_metadata(format, document.as_bytes(), &limits), native);
    }
}

/// A window over arrays of one rank; some boxes are out of bounds or of the wrong shape.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) spec: BatchSpec,
    pub(crate) arrays: Vec<ArrayMetadata>,
    pub(crate) samples: Vec<SampleBox>,
    missing: Vec<MissingChunk>,
    encoded_ratios: Vec<f64>,
    pub(crate) limits: PlanLimits,
}

impl Window {
    fn request(&self) -> Request<'_> {
        Request {
            spec: &self.spec,
            arrays: &self.arrays,
            samples: &self.samples,
            missing: &self.missing,
            encoded_ratios: &self.encoded_ratios,
            limits: self.limits,
        }
    }
}

fn axes(rank: usize, extent: std::ops::Range<u64>) -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(extent, rank)
}

fn arrays(rank: usize) -> impl Strategy<Value = ArrayMetadata> {
    (axes(rank, 1..40), axes(rank, 1..9), axes(rank, 1..4), any::<bool>(), prop::sample::select(&SourceType::ALL[..]))
        .prop_map(|(shape, inner, factors, sharded, source)| {
            let outer = inner.iter().zip(factors).map(|(inner, factor)| inner * factor).collect();
            let levels = if sharded { vec![outer, inner] } else { vec![inner] };
            ArrayMetadata { source: Some(source), fill_value: vec![0; source.width()], ..array(shape, levels) }
        })
}

pub(crate) fn windows() -> impl Strategy<Value = Window> {
    (0usize..5).prop_flat_map(|rank| {
        let samples = (0u32..4, axes(rank, 0..30), 0u8..20);
        (
            (1u64..5, axes(rank, 1..10), prop::sample::select(&Dtype::ALL[..])),
            prop::collection::vec(arrays(rank), 1..4),
            prop::collection::vec(samples, 0..12),
            prop::collection::vec((0u32..3, axes(rank, 0..6)), 0..6),
            any::<bool>(),
            prop::sample::select(vec![PlanLimits::default().max_chunks, 40]),
        )
            .prop_map(|((samples, shape, dtype), arrays, starts, missing, known_ratios, max_chunks)| Window {
                samples: starts
                    .into_iter()
                    .map(|(array, starts, luck)| SampleBox {
                        array: if luck == 0 { array } else { array % arrays.len() as u32 },
                        bounds: std::iter::zip(&starts, &shape)
                            .enumerate()
                            .map(|(axis, (start, extent))| {
                                let room = arrays[array as usize % arrays.len()].shape[axis].saturating_sub(*extent);
                                let start = if luck == 1 { *start } else { start % (room + 1) };
                                (start, start + extent + u64::from(luck == 2))
                            })
                            .collect(),
                    })
                    .collect(),
                spec: BatchSpec { samples, shape, dtype },
                missing: missing
                    .into_iter()
                    .map(|(array, coords)| MissingChunk { array: array % arrays.len() as u32, coords })
                    .collect(),
                encoded_ratios: if known_ratios { vec![0.5; arrays.len()] } else { Vec::new() },
                limits: PlanLimits { max_chunks, ..PlanLimits::default() },
                arrays,
            })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plans_are_the_native_ones(window in windows()) {
        let guest = guest(GuestLimits::default()).plan(&window.request());
        prop_assert_eq!(guest, plan(&window.request()));
    }
}

#[test]
fn random_windows_are_mostly_plannable() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut planned = 0;
    for _ in 0..200 {
        let window = windows().new_tree(&mut runner).expect("a window").current();
        planned += usize::from(plan(&window.request()).is_ok());
    }
    assert!((50..200).contains(&planned), "{planned} of 200 planned: the comparison above would be one-sided");
}

#[test]
fn all_pairs_convert_as_they_do_natively() {
    let mut guest = guest(GuestLimits::default());
    // Several blocks and a ragged end, with every kind of bit pattern.
    let mut state = 1u64;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    })
    .take(200_008)
    .collect();
    for source in SourceType::ALL {
        for output in Dtype::ALL {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let mut native = vec![0; bytes.len() / source.width() * output.width()];
                let mut sandboxed = native.clone();
                Kernel::select(source, order, output).convert(&bytes, &mut native).expect("sizes fit");
                guest.convert(source, order, output, &bytes, &mut sandboxed).expect("sizes fit");
                assert!(native == sandboxed, "{source} {order:?} to {output} differs");
            }
        }
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused_before_anything_is_written() {
    let mut guest = guest(GuestLimits::default());
    let mut dst = [7; 4];
    for (src, needed) in [(3, 4), (4, 2)] {
        let converted =
            guest.convert(SourceType::U16, ByteOrder::Little, Dtype::U8, &vec![0; src], &mut dst[..needed - 1]);
        assert_eq!(converted.expect_err("does not fit").status, damacy_core::Status::Inval);
    }
    assert_eq!(dst, [7; 4]);
}
