//! The table of uses: what it refuses, how it merges, what a launch is told.

use damacy_core::{Dtype, SourceType};
use damacy_cuda::table::{Content, Table, TableError, Use};
use damacy_cuda_kernels::abi::{AXES_IN_RECORD, TILE_UNITS};

fn chunk<'a>(shape: &'a [u64], start: &'a [u64], extent: &'a [u64], target: &'a [u64]) -> Use<'a> {
    let content = Content::Chunk { offset: 0, shape, start };
    Use { source: SourceType::U16, content, extent, target, sample: 0 }
}

fn table() -> Table {
    Table::new(Dtype::F32, 2, &[8, 8, 64], 1 << 20).expect("a small batch")
}

#[test]
fn boxes_outside_are_refused() {
    let mut table = table();
    let mut refused = |one: Use<'_>| table.push(&one).expect_err("outside");
    let inside = chunk(&[8, 8, 8], &[0, 0, 0], &[8, 8, 8], &[0, 0, 0]);
    let error = refused(Use { sample: 2, ..inside });
    assert_eq!(error, TableError::NoSuchSample { sample: 2, samples: 2 });
    let error = refused(Use { target: &[0, 1, 0], ..inside });
    assert_eq!(error, TableError::Outside { what: "sample", axis: 1, start: 1, extent: 8, size: 8 });
    let error = refused(chunk(&[8, 8, 8], &[0, 0, 1], &[8, 8, 8], &[0, 0, 0]));
    assert_eq!(error, TableError::Outside { what: "chunk", axis: 2, start: 1, extent: 8, size: 8 });
    let error = refused(chunk(&[8, 8, 8], &[u64::MAX, 0, 0], &[8, 8, 8], &[0, 0, 0]));
    assert!(matches!(error, TableError::Outside { what: "chunk", axis: 0, .. }), "{error}");
    let error = refused(chunk(&[8, 8], &[0, 0], &[8, 8, 8], &[0, 0, 0]));
    assert_eq!(error, TableError::RankMismatch { what: "chunk", given: 2, rank: 3 });
    let error = refused(chunk(&[8, 8, 8], &[0, 0, 0], &[8, 8], &[0, 0, 0]));
    assert!(matches!(error, TableError::RankMismatch { given: 2, rank: 3, .. }), "{error}");
    for offset in [(1 << 20) - 1008, u64::MAX - 7, 1 << 63] {
        let content = Content::Chunk { offset, shape: &[8, 8, 8], start: &[0, 0, 0] };
        let error = refused(Use { content, ..inside });
        assert_eq!(error, TableError::OutsideSources { offset, bytes: 1024, source_bytes: 1 << 20 });
    }
    let content = Content::Chunk { offset: 8, shape: &[8, 8, 8], start: &[0, 0, 0] };
    let error = refused(Use { content, ..inside });
    assert_eq!(error, TableError::Misaligned { what: "a chunk", at: 8, alignment: 16 });
    let error = refused(chunk(&[1 << 32, 1 << 32, 8], &[0, 0, 0], &[8, 8, 8], &[0, 0, 0]));
    assert!(matches!(error, TableError::TooLarge { .. }), "{error}");
    let error = refused(Use { content: Content::Fill(&[1]), ..inside });
    assert_eq!(error, TableError::FillWidth { source: SourceType::U16, given: 1 });
    assert_eq!((table.tiles(), table.bytes()), (0, 0));
}

#[test]
fn samples_too_large_for_memory_are_refused() {
    let refused = |shape: &[u64]| Table::new(Dtype::F32, 2, shape, 0).expect_err("refused");
    assert_eq!(refused(&[1; 33]), TableError::TooManyAxes { rank: 33 });
    assert!(matches!(refused(&[1 << 40, 1 << 40]), TableError::TooLarge { .. }));
    assert!(matches!(refused(&[1 << 60]), TableError::TooLarge { .. }));
}

/// A row of 2^32 + 5 bytes became one of 5.
#[test]
fn rows_longer_than_kernels_count_are_refused() {
    let longest = (1u64 << 31) - 1;
    for (elements, taken) in [(longest, true), (longest + 1, false), ((1 << 32) + 5, false)] {
        let mut table = Table::new(Dtype::U8, 1, &[elements], 0).expect("an address space holds it");
        let fill =
            Use { source: SourceType::U8, content: Content::Fill(&[7]), extent: &[elements], target: &[0], sample: 0 };
        match table.push(&fill) {
            Ok(()) => assert!(taken && u64::from(table.uses()[0].row_elements) == elements, "{elements}"),
            Err(error) => assert!(!taken && error.to_string().contains("elements a row"), "{elements}: {error}"),
        }
    }
}

