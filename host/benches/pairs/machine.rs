//! Where and with what a run was made: the system's files and tools -> JSON.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workspace's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("host lies in the workspace").to_path_buf()
}

/// CPU, caches, cores, kernel, compiler, commit, command and date.
pub fn describe(command: &str) -> Value {
    json!({
        "date": output("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
        "cpu": field("/proc/cpuinfo", "model name"),
        "caches": caches(),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "memory": field("/proc/meminfo", "MemTotal"),
        "huge_pages": read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "load": read("/proc/loadavg"),
        "kernel": read("/proc/sys/kernel/osrelease"),
        "rustc": output("rustc", &["--version"]),
        "commit": output("git", &["describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*"]),
        "command": command,
    })
}

fn caches() -> Value {
    let folder = |index: usize| format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
    (0..8)
        .filter_map(|index| {
            let part = |name: &str| read(&format!("{}/{name}", folder(index)));
            Some(json!({ "level": part("level")?, "type": part("type")?, "size": part("size")?,
                "shared_by_cpus": part("shared_cpu_list")? }))
        })
        .collect()
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// The value of the first line `name: value`.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).current_dir(root()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
