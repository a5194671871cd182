//! Modules: PTX text -> kernels that can be launched, or the error that a driver's compiler would give.

use std::collections::HashMap;
use std::ffi::{c_char, c_uint};
use std::sync::{Arc, Mutex, PoisonError};

use crate::abi::{In, Out, put_text};
use crate::call::{Answer, Call, Needs, call, missing, refuse};
use crate::codes::{
    CONTEXT_IS_DESTROYED, Code, FILE_NOT_FOUND, INVALID_HANDLE, INVALID_IMAGE, INVALID_PTX, INVALID_VALUE,
    NO_BINARY_FOR_GPU, NOT_FOUND, UNSUPPORTED_PTX_VERSION,
};
use crate::config::Config;
use crate::function::Function;
use crate::queue::Ticket;
use crate::state::{Driver, State};

pub struct Module {
    pub context: u64,
    program: Arc<damacy_ptx::Module>,
    /// Handles of the kernels that were asked for.
    functions: HashMap<String, u64>,
    /// The last launch on each stream.
    pub launches: HashMap<u64, Ticket>,
}

/// `.version 6.3` -> (6, 3), `.target sm_75` -> (7, 5).
fn directive(text: &str, name: &str, prefix: &str) -> Option<(i32, i32)> {
    let line = text.lines().map(str::trim).find_map(|line| line.strip_prefix(name))?;
    let value = line.split([',', '/']).next()?.trim().strip_prefix(prefix)?;
    match value.split_once('.') {
        Some((major, minor)) => Some((major.parse().ok()?, minor.parse().ok()?)),
        None => {
            let digits: i32 = value.trim_end_matches(char::is_alphabetic).parse().ok()?;
            Some((digits / 10, digits % 10))
        }
    }
}

/// The newest PTX ISA that a driver takes, by its CUDA version.
fn newest_isa(driver_version: i32) -> (i32, i32) {
    match driver_version {
        ..11_000 => (6, 5),
        11_000..12_000 => (7, (driver_version % 1000 / 10).min(8)),
        12_000..12_060 => (8, driver_version % 1000 / 10),
        12_060..13_000 => (8, (driver_version % 1000 / 10 - 1).min(8)),
        _ => (9, (driver_version % 1000 / 10).max(0)),
    }
}

/// Texts that are kept with their programs: programs load the same few again and again.
const KEPT: usize = 4;

fn parse(image: &str) -> Result<Arc<damacy_ptx::Module>, damacy_ptx::Error> {
    static PARSED: Mutex<Vec<(String, Arc<damacy_ptx::Module>)>> = Mutex::new(Vec::new());
    let mut parsed = PARSED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, program)) = parsed.iter().find(|(text, _)| text == image) {
        return Ok(program.clone());
    }
    let program = Arc::new(damacy_ptx::Module::parse(image)?);
    if parsed.len() == KEPT {
        parsed.remove(0);
    }
    parsed.push((image.to_owned(), program.clone()));
    Ok(program)
}

/// Compiles, or says what is wrong: a code and the compiler's text.
fn compile(config: &Config, image: &str) -> Result<Arc<damacy_ptx::Module>, (Code, String)> {
    let Some(isa) = directive(image, ".version", "") else {
        return Err((INVALID_IMAGE, "no .version directive: not PTX text".to_owned()));
    };
    let newest = newest_isa(config.driver_version);
    if isa > newest {
        let text = format!("PTX ISA {}.{}; this driver takes up to {}.{}", isa.0, isa.1, newest.0, newest.1);
        return Err((UNSUPPORTED_PTX_VERSION, text));
    }
    match directive(image, ".target", "sm_") {
        Some(target) if target > config.capability => {
            let text = format!(
                "target sm_{}{}; this device is sm_{}{}",
                target.0, target.1, config.capability.0, config.capability.1
            );
            return Err((NO_BINARY_FOR_GPU, text));
        }
        Some(_) => {}
        None => return Err((INVALID_PTX, "no .target directive".to_owned())),
    }
    parse(image).map_err(|error| (INVALID_PTX, error.to_string()))
}

const ELF: &[u8] = b"\x7fELF";
const FAT: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();

/// The text of a PTX image; compiled ones have no zero at their end, and no machine here runs them.
fn image_text(image: &In<c_char>) -> Result<&str, (Code, String)> {
    let first = |index| image.get(index).map(|byte| byte as u8);
    let invalid = |code| (code, String::new());
    for magic in [ELF, &FAT] {
        let mut same = true;
        for (index, byte) in magic.iter().enumerate() {
            // Bytes are read only as far as they fit: a short text ends in a zero, which fits no magic number.
            same = same && first(index).map_err(invalid)? == *byte;
        }
        if same {
            return Err((NO_BINARY_FOR_GPU, "compiled code; this driver takes PTX text only".to_owned()));
        }
    }
    image.text().map_err(|_| (INVALID_IMAGE, "not UTF-8 text".to_owned()))
}

