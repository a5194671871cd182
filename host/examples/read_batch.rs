//! Reads one batch of random-access crops. For a volume of three axes, in the repository's root:
//!
//!     cargo run --release --locked --example read_batch -- volume.zarr 0,64 0,128 0,128
//!
//! Ends with 0, with 2 for wrong usage, or with 10 + the status of an error, as the command line does.

use damacy::{BatchSpec, Dtype, Pipeline, PipelineConfig, Sample};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some((uri, bounds)) = arguments() else {
        eprintln!("usage: read_batch ARRAY START,STOP [START,STOP ...]");
        return ExitCode::from(2);
    };
    match read(uri, bounds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", error.status());
            ExitCode::from(10 + error.status() as u8)
        }
    }
}

/// Reads a batch of two crops as float32, and prints its first element.
fn read(uri: String, bounds: Vec<(u64, u64)>) -> damacy::Result<()> {
    let shape = bounds.iter().map(|(start, stop)| stop - start).collect();
    let pipeline = Pipeline::new(PipelineConfig::new(BatchSpec { samples: 2, shape, dtype: Dtype::F32 }))?;
    let sample = Sample { uri: uri.into(), bounds, tag: None };
    pipeline.push(Box::new([Ok(sample.clone()), Ok(sample)].into_iter()))?;
    let batch = pipeline.pop(None)?;
    let first = f32::from_ne_bytes(*batch.bytes().first_chunk().expect("a batch has an element"));
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
