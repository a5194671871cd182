/* damacy: training batches out of Zarr arrays, in the element type the model wants.
 *
 * Array URIs and boxes in -> batches of (samples, shape...) out, in push order; metadata and boxes in -> plans and prices,
 * before a byte of data is read; source elements in -> elements of another type out.
 *
 * Threads. Every function may be called from any thread at any time, also on the same object. Calls that wait
 * (damacy_pop, damacy_next) hold no lock; damacy_pipeline_close and damacy_pipeline_destroy wake them with
 * DAMACY_SHUTDOWN. The text of the last error belongs to the calling thread. Sample sources and log functions are called
 * from threads of the library, one call at a time each. In a child made by fork, objects of the parent are unknown
 * (DAMACY_INVAL), and nothing is logged before it calls damacy_set_log itself; new ones work.
 *
 * Objects (damacy_pipeline, damacy_batch, damacy_plan, damacy_pool and so on) are numbers in the
 * clothes of a pointer, and are never followed: one that was destroyed, released once too often or invented gets DAMACY_INVAL.
 * Other pointers are followed: they are NULL where that is allowed, or point to as much memory as the count beside them says,
 * for as long as the call runs (longer only where it is said). Overlong counts and dangling pointers cannot be noticed.
 *
 * Who frees what. The caller frees what it allocated, as soon as the call is over: the library copies what it keeps. Objects
 * are freed by damacy_batch_release and damacy_..._destroy; memory that an object lends (a batch's data, shape and tags; a
 * plan's lists) is valid until then. Nothing is ever passed to free().
 *
 * Structs start with struct_size: set it to sizeof of the struct, in elements of arrays too, and set what you do not use to
 * zero, which always means the default:
 *
 *     damacy_batch_spec output = {0};
 *     output.struct_size = sizeof output;
 *
 * Later versions add members at the end. A library that is newer than its caller takes the members that are missing as
 * zero; one that is older refuses a struct (DAMACY_INVAL) whose additional members are not zero, and leaves additional
 * members of a struct that it fills zero. Of a struct that the library lends to be filled (damacy_sample_source.next),
 * struct_size is the library's: write nothing beyond it.
 *
 * Failure. Functions return DAMACY_OK (0) or another status, and leave a text in damacy_last_error(). A function that fails
 * has changed nothing of the caller's, but for objects to be returned, which are set to NULL. */
#ifndef DAMACY_H
#define DAMACY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. damacy_version() is the library's. */
#define DAMACY_VERSION_MAJOR 0
#define DAMACY_VERSION_MINOR 1
#define DAMACY_VERSION_PATCH 0

/* Enumerations ------------------------------------------------------------------------------------------------------
 *
 * Each is a 32-bit integer; a number that is not listed is refused with DAMACY_INVAL. */

/* How a call ended. */
typedef int32_t damacy_status;
enum {
    DAMACY_OK = 0,
    DAMACY_AGAIN = 1,        /* no batch can complete now, or a time-out passed: trying again may succeed */
    DAMACY_INVAL = 2,        /* a bad argument, a box out of bounds, a box of another shape than the batch's */
    DAMACY_NOTFOUND = 3,     /* no array at the URI */
    DAMACY_DTYPE = 4,        /* a source type without a conversion */
    DAMACY_RANK = 5,         /* the array's rank is not the batch's */
    DAMACY_IO = 6,           /* permission, failed or short read, vanished file */
    DAMACY_DECODE = 7,       /* malformed metadata or chunk bytes */
    DAMACY_CUDA = 8,         /* no driver, or a driver call failed */
    DAMACY_OOM = 9,          /* the system refused memory */
    DAMACY_BUDGET = 10,      /* a memory budget or a planning limit would be passed */
    DAMACY_SHUTDOWN = 11,    /* closed or cancelled */
    DAMACY_UNSUPPORTED = 12, /* a codec, grid, extension, store or feature that this build lacks */
    DAMACY_INTERNAL = 13     /* a bug of damacy; that call alone failed */
};

/* Element type of a batch. */
typedef int32_t damacy_dtype;
enum {
    DAMACY_F32 = 0,
    DAMACY_BF16 = 1,
    DAMACY_U8 = 2,
    DAMACY_U16 = 3,
    DAMACY_U32 = 4,
    DAMACY_U64 = 5,
    DAMACY_I8 = 6,
    DAMACY_I16 = 7,
    DAMACY_I32 = 8,
    DAMACY_I64 = 9
};

/* Element type of a stored array; each converts to every damacy_dtype. */
typedef int32_t damacy_source;
enum {
    DAMACY_SOURCE_NONE = -1, /* only given back: an array of a type without a conversion */
    DAMACY_SOURCE_U8 = 0,
    DAMACY_SOURCE_U16 = 1,
    DAMACY_SOURCE_U32 = 2,
    DAMACY_SOURCE_U64 = 3,
    DAMACY_SOURCE_I8 = 4,
    DAMACY_SOURCE_I16 = 5,
    DAMACY_SOURCE_I32 = 6,
    DAMACY_SOURCE_I64 = 7,
    DAMACY_SOURCE_F16 = 8,
    DAMACY_SOURCE_F32 = 9
};

/* Byte order of source elements. Output elements are in the machine's. */
typedef int32_t damacy_byte_order;
enum { DAMACY_LITTLE_ENDIAN = 0, DAMACY_BIG_ENDIAN = 1 };

/* Which build of the conversion rules runs: the one linked into the process, or the component in its sandbox. Same bits. */
typedef int32_t damacy_engine;
enum { DAMACY_NATIVE = 0, DAMACY_SANDBOX = 1 };

/* What happens to the samples left over at the end of an iteration that are too few for a batch. */
typedef int32_t damacy_partial;
enum {
    DAMACY_DROP_LAST = 0, /* dropped and counted */
    DAMACY_KEEP_LAST = 1  /* damacy_next gives a smaller batch */
};

