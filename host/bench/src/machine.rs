//! Where and when: processor, memory, kernel, versions, the time of day.

use crate::results::Machine;
use damacy_core::convert::Level;
use std::collections::BTreeMap;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// This machine.
pub fn machine() -> Machine {
    let field = |file: &str, name: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(name)).map(|line| line.split_once(':'));
        line.flatten().map(|(_, value)| value.trim().to_owned())
    };
    let memory = field("/proc/meminfo", "MemTotal").and_then(|value| value.split(' ').next()?.parse::<u64>().ok());
    let system = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
        text.trim().to_owned()
    };
    Machine {
        cpu: field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cores: cores(),
        memory_bytes: memory.unwrap_or(0) * 1024,
        kernel: format!("{} {} {}", system("ostype"), system("osrelease"), std::env::consts::ARCH),
        simd: Level::current().name().to_owned(),
    }
}

/// Cores that this process may use.
pub fn cores() -> u64 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64)
}

/// Of damacy.
pub fn versions() -> BTreeMap<String, String> {
    BTreeMap::from([("damacy".to_owned(), env!("CARGO_PKG_VERSION").to_owned())])
}

/// The time, UTC: `2026-11-30T18:00:00Z`.
pub fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    timestamp(seconds)
}

/// Seconds since 1970 as a date and time of the Gregorian calendar.
fn timestamp(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Howard Hinnant's civil_from_days: years begin in March, so that the leap day is the last.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_what_date_says() {
        // date -u -d @N +%FT%TZ
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_796_061_296, "2026-11-30T17:54:56Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(timestamp(seconds), text);
        }
    }
}
