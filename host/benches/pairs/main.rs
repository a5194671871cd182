//! Conversion of all 100 pairs beside memcpy: source values -> JSON of GiB/s and ratios.
//!
//!     cargo bench --locked --workspace --bench pairs -- [--quick] [--flat-only] [--rounds N] [--only u16-f32] [--out FILE]
//!     cargo bench --locked --workspace --bench pairs -- --stores [--rounds N]
//!
//! One core, but for the conversion on two threads. Every figure is a ratio of two things that ran in turn, in the same
//! round and on the same buffers; the medians and the extremes over the rounds are kept. `DAMACY_SIMD` chooses the
//! instruction set, one a run.
//! `--flat-only` leaves out the sandbox, the crops and the threads: for the runs of the lesser instruction sets. `--stores`
//! prints instead from which size on non-temporal stores win.

mod crops;
mod machine;
mod measure;
mod stores;
mod values;

use damacy::convert::{Converter, Engine, convert, convert_box_parallel};
use damacy::{ByteOrder, Dtype, SourceType};
use damacy_core::convert::{Crop, Kernel, LEVEL_VARIABLE, Level};
use measure::{Buffers, Contender, Rates, interleaved};
use serde_json::{Value, json};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Names this layout of the JSON: `python/benchmarks/pairs_report.py` reads it.
const SCHEMA: &str = "damacy-pairs/2";

/// Bytes of the larger of source and output: in L2, and beyond the caches.
const SIZES: [usize; 2] = [256 << 10, 64 << 20];
const QUICK_SIZES: [usize; 2] = [64 << 10, 8 << 20];

/// How many times as many rounds short measurements get: they are cheap, and suffer more from whatever else runs.
const SHORT_RUNS: usize = 3;

/// Threads of the parallel conversion.
const THREADS: usize = 2;

/// What the command line asked for.
struct Options {
    sizes: [usize; 2],
    rounds: usize,
    flat_only: bool,
    stores: bool,
    only: Option<String>,
    out: Option<PathBuf>,
    command: String,
}

fn options() -> Options {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let command = format!("cargo bench --locked --workspace --bench pairs -- {}", arguments.join(" "));
    let command = command.trim_end_matches([' ', '-']).to_owned();
    let mut options =
        Options { sizes: SIZES, rounds: 9, flat_only: false, stores: false, only: None, out: None, command };
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} needs a value"));
        match argument.as_str() {
            "--quick" => (options.sizes, options.rounds) = (QUICK_SIZES, 2),
            "--flat-only" => options.flat_only = true,
            "--stores" => options.stores = true,
            "--rounds" => options.rounds = value().parse().expect("--rounds takes a number"),
            "--only" => options.only = Some(value()),
            "--out" => options.out = Some(machine::root().join(value())),
            _ => panic!(
                "{argument}: accepted are --quick, --flat-only, --stores, --rounds N, --only PAIR and --out FILE"
            ),
        }
    }
    options
}

fn main() {
    let (options, started) = (options(), Instant::now());
    if let Err(error) = Level::check_environment() {
        panic!("{error}");
    }
    let [mut small, mut large] = options.sizes.map(Buffers::new);
    if options.stores {
        assert!(
            options.only.is_none() && options.out.is_none(),
            "--stores prints pairs of its own: no --only, no --out"
        );
        return stores::print(SHORT_RUNS * options.rounds, &mut large);
    }
    let mut pairs = Vec::new();
    for source in SourceType::ALL {
        values::fill(source, &mut small.src);
        values::fill(source, &mut large.src);
        for output in Dtype::ALL {
            let name = format!("{}-{}", source.short_name(), output.short_name());
            if options.only.as_ref().is_none_or(|only| *only == name) {
                pairs.push(pair(&options, source, output, &mut small, &mut large));
            }
        }
        eprintln!("{source}: {:.0} s", started.elapsed().as_secs_f64());
    }
    assert!(!pairs.is_empty(), "{:?} is no pair: u16-f32 is one", options.only);
    let report = json!({
        "schema": SCHEMA,
        "machine": machine::describe(&options.command),
        "simd": { "level": Level::current().name(), "DAMACY_SIMD": std::env::var(LEVEL_VARIABLE).ok() },
        "values": values::DESCRIPTION,
        "rounds": options.rounds,
        "small_bytes": options.sizes[0],
        "large_bytes": options.sizes[1],
        "seconds": started.elapsed().as_secs(),
        "pairs": pairs,
    });
    write(&report, options.out.as_deref());
}