/* Which document metadata bytes are. */
typedef int32_t damacy_zarr_format;
enum {
    DAMACY_ZARR_V2 = 2, /* .zarray */
    DAMACY_ZARR_V3 = 3  /* zarr.json */
};

/* Which crops a job takes. */
typedef int32_t damacy_crops;
enum {
    DAMACY_CROPS_BOXES = 0,   /* the job's boxes, in order */
    DAMACY_CROPS_UNIFORM = 1, /* drawn: an array by its weight, a start uniform over all places where the crop fits */
    DAMACY_CROPS_GRID = 2     /* the same, with starts that are multiples of the job's stride */
};

/* How far the figures of an estimate can be trusted. */
typedef int32_t damacy_certainty;
enum {
    DAMACY_EXACT = 0,      /* what planning will find */
    DAMACY_EXPECTED = 1,   /* averages over all draws */
    DAMACY_APPROXIMATE = 2 /* averages, the number of different chunks never too low, < 0.1 % too high in tests */
};

/* Why a pool refused a call. Those with a member's name are that member of damacy_tenant_limits. Later libraries may have
 * more. */
typedef int32_t damacy_refusal_kind;
enum {
    DAMACY_REFUSAL_NONE = 0,          /* the call failed before it came to the pool: an argument, an unknown object */
    DAMACY_REFUSAL_INVALID = 1,       /* the job itself is wrong */
    DAMACY_REFUSAL_TENANTS = 2,       /* damacy_pool_config.tenants, or a name that is too long */
    DAMACY_REFUSAL_WAITING = 3,
    DAMACY_REFUSAL_MAX_WAIT = 4,      /* max_wait_s */
    DAMACY_REFUSAL_INPUT_BYTES = 5,
    DAMACY_REFUSAL_ARRAYS = 6,
    DAMACY_REFUSAL_SAMPLES = 7,
    DAMACY_REFUSAL_CHUNKS = 8,
    DAMACY_REFUSAL_MEMORY_BYTES = 9,
    DAMACY_REFUSAL_METADATA = 10,     /* a limit of the parser: metadata_... */
    DAMACY_REFUSAL_RANGE = 11,        /* a number of bytes or elements beyond 64 bits */
    DAMACY_REFUSAL_RESULT_BYTES = 12,
    DAMACY_REFUSAL_DEADLINE = 13,     /* deadline_s */
    DAMACY_REFUSAL_FUEL = 14,
    DAMACY_REFUSAL_CANCELLED = 15,    /* by a damacy_canceller */
    DAMACY_REFUSAL_CLOSED = 16,       /* the pool was closed */
    DAMACY_REFUSAL_SYSTEM = 17,       /* the system has no memory for another instance */
    DAMACY_REFUSAL_BUG = 18           /* a bug of damacy */
};

/* Severity of a log message. */
typedef int32_t damacy_log_level;
enum { DAMACY_LOG_OFF = 0, DAMACY_LOG_ERROR = 1, DAMACY_LOG_WARN = 2, DAMACY_LOG_INFO = 3, DAMACY_LOG_DEBUG = 4 };

/* Version, errors, log -------------------------------------------------------------------------------------------- */

/* The library's version, "0.1.0". Static. */
const char *damacy_version(void);

/* The text of the calling thread's last failure, "" before the first: complete on its own, one or two sentences with values
 * and units. Valid until the next call of this thread that fails. */
const char *damacy_last_error(void);

/* The last failure in parts. */
typedef struct damacy_error_info {
    size_t struct_size;   /* bytes */
    const char *message;  /* as damacy_last_error() */
    const char *stage;    /* where: "argument", "config", "sandbox", "push", "open", "plan", "estimate", "read", "decode",
                           * "convert", "pop", "pool", "call" (a bug of damacy); as long valid; others may come */
    damacy_status status; /* DAMACY_OK before the first failure */
    int32_t starved;      /* 1 for a DAMACY_AGAIN because the caller held every output buffer for pop_timeout_s, else 0 */
} damacy_error_info;

damacy_status damacy_last_error_info(damacy_error_info *info);

/* "OK", "AGAIN", "INVAL" ...; "?" for a number that is no status. Static. */
const char *damacy_status_name(damacy_status status);

/* Called with each log message, one call at a time, from any thread, also while a call of the same thread runs; must not call
 * damacy, throw or longjmp. `message` is valid during the call. */
typedef void (*damacy_log_function)(void *context, damacy_log_level level, const char *message);

/* Sends messages of `level` and above to `function`; nothing is logged before the first call. NULL or DAMACY_LOG_OFF ends it.
 * When the call returns, no call of the earlier function is under way. */
damacy_status damacy_set_log(damacy_log_level level, damacy_log_function function, void *context);

/* Element types --------------------------------------------------------------------------------------------------- */

/* Bytes an element: 1, 2, 4 or 8; 0 for a number that is no type. */
size_t damacy_dtype_bytes(damacy_dtype dtype);
size_t damacy_source_bytes(damacy_source source);

/* "float32", "bfloat16", "uint8" ...; "?" for a number that is no type. Static. */
const char *damacy_dtype_name(damacy_dtype dtype);
const char *damacy_source_name(damacy_source source);

/* The type of a short or full name ("f32", "float32"), without regard to case. */
damacy_status damacy_dtype_parse(const char *name, damacy_dtype *dtype);

/* Conversion ------------------------------------------------------------------------------------------------------ */

/* Converts all elements of `src` into `dst`, which holds exactly as many. On the calling thread.
 *
 * DAMACY_INVAL, and nothing written: src_bytes is no whole number of elements, dst_bytes is another size than they need, the
 * buffers overlap. */
damacy_status damacy_convert(damacy_engine engine, damacy_source source, damacy_byte_order order, damacy_dtype output,
                             const void *src, size_t src_bytes, void *dst, size_t dst_bytes);

