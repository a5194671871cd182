//! `damacy-device-check`: checks and measures the GPU it finds, prints tables, writes JSON.
//!
//! Exit status: 0 when every check passed, 1 when one did not, 2 when there is no GPU to check.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use damacy_core::{Dtype, SourceType};
use damacy_cuda::{Arena, Assembler, Device, DeviceChoice, Module, PTX, Result, StagingRing};
use damacy_device_check::measure::Sizes;
use damacy_device_check::report::Report;
use damacy_device_check::vectors::{check_pairs, check_sums};
use damacy_device_check::{assembly, assembly_rates, flat, jobs, upload};
use damacy_suite::gpu::Job;
use serde_json::json;

/// Check and measure damacy on a GPU.
#[derive(Debug, Parser)]
struct Options {
    /// The device's index
    #[arg(long, default_value_t = 0)]
    device: u32,
    /// Where to write the results as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// Random batches for each output type
    #[arg(long, default_value_t = 100)]
    jobs: u64,
    /// A sample of a random batch has 2 to the power of this elements at the most
    #[arg(long, default_value_t = 17, value_parser = clap::value_parser!(u32).range(0..=20))]
    job_bits: u32,
    /// Mebibytes read and written in each measurement
    #[arg(long, default_value_t = 1024)]
    traffic_mib: usize,
    /// Windows of 32 MiB to upload
    #[arg(long, default_value_t = 40)]
    windows: usize,
    /// Only check: no measurements
    #[arg(long)]
    no_measurements: bool,
    /// Small sizes that a machine without a GPU gets through, to try the program out; its rates mean nothing
    #[arg(long)]
    rehearse: bool,
}

/// Elements by which sources and outputs of the vectors are moved from where allocations start.
const SHIFTS: [(usize, usize); 6] = [(0, 0), (1, 0), (0, 1), (3, 5), (8, 8), (7, 15)];

fn main() -> ExitCode {
    let mut options = Options::parse();
    if options.rehearse {
        (options.jobs, options.job_bits) = (2, 9);
    }
    let mut report = Report::new(options.json.clone());
    let code = match Device::open(DeviceChoice::Index(options.device)) {
        Err(error) => {
            println!("{error}");
            report.json["error"] = json!(error.to_string());
            2
        }
        Ok(device) => {
            // Every error was reported with its part; this one ended the run.
            let _ = run(&device, &options, &mut report);
            u8::from(!report.finish())
        }
    };
    if report.save() { ExitCode::from(code) } else { ExitCode::from(1) }
}

/// What matters most comes first; the limits are a multiple of what the parts should take, and together less than run.sh's.
fn run(device: &Device, options: &Options, report: &mut Report) -> Result<()> {
    let seconds = |seconds| Duration::from_secs(if options.rehearse { 3600 } else { seconds });
    report.part("the device", seconds(10), |report, _| facts(device, report))?;
    report.part("vectors", seconds(40), |report, _| {
        let shifts = if options.rehearse { &SHIFTS[..1] } else { &SHIFTS[..] };
        report.check("vectors of the 100 pairs", check_pairs(device, shifts)?);
        report.check("every bit pattern of the 8- and 16-bit sources", check_sums(device)?);
        Ok(())
    })?;
    report.part("random batches", seconds(25), |report, until| check_jobs(device, options, report, until))?;
    if options.no_measurements {
        return Ok(());
    }
    let full = Sizes::full(options.traffic_mib << 20, options.windows);
    let sizes = if options.rehearse { Sizes::rehearsal() } else { full };
    report.part(
        "flat conversion: bandwidth (read + written) over that of a device-to-device copy",
        seconds(25),
        |report, until| measure_flat(device, &sizes, report, until),
    )?;
    report.part(
        "assembly: bandwidth (boxes read + written) over that of a device-to-device copy",
        seconds(40),
        |report, until| measure_assembly(device, &sizes, report, until),
    )?;
    report.part("upload of uint16 chunks of 64^3, beside assembly into float32", seconds(20), |report, _| {
        measure_upload(device, &sizes, report)
    })?;
    report.part("loading kernels", seconds(20), |report, until| measure_loading(device, report, until))
}

fn facts(device: &Device, report: &mut Report) -> Result<()> {
    let (major, minor) = device.compute_capability();
    let version = damacy_cuda::driver_version()?;
    println!(
        "{} (device {}, compute capability {major}.{minor}, {} multiprocessors, {} MiB, {} copy engines), driver for CUDA \
         {}.{}, PCI {}, NUMA {:?}",
        device.name(),
        device.index(),
        device.multiprocessors(),
        device.total_memory() >> 20,
        device.copy_engines(),
        version / 1000,
        version % 1000 / 10,
        device.pci_bus_id(),
        device.numa(),
    );
    report.json["device"] = json!({
        "name": device.name(), "index": device.index(), "compute_capability": [major, minor],
        "multiprocessors": device.multiprocessors(), "memory_bytes": device.total_memory(),
        "copy_engines": device.copy_engines(), "driver_version": version, "pci": device.pci_bus_id(),
        "numa_node": device.numa().node,
    });
    Ok(())
}

