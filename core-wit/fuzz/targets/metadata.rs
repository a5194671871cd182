//! See `damacy_fuzz::metadata`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| damacy_fuzz::metadata::run(data));
