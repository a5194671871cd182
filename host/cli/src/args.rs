//! The commands and their options, with the help that users read.

use crate::named::Named;
use crate::parse::{self, Bounds, Limits, Shape};
use clap::{Args, Parser, Subcommand, ValueEnum};
use damacy::{ByteOrder, Dtype, SourceType};
use std::ffi::OsString;
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
   0  done                    17  DECODE: malformed metadata or files
   2  wrong usage             18  CUDA
  12  INVAL: bad arguments    19  OOM: the system refused memory
  13  NOTFOUND: no array      20  BUDGET: a limit would be passed
  14  DTYPE: no conversion    22  UNSUPPORTED: a codec, grid or store
  15  RANK: another rank      23  INTERNAL: a bug of damacy
  16  IO: permission, reads";

const INSPECT: &str = "\
Show what an array's or a group's metadata says: an array's shape, data type, chunks, shards, codecs, fill value, and \
which output types it converts to; the arrays inside a group, and for OME-Zarr 0.4 and 0.5 the levels of its images.";

const PLAN: &str = "\
Plan crops as one look-ahead window: which chunks are read, and where they go. Given boxes are planned all together; \
of drawn crops, as many as a window holds are drawn.";

const ESTIMATE: &str = "\
Price a job: chunks, bytes, waste, memory, and advice. Exact for given boxes; for drawn crops averages over one window, in \
closed form. docs/cost-model.md has the formulas.";

const CONVERT: &str = "\
Convert a raw or .npy file to an output type, by the rules that batches are converted by.

Files whose names end in .npy are NumPy's (versions 1 to 3; the input in either byte order, C or Fortran order); all others \
are raw elements. The output is in this machine's byte order: a .npy file in the input's order of axes, a raw file in C \
order. It is written to a temporary file beside its place and put there as a whole.";

const JOB: &str = r#"A job as JSON:
  {"spec": {"samples": 8, "shape": [64, 128, 128], "dtype": "f32"},
   "arrays": ["volume.zarr"],
   "crops": "uniform"}

  spec     samples a batch (default 1), shape of a sample, output type (default "f32")
  arrays   each a URI, or an object with
             "uri", or "metadata": a zarr.json or .zarray document
             "weight": how often it is drawn (default 1)
             "ratio": encoded bytes / decoded bytes; or "sizes": encoded bytes of each chunk in C order, 0 if missing
  crops    "uniform" (the default), "grid", {"grid": {"stride": [...]}}, or {"boxes": [...]}, each box
             [[start, stop], ...], or {"array": INDEX, "box": [[start, stop], ...]} where there are several arrays
  window   samples of a look-ahead window (default 64)
  seed     of the crops that plan draws (default 0)
  workers  decodes at a time (default 1)
  memory   host memory that the pipeline may use (default "1GiB"): beside it estimate puts what the windows take, and
             within it stays the look-ahead that is advised
  cache    of it, what the chunk cache may take (default 0)
  limits   of each call into the sandbox: {"memory": "64MiB", "deadline": "1s", "chunks": 1048576}
  advise   {"layout": INDEX, "lookahead": true}

Examples:
  damacy estimate --array volume.zarr --shape 64,128,128 --samples 8 --dtype bf16 --uniform 64 --ratio 0.6
  damacy estimate job.json --limits memory=64MiB,deadline=1s,chunks=100000 --json
  damacy plan --array volume.zarr --shape 64,128,128 --box 0:64,0:128,0:128 --box 32:96,0:128,64:192
  generate-job | damacy plan - --json"#;

/// Zarr arrays for training: look at them, plan and price reading them, convert files.
///
/// No command but bench reads an array's chunks. All input is untrusted: arrays' metadata is parsed, and crops are planned and priced, in
/// a WebAssembly sandbox, within limits. A job's own JSON, .npy headers and groups' attributes are read in this program, up to
/// limits of size.
#[derive(Parser)]
#[command(name = "damacy", version, after_long_help = EXIT_CODES, max_term_width = 110)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Show what an array's or a group's metadata says
    #[command(long_about = INSPECT)]
    Inspect(InspectArgs),
    /// Plan crops as one look-ahead window: which chunks are read, and where they go
    #[command(long_about = PLAN, after_long_help = JOB)]
    Plan(JobArgs),
    /// Price a job: chunks, bytes, waste, memory, and advice
    #[command(long_about = ESTIMATE, after_long_help = JOB)]
    Estimate(JobArgs),
    /// Convert a raw or .npy file to an output type, by the rules that batches are converted by
    #[command(long_about = CONVERT)]
    Convert(ConvertArgs),
    /// Measure the pipeline on scenarios, beside its ceilings and its peers; compare results
    Bench(damacy_bench::command::BenchArgs),
    /// Write a shell's completion script
    #[command(after_long_help = "\
Examples:
  source <(damacy completions bash)
  damacy completions zsh > ~/.zfunc/_damacy
  damacy completions fish > ~/.config/fish/completions/damacy.fish")]
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// The shells that completions are made for.
#[derive(Clone, Copy, ValueEnum)]
pub enum Shell {
    /// GNU bash
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
}

