//! The header against this crate: a C program, compiled here, prints what the header says, member by member.

use crate::structs::{self, Interval, PlanChunk};
use host::pool::Kind;
use host::{Dtype, SourceType, Status};
use std::fmt::Write as _;
use std::mem::offset_of;
use std::process::Command;

const HEADER: &str = include_str!("../../include/damacy.h");

type Layout = (&'static str, usize, Vec<(&'static str, usize)>);

fn layouts() -> Vec<Layout> {
    let mut layouts = structs::layouts();
    layouts.push((
        "damacy_interval",
        size_of::<Interval>(),
        vec![("start", offset_of!(Interval, start)), ("stop", offset_of!(Interval, stop))],
    ));
    layouts.push((
        "damacy_plan_chunk",
        size_of::<PlanChunk>(),
        vec![
            ("array", offset_of!(PlanChunk, array)),
            ("first_use", offset_of!(PlanChunk, first_use)),
            ("use_count", offset_of!(PlanChunk, use_count)),
            ("reserved", offset_of!(PlanChunk, reserved)),
        ],
    ));
    layouts
}

/// Every enumerator, with the number that this crate takes it for.
fn enumerators() -> Vec<(String, i32)> {
    let mut all: Vec<(String, i32)> =
        Status::ALL.iter().map(|&status| (format!("DAMACY_{}", status.name()), status as i32)).collect();
    let upper = |prefix: &str, name: &str| format!("{prefix}{}", name.to_uppercase());
    all.extend(Dtype::ALL.iter().map(|&dtype| (upper("DAMACY_", dtype.short_name()), dtype as i32)));
    all.extend(SourceType::ALL.iter().map(|&source| (upper("DAMACY_SOURCE_", source.short_name()), source as i32)));
    all.extend((1..).zip(Kind::ALL).map(|(number, kind)| (upper("DAMACY_REFUSAL_", kind.name()), number)));
    let others = [
        ("REFUSAL_NONE", 0),
        ("SOURCE_NONE", -1),
        ("LITTLE_ENDIAN", 0),
        ("BIG_ENDIAN", 1),
        ("NATIVE", 0),
        ("SANDBOX", 1),
        ("CUDA_CURRENT", 0),
        ("CUDA_DEVICE", 1),
        ("DROP_LAST", 0),
        ("KEEP_LAST", 1),
        ("ZARR_V2", 2),
        ("ZARR_V3", 3),
        ("CROPS_BOXES", 0),
        ("CROPS_UNIFORM", 1),
        ("CROPS_GRID", 2),
        ("EXACT", 0),
        ("EXPECTED", 1),
        ("APPROXIMATE", 2),
        ("LOG_OFF", 0),
        ("LOG_ERROR", 1),
        ("LOG_WARN", 2),
        ("LOG_INFO", 3),
        ("LOG_DEBUG", 4),
    ];
    all.extend(others.map(|(name, number)| (format!("DAMACY_{name}"), number)));
    all.sort();
    all
}

