//! The worked example of docs/cost-model.md: its figures, by hand and by the model.

use crate::{Job, array};
use damacy_core::SourceType;
use damacy_core::cost::{CostRequest, Crops, estimate};

#[test]
fn the_worked_example_holds() {
    let job = Job::new(4, &[6], vec![array(SourceType::U16, &[20], &[&[4]])], 8);
    // Starts 0..=14. Chunks 0 to 4 are touched by these numbers of them, counted by hand.
    let counts = [4.0, 8.0, 9.0, 8.0, 4.0];
    let touched: f64 = counts.iter().map(|n| n / 15.0).sum();
    let different: f64 = counts.iter().map(|n| 1.0 - f64::powi(1.0 - n / 15.0, 8)).sum();
    let cost = estimate(&CostRequest { workers: 2, ..job.request(Crops::Uniform) }).unwrap();
    assert!((cost.uses / 8.0 - touched).abs() < 1e-12 && (cost.chunks - different).abs() < 1e-12);
    let page = include_str!("../../../docs/cost-model.md");
    let host = cost.host;
    for line in [
        format!("touched a crop     = (4 + 8 + 9 + 8 + 4) / 15 = {:.2}", cost.uses / 8.0),
        format!("different a window = 2 x (1 - (11/15)^8) + 2 x (1 - (7/15)^8) + (1 - (6/15)^8) = {:.3}", cost.chunks),
        format!("needed             = 8 x 6 x 2 = {}", cost.needed_bytes),
        format!("decoded            = 4.828 x 4 x 2 = {}", cost.decoded_bytes),
        format!("decode waste       = {} / {} = {:.2}", cost.decoded_bytes, cost.needed_bytes, cost.decode_waste),
        format!("if every use were  = 8 x 2.20 x 8 / 96 = {:.2}", cost.use_waste),
        format!("batch              = 4 x 6 x 4 = {}", host.batch_bytes),
        format!("decode             = 8 + 9 + 65,536 + 1,048,576 = {}", host.decode_bytes),
        format!("plans              = 2 x (5 x 24 + 18 x 28) = {}", host.plan_bytes),
        format!("host               = 4 x 96 + 2 x 1114129 + 1248 = {}", host.total_bytes),
        format!(
            "device             = 2 x (96 + {} + {}) = {}",
            cost.device.staging_bytes / 2,
            cost.device.table_bytes / 2,
            cost.device.total_bytes
        ),
    ] {
        assert!(page.contains(&line), "docs/cost-model.md lacks: {line}");
    }
}
