//! The kernels' entry points, only for the GPU: the grid's thread numbers -> the loops of `flat` and `assemble`.
//!
//! Names and parameters are those of [`abi`](crate::abi).

use crate::abi::{AxisRecord, UseRecord};
use crate::assemble::{Assembly, assemble};
use crate::flat;
use core::arch::nvptx::{_block_dim_x, _block_idx_x, _grid_dim_x, _thread_idx_x};
use damacy_core::rules::{Bf16, F16, F32};

/// This thread's number, and how many there are.
#[inline(always)]
fn threads() -> (u32, u32) {
    // SAFETY: reading special registers.
    let (block, blocks, thread, threads) = unsafe { (_block_idx_x(), _grid_dim_x(), _thread_idx_x(), _block_dim_x()) };
    (block.wrapping_mul(threads).wrapping_add(thread), blocks.wrapping_mul(threads))
}

macro_rules! convert_entry {
    ($source:ty, $source_name:literal, $output:ty, $output_name:literal) => {
        const _: () = {
            #[unsafe(export_name = concat!("damacy_convert_", $source_name, "_", $output_name))]
            unsafe extern "ptx-kernel" fn entry(source: *const u8, destination: *mut u8, elements: u64) {
                let (thread, threads) = threads();
                // SAFETY: whoever launches the kernel vouches for its parameters (`abi`).
                unsafe { flat::convert::<$source, $output>(source, destination, elements, thread, threads) }
            }
        };
    };
}

macro_rules! convert_entries {
    ($($source:ty, $source_name:literal;)*) => {$(
        convert_entry!($source, $source_name, F32, "f32");
        convert_entry!($source, $source_name, Bf16, "bf16");
        convert_entry!($source, $source_name, u8, "u8");
        convert_entry!($source, $source_name, u16, "u16");
        convert_entry!($source, $source_name, u32, "u32");
        convert_entry!($source, $source_name, u64, "u64");
        convert_entry!($source, $source_name, i8, "i8");
        convert_entry!($source, $source_name, i16, "i16");
        convert_entry!($source, $source_name, i32, "i32");
        convert_entry!($source, $source_name, i64, "i64");
    )*};
}
convert_entries! {
    u8, "u8"; u16, "u16"; u32, "u32"; u64, "u64"; i8, "i8"; i16, "i16"; i32, "i32"; i64, "i64"; F16, "f16"; F32, "f32";
}

macro_rules! assemble_entries {
    ($($output:ty, $name:literal;)*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!("damacy_assemble_", $name))]
            unsafe extern "ptx-kernel" fn entry(
                source_base: *const u8,
                batch: *mut u8,
                uses: *const UseRecord,
                axes: *const AxisRecord,
                tile_uses: *const u32,
                tiles: u64,
            ) {
                let (thread, threads) = threads();
                let assembly = Assembly { source_base, batch, uses, axes, tile_uses, tiles };
                // SAFETY: whoever launches the kernel vouches for its parameters (`abi`).
                unsafe { assemble::<$output>(assembly, thread, threads) }
            }
        };
    )*};
}
assemble_entries! {
    F32, "f32"; Bf16, "bf16"; u8, "u8"; u16, "u16"; u32, "u32"; u64, "u64"; i8, "i8"; i16, "i16"; i32, "i32"; i64, "i64";
}
