/* A pool's plans and prices are those of jobs without one; refusals are typed and say where; tokens, closing and threads.
 *
 *     pool_calls STORE [ROUNDS]     # the (9, 20, 12) uint16 array, chunks (2, 5, 6) in shards (4, 10, 12)
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <pthread.h>
#include <stdint.h>
#include <time.h>

static const uint64_t shape[3] = {3, 7, 7};
static const damacy_interval crop[3] = {{0, 3}, {4, 11}, {2, 9}}, shifted[3] = {{6, 9}, {13, 20}, {5, 12}};
static unsigned char document[1 << 16];
static size_t document_bytes;
static damacy_batch_spec output;
static damacy_box boxes[2];

static void read_document(const char *folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/zarr.json", folder);
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    document_bytes = fread(document, 1, sizeof document, file);
    fclose(file);
}

static void sleep_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static damacy_tenant_limits patient(void) {
    damacy_tenant_limits limits = {0};
    limits.struct_size = sizeof limits;
    limits.deadline_s = 100;
    limits.max_wait_s = 100;
    return limits;
}

static damacy_pool *pool_of(const damacy_tenant_limits *limits) {
    damacy_pool *pool;
    damacy_pool_config config = {0};
    config.struct_size = sizeof config;
    config.limits = limits;
    config.running = 2;
    OK(damacy_pool_create(&config, &pool));
    return pool;
}

/* Filled with rubbish, so that everything must be set. */
static damacy_refusal refusal;
static damacy_used used;

static damacy_pool_call call_of(const char *tenant) {
    damacy_pool_call call = {0};
    call.struct_size = sizeof call;
    call.tenant = tenant;
    call.refusal = &refusal;
    call.used = &used;
    memset(&refusal, 0x55, sizeof refusal);
    memset(&used, 0x55, sizeof used);
    refusal.struct_size = sizeof refusal;
    used.struct_size = sizeof used;
    return call;
}

static damacy_array array_of(damacy_facts *facts) {
    damacy_array array = {0};
    array.struct_size = sizeof array;
    array.facts = facts;
    if (facts == NULL) {
        array.metadata = document;
        array.metadata_bytes = document_bytes;
        array.format = DAMACY_ZARR_V3;
    }
    return array;
}

static damacy_job job_of(const damacy_array *array) {
    damacy_job job = {0};
    job.struct_size = sizeof job;
    job.output = &output;
    job.arrays = array;
    job.array_count = 1;
    job.boxes = boxes;
    job.box_count = 2;
    return job;
}

static damacy_plan_info info_of_plan(damacy_plan *plan) {
    damacy_plan_info info = {0};
    info.struct_size = sizeof info;
    OK(damacy_plan_info_get(plan, &info));
    return info;
}

static void same_plans(damacy_plan *one, damacy_plan *other) {
    damacy_plan_info a = info_of_plan(one), b = info_of_plan(other);
    CHECK(a.rank == 3 && b.rank == 3 && a.chunk_count == b.chunk_count && a.use_count == b.use_count);
    CHECK(memcmp(a.chunks, b.chunks, a.chunk_count * sizeof *a.chunks) == 0);
    CHECK(memcmp(a.coords, b.coords, a.chunk_count * 3 * sizeof *a.coords) == 0);
    CHECK(memcmp(a.use_box, b.use_box, a.use_count * sizeof *a.use_box) == 0);
    CHECK(memcmp(a.use_source, b.use_source, a.use_count * 3 * sizeof *a.use_source) == 0);
    CHECK(memcmp(a.use_extent, b.use_extent, a.use_count * 3 * sizeof *a.use_extent) == 0);
    CHECK(memcmp(a.use_target, b.use_target, a.use_count * 3 * sizeof *a.use_target) == 0);
    CHECK(a.decoded_bytes == b.decoded_bytes && a.memory_bytes == b.memory_bytes && a.read_bytes == b.read_bytes);
    char key[64], other_key[64];
    for (size_t chunk = 0; chunk < a.chunk_count; chunk++) {
        OK(damacy_plan_object_key(one, chunk, key, sizeof key, NULL));
        OK(damacy_plan_object_key(other, chunk, other_key, sizeof other_key, NULL));
        CHECK(strcmp(key, other_key) == 0);
    }
}

