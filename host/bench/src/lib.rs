//! Benchmarks as data (not built yet).
