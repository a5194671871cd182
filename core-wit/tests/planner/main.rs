//! Tests of planning, against an oracle that visits every element and against figures worked out by hand.
#![cfg(feature = "planner")]

mod errors;
mod extremes;
mod figures;
mod limits;
mod oracle;
mod random;

use damacy_core::metadata::{ArrayMetadata, KeyEncoding, ZarrFormat};
use damacy_core::planner::{BatchSpec, MissingChunk, Plan, PlanLimits, Request, SampleBox, plan};
use damacy_core::{ByteOrder, Dtype, SourceType};

/// A request that owns its parts.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) spec: BatchSpec,
    pub(crate) arrays: Vec<ArrayMetadata>,
    pub(crate) samples: Vec<SampleBox>,
    pub(crate) missing: Vec<MissingChunk>,
    pub(crate) encoded_ratios: Vec<f64>,
    pub(crate) limits: PlanLimits,
}

impl Case {
    pub(crate) fn new(samples: u64, shape: &[u64], arrays: Vec<ArrayMetadata>) -> Case {
        Case {
            spec: BatchSpec { samples, shape: shape.to_vec(), dtype: Dtype::F32 },
            arrays,
            samples: vec![],
            missing: vec![],
            encoded_ratios: vec![],
            limits: PlanLimits::default(),
        }
    }

    /// With one more crop of the spec's shape.
    pub(crate) fn crop(mut self, array: u32, origin: &[u64]) -> Case {
        let bounds = origin.iter().zip(&self.spec.shape).map(|(&o, &e)| (o, o + e)).collect();
        self.samples.push(SampleBox { array, bounds });
        self
    }

    pub(crate) fn request(&self) -> Request<'_> {
        Request {
            spec: &self.spec,
            arrays: &self.arrays,
            samples: &self.samples,
            missing: &self.missing,
            encoded_ratios: &self.encoded_ratios,
            limits: self.limits,
        }
    }

    pub(crate) fn plan(&self) -> Result<Plan, damacy_core::error::Error> {
        plan(&self.request())
    }
}

/// An array of a shape, with chunk shapes from the stored object inwards.
pub(crate) fn array(source: SourceType, shape: &[u64], levels: &[&[u64]]) -> ArrayMetadata {
    ArrayMetadata {
        format: ZarrFormat::V3,
        shape: shape.to_vec(),
        data_type: source.full_name().into(),
        source: Some(source),
        byte_order: ByteOrder::Little,
        fortran_order: false,
        levels: levels.iter().map(|l| l.to_vec()).collect(),
        key_encoding: KeyEncoding::Default { separator: '/' },
        fill_value: vec![0; source.width()],
        codecs: vec!["bytes".into()],
    }
}

/// Coordinates of chunk `index` of a plan.
pub(crate) fn coords(plan: &Plan, index: usize) -> &[u64] {
    let rank = plan.rank as usize;
    &plan.coords[index * rank..][..rank]
}
