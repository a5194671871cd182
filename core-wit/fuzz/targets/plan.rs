//! See `damacy_fuzz::plan`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| damacy_fuzz::plan::run(data));
