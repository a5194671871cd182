//! Tests against the soft CUDA driver: a test's body -> run alone in a process of its own that has that driver.
//!
//! What a process has seen of the driver stays (whether there is one, a lost device), so each test gets a process: the
//! test binary starts itself again with the one test, and the child loads `libsoft_cuda.so` before anybody asks for
//! `libcuda.so.1`, whose name it bears. The settings of `tests/soft-cuda/soft_cuda.h` go into the child's environment.
//! A test is
//!
//! ```ignore
//! #[test]
//! fn memory_is_freed() {
//!     soft_cuda::run(&[("devices", "2")], |driver| { ... });
//! }
//! ```
//!
//! and fails if the body panics, if the driver saw a violation, or if anything is left. Other programs (Python) are run
//! with [`library_folder`] on `LD_LIBRARY_PATH` instead. The file needs `libc` and `serde_json` and nothing else of this
//! crate, so that tests of crates that `damacy-tests` would be too heavy for can include it by its path.
#![allow(dead_code, reason = "tests that include the file by its path use parts of it")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// In the environment of a child: the test that it is to run.
const CHILD: &str = "DAMACY_SOFT_CUDA_CHILD";
/// In the environment of a child: where it says that the test's body was run to its end.
const DONE: &str = "DAMACY_SOFT_CUDA_DONE";
/// How long a child may take: a hang is a failure.
const PATIENCE: Duration = Duration::from_secs(300);

/// Control over the soft driver that this process has loaded.
pub struct SoftCuda {
    library: *mut c_void,
}

// SAFETY: the control functions may be called from any thread.
unsafe impl Send for SoftCuda {}
// SAFETY: as above.
unsafe impl Sync for SoftCuda {}

/// Runs the body in a child that has the soft driver with these settings; then nothing may be left and nothing wrong.
pub fn run<F: FnOnce(&SoftCuda)>(settings: &[(&str, &str)], body: F) {
    in_child::<F>(settings, || {
        let driver = SoftCuda::load();
        body(&driver);
        driver.assert_clean();
    });
}

/// As [`run`], for bodies after which something is left or was wrong on purpose.
pub fn run_unchecked<F: FnOnce(&SoftCuda)>(settings: &[(&str, &str)], body: F) {
    in_child::<F>(settings, || body(&SoftCuda::load()));
}

/// Runs the body in a child without any driver.
pub fn run_without<F: FnOnce()>(body: F) {
    in_child::<F>(&[], body);
}