/* A box of elements: where they are, and where they go. */
typedef struct damacy_conversion {
    size_t struct_size;             /* bytes */
    damacy_engine engine;
    damacy_source source;           /* element type of src */
    damacy_byte_order order;        /* byte order of src */
    damacy_dtype output;            /* element type of dst */
    size_t rank;                    /* axes, 0 to 32 */
    const uint64_t *extent;         /* elements along each axis; NULL for rank 0 */
    const void *src;                /* any alignment */
    size_t src_bytes;
    size_t src_offset;              /* of the box's first element, bytes */
    const ptrdiff_t *src_strides;   /* bytes from an element to the next along each axis, may be 0 or negative; NULL: C order */
    void *dst;                      /* any alignment; bytes that belong to no element are left alone */
    size_t dst_bytes;
    size_t dst_offset;              /* of the box's first element, bytes */
    const ptrdiff_t *dst_strides;   /* bytes, may be negative, elements must not overlap; NULL: C order */
    size_t threads;                 /* at most; 0: the cores that the process may use; 1: the calling thread alone */
} damacy_conversion;

/* Converts a box.
 *
 * DAMACY_INVAL, and nothing written: an element lies outside src or dst, dst's elements overlap, src and dst overlap (the
 * whole buffers count), more than 32 axes. */
damacy_status damacy_convert_box(const damacy_conversion *conversion);

/* What is asked for ----------------------------------------------------------------------------------------------- */

/* What every batch looks like: (samples, shape...), C order, the first byte aligned to 64. */
typedef struct damacy_batch_spec {
    size_t struct_size;    /* bytes */
    uint64_t samples;      /* samples a batch, at least 1 */
    const uint64_t *shape; /* extent of each sample, elements, each at least 1; NULL for rank 0 */
    size_t rank;           /* axes of a sample */
    damacy_dtype dtype;
    int32_t reserved;      /* 0 */
} damacy_batch_spec;

/* Half-open: start, start + 1, ... stop - 1. Elements. */
typedef struct damacy_interval {
    uint64_t start;
    uint64_t stop;
} damacy_interval;

/* Limits of each planning call; NULL instead of a pointer to one is the default. */
typedef struct damacy_plan_limits {
    size_t struct_size;    /* bytes */
    uint64_t memory_bytes; /* memory of the sandboxed planner; 0: 64 MiB */
    double deadline_s;     /* seconds; 0: 1 s */
    uint64_t max_chunks;   /* chunk uses: a chunk needed by two samples counts twice; 0: 2^20 */
} damacy_plan_limits;

/* Pipelines ------------------------------------------------------------------------------------------------------- */

/* Samples in, batches out, in order. Planning, reading, decoding and conversion go on in threads of its own. */
typedef struct damacy_pipeline damacy_pipeline;

/* Which GPU a damacy_cuda_executor takes. */
typedef int32_t damacy_cuda_choice;
enum {
    DAMACY_CUDA_CURRENT = 0, /* that of the CUDA context which is current in the calling thread, and the context; else device 0 */
    DAMACY_CUDA_DEVICE = 1   /* the one numbered `device`, as the driver counts, in its primary context */
};

/* Batches are converted and assembled on a GPU of NVIDIA's, and lie in its memory. */
typedef struct damacy_cuda_executor {
    size_t struct_size;            /* bytes */
    damacy_cuda_choice choice;
    int32_t device;                /* for DAMACY_CUDA_DEVICE, from 0; else 0 */
    uint64_t max_gpu_memory_bytes; /* output buffers and decoded chunks on the GPU; 0: 1 GiB */
} damacy_cuda_executor;

/* The GPUs that the CUDA driver shows to this process; 0 without a driver. */
damacy_status damacy_cuda_device_count(uint32_t *count);

typedef struct damacy_pipeline_config {
    size_t struct_size;                /* bytes */
    const damacy_batch_spec *output;   /* required */
    const damacy_plan_limits *planner; /* NULL: defaults */
    damacy_engine engine;              /* who converts */
    damacy_partial partial;
    uint64_t max_memory_bytes;         /* host memory: output buffers, decoding, planning and the cache together; on a GPU,
                                        * pinned memory (a quarter at most), decoding and planning; 0: 1 GiB */
    size_t workers;                    /* decoding threads, at most 1024; 0: the cores that the process may use */
    size_t output_buffers;             /* at most, 2 or more; 0: as the memory carries */
    size_t lookahead_samples;          /* samples planned together; 0: as far as the memory carries, at most 256 */
    double pop_timeout_s;              /* seconds that the caller may hold all output buffers while it waits; 0: for ever */
    uint64_t chunk_cache_bytes;        /* of max_memory_bytes, to keep decoded chunks for later windows, whose files are
                                        * taken not to change meanwhile; 0: none */
    const damacy_cuda_executor *cuda;  /* NULL: batches lie in host memory. Takes DAMACY_NATIVE alone */
} damacy_pipeline_config;

/* Checks the configuration and starts the threads. DAMACY_INVAL; DAMACY_BUDGET where two output buffers do not fit;
 * DAMACY_CUDA where there is no GPU or its driver fails. */
damacy_status damacy_pipeline_create(const damacy_pipeline_config *config, damacy_pipeline **pipeline);

/* Stops everything: waiting calls end with DAMACY_SHUTDOWN, and so do later ones. Batches stay valid. Returns when the threads
 * have ended, but for a sample source that does not come back within 50 ms: its `finish` says when it did. */
damacy_status damacy_pipeline_close(damacy_pipeline *pipeline);

/* Closes and frees. Batches stay valid; calls of other threads that are under way end first or with DAMACY_SHUTDOWN, later
 * ones get DAMACY_INVAL. NULL is allowed. */
damacy_status damacy_pipeline_destroy(damacy_pipeline *pipeline);

/* One crop of one array. */
typedef struct damacy_sample {
    size_t struct_size;            /* bytes */
    const char *uri;               /* a path or file:// URI, UTF-8 */
    const damacy_interval *bounds; /* one for each axis, in stored axis order; NULL for rank 0 */
    size_t rank;                   /* axes */
    void *tag;                     /* given back with the batch; the library neither reads nor frees it */
} damacy_sample;

