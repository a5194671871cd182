//! NumPy's .npy headers, versions 1 to 3: bytes -> element type, shape and order, or a refusal; and back (version 1, or 2
//! where that is too short).
//!
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>

use damacy::{ByteOrder, Dtype, Error, SourceType, Status};
use std::io::{self, Read};

/// What a .npy file starts with.
const MAGIC: &[u8] = b"\x93NUMPY";
/// Bytes of a header; NumPy itself reads 10,000 unless told otherwise.
const MAX_HEADER: usize = 64 << 10;
/// Bytes that the header and what is before it are padded to.
const ALIGNMENT: usize = 64;

/// What a header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Of the elements.
    pub source: SourceType,
    /// Of the elements.
    pub byte_order: ByteOrder,
    /// True if the first axis varies fastest.
    pub fortran_order: bool,
    /// Elements along each axis.
    pub shape: Vec<u64>,
}

/// Reads a header and says how many bytes it took.
pub fn read(input: &mut impl Read) -> Result<(Header, u64), Error> {
    let mut start = [0; 8];
    take(input, &mut start)?;
    let (magic, version) = start.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(malformed("it does not start as a .npy file does"));
    }
    let (len, before) = match version[0] {
        1 => {
            let mut len = [0; 2];
            take(input, &mut len)?;
            (usize::from(u16::from_le_bytes(len)), 10)
        }
        2 | 3 => {
            let mut len = [0; 4];
            take(input, &mut len)?;
            (u32::from_le_bytes(len) as usize, 12)
        }
        major => {
            let message = format!("version {major}.{} of .npy files; accepted are 1, 2 and 3", version[1]);
            return Err(Error::new(Status::Unsupported, "convert", message));
        }
    };
    if len > MAX_HEADER {
        let message = format!("the .npy header has {len} bytes; the limit is {MAX_HEADER}");
        return Err(Error::new(Status::Budget, "convert", message));
    }
    let mut text = vec![0; len];
    take(input, &mut text)?;
    Ok((parse(&String::from_utf8_lossy(&text))?, before + len as u64))
}

fn take(input: &mut impl Read, bytes: &mut [u8]) -> Result<(), Error> {
    input.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => malformed("the file ends inside its header"),
        _ => Error::new(Status::Io, "convert", "it cannot be read").with_source(error),
    })
}

fn malformed(what: impl std::fmt::Display) -> Error {
    Error::new(Status::Decode, "convert", format!("malformed .npy header: {what}"))
}

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, keys in any order, each once.
fn parse(text: &str) -> Result<Header, Error> {
    let mut cursor = Cursor { rest: text };
    let (mut element, mut fortran_order, mut shape) = (None, None, None);
    cursor.need("{")?;
    while !cursor.accept("}") {
        let key = cursor.text()?;
        cursor.need(":")?;
        let twice = match key {
            "descr" => element.replace(cursor.element()?).is_some(),
            "fortran_order" => fortran_order.replace(cursor.truth()?).is_some(),
            "shape" => shape.replace(cursor.shape()?).is_some(),
            _ => {
                return Err(malformed(format_args!(
                    "the key {key:?}; accepted are 'descr', 'fortran_order' and 'shape'"
                )));
            }
        };
        if twice {
            return Err(malformed(format_args!("{key:?} is there twice")));
        }
        if !cursor.accept(",") && !cursor.rest.starts_with('}') {
            return Err(cursor.expected("',' or '}'"));
        }
    }
    if !cursor.rest.is_empty() {
        return Err(cursor.expected("its end"));
    }
    let missing = |key: &str| malformed(format_args!("there is no {key:?}"));
    let (source, byte_order) = element.ok_or_else(|| missing("descr"))?;
    let fortran_order = fortran_order.ok_or_else(|| missing("fortran_order"))?;
    Ok(Header { source, byte_order, fortran_order, shape: shape.ok_or_else(|| missing("shape"))? })
}

