//! Where a device is in the machine: PCI address -> NUMA node -> its CPUs, by the system's own files.

use std::fs;
use std::path::Path;

/// A device's NUMA node; empty where the system does not say (one node, a virtual machine, not Linux).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Numa {
    /// The node's number.
    pub node: Option<u32>,
    /// The node's CPUs, those that the opening thread may use, ascending; empty when unknown.
    pub cpus: Vec<usize>,
}

impl Numa {
    /// The node of a PCI device such as `0000:65:00.0`.
    pub(crate) fn of_pci_device(bus_id: &str) -> Numa {
        let mut numa = Numa::read(Path::new("/sys"), bus_id);
        #[cfg(target_os = "linux")]
        if let Some(allowed) = allowed_cpus() {
            // Or more workers would be bound to them than there are CPUs.
            numa.cpus.retain(|cpu| allowed.contains(cpu));
        }
        numa
    }

    fn read(sys: &Path, bus_id: &str) -> Numa {
        let Some(address) = sysfs_address(bus_id) else { return Numa::default() };
        // -1 says that the system does not know.
        let node = fs::read_to_string(sys.join("bus/pci/devices").join(address).join("numa_node"));
        let Some(node) = node.ok().and_then(|text| text.trim().parse::<u32>().ok()) else { return Numa::default() };
        let list = fs::read_to_string(sys.join(format!("devices/system/node/node{node}/cpulist")));
        Numa { node: Some(node), cpus: list.ok().and_then(|text| parse_cpu_list(&text)).unwrap_or_default() }
    }
}

/// The driver's `00000000:65:00.0` or `0000:65:00.0` as sysfs writes it: four digits of domain, lower case.
fn sysfs_address(bus_id: &str) -> Option<String> {
    let (domain, rest) = bus_id.split_once(':')?;
    let domain = u32::from_str_radix(domain, 16).ok()?;
    let clean = rest.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':' || byte == b'.');
    clean.then(|| format!("{domain:04x}:{}", rest.to_ascii_lowercase()))
}

/// `0-3,8,10-11` as numbers; `None` for anything else. At most 4096 CPUs are named.
fn parse_cpu_list(text: &str) -> Option<Vec<usize>> {
    const MAX_CPUS: usize = 4096;
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        if first > last || last >= MAX_CPUS {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Binds the calling thread to those of `cpus` that it may use already. Returns whether it did: not when none of them
/// is allowed, or all that are allowed are among them.
pub fn bind_this_thread(cpus: &[usize]) -> bool {
    #[cfg(target_os = "linux")]
    {
        let Some(allowed) = allowed_cpus() else { return false };
        let wanted: Vec<usize> = allowed.iter().copied().filter(|cpu| cpus.contains(cpu)).collect();
        !wanted.is_empty() && wanted.len() < allowed.len() && set_affinity(&wanted)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = cpus;
        false
    }
}

#[cfg(target_os = "linux")]
fn allowed_cpus() -> Option<Vec<usize>> {
    // SAFETY: `cpu_set_t` is plain bits: all zero is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a valid place of the size given; 0 is the calling thread.
    if unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) } != 0 {
        return None;
    }
    // SAFETY: the index is below CPU_SETSIZE.
    Some((0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect())
}

#[cfg(target_os = "linux")]
fn set_affinity(cpus: &[usize]) -> bool {
    // SAFETY: `cpu_set_t` is plain bits: all zero is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus {
        // SAFETY: from `allowed_cpus`, so below CPU_SETSIZE.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: `set` is a valid set of the size given; 0 is the calling thread.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_sysfs_writes_them() {
        assert_eq!(sysfs_address("0000:65:00.0").as_deref(), Some("0000:65:00.0"));
        assert_eq!(sysfs_address("00000000:0F:00.0").as_deref(), Some("0000:0f:00.0"));
        assert_eq!(sysfs_address("10000:AF:00.0").as_deref(), Some("10000:af:00.0"));
        for bad in ["", "65", "zz:00:00.0", "0000:../../etc", "0000:65/00.0"] {
            assert_eq!(sysfs_address(bad), None, "{bad}");
        }
    }

    #[test]
    fn cpu_lists_are_those_of_the_kernel() {
        assert_eq!(parse_cpu_list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse_cpu_list("7"), Some(vec![7]));
        assert_eq!(parse_cpu_list("\n"), Some(vec![]));
        for bad in ["a", "3-1", "1-", "-1", "0-99999999999", "0-4096", "1;2"] {
            assert_eq!(parse_cpu_list(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_node_and_its_cpus_are_read_from_the_systems_files() {
        let sys = std::env::temp_dir().join(format!("damacy-numa-{}", std::process::id()));
        let pci = sys.join("bus/pci/devices/0000:65:00.0");
        let node = sys.join("devices/system/node/node1");
        fs::create_dir_all(&pci).unwrap();
        fs::create_dir_all(&node).unwrap();
        fs::write(node.join("cpulist"), "4-7\n").unwrap();
        fs::write(pci.join("numa_node"), "1\n").unwrap();
        assert_eq!(Numa::read(&sys, "00000000:65:00.0"), Numa { node: Some(1), cpus: vec![4, 5, 6, 7] });
        fs::write(pci.join("numa_node"), "-1\n").unwrap();
        assert_eq!(Numa::read(&sys, "0000:65:00.0"), Numa::default());
        assert_eq!(Numa::read(&sys, "0000:66:00.0"), Numa::default());
        fs::remove_dir_all(&sys).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn binding_keeps_to_the_cpus_that_are_allowed() {
        std::thread::spawn(|| {
            let allowed = allowed_cpus().unwrap();
            assert!(!bind_this_thread(&[]));
            assert!(!bind_this_thread(&allowed), "nothing to do");
            let bound = bind_this_thread(&allowed[..1]);
            assert_eq!(bound, allowed.len() > 1);
            assert_eq!(allowed_cpus().unwrap(), &allowed[..1]);
        })
        .join()
        .unwrap();
    }
}
