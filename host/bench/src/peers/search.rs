//! The search of a peer's best setting: its settings -> passes of each, and the one with the lowest median.

use super::Tried;
use crate::failure::{Failure, Result};
use crate::summary::Spread;
use serde_json::{Map, Value};

/// Passes of a setting that may be the best.
const REPEATS: usize = 3;
/// A setting whose passes are all slower than this many times the best pass is not tried again.
const HOPELESS: f64 = 1.5;

/// A pass with a setting, of which is told what it is for -> seconds.
type Pass<'a> = dyn FnMut(&Map<String, Value>, &str) -> Result<f64> + 'a;

/// Tries everything, in turns, so that what else the machine does falls on all settings alike: a pass of each, then again of
/// those that are not far behind.
pub(super) fn search(
    settings: Vec<Map<String, Value>>,
    pass: &mut Pass<'_>,
) -> Result<(Map<String, Value>, Vec<Tried>)> {
    let mut tried: Vec<Tried> = settings.into_iter().map(|setting| Tried { setting, pass_s: Vec::new() }).collect();
    let count = tried.len();
    if let Some(first) = tried.first() {
        // Fills caches of the system and of the process; not counted.
        pass(&first.setting, "warming up")?;
    }
    for turn in 0..REPEATS {
        let best = tried.iter().map(fastest).fold(f64::INFINITY, f64::min);
        let hopeful = tried.iter_mut().filter(|one| turn == 0 || fastest(one) <= HOPELESS * best);
        for (number, one) in hopeful.enumerate() {
            let seconds =
                pass(&one.setting, &format!("turn {} of {REPEATS}, setting {} of {count}", turn + 1, number + 1))?;
            one.pass_s.push(seconds);
        }
    }
    // Only those that were tried in every turn.
    let full = tried.iter().filter(|one| one.pass_s.len() == REPEATS);
    let best = full.min_by(|a, b| median(a).total_cmp(&median(b)));
    let best = best.ok_or_else(|| Failure::internal("a peer has no settings"))?.setting.clone();
    Ok((best, tried))
}

fn fastest(tried: &Tried) -> f64 {
    tried.pass_s.iter().copied().fold(f64::INFINITY, f64::min)
}

fn median(tried: &Tried) -> f64 {
    Spread::of(&tried.pass_s).map_or(f64::INFINITY, |spread| spread.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(number: u64) -> Map<String, Value> {
        Map::from_iter([("number".to_owned(), number.into())])
    }

    #[test]
    fn the_lowest_median_is_found_and_hopeless_settings_are_tried_once() {
        // Setting 2 is fast once, setting 3 always.
        let times: [&[f64]; 4] = [&[9.0, 2.0, 2.0, 2.0], &[9.0], &[1.0, 5.0, 5.0], &[1.2, 1.3, 1.4]];
        let mut next = [0; 4];
        let mut pass = |setting: &Map<String, Value>, _: &str| {
            let number = setting["number"].as_u64().unwrap() as usize;
            next[number] += 1;
            Ok(times[number][next[number] - 1])
        };
        let (best, tried) = search((0..4).map(setting).collect(), &mut pass).unwrap();
        assert_eq!(best, setting(3));
        let counts: Vec<usize> = tried.iter().map(|one| one.pass_s.len()).collect();
        assert_eq!(counts, [1, 1, 3, 3]);
    }

    #[test]
    fn a_peer_without_settings_is_a_bug() {
        assert!(search(Vec::new(), &mut |_, _| Ok(1.0)).is_err());
    }
}