/// In a child: the body. Else: a child with the test that `F`, a closure written in it, is named for.
fn in_child<F>(settings: &[(&str, &str)], body: impl FnOnce()) {
    // crate::module::test::{{closure}}
    let path = std::any::type_name::<F>();
    let name = path.split("::").skip(1).take_while(|part| !part.starts_with('{')).collect::<Vec<_>>().join("::");
    if std::env::var(CHILD).is_ok_and(|child| child == name) {
        body();
        let done = std::env::var_os(DONE).expect("set beside the test's name");
        std::fs::write(done, "").expect("a file that tells the parent");
        return;
    }
    let done = std::env::temp_dir().join(format!("damacy-{}-{}", std::process::id(), name.replace("::", "-")));
    let binary = std::env::current_exe().expect("the test binary");
    let mut command = Command::new(binary);
    command.args([&name, "--exact", "--nocapture", "--include-ignored"]).env(CHILD, &name).env(DONE, &done);
    for (setting, value) in settings {
        command.env(format!("SOFT_CUDA_{}", setting.to_uppercase()), value);
    }
    let mut child = command.stdout(Stdio::null()).spawn().expect("the test binary, started again");
    let started = Instant::now();
    let status = loop {
        match child.try_wait().expect("a child to wait for") {
            Some(status) => break status,
            None if started.elapsed() > PATIENCE => {
                let _ = child.kill();
                panic!("{name} hangs with the soft driver");
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let finished = std::fs::remove_file(&done).is_ok();
    assert!(status.success() && finished, "{name} failed with the soft driver: {status}");
}

/// `libsoft_cuda.so` of this build.
pub fn library() -> PathBuf {
    let binary = std::env::current_exe().expect("the test binary");
    let folders = binary.ancestors().skip(1).take(2);
    let mut found = folders.map(|folder| folder.join("libsoft_cuda.so")).filter(|path| path.exists());
    found
        .next()
        .unwrap_or_else(|| panic!("no libsoft_cuda.so near {}: cargo builds it with the tests", binary.display()))
}

/// A folder, made under `inside`, that holds nothing but the soft driver as `libcuda.so.1`: for `LD_LIBRARY_PATH`.
pub fn library_folder(inside: &Path) -> PathBuf {
    let folder = inside.join("soft-cuda");
    std::fs::create_dir_all(&folder).expect("a folder for the driver");
    let link = folder.join("libcuda.so.1");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(library(), &link).expect("a link to the driver");
    folder
}

impl SoftCuda {
    /// Loads the soft driver into this process, where it is the only `libcuda.so.1` from then on.
    fn load() -> SoftCuda {
        let path = CString::new(library().into_os_string().into_encoded_bytes()).expect("a path");
        // SAFETY: a zero-terminated path; the library's constructors do nothing.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        assert!(!library.is_null(), "the soft driver does not load");
        SoftCuda { library }
    }

    /// Changes a setting.
    pub fn set(&self, name: &str, value: &str) {
        let (name, value) = (CString::new(name).expect("text"), CString::new(value).expect("text"));
        type Set = unsafe extern "C" fn(*const c_char, *const c_char) -> c_int;
        // SAFETY: the function's type, and two zero-terminated texts.
        let result = unsafe { self.symbol::<Set>(c"soft_cuda_set")(name.as_ptr(), value.as_ptr()) };
        assert_eq!(result, 0, "soft_cuda_set");
    }

    /// Adds failures, as in `cuMemAlloc:3:2` (see `soft_cuda.h`).
    pub fn fail(&self, rules: &str) {
        let rules = CString::new(rules).expect("text");
        // SAFETY: the function's type, and a zero-terminated text.
        let result =
            unsafe { self.symbol::<unsafe extern "C" fn(*const c_char) -> c_int>(c"soft_cuda_fail")(rules.as_ptr()) };
        assert_eq!(result, 0, "soft_cuda_fail");
    }

    /// Forgets all failures and gives lost devices back.
    pub fn clear_failures(&self) {
        self.control(c"soft_cuda_clear_failures");
    }

    /// Forgets the violations seen so far.
    pub fn clear_violations(&self) {
        self.control(c"soft_cuda_clear_violations");
    }

    /// Waits until every stream has executed what it has.
    pub fn drain(&self) {
        self.control(c"soft_cuda_drain");
    }

    /// The report.
    pub fn report(&self) -> serde_json::Value {
        type Report = unsafe extern "C" fn(*mut c_char, usize) -> usize;
        // SAFETY: the function's type.
        let report = unsafe { self.symbol::<Report>(c"soft_cuda_report") };
        // SAFETY: null asks for the length.
        let needed = unsafe { report(std::ptr::null_mut(), 0) };
        // Other threads may make it longer in between.
        let mut text = vec![0_u8; needed + 4096];
        // SAFETY: as many writable bytes as said.
        unsafe { report(text.as_mut_ptr().cast(), text.len()) };
        let text = CStr::from_bytes_until_nul(&text).expect("a zero at the end").to_str().expect("UTF-8");
        serde_json::from_str(text).expect("JSON")
    }

    /// A number of the report.
    pub fn count(&self, name: &str) -> u64 {
        self.report()[name].as_u64().unwrap_or_else(|| panic!("the report has no number {name}"))
    }

    /// How often a call was made.
    pub fn calls(&self, name: &str) -> u64 {
        self.report()["calls"][name].as_u64().unwrap_or(0)
    }

    /// Panics if the driver saw a violation or anything is alive.
    pub fn assert_clean(&self) {
        let report = self.report();
        assert!(report["violation_count"] == 0, "violations: {report:#}");
        self.assert_nothing_left();
    }

    /// Panics if anything is alive.
    pub fn assert_nothing_left(&self) {
        let report = self.report();
        let names = [
            "contexts",
            "retained",
            "streams",
            "events",
            "modules",
            "device_allocations",
            "pinned_allocations",
            "registered",
        ];
        let left: Vec<_> = names.into_iter().filter(|name| report[name] != 0).collect();
        assert!(left.is_empty(), "{left:?} are not 0: {report:#}");
    }

    fn control(&self, name: &CStr) {
        // SAFETY: the functions' type.
        let result = unsafe { self.symbol::<unsafe extern "C" fn() -> c_int>(name)() };
        assert_eq!(result, 0, "{name:?}");
    }

    /// A function of the soft driver: its own, or a driver call that a test makes itself.
    ///
    /// # Safety
    /// `F` is the function pointer type of the symbol.
    pub unsafe fn symbol<F: Copy>(&self, name: &CStr) -> F {
        // SAFETY: the library is loaded, the name zero-terminated.
        let found = unsafe { libc::dlsym(self.library, name.as_ptr()) };
        assert!(!found.is_null(), "the soft driver has no {name:?}");
        // SAFETY: a function pointer of type `F`, by the caller's promise.
        unsafe { std::mem::transmute_copy(&found) }
    }
}