/* Hands samples over, copied; returns at once. A sample that does not fit the arrays or the batch is the error of the batch
 * that it belongs to, where damacy_pop reports it. DAMACY_SHUTDOWN if closed. */
damacy_status damacy_push(damacy_pipeline *pipeline, const damacy_sample *samples, size_t count);

/* Where samples come from when they are needed. Called from threads of the library, one call at a time. Must not throw,
 * longjmp, or destroy its own pipeline. */
typedef struct damacy_sample_source {
    size_t struct_size; /* bytes */
    /* Fills `sample` (zero but for struct_size, which the library sets) and returns 1; or returns 0 at the end; or returns
     * minus a status for a failure, the error of the batch that is being filled (damacy_set_error gives it a text). What
     * `sample` points to stays valid until the next call for this source. Only struct_size bytes may be written: an older
     * library has fewer members than this header; set members one by one, none behind them. */
    int32_t (*next)(void *context, damacy_sample *sample);
    /* Called once when the source is no longer used; NULL is allowed. */
    void (*finish)(void *context);
    void *context;
} damacy_sample_source;

/* Hands a source over, which is asked no further ahead than three windows of samples. `context` must stay valid until `finish`
 * is called, which happens exactly once if this returns DAMACY_OK and never if it fails. */
damacy_status damacy_push_source(damacy_pipeline *pipeline, const damacy_sample_source *source);

/* The text of the failure that the `next` function of this thread is about to return. NULL: none. */
damacy_status damacy_set_error(const char *message);

/* For timeout_s: wait as long as it takes. Any negative number does. */
#define DAMACY_NO_TIMEOUT (-1.0)

/* A batch, which is the caller's. */
typedef struct damacy_batch damacy_batch;

/* The next whole batch. DAMACY_AGAIN at once when none can complete ("3 of 8 samples pushed"), after `timeout_s` seconds when
 * one could, and when the caller has held every output buffer for pop_timeout_s (damacy_error_info.starved). The error of a
 * batch comes again with every later call. */
damacy_status damacy_pop(damacy_pipeline *pipeline, double timeout_s, damacy_batch **batch);

/* The next batch of an iteration: as damacy_pop, but DAMACY_OK and *batch NULL when all pushed samples are consumed. */
damacy_status damacy_next(damacy_pipeline *pipeline, double timeout_s, damacy_batch **batch);

/* Figures since the start or the last reset. Times are seconds, summed over threads. */
typedef struct damacy_stats {
    size_t struct_size;         /* bytes */
    uint64_t batches;           /* popped */
    uint64_t samples;           /* in them */
    uint64_t dropped_samples;   /* of dropped partial batches */
    uint64_t windows;           /* planned */
    uint64_t chunks_decoded;    /* unique chunks */
    uint64_t decodes_avoided;   /* uses served by a chunk that was already decoded, for its window, the one before or in the
                                 * cache */
    uint64_t chunks_missing;    /* that became fills */
    uint64_t read_bytes;        /* encoded chunks read, bytes */
    uint64_t index_bytes;       /* shard indexes and metadata read, bytes */
    uint64_t decoded_bytes;     /* bytes */
    uint64_t needed_bytes;      /* the crops in their source types, bytes */
    uint64_t output_bytes;      /* of batches popped, bytes */
    uint64_t buffers;           /* output buffers that exist now */
    uint64_t buffers_held;      /* of them, held by the caller */
    uint64_t memory_bytes;      /* of the budget in use now */
    uint64_t peak_memory_bytes; /* highest use of the budget */
    double plan_s;              /* planning, opening arrays included */
    double read_s;
    double decode_s;            /* with a cache, copying into it as well */
    double convert_s;           /* converting and scattering */
    double wait_s;              /* callers waiting for batches */
    uint64_t cache_hits;        /* chunks of windows that came out of the cache */
    uint64_t cache_bytes;       /* of memory_bytes: chunks in the cache */
    uint64_t allocated_bytes;   /* output memory that neither this pipeline nor one destroyed before had yet */
    double allocate_s;          /* until the system had provided it */
    uint64_t upload_bytes;      /* copied to the GPU, bytes */
    double upload_wait_s;       /* workers waiting for copies to the GPU */
    uint64_t gpu_memory_bytes;  /* of the GPU's budget in use now */
    uint64_t peak_gpu_memory_bytes;
    uint64_t chunks_shared;     /* chunks of windows that were decoded for the window before as well */
} damacy_stats;

damacy_status damacy_pipeline_stats(damacy_pipeline *pipeline, damacy_stats *stats);
damacy_status damacy_pipeline_reset_stats(damacy_pipeline *pipeline);

/* Batches --------------------------------------------------------------------------------------------------------- */

/* What a batch holds. All pointers are valid until the batch is released for the last time. */
typedef struct damacy_batch_info {
    size_t struct_size;       /* bytes */
    uint64_t id;              /* 0, 1, 2 ... in push order */
    uint64_t samples;         /* in it: shape[0] */
    void *data;               /* first element, aligned to 64; writable; an address on the device below */
    uint64_t nbytes;          /* of all elements */
    damacy_dtype dtype;
    int32_t reserved;         /* 0 */
    size_t rank;              /* axes of the batch: 1 + those of a sample */
    const uint64_t *shape;    /* elements along each axis */
    const ptrdiff_t *strides; /* bytes from an element to the next along each axis: C order, without gaps */
    void *const *tags;        /* one for each sample, as pushed */
    int32_t device_type;      /* where it lies, as DLPack numbers it: 1 host memory, 2 a GPU's */
    int32_t device_id;        /* number of the GPU; 0 in host memory */
} damacy_batch_info;

damacy_status damacy_batch_info_get(damacy_batch *batch, damacy_batch_info *info);

