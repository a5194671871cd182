//! `convert`: the judged vectors through files, .npy headers, and outputs that appear as a whole or not at all.

use super::support::{DAMACY, damacy, repository, shell, text};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).expect("text"), 16).expect("hex"))
        .collect()
}

/// Names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

#[test]
fn all_judged_vectors_in_both_byte_orders_and_engines() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (folder.path().join("in.raw"), folder.path().join("out.raw"));
    let pairs = fs::read_to_string(repository("tests/vectors/pairs.jsonl")).expect("the vectors");
    let mut count = 0;
    for (nth, line) in pairs.lines().enumerate() {
        let pair: Value = serde_json::from_str(line).expect("JSON");
        let field = |name: &str| pair[name].as_str().expect("text");
        let (mut elements, expected) = (bytes(field("in")), bytes(field("out")));
        let width = if field("src").ends_with('8') { 1 } else { field("src")[1..].parse::<usize>().expect("bits") / 8 };
        let (order, engine) = [("little", "native"), ("big", "native"), ("big", "sandbox")][nth % 3];
        if order == "big" {
            elements.chunks_mut(width).for_each(<[u8]>::reverse);
        }
        fs::write(&input, elements).expect("written");
        let arguments = ["convert", text(&input), text(&output), "--force", "--source", field("src")];
        let options = ["--dtype", field("dst"), "--byte-order", order, "--engine", engine];
        let run = damacy([&arguments[..], &options].concat());
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{line:.60}");
        assert_eq!(fs::read(&output).expect("the output"), expected, "{line:.60}");
        count += 1;
    }
    assert_eq!(count, 100);
    assert_eq!(names(folder.path()), ["in.raw", "out.raw"]);
}

/// A .npy file by hand, as the format's description says.
fn npy(version: u8, header: &str, elements: &[u8]) -> Vec<u8> {
    let mut file = vec![0x93, b'N', b'U', b'M', b'P', b'Y', version, 0];
    match version {
        1 => file.extend((header.len() as u16).to_le_bytes()),
        _ => file.extend((header.len() as u32).to_le_bytes()),
    }
    [&file, header.as_bytes(), elements].concat()
}

#[test]
fn npy_files_of_all_versions_in_and_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (folder.path().join("in.npy"), folder.path().join("out.NPY"));
    for version in [1, 2, 3] {
        let header = "{'descr': '>i2', 'fortran_order': False, 'shape': (3,), }\n";
        fs::write(&input, npy(version, header, &[0xff, 0xff, 0, 12, 1, 0])).expect("written");
        assert_eq!(damacy(["convert", text(&input), text(&output), "--dtype", "u8", "--force"]).code, 0);
        let found = fs::read(&output).expect("the output");
        let (before, elements) = found.split_at(found.len() - 3);
        assert_eq!(elements, [0, 12, 255]);
        assert!(before.starts_with(b"\x93NUMPY\x01\x00") && before.len().is_multiple_of(64) && before.ends_with(b"\n"));
        let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }";
        assert!(String::from_utf8_lossy(before).contains(header));
    }
}

#[test]
fn fortran_order_is_kept_in_npy_and_turned_in_raw() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, raw, kept) = (folder.path().join("in.npy"), folder.path().join("out"), folder.path().join("out.npy"));
    // [[1, 2, 3], [4, 5, 6]], first axis fastest.
    let header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}";
    fs::write(&input, npy(1, header, &[1, 4, 2, 5, 3, 6])).expect("written");
    for engine in ["native", "sandbox"] {
        let run =
            |out: &Path| damacy(["convert", text(&input), text(out), "--dtype", "u8", "--force", "--engine", engine]);
        assert_eq!((run(&raw).code, run(&kept).code), (0, 0));
        assert_eq!(fs::read(&raw).expect("the output"), [1, 2, 3, 4, 5, 6]);
        let found = fs::read(&kept).expect("the output");
        assert!(found.ends_with(&[1, 4, 2, 5, 3, 6]));
        assert!(String::from_utf8_lossy(&found).contains("'fortran_order': True, 'shape': (2, 3)"));
    }
}