/// The part of the header that is not read yet; white space before it is skipped.
struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\n', '\t', '\r']);
    }

    fn accept(&mut self, token: &str) -> bool {
        self.skip();
        let Some(rest) = self.rest.strip_prefix(token) else { return false };
        self.rest = rest;
        self.skip();
        true
    }

    fn need(&mut self, token: &str) -> Result<(), Error> {
        if self.accept(token) { Ok(()) } else { Err(self.expected(token)) }
    }

    fn expected(&self, what: &str) -> Error {
        let found: String = self.rest.chars().take(20).collect();
        malformed(format_args!("{found:?} where {what} is expected"))
    }

    /// A quoted text without escapes.
    fn text(&mut self) -> Result<&'a str, Error> {
        self.skip();
        let quote =
            self.rest.chars().next().filter(|c| matches!(c, '\'' | '"')).ok_or_else(|| self.expected("a text"))?;
        let (text, rest) = self.rest[1..].split_once(quote).ok_or_else(|| self.expected("a text"))?;
        if text.contains('\\') {
            return Err(self.expected("a text without backslashes"));
        }
        self.rest = rest;
        Ok(text)
    }

    fn truth(&mut self) -> Result<bool, Error> {
        if self.accept("True") {
            return Ok(true);
        }
        self.need("False").map(|()| false).map_err(|_| self.expected("True or False"))
    }

    fn shape(&mut self) -> Result<Vec<u64>, Error> {
        self.need("(")?;
        let mut shape = Vec::new();
        while !self.accept(")") {
            let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let (digits, rest) = self.rest.split_at(end);
            shape.push(digits.parse().map_err(|_| self.expected("an extent below 2^64"))?);
            self.rest = rest;
            if !self.accept(",") && !self.rest.starts_with(')') {
                return Err(self.expected("',' or ')'"));
            }
        }
        Ok(shape)
    }

    /// `'<f4'`.
    fn element(&mut self) -> Result<(SourceType, ByteOrder), Error> {
        self.skip();
        if self.rest.starts_with('[') {
            return Err(no_conversion("a structured type"));
        }
        let name = self.text()?;
        let (order, kind) = name.split_at(name.chars().next().map_or(0, char::len_utf8));
        let source = match kind {
            "u1" => SourceType::U8,
            "u2" => SourceType::U16,
            "u4" => SourceType::U32,
            "u8" => SourceType::U64,
            "i1" => SourceType::I8,
            "i2" => SourceType::I16,
            "i4" => SourceType::I32,
            "i8" => SourceType::I64,
            "f2" => SourceType::F16,
            "f4" => SourceType::F32,
            _ => return Err(no_conversion(&format!("{name:?}"))),
        };
        match order {
            "<" => Ok((source, ByteOrder::Little)),
            ">" => Ok((source, ByteOrder::Big)),
            "=" => Ok((source, ByteOrder::NATIVE)),
            "|" if source.width() == 1 => Ok((source, ByteOrder::Little)),
            _ => Err(malformed(format_args!("'descr' is {name:?}, whose byte order is none of <, > and |"))),
        }
    }
}

fn no_conversion(what: &str) -> Error {
    let names: Vec<&str> = SourceType::ALL.iter().map(|source| source.full_name()).collect();
    let message = format!("no conversion from {what}; accepted are {}", names.join(", "));
    Error::new(Status::Dtype, "convert", message)
}

