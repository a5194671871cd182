//! A scenario -> the configuration of its pipeline.

use crate::failure::Result;
use crate::machine;
use crate::scenario::{Engine, Executor, Scenario};
use damacy::{BatchSpec, CpuExecutor, CpuLimits, CudaExecutor, CudaLimits, Pipeline, PipelineConfig, QueueLimits};

/// Worker threads.
pub(super) fn threads(scenario: &Scenario) -> u64 {
    scenario.pipeline.threads.unwrap_or_else(machine::cores)
}

/// Bytes of the chunk cache.
pub(super) fn cache(scenario: &Scenario) -> u64 {
    scenario.pipeline.cache.map_or(0, |cache| cache.0)
}

/// What every batch looks like.
pub(super) fn output(scenario: &Scenario) -> BatchSpec {
    let sampling = &scenario.sampling;
    BatchSpec { samples: sampling.samples, shape: sampling.crop.clone(), dtype: scenario.pipeline.dtype.0 }
}

/// All of it but the model of a slow store.
pub(super) fn config(scenario: &Scenario) -> PipelineConfig {
    let memory = scenario.pipeline.memory.0;
    let workers = Some(threads(scenario) as usize);
    let executor = match scenario.pipeline.executor {
        Executor::Cpu => {
            let engine = match scenario.pipeline.engine {
                Engine::Native => damacy::Engine::Native,
                Engine::Sandbox => damacy::Engine::Sandbox,
            };
            let chunk_cache_bytes = cache(scenario);
            let limits = CpuLimits { max_memory_bytes: memory, workers, output_buffers: None, chunk_cache_bytes };
            CpuExecutor { engine, limits }.into()
        }
        Executor::Cuda => {
            let limits = CudaLimits {
                max_gpu_memory_bytes: memory,
                max_host_memory_bytes: memory,
                workers,
                output_buffers: None,
            };
            CudaExecutor { device: None, limits }.into()
        }
    };
    PipelineConfig {
        executor,
        queues: QueueLimits { lookahead_samples: scenario.pipeline.lookahead.map(|ahead| ahead as usize) },
        ..PipelineConfig::new(output(scenario))
    }
}

/// Makes the pipeline of a scenario for the GPU, and closes it again: whether its driver works and its memory is enough.
///
/// # Errors
/// Those of the pipeline.
pub fn try_gpu(scenario: &Scenario) -> Result<()> {
    if scenario.pipeline.executor == Executor::Cuda {
        let pipeline = Pipeline::new(config(scenario))
            .map_err(|error| crate::failure::Failure::from(error).about(&scenario.name))?;
        pipeline.close();
    }
    Ok(())
}