static void answers(void) {
    damacy_tenant_limits limits = patient();
    /* Those of jobs without a pool: how far to look ahead depends on them. */
    limits.memory_bytes = 64 << 20;
    limits.chunks = 1 << 20;
    damacy_pool *pool = pool_of(&limits);
    damacy_pool_call call = call_of("alice");
    damacy_facts *facts;
    OK(damacy_pool_parse(pool, &call, document, document_bytes, DAMACY_ZARR_V3, &facts));
    CHECK(used.run_s > 0 && used.wait_s >= 0 && used.memory_bytes > 0 && used.fuel == 0);
    damacy_array_info info = {0};
    info.struct_size = sizeof info;
    OK(damacy_facts_info_get(facts, &info));
    CHECK(info.rank == 3 && info.shape[1] == 20 && info.chunk_shape[2] == 6 && info.object_shape[0] == 4);
    CHECK(info.source == DAMACY_SOURCE_U16 && strcmp(info.data_type, "uint16") == 0 && info.format == DAMACY_ZARR_V3);

    /* The same plans and prices from the document, from its facts, and without a pool from either. */
    damacy_array arrays[2] = {array_of(NULL), array_of(facts)};
    arrays[0].encoded_ratio = arrays[1].encoded_ratio = 0.5;
    damacy_plan *plans[4];
    for (int i = 0; i < 2; i++) {
        damacy_job job = job_of(&arrays[i]);
        call = call_of("alice");
        OK(damacy_pool_plan(pool, &call, &job, &plans[i]));
        CHECK(used.run_s > 0 && used.memory_bytes > 0);
        OK(damacy_plan_create(&job, &plans[2 + i]));
        same_plans(plans[i], plans[2 + i]);
        damacy_array_info planned = {0};
        planned.struct_size = sizeof planned;
        OK(damacy_plan_array(plans[i], 0, &planned));
        CHECK(planned.rank == 3 && planned.shape[0] == 9);

        damacy_totals totals = {0};
        totals.struct_size = sizeof totals;
        call = call_of("alice");
        OK(damacy_pool_validate(pool, &call, &job, &totals));
        damacy_plan_info whole = info_of_plan(plans[i]);
        CHECK(totals.elements == 2 * 3 * 7 * 7 && totals.output_bytes == totals.elements * 4);
        CHECK(totals.decoded_bytes == whole.chunk_count * 2 * 5 * 6 * 2 && totals.needed_bytes == totals.elements * 2);
        CHECK(totals.read_known == 1 && totals.read_bytes == totals.decoded_bytes / 2);
        CHECK(totals.batch_bytes == whole.batch_bytes && totals.memory_bytes == whole.memory_bytes);
        CHECK(totals.largest_chunk_bytes == 120 && totals.decode_waste == whole.decode_waste);

        job.crops = DAMACY_CROPS_UNIFORM;
        job.boxes = NULL;
        job.box_count = 0;
        damacy_estimate cost = {0}, expected = {0};
        cost.struct_size = expected.struct_size = sizeof cost;
        OK(damacy_pool_estimate(pool, &call, &job, &cost));
        OK(damacy_estimate_job(&job, &expected));
        CHECK(memcmp(&cost, &expected, sizeof cost) == 0 && cost.certainty == DAMACY_EXPECTED && cost.samples == 64);
        static damacy_layout layouts[4];
        for (int at = 0; at < 4; at++)
            layouts[at].struct_size = sizeof layouts[at];
        OK(damacy_pool_advise_layout(pool, &call, &job, 0, &layouts[0], &layouts[1]));
        OK(damacy_advise_layout(&job, 0, &layouts[2], &layouts[3]));
        CHECK(memcmp(layouts, layouts + 2, 2 * sizeof layouts[0]) == 0);
        damacy_lookahead ahead = {0}, expected_ahead = {0};
        ahead.struct_size = expected_ahead.struct_size = sizeof ahead;
        OK(damacy_pool_advise_lookahead(pool, &call, &job, &ahead));
        OK(damacy_advise_lookahead(&job, &expected_ahead));
        CHECK(ahead.enough == expected_ahead.enough && ahead.most == expected_ahead.most && ahead.most > 0);
    }
    /* Plans and facts outlive the pool. */
    OK(damacy_pool_destroy(pool));
    REFUSED(damacy_pool_destroy(pool), "is no pool");
    OK(damacy_facts_info_get(facts, &info));
    OK(damacy_facts_destroy(facts));
    REFUSED(damacy_facts_destroy(facts), "is no facts");
    for (int i = 0; i < 4; i++)
        OK(damacy_plan_destroy(plans[i]));
}

