//! Target `documents`: choices -> a document by Zarr's grammar, right or wrong in places, so that deep paths are reached.
//!
//! A document made of right choices alone must parse to the facts that it was made from.

use super::bytes::Bytes;
use super::metadata;
use damacy_core::SourceType;
use damacy_core::metadata::{MetadataLimits, ZarrFormat};

/// Runs the target.
pub fn run(data: &[u8]) {
    let mut bytes = Bytes(data);
    let format = *bytes.pick(&[ZarrFormat::V3, ZarrFormat::V2]);
    let mut limits = MetadataLimits::default();
    if bytes.once_in(16) {
        limits = MetadataLimits {
            max_bytes: bytes.number(),
            max_depth: bytes.number() as u32,
            max_values: bytes.number(),
            max_rank: bytes.number() as u32,
            max_codecs: bytes.number() as u32,
        };
    }
    let mut writer = Writer::new(bytes);
    let document = if format == ZarrFormat::V3 { writer.v3() } else { writer.v2() };
    let parsed = metadata::check(format, document.as_bytes(), &limits);
    if writer.right && limits == MetadataLimits::default() {
        let array = parsed.unwrap_or_else(|e| panic!("{e}: {document}"));
        assert_eq!(array.shape, writer.shape, "{document}");
        assert_eq!(array.levels, writer.levels, "{document}");
        assert_eq!(array.source, Some(writer.source), "{document}");
    }
}

/// Values that are JSON or nearly, and belong nowhere.
const STRANGE: [&str; 28] = [
    "null",
    "true",
    "false",
    "{}",
    "[]",
    "\"\"",
    "-1",
    "-0",
    "0",
    "1.0",
    "1e2",
    "1e999",
    "-1e999",
    "NaN",
    "Infinity",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\"é\"",
    "[[[[[[[[[[[[]]]]]]]]]]]]",
    "{\"a\":{\"a\":{\"a\":{}}}}",
    "{\"a\":1,\"a\":2}",
    "\"0x7fc00001\"",
    "\"0xaé\"",
    "{\"name\":\"x\",\"must_understand\":false}",
    "[0,1,2,3,4,5,6,7,8,9]",
];

/// Extents at the edges.
const EXTENTS: [u64; 8] = [0, 1, 2, 1 << 31, 1 << 32, 1 << 62, 1 << 63, u64::MAX];

struct Writer<'a> {
    bytes: Bytes<'a>,
    /// All choices so far are right.
    right: bool,
    source: SourceType,
    shape: Vec<u64>,
    levels: Vec<Vec<u64>>,
    codecs_left: u64,
}

