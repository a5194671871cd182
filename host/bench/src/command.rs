//! `damacy bench` and `python -m damacy.bench`: arguments -> scenarios run, results written, a table.

use crate::browser::{self, When};
use crate::compare;
use crate::dataset::{self, Dataset};
use crate::failure::{Failure, Result};
use crate::interrupt::{self, Watch};
use crate::progress::Progress;
use crate::results::{Results, SCHEMA_VERSION};
use crate::run::{self, Runner};
use crate::scenario::{self, DtypeName, Generate, NAMES, Scenario};
use crate::{machine, peers, report, store, table, units};
use clap::{Args, Subcommand, ValueEnum};
use damacy::Dtype;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// What `--help` says below the options.
pub const HELP: &str = "\
A scenario is a file (host/scenarios/*.json, or your own), or one of the built-in ones by name:
  smoke, default, mixed-dtypes, mixed-codecs, small-crops, aligned-scan, many-arrays, one-array, high-latency, held-batches,
  cached

docs/bench.md explains scenarios, results and the rule of compare.

Examples:
  damacy bench default
  damacy bench host/scenarios/default.json --peers tensorstore
  damacy bench my.json --sweep dtype --repeat 7 --data /scratch --out results
  damacy bench compare before/results.json after/results.json --html compared.html
  damacy bench report results/results.json
  damacy bench schema > scenario.schema.json";

/// `damacy bench`
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, after_long_help = HELP)]
pub struct BenchArgs {
    /// What to do instead of running scenarios
    #[command(subcommand)]
    pub action: Option<Action>,
    /// Scenarios: files, or names of built-in ones; default:float32,uint8 runs one in these output types
    #[arg(value_name = "SCENARIO", required = true)]
    pub scenarios: Vec<String>,
    /// Rounds of each; five or more can be compared
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub repeat: u64,
    /// Run each scenario in all ten output types
    #[arg(long, value_enum)]
    pub sweep: Option<Sweep>,
    /// Output types in place of the scenarios' own: float32,uint8
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "sweep")]
    pub dtype: Vec<String>,
    /// Folder for results.json and report.html, made at the end
    #[arg(long, default_value = "damacy-bench")]
    pub out: PathBuf,
    /// Keep generated data here and use it again; else it is temporary
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// Loaders to run beside ours, in turn with it: tensorstore, zarr, zarrs
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub peers: Vec<String>,
    /// The Python to run peers with
    #[arg(long, value_name = "PROGRAM")]
    pub python: Option<PathBuf>,
    /// How long the search of a peer's best setting may take, about: more time, more settings on the whole pass
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = units::duration)]
    pub search_time: Duration,
    /// Open the report in a browser: $BROWSER, or the system's. auto: from a terminal, without --json
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    pub open: When,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
    /// Say nothing on standard error while running
    #[arg(long)]
    pub quiet: bool,
}

/// What is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sweep {
    /// The output type
    Dtype,
}

/// What else the command does.
#[derive(Subcommand, Debug)]
pub enum Action {
    /// Say which differences between two results are beyond the runs' noise
    Compare {
        /// A results.json
        first: PathBuf,
        /// Another, of the same scenarios
        second: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Also write a report: one HTML file
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
        /// Open it in a browser
        #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
        open: When,
    },
    /// Write the report on results: one HTML file to open from disk
    Report {
        /// A results.json
        results: PathBuf,
        /// Where to; else report.html beside the results
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
        /// Open it in a browser
        #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
        open: When,
    },
    /// Print the JSON Schema of scenarios
    Schema,
    /// List the built-in scenarios
    List,
}