/// Seconds to load one kernel, as a pipeline does, and all of them. The driver keeps what it compiled, so the first time
/// counts only where it has not seen these kernels before.
fn measure_loading(device: &Device, report: &mut Report, until: Instant) -> Result<()> {
    let mut rounds = Vec::new();
    for round in ["first", "again"] {
        if Instant::now() > until {
            break;
        }
        let timed = |load: &dyn Fn() -> Result<()>| {
            let start = Instant::now();
            load().map(|()| start.elapsed().as_secs_f64())
        };
        let all = timed(&|| Module::load(device, PTX).map(drop))?;
        let one = timed(&|| Assembler::new(device, Dtype::F32).map(drop))?;
        println!("         {round}: all 110 entries {all:.3} s, one assembly entry (seen before) {one:.3} s");
        rounds.push(json!({ "round": round, "all_seconds": all, "assembly_seconds": one }));
    }
    report.count("rounds of loading", rounds.len(), 2);
    report.json["loading"] = json!(rounds);
    Ok(())
}

/// Random batches of each output type, against the CPU's rules.
fn check_jobs(device: &Device, options: &Options, report: &mut Report, until: Instant) -> Result<()> {
    let (mut compared, mut wrong, mut done) = (0, Vec::new(), 0);
    let staging = StagingRing::new(device, 4, 256 << 10)?;
    let mut made = Vec::new();
    for output in Dtype::ALL {
        let assembler = Assembler::new(device, output)?;
        let arena = Arena::new(assembler.copy_stream(), if options.rehearse { 16 << 20 } else { 128 << 20 })?;
        made.push((assembler, arena));
    }
    // In turns, so that no type is left out if time is short.
    for seed in 0..options.jobs {
        for (assembler, arena) in &made {
            if Instant::now() > until {
                break;
            }
            let job = Job::in_type(seed << 8 | assembler.output() as u64, assembler.output(), options.job_bits);
            let (elements, equal) = jobs::check(&job, assembler, arena, &staging)?;
            (compared, done) = (compared + elements, done + 1);
            if !equal {
                wrong.push(job.to_string());
            }
        }
    }
    report.check("random batches", (compared, wrong));
    report.count("random batches", done, options.jobs as usize * Dtype::ALL.len());
    Ok(())
}

fn measure_flat(device: &Device, sizes: &Sizes, report: &mut Report, until: Instant) -> Result<()> {
    let rates = flat(device, sizes, until)?;
    report.count("pairs", rates.len(), 100);
    print!("{:>8}", "");
    Dtype::ALL.iter().for_each(|output| print!("{:>7}", output.short_name()));
    for source in SourceType::ALL {
        print!("\n{:>8}", source.short_name());
        rates.iter().filter(|rate| rate.source == source).for_each(|rate| print!("{:7.2}", rate.ratio()));
    }
    let copies: Vec<f64> = rates.iter().map(|rate| rate.copy_gigabytes_per_second).collect();
    let (least, most) = (copies.iter().copied().fold(f64::MAX, f64::min), copies.iter().copied().fold(0.0, f64::max));
    println!("\n         the copy: {least:.0} to {most:.0} GB/s");
    let rows = rates.iter().map(|rate| {
        json!({
            "source": rate.source.short_name(), "output": rate.output.short_name(), "ratio": rate.ratio(),
            "gigabytes_per_second": rate.gigabytes_per_second,
            "copy_gigabytes_per_second": rate.copy_gigabytes_per_second,
        })
    });
    report.json["flat"] = rows.collect();
    Ok(())
}

fn measure_assembly(device: &Device, sizes: &Sizes, report: &mut Report, until: Instant) -> Result<()> {
    let sources = [SourceType::U8, SourceType::U16, SourceType::F32];
    let mut rates = Vec::new();
    for output in Dtype::ALL {
        rates.extend(assembly(device, output, &sources, sizes, until)?);
    }
    report.count("assemblies", rates.len(), Dtype::ALL.len() * assembly_rates(sources.len()));
    print!("{:41}", "");
    Dtype::ALL.iter().for_each(|output| print!("{:>7}", output.short_name()));
    let mut lines: Vec<(&str, SourceType)> = rates.iter().map(|rate| (rate.shape, rate.source)).collect();
    let mut seen = std::collections::HashSet::new();
    lines.retain(|line| seen.insert(*line));
    for (shape, source) in lines {
        print!("\n{shape:>36}{:>5}", source.short_name());
        rates
            .iter()
            .filter(|rate| (rate.shape, rate.source) == (shape, source))
            .for_each(|rate| print!("{:7.2}", rate.ratio()));
    }
    println!();
    let rows = rates.iter().map(|rate| {
        json!({
            "shape": rate.shape, "source": rate.source.short_name(), "output": rate.output.short_name(),
            "boxes": rate.boxes, "ratio": rate.ratio(), "gigabytes_per_second": rate.gigabytes_per_second,
            "copy_gigabytes_per_second": rate.copy_gigabytes_per_second,
        })
    });
    report.json["assembly"] = rows.collect();
    Ok(())
}

fn measure_upload(device: &Device, sizes: &Sizes, report: &mut Report) -> Result<()> {
    let rate = upload(device, sizes)?;
    println!(
        "         {} MiB: upload {:.1} GB/s ({:.3} s; {:.3} s with the host filling each slot), assembly {:.3} s, both \
         {:.3} s: overlap {:.2}",
        rate.bytes >> 20,
        rate.gigabytes_per_second(),
        rate.upload_seconds,
        rate.staged_seconds,
        rate.assembly_seconds,
        rate.both_seconds,
        rate.overlap()
    );
    report.json["upload"] = json!({
        "bytes": rate.bytes, "upload_seconds": rate.upload_seconds, "staged_seconds": rate.staged_seconds,
        "assembly_seconds": rate.assembly_seconds, "both_seconds": rate.both_seconds,
        "gigabytes_per_second": rate.gigabytes_per_second(), "overlap": rate.overlap(),
    });
    Ok(())
}
