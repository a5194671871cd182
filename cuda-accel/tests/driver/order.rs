//! The arena's reuse: bytes are never written while a batch is still being made from them.

use damacy_core::{Dtype, SourceType};
use damacy_cuda::table::{Content, Table, Use};
use damacy_cuda::{Arena, Assembler, BufferFence, DeviceMemory, Priority, StagingRing, Stream};

use crate::{open, soft_cuda};

const ELEMENTS: u64 = 300;

/// Windows of one chunk each, far more than the arena holds; every batch is read only at the end. The host waits for
/// nothing in between but slots: the driver would report a race if the device did not wait either.
#[test]
fn windows_follow_each_other_through_a_small_arena() {
    soft_cuda::run(&[("delay_us", "500")], |driver| {
        let device = open(0);
        let assembler = Assembler::new(&device, Dtype::U32).unwrap();
        let arena = Arena::new(assembler.copy_stream(), 4 * 1024).unwrap();
        let staging = StagingRing::new(&device, 2, 512).unwrap();
        let mut batches = Vec::new();
        for window in 0..40_u64 {
            let mut table = Table::new(Dtype::U32, 1, &[ELEMENTS], arena.capacity() as u64).unwrap();
            // Sized first: a table's bytes do not depend on where its chunks are.
            push(&mut table, 0);
            let chunk = ELEMENTS as usize;
            let segment = arena.try_reserve(chunk.next_multiple_of(256) + table.bytes());
            let segment = segment.expect("the device waits, not the host").open().unwrap();
            table.clear();
            push(&mut table, segment.offset());
            // Kernels read whole words of 16 bytes: the rest of the last one is written too.
            let bytes: Vec<u8> = (0..ELEMENTS.next_multiple_of(16)).map(|i| (i + window) as u8).collect();
            assembler.upload_bytes(&bytes, segment.range(0, bytes.len()).unwrap(), &staging).unwrap();
            let at = segment.range(chunk.next_multiple_of(256), table.bytes()).unwrap();
            let placed = assembler.place_table(&table, &arena, at, &staging).unwrap().unwrap();
            let batch = DeviceMemory::new(&device, ELEMENTS as usize * 4, "a batch").unwrap();
            let fence = BufferFence::new(&device);
            let ready = assembler.assemble(&placed, batch.all(), &fence).unwrap();
            segment.read_until(&ready);
            batches.push((batch, ready));
        }
        assert_eq!(driver.calls("cuStreamSynchronize") + driver.calls("cuCtxSynchronize"), 0, "the host waited");
        for (window, (batch, ready)) in batches.iter().enumerate() {
            ready.synchronize().unwrap();
            let mut back = vec![0; batch.len()];
            assembler.compute_stream().read(batch.all(), &mut back).unwrap();
            for (i, element) in back.chunks(4).enumerate() {
                assert_eq!(element, u32::from((i + window) as u8).to_le_bytes(), "window {window}, element {i}");
            }
        }
    });
}

fn push(table: &mut Table, offset: u64) {
    let content = Content::Chunk { offset, shape: &[ELEMENTS], start: &[0] };
    table.push(&Use { source: SourceType::U8, content, extent: &[ELEMENTS], target: &[0], sample: 0 }).unwrap();
}

/// Callers hold locks while they reserve.
#[test]
fn reserving_makes_no_driver_call_and_opening_makes_the_copies_wait() {
    soft_cuda::run(&[], |driver| {
        let device = open(0);
        let assembler = Assembler::new(&device, Dtype::F32).unwrap();
        let arena = Arena::new(assembler.copy_stream(), 1024).unwrap();
        let calls = || driver.report()["calls"].clone();
        let segment = arena.try_reserve(1024).unwrap().open().unwrap();
        segment.read_until(&assembler.compute_stream().record().unwrap());
        drop(segment);
        let before = calls();
        // Given back unopened, it keeps its readers for the next.
        drop(arena.try_reserve(1024).unwrap());
        let reserved = arena.try_reserve(1024).unwrap();
        assert_eq!(calls(), before);
        let waits = driver.calls("cuStreamWaitEvent");
        reserved.open().unwrap();
        assert_eq!(driver.calls("cuStreamWaitEvent"), waits + 1);
    });
}

