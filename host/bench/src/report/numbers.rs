//! Figures as a reader wants them: three or four digits and a unit.

use crate::summary::Spread;
use crate::table::fixed;
pub(super) use crate::units::{count, plural};
use serde_json::{Map, Value};

/// Four digits: `1,235`, `664.7`, `12.35`, `0.012`; whole numbers without a fraction only from 1000 on.
pub(super) fn number(x: f64) -> String {
    match x.abs() {
        size if !size.is_finite() => "unknown".to_owned(),
        size if size >= 1e15 => format!("{x:.3e}"),
        size if size >= 999.95 => {
            let whole = count(size.round() as u64);
            if x < 0.0 { format!("-{whole}") } else { whole }
        }
        size if size >= 99.995 => format!("{x:.1}"),
        size if size >= 1.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

/// A time: `72.2 ms`, `1.23 s`, `11.4 µs`.
pub(super) fn seconds(x: f64) -> String {
    match x.abs() {
        size if !size.is_finite() => "unknown".to_owned(),
        size if size >= 1.0 => format!("{} s", number(x)),
        size if size >= 1e-3 => format!("{} ms", three(x * 1e3)),
        size if size > 0.0 => format!("{} µs", three(x * 1e6)),
        _ => "0 s".to_owned(),
    }
}

/// An amount of data, decimal: `2.72 MB`.
pub(super) fn data(bytes: f64) -> String {
    scaled(bytes, 1000.0, &["bytes", "kB", "MB", "GB", "TB", "PB"])
}

/// An amount of memory, binary: `64 MiB`.
pub(super) fn memory(bytes: f64) -> String {
    scaled(bytes, 1024.0, &["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// `95 %`.
pub(super) fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if !percent.is_finite() {
        return "unknown".to_owned();
    }
    if percent > 0.0 && percent < 0.05 {
        return "under 0.1 %".to_owned();
    }
    fixed(percent, usize::from(percent.abs() < 9.95 && percent.fract() != 0.0)) + " %"
}

/// `665 (570 to 716)` in the words of `shown`; the range is left out where all rounds are the same.
pub(super) fn spread(spread: &Spread, shown: fn(f64) -> String) -> String {
    let [median, min, max] = [spread.median, spread.min, spread.max].map(shown);
    if min == max { median } else { format!("{median} ({min} to {max})") }
}

/// A peer's setting in words: `cache: 128 MiB, how: read`.
pub(super) fn setting(setting: &Map<String, Value>) -> String {
    let one = |(name, value): (&String, &Value)| {
        let plain = || value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match (name.strip_suffix("_bytes"), value.as_u64()) {
            (Some(what), Some(bytes)) => format!("{}: {}", what.replace('_', " "), memory(bytes as f64)),
            _ => format!("{}: {}", name.replace('_', " "), plain()),
        }
    };
    if setting.is_empty() { "no settings".to_owned() } else { setting.iter().map(one).collect::<Vec<_>>().join(", ") }
}

fn three(x: f64) -> String {
    match x.abs() {
        size if size >= 99.95 || size.fract() == 0.0 => fixed(x, 0),
        size if size >= 9.995 => fixed(x, 1),
        _ => fixed(x, 2),
    }
}

fn scaled(bytes: f64, step: f64, units: &[&str]) -> String {
    if !bytes.is_finite() {
        return "unknown".to_owned();
    }
    let (mut x, mut unit) = (bytes, 0);
    while x.abs() >= step && unit + 1 < units.len() {
        (x, unit) = (x / step, unit + 1);
    }
    let digits = if unit == 0 { format!("{x:.0}") } else { three(x) };
    format!("{digits} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn figures_are_short() {
        let pairs = [
            (count(0), "0"),
            (count(1_234_567), "1,234,567"),
            (number(664.71), "664.7"),
            (number(999.96), "1,000"),
            (number(-12_345.6), "-12,346"),
            (number(2.6745), "2.67"),
            (number(0.8812), "0.881"),
            (number(f64::NAN), "unknown"),
            (number(1e300), "1.000e300"),
            (seconds(0.07221), "72.2 ms"),
            (seconds(1.234), "1.23 s"),
            (seconds(0.000_011_4), "11.4 µs"),
            (seconds(0.0), "0 s"),
            (seconds(0.002), "2 ms"),
            (data(2_716_624.0), "2.72 MB"),
            (data(999.0), "999 bytes"),
            (memory(67_108_864.0), "64 MiB"),
            (memory(4_735_652.0), "4.52 MiB"),
            (percent(0.947), "95 %"),
            (percent(0.042), "4.2 %"),
            (percent(0.01), "1 %"),
            (percent(1e-7), "under 0.1 %"),
            (percent(0.0), "0 %"),
            (percent(f64::INFINITY), "unknown"),
            (percent(1e307), "unknown"),
            (percent(1e300), "1.000e302 %"),
            (data(1e300), "1.000e285 PB"),
            (data(f64::INFINITY), "unknown"),
            (seconds(f64::INFINITY), "unknown"),
            (plural(1, "batch", "batches"), "1 batch"),
        ];
        for (found, expected) in pairs {
            assert_eq!(found, expected);
        }
        let one = |value: Value| setting(value.as_object().expect("an object"));
        assert_eq!(one(json!({"cache_bytes": 134_217_728})), "cache: 128 MiB");
        assert_eq!(one(json!({"how": "read"})), "how: read");
        assert_eq!(one(json!({"batches_ahead": 2})), "batches ahead: 2");
        assert_eq!(one(json!({})), "no settings");
    }
}
