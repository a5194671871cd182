//! The cost model's types: a job borrows into parameters, a report moves out of results.

use super::super::bindings::exports::damacy::core::{cost as wit, metadata as array, planner};
use crate::cost::{Advise, Report};
use crate::{Dtype, Status};
use damacy_core::cost::memory::{DeviceMemory, HostMemory};
use damacy_core::cost::{
    Certainty, CostRequest, Crops, Encoded, Estimate, Layout, LayoutAdvice, LookAheadAdvice, Step,
};
use damacy_core::error::Error;

same_cases!(Certainty, wit::Certainty, [Exact Expected Approximate]);

/// The boxes of a job, borrowed; none if its crops are drawn.
pub(in crate::sandbox) fn samples<'a>(request: &CostRequest<'a>) -> Vec<planner::Sample<'a>> {
    match request.crops {
        Crops::Boxes(samples) => super::sample_params(samples),
        Crops::Uniform | Crops::Grid(_) => Vec::new(),
    }
}

/// The encoded sizes of a job, borrowed.
pub(in crate::sandbox) fn encoded<'a>(request: &CostRequest<'a>) -> Vec<wit::Encoded<'a>> {
    let param = |encoded: &'a Encoded| match encoded {
        Encoded::Unknown => wit::Encoded::Unknown,
        Encoded::Ratio(ratio) => wit::Encoded::Ratio(*ratio),
        Encoded::Chunks(sizes) => wit::Encoded::Chunks(sizes),
    };
    request.encoded.iter().map(param).collect()
}

/// A job as a parameter.
pub(in crate::sandbox) fn request<'a>(
    request: &CostRequest<'a>,
    arrays: &'a [array::ArrayParam<'a>],
    samples: &'a [planner::Sample<'a>],
    encoded: &'a [wit::Encoded<'a>],
    advise: Advise,
) -> wit::Request<'a> {
    wit::Request {
        spec: super::spec_param(request.spec),
        arrays,
        crops: match request.crops {
            Crops::Boxes(_) => wit::Crops::Boxes(samples),
            Crops::Uniform => wit::Crops::Uniform,
            Crops::Grid(stride) => wit::Crops::Grid(stride),
        },
        weights: request.weights,
        encoded,
        window: request.window,
        workers: request.workers,
        memory_bytes: request.memory_bytes,
        chunk_cache_bytes: request.chunk_cache_bytes,
        limits: super::limits_param(request.limits),
        advise_layout: advise.layout,
        advise_look_ahead: advise.lookahead,
    }
}

impl TryFrom<wit::Report> for Report {
    type Error = Error;

    /// Refuses a report without exactly one output size for each output type: they are told apart by position.
    fn try_from(report: wit::Report) -> Result<Self, Error> {
        const TYPES: usize = Dtype::ALL.len();
        let output_bytes: [u64; TYPES] = report.output_bytes.try_into().map_err(|sizes: Vec<u64>| {
            let message = format!("the sandbox gave {} output sizes for {TYPES} output types", sizes.len());
            Error::new(Status::Internal, message)
        })?;
        let wit::HostMemory {
            batch_bytes,
            buffers,
            decode_bytes,
            workers,
            plan_bytes,
            cache_bytes,
            total_bytes,
            least_bytes,
        } = report.host;
        let host = HostMemory {
            batch_bytes,
            buffers,
            decode_bytes,
            workers,
            plan_bytes,
            cache_bytes,
            total_bytes,
            least_bytes,
        };
        let wit::DeviceMemory { output_bytes: batches, staging_bytes, table_bytes, total_bytes } = report.device;
        let device = DeviceMemory { output_bytes: batches, staging_bytes, table_bytes, total_bytes };
        let estimate = Estimate {
            certainty: report.certainty.into(),
            samples: report.samples,
            windows: report.windows,
            elements: report.elements,
            output_bytes,
            needed_bytes: report.needed_bytes,
            uses: report.uses,
            chunks: report.chunks,
            objects: report.objects,
            decoded_bytes: report.decoded_bytes,
            read_bytes: report.read_bytes,
            largest_chunk_bytes: report.largest_chunk_bytes,
            decode_waste: report.decode_waste,
            use_waste: report.use_waste,
            read_waste: report.read_waste,
            host,
            device,
        };
        let layout = report.layout.map(TryInto::try_into).transpose()?;
        Ok(Report { estimate, layout, lookahead: report.look_ahead.map(Into::into) })
    }
}

impl TryFrom<wit::Layout> for Layout {
    type Error = Error;

    /// Refuses levels that are none or of several ranks: shapes of chunk and object are lent with one rank.
    fn try_from(layout: wit::Layout) -> Result<Self, Error> {
        let wit::Layout { levels, chunk_bytes, uses_per_sample, chunks, objects, decode_waste } = layout;
        if levels.is_empty() || levels.iter().any(|level| level.len() != levels[0].len()) {
            let message =
                "the sandbox's guest answered a layout without a chunk shape, or with shapes of several ranks";
            return Err(Error::new(Status::Internal, message));
        }
        Ok(Layout { levels, chunk_bytes, uses_per_sample, chunks, objects, decode_waste })
    }
}

impl TryFrom<wit::LayoutAdvice> for LayoutAdvice {
    type Error = Error;

    fn try_from(advice: wit::LayoutAdvice) -> Result<Self, Error> {
        let wit::LayoutAdvice { array, current, best } = advice;
        Ok(LayoutAdvice { array, current: current.try_into()?, best: best.try_into()? })
    }
}

impl From<wit::LookAheadAdvice> for LookAheadAdvice {
    fn from(advice: wit::LookAheadAdvice) -> Self {
        let wit::LookAheadAdvice { enough, most, steps } = advice;
        let steps = steps.into_iter().map(|wit::Step { samples, decode_waste }| Step { samples, decode_waste });
        LookAheadAdvice { enough, most, steps: steps.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_has_chunks_of_one_rank() {
        let layout = |levels: &[&[u64]]| wit::Layout {
            levels: levels.iter().map(|level| level.to_vec()).collect(),
            chunk_bytes: 8,
            uses_per_sample: 1.0,
            chunks: 1.0,
            objects: 1.0,
            decode_waste: 1.0,
        };
        assert!(Layout::try_from(layout(&[&[4, 4], &[2, 2]])).is_ok());
        for wrong in [layout(&[]), layout(&[&[4], &[2, 2]])] {
            assert_eq!(Layout::try_from(wrong).expect_err("no layout").status, Status::Internal);
        }
    }
}
