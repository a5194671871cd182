//! Processes of other kinds: little address space, no home, many guests, forked. Each test runs itself again in a child.

use super::parity::{array, guest};
use damacy::convert::{Engine, convert};
use damacy::pipeline::{Pipeline, PipelineConfig};
use damacy::sandbox::GuestLimits;
use damacy_core::convert::Level;
use damacy_core::planner::{BatchSpec, PlanLimits, Request, SampleBox, plan};
use damacy_core::{ByteOrder, Dtype, SourceType, Status};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

const CHILD: &str = "DAMACY_TEST_CHILD";

/// True in the child, which then runs the test's body; in the parent, runs the child and checks that it passed.
fn in_child(test: &str, shell: &str, adjust: impl FnOnce(&mut Command)) -> bool {
    if env::var_os(CHILD).is_some() {
        return true;
    }
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{shell} exec \"$0\" \"$@\"")]);
    command.arg(env::current_exe().expect("this program"));
    command.args(["--exact", &format!("processes::{test}"), "--nocapture"]).env(CHILD, "1");
    adjust(&mut command);
    let Output { status, stdout, stderr } = command.output().expect("sh runs");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success() && stdout.contains("1 passed"), "{status}\n{stdout}\n{stderr}");
    false
}

fn plans_right(guest: &mut damacy::sandbox::Guest) {
    let samples = [SampleBox { array: 0, bounds: vec![(3, 103), (5, 55)] }];
    let request = Request {
        spec: &BatchSpec { samples: 1, shape: vec![100, 50], dtype: Dtype::U8 },
        arrays: &[array(vec![1000, 1000], vec![vec![10, 10]])],
        samples: &samples,
        missing: &[],
        encoded_ratios: &[],
        limits: PlanLimits::default(),
    };
    assert_eq!(guest.plan(&request), plan(&request));
}

/// Collects what the library logs.
struct Collected(Mutex<String>);

impl log::Log for Collected {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        if record.target().starts_with("damacy") {
            let line = format!("{}: {}\n", record.level(), record.args());
            self.0.lock().expect("no panic").push_str(&line);
        }
    }

    fn flush(&self) {}
}

static LOG: Collected = Collected(Mutex::new(String::new()));

fn collect_log() {
    log::set_logger(&LOG).expect("the first logger");
    log::set_max_level(log::LevelFilter::Debug);
}

fn logged(text: &str) {
    let log = LOG.0.lock().expect("no panic");
    assert!(log.contains(text), "{text:?} is not in the log:\n{log}");
}

#[test]
fn little_address_space_gets_the_small_pool_and_memory_on_demand_beyond_it() {
    if !in_child(
        "little_address_space_gets_the_small_pool_and_memory_on_demand_beyond_it",
        "ulimit -v 4194304;",
        |_| (),
    ) {
        return;
    }
    collect_log();
    let mut guests: Vec<_> = (0..16).map(|_| guest(GuestLimits::default())).collect();
    logged("trying SmallPool instead");
    guests.extend((0..8).map(|_| guest(GuestLimits::default())));
    logged("no slot for another guest; using memory on demand");
    guests.push(guest(GuestLimits { memory_bytes: 256 << 20, ..GuestLimits::default() }));
    guests.iter_mut().for_each(plans_right);
}

#[test]
fn very_little_address_space_gets_memory_on_demand() {
    if !in_child("very_little_address_space_gets_memory_on_demand", "ulimit -v 786432;", |_| ()) {
        return;
    }
    collect_log();
    let mut guest = guest(GuestLimits::default());
    logged("trying OnDemand instead");
    plans_right(&mut guest);
}

#[test]
fn a_process_without_a_home_compiles_without_a_cache() {
    let homeless = |command: &mut Command| {
        command.env_remove("XDG_CACHE_HOME").env_remove("XDG_CONFIG_HOME").env("HOME", "/proc/none");
    };
    if !in_child("a_process_without_a_home_compiles_without_a_cache", "", homeless) {
        return;
    }
    collect_log();
    plans_right(&mut guest(GuestLimits::default()));
    logged("compiling without a cache");
}

