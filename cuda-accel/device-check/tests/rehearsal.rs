//! The device check against the soft driver: the same checks that a real GPU goes through, in small sizes. So the shipped
//! PTX is executed here through the whole driver side, against judged vectors and the CPU's rules.
#![cfg(target_os = "linux")]

#[path = "../../../tests/src/soft_cuda.rs"]
mod soft_cuda;

use damacy_core::Dtype;
use damacy_cuda::{Arena, Assembler, Device, DeviceChoice, StagingRing};
use damacy_device_check::jobs;
use damacy_device_check::vectors::{check_pairs, check_sums};
use damacy_suite::gpu::Job;

fn open() -> Device {
    Device::open(DeviceChoice::Index(0)).expect("a soft device")
}

#[test]
fn the_vectors_of_all_pairs_at_several_alignments() {
    soft_cuda::run(&[], |_| {
        let (compared, wrong) = check_pairs(&open(), &[(0, 0), (3, 5)]).unwrap();
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert_eq!(compared, 2 * 104_700);
    });
}

#[test]
fn the_sums_over_every_bit_pattern() {
    soft_cuda::run(&[], |_| {
        let (compared, wrong) = check_sums(&open()).unwrap();
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert_eq!(compared, (2 * 256 + 3 * 65_536) * 10);
    });
}

/// Threads of one process assemble at once, each with its own streams: values, and the driver's checks of order.
#[test]
fn random_batches_are_those_of_the_cpu() {
    soft_cuda::run(&[("delay_us", "20")], |_| {
        let device = open();
        let staging = StagingRing::new(&device, 3, 4096).unwrap();
        std::thread::scope(|scope| {
            for outputs in [&Dtype::ALL[..5], &Dtype::ALL[5..]] {
                let (device, staging) = (&device, &staging);
                scope.spawn(move || {
                    for &output in outputs {
                        let assembler = Assembler::new(device, output).unwrap();
                        let arena = Arena::new(assembler.copy_stream(), 16 << 20).unwrap();
                        for seed in 0..25 {
                            let job = Job::in_type(seed * 16 + output as u64, output, 10);
                            assert!(jobs::check(&job, &assembler, &arena, staging).unwrap().1, "{job}");
                        }
                    }
                });
            }
        });
    });
}

/// The program itself, as it is carried: nothing but the driver is found at run time.
#[test]
fn the_program_passes_and_leaves_its_results() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("results.json");
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_damacy-device-check"))
        .args(["--rehearse", "--json"])
        .arg(&json)
        .env("LD_LIBRARY_PATH", soft_cuda::library_folder(folder.path()))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{text}{}", String::from_utf8_lossy(&run.stderr));
    assert!(text.contains("all checks passed"), "{text}");
    let results: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(results["flat"].as_array().unwrap().len(), 100);
    assert!(results["assembly"].as_array().unwrap().len() >= 300);
    assert!(results["failures"].as_array().unwrap().is_empty() && results["upload"]["bytes"].as_u64().unwrap() > 0);
}

#[test]
fn without_a_driver_the_program_says_so_and_ends_with_2() {
    let empty = tempfile::tempdir().unwrap();
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_damacy-device-check"))
        .env("LD_LIBRARY_PATH", empty.path())
        .env("CUDA_VISIBLE_DEVICES", "")
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&run.stdout).starts_with("CUDA is not available: "));
}
