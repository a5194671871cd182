//! See `damacy_fuzz::documents`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| damacy_fuzz::documents::run(data));