static void refusals(void) {
    damacy_tenant_limits limits = patient();
    limits.chunks = 10;
    limits.arrays = 2;
    limits.samples = 3;
    limits.input_bytes = 1 << 14;
    limits.metadata_rank = 3;
    damacy_pool *pool = pool_of(&limits);
    damacy_facts *facts = (damacy_facts *)1;
    damacy_plan *plan = (damacy_plan *)1;
    damacy_pool_call call = call_of("mallory");

    /* Documents. */
    static const unsigned char deep[2000] = {'[', '['};
    EXPECT(damacy_pool_parse(pool, &call, deep, sizeof deep, DAMACY_ZARR_V3, &facts), DAMACY_DECODE, "mallory");
    CHECK(facts == NULL && refusal.kind == DAMACY_REFUSAL_INVALID && refusal.status == DAMACY_DECODE);
    CHECK(refusal.limit_known == 0 && refusal.asked_known == 0 && refusal.array == -1 && refusal.sample == -1);
    CHECK(strcmp(refusal.tenant, "mallory") == 0 && strcmp(refusal.message, damacy_last_error()) == 0);
    static unsigned char large[1 << 15];
    EXPECT(damacy_pool_parse(pool, &call, large, sizeof large, DAMACY_ZARR_V3, &facts), DAMACY_BUDGET, "32768");
    CHECK(refusal.kind == DAMACY_REFUSAL_INPUT_BYTES && refusal.limit_known == 1 && refusal.limit == 1 << 14);
    CHECK(refusal.asked_known == 1 && refusal.asked == sizeof large);
    CHECK(strcmp(damacy_refusal_name(refusal.kind), "input_bytes") == 0);
    static const char many_axes[] = "{\"zarr_format\": 2, \"shape\": [1, 1, 1, 1], \"chunks\": [1, 1, 1, 1], \"dtype\": \"<u2\", "
                                    "\"order\": \"C\", \"compressor\": null, \"filters\": null, \"fill_value\": 0}";
    EXPECT(damacy_pool_parse(pool, &call, many_axes, sizeof many_axes - 1, DAMACY_ZARR_V2, &facts), DAMACY_BUDGET, "3");
    CHECK(refusal.kind == DAMACY_REFUSAL_METADATA && strcmp(refusal.path, "/shape") == 0);

    /* Jobs. */
    damacy_array arrays[3] = {array_of(NULL), array_of(NULL), array_of(NULL)};
    damacy_box crops[4] = {boxes[0], boxes[1], boxes[0], boxes[1]};
    damacy_job job = job_of(arrays);
    job.boxes = crops;
    job.box_count = 4;
    EXPECT(damacy_pool_plan(pool, &call, &job, &plan), DAMACY_BUDGET, "samples");
    CHECK(plan == NULL && refusal.kind == DAMACY_REFUSAL_SAMPLES && refusal.limit == 3 && refusal.asked == 4);
    job.box_count = 3;
    EXPECT(damacy_pool_plan(pool, &call, &job, &plan), DAMACY_BUDGET, "chunks");
    CHECK(refusal.kind == DAMACY_REFUSAL_CHUNKS && refusal.limit == 10 && refusal.limit_known == 1);
    job.array_count = 3;
    EXPECT(damacy_pool_plan(pool, &call, &job, &plan), DAMACY_BUDGET, "arrays");
    CHECK(refusal.kind == DAMACY_REFUSAL_ARRAYS && refusal.limit == 2 && refusal.asked == 3);
    job.array_count = 2;
    arrays[1].metadata = deep;
    job.box_count = 1;
    EXPECT(damacy_pool_plan(pool, &call, &job, &plan), DAMACY_DECODE, "array 1");
    CHECK(refusal.kind == DAMACY_REFUSAL_INVALID && refusal.array == 1);
    job.array_count = 1;
    damacy_interval outside[3] = {{7, 10}, {4, 11}, {2, 9}};
    crops[1].bounds = outside;
    job.box_count = 2;
    limits.chunks = 0;
    OK(damacy_pool_set_limits(pool, "mallory", &limits));
    REFUSED(damacy_pool_plan(pool, &call, &job, &plan), "mallory");
    CHECK(refusal.kind == DAMACY_REFUSAL_INVALID && refusal.sample == 1);
    outside[0].start = UINT64_MAX;
    outside[0].stop = UINT64_MAX;
    REFUSED(damacy_pool_plan(pool, &call, &job, &plan), "mallory");
    CHECK(refusal.sample == 1);

    /* Before it comes to the pool. */
    crops[1] = boxes[1];
    damacy_plan_limits own = {0};
    own.struct_size = sizeof own;
    job.limits = &own;
    REFUSED(damacy_pool_plan(pool, &call, &job, &plan), "those of the tenant hold");
    CHECK(refusal.kind == DAMACY_REFUSAL_NONE && refusal.status == DAMACY_INVAL && strcmp(refusal.tenant, "") == 0);
    CHECK(strcmp(refusal.message, damacy_last_error()) == 0 && strcmp(damacy_refusal_name(0), "none") == 0);
    job.limits = NULL;
    job.crops = DAMACY_CROPS_UNIFORM;
    REFUSED(damacy_pool_plan(pool, &call, &job, &plan), "DAMACY_CROPS_BOXES");
    job.crops = DAMACY_CROPS_BOXES;
    arrays[0].metadata = NULL;
    REFUSED(damacy_pool_plan(pool, &call, &job, &plan), "neither metadata nor facts");
    arrays[0].facts = (damacy_facts *)0x10;
    REFUSED(damacy_pool_plan(pool, &call, &job, &plan), "is no facts");
    OK(damacy_pool_parse(pool, &call, document, document_bytes, DAMACY_ZARR_V3, &arrays[0].facts));
    arrays[0].metadata = document;
    REFUSED(damacy_pool_plan(pool, &call, &job, &plan), "metadata and facts");
    REFUSED(damacy_plan_create(&job, &plan), "metadata and facts");
    arrays[0].metadata = NULL;
    arrays[1] = array_of(NULL);
    job.array_count = 2;
    REFUSED(damacy_pool_plan(pool, &call, &job, &plan), "1 of 2 arrays have facts");
    arrays[1].format = 7;
    REFUSED(damacy_pool_plan(pool, &call, &job, &plan), "format of arrays[1] is 7");
    REFUSED(damacy_pool_parse(pool, &call, document, document_bytes, 4, &facts), "format of metadata is 4");
    REFUSED(damacy_pool_parse(pool, &call, NULL, 5, DAMACY_ZARR_V3, &facts), "metadata is NULL");
    REFUSED(damacy_pool_parse(pool, &call, document, document_bytes, DAMACY_ZARR_V3, NULL), "facts is NULL");
    REFUSED(damacy_pool_parse(pool, NULL, document, document_bytes, DAMACY_ZARR_V3, &facts), "call is NULL");
    call.tenant = NULL;
    REFUSED(damacy_pool_parse(pool, &call, document, document_bytes, DAMACY_ZARR_V3, &facts), "tenant of call is NULL");
    call.tenant = "\xff";
    REFUSED(damacy_pool_parse(pool, &call, document, document_bytes, DAMACY_ZARR_V3, &facts), "no UTF-8");
    call.tenant = "mallory";
    call.cancel = (damacy_canceller *)pool;
    REFUSED(damacy_pool_parse(pool, &call, document, document_bytes, DAMACY_ZARR_V3, &facts), "is no canceller");
    call.cancel = NULL;
    refusal.struct_size = 1;
    REFUSED(damacy_pool_parse(pool, &call, document, document_bytes, DAMACY_ZARR_V3, &facts), "sizeof(damacy_refusal)");
    refusal.struct_size = sizeof refusal;
    used.struct_size = 0;
    REFUSED(damacy_pool_parse(pool, &call, document, document_bytes, DAMACY_ZARR_V3, &facts), "sizeof(damacy_used)");
    call.used = NULL;
    call.refusal = NULL;
    EXPECT(damacy_pool_parse(pool, &call, deep, sizeof deep, DAMACY_ZARR_V3, &facts), DAMACY_DECODE, "mallory");
    REFUSED(damacy_pool_parse((damacy_pool *)0x10, &call, deep, 2, DAMACY_ZARR_V3, &facts), "is no pool");
    REFUSED(damacy_pool_close(NULL), "the pool is NULL");
    OK(damacy_pool_destroy(NULL));
    OK(damacy_facts_destroy(NULL));
    OK(damacy_canceller_destroy(NULL));
    CHECK(strcmp(damacy_refusal_name(18), "bug") == 0 && strcmp(damacy_refusal_name(-1), "?") == 0);
    CHECK(strcmp(damacy_refusal_name(19), "?") == 0 && strcmp(damacy_refusal_name(1000), "?") == 0);

    /* Figures. */
    damacy_tenant_metrics metrics = {0};
    metrics.struct_size = sizeof metrics;
    OK(damacy_pool_metrics(pool, "mallory", &metrics));
    CHECK(metrics.refused[DAMACY_REFUSAL_SAMPLES] == 1 && metrics.refused[DAMACY_REFUSAL_ARRAYS] == 1);
    CHECK(metrics.refused[DAMACY_REFUSAL_CHUNKS] == 1 && metrics.refused[DAMACY_REFUSAL_INPUT_BYTES] == 1);
    CHECK(metrics.refused[DAMACY_REFUSAL_INVALID] == 5 && metrics.refused[DAMACY_REFUSAL_NONE] == 0);
    CHECK(metrics.calls == 11 && metrics.running == 0 && metrics.waiting == 0 && metrics.p50_s <= metrics.p99_s);
    EXPECT(damacy_pool_metrics(pool, "nobody", &metrics), DAMACY_NOTFOUND, "nobody");
    OK(damacy_facts_destroy(arrays[0].facts));
    OK(damacy_pool_destroy(pool));
}

