//! `damacy convert`: a raw or .npy file -> another, element by element by the conversion rules.
//!
//! Elements stream through in blocks; only a raw output of a .npy file in Fortran order needs the whole file in memory.
//! The output is a temporary file beside its place until it is whole.

mod npy;
mod place;

use crate::args::{ConvertArgs, EngineArg};
use crate::failure::Failure;
use crate::output::{count, tuple};
use damacy::convert::{convert, convert_box_parallel};
use damacy::{ByteOrder, Dtype, Engine, Error, SourceType, Status};
use damacy_bench::interrupt::{self, Watch};
use damacy_core::convert::{Crop, Kernel};
use npy::Header;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Source or output bytes that are in memory at a time, whichever are more.
const BLOCK_BYTES: usize = 4 << 20;

/// The elements of the input file, and how they lie.
struct Input {
    reader: BufReader<File>,
    header: Header,
    elements: u64,
}

/// Runs the command.
pub fn run(args: &ConvertArgs) -> Result<(), Failure> {
    let to_npy = is_npy(&args.output);
    let place = place::check(&args.output, args.force)?;
    let about_input = |error: Error| {
        let message = format!("{}: {error}", damacy::text::path(&args.input));
        error.with_message(message)
    };
    let mut input = if is_npy(&args.input) {
        if args.source.is_some() || args.byte_order.is_some() || args.shape.is_some() {
            return Err(Failure::usage(
                "convert",
                "--source, --byte-order and --shape are for raw inputs; a .npy file says them itself",
            ));
        }
        open(&args.input).and_then(|(file, len)| npy_input(file, len)).map_err(about_input)?
    } else {
        let Some(source) = args.source else {
            let why = if args.input.is_dir() {
                "the input is a directory; accepted are .npy files and files of raw elements, not Zarr arrays"
            } else {
                "a raw input needs --source (files whose names end in .npy do not)"
            };
            return Err(Failure::usage("convert", why));
        };
        open(&args.input).and_then(|(file, len)| raw_input(file, len, source, args)).map_err(about_input)?
    };
    let engine = match args.engine {
        EngineArg::Native => Engine::Native,
        EngineArg::Sandbox => Engine::Sandbox,
    };
    // Until the output is in its place, SIGINT and SIGTERM end the command at the next block, which removes what there is.
    let _watch = Watch::new();
    let mut output = place::Output::new(place)?;
    if to_npy {
        output.write(&npy::header(args.dtype, &input.header.shape, input.header.fortran_order))?;
    }
    if input.header.fortran_order && input.header.shape.len() > 1 && !to_npy {
        let elements = in_c_order(&mut input, args.dtype, engine).map_err(about_input)?;
        output.write(&elements)?;
    } else {
        stream(&mut input, args.dtype, engine, about_input, &mut output)?;
    }
    interrupt::check()?;
    output.finish()?;
    if to_npy && args.dtype == Dtype::Bf16 {
        let note =
            "note: NumPy has no bfloat16; the file holds its bits as uint16: numpy.load(...).view(ml_dtypes.bfloat16)";
        let _ = writeln!(io::stderr().lock(), "{note}");
    }
    Ok(())
}

fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"))
}

/// A regular file and its length.
fn open(path: &Path) -> Result<(File, u64), Error> {
    let failed = |error: io::Error| {
        let status = if error.kind() == io::ErrorKind::NotFound { Status::NotFound } else { Status::Io };
        Error::new(status, "convert", "it cannot be opened").with_source(error)
    };
    // Opening a pipe without a writer would block; on a regular file the flag does nothing.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(Error::new(Status::Io, "convert", "no regular file"));
    }
    Ok((file, metadata.len()))
}

fn npy_input(file: File, len: u64) -> Result<Input, Error> {
    let mut reader = BufReader::new(file);
    let (header, before) = npy::read(&mut reader)?;
    let elements =
        if header.shape.contains(&0) { Some(0) } else { header.shape.iter().try_fold(1u64, |n, &e| n.checked_mul(e)) };
    let bytes = elements.and_then(|elements| elements.checked_mul(header.source.width() as u64));
    match (elements, bytes) {
        (Some(elements), Some(bytes)) if before.checked_add(bytes) == Some(len) => {
            Ok(Input { reader, header, elements })
        }
        _ => {
            let needed = bytes.map_or("more than 2^64 - 1".into(), count);
            let message = format!(
                "{} {} has {needed} bytes of elements; behind the header the file has {}",
                header.source,
                tuple(&header.shape),
                count(len.saturating_sub(before))
            );
            Err(Error::new(Status::Decode, "convert", message))
        }
    }
}

