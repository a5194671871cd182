//! Help, versions, completions, wrong usage, and outputs that cannot be written.

use super::support::{array, damacy, fixture, shell, text};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

#[test]
fn help_has_examples_everywhere_and_says_the_exit_codes() {
    let help = damacy(["--help"]);
    assert_eq!(help.code, 0);
    for part in ["inspect", "plan", "estimate", "convert", "bench", "completions", "Exit codes", "20  BUDGET"] {
        assert!(help.out.contains(part), "{part}");
    }
    for command in ["inspect", "plan", "estimate", "convert", "bench", "completions"] {
        let help = damacy([command, "--help"]);
        assert_eq!(help.code, 0);
        assert!(help.out.contains("Examples:\n") && help.out.contains(&format!("damacy {command}")), "{}", help.out);
        assert!(damacy(["help", command]).out.contains("Examples:"));
    }
    assert!(damacy(["estimate", "--help"]).out.contains(r#""crops": "uniform""#));
}

#[test]
fn the_version_is_the_package_s() {
    assert_eq!(damacy(["--version"]).out, format!("damacy {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_know_the_commands_and_are_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let script = damacy(["completions", shell]);
        assert_eq!(script.code, 0);
        for word in ["inspect", "estimate", "convert", "uniform", "byte-order"] {
            assert!(script.out.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(shell("bash -n <($DAMACY completions bash)").code, 0);
    damacy(["completions", "tcsh"]).refused(2, &["bash, zsh, fish"]);
}

#[test]
fn completions_offer_the_values_that_have_names() {
    // What bash would offer, with the script's own function.
    let offered = |line: &[&str], word: usize| {
        let words: Vec<String> = line.iter().map(|word| format!("'{word}'")).collect();
        let (words, current, before) = (words.join(" "), line[word], line[word - 1]);
        let run = shell(&format!(
            "source <($DAMACY completions bash); COMP_WORDS=({words}); COMP_CWORD={word}; \
             _damacy damacy '{current}' '{before}'; echo \"${{COMPREPLY[*]}}\""
        ));
        assert_eq!(run.code, 0, "{}", run.err);
        run.out
    };
    let types = "f32 bf16 u8 u16 u32 u64 i8 i16 i32 i64\n";
    for command in ["plan", "estimate", "convert"] {
        assert_eq!(offered(&["damacy", command, "--dtype", ""], 3), types);
    }
    assert_eq!(offered(&["damacy", "convert", "--dtype", "b"], 3), "bf16\n");
    assert_eq!(offered(&["damacy", "convert", "--source", "f"], 3), "f16 f32\n");
    assert_eq!(offered(&["damacy", "convert", "--byte-order", ""], 3), "little big\n");
    let scenarios = offered(&["damacy", "bench", "de"], 2);
    assert!(scenarios.split_whitespace().any(|name| name == "default"), "{scenarios}");
    assert!(damacy(["completions", "zsh"]).out.contains(":{compadd smoke default "));
    assert!(damacy(["completions", "fish"]).out.contains("bench; and not"));
    // The values are offered, and what else is taken is taken.
    damacy(["convert", "in", "out", "--dtype", "float32"]).refused(2, &["--source"]);
    damacy(["bench", "no-such-scenario"]).refused(13, &["no built-in scenario"]);
}

#[test]
fn an_argument_that_is_no_text_is_named() {
    let not_text = OsStr::from_bytes(b"u8\xff");
    let run = damacy(["convert", "in", "out", "--dtype"].map(OsStr::new).iter().chain([&not_text]));
    run.refused(2, &["argument 5, \"u8\\xff\"", "accepted are texts in UTF-8"]);
}

#[test]
fn wrong_usage_is_2_and_says_what_is_accepted() {
    for (arguments, part) in [
        (&[][..], "Usage: damacy"),
        (&["frobnicate"], "frobnicate"),
        (&["inspect"], "<URI>"),
        (&["inspect", "a", "--jsn"], "--json"),
        (&["plan"], "give a job in JSON"),
        (&["estimate", "--array", "a"], "--shape"),
        (&["estimate", "job.json", "--samples", "8"], "--samples"),
        (&["estimate", "--array", "a", "--shape", "4x4"], "64,128,128"),
        (&["estimate", "--array", "a", "--shape", "4", "--samples", "-1"], "-1"),
        (&["estimate", "--array", "a", "--shape", "4", "--dtype", "f64"], "bfloat16 (bf16)"),
        (&["estimate", "--array", "a", "--shape", "4", "--uniform", "4", "--grid", "4"], "--grid"),
        (&["estimate", "--array", "a", "--shape", "4", "--stride", "4"], "--grid"),
        (&["estimate", "--array", "a", "--shape", "4", "--ratio", "0"], "above 0"),
        (&["estimate", "--array", "a", "--shape", "4", "--ratio", "nan"], "above 0"),
        (&["estimate", "--array", "a", "--shape", "4", "--limits", "memory=1x"], "KiB"),
        (&["estimate", "--array", "a", "--shape", "4", "--limits", "time=1s"], "deadline=1s"),
        (&["plan", "--array", "a", "--array", "b", "--shape", "4", "--box", "0:4"], "single --array"),
        (&["plan", "--array", "a", "--shape", "4", "--box", "0-4"], "start:stop"),
        (&["convert", "in", "out"], "--dtype"),
        (&["convert", "in", "out", "--dtype", "u8"], "--source"),
        (&["convert", "in.npy", "out", "--dtype", "u8", "--source", "u8"], "--source"),
        (&["convert", "in", "-", "--dtype", "u8", "--source", "u8"], "never standard output"),
        (&["convert", "in", "out", "--dtype", "u8", "--source", "f64"], "float16 (f16)"),
        (&["convert", "in", "out", "--dtype", "u8", "--source", "u8", "--byte-order", "pdp"], "little and big"),
        (&["convert", "in", "out", "--dtype", "u8", "--source", "u8", "--engine", "gpu"], "sandbox"),
    ] {
        damacy(arguments).refused(2, &[part]);
    }
    let usage = damacy(["convert", "in", "out", "--dtype", "u8"]).err;
    assert!(usage.contains("Usage: damacy convert"), "{usage}");
}

#[test]
fn a_reader_that_goes_away_ends_the_command_quietly() {
    let volume = array(&[1000, 1000], &[1, 1]);
    for command in [
        format!("plan --array {} --shape 64,64 --uniform 16 --json", text(volume.path())),
        format!("inspect {}", fixture("v3-group")),
        "--help".to_owned(),
        "completions bash".to_owned(),
    ] {
        let run = shell(&format!("set -o pipefail; $DAMACY {command} | head -1 > /dev/null"));
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{command}");
        let closed = shell(&format!("$DAMACY {command} >&-; exit $?"));
        assert!(!closed.err.contains("panicked") && closed.code != 101, "{command}: {}", closed.err);
    }
    let neither = shell("$DAMACY inspect /nowhere >&- 2>&-");
    assert_eq!(neither.code, 13);
}

#[test]
fn a_full_disk_is_an_io_error() {
    let run = shell(&format!("$DAMACY inspect {} --json > /dev/full", fixture("v3-zstd")));
    run.refused(16, &["IO", "standard output"]);
}
