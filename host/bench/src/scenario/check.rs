//! What the schema cannot say: values that must fit each other, and the memory. A scenario -> faults, each with the place of
//! the value to change and what is accepted there.

use super::Faults;
use super::{Codec, Engine, Executor, Format, Generate, Mode, Scenario};
use crate::crops;
use crate::dataset::layout;
use damacy::Status;
use damacy_core::cost::memory::{Sizes, decode_need, fit};
use damacy_core::metadata::ArrayMetadata;
use std::time::Duration;

/// Most bytes that a scenario may have generated, decoded.
const MAX_GENERATED: u64 = 64 << 30;
/// Most chunks.
const MAX_CHUNKS: u64 = 1 << 20;
/// Most samples of a pass.
const MAX_SAMPLES: u64 = 1_000_000;
/// Arrays that a pipeline keeps open: more would be opened again, and their chunks in the cache be forgotten.
const MAX_CACHED_ARRAYS: u64 = 1024;
/// Longest latency, and the longest that a batch is held.
const MAX_LATENCY: Duration = Duration::from_secs(10);

/// Everything that can be known before an array is opened or generated.
pub(super) fn check(scenario: &Scenario, faults: &mut Faults) {
    match (&scenario.dataset.generate, &scenario.dataset.uris) {
        (Some(generate), None) => layouts(generate, faults),
        (None, Some(_)) => {}
        (Some(_), Some(_)) if faults.fine(&["/dataset"]) => {
            faults.add("/dataset", "generate and uris were given; accepted is one of them".into());
        }
        (None, None) if faults.fine(&["/dataset"]) => {
            faults.add("/dataset", "an object without generate and uris was given; accepted is one of them".into());
        }
        _ => {}
    }
    let name = &scenario.name;
    let plain = |c: char| c.is_alphanumeric() || "-_. +".contains(c);
    if name.is_empty() || name.chars().count() > 64 || !name.chars().all(plain) {
        faults.add("/name", format!("{name:?} was given; accepted are 1 to 64 letters, digits, spaces, -, _, . and +"));
    }
    let sampling = &scenario.sampling;
    if faults.fine(&["/sampling/warmup", "/sampling/batches"]) && sampling.warmup >= sampling.batches {
        let message = format!(
            "{} was given for {} batches; accepted is a whole number from 0 to {}",
            sampling.warmup,
            sampling.batches,
            sampling.batches - 1
        );
        faults.add("/sampling/warmup", message);
    }
    if faults.fine(&["/sampling/samples", "/sampling/batches"]) && sampling.samples * sampling.batches > MAX_SAMPLES {
        let message = format!(
            "{} batches of {} samples were given; accepted are at most {MAX_SAMPLES} samples altogether",
            sampling.batches, sampling.samples
        );
        faults.add("/sampling/batches", message);
    }
    let arrays = match (&scenario.dataset.generate, &scenario.dataset.uris) {
        (Some(generate), _) => generate.arrays,
        (None, uris) => uris.as_ref().map_or(0, |uris| uris.len() as u64),
    };
    if scenario.pipeline.cache.is_some() && arrays > MAX_CACHED_ARRAYS && faults.fine(&["/dataset", "/pipeline/cache"])
    {
        let message = format!("given for {arrays} arrays; accepted is a cache for at most {MAX_CACHED_ARRAYS}");
        faults.add("/pipeline/cache", message);
    }
    if scenario.pipeline.executor == Executor::Cuda {
        if let Some(reason) = damacy::cuda_unavailable() {
            let message = format!("cuda was given; accepted is cpu: {reason}");
            faults.with_status("/pipeline/executor", message, Status::Cuda);
        }
        if scenario.pipeline.cache.is_some() && faults.fine(&["/pipeline/cache"]) {
            faults.add("/pipeline/cache", "given for the executor cuda; accepted is a cache for cpu alone".into());
        }
        if scenario.pipeline.engine == Engine::Sandbox && faults.fine(&["/pipeline/engine"]) {
            faults.add("/pipeline/engine", "sandbox was given for the executor cuda; accepted is native".into());
        }
    }
    if scenario.consumer.hold.0 > MAX_LATENCY {
        faults.add("/consumer/hold", format!("{:?} was given; accepted are 0 to 10 seconds", scenario.consumer.hold.0));
    }
    if let Some(store) = &scenario.store {
        if faults.fine(&["/store/cap"]) && store.cap.0 > MAX_LATENCY {
            faults.add("/store/cap", format!("{:?} was given; accepted are 0 to 10 seconds", store.cap.0));
        }
        if faults.fine(&["/store/cap", "/store/floor"]) && store.floor.0 > store.cap.0 {
            let message = format!("{:?} was given; accepted is at most the cap, {:?}", store.floor.0, store.cap.0);
            faults.add("/store/floor", message);
        }
    }
    if let Some(generate) = &scenario.dataset.generate
        && faults.fine(&["/dataset"])
    {
        match layout::metadata(generate) {
            Ok(arrays) => arrays_fit(scenario, &arrays, faults),
            Err(error) => faults.add("/dataset/generate", error.to_string()),
        }
    }
    // Where nothing said how much would do.
    if scenario.pipeline.memory.0 == 0 && faults.fine(&["/pipeline/memory"]) {
        let message = "0 bytes was given; accepted is enough for two batches and for decoding a chunk";
        faults.with_status("/pipeline/memory", message.into(), Status::Budget);
    }
}