#[test]
fn many_blocks_are_one_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    let elements: Vec<u8> =
        (0..3_000_001_u32).flat_map(|n| (n.wrapping_mul(2_654_435_761) as u16).to_le_bytes()).collect();
    fs::write(&input, &elements).expect("written");
    let run = damacy(["convert", text(&input), text(&output), "--source", "u16", "--dtype", "u64"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let expected: Vec<u8> = elements.chunks(2).flat_map(|two| [two[0], two[1], 0, 0, 0, 0, 0, 0]).collect();
    assert!(fs::read(&output).expect("the output") == expected);
}

#[test]
fn bfloat16_in_npy_is_uint16_with_a_note() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (folder.path().join("in"), folder.path().join("out.npy"));
    fs::write(&input, 1.0f32.to_le_bytes()).expect("written");
    let run = damacy(["convert", text(&input), text(&output), "--source", "f32", "--dtype", "bf16", "--shape", "1,1"]);
    assert_eq!(run.code, 0);
    assert!(run.err.contains("uint16") && run.err.contains("ml_dtypes.bfloat16"), "{}", run.err);
    let found = fs::read(&output).expect("the output");
    assert!(String::from_utf8_lossy(&found).contains("'<u2', 'fortran_order': False, 'shape': (1, 1)"));
    assert!(found.ends_with(&[0x80, 0x3f]));
}

#[test]
fn an_existing_file_is_replaced_only_by_force() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    fs::write(&input, [1, 2]).expect("written");
    fs::write(&output, "precious").expect("written");
    let convert = |out: &Path, more: &[&str]| {
        damacy([&["convert", text(&input), text(out), "--source", "u8", "--dtype", "u16"][..], more].concat())
    };
    convert(&output, &[]).refused(12, &["exists", "--force"]);
    assert_eq!(fs::read(&output).expect("still there"), b"precious");
    assert_eq!(convert(&output, &["--force"]).code, 0);
    assert_eq!(fs::read(&output).expect("replaced"), [1, 0, 2, 0]);
    // In place, a device, a folder, and a link to nothing.
    assert_eq!(convert(&input, &["--force"]).code, 0);
    assert_eq!(fs::read(&input).expect("replaced"), [1, 0, 2, 0]);
    convert(Path::new("/dev/null"), &["--force"]).refused(12, &["no regular file"]);
    convert(folder.path(), &["--force"]).refused(12, &["no regular file"]);
    convert(&folder.path().join("none/out"), &[]).refused(16, &["cannot be written"]);
    let link = folder.path().join("link");
    symlink("nothing", &link).expect("a link");
    convert(&link, &[]).refused(12, &["exists"]);
    assert_eq!(names(folder.path()), ["in", "link", "out"]);
}

#[test]
fn new_files_have_the_usual_permissions() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("in"), [1]).expect("written");
    let line = format!("umask 027; cd {}; $DAMACY convert in out --source u8 --dtype u8", text(folder.path()));
    assert_eq!(shell(&line).code, 0);
    let mode = fs::metadata(folder.path().join("out")).expect("the output").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn a_replaced_file_keeps_its_mode_and_its_links() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    fs::write(place("in"), [1, 2]).expect("written");
    fs::create_dir(place("other")).expect("a folder");
    fs::write(place("other/target"), "old").expect("written");
    fs::set_permissions(place("other/target"), fs::Permissions::from_mode(0o606)).expect("a mode");
    symlink("other/target", place("link")).expect("a link");
    symlink("nothing", place("broken")).expect("a link");
    let line = |out: &str| {
        let folder = text(folder.path());
        shell(&format!("umask 077; cd {folder}; $DAMACY convert in {out} --source u8 --dtype u8 --force"))
    };
    assert_eq!(line("link").code, 0);
    assert!(place("link").is_symlink());
    assert_eq!(fs::read(place("other/target")).expect("replaced"), [1, 2]);
    let mode = fs::metadata(place("other/target")).expect("the output").permissions().mode();
    assert_eq!(mode & 0o777, 0o606);
    line("broken").refused(12, &["a link to nothing"]);
    assert_eq!(names(folder.path()), ["broken", "in", "link", "other"]);
    assert_eq!(names(&place("other")), ["target"]);
}

