/* For the tests: a condition that does not hold ends the program, saying where and what damacy said last. */
#ifndef CHECK_H
#define CHECK_H

#include <damacy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                       \
    do {                                                                                                       \
        if (!(condition)) {                                                                                    \
            fprintf(stderr, "%s:%d: %s does not hold; last error: %s\n", __FILE__, __LINE__, #condition,         \
                    damacy_last_error());                                                                      \
            exit(1);                                                                                           \
        }                                                                                                      \
    } while (0)

/* The call ends with this status; for failures, its text contains `part`. */
#define EXPECT(call, expected, part)                                                                            \
    do {                                                                                                       \
        damacy_status status_ = (call);                                                                        \
        if (status_ != (expected) || (status_ != DAMACY_OK && strstr(damacy_last_error(), (part)) == NULL)) {    \
            fprintf(stderr, "%s:%d: %s is %s, not %s with \"%s\"; last error: %s\n", __FILE__, __LINE__, #call,   \
                    damacy_status_name(status_), damacy_status_name(expected), (part), damacy_last_error());     \
            exit(1);                                                                                           \
        }                                                                                                      \
    } while (0)

#define OK(call) EXPECT(call, DAMACY_OK, "")
#define REFUSED(call, part) EXPECT(call, DAMACY_INVAL, part)

/* A spec of `samples` crops of `shape` (an array), as dtype. */
static inline damacy_batch_spec spec_of(uint64_t samples, const uint64_t *shape, size_t rank, damacy_dtype dtype) {
    damacy_batch_spec spec;
    memset(&spec, 0, sizeof spec);
    spec.struct_size = sizeof spec;
    spec.samples = samples;
    spec.shape = shape;
    spec.rank = rank;
    spec.dtype = dtype;
    return spec;
}

static inline damacy_pipeline *pipeline_of(const damacy_batch_spec *spec, damacy_engine engine) {
    damacy_pipeline_config config;
    damacy_pipeline *pipeline;
    memset(&config, 0, sizeof config);
    config.struct_size = sizeof config;
    config.output = spec;
    config.engine = engine;
    config.workers = 2;
    config.max_memory_bytes = (uint64_t)64 << 20;
    config.chunk_cache_bytes = (uint64_t)1 << 20;
    OK(damacy_pipeline_create(&config, &pipeline));
    return pipeline;
}

static inline damacy_sample sample_of(const char *uri, const damacy_interval *bounds, size_t rank, void *tag) {
    damacy_sample sample;
    memset(&sample, 0, sizeof sample);
    sample.struct_size = sizeof sample;
    sample.uri = uri;
    sample.bounds = bounds;
    sample.rank = rank;
    sample.tag = tag;
    return sample;
}

static inline damacy_batch_info info_of(damacy_batch *batch) {
    damacy_batch_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    OK(damacy_batch_info_get(batch, &info));
    return info;
}

#endif
