//! What may surprise about the device that a pipeline got: said once a process each, in the log.

use damacy_cuda::Device;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Which process of its machine this is, as torchrun and others say it.
const LOCAL_RANK: &str = "LOCAL_RANK";

/// Says it, for the device that was asked for (or not) among `devices`.
pub(super) fn say(device: &Device, asked: Option<u32>, devices: u32) {
    device.notes().iter().for_each(|note| once(note.clone()));
    let rank = std::env::var(LOCAL_RANK).ok().and_then(|rank| rank.parse().ok());
    if let Some(note) = surprise(device.index(), asked, devices, rank) {
        once(note);
    }
}

fn surprise(index: u32, asked: Option<u32>, devices: u32, rank: Option<u32>) -> Option<String> {
    // With one device visible, ranks are told apart by CUDA_VISIBLE_DEVICES.
    if devices < 2 || rank == Some(index) {
        return None;
    }
    match (rank, asked) {
        (Some(rank), _) => Some(format!(
            "{LOCAL_RANK} is {rank}, but batches are made on device {index} of {devices}: give device={rank} if every \
             process of this machine is to have its own"
        )),
        (None, None) => Some(format!(
            "no device was given and {devices} are visible: batches are made on device {index}; give device={index} to \
             say so"
        )),
        (None, Some(_)) => None,
    }
}

fn once(note: String) {
    static SAID: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.get_or_insert_default().insert(note.clone()) {
        drop(said);
        log::warn!("{note}");
    }
}

#[cfg(test)]
mod tests {
    use super::surprise;

    #[test]
    fn only_what_may_surprise_is_said() {
        assert_eq!(surprise(0, None, 1, None), None);
        assert_eq!(surprise(0, None, 1, Some(3)), None, "one device visible to each rank");
        assert_eq!(surprise(3, None, 8, Some(3)), None);
        assert_eq!(surprise(3, Some(3), 8, None), None);
        assert!(surprise(0, None, 8, Some(3)).unwrap().contains("give device=3"));
        assert!(surprise(0, Some(0), 8, Some(3)).unwrap().contains("LOCAL_RANK is 3"));
        assert!(surprise(2, None, 8, None).unwrap().contains("8 are visible"));
    }
}