static void settings(void) {
    damacy_pool *pool;
    damacy_tenant_limits limits = {0}, got;
    memset(&got, 0x55, sizeof got);
    got.struct_size = sizeof got;
    OK(damacy_pool_create(NULL, &pool));
    OK(damacy_pool_limits(pool, "alice", &got));
    CHECK(got.memory_bytes == 16 << 20 && got.deadline_s == 0.05 && got.fuel == 0 && got.input_bytes == 1 << 20);
    CHECK(got.arrays == 256 && got.samples == 4096 && got.chunks == 1 << 16 && got.result_bytes == 8 << 20);
    CHECK(got.running == 1 && got.waiting == 64 && got.max_wait_s == 1 && got.metadata_bytes == 4 << 20);
    CHECK(got.metadata_values == 1 << 18 && got.metadata_depth == 64 && got.metadata_rank == 32 && got.reserved == 0);
    limits.struct_size = sizeof limits;
    limits.fuel = 1000;
    limits.waiting = DAMACY_NO_WAITING;
    limits.metadata_codecs = 5;
    OK(damacy_pool_set_limits(pool, "alice", &limits));
    OK(damacy_pool_limits(pool, "alice", &got));
    CHECK(got.fuel == 1000 && got.waiting == DAMACY_NO_WAITING && got.metadata_codecs == 5 && got.samples == 4096);
    OK(damacy_pool_limits(pool, "bob", &got));
    CHECK(got.fuel == 0);

    /* What was given is what a pool can be asked with again. */
    damacy_pool_call call = call_of("alice");
    damacy_facts *facts;
    EXPECT(damacy_pool_parse(pool, &call, document, document_bytes, DAMACY_ZARR_V3, &facts), DAMACY_BUDGET, "fuel");
    CHECK(refusal.kind == DAMACY_REFUSAL_FUEL && refusal.limit == 1000);
    limits.fuel = 1000000000;
    OK(damacy_pool_set_limits(pool, "alice", &limits));
    OK(damacy_pool_parse(pool, &call, document, document_bytes, DAMACY_ZARR_V3, &facts));
    CHECK(used.fuel > 1000);
    OK(damacy_facts_destroy(facts));

    /* Names. */
    char names[16];
    size_t needed = 0, count = 0;
    OK(damacy_pool_set_limits(pool, "bob", &limits));
    REFUSED(damacy_pool_tenants(pool, NULL, 0, &needed, NULL), "10 are needed");
    CHECK(needed == 10);
    OK(damacy_pool_tenants(pool, names, sizeof names, NULL, &count));
    const char *first = names, *second = names + strlen(names) + 1;
    CHECK(count == 2 && strlen(first) + strlen(second) == 8);
    CHECK((strcmp(first, "alice") == 0 && strcmp(second, "bob") == 0) ||
          (strcmp(first, "bob") == 0 && strcmp(second, "alice") == 0));
    OK(damacy_pool_remove(pool, "alice"));
    OK(damacy_pool_remove(pool, "bob"));
    EXPECT(damacy_pool_remove(pool, "bob"), DAMACY_NOTFOUND, "bob");
    OK(damacy_pool_tenants(pool, names, sizeof names, &needed, &count));
    CHECK(count == 0 && needed == 1);
    OK(damacy_pool_destroy(pool));

    /* Settings without sense. */
#define REFUSED_WITH(change, part)                              \
    do {                                                        \
        memset(&limits, 0, sizeof limits);                      \
        limits.struct_size = sizeof limits;                     \
        change;                                                 \
        damacy_pool_config config = {0};                        \
        config.struct_size = sizeof config;                     \
        config.limits = &limits;                                \
        REFUSED(damacy_pool_create(&config, &pool), part);      \
        CHECK(pool == NULL);                                    \
    } while (0)
    REFUSED_WITH(limits.deadline_s = -1, "deadline_s of limits is -1");
    REFUSED_WITH(limits.max_wait_s = -0.5, "max_wait_s of limits is -0.5");
    REFUSED_WITH(limits.reserved = 1, "reserved member of limits is 1");
    REFUSED_WITH(limits.struct_size = 8, "sizeof(damacy_tenant_limits)");
}

