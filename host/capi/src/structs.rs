//! The structs of the header, member by member; their documentation is there. `layout_tests` compares the two.

use crate::foreign::{Bytes, In, List, Out, Plain, Text, Token, Versioned};
use crate::handles::Handle;
use crate::pool::{Canceller, Facts};
use crate::source::Room;
use std::ffi::c_char;

/// Room for kinds of refusals, by their numbers.
pub const REFUSAL_KINDS: usize = 32;

macro_rules! structs {
    ($($(#[$attribute:meta])* $name:ident = $c_name:literal, $bytes:literal { $($member:ident: $type:ty,)* })*) => {
        $(
            $(#[$attribute])*
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct $name {
                pub struct_size: usize,
                $(pub $member: $type,)*
            }

            // SAFETY: repr(C), the size first; members are integers, floats and pointer wrappers, for which zero is null.
            unsafe impl Versioned for $name {
                const NAME: &'static str = $c_name;
                const FIRST_BYTES: usize = $bytes;
                fn with_size(mut self, bytes: usize) -> Self {
                    self.struct_size = bytes;
                    self
                }
            }

            const _: () = assert!($bytes <= size_of::<$name>(), "a struct never gets smaller");
        )*

        /// Every struct: its name, its size, and the name and offset of each member.
        #[cfg(test)]
        pub fn layouts() -> Vec<(&'static str, usize, Vec<(&'static str, usize)>)> {
            vec![$((
                $c_name,
                size_of::<$name>(),
                vec![
                    ("struct_size", std::mem::offset_of!($name, struct_size)),
                    $((stringify!($member), std::mem::offset_of!($name, $member)),)*
                ],
            ),)*]
        }
    };
}

structs! {
    /// The last failure in parts.
    ErrorInfo = "damacy_error_info", 32 {
        message: *const c_char,
        stage: *const c_char,
        status: i32,
        starved: i32,
    }

    /// A box to convert.
    Conversion = "damacy_conversion", 112 {
        engine: i32,
        source: i32,
        order: i32,
        output: i32,
        rank: usize,
        extent: List<u64>,
        src: List<u8>,
        src_bytes: usize,
        src_offset: usize,
        src_strides: List<isize>,
        dst: Bytes,
        dst_bytes: usize,
        dst_offset: usize,
        dst_strides: List<isize>,
        threads: usize,
    }

    /// What every batch looks like.
    BatchSpec = "damacy_batch_spec", 40 {
        samples: u64,
        shape: List<u64>,
        rank: usize,
        dtype: i32,
        reserved: i32,
    }

    /// Limits of a planning call.
    PlanLimits = "damacy_plan_limits", 32 {
        memory_bytes: u64,
        deadline_s: f64,
        max_chunks: u64,
    }

    /// What a pipeline is made of.
    PipelineConfig = "damacy_pipeline_config", 72 {
        output: In<BatchSpec>,
        planner: In<PlanLimits>,
        engine: i32,
        partial: i32,
        max_memory_bytes: u64,
        workers: usize,
        output_buffers: usize,
        lookahead_samples: usize,
        pop_timeout_s: f64,
        chunk_cache_bytes: u64,
        cuda: In<CudaExecutor>,
    }

    /// Batches on a GPU.
    CudaExecutor = "damacy_cuda_executor", 24 {
        choice: i32,
        device: i32,
        max_gpu_memory_bytes: u64,
    }

    /// One crop of one array.
    Sample = "damacy_sample", 40 {
        uri: Text,
        bounds: List<Interval>,
        rank: usize,
        tag: Token,
    }

    /// Where samples come from.
    SampleSource = "damacy_sample_source", 32 {
        next: Option<extern "C" fn(context: Token, sample: &mut Room) -> i32>,
        finish: Option<extern "C" fn(context: Token)>,
        context: Token,
    }

    /// Figures of a pipeline.
    Stats = "damacy_stats", 176 {
        batches: u64,
        samples: u64,
        dropped_samples: u64,
        windows: u64,
        chunks_decoded: u64,
        decodes_avoided: u64,
        chunks_missing: u64,
        read_bytes: u64,
        index_bytes: u64,
        decoded_bytes: u64,
        needed_bytes: u64,
        output_bytes: u64,
        buffers: u64,
        buffers_held: u64,
        memory_bytes: u64,
        peak_memory_bytes: u64,
        plan_s: f64,
        read_s: f64,
        decode_s: f64,
        convert_s: f64,
        wait_s: f64,
        cache_hits: u64,
        cache_bytes: u64,
        allocated_bytes: u64,
        allocate_s: f64,
        upload_bytes: u64,
        upload_wait_s: f64,
        gpu_memory_bytes: u64,
        peak_gpu_memory_bytes: u64,
        chunks_shared: u64,
    }

    /// What a batch holds.
    BatchInfo = "damacy_batch_info", 80 {
        id: u64,
        samples: u64,
        data: *mut u8,
        nbytes: u64,
        dtype: i32,
        reserved: i32,
        rank: usize,
        shape: *const u64,
        strides: *const isize,
        tags: *const Token,
        device_type: i32,
        device_id: i32,
    }

    /// An array of a job.
    Array = "damacy_array", 72 {
        uri: Text,
        metadata: List<u8>,
        metadata_bytes: usize,
        format: i32,
        reserved: i32,
        weight: u64,
        encoded_ratio: f64,
        encoded_bytes: List<u64>,
        encoded_count: usize,
        facts: Handle<Facts>,
    }

    /// A crop of a job.
    JobBox = "damacy_box", 32 {
        bounds: List<Interval>,
        rank: usize,
        array: u32,
        reserved: i32,
    }

    /// What is to be planned or priced.
    Job = "damacy_job", 104 {
        output: In<BatchSpec>,
        limits: In<PlanLimits>,
        arrays: In<Array>,
        array_count: usize,
        boxes: In<JobBox>,
        box_count: usize,
        crops: i32,
        reserved: i32,
        stride: List<u64>,
        stride_count: usize,
        window: u64,
        workers: u64,
        memory_bytes: u64,
        chunk_cache_bytes: u64,
    }

    /// A plan's lists and totals.
    PlanInfo = "damacy_plan_info", 176 {
        rank: usize,
        array_count: usize,
        chunk_count: usize,
        use_count: usize,
        chunks: *const PlanChunk,
        coords: *const u64,
        use_box: *const u32,
        use_source: *const u64,
        use_extent: *const u64,
        use_target: *const u64,
        elements: u64,
        output_bytes: u64,
        batch_bytes: u64,
        needed_bytes: u64,
        decoded_bytes: u64,
        read_bytes: u64,
        largest_chunk_bytes: u64,
        memory_bytes: u64,
        decode_waste: f64,
        read_waste: f64,
        read_known: i32,
        reserved: i32,
    }

    /// The facts of an array.
    ArrayInfo = "damacy_array_info", 64 {
        rank: usize,
        shape: *const u64,
        chunk_shape: *const u64,
        object_shape: *const u64,
        data_type: *const c_char,
        source: i32,
        order: i32,
        format: i32,
        reserved: i32,
    }

    /// What a job costs.
    Estimate = "damacy_estimate", 288 {
        certainty: i32,
        read_known: i32,
        samples: u64,
        windows: u64,
        elements: u64,
        output_bytes: [u64; 10],
        needed_bytes: u64,
        uses: f64,
        chunks: f64,
        objects: f64,
        decoded_bytes: u64,
        read_bytes: u64,
        largest_chunk_bytes: u64,
        decode_waste: f64,
        use_waste: f64,
        read_waste: f64,
        batch_bytes: u64,
        buffers: u64,
        decode_bytes: u64,
        workers: u64,
        plan_bytes: u64,
        host_bytes: u64,
        least_host_bytes: u64,
        device_output_bytes: u64,
        device_staging_bytes: u64,
        device_table_bytes: u64,
        device_bytes: u64,
        cache_bytes: u64,
    }

    /// A layout and its cost.
    Layout = "damacy_layout", 568 {
        rank: usize,
        chunk_shape: [u64; 32],
        object_shape: [u64; 32],
        chunk_bytes: u64,
        uses_per_sample: f64,
        chunks: f64,
        objects: f64,
        decode_waste: f64,
    }

    /// How far to look ahead.
    Lookahead = "damacy_lookahead", 24 {
        enough: u64,
        most: u64,
    }

    /// What a tenant may use.
    TenantLimits = "damacy_tenant_limits", 128 {
        memory_bytes: u64,
        deadline_s: f64,
        fuel: u64,
        input_bytes: u64,
        arrays: u64,
        samples: u64,
        chunks: u64,
        result_bytes: u64,
        running: usize,
        waiting: usize,
        max_wait_s: f64,
        metadata_bytes: u64,
        metadata_values: u64,
        metadata_depth: u32,
        metadata_rank: u32,
        metadata_codecs: u32,
        reserved: i32,
    }

    /// What a pool is made of.
    PoolConfig = "damacy_pool_config", 48 {
        limits: In<TenantLimits>,
        running: usize,
        standing: usize,
        tenants: usize,
        name_bytes: usize,
    }

    /// Who calls.
    PoolCall = "damacy_pool_call", 40 {
        tenant: Text,
        cancel: Handle<Canceller>,
        refusal: Out<Refusal>,
        used: Out<Used>,
    }

    /// A refused call in parts.
    Refusal = "damacy_refusal", 88 {
        kind: i32,
        status: i32,
        limit: u64,
        asked: u64,
        limit_known: i32,
        asked_known: i32,
        array: i64,
        sample: i64,
        tenant: *const c_char,
        path: *const c_char,
        message: *const c_char,
        name: *const c_char,
    }

    /// What a call took.
    Used = "damacy_used", 40 {
        run_s: f64,
        wait_s: f64,
        memory_bytes: u64,
        fuel: u64,
    }

    /// What a job comes to.
    Totals = "damacy_totals", 96 {
        elements: u64,
        output_bytes: u64,
        batch_bytes: u64,
        needed_bytes: u64,
        decoded_bytes: u64,
        read_bytes: u64,
        largest_chunk_bytes: u64,
        memory_bytes: u64,
        decode_waste: f64,
        read_waste: f64,
        read_known: i32,
        reserved: i32,
    }

    /// What a tenant's calls came to.
    TenantMetrics = "damacy_tenant_metrics", 336 {
        calls: u64,
        refused: [u64; REFUSAL_KINDS],
        p50_s: f64,
        p99_s: f64,
        run_s: f64,
        wait_s: f64,
        memory_bytes: u64,
        fuel: u64,
        running: usize,
        waiting: usize,
    }
}

/// `damacy_interval`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Interval {
    pub start: u64,
    pub stop: u64,
}

// SAFETY: two integers.
unsafe impl Plain for Interval {}

/// `damacy_plan_chunk`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PlanChunk {
    pub array: u32,
    pub first_use: u32,
    pub use_count: u32,
    pub reserved: u32,
}
