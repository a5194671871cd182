//! The search of a peer's best setting within about a given time: a first look at every setting on a sample of the crops, the
//! pass's first batches, then whole passes with the best of them -> the setting with the lowest median whole pass.
//!
//! Where the time is enough for it, the sample is the whole pass, and every setting that is not hopeless gets three.

use super::Tried;
use super::stop::Result;
use crate::failure::Failure;
use crate::summary::Spread;
use serde_json::{Map, Value};
use std::time::Duration;

/// Whole passes of a setting that may be the best, if there is time for them.
const TURNS: usize = 3;
/// A setting whose passes are all slower than this many times the best pass is not tried again.
const HOPELESS: f64 = 1.5;
/// The part of the time that first looks may take; the rest is for whole passes.
const LOOKING: f64 = 0.4;
/// Settings that get a whole pass, however long it takes, unless only one is not hopeless.
const LEAST: usize = 2;

/// What a search found.
pub(super) struct Found {
    pub setting: Map<String, Value>,
    pub tried: Vec<Tried>,
    /// Batches of the first looks; `None` if they were whole passes.
    pub sample_batches: Option<u64>,
}

/// A pass over so many of the first batches with a setting, of which is told what it is for -> seconds.
type Pass<'a> = dyn FnMut(&Map<String, Value>, u64, &str) -> Result<f64> + 'a;

/// Tries settings in turns, so that what else the machine does falls on all of them alike.
pub(super) fn search(
    settings: Vec<Map<String, Value>>,
    batches: u64,
    time: Duration,
    pass: &mut Pass<'_>,
) -> Result<Found> {
    let time = time.as_secs_f64();
    let mut tried: Vec<Tried> = settings.into_iter().map(|setting| Tried { setting, ..Tried::default() }).collect();
    let count = tried.len();
    let first = tried.first().ok_or_else(|| Failure::internal("a peer has no settings"))?;
    let sample = sample(&first.setting, batches, LOOKING * time / count as f64, pass)?;
    let whole = sample == batches;
    for (number, one) in tried.iter_mut().enumerate() {
        let what = format!("first look at setting {} of {count}, {sample} of {batches} batches", number + 1);
        let seconds = pass(&one.setting, sample, &what)?;
        if whole { one.pass_s.push(seconds) } else { one.sample_s = Some(seconds) }
    }
    let (chosen, turns) = if whole {
        ((0..count).collect(), TURNS)
    } else {
        chosen(&tried, batches as f64 / sample as f64, (1.0 - LOOKING) * time)
    };
    for turn in usize::from(whole)..turns {
        let best = tried.iter().map(fastest).fold(f64::INFINITY, f64::min);
        for (number, &index) in chosen.iter().enumerate() {
            let one = &mut tried[index];
            if one.pass_s.is_empty() || fastest(one) <= HOPELESS * best {
                let what = format!("turn {} of {turns}, whole pass {} of {}", turn + 1, number + 1, chosen.len());
                one.pass_s.push(pass(&one.setting, batches, &what)?);
            }
        }
    }
    // Only those that were tried in every turn.
    let full = tried.iter().filter(|one| one.pass_s.len() == turns);
    let best = full.min_by(|a, b| median(a).total_cmp(&median(b)));
    let setting = best.ok_or_else(|| Failure::internal("no setting of a peer was tried in full"))?.setting.clone();
    Ok(Found { setting, tried, sample_batches: (!whole).then_some(sample) })
}

/// How many batches a first look of about so many seconds has; each longer try, untimed, warms the process up for the next.
fn sample(setting: &Map<String, Value>, batches: u64, seconds: f64, pass: &mut Pass<'_>) -> Result<u64> {
    let mut sample = 1;
    pass(setting, sample, "warming up")?;
    while sample < batches {
        let took = pass(setting, sample, "warming up")?.max(1e-9);
        if 2.0 * took > seconds {
            break;
        }
        sample = ((sample as f64 * seconds / took) as u64).min(4 * sample).min(batches);
    }
    Ok(sample)
}