impl<'a> Writer<'a> {
    fn new(bytes: Bytes<'a>) -> Writer<'a> {
        let (shape, levels) = (vec![], vec![]);
        Writer { bytes, right: true, source: SourceType::U16, shape, levels, codecs_left: 24 }
    }

    fn wrong(&mut self) -> String {
        self.right = false;
        self.bytes.pick(&STRANGE).to_string()
    }

    /// The value, or now and then something strange in its place.
    fn or_wrong(&mut self, value: impl Into<String>) -> String {
        if self.bytes.once_in(32) { self.wrong() } else { value.into() }
    }

    fn list(&mut self, numbers: &[u64]) -> String {
        let mut items: Vec<String> = numbers.iter().map(u64::to_string).collect();
        if self.bytes.once_in(32) {
            let wrong = self.wrong();
            let at = self.bytes.below(items.len() as u64 + 1) as usize;
            items.insert(at, wrong);
        }
        format!("[{}]", items.join(", "))
    }

    /// Shape and chunk shape.
    fn extents(&mut self) -> Vec<u64> {
        let rank = match self.bytes.byte() {
            kind @ 0..=239 => u64::from(kind % 5),
            kind => u64::from(kind - 240) * 3,
        };
        self.right &= rank <= 32;
        let shape = (0..rank).map(|_| match self.bytes.byte() {
            kind @ 0..=199 => u64::from(kind % 40),
            kind => EXTENTS[usize::from(kind) % EXTENTS.len()],
        });
        self.shape = shape.collect();
        // A product of many that fits 64 bits.
        let most = if rank > 8 { 2 } else { 12 };
        (0..rank)
            .map(|_| match self.bytes.byte() {
                kind @ 0..=249 => 1 + u64::from(kind) % most,
                kind => {
                    self.right = false;
                    EXTENTS[usize::from(kind) % EXTENTS.len()]
                }
            })
            .collect()
    }

    /// Members in an order, one perhaps left out, twice, or beside an unknown one.
    fn object(&mut self, mut members: Vec<(&str, String)>) -> String {
        if self.bytes.once_in(8) {
            let by = self.bytes.below(members.len() as u64) as usize;
            members.rotate_left(by);
        }
        if self.bytes.once_in(32) {
            self.right = false;
            let at = self.bytes.below(members.len() as u64) as usize;
            match self.bytes.below(3) {
                0 => drop(members.remove(at)),
                1 => members.push(members[at].clone()),
                _ => {
                    let value = self.wrong();
                    let key = *self.bytes.pick(&["name", "x", "must_understand", "a~/b", "\\u0041", "é"]);
                    members.push((key, value));
                }
            }
        }
        let members: Vec<String> = members.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
        format!("{{{}}}", members.join(", "))
    }

    fn named(&mut self, name: &str, configuration: Option<String>) -> String {
        let name = self.or_wrong(format!("\"{name}\""));
        let mut members = vec![("name", name)];
        if let Some(configuration) = configuration {
            members.push(("configuration", self.or_wrong(configuration)));
        }
        if self.bytes.once_in(16) {
            members.push(("must_understand", self.bytes.pick(&["true", "false"]).to_string()));
        }
        self.object(members)
    }

    fn bytes_codec(&mut self, single: bool) -> String {
        match self.bytes.below(4) {
            0 if single => self.named("bytes", None),
            3 => self.named("bytes", Some("{\"endian\": \"big\"}".into())),
            _ => self.named("bytes", Some("{\"endian\": \"little\"}".into())),
        }
    }

    /// A bytes-to-bytes codec.
    fn packer(&mut self) -> String {
        let level = self.bytes.below(10);
        let level = self.or_wrong(level.to_string());
        match self.bytes.below(6) {
            0 => self.named("zstd", Some(format!("{{\"level\": {level}, \"checksum\": false}}"))),
            1 => self.named("crc32c", None),
            2 => self.named("gzip", Some(format!("{{\"level\": {level}}}"))),
            3 => self.named("numcodecs.zlib", Some(format!("{{\"level\": {level}}}"))),
            4 => self.named("numcodecs.bz2", Some(format!("{{\"level\": {level}}}"))),
            _ => {
                let shuffle = *self.bytes.pick(&["shuffle", "noshuffle", "bitshuffle"]);
                let mut members = vec![("cname", "\"lz4\"".to_string()), ("clevel", level)];
                members.push(("shuffle", format!("\"{shuffle}\"")));
                members.push(("typesize", self.source.width().to_string()));
                members.push(("blocksize", "0".into()));
                let options = self.object(members);
                self.named("blosc", Some(options))
            }
        }
    }

    /// A chain for chunks of a shape. `parts`: nothing around it stands in the way of reading it in part.
    fn chain(&mut self, mut shape: Vec<u64>, mut parts: bool) -> String {
        let mut codecs = vec![];
        while self.codecs_left > 0 && self.bytes.once_in(6) {
            self.codecs_left -= 1;
            let mut order: Vec<u64> = (0..shape.len() as u64).collect();
            for at in 1..order.len() {
                order.swap(at, self.bytes.below(at as u64 + 1) as usize);
            }
            self.right &= !order.is_empty();
            shape = order.iter().map(|&axis| shape[axis as usize]).collect();
            parts = false;
            let order = self.list(&order);
            codecs.push(self.named("transpose", Some(format!("{{\"order\": {order}}}"))));
        }
        let last = codecs.len();
        let packers = self.bytes.below(4).min(self.codecs_left).saturating_sub(1);
        self.codecs_left -= packers;
        for _ in 0..packers {
            codecs.push(self.packer());
        }
        parts &= packers == 0;
        let nested = self.codecs_left >= 4 && self.bytes.once_in(4);
        self.codecs_left = self.codecs_left.saturating_sub(1);
        let codec = if nested { self.shard(&shape, parts) } else { self.bytes_codec(self.source.width() == 1) };
        codecs.insert(last, codec);
        if self.bytes.once_in(64) {
            self.right = false;
            let by = self.bytes.below(codecs.len() as u64) as usize;
            codecs.rotate_left(by);
        }
        format!("[{}]", codecs.join(", "))
    }

    fn shard(&mut self, shape: &[u64], parts: bool) -> String {
        self.codecs_left -= 3;
        let inner: Vec<u64> = shape
            .iter()
            .map(|&extent| {
                let part = extent / (1 + self.bytes.below(4)).min(extent.max(1));
                if part > 0 && extent % part == 0 { part } else { extent }
            })
            .collect();
        if parts {
            self.levels.push(inner.clone());
        }
        let mut index = vec![self.bytes_codec(false)];
        if self.bytes.once_in(2) {
            index.push(self.named("crc32c", None));
        }
        let index = format!("[{}]", index.join(", "));
        let chunk_shape = self.list(&inner);
        let codecs = self.chain(inner, parts);
        let mut members = vec![("chunk_shape", chunk_shape), ("codecs", codecs), ("index_codecs", index)];
        if self.bytes.once_in(2) {
            members.push(("index_location", self.bytes.pick(&["\"end\"", "\"start\""]).to_string()));
        }
        let options = self.object(members);
        self.named("sharding_indexed", Some(options))
    }

    fn fill(&mut self) -> String {
        let value = match self.source {
            SourceType::F16 => *self.bytes.pick(&["0", "-1.5", "1e300", "\"NaN\"", "\"-Infinity\"", "\"0x7e01\""]),
            SourceType::F32 => *self.bytes.pick(&["0", "-1.5", "1e300", "\"NaN\"", "\"Infinity\"", "\"0x7fc00001\""]),
            _ => *self.bytes.pick(&["0", "1", "100"]),
        };
        self.or_wrong(value)
    }

    fn source(&mut self) {
        self.source = *self.bytes.pick(&SourceType::ALL);
    }

    fn v3(&mut self) -> String {
        self.source();
        let chunks = self.extents();
        self.levels.push(chunks.clone());
        let shape = self.shape.clone();
        let shape = self.list(&shape);
        let chunk_list = self.list(&chunks);
        let grid = self.named("regular", Some(format!("{{\"chunk_shape\": {chunk_list}}}")));
        let separator = *self.bytes.pick(&["/", "."]);
        let encoding = *self.bytes.pick(&["default", "v2"]);
        let keys = self.named(encoding, Some(format!("{{\"separator\": \"{separator}\"}}")));
        let codecs = self.chain(chunks, true);
        let data_type = self.source.full_name();
        let mut members = vec![
            ("zarr_format", "3".to_string()),
            ("node_type", "\"array\"".to_string()),
            ("shape", shape),
            ("data_type", self.or_wrong(format!("\"{data_type}\""))),
            ("chunk_grid", grid),
            ("chunk_key_encoding", keys),
            ("fill_value", self.fill()),
            ("codecs", codecs),
        ];
        if self.bytes.once_in(4) {
            let names = self.shape.iter().map(|_| "null").collect::<Vec<_>>().join(", ");
            members.push(("dimension_names", self.or_wrong(format!("[{names}]"))));
        }
        if self.bytes.once_in(4) {
            let value = *self.bytes.pick(&STRANGE);
            members.push(("attributes", format!("{{\"x\": {value}}}")));
        }
        if self.bytes.once_in(8) {
            let value = *self.bytes.pick(&STRANGE);
            members.push(("extension", format!("{{\"x\": {value}, \"must_understand\": false}}")));
        }
        if self.bytes.once_in(8) {
            members.push(("storage_transformers", self.or_wrong("[]")));
        }
        // `must_understand` and strange members of what the array needs are sometimes right; do not judge.
        let document = self.object(members);
        self.right &= !document.contains("must_understand\": \"") && !document.contains("\"must_understand\": false");
        self.cut(document)
    }

    fn v2(&mut self) -> String {
        self.source();
        let chunks = self.extents();
        self.levels.push(chunks.clone());
        let shape = self.shape.clone();
        let shape = self.list(&shape);
        let chunks = self.list(&chunks);
        let order = *self.bytes.pick(&["\"C\"", "\"F\""]);
        let letter = match self.source {
            SourceType::F16 | SourceType::F32 => 'f',
            SourceType::U8 | SourceType::U16 | SourceType::U32 | SourceType::U64 => 'u',
            _ => 'i',
        };
        let byte_order = if self.source.width() == 1 { "|" } else { *self.bytes.pick(&["<", ">"]) };
        let data_type = format!("\"{byte_order}{letter}{}\"", self.source.width());
        let level = self.bytes.below(10);
        let level = self.or_wrong(level.to_string());
        let compressor = match self.bytes.below(4) {
            0 => "null".to_string(),
            1 => self.object(vec![("id", "\"zstd\"".into()), ("level", level)]),
            2 => self.object(vec![("id", "\"gzip\"".into()), ("level", level)]),
            _ => self.object(vec![
                ("id", "\"blosc\"".into()),
                ("cname", "\"zstd\"".into()),
                ("clevel", level),
                ("shuffle", "1".into()),
                ("blocksize", "0".into()),
            ]),
        };
        let mut members = vec![
            ("zarr_format", "2".to_string()),
            ("shape", shape),
            ("chunks", chunks),
            ("dtype", self.or_wrong(data_type)),
            ("compressor", self.or_wrong(compressor)),
            ("fill_value", self.fill()),
            ("order", self.or_wrong(order)),
            ("filters", self.or_wrong("null")),
        ];
        if self.bytes.once_in(4) {
            members.push(("dimension_separator", self.or_wrong("\"/\"")));
        }
        let document = self.object(members);
        self.cut(document)
    }

    /// The document, cut off or followed by something now and then.
    fn cut(&mut self, mut document: String) -> String {
        match self.bytes.below(64) {
            63 => {
                self.right = false;
                let at = self.bytes.below(document.len().min(1 << 16) as u64) as usize;
                document.truncate(document.floor_char_boundary(at));
            }
            62 => document.push_str(&self.wrong()),
            _ => {}
        }
        document
    }
}
