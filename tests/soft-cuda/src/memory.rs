//! Allocations of device and pinned memory: addresses -> what is there, was there, or never was; and its shadow.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use crate::clock::{Access, Clock};
use crate::codes::{Code, INVALID_VALUE, OUT_OF_MEMORY};
use crate::queue;
use crate::shadow::{Findings, Mode, Shadow};
use crate::space::{ALIGNMENT, Mapping, Space};
use crate::state::{Driver, State};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Device,
    Pinned,
    /// The program's own memory, from `cuMemHostRegister`.
    Registered,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Device => "device",
            Kind::Pinned => "pinned",
            Kind::Registered => "registered",
        }
    }
}

pub struct Allocation {
    pub number: u64,
    pub base: u64,
    pub size: u64,
    pub kind: Kind,
    pub device: usize,
    pub context: u64,
    pub shadow: Shadow,
    /// Items issued before it was freed; work after that may not use it.
    pub freed_at: Option<u64>,
    mapping: Option<Mapping>,
}

impl Allocation {
    pub fn end(&self) -> u64 {
        self.base + self.size
    }

    pub fn label(&self) -> String {
        label(self.number, self.kind, self.base, self.size)
    }
}

fn label(number: u64, kind: Kind, base: u64, size: u64) -> String {
    format!("{} allocation {number} ({size} bytes at {base:#x})", kind.name())
}

/// A freed allocation.
struct Grave {
    number: u64,
    size: u64,
    kind: Kind,
    /// While it keeps its addresses.
    mapping: Option<Mapping>,
}

/// Freed allocations that keep their addresses, and those that are remembered at all.
const CLOSED: usize = 2048;
const REMEMBERED: usize = 65_536;

/// What lies at a range of addresses.
pub enum Place<'a> {
    Inside(&'a Allocation),
    /// It starts in the allocation and ends behind it.
    Beyond(&'a Allocation),
    /// It was in an allocation that has been freed; its description.
    Freed(String),
    Unknown,
}

#[derive(Default)]
pub struct Memory {
    space: Space,
    numbers: u64,
    live: BTreeMap<u64, Allocation>,
    graves: BTreeMap<u64, Grave>,
    /// Their order of death.
    order: VecDeque<u64>,
    /// Bytes of device memory in use on each device, and the most so far on any.
    pub used: BTreeMap<usize, u64>,
    pub peak: u64,
    pub peak_pinned: u64,
}

impl Memory {
    /// What the program may use at an address.
    pub fn find(&self, address: u64, length: u64) -> Place<'_> {
        if let Some((_, found)) = self.live.range(..=address).next_back()
            && address < found.end()
        {
            return match found.freed_at {
                Some(_) => Place::Freed(found.label()),
                None if length <= found.end() - address => Place::Inside(found),
                None => Place::Beyond(found),
            };
        }
        if let Some((&base, grave)) = self.graves.range(..=address).next_back()
            && address - base < grave.size
        {
            return Place::Freed(label(grave.number, grave.kind, base, grave.size));
        }
        Place::Unknown
    }

    /// The last allocation that ends at or before an address, for the texts.
    pub fn before(&self, address: u64) -> Option<&Allocation> {
        self.live.range(..=address).next_back().map(|(_, found)| found).filter(|found| found.end() <= address)
    }

    /// The allocation around an address, freed or not as long as work may use it.
    fn around(&mut self, address: u64) -> Option<&mut Allocation> {
        self.live.range_mut(..=address).next_back().map(|(_, found)| found).filter(|found| address < found.end())
    }

    pub fn allocations(&self) -> impl Iterator<Item = &Allocation> {
        self.live.values()
    }

    /// Bytes in use that are not a device's.
    pub fn pinned(&self) -> u64 {
        self.allocations().filter(|found| found.kind == Kind::Pinned).map(|found| found.size).sum()
    }
}

/// Makes an allocation, or says that there is no memory left for it.
pub fn allocate(state: &mut State, context: u64, kind: Kind, size: u64) -> Result<u64, Code> {
    let device = state.contexts.get(context).map_or(0, |context| context.device);
    let taken = size.checked_next_multiple_of(ALIGNMENT as u64).ok_or(OUT_OF_MEMORY)?;
    let memory = &mut state.memory;
    if kind == Kind::Device {
        let used = memory.used.entry(device).or_default();
        if taken > state.config.memory - *used {
            return Err(OUT_OF_MEMORY);
        }
    }
    let mapping = memory.space.map(size as usize).ok_or(OUT_OF_MEMORY)?;
    let base = mapping.base;
    if size <= POISONED {
        // SAFETY: `size` bytes that were mapped just now and that nobody else knows of.
        unsafe { std::ptr::write_bytes(base as *mut u8, POISON, size as usize) };
    }
    if kind == Kind::Device {
        let used = memory.used.entry(device).or_default();
        *used += taken;
        memory.peak = memory.peak.max(*used);
    }
    insert(state, base, size, kind, context, Some(mapping));
    state.memory.peak_pinned = state.memory.peak_pinned.max(state.memory.pinned());
    Ok(base)
}

/// New memory is filled with this byte, up to so many bytes: nobody should take it for zeros.
const POISON: u8 = 0xa5;
const POISONED: u64 = 64 << 20;

