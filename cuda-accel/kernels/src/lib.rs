//! GPU kernels of damacy (not built yet).
