//! `damacy_batch_spec`, `damacy_plan_limits`, `damacy_pipeline_config` -> the host's configuration.
//!
//! Zero is the default of every member. The host checks the values themselves.

use crate::foreign::{In, inval};
use crate::structs;
use crate::types;
use host::{
    BatchSpec, CpuExecutor, CpuLimits, CudaExecutor, CudaLimits, Engine, Executor, PipelineConfig, PlanLimits,
    QueueLimits, Result,
};

/// What every batch looks like.
pub fn batch_spec(spec: &In<structs::BatchSpec>) -> Result<BatchSpec> {
    let spec = spec.read("output")?;
    types::reserved(spec.reserved, "output")?;
    if spec.rank > 1 << 10 {
        return Err(inval(format!("rank of output is {}: no array has as many axes", spec.rank)));
    }
    Ok(BatchSpec {
        samples: spec.samples,
        shape: spec.shape.get(spec.rank, "shape of output")?.to_vec(),
        dtype: types::dtype(spec.dtype)?,
    })
}

/// Limits of planning.
pub fn plan_limits(limits: &In<structs::PlanLimits>) -> Result<PlanLimits> {
    let mut plan = PlanLimits::default();
    let Some(limits) = limits.read_if_any("plan limits")? else { return Ok(plan) };
    if limits.memory_bytes != 0 {
        plan.memory_bytes = limits.memory_bytes;
    }
    if let Some(deadline) = types::seconds(limits.deadline_s, "deadline_s")? {
        plan.deadline = deadline;
    }
    if limits.max_chunks != 0 {
        plan.max_chunks = limits.max_chunks;
    }
    Ok(plan)
}

/// A count, if there is one.
fn given(count: usize) -> Option<usize> {
    (count != 0).then_some(count)
}

/// Who makes batches, and within which limits.
fn executor(config: &structs::PipelineConfig) -> Result<Executor> {
    let engine = types::engine(config.engine)?;
    let (workers, output_buffers) = (given(config.workers), given(config.output_buffers));
    let Some(cuda) = config.cuda.read_if_any("cuda of config")? else {
        let chunk_cache_bytes = config.chunk_cache_bytes;
        let mut limits = CpuLimits { workers, output_buffers, chunk_cache_bytes, ..CpuLimits::default() };
        if config.max_memory_bytes != 0 {
            limits.max_memory_bytes = config.max_memory_bytes;
        }
        return Ok(CpuExecutor { engine, limits }.into());
    };
    if engine != Engine::Native {
        return Err(inval(
            "engine is DAMACY_SANDBOX, but batches on a GPU are converted there: give DAMACY_NATIVE (0)",
        ));
    }
    if config.chunk_cache_bytes != 0 {
        return Err(inval(format!(
            "chunk_cache_bytes is {}, but batches on a GPU are made without a cache: give 0",
            config.chunk_cache_bytes
        )));
    }
    let mut limits = CudaLimits { workers, output_buffers, ..CudaLimits::default() };
    if config.max_memory_bytes != 0 {
        limits.max_host_memory_bytes = config.max_memory_bytes;
    }
    if cuda.max_gpu_memory_bytes != 0 {
        limits.max_gpu_memory_bytes = cuda.max_gpu_memory_bytes;
    }
    Ok(CudaExecutor { device: types::cuda_device(cuda.choice, cuda.device)?, limits }.into())
}

/// Everything a pipeline is made of.
pub fn pipeline_config(config: &In<structs::PipelineConfig>) -> Result<PipelineConfig> {
    let config = config.read("config")?;
    Ok(PipelineConfig {
        executor: executor(&config)?,
        planner: plan_limits(&config.planner)?,
        queues: QueueLimits { lookahead_samples: given(config.lookahead_samples) },
        drop_last: types::drop_last(config.partial)?,
        pop_timeout: types::seconds(config.pop_timeout_s, "pop_timeout_s")?,
        ..PipelineConfig::new(batch_spec(&config.output)?)
    })
}
