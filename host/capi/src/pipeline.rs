//! `damacy_pipeline`: create, push, pop, close, destroy.

use crate::batch::Batch;
use crate::config;
use crate::foreign::{In, Out, Slot};
use crate::guard;
use crate::handles::{Handle, Table};
use crate::samples;
use crate::source;
use crate::structs::{PipelineConfig, Sample, SampleSource, Stats};
use crate::types;
use host::Pipeline;

static PIPELINES: Table<Pipeline> = Table::new("pipeline");

type PipelineHandle = Handle<Pipeline>;

#[unsafe(no_mangle)]
extern "C" fn damacy_pipeline_create(config: In<PipelineConfig>, pipeline: Slot<PipelineHandle>) -> i32 {
    guard::call(|| {
        pipeline.put(Handle::NULL, "pipeline")?;
        let made = Pipeline::new(config::pipeline_config(&config)?)?;
        pipeline.put(PIPELINES.insert(made), "pipeline")
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_cuda_device_count(count: Slot<u32>) -> i32 {
    guard::call(|| {
        count.put(0, "count")?;
        count.put(host::cuda_device_count()?, "count")
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_pipeline_close(pipeline: PipelineHandle) -> i32 {
    guard::call(|| {
        PIPELINES.get(pipeline)?.close();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_pipeline_destroy(pipeline: PipelineHandle) -> i32 {
    guard::call(|| {
        if !pipeline.is_null()
            && let Some(pipeline) = PIPELINES.release(pipeline)?
        {
            // Calls that are under way hold it too: they end now, and the last of them drops it.
            pipeline.close();
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_push(pipeline: PipelineHandle, samples: In<Sample>, count: usize) -> i32 {
    guard::call(|| {
        let pipeline = PIPELINES.get(pipeline)?;
        let samples = samples::all(&samples, count)?;
        pipeline.push(Box::new(samples.into_iter().map(Ok)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_push_source(pipeline: PipelineHandle, source: In<SampleSource>) -> i32 {
    guard::call(|| source::push(&*PIPELINES.get(pipeline)?, &source))
}

#[unsafe(no_mangle)]
extern "C" fn damacy_pop(pipeline: PipelineHandle, timeout_s: f64, batch: Slot<Handle<Batch>>) -> i32 {
    guard::call(|| {
        batch.put(Handle::NULL, "batch")?;
        let timeout = types::timeout(timeout_s)?;
        let popped = PIPELINES.get(pipeline)?.pop(timeout)?;
        batch.put(Batch::handle(popped), "batch")
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_next(pipeline: PipelineHandle, timeout_s: f64, batch: Slot<Handle<Batch>>) -> i32 {
    guard::call(|| {
        batch.put(Handle::NULL, "batch")?;
        let timeout = types::timeout(timeout_s)?;
        match PIPELINES.get(pipeline)?.next_batch(timeout)? {
            Some(popped) => batch.put(Batch::handle(popped), "batch"),
            None => Ok(()),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_pipeline_stats(pipeline: PipelineHandle, stats: Out<Stats>) -> i32 {
    guard::call(|| {
        let stats = stats.check("stats")?;
        let now = PIPELINES.get(pipeline)?.stats();
        stats.fill(Stats {
            struct_size: 0,
            batches: now.batches,
            samples: now.samples,
            dropped_samples: now.dropped_samples,
            windows: now.windows,
            chunks_decoded: now.chunks_decoded,
            decodes_avoided: now.decodes_avoided,
            chunks_missing: now.chunks_missing,
            read_bytes: now.read_bytes,
            index_bytes: now.index_bytes,
            decoded_bytes: now.decoded_bytes,
            needed_bytes: now.needed_bytes,
            output_bytes: now.output_bytes,
            buffers: now.buffers,
            buffers_held: now.buffers_held,
            memory_bytes: now.memory_bytes,
            peak_memory_bytes: now.peak_memory_bytes,
            plan_s: now.plan_time.as_secs_f64(),
            read_s: now.read_time.as_secs_f64(),
            decode_s: now.decode_time.as_secs_f64(),
            convert_s: now.convert_time.as_secs_f64(),
            wait_s: now.wait_time.as_secs_f64(),
            cache_hits: now.cache_hits,
            cache_bytes: now.cache_bytes,
            allocated_bytes: now.allocated_bytes,
            allocate_s: now.allocate_time.as_secs_f64(),
            upload_bytes: now.upload_bytes,
            upload_wait_s: now.upload_wait_time.as_secs_f64(),
            gpu_memory_bytes: now.gpu_memory_bytes,
            peak_gpu_memory_bytes: now.peak_gpu_memory_bytes,
            chunks_shared: now.chunks_shared,
        });
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_pipeline_reset_stats(pipeline: PipelineHandle) -> i32 {
    guard::call(|| {
        PIPELINES.get(pipeline)?.reset_stats();
        Ok(())
    })
}