/* Makes a CUDA stream wait until a batch on a GPU is written, before it comes to work that is queued from now on; the calling
 * thread does not wait. The memory is written again only when the batch has been released and the work that is on the
 * stream by then is done, so the stream must live until then. `stream` is a CUstream or cudaStream_t as a number; 1 for the
 * legacy default stream, 2 for the calling thread's default stream; -1 for no stream at all (nothing waits now, and all
 * work of the context is waited for later; so it is after 2 where another thread than the caller releases the batch last).
 * Work on other streams must be waited for by this one before the release. In host memory a batch that came out is written,
 * and the call does nothing, whatever the stream.
 *
 * A stream that is being captured into a CUDA graph at the last release is waited for only after the capture has ended: it must
 * live until the memory is written next, or until the pipeline is closed.
 *
 * DAMACY_INVAL: 0, which is ambiguous, other negative numbers, a stream that is being captured into a CUDA graph.
 * DAMACY_CUDA: a stream that the driver does not know. */
damacy_status damacy_batch_wait(damacy_batch *batch, int64_t stream);

/* Copies a batch into host memory of exactly nbytes, wherever it lies, and returns when it is there. What streams have written
 * into the batch must be waited for before. DAMACY_INVAL: another size, or `to` overlaps the batch's own memory. */
damacy_status damacy_batch_copy(damacy_batch *batch, void *to, size_t bytes);

/* Counts one more owner. */
damacy_status damacy_batch_retain(damacy_batch *batch);

/* Counts one owner less; the last one frees the batch, and its memory goes back to its pipeline. NULL is allowed. */
damacy_status damacy_batch_release(damacy_batch *batch);

/* The batch for consumers of DLPack 1.x (dlpack.h defines the struct), without a copy. The tensor is an owner of its own: its
 * deleter, to be called once and from any thread, releases the memory. A batch on a GPU is first given to the legacy default
 * stream, as by damacy_batch_wait, until the deleter is called; call that for another stream that the consumer works on. */
struct DLManagedTensorVersioned;
damacy_status damacy_batch_dlpack(damacy_batch *batch, struct DLManagedTensorVersioned **tensor);

/* Inspecting: no data is read ------------------------------------------------------------------------------------- */

/* What is at a place: an array's facts, or a group's arrays and its multiscale images. Immutable. */
typedef struct damacy_inspection damacy_inspection;

/* Looks at the array or group at a path or file:// URI; its metadata is parsed in the sandbox. What is wrong with one array of a
 * group is told beside it, and is no failure. DAMACY_NOTFOUND if there is neither. */
damacy_status damacy_inspect(const char *uri, damacy_inspection **inspection);

/* The answer in JSON, UTF-8: {"kind": "array" ...} or {"kind": "group" ...}, as `damacy inspect --json` prints it. Valid as long
 * as the object. */
damacy_status damacy_inspection_json(damacy_inspection *inspection, const char **json);

/* NULL is allowed. */
damacy_status damacy_inspection_destroy(damacy_inspection *inspection);

/* Planning and estimating: no data is read ------------------------------------------------------------------------ */

/* What parsing a metadata document gave (damacy_pool_parse). Immutable. */
typedef struct damacy_facts damacy_facts;

/* An array by its place (its metadata is read), by its metadata, or by what was parsed before (no I/O): `uri`, `metadata` or
 * `facts` is given. */
typedef struct damacy_array {
    size_t struct_size;            /* bytes */
    const char *uri;               /* a path or file:// URI, UTF-8; with `metadata` or `facts`, only a name for messages */
    const void *metadata;          /* untrusted bytes of the document, read in the sandbox */
    size_t metadata_bytes;
    damacy_zarr_format format;     /* of `metadata` */
    int32_t reserved;              /* 0 */
    uint64_t weight;               /* how often it is drawn, relative to the others; 0: 1 */
    double encoded_ratio;          /* encoded bytes / decoded bytes; 0: unknown */
    const uint64_t *encoded_bytes; /* estimates: of each chunk, C order of the chunk grid, 0 for a missing one; NULL: unknown */
    size_t encoded_count;          /* of them */
    damacy_facts *facts;           /* NULL: none; copied */
} damacy_array;

/* One crop of one of the job's arrays. */
typedef struct damacy_box {
    size_t struct_size;            /* bytes */
    const damacy_interval *bounds; /* one for each axis, in stored axis order; NULL for rank 0 */
    size_t rank;                   /* axes */
    uint32_t array;                /* index into the job's arrays */
    int32_t reserved;              /* 0 */
} damacy_box;

/* What is to be planned or priced. */
typedef struct damacy_job {
    size_t struct_size;               /* bytes */
    const damacy_batch_spec *output;  /* required */
    const damacy_plan_limits *limits; /* NULL: defaults */
    const damacy_array *arrays;
    size_t array_count;
    const damacy_box *boxes;          /* for DAMACY_CROPS_BOXES */
    size_t box_count;
    damacy_crops crops;               /* plans take DAMACY_CROPS_BOXES alone */
    int32_t reserved;                 /* 0 */
    const uint64_t *stride;           /* for DAMACY_CROPS_GRID, elements for each axis; NULL: the crop's own shape */
    size_t stride_count;              /* axes of it */
    uint64_t window;                  /* estimates: samples of a look-ahead window, rounded down to whole batches; 0: 64 */
    uint64_t workers;                 /* estimates: decodes at a time; 0: 1 */
    uint64_t memory_bytes;            /* estimates: memory of the pipeline, bounds the advised look-ahead; 0: 1 GiB */
    uint64_t chunk_cache_bytes;       /* estimates: of memory_bytes, what the chunk cache may take; 0: no cache */
} damacy_job;

/* Which chunks to read, in which order, and where each goes: all boxes as one window. Immutable. */
typedef struct damacy_plan damacy_plan;

damacy_status damacy_plan_create(const damacy_job *job, damacy_plan **plan);

/* NULL is allowed. */
damacy_status damacy_plan_destroy(damacy_plan *plan);

/* One unique chunk. */
typedef struct damacy_plan_chunk {
    uint32_t array;     /* index into the job's arrays */
    uint32_t first_use; /* first of its uses */
    uint32_t use_count; /* how many follow */
    uint32_t reserved;  /* 0 */
} damacy_plan_chunk;