/// A header for elements in this machine's byte order; bfloat16 is called uint16.
pub fn header(dtype: Dtype, shape: &[u64], fortran_order: bool) -> Vec<u8> {
    let order = match ByteOrder::NATIVE {
        _ if dtype.width() == 1 => '|',
        ByteOrder::Little => '<',
        ByteOrder::Big => '>',
    };
    let kind = match dtype {
        Dtype::F32 => 'f',
        Dtype::Bf16 | Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => 'u',
        Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => 'i',
    };
    let fortran = if fortran_order { "True" } else { "False" };
    let shape = crate::output::tuple(shape);
    let mut text =
        format!("{{'descr': '{order}{kind}{}', 'fortran_order': {fortran}, 'shape': {shape}, }}", dtype.width());
    // The text's length with padding, and so the version, behind a start of so many bytes.
    let padded = |before: usize| (before + text.len() + 1).next_multiple_of(ALIGNMENT) - before;
    let mut bytes = MAGIC.to_vec();
    // A shape that was read from a header of 64 KiB may need more than version 1 can hold.
    let len = match u16::try_from(padded(MAGIC.len() + 4)) {
        Ok(len) => {
            bytes.extend([1, 0]);
            bytes.extend(len.to_le_bytes());
            usize::from(len)
        }
        Err(_) => {
            let len = padded(MAGIC.len() + 6);
            bytes.extend([2, 0]);
            bytes.extend((len as u32).to_le_bytes());
            len
        }
    };
    text.push_str(&" ".repeat(len - text.len() - 1));
    text.push('\n');
    bytes.extend(text.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_back() {
        for shape in [&[][..], &[0], &[5], &[3, 4], &[u64::MAX, 0]] {
            for fortran_order in [false, true] {
                let bytes = header(Dtype::I16, shape, fortran_order);
                assert!(bytes.len().is_multiple_of(64));
                let (read, len) = read(&mut &bytes[..]).expect("a header");
                assert_eq!(len, bytes.len() as u64);
                let source = SourceType::I16;
                assert_eq!(
                    read,
                    Header { source, byte_order: ByteOrder::NATIVE, fortran_order, shape: shape.to_vec() }
                );
            }
        }
    }

    #[test]
    fn long_headers_are_of_version_2_and_aligned_too() {
        // Around the longest text that version 1 holds, and beyond.
        for axes in (21_820..21_860).chain([40_000]) {
            let bytes = header(Dtype::U8, &vec![1; axes], false);
            let (version, start) = if bytes[6] == 1 { (1, 10) } else { (2, 12) };
            let len = match version {
                1 => usize::from(u16::from_le_bytes([bytes[8], bytes[9]])),
                _ => u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize,
            };
            assert_eq!(version == 1, start + len <= 1 << 16, "{axes}");
            assert_eq!((bytes[6], bytes.len(), bytes.len() % 64), (version, start + len, 0), "{axes}");
            assert!(bytes.starts_with(b"\x93NUMPY") && bytes.ends_with(b"\n"));
            assert_eq!(parse(str::from_utf8(&bytes[start..]).expect("text")).expect("a header").shape.len(), axes);
        }
    }

    #[test]
    fn what_is_no_header_is_refused() {
        for (text, status) in [
            ("", Status::Decode),
            ("{", Status::Decode),
            ("{}", Status::Decode),
            ("{'descr': '<f4', 'fortran_order': False}", Status::Decode),
            ("{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", Status::Decode),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", Status::Decode),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616,)}", Status::Decode),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", Status::Decode),
            ("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", Status::Decode),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", Status::Decode),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}", Status::Decode),
            ("{'descr': '|f4', 'fortran_order': False, 'shape': ()}", Status::Decode),
            ("{'descr': 'é', 'fortran_order': False, 'shape': ()}", Status::Dtype),
            ("{'descr': '', 'fortran_order': False, 'shape': ()}", Status::Dtype),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': ()}", Status::Dtype),
            ("{'descr': '|b1', 'fortran_order': False, 'shape': ()}", Status::Dtype),
            ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", Status::Dtype),
        ] {
            assert_eq!(parse(text).expect_err(text).status(), status, "{text}");
        }
        let loose = parse("{ \"shape\":(3 , 4,),'fortran_order' : True , 'descr':'>u2'}\n").expect("a header");
        assert_eq!((loose.shape, loose.fortran_order, loose.byte_order), (vec![3, 4], true, ByteOrder::Big));
    }

    #[test]
    fn the_beginning_of_a_file_is_checked() {
        for (bytes, status) in [
            (&b""[..], Status::Decode),
            (b"\x93NUMPY", Status::Decode),
            (b"PK\x03\x04\0\0\0\0", Status::Decode),
            (b"\x93NUMPY\x04\0\0\0", Status::Unsupported),
            (b"\x93NUMPY\x01\0\xff\xff{", Status::Decode),
            (b"\x93NUMPY\x02\0\xff\xff\xff\xff{", Status::Budget),
        ] {
            assert_eq!(read(&mut &*bytes).expect_err("refused").status(), status, "{bytes:?}");
        }
    }
}
