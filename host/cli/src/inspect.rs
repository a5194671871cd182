//! `damacy inspect`: a URI -> what its metadata says, as text or JSON.

use crate::args::InspectArgs;
use crate::failure::Failure;
use crate::output::{self, Table, bytes, count, count_or_more, one_line, tuple};
use damacy::inspect::{ArrayInfo, GroupInfo, Inspected, Multiscale};
use damacy::zarr::uri_of_path;
use damacy::{ByteOrder, Error};
use std::io::{self, Write};
use std::path::Path;

/// Runs the command.
pub fn run(args: &InspectArgs) -> Result<(), Failure> {
    let found = damacy::inspect(&uri_of_path(Path::new(&args.uri)))?;
    if args.json {
        return output::json(&found);
    }
    output::print(|out| match &found {
        Inspected::Array(info) => array(out, info),
        Inspected::Group(info) => group(out, info),
    })
}

fn array(out: &mut dyn Write, info: &ArrayInfo) -> io::Result<()> {
    writeln!(out, "{}: Zarr v{} array", one_line(&info.uri), info.zarr_format)?;
    let mut table = Table::default();
    let mut row = |name: &str, text: String| table.row([name, &text]);
    let elements = format!("{} elements", count_or_more(info.elements));
    let size = info.bytes.map_or(String::new(), |n| format!(", {}", bytes(n)));
    row("shape", format!("{}: {elements}{size}", tuple(&info.shape)));
    let order = match info.byte_order {
        ByteOrder::Little => "little-endian",
        ByteOrder::Big => "big-endian",
    };
    row("data type", format!("{}, {order}", info.data_type));
    let size = info.chunk_bytes.map_or(String::new(), |n| format!(", {} each decoded", bytes(n)));
    let fortran = if info.order == 'F' { ", first axis fastest" } else { "" };
    row(
        "chunks",
        format!("{}: {} = {}{size}{fortran}", tuple(&info.chunk_shape), times(&info.grid), count_or_more(info.chunks)),
    );
    for (nth, shard) in info.shard_shapes.iter().enumerate() {
        let number = if nth == 0 { format!(": {}", count_or_more(info.objects)) } else { String::new() };
        row("shards", format!("{}{number}", tuple(shard)));
    }
    row("codecs", if info.codecs.is_empty() { "none".into() } else { info.codecs.join(", ") });
    row("fill value", info.fill_value.map_or("unknown".into(), |fill| fill.to_string()));
    row("keys", format!("{} with {:?}", info.chunk_key.name, info.chunk_key.separator));
    match &info.refusal {
        None => {
            let names: Vec<&str> = info.outputs.iter().map(|dtype| dtype.short_name()).collect();
            row("converts to", names.join(", "));
        }
        Some(refusal) => row("converts to", format!("nothing: {}: {refusal}", refusal.status().name())),
    }
    table.write(out, "  ")
}

/// `8 x 8 x 8`; 1 without axes.
fn times(grid: &[u64]) -> String {
    if grid.is_empty() {
        return "1".into();
    }
    grid.iter().map(|n| count(*n)).collect::<Vec<_>>().join(" x ")
}

fn group(out: &mut dyn Write, info: &GroupInfo) -> io::Result<()> {
    writeln!(out, "{}: Zarr v{} group", one_line(&info.uri), info.zarr_format)?;
    for image in &info.multiscales {
        multiscale(out, image)?;
    }
    if let Some(error) = &info.multiscales_error {
        writeln!(out, "OME-Zarr attributes: {}", refused(error))?;
    }
    if info.arrays.is_empty() {
        writeln!(out, "no arrays inside")?;
    } else {
        writeln!(out, "arrays inside")?;
        let mut table = Table::default();
        table.row(["path", "shape", "chunks", "shards", "data type"]);
        for child in &info.arrays {
            table.row([vec![child.path.clone()], facts(&child.array)].concat());
        }
        table.write(out, "  ")?;
    }
    if !info.groups.is_empty() {
        writeln!(out, "groups inside: {}", one_line(&info.groups.join(", ")))?;
    }
    if !info.complete {
        writeln!(out, "and more, which is not listed")?;
    }
    Ok(())
}

fn multiscale(out: &mut dyn Write, image: &Multiscale) -> io::Result<()> {
    let version = image.version.as_ref().map_or(String::new(), |version| format!(" {version}"));
    let name = image.name.as_ref().map_or(String::new(), |name| format!(", {name:?}"));
    writeln!(out, "OME-Zarr{} image{}", one_line(&version), one_line(&name))?;
    if let Some(error) = &image.error {
        writeln!(out, "  {}", refused(error))?;
        if image.levels.is_empty() {
            return Ok(());
        }
    }
    let axis = |axis: &damacy::inspect::Axis| match (&axis.kind, &axis.unit) {
        (Some(kind), Some(unit)) => format!("{} ({kind}, {unit})", axis.name),
        (Some(word), None) | (None, Some(word)) => format!("{} ({word})", axis.name),
        (None, None) => axis.name.clone(),
    };
    let axes: Vec<String> = image.axes.iter().map(axis).collect();
    let mut table = Table::default();
    table.row(["axes", &if axes.is_empty() { "not named".into() } else { axes.join(", ") }]);
    table.write(out, "  ")?;
    let mut table = Table::default();
    table.row(["level", "factors", "scale", "shape", "chunks", "shards", "data type"]);
    for level in &image.levels {
        table.row(
            [vec![level.path.clone(), numbers(&level.factors), numbers(&level.scale)], facts(&level.array)].concat(),
        );
    }
    table.write(out, "  ")
}

fn numbers(numbers: &[f64]) -> String {
    let text = |n: &f64| if n.abs() < 1e9 { format!("{}", (n * 1e6).round() / 1e6) } else { format!("{n:e}") };
    if numbers.is_empty() { "-".into() } else { numbers.iter().map(text).collect::<Vec<_>>().join(" ") }
}

/// Shape, chunks, shards, data type; or what is wrong.
fn facts(array: &Result<ArrayInfo, Error>) -> Vec<String> {
    match array {
        Ok(info) => {
            let shards: Vec<String> = info.shard_shapes.iter().map(|shape| tuple(shape)).collect();
            let shards = if shards.is_empty() { "-".into() } else { shards.join(" in ") };
            let lacks = if info.refusal.is_some() { " (no conversion)" } else { "" };
            vec![tuple(&info.shape), tuple(&info.chunk_shape), shards, format!("{}{lacks}", info.data_type)]
        }
        Err(error) => vec![refused(error)],
    }
}

fn refused(error: &Error) -> String {
    format!("{}: {error}", error.status().name())
}