/* Chunk c lies at coords[c * rank ...] in the grid of its array's chunks. Use u belongs to box use_box[u] and copies the
 * use_extent[u * rank ...] elements that start at use_source[u * rank ...] inside the chunk to use_target[u * rank ...] inside
 * the crop. Chunks are ordered by the first batch that needs them, then by array, stored object and place in it. */
typedef struct damacy_plan_info {
    size_t struct_size;              /* bytes */
    size_t rank;                     /* axes of every box */
    size_t array_count;
    size_t chunk_count;
    size_t use_count;
    const damacy_plan_chunk *chunks; /* chunk_count */
    const uint64_t *coords;          /* chunk_count * rank */
    const uint32_t *use_box;         /* use_count */
    const uint64_t *use_source;      /* use_count * rank, elements */
    const uint64_t *use_extent;      /* use_count * rank, elements */
    const uint64_t *use_target;      /* use_count * rank, elements */
    uint64_t elements;               /* of all crops */
    uint64_t output_bytes;           /* those elements in the output type */
    uint64_t batch_bytes;            /* one whole batch in the output type */
    uint64_t needed_bytes;           /* the crops in their source types */
    uint64_t decoded_bytes;          /* unique chunks, decoded */
    uint64_t read_bytes;             /* unique chunks, encoded; 0 if unknown */
    uint64_t largest_chunk_bytes;    /* decoded */
    uint64_t memory_bytes;           /* host memory to run the window at once */
    double decode_waste;             /* decoded_bytes / needed_bytes */
    double read_waste;               /* read_bytes / needed_bytes; 0 if unknown */
    int32_t read_known;              /* 1 if every array has an encoded_ratio, else 0 */
    int32_t reserved;                /* 0 */
} damacy_plan_info;

damacy_status damacy_plan_info_get(damacy_plan *plan, damacy_plan_info *info);

/* The facts of an array. Pointers are valid as long as the plan. */
typedef struct damacy_array_info {
    size_t struct_size;            /* bytes */
    size_t rank;                   /* axes */
    const uint64_t *shape;         /* elements */
    const uint64_t *chunk_shape;   /* the unit that is read and decoded, elements */
    const uint64_t *object_shape;  /* the stored object: the shard where there is one, else the chunk; elements */
    const char *data_type;         /* as the document names it */
    damacy_source source;          /* DAMACY_SOURCE_NONE for a type without a conversion */
    damacy_byte_order order;       /* of stored elements */
    damacy_zarr_format format;
    int32_t reserved;              /* 0 */
} damacy_array_info;

/* The array of this index in the job. */
damacy_status damacy_plan_array(damacy_plan *plan, size_t index, damacy_array_info *info);

/* The key, relative to its array, of the stored object that holds a chunk: "c/0/1" and a NUL. `needed`, if not NULL, gets the
 * bytes of both, also where they are more than `capacity`: then it is DAMACY_INVAL, and `key` (which may be NULL if `capacity`
 * is 0) is left alone. */
damacy_status damacy_plan_object_key(damacy_plan *plan, size_t chunk, char *key, size_t capacity, size_t *needed);

/* What a job costs. docs/cost-model.md has the formulas. Byte counts of drawn crops are averages, rounded to whole bytes. */
typedef struct damacy_estimate {
    size_t struct_size;            /* bytes */
    damacy_certainty certainty;
    int32_t read_known;            /* 1 if the encoded sizes of all chunks are known, else 0 */
    uint64_t samples;              /* that all sums are over: the boxes, or one window of drawn crops */
    uint64_t windows;              /* that these samples make */
    uint64_t elements;             /* of all samples */
    uint64_t output_bytes[10];     /* those elements in each damacy_dtype, by its number */
    uint64_t needed_bytes;         /* the crops in their source types */
    double uses;                   /* chunk uses: a chunk needed by two samples counts twice */
    double chunks;                 /* different chunks in each window, summed over windows */
    double objects;                /* different stored objects in each window, summed over windows */
    uint64_t decoded_bytes;        /* chunks to decode, each once a window; with a chunk cache the most: as if it were empty */
    uint64_t read_bytes;           /* the same, encoded; 0 if unknown */
    uint64_t largest_chunk_bytes;  /* decoded */
    double decode_waste;           /* decoded_bytes / needed_bytes */
    double use_waste;              /* decode waste if every use were decoded on its own */
    double read_waste;             /* read_bytes / needed_bytes; 0 if unknown */
    uint64_t batch_bytes;          /* host memory: one batch */
    uint64_t buffers;              /* host memory: output buffers, two windows of batches */
    uint64_t decode_bytes;         /* host memory: decoding one of the largest chunks */
    uint64_t workers;              /* host memory: decodes at a time */
    uint64_t plan_bytes;           /* host memory: the plans of two windows */
    uint64_t host_bytes;           /* buffers * batch_bytes + workers * decode_bytes + plan_bytes + cache_bytes */
    uint64_t least_host_bytes;     /* the least that runs at all, one batch at a time */
    uint64_t device_output_bytes;  /* device memory: two output buffers */
    uint64_t device_staging_bytes; /* device memory: decoded chunks of two batches */
    uint64_t device_table_bytes;   /* device memory: tables of uses of two batches */
    uint64_t device_bytes;         /* their sum */
    uint64_t cache_bytes;          /* host memory: the chunk cache */
} damacy_estimate;

/* Prices a job. Drawn crops cost microseconds, however many chunks there are; given boxes are planned. */
damacy_status damacy_estimate_job(const damacy_job *job, damacy_estimate *estimate);