/// What a program with these statements prints, compiled with the header.
fn printed_by_c(statements: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("layout.c"), folder.path().join("layout"));
    let text = format!("#include <damacy.h>\n#include <stdio.h>\nint main(void) {{\n{statements}return 0;\n}}\n");
    std::fs::write(&source, text).unwrap();
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../include");
    let flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", include, "-o"];
    let compiled = Command::new("cc").args(flags).arg(&program).arg(&source).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&program).output().unwrap();
    assert!(ran.status.success());
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn structs_have_the_layout_that_the_header_says() {
    let (mut program, mut expected) = (String::new(), String::new());
    for (name, size, members) in layouts() {
        writeln!(program, r#"printf("{name} %zu\n", sizeof({name}));"#).unwrap();
        writeln!(expected, "{name} {size}").unwrap();
        for (member, offset) in members {
            writeln!(program, r#"printf("{name}.{member} %zu\n", offsetof({name}, {member}));"#).unwrap();
            writeln!(expected, "{name}.{member} {offset}").unwrap();
        }
    }
    assert_eq!(printed_by_c(&program), expected);
}

#[test]
fn no_struct_of_the_header_is_left_out() {
    let mut known: Vec<_> = layouts().into_iter().map(|(name, ..)| name).collect();
    let mut declared: Vec<_> =
        HEADER.lines().filter_map(|line| line.strip_prefix("typedef struct ")?.strip_suffix(" {")).collect();
    known.sort_unstable();
    declared.sort_unstable();
    assert_eq!(declared, known);
}

#[test]
fn enumerators_have_the_numbers_that_the_header_says() {
    let (mut program, mut expected) = (String::new(), String::new());
    for (name, number) in enumerators() {
        writeln!(program, r#"printf("{name} %d\n", {name});"#).unwrap();
        writeln!(expected, "{name} {number}").unwrap();
    }
    assert_eq!(printed_by_c(&program), expected);

    let mut declared = Vec::new();
    for line in HEADER.lines().filter(|line| line.contains("DAMACY_") && line.contains(" = ")) {
        let code = line.split("/*").next().unwrap_or_default();
        let pairs = code.split(['{', '}', ',']).filter_map(|pair| pair.trim().split_once(" = "));
        declared.extend(pairs.map(|(name, _)| name.to_owned()).filter(|name| name.starts_with("DAMACY_")));
    }
    declared.sort();
    assert_eq!(declared, enumerators().into_iter().map(|(name, _)| name).collect::<Vec<_>>());
}

/// The parameters of a declaration, each by its type's shape: `i32`, `u32`, `usize`, `f64`, `pointer`.
fn shapes<'a>(parameters: &str, shape: impl Fn(&str) -> &'a str) -> Vec<&'a str> {
    let mut depth = 0;
    let separate = |c: char| {
        depth += i32::from(c == '<') - i32::from(c == '>');
        c == ',' && depth == 0
    };
    parameters.split(separate).map(str::trim).filter(|p| !p.is_empty() && *p != "void").map(shape).collect()
}

fn c_shape(parameter: &str) -> &'static str {
    if parameter.contains('*') || parameter.starts_with("damacy_log_function") {
        return "pointer";
    }
    match parameter.split(' ').next() {
        Some("size_t") => "usize",
        Some("double") => "f64",
        Some("uint32_t") => "u32",
        Some("int64_t") => "i64",
        _ => "i32",
    }
}

fn rust_shape(parameter: &str) -> &'static str {
    match parameter.split_once(": ").map(|(_, kind)| kind) {
        Some("usize") => "usize",
        Some("f64") => "f64",
        Some("u32") => "u32",
        Some("i64") => "i64",
        Some("i32") => "i32",
        _ => "pointer",
    }
}

#[test]
fn functions_take_what_the_header_says() {
    // Comments out, one declaration a line.
    let mut code = String::new();
    for (at, part) in HEADER.split("/*").enumerate() {
        code.push_str(if at == 0 { part } else { part.split_once("*/").map_or("", |(_, code)| code) });
    }
    let flat = code.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut declared: Vec<(String, Vec<&str>)> = flat
        .split(';')
        .filter(|declaration| !declaration.contains("typedef"))
        .filter_map(|declaration| {
            let (before, parameters) = declaration.split_once('(')?;
            let name = before.rsplit([' ', '*']).next()?;
            let parameters = parameters.strip_suffix(')')?;
            name.starts_with("damacy_").then(|| (name.to_owned(), shapes(parameters, c_shape)))
        })
        .collect();
    let sources = [
        include_str!("batch.rs"),
        include_str!("convert.rs"),
        include_str!("estimate.rs"),
        include_str!("inspect.rs"),
        include_str!("last.rs"),
        include_str!("log.rs"),
        include_str!("pipeline.rs"),
        include_str!("plan.rs"),
        include_str!("pool/call.rs"),
        include_str!("pool/facts.rs"),
        include_str!("pool/limits.rs"),
        include_str!("pool/metrics.rs"),
        include_str!("pool/mod.rs"),
        include_str!("pool/refusal.rs"),
        include_str!("types.rs"),
    ];
    let mut defined: Vec<(String, Vec<&str>)> = sources
        .iter()
        .flat_map(|source| source.split("extern \"C\" fn ").skip(1))
        .filter(|rest| rest.starts_with("damacy_"))
        .filter_map(|rest| {
            let (name, rest) = rest.split_once('(')?;
            let parameters = rest.split_once(") ->")?.0;
            Some((name.to_owned(), shapes(parameters, rust_shape)))
        })
        .collect();
    declared.sort();
    defined.sort();
    assert!(declared.len() > 30, "{declared:?}");
    assert_eq!(declared, defined);
}