/// Runs the command.
///
/// # Errors
/// Wrong scenarios and files; what stops a run; predictions that do not hold.
pub fn run(args: &BenchArgs, command: &[String]) -> Result<()> {
    match &args.action {
        None => bench(args, command),
        Some(Action::Compare { first, second, json, html, open }) => {
            let (one, other) = (compare::read(first)?, compare::read(second)?);
            let comparison = compare::compare(&one, &other)?;
            if let Some(html) = html {
                let (of, than) = (first.to_string_lossy(), second.to_string_lossy());
                write_report(
                    html,
                    &[first.as_path(), second.as_path()],
                    &report::comparison(&comparison, (&of, &one), (&than, &other)),
                )?;
            }
            print(&if *json { pretty(&comparison)? } else { table::comparison(&comparison) })?;
            if let Some(html) = html {
                tell(&browser::show(html, unless_json(*open, *json)));
            }
            Ok(())
        }
        Some(Action::Report { results, html, open }) => {
            let html = html.clone().unwrap_or_else(|| results.with_file_name("report.html"));
            write_report(&html, &[results.as_path()], &report::results(&compare::read(results)?))?;
            print(&(browser::show(&html, *open) + "\n"))
        }
        Some(Action::Schema) => print(&scenario::schema_text()),
        Some(Action::List) => {
            let line = |name: &&str| {
                let text = scenario::builtin(name).unwrap_or_default();
                scenario::read(name, text.as_bytes()).map(|s| format!("{name:14} {}\n", s.description))
            };
            print(&NAMES.iter().map(line).collect::<Result<String>>()?)
        }
    }
}

fn bench(args: &BenchArgs, command: &[String]) -> Result<()> {
    let _watch = Watch::new();
    // Everything that can be refused is, before data is generated.
    let dtypes = match args.sweep {
        None => {
            let parse = |name: &String| scenario::dtype(name).map_err(Failure::inval);
            args.dtype.iter().map(parse).collect::<Result<Vec<Dtype>>>()?
        }
        Some(Sweep::Dtype) => Dtype::ALL.to_vec(),
    };
    let (mut scenarios, mut opened, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for name in &args.scenarios {
        for found in in_types(name, &dtypes).unwrap_or_else(|failure| vec![Err(failure)]) {
            interrupt::check()?;
            match found.and_then(|(scenario, title)| Ok((dataset::open(&scenario, &title)?, scenario))) {
                Ok((dataset, scenario)) => {
                    opened.push(dataset.map(Rc::new));
                    scenarios.push(scenario);
                }
                Err(failure) => refused.push(failure),
            }
        }
    }
    Failure::all(refused)?;
    distinct(&scenarios)?;
    store::check(&args.out)?;
    scenarios.iter().try_for_each(run::try_gpu)?;
    let python = peers::Python::new(&args.peers, args.python.as_deref(), args.search_time);
    // Which a terminal's Ctrl-C ends too.
    interrupt::check()?;
    let python = python?;
    let progress = Progress::new(args.quiet);
    python.announce(&scenarios, &progress);
    let mut results = Results {
        schema_version: SCHEMA_VERSION,
        created: String::new(),
        command: command.to_vec(),
        machine: machine::machine(),
        versions: machine::versions(),
        runs: Vec::new(),
    };
    // Generated arrays, as long as a later scenario needs them.
    let mut generated: Vec<(Generate, Rc<Dataset>)> = Vec::new();
    for (index, (scenario, given)) in scenarios.iter().zip(&opened).enumerate() {
        let dataset = match (given, &scenario.dataset.generate) {
            (Some(dataset), _) => Rc::clone(dataset),
            (None, Some(generate)) => match generated.iter().find(|(of, _)| of == generate) {
                Some((_, dataset)) => Rc::clone(dataset),
                None => {
                    let threads = machine::cores() as usize;
                    let made = dataset::generate(generate, args.data.as_deref(), threads, &progress);
                    let made = Rc::new(made.map_err(|failure| failure.about(&scenario.name))?);
                    generated.push((generate.clone(), Rc::clone(&made)));
                    made
                }
            },
            (None, None) => return Err(Failure::internal("a scenario without arrays")),
        };
        let runner = Runner::new(scenario, &dataset);
        let about = |failure: Failure| failure.about(&scenario.name);
        let cold = runner.cold(&progress).map_err(about)?;
        let mut beside = python.start(scenario, &dataset, &runner, &progress)?;
        let run = runner.run(cold, args.repeat, &mut beside, &progress).map_err(about)?;
        let rate = run.summary.get("samples_per_s").map_or(0.0, |spread| spread.median);
        progress.say(&format!("{} in {}: {rate:.1} samples/s", run.name, run.dtype));
        for peer in &run.peers {
            results.versions.extend(peer.version.clone().map(|version| (peer.name.clone(), version)));
        }
        results.runs.push(run);
        generated
            .retain(|(of, _)| scenarios[index + 1..].iter().any(|later| later.dataset.generate.as_ref() == Some(of)));
    }
    results.created = machine::now();
    progress.clear();
    let (json, html) = (pretty(&results)?, report::results(&results));
    interrupt::check()?;
    let written = store::write(
        &args.out,
        &[("results.json".as_ref(), json.as_bytes()), ("report.html".as_ref(), html.as_bytes())],
    );
    // Where they cannot be written, after all this time, the figures are shown at least.
    print(&if args.json { json } else { table::results(&results) })?;
    written?;
    progress.say(&format!("written: {}", args.out.join("results.json").display()));
    progress.say(&browser::show(&args.out.join("report.html"), unless_json(args.open, args.json)));
    let failed = results.runs.iter().flat_map(|run| run.checks.iter().filter(|c| !c.passed).map(move |c| (run, c)));
    let failed: Vec<String> =
        failed.map(|(run, check)| format!("{} in {}: {}: {}", run.name, run.dtype, check.name, check.detail)).collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::internal(format!("this does not hold: {}", failed.join("; "))))
    }
}

