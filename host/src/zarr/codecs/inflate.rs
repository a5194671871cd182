//! Inflating a whole stream at once: encoded bytes in memory -> the destination filled, as libdeflate does it.
//!
//! It takes about half of the time of a decoder that can stop anywhere, and verifies the checksum too. But it says nothing of
//! why a stream does not decode, so what it refuses is left to the streaming decoder: the one that names the damage, and the
//! one that decides. State: 12 KiB, kept by the thread. The only unsafe code of the codecs.

use libdeflate_sys::{
    libdeflate_alloc_decompressor, libdeflate_decompressor, libdeflate_free_decompressor,
    libdeflate_gzip_decompress_ex, libdeflate_result_LIBDEFLATE_SUCCESS, libdeflate_zlib_decompress_ex,
};
use std::cell::OnceCell;
use std::ptr::NonNull;

/// What the stream is wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrapper {
    /// One member of a gzip file.
    Gzip,
    /// A zlib stream.
    Zlib,
}

/// What came of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inflated {
    /// Bytes of the source up to the end of the stream.
    pub read: usize,
    /// Bytes written to the start of the destination.
    pub written: usize,
}

/// Inflates the stream at the start of `src`, checksum included, if it is sound and fits into `dst`; else `None`, and what `dst`
/// holds is of no use.
pub(super) fn whole(wrapper: Wrapper, src: &[u8], dst: &mut [u8]) -> Option<Inflated> {
    STATE.with(|state| state.get_or_init(State::new).as_ref()?.inflate(wrapper, src, dst))
}

thread_local! {
    /// `None` within where the system had no memory for it.
    static STATE: OnceCell<Option<State>> = const { OnceCell::new() };
}

struct State(NonNull<libdeflate_decompressor>);

impl State {
    fn new() -> Option<State> {
        // SAFETY: it allocates and takes nothing; null is handled.
        NonNull::new(unsafe { libdeflate_alloc_decompressor() }).map(State)
    }

    fn inflate(&self, wrapper: Wrapper, src: &[u8], dst: &mut [u8]) -> Option<Inflated> {
        let decompress = match wrapper {
            Wrapper::Gzip => libdeflate_gzip_decompress_ex,
            Wrapper::Zlib => libdeflate_zlib_decompress_ex,
        };
        let (mut read, mut written) = (0, 0);
        // SAFETY: the state lives and belongs to this thread, which is in no other call with it; `src` is readable and `dst`
        // writable for the lengths given, and the decoder touches nothing beyond them; the counts are places of this frame.
        let result = unsafe {
            decompress(
                self.0.as_ptr(),
                src.as_ptr().cast(),
                src.len(),
                dst.as_mut_ptr().cast(),
                dst.len(),
                &raw mut read,
                &raw mut written,
            )
        };
        let sound = result == libdeflate_result_LIBDEFLATE_SUCCESS && read <= src.len() && written <= dst.len();
        sound.then_some(Inflated { read, written })
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: it came from the allocation in `new` and is freed once, here.
        unsafe { libdeflate_free_decompressor(self.0.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use std::io::Write;

    /// Bytes some of which repeat, as another implementation encodes them.
    fn encoded(wrapper: Wrapper, bytes: &[u8], level: u32) -> Vec<u8> {
        match wrapper {
            Wrapper::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            Wrapper::Zlib => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(level));
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
        }
    }

    fn bytes(len: usize) -> Vec<u8> {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..len).map(|i| if i % 3 == 0 { next() & 7 } else { (i / 100) as u8 }).collect()
    }

    #[test]
    fn what_another_implementation_encoded_comes_back_and_what_follows_is_left() {
        for wrapper in [Wrapper::Gzip, Wrapper::Zlib] {
            for len in [0, 1, 300, 70_000, 300_000] {
                for level in [0, 1, 6, 9] {
                    let (plain, mut src) = (bytes(len), encoded(wrapper, &bytes(len), level));
                    let read = src.len();
                    src.extend([9; 20]);
                    // Room to spare, and none.
                    for room in [len, len + 17] {
                        let mut dst = vec![0xAA; room];
                        assert_eq!(whole(wrapper, &src, &mut dst), Some(Inflated { read, written: len }));
                        assert_eq!(dst[..len], plain);
                    }
                }
            }
        }
    }

    #[test]
    fn a_stream_that_does_not_fit_or_is_damaged_is_left_to_others() {
        for wrapper in [Wrapper::Gzip, Wrapper::Zlib] {
            let src = encoded(wrapper, &bytes(5000), 6);
            let mut guarded = vec![0xAA; 5100];
            assert_eq!(whole(wrapper, &src, &mut guarded[..4999]), None);
            assert!(guarded[4999..].iter().all(|&byte| byte == 0xAA), "nothing beyond the destination is written");
            assert_eq!(whole(wrapper, &src, &mut []), None);
            for len in 0..src.len() {
                assert_eq!(whole(wrapper, &src[..len], &mut guarded[..5000]), None, "{len} bytes");
            }
            // The checksum at the end; of gzip, the length after it.
            for at in src.len() - 4..src.len() {
                let mut damaged = src.clone();
                damaged[at] ^= 1;
                assert_eq!(whole(wrapper, &damaged, &mut guarded[..5000]), None, "byte {at}");
            }
        }
    }
}