/* A layout of an array, and what the job's crops cost with it. */
typedef struct damacy_layout {
    size_t struct_size;        /* bytes */
    size_t rank;               /* axes, at most 32 */
    uint64_t chunk_shape[32];  /* elements; the first `rank` count */
    uint64_t object_shape[32]; /* shard or chunk, elements; the first `rank` count */
    uint64_t chunk_bytes;      /* one decoded chunk */
    double uses_per_sample;    /* chunks that a crop touches, on average */
    double chunks;             /* different chunks of the array in a window */
    double objects;            /* different stored objects of the array in a window */
    double decode_waste;       /* decoded bytes / needed bytes of the array's crops */
} damacy_layout;

/* The layout of one of the job's arrays, and a better chunk or shard shape for these crops (the same where it saves less than
 * 5 %). */
damacy_status damacy_advise_layout(const damacy_job *job, uint32_t array, damacy_layout *current, damacy_layout *best);

/* How far to look ahead. */
typedef struct damacy_lookahead {
    size_t struct_size; /* bytes */
    uint64_t enough;    /* samples of the smallest window beyond which waste falls by less than 5 % */
    uint64_t most;      /* samples of the largest window that memory and limits allow; 0 if not even one batch fits */
} damacy_lookahead;

damacy_status damacy_advise_lookahead(const damacy_job *job, damacy_lookahead *advice);

/* Planning for tenants that are not trusted ------------------------------------------------------------------------
 *
 * A pool answers a scheduler's questions about jobs that somebody else sends: are they valid, what will they cost, how would
 * they run. Calls do no I/O. Each runs in an instance of the sandboxed component of its own, within its tenant's limits; what a
 * document or a box makes it do costs that call alone. docs/planner-pool.md says how calls are admitted, limited, metered.
 *
 * Threads. A call runs on the thread that makes it, and returns when it has ended: make calls of several tenants from several
 * threads. It waits in its tenant's queue while others have the places. */

/* Limits of a tenant, the same for each of its calls. */
typedef struct damacy_tenant_limits {
    size_t struct_size;       /* bytes */
    uint64_t memory_bytes;    /* memory of one call in the sandbox; 0: 16 MiB */
    double deadline_s;        /* seconds that one call may run, kept to within 5 ms; 0: 0.05 s */
    uint64_t fuel;            /* about instructions of one call, the same for the same call on every machine, so that it can be
                               * billed; counting makes calls 15 to 30 % slower; 0: not counted */
    uint64_t input_bytes;     /* of a call: documents, or facts; 16 for each axis of a box, 8 for other numbers; 0: 1 MiB */
    uint64_t arrays;          /* of one call; 0: 256 */
    uint64_t samples;         /* boxes of one call; 0: 4096 */
    uint64_t chunks;          /* chunk uses of one call; 0: 2^16 */
    uint64_t result_bytes;    /* of one call; 0: 8 MiB */
    size_t running;           /* calls that run at a time; 0: 1 */
    size_t waiting;           /* calls that wait; 0: 64; DAMACY_NO_WAITING: none */
    double max_wait_s;        /* seconds that one call may wait in all; 0: 1 s */
    uint64_t metadata_bytes;  /* of a document; 0: 4 MiB */
    uint64_t metadata_values; /* scalars, arrays, objects and keys of a document; 0: 2^18 */
    uint32_t metadata_depth;  /* nesting of a document; 0: 64 */
    uint32_t metadata_rank;   /* axes of an array; 0: 32 */
    uint32_t metadata_codecs; /* of an array, nested ones too; 0: 64 */
    int32_t reserved;         /* 0 */
} damacy_tenant_limits;

/* For damacy_tenant_limits.waiting: calls that find no place are refused. */
#define DAMACY_NO_WAITING ((size_t)-1)

typedef struct damacy_pool damacy_pool;

typedef struct damacy_pool_config {
    size_t struct_size;                 /* bytes */
    const damacy_tenant_limits *limits; /* of tenants that have none of their own; NULL: defaults */
    size_t running;                     /* long calls that run at a time, of all tenants; with short ones, four times as many;
                                         * 0: the cores that the process may use */
    size_t standing;                    /* calls that may stand still, with their memory, while others run; 0: 256 */
    size_t tenants;                     /* that the pool keeps limits and figures of; 0: 10,000 */
    size_t name_bytes;                  /* of a tenant's name; 0: 256 */
} damacy_pool_config;

/* `config` may be NULL, for the defaults. The first pool of a process compiles the component, or takes it from the cache. */
damacy_status damacy_pool_create(const damacy_pool_config *config, damacy_pool **pool);

/* Ends all calls, waiting and running ones within some milliseconds, and refuses new ones: DAMACY_SHUTDOWN. */
damacy_status damacy_pool_close(damacy_pool *pool);

/* Closes and frees; returns before the calls of other threads have. Plans and facts stay valid. NULL is allowed. */
damacy_status damacy_pool_destroy(damacy_pool *pool);

/* Gives a tenant limits of its own, for its calls from now on. DAMACY_BUDGET: a tenant too many. */
damacy_status damacy_pool_set_limits(damacy_pool *pool, const char *tenant, const damacy_tenant_limits *limits);

/* The limits of a tenant's next call: its own, or the pool's. */
damacy_status damacy_pool_limits(damacy_pool *pool, const char *tenant, damacy_tenant_limits *limits);

/* What a tenant's calls came to, since the first. */
typedef struct damacy_tenant_metrics {
    size_t struct_size;    /* bytes */
    uint64_t calls;        /* that have ended, refused ones included */
    uint64_t refused[32];  /* by damacy_refusal_kind; of the first, DAMACY_REFUSAL_NONE, nothing is known */
    double p50_s;          /* seconds that half of the calls let in took at most, waiting included; up to a quarter too large */
    double p99_s;          /* 99 % of them; up to a quarter too large */
    double run_s;          /* that all calls ran */
    double wait_s;         /* that all calls waited */
    uint64_t memory_bytes; /* most memory of one call in the sandbox */
    uint64_t fuel;         /* of all calls, where it is counted */
    size_t running;        /* calls that run now */
    size_t waiting;        /* calls that wait now */
} damacy_tenant_metrics;

