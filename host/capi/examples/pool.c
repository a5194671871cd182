/* A scheduler's admission of jobs that it does not trust:
 *
 *     pool ARRAY
 *
 * Four tenants send jobs over the array, each from a thread of its own, and a fifth sends what it likes. Prints what each job of
 * the first comes to, why those of the last were refused, and what each tenant used. The array's document is read by this program
 * and handed over as bytes: parsing, planning and pricing run in a sandbox, within each tenant's limits, and do no I/O. */
#define _POSIX_C_SOURCE 200809L
#include <damacy.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENANTS = 4, JOBS = 16, MAX_BYTES = 1 << 20 };

static damacy_pool *pool;
static unsigned char document[MAX_BYTES];
static size_t document_bytes;
static damacy_zarr_format format;

static void check(damacy_status status) {
    if (status != DAMACY_OK) {
        fprintf(stderr, "%s: %s\n", damacy_status_name(status), damacy_last_error());
        exit(10 + status);
    }
}

static void read_document(const char *folder) {
    static const char *const names[] = {".zarray", "zarr.json"};
    for (int version = 2; version <= 3; version++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, names[version - 2]);
        FILE *file = fopen(path, "rb");
        if (file == NULL)
            continue;
        document_bytes = fread(document, 1, sizeof document, file);
        format = version;
        fclose(file);
        return;
    }
    fprintf(stderr, "%s: neither zarr.json nor .zarray\n", folder);
    exit(1);
}

static damacy_pool_call call_of(const char *tenant, damacy_refusal *refusal) {
    damacy_pool_call call = {0};
    call.struct_size = sizeof call;
    call.tenant = tenant;
    call.refusal = refusal;
    return call;
}

/* Parses the document once; plans and prices a job for each number. */
static void *honest(void *name) {
    damacy_pool_call call = call_of(name, NULL);
    damacy_facts *facts;
    check(damacy_pool_parse(pool, &call, document, document_bytes, format, &facts));
    damacy_array_info info = {0};
    info.struct_size = sizeof info;
    check(damacy_facts_info_get(facts, &info));

    uint64_t shape[32];
    damacy_interval bounds[32];
    for (size_t axis = 0; axis < info.rank; axis++) {
        shape[axis] = info.chunk_shape[axis] < info.shape[axis] ? info.chunk_shape[axis] : info.shape[axis];
        bounds[axis].start = 1 < info.shape[axis] - shape[axis] ? 1 : 0;
        bounds[axis].stop = bounds[axis].start + shape[axis];
    }
    damacy_batch_spec output = {0};
    output.struct_size = sizeof output;
    output.samples = 8;
    output.shape = shape;
    output.rank = info.rank;
    output.dtype = DAMACY_BF16;
    damacy_array array = {0};
    array.struct_size = sizeof array;
    array.facts = facts;
    damacy_box box = {0};
    box.struct_size = sizeof box;
    box.bounds = bounds;
    box.rank = info.rank;
    damacy_job job = {0};
    job.struct_size = sizeof job;
    job.output = &output;
    job.arrays = &array;
    job.array_count = 1;

    for (int number = 0; number < JOBS; number++) {
        damacy_estimate cost = {0};
        cost.struct_size = sizeof cost;
        job.boxes = NULL;
        job.box_count = 0;
        job.crops = DAMACY_CROPS_UNIFORM;
        check(damacy_pool_estimate(pool, &call, &job, &cost));

        damacy_plan *plan;
        damacy_plan_info planned = {0};
        planned.struct_size = sizeof planned;
        job.boxes = &box;
        job.box_count = 1;
        job.crops = DAMACY_CROPS_BOXES;
        check(damacy_pool_plan(pool, &call, &job, &plan));
        check(damacy_plan_info_get(plan, &planned));
        if (number == 0 && strcmp(name, "lab 0") == 0)
            printf("%zu chunks for one crop; random crops: %.1f uses each, host memory %" PRIu64 " bytes\n",
                   planned.chunk_count, cost.uses / (double)cost.samples, cost.host_bytes);
        check(damacy_plan_destroy(plan));
    }
    check(damacy_facts_destroy(facts));
    return NULL;
}

/* Prints why a call was refused. */
static void told(damacy_status status, const damacy_refusal *refusal) {
    if (status == DAMACY_OK) {
        fprintf(stderr, "a hostile job was let in\n");
        exit(1);
    }
    printf("%s, %s", damacy_status_name(status), damacy_refusal_name(refusal->kind));
    if (refusal->limit_known)
        printf(", limit %" PRIu64, refusal->limit);
    if (refusal->asked_known)
        printf(", asked %" PRIu64, refusal->asked);
    printf(": %s\n", refusal->message);
}

static void hostile(void) {
    static unsigned char deep[4096];
    static damacy_box boxes[5000];
    damacy_refusal refusal = {0};
    refusal.struct_size = sizeof refusal;
    damacy_pool_call call = call_of("mallory", &refusal);
    damacy_facts *facts;
    memset(deep, '[', sizeof deep);
    told(damacy_pool_parse(pool, &call, deep, sizeof deep, DAMACY_ZARR_V3, &facts), &refusal);
    told(damacy_pool_parse(pool, &call, document, sizeof document, format, &facts), &refusal);

    damacy_batch_spec output = {0};
    output.struct_size = sizeof output;
    output.samples = 1;
    damacy_array array = {0};
    array.struct_size = sizeof array;
    array.metadata = document;
    array.metadata_bytes = document_bytes;
    array.format = format;
    damacy_job job = {0};
    job.struct_size = sizeof job;
    job.output = &output;
    job.arrays = &array;
    job.array_count = 1;
    job.boxes = boxes;
    job.box_count = sizeof boxes / sizeof boxes[0];
    damacy_totals totals = {0};
    totals.struct_size = sizeof totals;
    told(damacy_pool_validate(pool, &call, &job, &totals), &refusal);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: pool ARRAY\n");
        return 2;
    }
    read_document(argv[1]);

    /* Members that are zero have their defaults. This machine may be busy with other things: jobs are not refused for that. */
    damacy_tenant_limits limits = {0};
    limits.struct_size = sizeof limits;
    limits.deadline_s = 10;
    limits.max_wait_s = 60;
    limits.input_bytes = 64 << 10;
    damacy_pool_config config = {0};
    config.struct_size = sizeof config;
    config.limits = &limits;
    check(damacy_pool_create(&config, &pool));

    static char names[TENANTS][8];
    pthread_t threads[TENANTS];
    for (int tenant = 0; tenant < TENANTS; tenant++) {
        snprintf(names[tenant], sizeof names[tenant], "lab %d", tenant);
        if (pthread_create(&threads[tenant], NULL, honest, names[tenant]) != 0)
            return 1;
    }
    for (int tenant = 0; tenant < TENANTS; tenant++)
        pthread_join(threads[tenant], NULL);
    hostile();

    for (int tenant = 0; tenant <= TENANTS; tenant++) {
        const char *name = tenant < TENANTS ? names[tenant] : "mallory";
        damacy_tenant_metrics metrics = {0};
        metrics.struct_size = sizeof metrics;
        check(damacy_pool_metrics(pool, name, &metrics));
        uint64_t refused = 0;
        for (size_t kind = 0; kind < sizeof metrics.refused / sizeof metrics.refused[0]; kind++)
            refused += metrics.refused[kind];
        printf("%s: %" PRIu64 " calls, %" PRIu64 " refused\n", name, metrics.calls, refused);
    }
    check(damacy_pool_destroy(pool));
    return 0;
}
