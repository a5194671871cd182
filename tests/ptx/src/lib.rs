//! A small PTX machine for tests (not built yet).
