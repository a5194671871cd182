//! The crate's types <-> those of the bindings: parameters borrow, results move.

use super::bindings::exports::damacy::core::{metadata as array, planner, types};
use crate::{ByteOrder, Dtype, SourceType, Status};
use damacy_core::error::{Error, Limit, LimitName};
use damacy_core::metadata::{ArrayMetadata, KeyEncoding, MetadataLimits, ZarrFormat};
use damacy_core::planner::{BatchSpec, Plan, PlanLimits, PlannedChunk, Request, SampleBox, Totals};

/// `From` both ways between enums whose cases have the same names.
macro_rules! same_cases {
    ($core:ty, $wit:ty, [$($case:ident)*]) => {
        impl From<$wit> for $core {
            fn from(value: $wit) -> Self {
                match value { $(<$wit>::$case => <$core>::$case),* }
            }
        }
        impl From<$core> for $wit {
            fn from(value: $core) -> Self {
                match value { $(<$core>::$case => <$wit>::$case),* }
            }
        }
    };
}

pub(super) mod cost;
mod facts;

same_cases!(Dtype, types::Dtype, [F32 Bf16 U8 U16 U32 U64 I8 I16 I32 I64]);
same_cases!(SourceType, types::Source, [U8 U16 U32 U64 I8 I16 I32 I64 F16 F32]);
same_cases!(ByteOrder, types::ByteOrder, [Little Big]);
same_cases!(LimitName, types::LimitName, [MaxBytes MaxDepth MaxValues MaxRank MaxCodecs MemoryBytes MaxChunks Range]);
same_cases!(ZarrFormat, array::Format, [V2 V3]);

impl From<types::Error> for Error {
    fn from(error: types::Error) -> Self {
        let (status, problem) = match error {
            types::Error::InvalidArgument(problem) => (Status::Inval, problem),
            types::Error::UnconvertibleType(problem) => (Status::Dtype, problem),
            types::Error::RankMismatch(problem) => (Status::Rank, problem),
            types::Error::Malformed(problem) => (Status::Decode, problem),
            types::Error::OverBudget(problem) => (Status::Budget, problem),
            types::Error::Unsupported(problem) => (Status::Unsupported, problem),
            types::Error::Internal(problem) => (Status::Internal, problem),
        };
        let types::Problem { message, sample, array, path, limit } = problem;
        let limit = limit.map(|types::Limit { name, value, asked }| Limit { name: name.into(), value, asked });
        Error { status, message, sample, array, path, limit }
    }
}

/// Limits of a parser call.
pub(super) fn metadata_limits(limits: &MetadataLimits) -> array::Limits {
    let MetadataLimits { max_bytes, max_depth, max_values, max_rank, max_codecs } = *limits;
    array::Limits { max_bytes, max_depth, max_values, max_rank, max_codecs }
}

/// The nested lists of an array, as slices of slices.
pub(super) struct ArrayLists<'a> {
    levels: Vec<&'a [u64]>,
    codecs: Vec<&'a str>,
}

impl<'a> ArrayLists<'a> {
    /// Borrows them.
    pub(super) fn new(array: &'a ArrayMetadata) -> ArrayLists<'a> {
        ArrayLists {
            levels: array.levels.iter().map(Vec::as_slice).collect(),
            codecs: array.codecs.iter().map(String::as_str).collect(),
        }
    }
}

/// An array as a parameter.
pub(super) fn array_param<'a>(array: &'a ArrayMetadata, lists: &'a ArrayLists<'a>) -> array::ArrayParam<'a> {
    let (style, separator) = match array.key_encoding {
        KeyEncoding::Default { separator } => (array::KeyStyle::Default, separator),
        KeyEncoding::V2 { separator } => (array::KeyStyle::V2, separator),
    };
    array::ArrayParam {
        format: array.format.into(),
        shape: &array.shape,
        data_type: &array.data_type,
        source: array.source.map(Into::into),
        byte_order: array.byte_order.into(),
        layout: if array.fortran_order { array::Layout::F } else { array::Layout::C },
        levels: &lists.levels,
        key_encoding: array::KeyEncoding { style, separator },
        fill_value: &array.fill_value,
        codecs: &lists.codecs,
    }
}

/// Boxes as parameters.
fn sample_params(samples: &[SampleBox]) -> Vec<planner::Sample<'_>> {
    samples.iter().map(|s| planner::Sample { array: s.array, bounds: &s.bounds }).collect()
}

fn spec_param(spec: &BatchSpec) -> planner::BatchSpec<'_> {
    planner::BatchSpec { samples: spec.samples, shape: &spec.shape, dtype: spec.dtype.into() }
}

fn limits_param(limits: PlanLimits) -> planner::Limits {
    planner::Limits { memory_bytes: limits.memory_bytes, max_chunks: limits.max_chunks }
}

/// The samples and the missing chunks of a request, borrowed.
pub(super) fn request_lists<'a>(request: &Request<'a>) -> (Vec<planner::Sample<'a>>, Vec<planner::MissingChunk<'a>>) {
    let missing = request.missing.iter().map(|m| planner::MissingChunk { array: m.array, coords: &m.coords });
    (sample_params(request.samples), missing.collect())
}

/// A request as a parameter.
pub(super) fn request_param<'a>(
    request: &Request<'a>,
    arrays: &'a [array::ArrayParam<'a>],
    samples: &'a [planner::Sample<'a>],
    missing: &'a [planner::MissingChunk<'a>],
) -> planner::Request<'a> {
    planner::Request {
        spec: spec_param(request.spec),
        arrays,
        samples,
        missing,
        encoded_ratios: request.encoded_ratios,
        limits: limits_param(request.limits),
    }
}

impl From<planner::Plan> for Plan {
    fn from(plan: planner::Plan) -> Self {
        let planner::Plan { rank, chunks, coords, uses, use_sources, use_extents, use_targets, totals } = plan;
        let chunks = chunks.into_iter().map(Into::into).collect();
        Plan { rank, chunks, coords, uses, use_sources, use_extents, use_targets, totals: totals.into() }
    }
}

impl From<planner::Chunk> for PlannedChunk {
    fn from(chunk: planner::Chunk) -> Self {
        let planner::Chunk { array, first_use, use_count, missing } = chunk;
        PlannedChunk { array, first_use, use_count, missing }
    }
}

impl From<planner::Totals> for Totals {
    fn from(totals: planner::Totals) -> Self {
        Totals {
            elements: totals.elements,
            output_bytes: totals.output_bytes,
            batch_bytes: totals.batch_bytes,
            needed_bytes: totals.needed_bytes,
            decoded_bytes: totals.decoded_bytes,
            read_bytes: totals.read_bytes,
            largest_chunk_bytes: totals.largest_chunk_bytes,
            memory_bytes: totals.memory_bytes,
            decode_waste: totals.decode_waste,
            read_waste: totals.read_waste,
        }
    }
}