fn layouts(generate: &Generate, faults: &mut Faults) {
    const AT: &str = "/dataset/generate";
    let rank = generate.shape.len();
    let same_rank = |name: &str, extents: &[u64], faults: &mut Faults| {
        let place = format!("{AT}/{name}");
        if faults.fine(&[&place, "/dataset/generate/shape"]) && extents.len() != rank {
            let message = format!("{extents:?} was given; accepted is one extent for each of the {rank} axes of shape");
            faults.add(&place, message);
        }
        faults.fine(&[&place, "/dataset/generate/shape"])
    };
    let fine = same_rank("chunks", &generate.chunks, faults);
    if let Some(shards) = &generate.shards {
        if faults.fine(&["/dataset/generate/format"]) && generate.format == Format::V2 {
            faults.add("/dataset/generate/shards", "given for v2; accepted are shards in format v3 alone".into());
        }
        if same_rank("shards", shards, faults) && fine {
            for (axis, (shard, chunk)) in shards.iter().zip(&generate.chunks).enumerate() {
                if !shard.is_multiple_of(*chunk) {
                    let message = format!("{shard} was given; accepted is a multiple of the chunk's {chunk}");
                    faults.add(&format!("{AT}/shards/{axis}"), message);
                }
            }
        }
    }
    for (index, codec) in generate.codecs.iter().enumerate() {
        let place = format!("{AT}/codecs/{index}");
        let only = match codec {
            Codec::ZstdCrc32c => Some((Format::V3, "v3")),
            Codec::Zlib | Codec::Bz2 => Some((Format::V2, "v2")),
            _ => None,
        };
        if let Some((format, name)) = only
            && format != generate.format
            && faults.fine(&["/dataset/generate/format", &place])
        {
            faults.add(&place, format!("this codec was given for another format; it is {name}'s alone"));
        }
    }
    if fine && faults.fine(&["/dataset/generate/arrays", "/dataset/generate/dtypes"]) {
        sizes(generate, faults);
    }
}

fn sizes(generate: &Generate, faults: &mut Faults) {
    let widest = generate.dtypes.iter().map(|source| source.0.width() as u64).max().unwrap_or(1);
    let product = |start: u64, extents: &[u64]| extents.iter().try_fold(start, |all, &extent| all.checked_mul(extent));
    let object = generate.shards.as_ref().filter(|shards| shards.len() == generate.shape.len());
    let object = object.unwrap_or(&generate.chunks);
    // Whole objects, as they are stored.
    let stored: Option<Vec<u64>> =
        generate.shape.iter().zip(object).map(|(extent, o)| extent.div_ceil(*o).checked_mul(*o)).collect();
    let bytes = stored.as_ref().and_then(|stored| product(generate.arrays * widest, stored));
    if bytes.is_none_or(|bytes| bytes > MAX_GENERATED) {
        let given = bytes.map_or("more than 2^64 bytes".into(), |bytes| format!("{bytes} bytes"));
        let message =
            format!("arrays of {given} altogether were given; accepted are at most {MAX_GENERATED} bytes (64 GiB)");
        faults.with_status("/dataset/generate/shape", message, Status::Budget);
        return;
    }
    let chunks = stored.and_then(|stored| {
        stored.iter().zip(&generate.chunks).try_fold(generate.arrays, |all, (s, c)| all.checked_mul(s / c.max(&1)))
    });
    if chunks.is_none_or(|chunks| chunks > MAX_CHUNKS) {
        let message =
            format!("chunks that make more than {MAX_CHUNKS} altogether were given; accepted are larger ones");
        faults.with_status("/dataset/generate/chunks", message, Status::Budget);
    }
}