/* DAMACY_NOTFOUND: the pool knows no such tenant, which has made no call and has no limits of its own. */
damacy_status damacy_pool_metrics(damacy_pool *pool, const char *tenant, damacy_tenant_metrics *metrics);

/* The names of the tenants that the pool keeps anything of, one after the other, each with its NUL, and how many they are.
 * `needed` and `count` may be NULL. Where the names take more than `capacity` bytes it is DAMACY_INVAL, `needed` says how many
 * they take, and `names` (which may be NULL if `capacity` is 0) is left alone. */
damacy_status damacy_pool_tenants(damacy_pool *pool, char *names, size_t capacity, size_t *needed, size_t *count);

/* Forgets a tenant's limits and figures. DAMACY_NOTFOUND: it is unknown; DAMACY_AGAIN: it has calls that run or wait. */
damacy_status damacy_pool_remove(damacy_pool *pool, const char *tenant);

/* Cancels calls, waiting ones at once, running ones within some milliseconds: DAMACY_SHUTDOWN. */
typedef struct damacy_canceller damacy_canceller;

damacy_status damacy_canceller_create(damacy_canceller **canceller);

/* Cancels the calls that were given it, also those that will be. From any thread. */
damacy_status damacy_canceller_cancel(damacy_canceller *canceller);

/* Calls that were given it go on. NULL is allowed. */
damacy_status damacy_canceller_destroy(damacy_canceller *canceller);

/* A call that was refused, in parts. Texts are valid until the next call of this thread that fills a damacy_refusal. */
typedef struct damacy_refusal {
    size_t struct_size;       /* bytes */
    damacy_refusal_kind kind; /* which limit, or what else */
    damacy_status status;     /* what the call returned */
    uint64_t limit;           /* its value: bytes, a count, fuel, or nanoseconds; 0 without one */
    uint64_t asked;           /* what was asked for, in that unit, where it is one number; else 0 */
    int32_t limit_known;      /* 1 where `limit` is one */
    int32_t asked_known;      /* 1 where `asked` is one */
    int64_t array;            /* index of the array to blame, or -1 */
    int64_t sample;           /* index of the box to blame, or -1 */
    const char *tenant;       /* whose call, or "" */
    const char *path;         /* JSON path in the array's document ("/codecs/0/name"), or "" */
    const char *message;      /* all of this in words, as damacy_last_error() */
    const char *name;         /* of the limit ("chunks", "metadata.max_rank"); without one as damacy_refusal_name() */
} damacy_refusal;

/* "invalid", "chunks", "deadline" ...; "?" for a number that is no kind. Static. */
const char *damacy_refusal_name(damacy_refusal_kind kind);

/* What a call took. */
typedef struct damacy_used {
    size_t struct_size;    /* bytes */
    double run_s;          /* seconds that it ran */
    double wait_s;         /* seconds that it waited */
    uint64_t memory_bytes; /* its memory in the sandbox */
    uint64_t fuel;         /* its fuel; 0 where it is not counted */
} damacy_used;

/* Who calls, and what he wants to know of it. */
typedef struct damacy_pool_call {
    size_t struct_size;       /* bytes */
    const char *tenant;       /* name, UTF-8 */
    damacy_canceller *cancel; /* NULL: none */
    damacy_refusal *refusal;  /* filled if the call fails, unless an own pointer of it is at fault; NULL is allowed */
    damacy_used *used;        /* filled, by a refused call with what it had taken; NULL is allowed */
} damacy_pool_call;

/* Parses an untrusted document. The status is that of its fault (DAMACY_DECODE, DAMACY_UNSUPPORTED, DAMACY_INVAL), or
 * DAMACY_BUDGET for a limit that was met, DAMACY_AGAIN for a queue, DAMACY_SHUTDOWN for a call that was ended: so for all calls
 * below. */
damacy_status damacy_pool_parse(damacy_pool *pool, const damacy_pool_call *call, const void *metadata, size_t bytes,
                                damacy_zarr_format format, damacy_facts **facts);

/* Pointers are valid as long as the facts. */
damacy_status damacy_facts_info_get(damacy_facts *facts, damacy_array_info *info);

/* NULL is allowed. */
damacy_status damacy_facts_destroy(damacy_facts *facts);

/* Plans a job's boxes as one window, verified by the host against the job. In all jobs of a pool `limits` is NULL (the tenant's
 * hold), and arrays have `metadata` all, or `facts` all; facts save parsing the documents. */
damacy_status damacy_pool_plan(damacy_pool *pool, const damacy_pool_call *call, const damacy_job *job, damacy_plan **plan);

/* What a job comes to: members as those of damacy_plan_info. */
typedef struct damacy_totals {
    size_t struct_size; /* bytes */
    uint64_t elements;
    uint64_t output_bytes;
    uint64_t batch_bytes;
    uint64_t needed_bytes;
    uint64_t decoded_bytes;
    uint64_t read_bytes;
    uint64_t largest_chunk_bytes;
    uint64_t memory_bytes;
    double decode_waste;
    double read_waste;
    int32_t read_known;
    int32_t reserved; /* 0 */
} damacy_totals;

/* Whether a job's boxes can be planned within the tenant's limits, and what they come to. */
damacy_status damacy_pool_validate(damacy_pool *pool, const damacy_pool_call *call, const damacy_job *job,
                                   damacy_totals *totals);

/* Prices a job, and gives advice, as damacy_estimate_job, damacy_advise_layout and damacy_advise_lookahead do. */
damacy_status damacy_pool_estimate(damacy_pool *pool, const damacy_pool_call *call, const damacy_job *job,
                                   damacy_estimate *estimate);
damacy_status damacy_pool_advise_layout(damacy_pool *pool, const damacy_pool_call *call, const damacy_job *job,
                                        uint32_t array, damacy_layout *current, damacy_layout *best);
damacy_status damacy_pool_advise_lookahead(damacy_pool *pool, const damacy_pool_call *call, const damacy_job *job,
                                           damacy_lookahead *advice);

#ifdef __cplusplus
}
#endif

#endif