fn load(
    driver: &mut Driver,
    call: &Call,
    module: &Out<u64>,
    image: Result<&str, (Code, String)>,
) -> Result<(), (Code, String)> {
    if module.is_null() {
        return Err((INVALID_VALUE, String::new()));
    }
    let image = image?;
    let config = driver.config.clone();
    let program = driver.unlocked(|| compile(&config, image))?;
    if !driver.contexts.get(call.context).is_some_and(|context| context.alive) {
        return Err((CONTEXT_IS_DESTROYED, "the context went meanwhile".to_owned()));
    }
    let new = Module { context: call.context, program, functions: HashMap::new(), launches: HashMap::new() };
    let handle = driver.modules.insert(new);
    module.put(handle).map_err(|code| (code, String::new()))
}

/// A refused image is no violation, but its text is worth a look.
fn show(driver: &Driver, (code, text): (Code, String)) -> Code {
    if driver.config.log {
        eprintln!("soft-cuda: module refused: {text}");
    }
    code
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoadData(module: Out<u64>, image: In<c_char>) -> Code {
    call("cuModuleLoadData", Needs::Context, |driver, call| {
        load(driver, call, &module, image_text(&image)).map_err(|error| show(driver, error))
    })
}

/// `CUjit_option` numbers that say where messages go.
const ERROR_LOG: c_uint = 5;
const ERROR_LOG_SIZE: c_uint = 6;

/// Options other than the error log are taken and have no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoadDataEx(
    module: Out<u64>,
    image: In<c_char>,
    count: c_uint,
    options: In<c_uint>,
    values: In<u64>,
) -> Code {
    call("cuModuleLoadDataEx", Needs::Context, |driver, call| {
        let (mut buffer, mut size) = (0, 0);
        for index in 0..count as usize {
            match options.get(index)? {
                ERROR_LOG => buffer = values.get(index)?,
                ERROR_LOG_SIZE => size = values.get(index)? as u32 as usize,
                _ => {}
            }
        }
        load(driver, call, &module, image_text(&image)).map_err(|error| {
            // A caller who gave no log has asked for none.
            let _ = put_text(buffer as *mut c_char, size, &error.1);
            show(driver, error)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoad(module: Out<u64>, path: In<c_char>) -> Code {
    call("cuModuleLoad", Needs::Context, |driver, call| {
        let text = std::fs::read_to_string(path.text()?).map_err(|_| FILE_NOT_FOUND)?;
        load(driver, call, &module, Ok(&text)).map_err(|error| show(driver, error))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleGetFunction(function: Out<u64>, module: u64, name: In<c_char>) -> Code {
    call("cuModuleGetFunction", Needs::Context, |driver, call| {
        let name = name.text()?;
        find(driver, call, module)?;
        let Some(found) = driver.modules.get(module) else { return Err(INVALID_HANDLE) };
        if let Some(&handle) = found.functions.get(name) {
            return function.put(handle);
        }
        let kernel = found.program.kernel(name).ok_or(NOT_FOUND)?.clone();
        let context = found.context;
        let handle = driver.functions.insert(Function { module, context, kernel });
        if let Some(found) = driver.modules.get_mut(module) {
            found.functions.insert(name.to_owned(), handle);
        }
        function.put(handle)
    })
}

fn find(state: &mut State, call: &Call, module: u64) -> Answer {
    if state.modules.get(module).is_some() {
        return Ok(());
    }
    let violation = missing(&state.modules, module, call.name);
    Err(refuse(state, violation, INVALID_HANDLE))
}

/// Whether the host has waited for it.
fn knows(state: &State, ticket: &Ticket) -> bool {
    state.host.has(state.streams.number(ticket.stream) as u32, ticket.step)
}

fn remove(driver: &mut Driver, module: u64) {
    let Some(gone) = driver.modules.remove(module) else { return };
    for function in gone.functions.into_values() {
        driver.functions.remove(function);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: u64) -> Code {
    call("cuModuleUnload", Needs::Release, |driver, call| {
        find(driver, call, module)?;
        let launches = driver.modules.get(module).map(|found| found.launches.clone()).unwrap_or_default();
        if !call.poisoned && !launches.values().all(|ticket| knows(driver, ticket)) {
            let number = driver.modules.number(module);
            let text = format!("{}: module {number} goes while the host has not waited for its kernels", call.name);
            driver.violations.add("unload-in-use", text);
        }
        // Kernels that are under way hold their code.
        remove(driver, module);
        Ok(())
    })
}

/// Takes along the modules of a context that ends.
pub fn end_context(driver: &mut Driver, context: u64, name: &str) {
    for module in driver.modules.handles(|module| module.context == context) {
        let number = driver.modules.number(module);
        driver.violations.add("leak", format!("{name}: module {number} was never unloaded"));
        remove(driver, module);
    }
}
