//! A soft CUDA driver for tests (not built yet).
