//! See `damacy_fuzz::convert`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| damacy_fuzz::convert::run(data));
