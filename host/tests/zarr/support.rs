//! Whole arrays read chunk by chunk, an independent way to put them together, and the fixtures' folder.

use damacy::error::Result;
use damacy::zarr::{Array, NativeParser, Scratch};
use std::path::{Path, PathBuf};

/// A folder of the fixtures.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures")
}

/// The store of a fixture.
pub fn store(name: &str) -> PathBuf {
    fixtures().join("stores").join(name)
}

/// Opens an array by path.
pub fn open(path: &Path) -> Result<Array> {
    Array::open(path.to_str().expect("a UTF-8 path"), &mut NativeParser)
}

/// One chunk: its elements in native byte order, or the fill value for a missing one.
pub fn chunk(array: &Array, coords: &[u64], scratch: &mut Scratch) -> Result<Vec<u8>> {
    let bytes = array.decoded_bytes() as usize;
    match array.fetch(coords, u64::MAX, Vec::new(), &mut 0)? {
        Some(encoded) => array.decode(&encoded, scratch).map(<[u8]>::to_vec),
        None => {
            let fill = &array.metadata().fill_value;
            Ok(fill.iter().copied().cycle().take(bytes).collect())
        }
    }
}

/// The whole array, little-endian, C order: every element looked up in its chunk.
pub fn read_all(array: &Array) -> Result<Vec<u8>> {
    let metadata = array.metadata();
    let width = metadata.source.expect("a source type").width();
    let (shape, chunks) = (&metadata.shape, metadata.chunk_shape());
    let grid: Vec<u64> = shape.iter().zip(chunks).map(|(s, c)| s.div_ceil(*c)).collect();
    let mut all = vec![0; shape.iter().product::<u64>() as usize * width];
    let mut scratch = Scratch::default();
    for coords in indices(&grid) {
        let decoded = chunk(array, &coords, &mut scratch)?;
        assert_eq!(decoded.len() as u64, array.decoded_bytes());
        for (nth, inside) in indices(chunks).enumerate() {
            let at: Vec<u64> = (0..shape.len()).map(|a| coords[a] * chunks[a] + inside[a]).collect();
            if at.iter().zip(shape).all(|(a, s)| a < s) {
                let flat = at.iter().zip(shape).fold(0, |f, (a, s)| f * s + a) as usize;
                all[flat * width..][..width].copy_from_slice(&decoded[nth * width..][..width]);
            }
        }
    }
    Ok(all)
}

/// All indices of a shape, in C order.
pub fn indices(shape: &[u64]) -> impl Iterator<Item = Vec<u64>> + use<> {
    let shape = shape.to_vec();
    let count = shape.iter().product::<u64>();
    (0..count).map(move |flat| {
        let mut rest = flat;
        let mut index: Vec<u64> = shape
            .iter()
            .rev()
            .map(|extent| {
                let at = rest % extent;
                rest /= extent;
                at
            })
            .collect();
        index.reverse();
        index
    })
}

/// A copy of a fixture's store that a test may damage.
pub fn copy_of(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    copy(&store(name), folder.path());
    folder
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a store") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).expect("a file");
        }
    }
}
