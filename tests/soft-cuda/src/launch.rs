//! Launches: a function, a grid and parameters -> one item of work that the PTX machine executes.

use std::ffi::{c_int, c_uint};

use damacy_ptx::{Cause, Races};

use crate::abi::{In, Out, bytes_at};
use crate::call::{Call, Needs, call, refuse};
use crate::clock::{Access, Clock};
use crate::codes::{
    Code, ILLEGAL_ADDRESS, INVALID_HANDLE, INVALID_VALUE, LAUNCH_FAILED, LAUNCH_OUT_OF_RESOURCES, LAUNCH_TIMEOUT,
    MISALIGNED_ADDRESS,
};
use crate::function;
use crate::machine::DeviceMemory;
use crate::memory;
use crate::queue::{self, Work};
use crate::shadow::Mode;
use crate::state::Driver;
use crate::stream;

pub struct Launch {
    kernel: damacy_ptx::Kernel,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    parameters: Vec<Vec<u8>>,
}

const MAX_THREADS: u64 = 1024;
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
const MAX_GRID: [u32; 3] = [0x7fff_ffff, 65_535, 65_535];
const MAX_SHARED: u32 = 49_152;

/// Kernels may read whole words of so many bytes of which they need a part, as long as they lie in the allocation.
const WORD: u64 = 8;

fn fits(grid: [u32; 3], block: [u32; 3], shared_bytes: u32) -> Result<(), Code> {
    let within = |size: [u32; 3], most: [u32; 3]| size.iter().zip(most).all(|(&size, most)| size > 0 && size <= most);
    let threads: u64 = block.iter().map(|&side| u64::from(side)).product();
    if !within(grid, MAX_GRID) || !within(block, MAX_BLOCK) || threads > MAX_THREADS || shared_bytes > MAX_SHARED {
        return Err(INVALID_VALUE);
    }
    Ok(())
}

/// `CU_LAUNCH_PARAM_...`: keys of the other way to give parameters.
const END: u64 = 0;
const BUFFER: u64 = 1;
const BUFFER_SIZE: u64 = 2;