#[test]
fn a_failure_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    let header = |shape: &str| format!("{{'descr': '<u2', 'fortran_order': False, 'shape': {shape}}}");
    let cases: [(&str, Vec<u8>, i32, &str); 9] = [
        ("short.npy", npy(1, &header("(3,)"), &[0; 5]), 17, "6 bytes of elements"),
        ("long.npy", npy(1, &header("(3,)"), &[0; 7]), 17, "the file has 7"),
        ("huge.npy", npy(1, &header("(18446744073709551615, 2)"), &[]), 17, "more than 2^64 - 1"),
        ("minus.npy", npy(1, &header("(-1,)"), &[]), 17, "extent"),
        ("text.npy", b"no NumPy file".to_vec(), 17, "does not start"),
        ("empty.npy", Vec::new(), 17, "ends inside its header"),
        ("double.npy", npy(1, &header("(1,)").replace("u2", "f8"), &[0; 8]), 14, "float32"),
        ("struct.npy", npy(1, &header("()").replace("'<u2'", "[('a', '<u2')]"), &[0; 2]), 14, "structured"),
        ("new.npy", npy(9, "", &[]), 22, "version 9"),
    ];
    let given: Vec<&str> = cases.iter().map(|case| case.0).collect();
    for (name, file, code, part) in &cases {
        fs::write(place(name), file).expect("written");
        damacy(["convert", text(&place(name)), text(&place("out.npy")), "--dtype", "u8"]).refused(*code, &[name, part]);
    }
    fs::write(place("odd"), [1, 2, 3]).expect("written");
    let odd = place("odd");
    let raw =
        |more: &[&str]| damacy([&["convert", text(&odd), text(&place("out")), "--dtype", "u8"][..], more].concat());
    raw(&["--source", "u16"]).refused(12, &["3 bytes", "2 bytes"]);
    raw(&["--source", "u8", "--shape", "2,2"]).refused(12, &["3 elements", "(2, 2)"]);
    damacy(["convert", text(&place("none")), text(&place("out")), "--dtype", "u8", "--source", "u8"])
        .refused(13, &["none"]);
    damacy(["convert", text(folder.path()), text(&place("out")), "--dtype", "u8", "--source", "u8"])
        .refused(16, &["no regular file"]);
    let mut left = names(folder.path());
    left.retain(|name| !given.contains(&name.as_str()));
    assert_eq!(left, ["odd"]);
}

#[test]
fn an_output_that_cannot_be_made_is_named_and_no_temporary_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("in");
    fs::write(&input, [1, 2]).expect("written");
    let into = |output: &str| damacy(["convert", text(&input), output, "--dtype", "u8", "--source", "u8"]);
    let missing = folder.path().join("none/deeper/out.npy");
    let no_folder = format!("there is no folder {}", folder.path().join("none/deeper").display());
    into(text(&missing)).refused(16, &[text(&missing), &no_folder]);
    // A folder where not even root makes files.
    for refused in [into(text(&missing)), into("/proc/out.npy")] {
        assert!(!refused.err.contains(".part"), "{}", refused.err);
    }
    into("/proc/out.npy").refused(
        16,
        &["/proc/out.npy cannot be written: in the folder /proc no file can be made: No such file or directory (os error 2)"],
    );
    assert_eq!(names(folder.path()), ["in"]);
}

#[test]
fn a_file_beyond_the_limit_of_sizes_is_an_error_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("in"), vec![1; 100_000]).expect("written");
    let line = format!(
        "cd {}; ulimit -f 64; exec $DAMACY convert in out --source u8 --dtype u64 --engine native",
        text(folder.path())
    );
    let run = shell(&line);
    run.refused(16, &["out cannot be written: File too large"]);
    assert!(!run.err.contains(".part"), "{}", run.err);
    assert_eq!(names(folder.path()), ["in"]);
}

#[test]
fn a_pipe_does_not_hang() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = format!("cd {}; mkfifo p; timeout 20 $DAMACY convert p out --source u8 --dtype u8", text(folder.path()));
    shell(&line).refused(16, &["no regular file"]);
}

#[test]
fn a_signal_midway_leaves_nothing() {
    use std::os::unix::process::ExitStatusExt;
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let folder = tempfile::tempdir().expect("a folder");
        let (input, output) = (folder.path().join("in"), folder.path().join("out"));
        // Long enough to be met midway; it takes no disk.
        fs::File::create(&input).expect("a file").set_len(4 << 30).expect("a sparse file");
        let arguments = ["convert", text(&input), text(&output), "--source", "u8", "--dtype", "f32"];
        let mut child = std::process::Command::new(DAMACY).args(arguments).spawn().expect("the program starts");
        while names(folder.path()).len() < 2 {
            assert!(child.try_wait().expect("a child").is_none(), "it ended before it wrote anything");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        // SAFETY: the child has not been waited for, so its number is its own.
        assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
        assert_eq!(child.wait().expect("it ends").signal(), Some(signal));
        assert_eq!(names(folder.path()), ["in"]);
    }
}