/* Calls that take long: many documents in one job, all of which are the same memory. */
enum { COPIES = 20000, BYTES = 1 << 19 };
static damacy_array copies[COPIES];
static char *padded;

static void make_long(void) {
    static const char head[] = "{\"zarr_format\": 2, \"shape\": [1], \"chunks\": [1], \"dtype\": \"<u2\", \"order\": \"C\", "
                               "\"compressor\": null, \"filters\": null, \"fill_value\": 0, \"more\": \"";
    padded = malloc(BYTES);
    CHECK(padded != NULL);
    memset(padded, 'x', BYTES);
    memcpy(padded, head, sizeof head - 1);
    memcpy(padded + BYTES - 2, "\"}", 2);
    for (int at = 0; at < COPIES; at++) {
        copies[at].struct_size = sizeof copies[at];
        copies[at].metadata = padded;
        copies[at].metadata_bytes = BYTES;
        copies[at].format = DAMACY_ZARR_V2;
    }
}

struct long_call {
    damacy_pool *pool;
    const char *tenant;
    damacy_canceller *cancel;
    damacy_refusal refusal;
    damacy_status status;
};

static void *call_long(void *argument) {
    struct long_call *own = argument;
    static const uint64_t one[1] = {1};
    damacy_batch_spec spec = spec_of(1, one, 1, DAMACY_U8);
    damacy_pool_call call = {0};
    call.struct_size = sizeof call;
    call.tenant = own->tenant;
    call.cancel = own->cancel;
    call.refusal = &own->refusal;
    own->refusal.struct_size = sizeof own->refusal;
    damacy_job job = {0};
    job.struct_size = sizeof job;
    job.output = &spec;
    job.arrays = copies;
    job.array_count = COPIES;
    damacy_totals totals = {0};
    totals.struct_size = sizeof totals;
    own->status = damacy_pool_validate(own->pool, &call, &job, &totals);
    /* The texts are this thread's. */
    if (own->status != DAMACY_INVAL)
        CHECK(strcmp(own->refusal.message, damacy_last_error()) == 0 && strcmp(own->refusal.tenant, own->tenant) == 0);
    return NULL;
}

