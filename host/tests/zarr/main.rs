//! Reading of Zarr arrays: stores written by zarr-python against the values that numpy holds, and what users meet when
//! a store is not as it should be.

mod fixtures;
mod opening;
mod reading;
mod support;
