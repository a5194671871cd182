//! `cost`: a job in, its price and the advice that was asked for out.

use super::Component;
use super::types::same_cases;
use super::wit::cost::{self as wit, Guest};
use crate::cost::memory::{DeviceMemory, HostMemory};
use crate::cost::{
    Certainty, CostRequest, Crops, Encoded, Estimate, Layout, LayoutAdvice, LookAheadAdvice, Step, advise_layout,
    advise_lookahead, estimate,
};
use crate::planner::{BatchSpec, PlanLimits, SampleBox};

same_cases!(Certainty, wit::Certainty, [Exact Expected Approximate]);

impl Guest for Component {
    fn estimate(request: wit::Request) -> Result<wit::Report, wit::Error> {
        let wit::BatchSpec { samples, shape, dtype } = request.spec;
        let spec = BatchSpec { samples, shape, dtype: dtype.into() };
        let arrays: Vec<_> = request.arrays.into_iter().map(Into::into).collect();
        let encoded: Vec<_> = request.encoded.into_iter().map(Into::into).collect();
        let boxes: Vec<SampleBox>;
        let crops = match request.crops {
            wit::Crops::Boxes(samples) => {
                boxes = samples.into_iter().map(|s| SampleBox { array: s.array, bounds: s.bounds }).collect();
                Crops::Boxes(&boxes)
            }
            wit::Crops::Uniform => Crops::Uniform,
            wit::Crops::Grid(ref stride) => Crops::Grid(stride),
        };
        let job = CostRequest {
            spec: &spec,
            arrays: &arrays,
            crops,
            weights: &request.weights,
            encoded: &encoded,
            window: request.window,
            workers: request.workers,
            memory_bytes: request.memory_bytes,
            chunk_cache_bytes: request.chunk_cache_bytes,
            limits: PlanLimits { memory_bytes: request.limits.memory_bytes, max_chunks: request.limits.max_chunks },
        };
        let cost = estimate(&job)?;
        let layout = request.advise_layout.map(|array| advise_layout(&job, array)).transpose()?;
        let look_ahead = request.advise_look_ahead.then(|| advise_lookahead(&job)).transpose()?;
        Ok(report(cost, layout, look_ahead))
    }
}

fn report(cost: Estimate, layout: Option<LayoutAdvice>, look_ahead: Option<LookAheadAdvice>) -> wit::Report {
    let HostMemory { batch_bytes, buffers, decode_bytes, workers, plan_bytes, cache_bytes, total_bytes, least_bytes } =
        cost.host;
    let host = wit::HostMemory {
        batch_bytes,
        buffers,
        decode_bytes,
        workers,
        plan_bytes,
        cache_bytes,
        total_bytes,
        least_bytes,
    };
    let DeviceMemory { output_bytes, staging_bytes, table_bytes, total_bytes } = cost.device;
    wit::Report {
        certainty: cost.certainty.into(),
        samples: cost.samples,
        windows: cost.windows,
        elements: cost.elements,
        output_bytes: cost.output_bytes.into(),
        needed_bytes: cost.needed_bytes,
        uses: cost.uses,
        chunks: cost.chunks,
        objects: cost.objects,
        decoded_bytes: cost.decoded_bytes,
        read_bytes: cost.read_bytes,
        largest_chunk_bytes: cost.largest_chunk_bytes,
        decode_waste: cost.decode_waste,
        use_waste: cost.use_waste,
        read_waste: cost.read_waste,
        host,
        device: wit::DeviceMemory { output_bytes, staging_bytes, table_bytes, total_bytes },
        layout: layout.map(|advice| wit::LayoutAdvice {
            array: advice.array,
            current: advice.current.into(),
            best: advice.best.into(),
        }),
        look_ahead: look_ahead.map(|advice| wit::LookAheadAdvice {
            enough: advice.enough,
            most: advice.most,
            steps: advice
                .steps
                .into_iter()
                .map(|Step { samples, decode_waste }| wit::Step { samples, decode_waste })
                .collect(),
        }),
    }
}

impl From<wit::Encoded> for Encoded {
    fn from(encoded: wit::Encoded) -> Self {
        match encoded {
            wit::Encoded::Unknown => Encoded::Unknown,
            wit::Encoded::Ratio(ratio) => Encoded::Ratio(ratio),
            wit::Encoded::Chunks(sizes) => Encoded::Chunks(sizes),
        }
    }
}

impl From<Layout> for wit::Layout {
    fn from(layout: Layout) -> Self {
        let Layout { levels, chunk_bytes, uses_per_sample, chunks, objects, decode_waste } = layout;
        wit::Layout { levels, chunk_bytes, uses_per_sample, chunks, objects, decode_waste }
    }
}
