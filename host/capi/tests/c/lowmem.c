/* Where address space is limited (valgrind, ulimit -v): a batch comes out, and the log says which memory the sandbox took.
 *
 *     lowmem STORE     # a (9, 20, 12) uint16 array; prints the log and "lowmem: ok"
 */
#include "check.h"

static void print(void *context, damacy_log_level level, const char *message) {
    CHECK(level <= DAMACY_LOG_WARN);
    fprintf(context, "%s\n", message);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    OK(damacy_set_log(DAMACY_LOG_WARN, print, stdout));
    const uint64_t shape[3] = {9, 20, 12};
    const damacy_interval whole[3] = {{0, 9}, {0, 20}, {0, 12}};
    damacy_batch_spec spec = spec_of(2, shape, 3, DAMACY_I64);
    for (damacy_engine engine = DAMACY_NATIVE; engine <= DAMACY_SANDBOX; engine++) {
        damacy_pipeline *pipeline = pipeline_of(&spec, engine);
        damacy_sample samples[2] = {sample_of(argv[1], whole, 3, NULL), sample_of(argv[1], whole, 3, NULL)};
        damacy_batch *batch;
        OK(damacy_push(pipeline, samples, 2));
        OK(damacy_pop(pipeline, DAMACY_NO_TIMEOUT, &batch));
        damacy_batch_info info = info_of(batch);
        CHECK(memcmp(info.data, (const char *)info.data + info.strides[0], (size_t)info.strides[0]) == 0);
        OK(damacy_batch_release(batch));
        OK(damacy_pipeline_destroy(pipeline));
    }
    OK(damacy_set_log(DAMACY_LOG_OFF, NULL, NULL));
    puts("lowmem: ok");
    return 0;
}
