//! A store that is slow: a scenario's model -> a wait before each read. It depends on the seed, the file and the place in it
//! alone, so that the same read always takes as long, in whatever order reads come.

use crate::random::{SplitMix64, seed_of};
use crate::scenario::Store;
use damacy::zarr::ReadHook;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The model.
#[derive(Clone, Debug)]
pub struct Latency {
    store: Store,
    /// Paths count from here on, since a temporary folder has another name each time.
    root: PathBuf,
}

impl Latency {
    /// A store below `root`.
    pub fn new(store: &Store, root: &Path) -> Latency {
        Latency { store: store.clone(), root: root.to_owned() }
    }

    /// The wait before reading at `offset` of a file: the floor and a log-normal time, up to the cap.
    pub fn of(&self, path: &Path, offset: u64) -> Duration {
        let name = path.strip_prefix(&self.root).unwrap_or(path).as_os_str().as_bytes();
        let name = name.iter().fold(name.len() as u64, |hash, byte| seed_of([hash, u64::from(*byte)]));
        let mut random = SplitMix64(seed_of([self.store.seed, name, offset]));
        // Box and Muller's normal number.
        let (radius, angle) = ((-2.0 * random.unit().ln()).sqrt(), std::f64::consts::TAU * random.unit());
        let tail = self.store.median.0.as_secs_f64() * (self.store.sigma * radius * angle.cos()).exp();
        let cap = self.store.cap.0;
        Duration::try_from_secs_f64(self.store.floor.0.as_secs_f64() + tail).map_or(cap, |wait| wait.min(cap))
    }

    /// For a pipeline.
    pub fn hook(&self) -> ReadHook {
        let latency = self.clone();
        ReadHook::new(move |read| latency.wait(read.path, read.offset))
    }

    /// Sleeps as long.
    pub fn wait(&self, path: &Path, offset: u64) {
        std::thread::sleep(self.of(path, offset));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Seconds;

    #[test]
    fn latencies_follow_the_model_and_come_again() {
        let ms = |ms| Seconds(Duration::from_millis(ms));
        let store = Store { floor: ms(5), median: ms(3), sigma: 1.0, cap: ms(40), seed: 1 };
        let latency = Latency::new(&store, Path::new("/tmp/one"));
        let mut waits: Vec<f64> =
            (0..4000).map(|i| latency.of(Path::new("/tmp/one/a/c/0"), i).as_secs_f64() * 1e3).collect();
        let elsewhere = Latency::new(&store, Path::new("/tmp/two"));
        assert_eq!(elsewhere.of(Path::new("/tmp/two/a/c/0"), 7).as_secs_f64() * 1e3, waits[7]);
        assert_ne!(latency.of(Path::new("/tmp/one/b/c/0"), 7), latency.of(Path::new("/tmp/one/a/c/0"), 7));
        waits.sort_by(f64::total_cmp);
        assert!(waits[0] > 5.0 && waits[3999] <= 40.0, "{} {}", waits[0], waits[3999]);
        // Median 5 + 3, and the 84th of a hundred one sigma above: 5 + 3 e.
        assert!((waits[2000] - 8.0).abs() < 0.3, "{}", waits[2000]);
        assert!((waits[3365] - (5.0 + 3.0 * std::f64::consts::E)).abs() < 0.8, "{}", waits[3365]);
    }
}