/// `damacy inspect`
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  damacy inspect volume.zarr
  damacy inspect file:///data/image.ome.zarr
  damacy inspect volume.zarr --json | jq .chunk_shape")]
pub struct InspectArgs {
    /// A local path or file:// URI
    pub uri: OsString,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `damacy plan` and `damacy estimate`
#[derive(Args)]
pub struct JobArgs {
    /// A file with the job as JSON; - for standard input
    #[arg(conflicts_with_all = JOB_OPTIONS)]
    pub job: Option<PathBuf>,
    /// An array's path or file:// URI; may be given several times
    #[arg(long = "array", value_name = "URI")]
    pub arrays: Vec<OsString>,
    /// Shape of a sample, such as 64,128,128
    #[arg(long, value_parser = parse::shape)]
    pub shape: Option<Shape>,
    /// Samples a batch [default: 1]
    #[arg(long)]
    pub samples: Option<u64>,
    /// Output type: f32, bf16, u8 ... i64, or the full name [default: f32]
    #[arg(long, value_parser = Named::DTYPE, hide_possible_values = true)]
    pub dtype: Option<Dtype>,
    /// Crops anywhere, so many to a window
    #[arg(long, value_name = "SAMPLES", group = "crops")]
    pub uniform: Option<u64>,
    /// Crops at multiples of a stride, so many to a window
    #[arg(long, value_name = "SAMPLES", group = "crops")]
    pub grid: Option<u64>,
    /// The grid's stride for each axis [default: the crop's shape]
    #[arg(long, value_parser = parse::shape, requires = "grid")]
    pub stride: Option<Shape>,
    /// A crop, such as 0:64,128:256; may be given several times, and needs a single --array
    #[arg(long = "box", value_name = "BOX", value_parser = parse::bounds, group = "crops")]
    pub boxes: Vec<Bounds>,
    /// Samples of a look-ahead window over given boxes [default: 64]
    #[arg(long, conflicts_with_all = ["uniform", "grid"])]
    pub window: Option<u64>,
    /// Encoded bytes / decoded bytes of all arrays
    #[arg(long, value_parser = parse::ratio)]
    pub ratio: Option<f64>,
    /// Seed of the crops that plan draws [default: 0]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Decodes at a time [default: 1]
    #[arg(long)]
    pub workers: Option<u64>,
    /// Host memory that the pipeline may use, such as 256MiB: bounds the advised look-ahead [default: 1GiB]
    #[arg(long, value_parser = parse::bytes)]
    pub memory: Option<u64>,
    /// Of it, what the chunk cache may take, such as 64MiB [default: 0]
    #[arg(long, value_parser = parse::bytes)]
    pub cache: Option<u64>,
    /// Advise on the first array's layout and on the look-ahead
    #[arg(long)]
    pub advise: bool,
    /// Limits of each call into the sandbox, any of memory=64MiB,deadline=1s,chunks=1048576; they override the job's
    #[arg(long, value_parser = parse::limits)]
    pub limits: Option<Limits>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Options that describe a job, which a job in JSON describes itself.
const JOB_OPTIONS: [&str; 15] = [
    "arrays", "shape", "samples", "dtype", "uniform", "grid", "stride", "boxes", "window", "ratio", "seed", "workers",
    "memory", "cache", "advise",
];

/// `damacy convert`
#[derive(Args)]
#[command(after_long_help = "\
bfloat16 in a .npy file is written as uint16, since NumPy has no bfloat16:
  numpy.load('out.npy').view(ml_dtypes.bfloat16)

Examples:
  damacy convert volume.npy volume-u8.npy --dtype u8
  damacy convert volume.raw volume.bf16 --source u16 --byte-order big --dtype bf16
  damacy convert volume.raw volume.npy --source u16 --shape 64,128,128 --dtype f32 --engine sandbox")]
pub struct ConvertArgs {
    /// A .npy file, or raw elements
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Where to write: a .npy file, or raw elements
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Output type: f32, bf16, u8 ... i64, or the full name
    #[arg(long, value_parser = Named::DTYPE, hide_possible_values = true)]
    pub dtype: Dtype,
    /// Element type of a raw input: u8 ... i64, f16, f32, or the full name
    #[arg(long, value_parser = Named::SOURCE, hide_possible_values = true)]
    pub source: Option<SourceType>,
    /// Byte order of a raw input: little or big [default: little]
    #[arg(long, value_parser = Named::BYTE_ORDER, hide_possible_values = true)]
    pub byte_order: Option<ByteOrder>,
    /// Shape of a raw input, for a .npy output [default: one axis]
    #[arg(long, value_parser = parse::shape)]
    pub shape: Option<Shape>,
    /// Which build of the rules converts; both give the same bits
    #[arg(long, value_enum, default_value = "native")]
    pub engine: EngineArg,
    /// Replace an existing file
    #[arg(long)]
    pub force: bool,
}

/// The engines.
#[derive(Clone, Copy, ValueEnum)]
pub enum EngineArg {
    /// The code in this program: fastest
    Native,
    /// The WebAssembly component
    Sandbox,
}