#[test]
fn an_arena_in_use_is_full_until_a_segment_is_dropped() {
    soft_cuda::run(&[], |_| {
        let device = open(0);
        let assembler = Assembler::new(&device, Dtype::F32).unwrap();
        let arena = Arena::new(assembler.copy_stream(), 1000).unwrap();
        assert_eq!(arena.capacity(), 1024);
        let (a, b) = (arena.try_reserve(512).unwrap().open().unwrap(), arena.try_reserve(300).unwrap().open().unwrap());
        assert_eq!((a.offset(), a.len(), b.offset(), b.len()), (0, 512, 512, 512));
        assert!(arena.try_reserve(1).is_none());
        assert!(arena.try_reserve(1025).is_none());
        drop(b);
        assert!(arena.try_reserve(1).is_none(), "segments come back in order");
        drop(a);
        assert_eq!(arena.try_reserve(1024).unwrap().open().unwrap().offset(), 0);
    });
}

#[test]
fn tables_and_batches_that_do_not_belong_together_are_refused() {
    soft_cuda::run(&[], |_| {
        let device = open(0);
        let assembler = Assembler::new(&device, Dtype::U32).unwrap();
        let arena = Arena::new(assembler.copy_stream(), 8192).unwrap();
        let staging = StagingRing::new(&device, 1, 4096).unwrap();
        let segment = arena.try_reserve(8192).unwrap().open().unwrap();
        let fence = BufferFence::new(&device);
        let at = segment.range(4096, 4096).unwrap();
        let table = |output, source_bytes| {
            let mut table = Table::new(output, 1, &[ELEMENTS], source_bytes).unwrap();
            push(&mut table, 0);
            table
        };
        let place = |table: &Table, at| assembler.place_table(table, &arena, at, &staging);
        assert!(place(&table(Dtype::F32, 8192), at).unwrap_err().to_string().contains("float32"));
        assert!(place(&table(Dtype::U32, 8193), at).is_err());
        assert!(place(&table(Dtype::U32, 8192), segment.range(0, 8).unwrap()).is_err());
        assert!(place(&table(Dtype::U32, 8192), segment.range(8, 4096).unwrap()).is_err(), "not aligned");
        let placed = place(&table(Dtype::U32, 8192), at).unwrap().unwrap();
        let batch = DeviceMemory::new(&device, 1300, "a batch").unwrap();
        let launched = |range| assembler.assemble(&placed, range, &fence);
        assert!(launched(batch.range(0, 1199).unwrap()).unwrap_err().to_string().contains("1200"));
        assert!(launched(batch.range(16, 1200).unwrap()).is_err());
        let other = Assembler::new(&device, Dtype::I64).unwrap();
        assert!(other.assemble(&placed, batch.all(), &fence).is_err());
        staging.close();
        assert!(place(&table(Dtype::U32, 8192), at).unwrap().is_none());
    });
}

/// The kernel's module goes with the assembler, and the launch may still be waiting for its turn.
#[test]
fn an_assembler_is_dropped_while_its_launch_waits() {
    soft_cuda::run(&[("delay_us", "20000")], |_| {
        let device = open(0);
        let assembler = Assembler::new(&device, Dtype::U32).unwrap();
        let arena = Arena::new(assembler.copy_stream(), 8192).unwrap();
        let staging = StagingRing::new(&device, 2, 4096).unwrap();
        let segment = arena.try_reserve(8192).unwrap().open().unwrap();
        let fence = BufferFence::new(&device);
        let batch = DeviceMemory::new(&device, ELEMENTS as usize * 4, "a batch").unwrap();
        let mut table = Table::new(Dtype::U32, 1, &[ELEMENTS], 8192).unwrap();
        push(&mut table, 0);
        assembler.upload_bytes(&[9; 304], segment.range(0, 304).unwrap(), &staging).unwrap();
        let at = segment.range(4096, 4096).unwrap();
        let placed = assembler.place_table(&table, &arena, at, &staging).unwrap().unwrap();
        let ready = assembler.assemble(&placed, batch.all(), &fence).unwrap();
        drop(assembler);
        assert!(ready.is_done().unwrap());
        let mut back = vec![0; batch.len()];
        Stream::new(&device, Priority::Low).unwrap().read(batch.all(), &mut back).unwrap();
        assert_eq!(back, [9, 0, 0, 0].repeat(ELEMENTS as usize));
    });
}
