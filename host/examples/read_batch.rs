//! Reads one batch of random-access crops: `cargo run --release --example read_batch -- ARRAY START,STOP [START,STOP ...]`.
//!
//! For a volume of three axes: `... --example read_batch -- volume.zarr 0,64 0,128 0,128`.

use damacy::{BatchSpec, Dtype, Pipeline, PipelineConfig, Sample};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (uri, bounds) = arguments().ok_or("usage: read_batch ARRAY START,STOP [START,STOP ...]")?;

    // A batch of two crops, as float32.
    let shape = bounds.iter().map(|(start, stop)| stop - start).collect();
    let pipeline = Pipeline::new(PipelineConfig::new(BatchSpec { samples: 2, shape, dtype: Dtype::F32 }))?;
    let sample = Sample { uri: uri.into(), bounds, tag: None };
    pipeline.push(Box::new([Ok(sample.clone()), Ok(sample)].into_iter()))?;
    let batch = pipeline.pop(None)?;
    let first = f32::from_ne_bytes(batch.bytes()[..4].try_into()?);
    println!("shape {:?}, {} bytes, first element {first}", batch.info().shape, batch.info().nbytes);
    Ok(())
}

/// The array and a `(start, stop)` for each axis.
fn arguments() -> Option<(String, Vec<(u64, u64)>)> {
    let mut arguments = std::env::args().skip(1);
    let uri = arguments.next()?;
    let bounds = arguments.map(|pair| {
        let (start, stop) = pair.split_once(',')?;
        let (start, stop) = (start.parse().ok()?, stop.parse().ok()?);
        (start < stop).then_some((start, stop))
    });
    Some((uri, bounds.collect::<Option<_>>()?))
}