/// A scenario of the command line in each of the output types that are named with it, else in each of these, else in its own
/// -> each with its title, or what is wrong with it in that type.
fn in_types(given: &str, dtypes: &[Dtype]) -> Result<Vec<Result<(Scenario, String)>>> {
    let (given, own) = scenario::split(given)?;
    let scenario = scenario::load(given)?;
    let title = scenario::title(&scenario, given);
    let dtypes = if own.is_empty() { dtypes } else { &own };
    if dtypes.is_empty() {
        return Ok(vec![Ok((scenario, title))]);
    }
    let one = |&dtype: &Dtype| {
        let mut one = scenario.clone();
        one.pipeline.dtype = DtypeName(dtype);
        // A wider type may not fit the memory.
        scenario::check_again(&one, &title).map(|()| (one, title.clone()))
    };
    Ok(dtypes.iter().map(one).collect())
}

/// Who asks for JSON does not wait for a browser.
fn unless_json(open: When, json: bool) -> When {
    if json && open == When::Auto { When::Never } else { open }
}

/// A closed standard error changes nothing.
fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn distinct(scenarios: &[Scenario]) -> Result<()> {
    for (index, one) in scenarios.iter().enumerate() {
        let same = |other: &&Scenario| other.name == one.name && other.pipeline.dtype == one.pipeline.dtype;
        if scenarios[..index].iter().any(|other| same(&other)) {
            let message = format!(
                "two scenarios are called {} in {}; accepted is each name once in each output type",
                one.name, one.pipeline.dtype.0
            );
            return Err(Failure::inval(message));
        }
    }
    Ok(())
}

/// Writes a report, but never over the results that it is about.
fn write_report(html: &Path, about: &[&Path], text: &str) -> Result<()> {
    let place = |path: &Path| path.canonicalize().ok();
    if place(html).is_some_and(|html| about.iter().any(|results| place(results).as_ref() == Some(&html))) {
        let message = format!("{} holds results; accepted for the report is another file", html.display());
        return Err(Failure::inval(message));
    }
    let Some(name) = html.file_name() else {
        return Err(Failure::inval(format!("{} names no file; accepted is a file for the report", html.display())));
    };
    let folder = html.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    store::write(folder, &[(name, text.as_bytes())])
}

fn pretty(value: &impl serde::Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::internal(error.to_string()))?;
    Ok(text + "\n")
}

fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::Output)
}