/// Which settings get whole passes, `longer` times their first looks, and how many each, to take about so many seconds.
///
/// The fastest few; and the fastest with each size of cache, because the longer a pass, the more a cache is worth.
fn chosen(tried: &[Tried], longer: f64, seconds: f64) -> (Vec<usize>, usize) {
    let look = |index: usize| tried[index].sample_s.unwrap_or(f64::INFINITY);
    let mut order: Vec<usize> = (0..tried.len()).collect();
    order.sort_by(|a, b| look(*a).total_cmp(&look(*b)));
    let cache = |index: usize| tried[index].setting.get("cache_bytes");
    let best_of_its_cache = |place: usize| {
        cache(order[place]).is_some() && !order[..place].iter().any(|i| cache(*i) == cache(order[place]))
    };
    let mut chosen: Vec<usize> = (0..order.len()).filter(|place| best_of_its_cache(*place)).map(|p| order[p]).collect();
    let cost = |chosen: &[usize]| chosen.iter().map(|index| look(*index) * longer).sum::<f64>();
    for &index in order.iter().take_while(|index| look(**index) <= HOPELESS * look(order[0])) {
        if chosen.contains(&index) {
            continue;
        }
        chosen.push(index);
        if chosen.len() > LEAST && cost(&chosen) * TURNS as f64 > seconds {
            chosen.pop();
            break;
        }
    }
    let turns = (seconds / cost(&chosen)) as usize;
    (chosen, turns.clamp(1, TURNS))
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

    const AGES: Duration = Duration::from_secs(1_000_000);

    fn setting(number: u64) -> Map<String, Value> {
        Map::from_iter([("number".to_owned(), number.into())])
    }

    fn number(setting: &Map<String, Value>) -> u64 {
        setting["number"].as_u64().unwrap()
    }

    #[test]
    fn the_lowest_median_is_found_and_hopeless_settings_are_tried_once() {
        // Setting 2 is fast once, setting 3 always. The first setting warms up.
        let times: [&[f64]; 4] = [&[9.0, 2.0, 2.0, 2.0], &[9.0], &[1.0, 5.0, 5.0], &[1.2, 1.3, 1.4]];
        let mut next = [0; 4];
        let mut pass = |setting: &Map<String, Value>, batches, _: &str| {
            assert_eq!(batches, 1);
            let number = number(setting) as usize;
            next[number] += 1;
            Ok(times[number][next[number] - 1])
        };
        let found = search((0..4).map(setting).collect(), 1, AGES, &mut pass).unwrap();
        assert_eq!((found.setting, found.sample_batches), (setting(3), None));
        let counts: Vec<usize> = found.tried.iter().map(|one| one.pass_s.len()).collect();
        assert_eq!(counts, [1, 1, 3, 3]);
        assert!(found.tried.iter().all(|one| one.sample_s.is_none()));
    }

    /// A peer with a setup of 0.01 s: setting `i` takes `i + 5` ms a batch. -> what was found, and the seconds it took.
    fn twenty(batches: u64, time: f64) -> (Found, f64) {
        let mut clock = 0.0;
        let mut pass = |setting: &Map<String, Value>, batches: u64, _: &str| {
            let seconds = 0.01 + (number(setting) + 5) as f64 * 1e-3 * batches as f64;
            clock += seconds;
            Ok(seconds)
        };
        // The slowest comes first.
        let settings = (0..20).rev().map(setting).collect();
        let found = search(settings, batches, Duration::from_secs_f64(time), &mut pass).unwrap();
        (found, clock)
    }

    #[test]
    fn a_search_takes_about_the_time_it_is_given() {
        for batches in [2, 7, 50, 400, 1000] {
            let (found, took) = twenty(batches, 10.0);
            assert_eq!(found.setting, setting(0), "{batches}");
            // Of 1000 batches, the two whole passes that there always are take 11 s.
            assert!(took <= 13.0, "{batches} batches: {took}");
            let whole = found.tried.iter().filter(|one| !one.pass_s.is_empty()).count();
            match found.sample_batches {
                None => assert_eq!(whole, 20, "{batches}"),
                Some(sample) => {
                    assert!(
                        sample < batches && sample >= 4 && (2..20).contains(&whole),
                        "{batches}: {sample}, {whole}"
                    );
                    assert!(found.tried.iter().all(|one| one.sample_s.is_some()));
                }
            }
        }
        // Enough time for all of it; and too little for anything.
        assert_eq!(twenty(400, 1000.0).0.sample_batches, None);
        let (found, took) = twenty(1000, 0.1);
        let whole: Vec<usize> = found.tried.iter().map(|one| one.pass_s.len()).filter(|passes| *passes > 0).collect();
        assert_eq!((found.sample_batches, &whole[..]), (Some(1), &[1, 1][..]));
        assert!(took < 12.0, "two whole passes of 5 and 6 seconds: {took}");
    }

    #[test]
    fn a_cache_that_pays_only_on_the_whole_pass_is_found() {
        let settings = [(0, 1), (0, 2), (64, 1), (64, 2), (1024, 1), (1024, 2)];
        let settings = settings.map(|(cache, ahead)| {
            Map::from_iter([("cache_bytes".to_owned(), cache.into()), ("batches_ahead".to_owned(), u64::into(ahead))])
        });
        let seconds = |setting: &Map<String, Value>, batches: u64| {
            let ahead = if setting["batches_ahead"] == 2 { 0.9 } else { 1.0 };
            let (setup, each) = match setting["cache_bytes"].as_u64().unwrap() {
                0 => (0.0, 0.1),
                // Twice as slow on few batches, and four times as fast on many.
                1024 => (0.4, 0.025),
                _ => (0.4, 0.1),
            };
            ahead * (setup + each * batches as f64)
        };
        let mut pass = |setting: &Map<String, Value>, batches: u64, _: &str| Ok(seconds(setting, batches));
        let found = search(settings.to_vec(), 64, Duration::from_secs(6), &mut pass).unwrap();
        assert_eq!(found.setting, settings[5]);
        assert!(found.sample_batches.is_some_and(|sample| sample <= 8), "{:?}", found.sample_batches);
        let look = |index: usize| found.tried[index].sample_s.unwrap();
        assert!(look(5) > look(1), "the first look was for no cache");
    }

    #[test]
    fn a_peer_without_settings_is_a_bug() {
        assert!(search(Vec::new(), 1, AGES, &mut |_, _, _| Ok(1.0)).is_err());
    }
}