/// All figures of one pair.
fn pair(options: &Options, source: SourceType, output: Dtype, small: &mut Buffers, large: &mut Buffers) -> Value {
    let [small_bytes, large_bytes] = options.sizes.map(|size| bytes(source, output, size));
    let in_cache = interleaved(
        SHORT_RUNS * options.rounds,
        small,
        &mut [memcpy(small_bytes), native(source, output, small_bytes)],
    );
    let mut contenders = vec![memcpy(large_bytes), native(source, output, large_bytes)];
    if !options.flat_only {
        contenders.push(sandbox(source, output, large_bytes));
        contenders.push(parallel(source, output, large_bytes));
        contenders.push(memcpy_on_threads(large_bytes));
    }
    let in_memory = interleaved(options.rounds, large, &mut contenders);
    let mut figures = json!({
        "source": source.short_name(),
        "output": output.short_name(),
        "small": flat_figures(&in_cache, small_bytes),
        "large": flat_figures(&in_memory, large_bytes),
        "sandbox": null,
        "parallel": null,
        "crops": null,
    });
    if !options.flat_only {
        figures["sandbox"] = json!({
            "gib_s": in_memory.gib_s(2, large_bytes.0 + large_bytes.1),
            "ratio_to_native": in_memory.ratio(2, 1),
        });
        figures["crops"] = crops::figures(SHORT_RUNS * options.rounds, source, output, large);
        figures["parallel"] = json!({
            "threads": THREADS,
            "ratio_to_one": in_memory.ratio(3, 1),
            // What memory allows.
            "memcpy_ratio_to_one": in_memory.ratio(4, 0),
        });
    }
    figures
}

/// Bytes of source and output, of which the larger are `size`.
fn bytes(source: SourceType, output: Dtype, size: usize) -> (usize, usize) {
    let elements = size / source.width().max(output.width());
    (elements * source.width(), elements * output.width())
}

/// The conversion beside memcpy (contenders 1 and 0).
fn flat_figures(rates: &Rates, (src, dst): (usize, usize)) -> Value {
    json!({
        "bytes": src + dst,
        "native_gib_s": rates.gib_s(1, src + dst),
        "memcpy_gib_s": rates.gib_s(0, src + dst),
        "ratio_to_memcpy": rates.ratio(1, 0),
    })
}

/// A copy that reads and writes as many bytes as the conversion, together.
fn memcpy((src, dst): (usize, usize)) -> Contender {
    let half = (src + dst) / 2;
    Box::new(move |buffers| buffers.dst[..half].copy_from_slice(&buffers.src[..half]))
}

fn native(source: SourceType, output: Dtype, (src, dst): (usize, usize)) -> Contender {
    Box::new(move |buffers| {
        let (src, dst) = (&buffers.src[..src], &mut buffers.dst[..dst]);
        convert(Engine::Native, source, ByteOrder::NATIVE, output, src, dst).expect("sizes fit");
    })
}

fn sandbox(source: SourceType, output: Dtype, (src, dst): (usize, usize)) -> Contender {
    let mut converter = Converter::new(Engine::Sandbox, source, ByteOrder::NATIVE, output).expect("a sandbox");
    Box::new(move |buffers| converter.convert(&buffers.src[..src], &mut buffers.dst[..dst]).expect("sizes fit"))
}

/// The native conversion on [`THREADS`] threads.
fn parallel(source: SourceType, output: Dtype, (src, dst): (usize, usize)) -> Contender {
    let kernel = Kernel::select(source, ByteOrder::NATIVE, output);
    let (extent, threads) = ([(src / source.width()) as u64], NonZeroUsize::new(THREADS));
    let strides = ([source.width() as isize], [output.width() as isize]);
    Box::new(move |buffers| {
        let crop =
            Crop { extent: &extent, src_offset: 0, src_strides: &strides.0, dst_offset: 0, dst_strides: &strides.1 };
        let (src, dst) = (&buffers.src[..src], &mut buffers.dst[..dst]);
        convert_box_parallel(Engine::Native, threads, &kernel, &crop, src, dst).expect("it fits");
    })
}

/// [`memcpy`] on [`THREADS`] threads, of which this is one; each copies its part in one piece.
fn memcpy_on_threads((src, dst): (usize, usize)) -> Contender {
    let half = (src + dst) / 2;
    let part = half.div_ceil(THREADS);
    Box::new(move |buffers| {
        let mut parts = buffers.dst[..half].chunks_mut(part).zip(buffers.src[..half].chunks(part));
        std::thread::scope(|scope| {
            let mine = parts.next();
            for (to, from) in parts {
                scope.spawn(|| to.copy_from_slice(from));
            }
            if let Some((to, from)) = mine {
                to.copy_from_slice(from);
            }
        });
    })
}

fn write(report: &Value, out: Option<&Path>) {
    let text = serde_json::to_string_pretty(report).expect("JSON") + "\n";
    match out {
        None => print!("{text}"),
        Some(path) => {
            std::fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            eprintln!("written: {}", path.display());
        }
    }
}
