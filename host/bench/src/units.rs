//! Sizes and times as users write them: text -> bytes or a duration, or what is accepted instead; and counts as users read them.

use std::time::Duration;

/// Bytes: `1048576`, `64KiB`, `64MiB`, `1GiB`, `500MB`.
///
/// # Errors
/// What was given and what is accepted.
pub fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit: u64 = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        "kB" | "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return Err(format!("{text:?} is no size; {ACCEPTED_BYTES}")),
    };
    let number: u64 = number.parse().map_err(|_| format!("{text:?} is no size; {ACCEPTED_BYTES}"))?;
    number.checked_mul(unit).ok_or_else(|| format!("{text:?} is beyond 2^64 - 1 bytes"))
}

/// What [`bytes`] takes.
pub const ACCEPTED_BYTES: &str =
    "accepted are whole bytes, or a whole number with KiB, MiB, GiB, TiB, kB, MB, GB or TB";

/// A time above 0: `1`, `0.5`, `1s`, `50ms`, `2min`.
///
/// # Errors
/// What was given and what is accepted.
pub fn duration(text: &str) -> Result<Duration, String> {
    let found = time(text).filter(|time| !time.is_zero());
    found.ok_or_else(|| format!("{text:?} is no time; {ACCEPTED_TIME}"))
}

/// What [`duration`] takes.
pub const ACCEPTED_TIME: &str = "accepted are seconds above 0, or a number with s, ms, us or min";

/// A time from 0 on, written as for [`duration`].
///
/// # Errors
/// What was given and what is accepted.
pub fn time_or_none(text: &str) -> Result<Duration, String> {
    time(text).ok_or_else(|| format!("{text:?} is no time; {ACCEPTED_TIME_OR_NONE}"))
}

/// What [`time_or_none`] takes.
pub const ACCEPTED_TIME_OR_NONE: &str = "accepted are seconds from 0 on, or a number with s, ms, us or min";

fn time(text: &str) -> Option<Duration> {
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = match unit {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "min" => 60.0,
        _ => return None,
    };
    let number = number.parse::<f64>().ok().filter(|s| s.is_finite() && *s >= 0.0)?;
    let time = Duration::try_from_secs_f64(number * unit).ok().filter(|time| time.as_secs() <= 1_000_000_000)?;
    // A time so short that it is none was not meant as one.
    (number == 0.0 || !time.is_zero()).then_some(time)
}

/// A whole number with its thousands apart: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 batch`, `2 batches`.
pub fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times() {
        for (text, number) in [("0", 0), ("64MiB", 64 << 20), ("1kB", 1000), ("16777215TiB", 16_777_215 << 40)] {
            assert_eq!(bytes(text), Ok(number));
        }
        for text in ["", "MiB", "-1", "1.5GiB", "1mib", "16777216TiB", "99999999999999999999"] {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert_eq!(duration("50ms"), Ok(Duration::from_millis(50)));
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
        for text in ["", "s", "0", "-1s", "inf", "NaN", "1h", "1e300s", "1e-300"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!(time_or_none("0"), Ok(Duration::ZERO));
        for text in ["", "-0.1", "inf", "1e-300"] {
            assert!(time_or_none(text).is_err(), "{text}");
        }
    }
}
