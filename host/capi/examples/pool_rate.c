/* How many calls a second one thread gets from a pool:
 *
 *     pool_rate [SECONDS]     # of each of five rounds for each kind of call, 0.25
 *
 * The array and the crops are those of `cargo bench --bench pool`: windows of 8 samples of 27 chunks each, anywhere. Prints the
 * best round's calls a second, by the clock on the wall. */
#define _POSIX_C_SOURCE 200809L
#include <damacy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { AXES = 3, SAMPLES = 8, WINDOWS = 64, ROUNDS = 5 };

static const char DOCUMENT[] =
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[2048,2048,2048],\"data_type\":\"uint16\",\"fill_value\":0,\n"
    "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[128,256,256]}},"
    "\"chunk_key_encoding\":{\"name\":\"default\"},\n"
    "\"codecs\":[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[32,64,64],\n"
    "\"codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}},"
    "{\"name\":\"zstd\",\"configuration\":{\"level\":3,\"checksum\":false}}],\n"
    "\"index_codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}},{\"name\":\"crc32c\"}]}}]}";

static damacy_pool *pool;
static damacy_pool_call call;
static damacy_batch_spec output;
static damacy_array array;
static damacy_job job;
static damacy_interval bounds[WINDOWS][SAMPLES][AXES];
static damacy_box boxes[WINDOWS][SAMPLES];

static void check(damacy_status status) {
    if (status != DAMACY_OK) {
        fprintf(stderr, "%s: %s\n", damacy_status_name(status), damacy_last_error());
        exit(10 + status);
    }
}

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void make_crops(void) {
    static const uint64_t chunk[AXES] = {32, 64, 64};
    for (uint64_t window = 0; window < WINDOWS; window++) {
        uint64_t state = window;
        for (int sample = 0; sample < SAMPLES; sample++) {
            for (int axis = 0; axis < AXES; axis++) {
                damacy_interval *interval = &bounds[window][sample][axis];
                interval->start = next_random(&state) % (2048 / chunk[axis] - 3) * chunk[axis] + 1;
                interval->start += next_random(&state) % (chunk[axis] - 1);
                interval->stop = interval->start + 2 * chunk[axis];
            }
            damacy_box box = {sizeof box, bounds[window][sample], AXES, 0, 0};
            boxes[window][sample] = box;
        }
    }
}

static void plan(void) {
    damacy_plan *made;
    damacy_plan_info info = {0};
    info.struct_size = sizeof info;
    check(damacy_pool_plan(pool, &call, &job, &made));
    check(damacy_plan_info_get(made, &info));
    if (info.use_count != SAMPLES * 27) {
        fprintf(stderr, "%zu uses\n", info.use_count);
        exit(1);
    }
    check(damacy_plan_destroy(made));
}

static void validate(void) {
    damacy_totals totals = {0};
    totals.struct_size = sizeof totals;
    check(damacy_pool_validate(pool, &call, &job, &totals));
}

static void estimate(void) {
    damacy_estimate cost = {0};
    cost.struct_size = sizeof cost;
    job.crops = DAMACY_CROPS_UNIFORM;
    check(damacy_pool_estimate(pool, &call, &job, &cost));
    job.crops = DAMACY_CROPS_BOXES;
}

static void parse(void) {
    damacy_facts *facts;
    check(damacy_pool_parse(pool, &call, DOCUMENT, sizeof DOCUMENT - 1, DAMACY_ZARR_V3, &facts));
    check(damacy_facts_destroy(facts));
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void rate(const char *name, double seconds, void (*work)(void)) {
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        unsigned calls = 0;
        double started = now(), passed;
        do {
            job.boxes = boxes[calls++ % WINDOWS];
            work();
            passed = now() - started;
        } while (passed < seconds);
        best = calls / passed > best ? calls / passed : best;
    }
    printf("%-32s %8.0f a second, %6.1f us\n", name, best, 1e6 / best);
}

int main(int argc, char **argv) {
    double seconds = argc > 1 ? atof(argv[1]) : 0.25;
    static const uint64_t shape[AXES] = {64, 128, 128};
    damacy_tenant_limits limits = {0};
    limits.struct_size = sizeof limits;
    limits.deadline_s = 10;
    damacy_pool_config config = {0};
    config.struct_size = sizeof config;
    config.limits = &limits;
    check(damacy_pool_create(&config, &pool));
    call.struct_size = sizeof call;
    call.tenant = "one";
    output.struct_size = sizeof output;
    output.samples = SAMPLES;
    output.shape = shape;
    output.rank = AXES;
    array.struct_size = sizeof array;
    job.struct_size = sizeof job;
    job.output = &output;
    job.arrays = &array;
    job.array_count = 1;
    job.box_count = SAMPLES;
    make_crops();

    array.metadata = DOCUMENT;
    array.metadata_bytes = sizeof DOCUMENT - 1;
    array.format = DAMACY_ZARR_V3;
    rate("plan, from a document", seconds, plan);
    rate("parse a document", seconds, parse);
    check(damacy_pool_parse(pool, &call, DOCUMENT, sizeof DOCUMENT - 1, DAMACY_ZARR_V3, &array.facts));
    array.metadata = NULL;
    array.metadata_bytes = 0;
    array.format = 0;
    rate("plan, arrays parsed before", seconds, plan);
    rate("validate, arrays parsed before", seconds, validate);
    rate("estimate of random crops", seconds, estimate);
    check(damacy_facts_destroy(array.facts));
    check(damacy_pool_destroy(pool));
    return 0;
}
