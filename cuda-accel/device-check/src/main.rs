//! `damacy-device-check`: checks and measures the GPU it finds, prints tables, writes JSON.
//!
//! Exit status: 0 when every check passed, 1 when one did not, 2 when there is no GPU to check.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use damacy_core::{Dtype, SourceType};
use damacy_cuda::{ALIGNMENT, Arena, Assembler, Device, DeviceChoice, Module, PTX, Result, StagingRing};
use damacy_device_check::jobs::Job;
use damacy_device_check::measure::Sizes;
use damacy_device_check::random::Random;
use damacy_device_check::vectors::{check_pairs, check_sums};
use damacy_device_check::{assembly, flat, upload};
use serde_json::{Value, json};

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
    /// Elements of a random batch, about
    #[arg(long, default_value_t = 200_000)]
    job_elements: u64,
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
        (options.jobs, options.job_elements) = (2, 500);
    }
    let path = options.json.clone();
    let mut report = Report { json: json!({}), failures: Vec::new(), started: Instant::now(), path };
    let code = match Device::open(DeviceChoice::Index(options.device)) {
        Err(error) => {
            println!("{error}");
            report.json["error"] = json!(error.to_string());
            2
        }
        Ok(device) => {
            if let Err(error) = run(&device, &options, &mut report) {
                report.failures.push(error.to_string());
            }
            report.finish()
        }
    };
    if report.save() { ExitCode::from(code) } else { ExitCode::from(1) }
}

/// What was found so far.
struct Report {
    json: Value,
    failures: Vec<String>,
    started: Instant,
    path: Option<PathBuf>,
}

impl Report {
    /// Prints and keeps a check's outcome.
    fn check(&mut self, name: &str, (compared, wrong): (u64, Vec<String>)) {
        let verdict = if wrong.is_empty() { "ok" } else { "WRONG" };
        println!("{:6.1} s  {name}: {compared} elements, {verdict}", self.started.elapsed().as_secs_f64());
        for text in wrong.iter().take(20) {
            println!("          {text}");
        }
        self.json["checks"][name] = json!({ "elements": compared, "wrong": wrong });
        self.failures.extend(wrong.first().map(|text| format!("{name}: {text}")));
        self.save();
    }

    /// Writes the JSON as it is so far: a run that is stopped keeps what it has measured. False if that fails.
    fn save(&self) -> bool {
        let Some(path) = &self.path else { return true };
        let written = std::fs::write(path, format!("{:#}\n", self.json));
        if let Err(error) = &written {
            println!("{}: {error}", path.display());
        }
        written.is_ok()
    }

    fn section(&self, name: &str) {
        println!("\n{:6.1} s  {name}", self.started.elapsed().as_secs_f64());
    }

    fn finish(&mut self) -> u8 {
        let seconds = self.started.elapsed().as_secs_f64();
        self.json["seconds"] = json!(seconds);
        self.json["failures"] = json!(self.failures);
        println!("\n{seconds:6.1} s  {}", if self.failures.is_empty() { "all checks passed" } else { "FAILED" });
        for failure in &self.failures {
            println!("          {failure}");
        }
        u8::from(!self.failures.is_empty())
    }
}

fn run(device: &Device, options: &Options, report: &mut Report) -> Result<()> {
    facts(device, report)?;
    report.check("vectors of the 100 pairs", check_pairs(device, if options.rehearse { &[(0, 0)] } else { &SHIFTS })?);
    report.check("every bit pattern of the 8- and 16-bit sources", check_sums(device)?);
    let jobs = check_jobs(device, options.jobs, options.job_elements)?;
    report.check("random batches", jobs);
    if options.no_measurements {
        return Ok(());
    }
    let full = Sizes::full(options.traffic_mib << 20, options.windows);
    let sizes = if options.rehearse { Sizes::rehearsal() } else { full };
    measure_flat(device, &sizes, report)?;
    report.save();
    measure_assembly(device, &sizes, report)?;
    report.save();
    measure_upload(device, &sizes, report)
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
    let mut load = Vec::new();
    for round in ["first", "again"] {
        let start = Instant::now();
        drop(Module::load(device, PTX)?);
        let all = start.elapsed().as_secs_f64();
        let start = Instant::now();
        drop(Assembler::new(device, Dtype::F32)?);
        let one = start.elapsed().as_secs_f64();
        println!("         loading kernels, {round}: one assembly entry {one:.3} s, all 110 entries {all:.3} s");
        load.push(json!({ "round": round, "all_seconds": all, "assembly_seconds": one }));
    }
    report.json["device"] = json!({
        "name": device.name(), "index": device.index(), "compute_capability": [major, minor],
        "multiprocessors": device.multiprocessors(), "memory_bytes": device.total_memory(),
        "copy_engines": device.copy_engines(), "driver_version": version, "pci": device.pci_bus_id(),
        "numa_node": device.numa().node, "loading": load,
    });
    Ok(())
}

/// Random batches of each output type, against the CPU's rules.
fn check_jobs(device: &Device, jobs: u64, elements: u64) -> Result<(u64, Vec<String>)> {
    let (mut compared, mut wrong) = (0, Vec::new());
    let staging = StagingRing::new(device, 4, 256 << 10)?;
    for output in Dtype::ALL {
        let assembler = Assembler::new(device, output)?;
        let room = (elements as usize * 512).max(16 << 20).next_multiple_of(ALIGNMENT);
        let arena = Arena::new(assembler.copy_stream(), room)?;
        for seed in 0..jobs {
            let job = Job::random(&mut Random::new(seed << 8 | output as u64), output, elements);
            compared += job.batch_bytes() as u64 / output.width() as u64;
            if job.on_device(&assembler, &arena, &staging)? != job.expected() {
                wrong.push(format!(
                    "{} batch, seed {seed}: {:?}, {} boxes",
                    output.full_name(),
                    job.shape,
                    job.boxes.len()
                ));
            }
        }
    }
    Ok((compared, wrong))
}

fn measure_flat(device: &Device, sizes: &Sizes, report: &mut Report) -> Result<()> {
    report.section("flat conversion: bandwidth (read + written) over that of a device-to-device copy");
    let rates = flat(device, sizes)?;
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

fn measure_assembly(device: &Device, sizes: &Sizes, report: &mut Report) -> Result<()> {
    report.section("assembly: bandwidth (boxes read + written) over that of a device-to-device copy");
    let sources = [SourceType::U8, SourceType::U16, SourceType::F32];
    let mut rates = Vec::new();
    for output in Dtype::ALL {
        rates.extend(assembly(device, output, &sources, sizes)?);
    }
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
    report.section("upload of uint16 chunks of 64^3, beside assembly into float32");
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