pub fn insert(state: &mut State, base: u64, size: u64, kind: Kind, context: u64, mapping: Option<Mapping>) {
    let device = state.contexts.get(context).map_or(0, |context| context.device);
    let memory = &mut state.memory;
    memory.numbers += 1;
    let shadow = Shadow::new(size);
    let number = memory.numbers;
    let new = Allocation { number, base, size, kind, device, context, shadow, freed_at: None, mapping };
    memory.live.insert(base, new);
}

/// Frees an allocation by its first address.
///
/// As the real calls do, it first waits for the work that is under way; but the program cannot count on that, so work
/// that the host has not waited for is a violation.
pub fn free(driver: &mut Driver, name: &str, address: u64, kind: Kind, checked: bool) -> Result<(), Code> {
    let state: &mut State = driver;
    let issued = state.issued;
    let wrong = match state.memory.find(address, 0) {
        Place::Inside(found) if found.base == address && found.kind == kind => None,
        Place::Inside(found) | Place::Beyond(found) => Some((
            "bad-free",
            format!("{name}: {address:#x} is not the start of {} memory but in {}", kind.name(), found.label()),
        )),
        Place::Freed(label) => Some(("double-free", format!("{name}: {label} has been freed already"))),
        Place::Unknown => Some(("bad-free", format!("{name}: {address:#x} is in no allocation"))),
    };
    if let Some((kind, text)) = wrong {
        state.violations.add(kind, text);
        return Err(INVALID_VALUE);
    }
    let host = state.host.clone();
    if let Some(found) = state.memory.around(address) {
        found.freed_at = Some(issued);
    }
    let streams = state.streams.handles(|_| true);
    queue::drain(driver, &streams);
    let state: &mut State = driver;
    let Some(found) = state.memory.around(address) else { return Ok(()) };
    if checked && let Some(access) = found.shadow.unknown_to(&host) {
        let text = format!("{name}: {} was freed while the host had not waited for {}", found.label(), access.what);
        state.violations.add("free-in-use", text);
    }
    bury(state, address);
    Ok(())
}

/// Removes an allocation that no work uses any more.
fn bury(state: &mut State, base: u64) {
    let memory = &mut state.memory;
    let Some(gone) = memory.live.remove(&base) else { return };
    if gone.kind == Kind::Device {
        let used = memory.used.entry(gone.device).or_default();
        *used = used.saturating_sub(gone.size.next_multiple_of(ALIGNMENT as u64));
    }
    if gone.kind == Kind::Registered {
        // The memory is the program's and lives on.
        return;
    }
    if let Some(mapping) = &gone.mapping {
        mapping.close();
    }
    memory.graves.insert(base, Grave { number: gone.number, size: gone.size, kind: gone.kind, mapping: gone.mapping });
    memory.order.push_back(base);
    let graves = memory.order.len();
    if graves > CLOSED
        && let Some(grave) = memory.graves.get_mut(&memory.order[graves - CLOSED - 1])
    {
        grave.mapping = None;
    }
    if graves > REMEMBERED
        && let Some(oldest) = memory.order.pop_front()
    {
        memory.graves.remove(&oldest);
    }
}

/// Takes along what is left in a context that ends, and says so. Its work is done.
pub fn end_context(driver: &mut Driver, context: u64, name: &str) {
    let left: Vec<(u64, String)> = driver
        .memory
        .allocations()
        .filter(|found| found.context == context && found.freed_at.is_none())
        .map(|found| (found.base, found.label()))
        .collect();
    // Pinned memory of this context may be in use on another's streams.
    if !left.is_empty() {
        let streams = driver.streams.handles(|_| true);
        queue::drain(driver, &streams);
    }
    for (base, label) in left {
        driver.violations.add("leak", format!("{name}: {label} was never freed"));
        bury(driver, base);
    }
}

/// Enters accesses of one item in the shadows, and reports what they find: the first of each kind for each allocation.
/// `word` is what the item reads at once: unwritten bytes beside written ones in a word are no finding.
pub fn touch(state: &mut State, ranges: &[Range<u64>], mode: Mode, word: u64, by: &Access, clock: &Clock) {
    let mut first: BTreeMap<u64, Findings> = BTreeMap::new();
    for range in ranges {
        let Some(found) = state.memory.around(range.start) else { continue };
        let (base, kind) = (found.base, found.kind);
        let offsets = range.start - base..range.end.min(found.end()) - base;
        let new = found.shadow.touch(offsets, mode, word, by, clock);
        let findings = first.entry(base).or_default();
        findings.race = findings.race.take().or(new.race);
        // The host writes pinned memory without telling anybody.
        findings.unwritten = findings.unwritten.take().or(new.unwritten.filter(|_| kind == Kind::Device));
    }
    for (base, findings) in first {
        let Some(label) = state.memory.around(base).map(|found| found.label()) else { continue };
        if let Some(race) = findings.race {
            let text = format!(
                "{} {} bytes {}..{} of {label}, which {} {} without an order between the two",
                by.what,
                mode.name(),
                race.range.start,
                race.range.end,
                race.earlier.what,
                race.earlier_mode.name(),
            );
            state.violations.add("race", text);
        }
        if let Some(range) = findings.unwritten
            && state.config.check_unwritten
        {
            let text =
                format!("{} reads bytes {}..{} of {label}, which nothing has written", by.what, range.start, range.end);
            state.violations.add("unwritten-read", text);
        }
    }
}