/// The bytes of each parameter, from an array of pointers or from one buffer laid out as the kernel's parameters are.
fn parameters(kernel: &damacy_ptx::Kernel, pointers: &In<u64>, extra: &In<u64>) -> Result<Vec<Vec<u8>>, Code> {
    let wanted = kernel.parameters();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    if !pointers.is_null() {
        return wanted
            .iter()
            .enumerate()
            .map(|(index, parameter)| match pointers.get(index)? {
                0 => Err(INVALID_VALUE),
                place => Ok(bytes_at(place, parameter.size)),
            })
            .collect();
    }
    let (mut buffer, mut size, mut index) = (0, 0, 0);
    loop {
        match extra.get(index)? {
            END => break,
            BUFFER => buffer = extra.get(index + 1)?,
            BUFFER_SIZE => size = u64::from_ne_bytes(bytes_at(extra.get(index + 1)?, 8).try_into().unwrap_or_default()),
            _ => return Err(INVALID_VALUE),
        }
        index += 2;
    }
    let mut offset = 0_usize;
    let mut parts = Vec::new();
    for parameter in wanted {
        offset = offset.next_multiple_of(parameter.align.max(1));
        if buffer == 0 || (offset + parameter.size) as u64 > size {
            return Err(INVALID_VALUE);
        }
        parts.push(bytes_at(buffer + offset as u64, parameter.size));
        offset += parameter.size;
    }
    Ok(parts)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLaunchKernel(
    function: u64,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: u64,
    pointers: In<u64>,
    extra: In<u64>,
) -> Code {
    call("cuLaunchKernel", Needs::Context, |driver, call| {
        function::find(driver, call, function)?;
        let Some(found) = driver.functions.get(function) else { return Err(INVALID_HANDLE) };
        let (module, context, kernel) = (found.module, found.context, found.kernel.clone());
        check_context(driver, call, context, kernel.name())?;
        let stream = stream::find_here(driver, call, stream)?;
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        fits(grid, block, shared_bytes)?;
        let parameters = parameters(&kernel, &pointers, &extra)?;
        let launch = Launch { kernel, grid, block, shared_bytes, parameters };
        let ticket = queue::enqueue(driver, call, stream, Work::Kernel(Box::new(launch)), Vec::new());
        if let Some(module) = driver.modules.get_mut(module) {
            module.launches.insert(stream, ticket);
        }
        Ok(())
    })
}

fn check_context(driver: &mut Driver, call: &Call, context: u64, kernel: &str) -> Result<(), Code> {
    if context == call.context {
        return Ok(());
    }
    let text = format!(
        "{}: kernel {kernel} belongs to context {}, the current context is {}",
        call.name,
        driver.contexts.number(context),
        driver.contexts.number(call.context)
    );
    Err(refuse(driver, ("wrong-context", text), INVALID_HANDLE))
}

/// Does the work on the stream's thread.
pub fn execute(driver: &mut Driver, context: u64, by: &Access, clock: &Clock, issue: u64, launch: &Launch) {
    let memory = DeviceMemory::new(driver, context, issue);
    let races = if driver.config.kernel_races { Races::Report } else { Races::Ignore };
    let parameters: Vec<&[u8]> = launch.parameters.iter().map(Vec::as_slice).collect();
    let result = driver.unlocked(|| {
        let Launch { grid, block, shared_bytes, .. } = *launch;
        let work =
            damacy_ptx::Launch { grid, block, shared_bytes, races, ..damacy_ptx::Launch::new(1, 1, &parameters) };
        launch.kernel.launch(&work, &memory).map_err(Box::new)
    });
    let seen = memory.seen();
    memory::touch(driver, &seen.reads, Mode::Read, WORD, by, clock);
    memory::touch(driver, &seen.writes, Mode::Write, WORD, by, clock);
    if let Err(fault) = result {
        driver.violations.add("kernel-fault", format!("{}: {fault}", by.what));
        // A race inside the kernel is found at its end, and a real GPU would not see it.
        if !matches!(fault.cause, Cause::Race { .. }) {
            driver.poison_context(context, code_of(&fault.cause));
        }
    }
}

fn code_of(cause: &Cause) -> Code {
    match cause {
        Cause::Misaligned { .. } => MISALIGNED_ADDRESS,
        Cause::Refused { .. } => ILLEGAL_ADDRESS,
        Cause::Budget(_) => LAUNCH_TIMEOUT,
        Cause::Launch(_) => LAUNCH_OUT_OF_RESOURCES,
        _ => LAUNCH_FAILED,
    }
}

/// Blocks of that many threads which a multiprocessor holds at once.
fn blocks_at_once(threads: c_int) -> Result<c_int, Code> {
    if !(1..=1024).contains(&threads) {
        return Err(INVALID_VALUE);
    }
    Ok((2048 / (threads.unsigned_abs().next_multiple_of(32) as c_int)).min(32))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: Out<c_int>,
    function: u64,
    threads: c_int,
    _shared: usize,
) -> Code {
    call("cuOccupancyMaxActiveBlocksPerMultiprocessor", Needs::Context, |driver, call| {
        function::find(driver, call, function)?;
        blocks.put(blocks_at_once(threads)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuOccupancyMaxPotentialBlockSize(
    blocks: Out<c_int>,
    threads: Out<c_int>,
    function: u64,
    _shared_of: usize,
    _shared: usize,
    limit: c_int,
) -> Code {
    call("cuOccupancyMaxPotentialBlockSize", Needs::Context, |driver, call| {
        function::find(driver, call, function)?;
        let size = if limit > 0 { limit.min(256) } else { 256 };
        threads.put(size)?;
        blocks.put(driver.config.multiprocessors * blocks_at_once(size)?)
    })
}
