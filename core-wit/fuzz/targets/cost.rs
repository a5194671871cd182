//! See `damacy_fuzz::cost`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| damacy_fuzz::cost::run(data));