/// What depends on the arrays: crops that fit, chunks enough where none is shared, memory for two batches and a decode.
pub(crate) fn arrays_fit(scenario: &Scenario, arrays: &[ArrayMetadata], faults: &mut Faults) {
    let crop = &scenario.sampling.crop;
    let Some(smallest) = smallest(arrays, crop.len()) else {
        if faults.fine(&["/sampling/crop"]) {
            let ranks: Vec<String> = arrays.iter().map(|array| array.rank().to_string()).collect();
            let message = format!(
                "{crop:?} was given; accepted is an extent for each axis of every array, which have {} axes",
                if ranks.iter().all(|rank| *rank == ranks[0]) { ranks[0].clone() } else { ranks.join(", ") }
            );
            faults.with_status("/sampling/crop", message, Status::Rank);
        }
        return;
    };
    for (axis, (extent, most)) in crop.iter().zip(&smallest).enumerate() {
        let place = format!("/sampling/crop/{axis}");
        if extent > most && faults.fine(&[&place]) {
            let message =
                format!("{extent} was given; accepted is a whole number from 1 to {most}, the array's extent");
            faults.add(&place, message);
        }
    }
    if faults.fine(&["/sampling"]) && scenario.sampling.mode == Mode::Disjoint {
        let (wanted, there) = (scenario.sampling.samples * scenario.sampling.batches, crops::disjoint(crop, arrays));
        if there < wanted {
            let message = format!(
                "{} batches of {} samples were given; accepted are at most {there} samples, since no more crops of \
                 {crop:?} share no chunk",
                scenario.sampling.batches, scenario.sampling.samples
            );
            faults.add("/sampling/batches", message);
        }
    }
    // A pipeline on a GPU is made to find out.
    if scenario.pipeline.executor == Executor::Cpu
        && faults.fine(&["/sampling/crop", "/sampling/samples", "/pipeline/memory", "/pipeline/dtype"])
        && faults.fine(&["/pipeline/cache"])
    {
        memory(scenario, arrays, faults);
    }
}

/// Memory for two batches alone, where not all arrays are known.
pub(crate) fn batches_fit(scenario: &Scenario, faults: &mut Faults) {
    let places = ["/sampling/crop", "/sampling/samples", "/pipeline/memory", "/pipeline/dtype", "/pipeline/cache"];
    if scenario.pipeline.executor != Executor::Cpu || !faults.fine(&places) {
        return;
    }
    let (sampling, dtype) = (&scenario.sampling, scenario.pipeline.dtype.0);
    let bytes = |sum: u64, &extent: &u64| sum.checked_mul(extent);
    let batch = sampling.crop.iter().try_fold(sampling.samples * dtype.width() as u64, bytes);
    let (budget, cache) = (scenario.pipeline.memory.0, scenario.pipeline.cache.map_or(0, |cache| cache.0));
    let need = batch.and_then(|batch| batch.checked_mul(2)?.checked_add(cache));
    if need.is_some_and(|need| need < budget) {
        return;
    }
    let message = match (batch, need) {
        (Some(batch), Some(need)) => format!(
            "{budget} bytes was given; accepted are more than {need} bytes: 2 x {batch} (batches of {} samples of {:?} in {dtype}){}, \
             and what decoding a chunk takes",
            sampling.samples,
            sampling.crop,
            if cache > 0 { format!(" + {cache} (cache)") } else { String::new() }
        ),
        _ => format!("{budget} bytes was given; two batches need more than 2^64 bytes: accepted are smaller batches"),
    };
    faults.with_status("/pipeline/memory", message, Status::Budget);
}

/// The least extents of all arrays; `None` if one has another rank.
fn smallest(arrays: &[ArrayMetadata], rank: usize) -> Option<Vec<u64>> {
    let same = arrays.iter().all(|array| array.rank() == rank);
    same.then(|| (0..rank).map(|axis| arrays.iter().map(|array| array.shape[axis]).min().unwrap_or(0)).collect())
}

fn memory(scenario: &Scenario, arrays: &[ArrayMetadata], faults: &mut Faults) {
    let (sampling, dtype) = (&scenario.sampling, scenario.pipeline.dtype.0);
    let width = dtype.width() as u64;
    let batch = sampling.crop.iter().try_fold(sampling.samples * width, |bytes, &extent| bytes.checked_mul(extent));
    let chunk_bytes = |array: &ArrayMetadata| {
        let width = array.source.map_or(0, |source| source.width() as u64);
        array.chunk_shape().iter().fold(width, |bytes, &extent| bytes.saturating_mul(extent))
    };
    let chunk = arrays.iter().map(chunk_bytes).max().unwrap_or(0);
    let budget = scenario.pipeline.memory.0;
    let cache = scenario.pipeline.cache.map_or(0, |cache| cache.0);
    let memory_bytes = budget.saturating_sub(cache);
    let sizes = batch.map(|batch_bytes| Sizes { batch_bytes, workers: 1, max_buffers: 2, memory_bytes });
    if sizes.is_some_and(|sizes| fit(&sizes, decode_need(chunk), 0).is_some()) {
        return;
    }
    let decode = decode_need(chunk);
    let need = batch.and_then(|batch| batch.checked_mul(2)?.checked_add(decode)?.checked_add(cache));
    let kept = if cache > 0 { format!(" + {cache} (cache)") } else { String::new() };
    let message = match (batch, need) {
        (Some(batch), Some(need)) => format!(
            "{budget} bytes was given; accepted are {need} bytes or more: 2 x {batch} (batches of {} samples of {:?} in \
             {dtype}) + {decode} (decoding a chunk of {chunk} bytes){kept}",
            sampling.samples, sampling.crop
        ),
        _ => format!("{budget} bytes was given; two batches need more than 2^64 bytes: accepted are smaller batches"),
    };
    faults.with_status("/pipeline/memory", message, Status::Budget);
}
