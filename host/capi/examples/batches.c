/* Batches of crops of one array:
 *
 *     batches ARRAY DTYPE START,STOP [START,STOP ...] [> ELEMENTS]
 *
 * ARRAY is a path or a file:// URI, DTYPE the element type of the batches (float32, bf16, u8 ...), and each START,STOP a
 * half-open interval of one axis. Pushes the box twice as an array of samples, then five times from a function, and pops
 * batches of two; the last one is smaller. What is in them goes to stderr, their elements go to stdout. */
#include <damacy.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_AXES = 8, BATCH = 2, FROM_FUNCTION = 5 };

static void check(damacy_status status) {
    if (status != DAMACY_OK) {
        fprintf(stderr, "%s: %s\n", damacy_status_name(status), damacy_last_error());
        exit(10 + status);
    }
}

/* Gives the same crop again and again. */
struct crops {
    damacy_sample sample;
    int left;
};

static int32_t next_crop(void *context, damacy_sample *sample) {
    struct crops *crops = context;
    if (crops->left == 0)
        return 0;
    crops->left -= 1;
    *sample = crops->sample;
    return 1;
}

static void show(damacy_batch *batch) {
    damacy_batch_info info = {0};
    info.struct_size = sizeof info;
    check(damacy_batch_info_get(batch, &info));
    fprintf(stderr, "batch %" PRIu64 ": %s (", info.id, damacy_dtype_name(info.dtype));
    for (size_t axis = 0; axis < info.rank; axis++)
        fprintf(stderr, axis == 0 ? "%" PRIu64 : ", %" PRIu64, info.shape[axis]);
    fprintf(stderr, "), %" PRIu64 " bytes, samples:", info.nbytes);
    for (uint64_t i = 0; i < info.samples; i++)
        fprintf(stderr, " %s", (const char *)info.tags[i]);
    fprintf(stderr, "\n");
    if (fwrite(info.data, 1, info.nbytes, stdout) != info.nbytes)
        exit(1);
}

int main(int argc, char **argv) {
    damacy_interval bounds[MAX_AXES];
    uint64_t shape[MAX_AXES];
    int axes = argc - 3;
    if (axes < 1 || axes > MAX_AXES) {
        fprintf(stderr, "usage: batches ARRAY DTYPE START,STOP [START,STOP ...]\n");
        return 2;
    }
    for (int axis = 0; axis < axes; axis++) {
        if (sscanf(argv[3 + axis], "%" SCNu64 ",%" SCNu64, &bounds[axis].start, &bounds[axis].stop) != 2)
            return 2;
        shape[axis] = bounds[axis].stop - bounds[axis].start;
    }

    damacy_batch_spec output = {0};
    output.struct_size = sizeof output;
    output.samples = BATCH;
    output.shape = shape;
    output.rank = (size_t)axes;
    check(damacy_dtype_parse(argv[2], &output.dtype));

    damacy_pipeline_config config = {0};
    config.struct_size = sizeof config;
    config.output = &output;
    config.partial = DAMACY_KEEP_LAST;
    config.max_memory_bytes = (uint64_t)256 << 20;
    damacy_pipeline *pipeline;
    check(damacy_pipeline_create(&config, &pipeline));

    damacy_sample samples[BATCH] = {{0}};
    char *tags[BATCH] = {"first", "second"};
    for (int i = 0; i < BATCH; i++) {
        samples[i].struct_size = sizeof samples[i];
        samples[i].uri = argv[1];
        samples[i].bounds = bounds;
        samples[i].rank = (size_t)axes;
        samples[i].tag = tags[i];
    }
    check(damacy_push(pipeline, samples, BATCH));

    struct crops crops = {samples[0], FROM_FUNCTION};
    crops.sample.tag = "again";
    damacy_sample_source source = {0};
    source.struct_size = sizeof source;
    source.next = next_crop;
    source.context = &crops;
    check(damacy_push_source(pipeline, &source));

    damacy_batch *batch;
    check(damacy_pop(pipeline, DAMACY_NO_TIMEOUT, &batch));
    for (; batch != NULL; check(damacy_next(pipeline, DAMACY_NO_TIMEOUT, &batch))) {
        show(batch);
        check(damacy_batch_release(batch));
    }

    damacy_stats stats = {0};
    stats.struct_size = sizeof stats;
    check(damacy_pipeline_stats(pipeline, &stats));
    fprintf(stderr, "%" PRIu64 " samples in %" PRIu64 " batches, %" PRIu64 " chunks decoded\n", stats.samples,
            stats.batches, stats.chunks_decoded);
    check(damacy_pipeline_destroy(pipeline));
    return 0;
}
