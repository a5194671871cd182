//! `damacy_plan`: made from a job, its lists and the facts of its arrays lent to the caller.

use crate::foreign::{In, Out, Slot, TextSlot, inval};
use crate::guard;
use crate::handles::{Handle, Table};
use crate::job::{self, Job};
use crate::last::c_string;
use crate::structs::{self, ArrayInfo, PlanChunk, PlanInfo};
use damacy_core::metadata::{ArrayMetadata, ZarrFormat};
use damacy_core::planner::{self, Request};
use host::{ByteOrder, Planned, PlannedArray, Result};
use std::ffi::{CStr, CString};
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
            return Err(job::not_drawn());
        }
        let request = Request {
            spec: &job.output,
            arrays: &job.arrays,
            samples: &job.boxes,
            missing: &[],
            encoded_ratios: &job::ratios(&job.encoded),
            limits: job.limits.into(),
        };
        let plan = job.guest.plan(&request).map_err(|error| job.describe("plan", &error))?;
        host::verify_plan(&plan, &request)?;
        Ok(Plan::new(job.arrays, plan))
    }

    /// A verified plan and the facts of its arrays.
    pub fn new(arrays: Vec<ArrayMetadata>, plan: planner::Plan) -> Plan {
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
        let data_types = arrays.iter().map(data_type).collect();
        // Messages and keys need no URI any more.
        let arrays = arrays.into_iter().map(|metadata| PlannedArray { uri: Arc::from(""), metadata }).collect();
        Plan { planned: Planned { arrays, plan }, chunks, data_types }
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
        Ok(array_info(&array.metadata, &self.data_types[index]))
    }
}

/// The name of an array's data type, for C.
pub fn data_type(array: &ArrayMetadata) -> CString {
    c_string(&array.data_type)
}

/// The facts of an array, which lie where they are given.
pub fn array_info(array: &ArrayMetadata, data_type: &CStr) -> ArrayInfo {
    ArrayInfo {
        struct_size: 0,
        rank: array.rank(),
        shape: array.shape.as_ptr(),
        chunk_shape: array.chunk_shape().as_ptr(),
        object_shape: array.object_shape().as_ptr(),
        data_type: data_type.as_ptr(),
        source: array.source.map_or(-1, |source| source as i32),
        order: i32::from(array.byte_order == ByteOrder::Big),
        format: if array.format == ZarrFormat::V2 { 2 } else { 3 },
        reserved: 0,
    }
}

/// A handle of a new plan.
pub fn insert(plan: Plan) -> Handle<Plan> {
    PLANS.insert(plan)
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