static void wait_for(damacy_pool *pool, const char *tenant, size_t running, size_t waiting) {
    damacy_tenant_metrics metrics = {0};
    metrics.struct_size = sizeof metrics;
    for (int waited = 0; waited < 60000; waited += 5) {
        if (damacy_pool_metrics(pool, tenant, &metrics) == DAMACY_OK && metrics.running == running &&
            metrics.waiting == waiting)
            return;
        sleep_ms(5);
    }
    CHECK(!"the calls run and wait");
}

static void endings(void) {
    damacy_tenant_limits limits = patient();
    limits.input_bytes = limits.arrays = UINT64_MAX / 2;
    damacy_pool *pool = pool_of(&limits);
    damacy_canceller *canceller;
    OK(damacy_canceller_create(&canceller));
    struct long_call calls[3] = {{pool, "alice", canceller, {0}, 0}, {pool, "alice", canceller, {0}, 0}, {pool, "bob", NULL, {0}, 0}};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, call_long, &calls[i]) == 0);
    wait_for(pool, "alice", 1, 1);
    wait_for(pool, "bob", 1, 0);
    EXPECT(damacy_pool_remove(pool, "alice"), DAMACY_AGAIN, "alice");
    OK(damacy_canceller_cancel(canceller));
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(calls[i].status == DAMACY_SHUTDOWN && calls[i].refusal.kind == DAMACY_REFUSAL_CANCELLED);
    }
    damacy_pool_call call = call_of("alice");
    damacy_facts *facts;
    call.cancel = canceller;
    EXPECT(damacy_pool_parse(pool, &call, document, document_bytes, DAMACY_ZARR_V3, &facts), DAMACY_SHUTDOWN, "cancelled");
    OK(damacy_canceller_destroy(canceller));
    REFUSED(damacy_canceller_cancel(canceller), "is no canceller");
    call.cancel = NULL;
    OK(damacy_pool_parse(pool, &call, document, document_bytes, DAMACY_ZARR_V3, &facts));
    OK(damacy_facts_destroy(facts));

    /* A deadline. */
    limits.deadline_s = 0.02;
    OK(damacy_pool_set_limits(pool, "carol", &limits));
    struct long_call short_one = {pool, "carol", NULL, {0}, 0};
    call_long(&short_one);
    CHECK(short_one.status == DAMACY_BUDGET && short_one.refusal.kind == DAMACY_REFUSAL_DEADLINE);
    CHECK(short_one.refusal.limit_known == 1 && short_one.refusal.limit == 20000000);

    /* Destroyed under a running call. */
    OK(damacy_pool_destroy(pool));
    CHECK(pthread_join(threads[2], NULL) == 0);
    CHECK(calls[2].status == DAMACY_SHUTDOWN && calls[2].refusal.kind == DAMACY_REFUSAL_CLOSED);
    call_long(&calls[2]);
    CHECK(calls[2].status == DAMACY_INVAL && calls[2].refusal.kind == DAMACY_REFUSAL_NONE);
}