#[test]
fn empty_boxes_add_nothing() {
    let mut table = table();
    table.push(&chunk(&[8, 8, 8], &[8, 0, 0], &[0, 8, 8], &[8, 0, 0])).expect("at the very end");
    assert_eq!((table.tiles(), table.bytes(), table.blocks(132)), (0, 0, 0));
}

#[test]
fn whole_rows_become_one() {
    let mut table = table();
    table.push(&chunk(&[8, 8, 64], &[0, 0, 0], &[8, 8, 64], &[0, 0, 0])).expect("inside");
    let record = table.uses()[0];
    assert_eq!((record.row_elements, record.outer_axes), (8 * 8 * 64, 0));
    // 4 float32 a unit.
    assert_eq!((record.row_units, record.units), (1024, 1024));
    assert_eq!(table.tiles(), 1024 / u64::from(TILE_UNITS));
    assert_eq!((table.blocks(132), table.blocks(0)), (1, 1));
}

#[test]
fn axes_beyond_the_record_go_to_the_table_of_axes() {
    let rank = AXES_IN_RECORD + 3;
    let (two, one) = (vec![2; rank], vec![1; rank]);
    let zero = vec![0; rank];
    let mut table = Table::new(Dtype::U8, 1, &two, 1 << 20).expect("a small batch");
    let chunk = vec![3; rank];
    let content = Content::Chunk { offset: 0, shape: &chunk, start: &one };
    let one = Use { source: SourceType::U8, content, extent: &two, target: &zero, sample: 0 };
    table.push(&one).expect("inside");
    assert_eq!(usize::from(table.uses()[0].outer_axes), rank - 1);
    let mut bytes = vec![0; table.bytes()];
    let error = table.write(&mut bytes[1..]).expect_err("too small");
    assert_eq!(error, TableError::NoRoom { needed: table.bytes(), given: table.bytes() - 1 });
    table.write(&mut bytes).expect("room");
    let params = table.params(0, 256, 512).expect("aligned");
    assert_eq!(params.axes - params.uses, 288);
    assert_eq!(params.tile_uses - params.axes, 32 * (rank as u64 - 1));
    assert_eq!(params.tiles, 1024u64.div_ceil(TILE_UNITS.into()) / 2);
    table.clear();
    assert_eq!((table.tiles(), table.bytes()), (0, 0));
}

#[test]
fn addresses_must_be_aligned() {
    let table = table();
    for (base, batch, uses) in [(8, 0, 0), (0, 8, 0), (0, 0, 8)] {
        let error = table.params(base, batch, uses).expect_err("misaligned");
        assert!(matches!(error, TableError::Misaligned { at: 8, alignment: 16, .. }), "{error}");
    }
}

/// Kernels count steps in 32 bits, so such a box becomes a use for each index along the axis.
#[test]
fn steps_past_4_gib_make_several_uses() {
    let mut table = Table::new(Dtype::F32, 1, &[3, 1 << 31, 2], 1 << 40).expect("a large batch");
    let content = Content::Chunk { offset: 1 << 36, shape: &[4, 4, 4], start: &[1, 0, 0] };
    let (extent, target) = (&[2, 3, 2], &[1, 10, 0]);
    let fill = Use { source: SourceType::U8, content: Content::Fill(&[9]), extent, target, sample: 0 };
    table.push(&Use { content, ..fill }).expect("inside");
    table.push(&fill).expect("inside");
    let places: Vec<_> = table.uses().iter().map(|one| (one.source, one.destination, one.first_tile)).collect();
    let (first, next) = ((1 << 34) + 80, (1 << 34) * 2 + 80);
    let chunk = (1 << 36) + 16;
    assert_eq!(places, [(chunk, first, 0), (chunk + 16, next, 1), (0, first, 2), (0, next, 3)]);
    assert!(table.uses().iter().all(|one| one.outer_axes <= 1 && one.units <= 6));
    assert_eq!(table.tiles(), 4);
    let error = Table::new(Dtype::U8, 1, &[1 << 20, 1 << 40], 0).expect("a large batch").push(&Use {
        extent: &[1 << 20, 1],
        target: &[0, 0],
        ..fill
    });
    assert_eq!(error, Err(TableError::TooLarge { what: "a box" }));
}
