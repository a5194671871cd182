/* Arguments that make no sense: a typed refusal with a text, and nothing written.
 *
 *     hostile STORE     # a (9, 20, 12) uint16 array
 */
#include "check.h"
#include <math.h>
#include <stdint.h>

static const uint64_t shape[3] = {2, 3, 4};
static const damacy_interval corner[3] = {{0, 2}, {0, 3}, {0, 4}};
static const char *store;

static void objects(void) {
    damacy_pipeline *pipeline = NULL;
    damacy_batch *batch = NULL;
    damacy_plan *plan = NULL;
    damacy_batch_info batch_info = {0};
    batch_info.struct_size = sizeof batch_info;
    /* NULL is destroyed as free() frees it, and is refused elsewhere. */
    OK(damacy_pipeline_destroy(NULL));
    OK(damacy_batch_release(NULL));
    OK(damacy_plan_destroy(NULL));
    REFUSED(damacy_pipeline_close(NULL), "the pipeline is NULL");
    REFUSED(damacy_push(NULL, NULL, 0), "the pipeline is NULL");
    REFUSED(damacy_pop(NULL, 0, &batch), "the pipeline is NULL");
    REFUSED(damacy_next(NULL, 0, &batch), "the pipeline is NULL");
    REFUSED(damacy_batch_info_get(NULL, &batch_info), "the batch is NULL");
    REFUSED(damacy_batch_dlpack(NULL, NULL), "tensor is NULL");
    /* Invented ones, and those of another type. */
    damacy_batch_spec spec = spec_of(1, shape, 3, DAMACY_F32);
    pipeline = pipeline_of(&spec, DAMACY_NATIVE);
    const uintptr_t invented[] = {1, 0x1008, (uintptr_t)&spec, UINTPTR_MAX, (uintptr_t)pipeline};
    for (size_t i = 0; i < sizeof invented / sizeof invented[0]; i++) {
        REFUSED(damacy_batch_retain((damacy_batch *)invented[i]), "is no batch");
        REFUSED(damacy_batch_info_get((damacy_batch *)invented[i], &batch_info), "is no batch");
        REFUSED(damacy_plan_destroy((damacy_plan *)invented[i]), "is no plan");
        if (invented[i] != (uintptr_t)pipeline)
            REFUSED(damacy_pipeline_destroy((damacy_pipeline *)invented[i]), "is no pipeline");
    }
    /* No place for results. */
    REFUSED(damacy_pipeline_create(NULL, NULL), "pipeline is NULL");
    REFUSED(damacy_pop(pipeline, 0, NULL), "batch is NULL");
    REFUSED(damacy_next(pipeline, 0, NULL), "batch is NULL");
    REFUSED(damacy_plan_create(NULL, NULL), "plan is NULL");
    REFUSED(damacy_dtype_parse("u8", NULL), "dtype is NULL");
    REFUSED(damacy_last_error_info(NULL), "info is NULL");
    REFUSED(damacy_pipeline_stats(pipeline, NULL), "stats is NULL");
    /* Results that cannot be had are NULL. */
    batch = (damacy_batch *)1;
    EXPECT(damacy_pop(pipeline, 0, &batch), DAMACY_AGAIN, "0 of 1 samples pushed");
    CHECK(batch == NULL);
    damacy_pipeline *none = (damacy_pipeline *)1;
    REFUSED(damacy_pipeline_create(NULL, &none), "config is NULL");
    CHECK(none == NULL);
    REFUSED(damacy_plan_create(NULL, &plan), "job is NULL");
    /* Times. */
    REFUSED(damacy_pop(pipeline, (double)NAN, &batch), "not a number");
    EXPECT(damacy_pop(pipeline, (double)INFINITY, &batch), DAMACY_AGAIN, "0 of 1");
    EXPECT(damacy_pop(pipeline, 1e300, &batch), DAMACY_AGAIN, "0 of 1");
    OK(damacy_pipeline_destroy(pipeline));
}