#[test]
fn a_thousand_guests_in_sequence_leave_memory_flat() {
    if !in_child("a_thousand_guests_in_sequence_leave_memory_flat", "", |_| ()) {
        return;
    }
    let resident_kib = || {
        let status = fs::read_to_string("/proc/self/status").expect("Linux");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a resident size").to_owned();
        line.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok()).expect("a number")
    };
    let use_guests = |count| (0..count).for_each(|_| plans_right(&mut guest(GuestLimits::default())));
    use_guests(100);
    let before = resident_kib();
    use_guests(1000);
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < 4096, "resident memory grew by {grown} KiB");
}

#[test]
fn a_forked_child_makes_its_own_sandbox_and_keeps_deadlines() {
    if !in_child("a_forked_child_makes_its_own_sandbox_and_keeps_deadlines", "", |_| ()) {
        return;
    }
    let mut made_before = guest(GuestLimits::default());
    plans_right(&mut made_before);
    // SAFETY: the child only computes and exits; nothing in it relies on the parent's other threads.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let right = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            plans_right(&mut made_before);
            plans_right(&mut guest(GuestLimits::default()));
            let limits = GuestLimits { deadline: Duration::from_nanos(1), ..GuestLimits::default() };
            let mut hurried = guest(limits);
            let bounds = |i: u64| [i * 64, i * 640, 1].map(|start| (start, start + 257)).to_vec();
            let samples: Vec<_> = (0..900).map(|i| SampleBox { array: 0, bounds: bounds(i) }).collect();
            let request = Request {
                spec: &BatchSpec { samples: 8, shape: vec![257; 3], dtype: Dtype::F32 },
                arrays: &[array(vec![1 << 20; 3], vec![vec![64; 3]])],
                samples: &samples,
                missing: &[],
                encoded_ratios: &[],
                limits: PlanLimits::default(),
            };
            let error = (0..100).find_map(|_| hurried.plan(&request).err()).expect("the clock ticks in the child");
            assert_eq!(error.status, Status::Budget);
        }));
        // SAFETY: leaves without running the parent's exit handlers.
        unsafe { libc::_exit(if right.is_ok() { 0 } else { 1 }) }
    }
    assert!(child > 0, "fork failed");
    let started = Instant::now();
    let mut status = -1;
    // SAFETY: `child` is ours and `status` is writable.
    while unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == 0 {
        assert!(started.elapsed() < Duration::from_secs(60), "the child hangs");
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(status, 0, "the child failed");
}

#[test]
fn a_level_of_vector_instructions_that_does_not_exist_is_refused() {
    let child = in_child("a_level_of_vector_instructions_that_does_not_exist_is_refused", "", |command| {
        command.env("DAMACY_SIMD", "avx9000");
    });
    if !child {
        return;
    }
    let mut out = [0xa5];
    let refused = convert(Engine::Native, SourceType::U8, ByteOrder::NATIVE, Dtype::U8, &[1], &mut out);
    let refused = refused.expect_err("no such level");
    assert_eq!((refused.status(), out), (Status::Inval, [0xa5]));
    assert!(refused.to_string().contains("DAMACY_SIMD") && refused.to_string().contains("baseline"), "{refused}");
    let spec = damacy::BatchSpec { samples: 1, shape: vec![1], dtype: Dtype::U8 };
    let refused = Pipeline::new(PipelineConfig::new(spec)).map(drop).expect_err("no such level");
    assert_eq!(refused.status(), Status::Inval);
}

#[test]
fn the_environment_can_lower_the_level() {
    if in_child("the_environment_can_lower_the_level", "", |command| {
        command.env("DAMACY_SIMD", "baseline");
    }) {
        assert_eq!(Level::current(), Level::Baseline);
    } else {
        assert_eq!(Level::current(), Level::best());
    }
}
