//! Bugs of damacy itself, which no input brings about.

use super::*;
use crate::{BatchSpec, Dtype, Status};
use damacy_core::metadata::{MetadataLimits, ZarrFormat, parse};
use damacy_core::planner::{self, SampleBox};

const DOCUMENT: &[u8] = br#"{"zarr_format": 2, "shape": [64, 64], "chunks": [8, 8], "dtype": "<u2", "order": "C",
    "compressor": null, "filters": null, "fill_value": 0}"#;

#[test]
fn a_plan_that_is_not_the_jobs_is_a_bug() {
    let arrays = [parse(ZarrFormat::V2, DOCUMENT, &MetadataLimits::default()).expect("an array")];
    let spec = BatchSpec { samples: 1, shape: vec![16, 16], dtype: Dtype::F32 };
    let samples = [SampleBox { array: 0, bounds: vec![(3, 19), (8, 24)] }];
    let limits = PlanLimits::default();
    let request =
        Request { spec: &spec, arrays: &arrays, samples: &samples, missing: &[], encoded_ratios: &[], limits };
    let plan = planner::plan(&request).expect("a plan");
    assert!(verified(plan.clone(), &request).is_ok());
    let mut wrong = plan;
    wrong.use_targets[0] += 1;
    let Err(failed) = verified(wrong, &request) else { panic!("a use lies elsewhere") };
    let times = super::super::run::Times::begin(std::time::Duration::ZERO);
    let error = failed.refusal(&"alice".into(), Default::default(), &times, &TenantLimits::default());
    assert_eq!((error.kind, error.status), (Kind::Bug, Status::Internal), "{error}");
}