struct planner {
    damacy_pool *pool;
    char name[16];
    int rounds;
};

static void *plan_often(void *argument) {
    struct planner *own = argument;
    damacy_pool_call call = {0};
    call.struct_size = sizeof call;
    call.tenant = own->name;
    damacy_array array = array_of(NULL);
    damacy_job job = job_of(&array);
    for (int round = 0; round < own->rounds; round++) {
        damacy_plan *plan;
        OK(damacy_pool_plan(own->pool, &call, &job, &plan));
        CHECK(info_of_plan(plan).use_count > 0);
        OK(damacy_plan_destroy(plan));
    }
    return NULL;
}

static void threads(int rounds) {
    damacy_tenant_limits limits = patient();
    damacy_pool *pool = pool_of(&limits);
    struct planner planners[8];
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) {
        planners[i].pool = pool;
        planners[i].rounds = 10 * rounds;
        snprintf(planners[i].name, sizeof planners[i].name, "tenant %d", i / 2);
        CHECK(pthread_create(&threads[i], NULL, plan_often, &planners[i]) == 0);
    }
    for (int i = 0; i < 8; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    damacy_tenant_metrics metrics = {0};
    metrics.struct_size = sizeof metrics;
    OK(damacy_pool_metrics(pool, "tenant 3", &metrics));
    CHECK(metrics.calls == 20 * (uint64_t)rounds);
    OK(damacy_pool_close(pool));
    OK(damacy_pool_close(pool));
    damacy_pool_call call = call_of("tenant 3");
    damacy_facts *facts;
    EXPECT(damacy_pool_parse(pool, &call, document, document_bytes, DAMACY_ZARR_V3, &facts), DAMACY_SHUTDOWN, "closed");
    OK(damacy_pool_destroy(pool));
}

int main(int argc, char **argv) {
    CHECK(argc >= 2);
    int rounds = argc > 2 ? atoi(argv[2]) : 1;
    read_document(argv[1]);
    output = spec_of(2, shape, 3, DAMACY_F32);
    for (int i = 0; i < 2; i++) {
        boxes[i].struct_size = sizeof boxes[i];
        boxes[i].bounds = i == 0 ? crop : shifted;
        boxes[i].rank = 3;
    }
    make_long();
    for (int round = 0; round < rounds; round++) {
        answers();
        refusals();
        settings();
        endings();
        threads(2);
    }
    free(padded);
    puts("pool_calls: ok");
    return 0;
}
