//! Values as users write them: text -> sizes, times, shapes, boxes, types, limits, or what is accepted instead.

use damacy::{ByteOrder, Dtype, PlanLimits, SourceType};
use std::time::Duration;

/// A list of numbers, as one value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape(pub Vec<u64>);

/// A crop's `(start, stop)` for each axis, as one value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds(pub Vec<(u64, u64)>);

pub use damacy_bench::units::{ACCEPTED_BYTES, ACCEPTED_TIME, bytes, duration};

/// `64,128,128`; nothing for arrays without axes.
pub fn shape(text: &str) -> Result<Shape, String> {
    let text = text.trim().trim_start_matches(['(', '[']).trim_end_matches([')', ']', ',']);
    if text.is_empty() {
        return Ok(Shape(Vec::new()));
    }
    let extent = |part: &str| {
        let accepted = "accepted is a whole number for each axis, such as 64,128,128";
        part.trim().parse::<u64>().map_err(|_| format!("{part:?} is no extent; {accepted}"))
    };
    text.split(',').map(extent).collect::<Result<_, _>>().map(Shape)
}

/// `0:64,128:256,0:128`.
pub fn bounds(text: &str) -> Result<Bounds, String> {
    if text.is_empty() {
        return Ok(Bounds(Vec::new()));
    }
    let interval = |part: &str| {
        let accepted = "accepted is start:stop for each axis, such as 0:64,128:256";
        let refused = || format!("{part:?} is no interval; {accepted}");
        let (start, stop) = part.split_once(':').ok_or_else(refused)?;
        let start = if start.trim().is_empty() { "0" } else { start };
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| refused());
        Ok((number(start)?, number(stop)?))
    };
    text.split(',').map(interval).collect::<Result<_, String>>().map(Bounds)
}

/// An output type by its short or full name, or its value.
pub fn dtype(text: &str) -> Result<Dtype, String> {
    let by_value = text.parse().ok().and_then(Dtype::from_value);
    by_value.map_or_else(|| Dtype::parse(text).map_err(|error| error.to_string()), Ok)
}

/// A source type by its short or full name.
pub fn source(text: &str) -> Result<SourceType, String> {
    SourceType::from_name(text).ok_or_else(|| {
        let names: Vec<String> =
            SourceType::ALL.iter().map(|s| format!("{} ({})", s.full_name(), s.short_name())).collect();
        format!("{text:?} is no source type; accepted are {}", names.join(", "))
    })
}

/// `little` or `big`.
pub fn byte_order(text: &str) -> Result<ByteOrder, String> {
    match text {
        "little" => Ok(ByteOrder::Little),
        "big" => Ok(ByteOrder::Big),
        _ => Err(format!("{text:?} is no byte order; accepted are little and big")),
    }
}

/// Encoded bytes over decoded bytes.
pub fn ratio(text: &str) -> Result<f64, String> {
    let ratio = text.parse::<f64>().ok().filter(|ratio| ratio.is_finite() && *ratio > 0.0);
    ratio.ok_or_else(|| format!("{text:?} is no ratio; accepted is a number above 0, such as 0.5"))
}

/// Some of the limits of planning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Of the sandbox, bytes.
    pub memory: Option<u64>,
    /// Of each call.
    pub deadline: Option<Duration>,
    /// Chunk uses.
    pub chunks: Option<u64>,
}

impl Limits {
    /// These, and the others as they are.
    pub fn over(self, limits: PlanLimits) -> PlanLimits {
        PlanLimits {
            memory_bytes: self.memory.unwrap_or(limits.memory_bytes),
            deadline: self.deadline.unwrap_or(limits.deadline),
            max_chunks: self.chunks.unwrap_or(limits.max_chunks),
        }
    }
}

/// `memory=64MiB,deadline=1s,chunks=1048576`, any of them.
pub fn limits(text: &str) -> Result<Limits, String> {
    let mut limits = Limits::default();
    for part in text.split(',') {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let twice = || format!("{name} is given twice");
        match name.trim() {
            "memory" if limits.memory.is_none() => limits.memory = Some(bytes(value)?),
            "deadline" if limits.deadline.is_none() => limits.deadline = Some(duration(value)?),
            "chunks" if limits.chunks.is_none() => {
                let chunks = value.parse::<u64>().ok();
                limits.chunks = Some(chunks.ok_or_else(|| format!("chunks={value} is no whole number"))?);
            }
            "memory" | "deadline" | "chunks" => return Err(twice()),
            _ => {
                return Err(format!(
                    "{part:?}; accepted are memory=64MiB, deadline=1s and chunks=1048576, with commas"
                ));
            }
        }
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_and_boxes() {
        assert_eq!(shape("64,128, 128"), Ok(Shape(vec![64, 128, 128])));
        assert_eq!(shape("(5,)"), Ok(Shape(vec![5])));
        assert_eq!(shape(""), Ok(Shape(vec![])));
        assert!(shape("64,,1").is_err() && shape("64x1").is_err() && shape("-1").is_err());
        assert_eq!(bounds("0:64,:5"), Ok(Bounds(vec![(0, 64), (0, 5)])));
        assert!(bounds("5").is_err() && bounds("1:").is_err() && bounds("-1:5").is_err() && bounds("1:2:1").is_err());
    }

    #[test]
    fn limits_come_in_any_order_and_once() {
        let two = limits("chunks=5,memory=1MiB").expect("limits");
        assert_eq!((two.memory, two.deadline, two.chunks), (Some(1 << 20), None, Some(5)));
        for text in ["", "chunks=5,chunks=6", "memory", "time=1s", "chunks=-1", "deadline=0"] {
            assert!(limits(text).is_err(), "{text}");
        }
    }
}