static void struct_sizes(void) {
    damacy_pipeline *pipeline;
    damacy_batch_spec spec = spec_of(1, shape, 3, DAMACY_F32);
    const size_t wrong[] = {0, 1, 8, sizeof spec - 1, sizeof spec - 8, sizeof spec + 4, 1u << 20, SIZE_MAX};
    damacy_pipeline_config config = {0};
    config.struct_size = sizeof config;
    config.output = &spec;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        spec.struct_size = wrong[i];
        REFUSED(damacy_pipeline_create(&config, &pipeline), "sizeof(damacy_batch_spec), which is 40 bytes");
    }
    spec.struct_size = sizeof spec;

    /* A caller of a later version: what this library does not know must be zero, and is left zero. */
    struct {
        damacy_pipeline_config known;
        uint64_t later;
    } larger = {config, 0};
    larger.known.struct_size = sizeof larger;
    OK(damacy_pipeline_create(&larger.known, &pipeline));
    struct {
        damacy_stats known;
        uint64_t later;
    } stats;
    memset(&stats, 0x55, sizeof stats);
    stats.known.struct_size = sizeof stats;
    OK(damacy_pipeline_stats(pipeline, &stats.known));
    CHECK(stats.known.struct_size == sizeof stats && stats.known.batches == 0 && stats.later == 0);
    OK(damacy_pipeline_destroy(pipeline));
    larger.later = 1;
    REFUSED(damacy_pipeline_create(&larger.known, &pipeline), "knows 88");

    /* A caller of the first version: members that it does not have are not read. */
    config.struct_size = offsetof(damacy_pipeline_config, chunk_cache_bytes);
    config.chunk_cache_bytes = UINT64_MAX;
    config.cuda = (const damacy_cuda_executor *)8;
    OK(damacy_pipeline_create(&config, &pipeline));
    OK(damacy_pipeline_destroy(pipeline));
    config.struct_size = sizeof config;
    config.chunk_cache_bytes = 0;
    config.cuda = NULL;

    /* Not aligned. */
    char room[sizeof config + 1];
    memcpy(room + 1, &config, sizeof config);
    void *odd = room + 1;
    if ((uintptr_t)odd % 8 == 0)
        odd = room;
    REFUSED(damacy_pipeline_create(odd, &pipeline), "not aligned");
}

static void configurations(void) {
    damacy_pipeline *pipeline;
    damacy_batch_spec good = spec_of(1, shape, 3, DAMACY_F32), spec;
    damacy_plan_limits limits;
    const uint64_t hollow[2] = {3, 0}, vast[2] = {UINT64_MAX, UINT64_MAX};
    damacy_pipeline_config config;
#define REFUSED_WITH(change, part)                            \
    do {                                                      \
        spec = good;                                          \
        memset(&limits, 0, sizeof limits);                    \
        limits.struct_size = sizeof limits;                   \
        memset(&config, 0, sizeof config);                    \
        config.struct_size = sizeof config;                   \
        config.output = &spec;                                \
        config.planner = &limits;                             \
        change;                                               \
        REFUSED(damacy_pipeline_create(&config, &pipeline), part); \
    } while (0)
    REFUSED_WITH(config.output = NULL, "output is NULL: give a damacy_batch_spec");
    REFUSED_WITH(spec.samples = 0, "samples = 0");
    REFUSED_WITH(spec.shape = NULL, "shape of output is NULL, but 3 were announced");
    REFUSED_WITH(spec.rank = SIZE_MAX, "no array has as many axes");
    REFUSED_WITH((spec.rank = 2, spec.shape = hollow), "extent 0 on axis 1");
    REFUSED_WITH((spec.rank = 2, spec.shape = vast), "more bytes than");
    REFUSED_WITH(spec.dtype = 10, "10 is no damacy_dtype");
    REFUSED_WITH(spec.dtype = -1, "-1 is no damacy_dtype");
    REFUSED_WITH(spec.dtype = INT32_MIN, "is no damacy_dtype");
    REFUSED_WITH(spec.reserved = 7, "reserved member of output is 7");
    REFUSED_WITH(config.engine = 2, "2 is no damacy_engine");
    REFUSED_WITH(config.partial = -1, "-1 is no damacy_partial");
    REFUSED_WITH(config.workers = 1025, "workers = 1025");
    REFUSED_WITH(config.output_buffers = 1, "output_buffers = 1");
    REFUSED_WITH(config.pop_timeout_s = -1, "pop_timeout_s is -1");
    REFUSED_WITH(config.pop_timeout_s = (double)NAN, "pop_timeout_s is NaN");
    REFUSED_WITH(limits.deadline_s = -0.5, "deadline_s is -0.5");
    memset(&config, 0, sizeof config);
    config.struct_size = sizeof config;
    config.output = &good;
    config.max_memory_bytes = 1;
    EXPECT(damacy_pipeline_create(&config, &pipeline), DAMACY_BUDGET, "max_memory_bytes = 1");
    config.max_memory_bytes = 0;
    config.chunk_cache_bytes = UINT64_MAX;
    EXPECT(damacy_pipeline_create(&config, &pipeline), DAMACY_BUDGET, "18446744073709551615 (chunk cache)");
}

