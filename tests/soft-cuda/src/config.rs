//! Configuration: `SOFT_CUDA_<NAME>` in the environment and `soft_cuda_set("name", "value")` -> what the machine is like.
//!
//! Devices are made of it at `cuInit`; after that only the settings that `set` allows can change.

use crate::checks::Manner;
use crate::hold::Hold;

/// The settings; units and defaults stand in `soft_cuda.h`.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub devices: usize,
    pub memory: u64,
    pub driver_version: i32,
    pub name: String,
    pub capability: (i32, i32),
    pub multiprocessors: i32,
    /// NUMA node of each device; the last one counts for those that follow.
    pub numa: Vec<i32>,
    /// PCI address of each device; devices beyond the list get `0000:<index + 1>:00.0`.
    pub pci: Vec<String>,
    pub delay_us: u64,
    pub seed: u64,
    pub strict: bool,
    pub log: bool,
    pub check_unwritten: bool,
    pub kernel_races: bool,
    /// Kernels, and uploads, that are still to be held.
    pub hold: Hold,
    /// Where to leave the report when the process exits.
    pub report: String,
    pub fail: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            devices: 1,
            memory: 1 << 30,
            driver_version: 12_080,
            name: "Soft CUDA".to_owned(),
            capability: (9, 0),
            multiprocessors: 4,
            numa: vec![-1],
            pci: Vec::new(),
            delay_us: 0,
            seed: 0,
            strict: false,
            log: false,
            check_unwritten: true,
            kernel_races: false,
            hold: Hold::default(),
            report: String::new(),
            fail: String::new(),
        }
    }
}

/// Every setting: its name, and whether it may change while devices exist.
const NAMES: [(&str, bool); 18] = [
    ("devices", false),
    ("memory", false),
    ("driver_version", false),
    ("name", false),
    ("capability", false),
    ("multiprocessors", false),
    ("numa", false),
    ("pci", false),
    ("delay_us", true),
    ("seed", true),
    ("strict", true),
    ("log", true),
    ("check_unwritten", true),
    ("kernel_races", true),
    ("hold_kernels", true),
    ("hold_uploads", true),
    ("report", true),
    ("fail", true),
];

impl Config {
    /// The defaults with what the environment says. A value that cannot be read is reported and left out.
    pub fn from_environment() -> Self {
        let mut config = Self::default();
        for (name, _) in NAMES {
            let Ok(value) = std::env::var(format!("SOFT_CUDA_{}", name.to_uppercase())) else { continue };
            if let Err(error) = config.set(name, &value, false) {
                eprintln!("soft-cuda: {error}");
            }
        }
        config
    }

    /// Changes one setting; `fixed` says that devices exist.
    pub fn set(&mut self, name: &str, value: &str, fixed: bool) -> Result<(), String> {
        let value = value.trim();
        let Some((name, changes)) = NAMES.iter().find(|known| known.0 == name) else {
            return Err(format!("setting {name:?} is not known; there are {}", NAMES.map(|known| known.0).join(", ")));
        };
        if fixed && !changes {
            return Err(format!("setting {name:?} cannot change after cuInit; call soft_cuda_reset first"));
        }
        match *name {
            "devices" => self.devices = number(name, value)?,
            "memory" => self.memory = number(name, value)?,
            "driver_version" => self.driver_version = number(name, value)?,
            "name" => self.name = value.to_owned(),
            "capability" => {
                let (major, minor) = value.split_once('.').unwrap_or((value, "0"));
                self.capability = (number(name, major)?, number(name, minor)?);
            }
            "multiprocessors" => self.multiprocessors = number(name, value)?,
            "numa" => self.numa = value.split(',').map(|node| number(name, node)).collect::<Result<_, _>>()?,
            "pci" => self.pci = value.split(',').map(|address| address.trim().to_owned()).collect(),
            "delay_us" => self.delay_us = number(name, value)?,
            "seed" => self.seed = number(name, value)?,
            "strict" => self.strict = switch(name, value)?,
            "log" => self.log = switch(name, value)?,
            "check_unwritten" => self.check_unwritten = switch(name, value)?,
            "kernel_races" => self.kernel_races = switch(name, value)?,
            "hold_kernels" => self.hold.kernels = number(name, value)?,
            "hold_uploads" => self.hold.uploads = number(name, value)?,
            "report" => self.report = value.to_owned(),
            _ => self.fail = value.to_owned(),
        }
        Ok(())
    }

    pub fn manner(&self) -> Manner {
        Manner { log: self.log, strict: self.strict }
    }

    pub fn numa_of(&self, device: usize) -> i32 {
        self.numa.get(device).or(self.numa.last()).copied().unwrap_or(-1)
    }

    pub fn pci_of(&self, device: usize) -> String {
        self.pci.get(device).cloned().unwrap_or_else(|| format!("0000:{:02x}:00.0", device + 1))
    }
}

fn number<N: std::str::FromStr>(name: &str, value: &str) -> Result<N, String> {
    value.trim().parse().map_err(|_| format!("setting {name:?} takes a number, not {value:?}"))
}

fn switch(name: &str, value: &str) -> Result<bool, String> {
    match value {
        "0" | "" => Ok(false),
        "1" => Ok(true),
        _ => Err(format!("setting {name:?} takes 0 or 1, not {value:?}")),
    }
}
