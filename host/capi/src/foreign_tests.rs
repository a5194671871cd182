//! Struct sizes, as callers of other versions set them.

use super::*;

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Grown {
    struct_size: usize,
    first: u64,
    /// Added later.
    second: u64,
}

// SAFETY: repr(C), integers, the size first.
unsafe impl Versioned for Grown {
    const NAME: &'static str = "damacy_grown";
    const FIRST_BYTES: usize = 16;
    fn with_size(self, bytes: usize) -> Self {
        Grown { struct_size: bytes, ..self }
    }
}

/// Room for a struct of any version: its size and what follows.
#[repr(C)]
struct Room([u64; 6]);

fn message<T>(result: Result<T>) -> String {
    let error = result.err().expect("a refusal");
    assert_eq!(error.status(), Status::Inval);
    error.message().to_owned()
}

#[test]
fn an_older_caller_s_struct_reads_as_zero_where_it_ends() {
    let room = Room([16, 7, 999, 0, 0, 0]);
    let given = In::<Grown>((&raw const room).cast());
    assert_eq!(given.read("x").unwrap(), Grown { struct_size: 16, first: 7, second: 0 });
}

#[test]
fn a_newer_caller_s_struct_is_taken_if_the_rest_is_zero() {
    let room = Room([32, 7, 8, 0, 999, 0]);
    let given = In::<Grown>((&raw const room).cast());
    assert_eq!(given.read("x").unwrap(), Grown { struct_size: 32, first: 7, second: 8 });
    let room = Room([32, 7, 8, 1, 0, 0]);
    let given = In::<Grown>((&raw const room).cast());
    assert!(message(given.read("x")).contains("of 32 bytes, of which this library"));
}

#[test]
fn sizes_that_no_version_has_are_refused() {
    for size in [0, 8, 15, 17, 4104, u64::MAX] {
        let room = Room([size, 0, 0, 0, 0, 0]);
        let given = In::<Grown>((&raw const room).cast());
        assert!(message(given.read("x")).contains("set it to sizeof(damacy_grown), which is 24 bytes"), "{size}");
    }
    assert!(message(In::<Grown>(std::ptr::null()).read("x")).contains("x is NULL"));
    let room = Room([16; 6]);
    let odd = In::<Grown>((&raw const room).cast::<Grown>().wrapping_byte_add(4));
    assert!(message(odd.read("x")).contains("not aligned"));
}

#[test]
fn filling_stops_where_the_caller_s_struct_ends_and_zeroes_what_only_it_knows() {
    let value = Grown { struct_size: 0, first: 7, second: 8 };
    for (size, filled) in [(16, [16, 7, 9, 9]), (24, [24, 7, 8, 9]), (32, [32, 7, 8, 0])] {
        let mut room = Room([size, 9, 9, 9, 9, 9]);
        let out = Out::<Grown>((&raw mut room).cast());
        out.check("x").unwrap().fill(value);
        assert_eq!(room.0[..4], filled);
        assert_eq!(room.0[4..], [9, 9]);
    }
}

#[test]
fn elements_lie_as_far_apart_as_the_first_one_is_long() {
    let room = [16_u64, 1, 16, 2, 16, 3];
    let list = In::<Grown>(room.as_ptr().cast());
    let firsts = list.read_all(3, "list", |index, grown| Ok((index, grown.first))).unwrap();
    assert_eq!(firsts, [(0, 1), (1, 2), (2, 3)]);
    let room = [16_u64, 1, 24, 2, 16, 3];
    let list = In::<Grown>(room.as_ptr().cast());
    assert!(message(list.read_all(3, "list", |_, _| Ok(()))).contains("list[1]"));
    assert!(In::<Grown>(std::ptr::null()).read_all(0, "list", |_, _| Ok(())).unwrap().is_empty());
    assert!(message(list.read_all(usize::MAX / 2, "list", |_, _| Ok(()))).contains("more than there can be"));
}

#[test]
fn strings_are_checked_and_written_whole_or_not_at_all() {
    let given = Text(c"volume".as_ptr());
    assert_eq!(given.get("uri").unwrap(), "volume");
    assert!(message(Text(c"a\xff".as_ptr()).get("uri")).contains("byte 1"));
    assert!(message(Text::NULL.get("uri")).contains("uri is NULL"));
    let mut room = [b'x'; 4];
    let slot = TextSlot(room.as_mut_ptr().cast());
    slot.put(4, "c/0", "key").unwrap();
    assert_eq!(&room, b"c/0\0");
    let mut room = [b'x'; 4];
    assert!(message(TextSlot(room.as_mut_ptr().cast()).put(3, "c/0", "key")).contains("4 are needed"));
    assert_eq!(&room, b"xxxx");
}

#[test]
fn bytes_to_write_share_none_with_those_that_are_read() {
    let mut room = [0_u8; 16];
    let start = room.as_mut_ptr();
    let read = std::ptr::slice_from_raw_parts(start, 8);
    let get = |at: usize, count: usize| {
        Bytes(start.wrapping_add(at)).get(count, "to", read, "the batch's own bytes").map(|bytes| bytes.len())
    };
    for (at, count) in [(0, 8), (7, 8), (0, 16)] {
        assert!(message(get(at, count)).contains("and the batch's own bytes (8 bytes at"), "{at}, {count}");
    }
    assert_eq!([get(8, 8).unwrap(), get(0, 0).unwrap()], [8, 0]);
    assert!(message(Bytes(std::ptr::null_mut()).get(8, "to", read, "others")).contains("to is NULL"));
}