/* A source for a later version that does not look at struct_size. */
static int32_t longer_sample(void *context, damacy_sample *sample) {
    struct {
        damacy_sample known;
        uint64_t more[8];
    } longer;
    memset(&longer, 0, sizeof longer);
    longer.known = sample_of(store, corner, 3, NULL);
    longer.known.struct_size = sizeof longer;
    longer.more[7] = *(uint64_t *)context;
    CHECK(sample->struct_size == sizeof *sample);
    memcpy((void *)sample, &longer, sizeof longer);
    return 1;
}

static int32_t no_sample(void *context, damacy_sample *sample) {
    (void)context;
    (void)sample;
    return 1; /* and fills nothing */
}

static void samples(void) {
    damacy_batch_spec spec = spec_of(1, shape, 3, DAMACY_F32);
    damacy_pipeline *pipeline = pipeline_of(&spec, DAMACY_NATIVE);
    damacy_batch *batch;
    damacy_sample two[2] = {sample_of(store, corner, 3, NULL), sample_of(store, corner, 3, NULL)};
    OK(damacy_push(pipeline, NULL, 0));
    REFUSED(damacy_push(pipeline, NULL, 1), "samples[0] is NULL");
    REFUSED(damacy_push(pipeline, two, SIZE_MAX), "more than there can be");
    two[1].struct_size = 0;
    REFUSED(damacy_push(pipeline, two, 2), "samples[1]");
    two[1] = two[0];
    two[1].uri = NULL;
    REFUSED(damacy_push(pipeline, two, 2), "uri of samples[1] is NULL");
    two[1].uri = "caf\xe9";
    REFUSED(damacy_push(pipeline, two, 2), "byte 3");
    two[1] = two[0];
    two[1].bounds = NULL;
    REFUSED(damacy_push(pipeline, two, 2), "bounds of samples[1] is NULL");
    two[1] = two[0];
    two[1].rank = SIZE_MAX;
    REFUSED(damacy_push(pipeline, two, 2), "no array has as many axes");
    /* A push that was refused pushed nothing. */
    EXPECT(damacy_pop(pipeline, 60.0, &batch), DAMACY_AGAIN, "0 of 1");
    damacy_sample_source source = {0};
    REFUSED(damacy_push_source(pipeline, NULL), "source is NULL");
    REFUSED(damacy_push_source(pipeline, &source), "sizeof(damacy_sample_source)");
    source.struct_size = sizeof source;
    REFUSED(damacy_push_source(pipeline, &source), "next of source is NULL");
    source.next = no_sample;
    OK(damacy_push_source(pipeline, &source));
    REFUSED(damacy_pop(pipeline, 60.0, &batch), "uri of sample 0 of the source is NULL");
    OK(damacy_pipeline_destroy(pipeline));
    uint64_t more = 0;
    source.next = longer_sample;
    source.context = &more;
    pipeline = pipeline_of(&spec, DAMACY_NATIVE);
    OK(damacy_push_source(pipeline, &source));
    OK(damacy_pop(pipeline, 60.0, &batch));
    OK(damacy_batch_release(batch));
    OK(damacy_pipeline_destroy(pipeline));
    more = 1;
    pipeline = pipeline_of(&spec, DAMACY_NATIVE);
    OK(damacy_push_source(pipeline, &source));
    REFUSED(damacy_pop(pipeline, 60.0, &batch), "must be zero");
    OK(damacy_pipeline_destroy(pipeline));

    /* What the array decides surfaces at the pop of the batch. */
    const damacy_interval outside[3] = {{8, 10}, {0, 3}, {0, 4}}, empty[3] = {{2, 2}, {0, 3}, {0, 4}},
                          turned[3] = {{4, 2}, {0, 3}, {0, 4}}, edge[3] = {{UINT64_MAX - 2, UINT64_MAX}, {0, 3}, {0, 4}};
    const struct {
        const char *uri;
        const damacy_interval *bounds;
        size_t rank;
        damacy_status status;
    } cases[] = {
        {store, outside, 3, DAMACY_INVAL}, {store, empty, 3, DAMACY_INVAL}, {store, turned, 3, DAMACY_INVAL},
        {store, edge, 3, DAMACY_INVAL},    {store, corner, 2, DAMACY_INVAL}, {store, corner, 0, DAMACY_INVAL},
        {"/no/such/array", corner, 3, DAMACY_NOTFOUND}, {"s3://bucket/a", corner, 3, DAMACY_UNSUPPORTED},
        {"", corner, 3, DAMACY_INVAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pipeline = pipeline_of(&spec, DAMACY_NATIVE);
        damacy_sample sample = sample_of(cases[i].uri, cases[i].bounds, cases[i].rank, NULL);
        OK(damacy_push(pipeline, &sample, 1));
        EXPECT(damacy_pop(pipeline, 60.0, &batch), cases[i].status, "");
        CHECK(batch == NULL);
        OK(damacy_pipeline_destroy(pipeline));
    }
}

static void conversions(void) {
    uint16_t source[4] = {1, 2, 3, 4};
    float out[4] = {-1, -1, -1, -1};
    const uint64_t extent[1] = {4};
    REFUSED(damacy_convert(2, 1, 0, 0, source, 8, out, 16), "2 is no damacy_engine");
    REFUSED(damacy_convert(0, 10, 0, 0, source, 8, out, 16), "10 is no damacy_source");
    REFUSED(damacy_convert(0, -1, 0, 0, source, 8, out, 16), "-1 is no damacy_source");
    REFUSED(damacy_convert(0, 1, 2, 0, source, 8, out, 16), "2 is no damacy_byte_order");
    REFUSED(damacy_convert(0, 1, 0, 10, source, 8, out, 16), "10 is no damacy_dtype");
    REFUSED(damacy_convert(0, 1, 0, 0, NULL, 8, out, 16), "src is NULL");
    REFUSED(damacy_convert(0, 1, 0, 0, source, 8, NULL, 16), "dst is NULL");
    REFUSED(damacy_convert(0, 1, 0, 0, source, SIZE_MAX, out, 16), "more than there can be");
    REFUSED(damacy_convert(0, 1, 0, 0, source, 8, out, SIZE_MAX), "more than there can be");
    REFUSED(damacy_convert(0, 1, 0, 0, (void *)(UINTPTR_MAX - 3), 8, out, 16), "more than there can be");
    REFUSED(damacy_convert(0, 1, 0, 0, source, 8, (void *)(UINTPTR_MAX - 3), 16), "more than there can be");
    REFUSED(damacy_convert_box(NULL), "conversion is NULL");
    damacy_conversion box = {0};
    REFUSED(damacy_convert_box(&box), "sizeof(damacy_conversion)");
    box.struct_size = sizeof box;
    box.source = DAMACY_SOURCE_U16;
    box.src = source;
    box.src_bytes = sizeof source;
    box.dst = out;
    box.dst_bytes = sizeof out;
    box.rank = 1;
    REFUSED(damacy_convert_box(&box), "extent is NULL");
    box.extent = extent;
    box.src = NULL;
    REFUSED(damacy_convert_box(&box), "src is NULL");
    box.src = source;
    box.threads = SIZE_MAX;
    CHECK(out[0] == -1);
    OK(damacy_convert_box(&box));
    CHECK(out[3] == 4);
}

static void jobs(void) {
    static const char document[] = "{\"zarr_format\": 2, \"shape\": [256, 512, 512], \"chunks\": [32, 64, 64], \"dtype\": \"<u2\","
                                   " \"order\": \"C\", \"compressor\": null, \"filters\": null, \"fill_value\": 0}";
    damacy_plan *plan;
    damacy_estimate cost = {0};
    cost.struct_size = sizeof cost;
    damacy_batch_spec spec = spec_of(1, shape, 3, DAMACY_F32);
    damacy_array good = {0}, array;
    good.struct_size = sizeof good;
    good.metadata = document;
    good.metadata_bytes = sizeof document - 1;
    good.format = DAMACY_ZARR_V2;
    damacy_box good_box = {0}, box;
    good_box.struct_size = sizeof good_box;
    good_box.bounds = corner;
    good_box.rank = 3;
    damacy_job job;
    const uint64_t stride[2] = {1, 1};
#define JOB_WITH(change, call, status, part)  \
    do {                                      \
        array = good;                         \
        box = good_box;                       \
        memset(&job, 0, sizeof job);          \
        job.struct_size = sizeof job;         \
        job.output = &spec;                   \
        job.arrays = &array;                  \
        job.array_count = 1;                  \
        job.boxes = &box;                     \
        job.box_count = 1;                    \
        change;                               \
        EXPECT(call, status, part);           \
    } while (0)
#define PLAN_WITH(change, status, part) JOB_WITH(change, damacy_plan_create(&job, &plan), status, part)
#define COST_WITH(change, status, part) JOB_WITH(change, damacy_estimate_job(&job, &cost), status, part)
    PLAN_WITH(job.output = NULL, DAMACY_INVAL, "output is NULL");
    PLAN_WITH(job.crops = DAMACY_CROPS_UNIFORM, DAMACY_INVAL, "DAMACY_CROPS_BOXES");
    PLAN_WITH(job.arrays = NULL, DAMACY_INVAL, "arrays[0] is NULL");
    PLAN_WITH(job.array_count = 0, DAMACY_INVAL, "boxes[0]");
    PLAN_WITH(job.boxes = NULL, DAMACY_INVAL, "boxes[0] is NULL");
    PLAN_WITH(array.metadata = NULL, DAMACY_INVAL, "neither uri nor metadata");
    PLAN_WITH(array.format = 1, DAMACY_INVAL, "format of arrays[0] is 1");
    PLAN_WITH(array.format = 3, DAMACY_DECODE, "");
    PLAN_WITH(array.metadata_bytes = 40, DAMACY_DECODE, "arrays[0]");
    PLAN_WITH(array.metadata_bytes = 0, DAMACY_DECODE, "arrays[0]");
    PLAN_WITH(array.encoded_ratio = -1, DAMACY_INVAL, "encoded_ratio of arrays[0] is -1");
    PLAN_WITH(array.encoded_ratio = (double)NAN, DAMACY_INVAL, "encoded_ratio of arrays[0] is NaN");
    PLAN_WITH((array.uri = "/no/such/array", array.metadata = NULL), DAMACY_NOTFOUND, "/no/such/array");
    PLAN_WITH(box.array = 1, DAMACY_INVAL, "boxes[0]");
    PLAN_WITH(box.rank = 2, DAMACY_INVAL, "boxes[0]");
    PLAN_WITH(job.reserved = 1, DAMACY_INVAL, "reserved");
    COST_WITH(job.crops = 3, DAMACY_INVAL, "3 is no damacy_crops");
    COST_WITH((job.crops = DAMACY_CROPS_GRID, job.box_count = 0, job.stride_count = 3), DAMACY_INVAL, "stride is NULL");
    COST_WITH((job.crops = DAMACY_CROPS_GRID, job.box_count = 0, job.stride = stride, job.stride_count = 2), DAMACY_INVAL,
              "stride");
    COST_WITH((array.encoded_bytes = stride, array.encoded_count = 2), DAMACY_INVAL, "encoded");
    damacy_layout layout = {0};
    layout.struct_size = sizeof layout;
    JOB_WITH(job.crops = DAMACY_CROPS_UNIFORM; job.box_count = 0, damacy_advise_layout(&job, 1, &layout, &layout),
             DAMACY_INVAL, "array");
    CHECK(plan == NULL && cost.samples == 0);

    damacy_plan_limits limits = {0};
    limits.struct_size = sizeof limits;
    limits.max_chunks = 1;
    const damacy_interval across[3] = {{31, 33}, {63, 66}, {62, 66}};
    PLAN_WITH((job.limits = &limits, box.bounds = across), DAMACY_BUDGET, "8");
    PLAN_WITH(box.bounds = across, DAMACY_OK, "");
    damacy_plan_info info = {0};
    info.struct_size = sizeof info;
    OK(damacy_plan_info_get(plan, &info));
    CHECK(info.chunk_count == 8 && info.use_count == 8 && info.rank == 3 && info.read_known == 0);
    char key[8] = "xxxxxxx";
    size_t needed = 0;
    REFUSED(damacy_plan_object_key(plan, 8, key, sizeof key, NULL), "chunk 8 of 8");
    REFUSED(damacy_plan_object_key(plan, 0, key, 5, &needed), "6 are needed");
    CHECK(needed == 6 && strcmp(key, "xxxxxxx") == 0);
    REFUSED(damacy_plan_object_key(plan, 0, NULL, 0, &needed), "6 are needed");
    REFUSED(damacy_plan_object_key(plan, 0, NULL, 8, NULL), "has room");
    OK(damacy_plan_object_key(plan, 0, key, 6, NULL));
    CHECK(strcmp(key, "0.0.0") == 0);
    damacy_array_info facts = {0};
    facts.struct_size = sizeof facts;
    REFUSED(damacy_plan_array(plan, 1, &facts), "array 1 of 1");
    OK(damacy_plan_array(plan, 0, &facts));
    CHECK(facts.rank == 3 && facts.shape[2] == 512 && facts.chunk_shape[0] == 32 && facts.source == DAMACY_SOURCE_U16);
    CHECK(strcmp(facts.data_type, "<u2") == 0 && facts.format == DAMACY_ZARR_V2 && facts.order == DAMACY_LITTLE_ENDIAN);
    OK(damacy_plan_destroy(plan));
    REFUSED(damacy_plan_info_get(plan, &info), "is no plan");
}

static void names(void) {
    CHECK(strcmp(damacy_status_name(13), "INTERNAL") == 0 && strcmp(damacy_status_name(14), "?") == 0);
    CHECK(strcmp(damacy_status_name(-1), "?") == 0 && strcmp(damacy_dtype_name(INT32_MAX), "?") == 0);
    CHECK(strcmp(damacy_source_name(DAMACY_SOURCE_F16), "float16") == 0);
    CHECK(damacy_dtype_bytes(DAMACY_BF16) == 2 && damacy_dtype_bytes(10) == 0 && damacy_source_bytes(-1) == 0);
    damacy_dtype dtype;
    OK(damacy_dtype_parse("BFloat16", &dtype));
    CHECK(dtype == DAMACY_BF16);
    REFUSED(damacy_dtype_parse(NULL, &dtype), "name is NULL");
    REFUSED(damacy_dtype_parse("\xff", &dtype), "no UTF-8");
    REFUSED(damacy_dtype_parse("bool", &dtype), "float32 (f32)");
    REFUSED(damacy_set_log(5, NULL, NULL), "5 is no damacy_log_level");
    OK(damacy_set_log(DAMACY_LOG_DEBUG, NULL, NULL));
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", DAMACY_VERSION_MAJOR, DAMACY_VERSION_MINOR, DAMACY_VERSION_PATCH);
    CHECK(strcmp(damacy_version(), version) == 0);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    store = argv[1];
    names();
    objects();
    struct_sizes();
    configurations();
    samples();
    conversions();
    jobs();
    puts("hostile: ok");
    return 0;
}
