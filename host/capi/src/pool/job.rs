//! `damacy_job` for a pool: arrays by their documents or facts alone, and no limits but the tenant's.

use super::refusal::Failure;
use crate::config;
use crate::foreign::{In, inval};
use crate::job;
use crate::structs;
use crate::types;
use damacy_core::cost::{Crops, Encoded};
use damacy_core::metadata::ArrayMetadata;
use damacy_core::planner::SampleBox;
use host::cost::Advise;
use host::pool::{Arrays, Document, EstimateJob, PlanJob, Tenant};
use host::{BatchSpec, Result};

/// A job, copied but for its documents, which C keeps while the call runs.
pub struct PoolJob {
    output: BatchSpec,
    boxes: Vec<SampleBox>,
    arrays: Vec<structs::Array>,
    facts: Vec<ArrayMetadata>,
    encoded: Vec<Encoded>,
    rest: structs::Job,
}

impl PoolJob {
    /// Checks and copies what C gave; its counts are looked at first.
    pub fn read(job: &In<structs::Job>, tenant: &Tenant<'_>) -> Result<PoolJob, Failure> {
        let rest = job.read("job")?;
        types::reserved(rest.reserved, "job")?;
        if rest.limits.read_if_any("limits of job")?.is_some() {
            return Err(inval("limits of job are given, but those of the tenant hold: give NULL").into());
        }
        let output = config::batch_spec(&rest.output)?;
        tenant.check_size(0, rest.array_count as u64, rest.box_count as u64)?;
        let mut facts = Vec::new();
        let mut encoded = Vec::new();
        let arrays = rest.arrays.read_all(rest.array_count, "arrays", |index, array| {
            let what = format!("arrays[{index}]");
            types::reserved(array.reserved, &what)?;
            match (array.metadata.is_null(), array.facts.is_null()) {
                (true, false) => facts.push(super::facts::get(array.facts)?.metadata.clone()),
                (false, true) => drop(types::format(array.format, &what)?),
                (true, true) => {
                    return Err(inval(format!("{what} has neither metadata nor facts: a pool reads no files")));
                }
                (false, false) => return Err(inval(format!("{what} has metadata and facts: give one"))),
            }
            encoded.push(job::encoded(&array, &what)?);
            Ok(array)
        })?;
        if !facts.is_empty() && facts.len() < arrays.len() {
            let (parsed, all) = (facts.len(), arrays.len());
            return Err(
                inval(format!("{parsed} of {all} arrays have facts: give metadata of all, or facts of all")).into()
            );
        }
        let boxes = job::boxes(&rest)?;
        Ok(PoolJob { output, boxes, arrays, facts, encoded, rest })
    }

    fn with<T>(&self, work: impl FnOnce(Arrays<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        if self.arrays.len() == self.facts.len() {
            return work(Arrays::Parsed(&self.facts));
        }
        let documents = self.arrays.iter().enumerate().map(|(index, array)| {
            let what = format!("arrays[{index}]");
            let bytes = array.metadata.get(array.metadata_bytes, &format!("metadata of {what}"))?;
            Ok(Document { format: types::format(array.format, &what)?, bytes })
        });
        let documents: Vec<Document<'_>> = documents.collect::<Result<_>>()?;
        work(Arrays::Documents(&documents))
    }

    /// Calls `work` with the job as a window to plan.
    pub fn plan<T>(&self, work: impl FnOnce(&PlanJob<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        if self.rest.crops != 0 {
            return Err(job::not_drawn().into());
        }
        let ratios = job::ratios(&self.encoded);
        self.with(|arrays| {
            work(&PlanJob { encoded_ratios: &ratios, ..PlanJob::new(&self.output, arrays, &self.boxes) })
        })
    }

    /// Calls `work` with the job as one to price.
    pub fn estimate<T>(
        &self,
        advise: Advise,
        work: impl FnOnce(&EstimateJob<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let crops = job::crops(&self.rest, &self.boxes)?;
        let weights: Vec<u64> = self.arrays.iter().map(|array| array.weight.max(1)).collect();
        let given = |value: u64, default: u64| if value == 0 { default } else { value };
        self.with(|arrays| {
            let defaults = EstimateJob::new(&self.output, arrays);
            work(&EstimateJob {
                crops,
                // Given boxes take no weights at all.
                weights: if matches!(crops, Crops::Boxes(_)) { &[] } else { &weights },
                encoded: if self.encoded.iter().all(|known| *known == Encoded::Unknown) { &[] } else { &self.encoded },
                window: given(self.rest.window, defaults.window),
                workers: given(self.rest.workers, defaults.workers),
                memory_bytes: given(self.rest.memory_bytes, defaults.memory_bytes),
                chunk_cache_bytes: self.rest.chunk_cache_bytes,
                advise,
                ..defaults
            })
        })
    }

    /// The facts of the arrays after a call that was given them, or parsed them.
    pub fn into_facts(self, parsed: Vec<ArrayMetadata>) -> Vec<ArrayMetadata> {
        if self.facts.is_empty() { parsed } else { self.facts }
    }
}