fn raw_input(file: File, len: u64, source: SourceType, args: &ConvertArgs) -> Result<Input, Error> {
    let width = source.width() as u64;
    let elements = len / width;
    let inval = |message: String| Err(Error::new(Status::Inval, "convert", message));
    if !len.is_multiple_of(width) {
        return inval(format!(
            "{} bytes are no whole number of {source} elements; accepted is a multiple of {width} bytes",
            count(len)
        ));
    }
    let shape = args.shape.as_ref().map_or_else(|| vec![elements], |shape| shape.0.clone());
    let given = shape.iter().try_fold(1u128, |n, &extent| n.checked_mul(u128::from(extent)));
    if given != Some(u128::from(elements)) && !(elements == 0 && shape.contains(&0)) {
        return inval(format!(
            "it has {} elements of {source}; a shape of as many is accepted, not {}",
            count(elements),
            tuple(&shape)
        ));
    }
    let byte_order = args.byte_order.unwrap_or(ByteOrder::Little);
    let header = Header { source, byte_order, fortran_order: false, shape };
    Ok(Input { reader: BufReader::new(file), header, elements })
}

/// Converts block by block, in the input's order.
fn stream(
    input: &mut Input,
    dtype: Dtype,
    engine: Engine,
    about_input: impl Fn(Error) -> Error,
    output: &mut place::Output,
) -> Result<(), Failure> {
    let Header { source, byte_order, .. } = input.header;
    let block = BLOCK_BYTES / source.width().max(dtype.width());
    let mut left = input.elements;
    let most = left.min(block as u64);
    let (mut src, mut dst) = (zeros(most, source.width())?, zeros(most, dtype.width())?);
    while left > 0 {
        interrupt::check()?;
        let elements = block.min(usize::try_from(left).unwrap_or(block));
        src.truncate(elements * source.width());
        dst.truncate(elements * dtype.width());
        fill(&mut input.reader, &mut src).map_err(&about_input)?;
        convert(engine, source, byte_order, dtype, &src, &mut dst)?;
        output.write(&dst)?;
        left -= elements as u64;
    }
    Ok(())
}

fn fill(reader: &mut impl Read, bytes: &mut [u8]) -> Result<(), Error> {
    reader
        .read_exact(bytes)
        .map_err(|error| Error::new(Status::Io, "convert", "it cannot be read to its end").with_source(error))
}

/// All elements in C order, of a file in Fortran order.
fn in_c_order(input: &mut Input, dtype: Dtype, engine: Engine) -> Result<Vec<u8>, Error> {
    let Header { source, byte_order, shape, .. } = &input.header;
    let mut src = zeros(input.elements, source.width())?;
    let mut dst = zeros(input.elements, dtype.width())?;
    fill(&mut input.reader, &mut src)?;
    let strides = |extents: &mut dyn Iterator<Item = &u64>, width: usize| {
        let mut next = width as isize;
        let stride = |&extent: &u64| {
            let stride = next;
            next = next.wrapping_mul(extent as isize);
            stride
        };
        extents.map(stride).collect::<Vec<isize>>()
    };
    let src_strides = strides(&mut shape.iter(), source.width());
    let mut dst_strides = strides(&mut shape.iter().rev(), dtype.width());
    dst_strides.reverse();
    let crop =
        Crop { extent: shape, src_offset: 0, src_strides: &src_strides, dst_offset: 0, dst_strides: &dst_strides };
    let kernel = Kernel::select(*source, *byte_order, dtype);
    convert_box_parallel(engine, None, &kernel, &crop, &src, &mut dst)?;
    Ok(dst)
}

fn zeros(elements: u64, width: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let len = usize::try_from(elements).ok().and_then(|elements| elements.checked_mul(width));
    let reserved = len.map(|len| bytes.try_reserve_exact(len).map(|()| len));
    match reserved {
        Some(Ok(len)) => bytes.resize(len, 0),
        _ => {
            let message = format!("no memory for {} elements of {width} bytes at once", count(elements));
            return Err(Error::new(Status::Oom, "convert", message));
        }
    }
    Ok(bytes)
}
