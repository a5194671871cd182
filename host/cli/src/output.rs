//! Standard output: text, tables and JSON, written in one place so that a closed pipe is an error and no panic.

use crate::failure::Failure;
pub use damacy::text::one_line;
pub use damacy_bench::units::count;
use serde::Serialize;
use std::io::{self, BufWriter, Write};

/// Runs `write` on a buffered standard output.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    write(&mut out).and_then(|()| out.flush()).map_err(|error| {
        // What is left in the buffer cannot be written either.
        let _ = out.into_parts();
        Failure::Output(error)
    })
}

/// Prints a value as JSON, indented.
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    print(|out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        writeln!(out)
    })
}

/// Rows of columns that line up; the last cell of a row may be as long as it likes.
#[derive(Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Adds a row.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let cells = cells.into_iter().map(|cell| one_line(&cell.into()).into_owned());
        self.rows.push(cells.collect());
    }

    /// Writes the rows, each behind `indent`.
    pub fn write(&self, out: &mut dyn Write, indent: &str) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let padded = self.rows.iter().filter(|row| column + 1 < row.len());
            padded.map(|row| row[column].chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = String::from(indent);
            for (cell, &width) in row.iter().zip(&widths) {
                line.push_str(&format!("{cell:width$}  "));
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// `(256, 512)`, as Python writes it.
pub fn tuple(extents: &[u64]) -> String {
    match extents {
        [one] => format!("({one},)"),
        _ => format!("({})", extents.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// A count, or that it is beyond 64 bits.
pub fn count_or_more(number: Option<u64>) -> String {
    number.map_or_else(|| "more than 2^64 - 1".to_owned(), count)
}

/// `33,554,432 bytes (32.0 MiB)`.
pub fn bytes(number: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let Some(power) = (number.checked_ilog2().unwrap_or(0) / 10).checked_sub(1) else {
        return format!("{} bytes", count(number));
    };
    let scaled = number as f64 / 1024f64.powi(power as i32 + 1);
    format!("{} bytes ({scaled:.1} {})", count(number), units[power as usize])
}

/// A figure that may be an average: whole numbers as such.
pub fn figure(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        return count(number.abs() as u64);
    }
    format!("{number:.2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_scaled() {
        for (number, text) in [
            (0, "0 bytes"),
            (1023, "1,023 bytes"),
            (1024, "1,024 bytes (1.0 KiB)"),
            (33_554_432, "33,554,432 bytes (32.0 MiB)"),
            (u64::MAX, "18,446,744,073,709,551,615 bytes (16.0 EiB)"),
        ] {
            assert_eq!(bytes(number), text);
        }
        assert_eq!((figure(512.0), figure(4.828)), ("512".to_owned(), "4.83".to_owned()));
    }
}
