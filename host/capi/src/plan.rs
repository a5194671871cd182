//! `damacy_plan`: made from a job, its lists and the facts of its arrays lent to the caller.

use crate::foreign::{In, Out, Slot, TextSlot, inval};
use crate::guard;
use crate::handles::{Handle, Table};
use crate::job::Job;
use crate::structs::{self, ArrayInfo, PlanChunk, PlanInfo};
use damacy_core::cost::Encoded;
use damacy_core::metadata::{ArrayMetadata, ZarrFormat};
use damacy_core::planner::Request;
use host::{ByteOrder, Planned, PlannedArray, Result};
use std::ffi::CString;
use std::sync::Arc;

static PLANS: Table<Plan> = Table::new("plan");

/// A plan as C sees it.
pub struct Plan {
    planned: Planned,
    chunks: Vec<PlanChunk>,
    data_types: Vec<CString>,
}

impl Plan {
    fn of(job: &In<structs::Job>) -> Result<Plan> {
        let mut job = Job::read(job)?;
        if job.rest.crops != 0 {
            return Err(inval(
                "a plan takes the job's boxes: set crops to DAMACY_CROPS_BOXES (0), or estimate the job",
            ));
        }
        let ratio = |encoded: &Encoded| match *encoded {
            Encoded::Ratio(ratio) => Some(ratio),
            _ => None,
        };
        let ratios: Option<Vec<f64>> = job.encoded.iter().map(ratio).collect();
        let request = Request {
            spec: &job.output,
            arrays: &job.arrays,
            samples: &job.boxes,
            missing: &[],
            encoded_ratios: &ratios.unwrap_or_default(),
            limits: job.limits.into(),
        };
        let plan = job.guest.plan(&request).map_err(|error| job.describe("plan", &error))?;
        host::verify_plan(&plan, &request)?;
        let chunks = plan
            .chunks
            .iter()
            .map(|chunk| PlanChunk {
                array: chunk.array,
                first_use: chunk.first_use,
                use_count: chunk.use_count,
                reserved: 0,
            })
            .collect();
        let name = |array: &ArrayMetadata| CString::new(array.data_type.replace('\0', "\\0")).unwrap_or_default();
        let data_types = job.arrays.iter().map(name).collect();
        // Messages and keys need no URI any more.
        let arrays = job.arrays.into_iter().map(|metadata| PlannedArray { uri: Arc::from(""), metadata }).collect();
        Ok(Plan { planned: Planned { arrays, plan }, chunks, data_types })
    }

    fn info(&self) -> PlanInfo {
        let plan = &self.planned.plan;
        let totals = &plan.totals;
        PlanInfo {
            struct_size: 0,
            rank: plan.rank as usize,
            array_count: self.planned.arrays.len(),
            chunk_count: self.chunks.len(),
            use_count: plan.uses.len(),
            chunks: self.chunks.as_ptr(),
            coords: plan.coords.as_ptr(),
            use_box: plan.uses.as_ptr(),
            use_source: plan.use_sources.as_ptr(),
            use_extent: plan.use_extents.as_ptr(),
            use_target: plan.use_targets.as_ptr(),
            elements: totals.elements,
            output_bytes: totals.output_bytes,
            batch_bytes: totals.batch_bytes,
            needed_bytes: totals.needed_bytes,
            decoded_bytes: totals.decoded_bytes,
            read_bytes: totals.read_bytes.unwrap_or(0),
            largest_chunk_bytes: totals.largest_chunk_bytes,
            memory_bytes: totals.memory_bytes,
            decode_waste: totals.decode_waste,
            read_waste: totals.read_waste.unwrap_or(0.0),
            read_known: i32::from(totals.read_bytes.is_some()),
            reserved: 0,
        }
    }

    fn array(&self, index: usize) -> Result<ArrayInfo> {
        let count = self.planned.arrays.len();
        let array = self.planned.arrays.get(index).ok_or_else(|| inval(format!("array {index} of {count}")))?;
        let array = &array.metadata;
        Ok(ArrayInfo {
            struct_size: 0,
            rank: array.rank(),
            shape: array.shape.as_ptr(),
            chunk_shape: array.chunk_shape().as_ptr(),
            object_shape: array.object_shape().as_ptr(),
            data_type: self.data_types[index].as_ptr(),
            source: array.source.map_or(-1, |source| source as i32),
            order: i32::from(array.byte_order == ByteOrder::Big),
            format: if array.format == ZarrFormat::V2 { 2 } else { 3 },
            reserved: 0,
        })
    }
}

#[unsafe(no_mangle)]
extern "C" fn damacy_plan_create(job: In<structs::Job>, plan: Slot<Handle<Plan>>) -> i32 {
    guard::call(|| {
        plan.put(Handle::NULL, "plan")?;
        plan.put(PLANS.insert(Plan::of(&job)?), "plan")
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_plan_destroy(plan: Handle<Plan>) -> i32 {
    guard::call(|| {
        if !plan.is_null() {
            drop(PLANS.release(plan)?);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_plan_info_get(plan: Handle<Plan>, info: Out<PlanInfo>) -> i32 {
    guard::call(|| {
        let info = info.check("info")?;
        info.fill(PLANS.get(plan)?.info());
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_plan_array(plan: Handle<Plan>, index: usize, info: Out<ArrayInfo>) -> i32 {
    guard::call(|| {
        let info = info.check("info")?;
        info.fill(PLANS.get(plan)?.array(index)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn damacy_plan_object_key(
    plan: Handle<Plan>,
    chunk: usize,
    key: TextSlot,
    capacity: usize,
    needed: Slot<usize>,
) -> i32 {
    guard::call(|| {
        let plan = PLANS.get(plan)?;
        let count = plan.chunks.len();
        if chunk >= count {
            return Err(inval(format!("chunk {chunk} of {count}")));
        }
        let text = plan.planned.object_key(chunk);
        if !needed.is_null() {
            needed.put(text.len() + 1, "needed")?;
        }
        key.put(capacity, &text, "key")
    })
}
