//! Native module of the Python package `damacy`.
