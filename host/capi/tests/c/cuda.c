/* Batches on a GPU, on the soft CUDA driver: values, streams, the reuse of buffers, what is refused.
 *
 *     cuda STORE ELEMENTS     # a (9, 20, 12) uint16 array, written by zarr-python, and its elements, as numpy has them */
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>

enum { PLANES = 9, ROWS = 20, COLUMNS = 12, ELEMENTS = ROWS * COLUMNS };
static uint16_t elements[PLANES][ELEMENTS];
static void *driver;

/* The driver's function of this name: the program is its user too, as one with kernels of its own would be. */
static void look_up(const char *name, void *function) {
    void *found = dlsym(driver, name);
    CHECK(found != NULL);
    memcpy(function, &found, sizeof found);
}

typedef int (*make_function)(void **made, unsigned flags);
typedef int (*stream_function)(void *stream);
typedef int (*copy_function)(void *to, uint64_t from, size_t bytes, void *stream);

static damacy_pipeline_config config_of(const damacy_batch_spec *spec, const damacy_cuda_executor *cuda) {
    damacy_pipeline_config config;
    memset(&config, 0, sizeof config);
    config.struct_size = sizeof config;
    config.output = spec;
    config.workers = 2;
    config.output_buffers = 2;
    config.max_memory_bytes = (uint64_t)16 << 20;
    config.cuda = cuda;
    return config;
}

static void push_planes(damacy_pipeline *pipeline, const char *store, int planes) {
    for (int i = 0; i < planes; i++) {
        const uint64_t plane = (uint64_t)i % PLANES;
        const damacy_interval bounds[3] = {{plane, plane + 1}, {0, ROWS}, {0, COLUMNS}};
        const damacy_sample sample = sample_of(store, bounds, 3, NULL);
        OK(damacy_push(pipeline, &sample, 1));
    }
}

static void holds(const float *found, int plane) {
    for (int i = 0; i < ELEMENTS; i++)
        CHECK(found[i] == (float)elements[plane % PLANES][i]);
}

/* More batches than there are buffers. Each is copied by the program's own stream, which is waited for at the end alone: the
 * driver would report a copy that came too early, and a buffer written too early would change what it finds. */
static void streams_take_turns(damacy_pipeline *pipeline, const char *store, void *own) {
    enum { BATCHES = 12 };
    int (*allocate)(void **made, size_t bytes, unsigned flags);
    stream_function synchronize, free_pinned;
    copy_function copy;
    look_up("cuMemHostAlloc", &allocate);
    look_up("cuMemFreeHost", &free_pinned);
    look_up("cuMemcpyDtoHAsync_v2", &copy);
    look_up("cuStreamSynchronize", &synchronize);
    float *pinned[BATCHES];
    push_planes(pipeline, store, BATCHES);
    for (int i = 0; i < BATCHES; i++) {
        void *memory;
        CHECK(allocate(&memory, sizeof(float) * ELEMENTS, 0) == 0);
        pinned[i] = memory;
        damacy_batch *batch;
        OK(damacy_pop(pipeline, 60, &batch));
        const damacy_batch_info info = info_of(batch);
        CHECK(info.device_type == 2 && info.device_id == 0 && info.nbytes == sizeof(float) * ELEMENTS);
        OK(damacy_batch_wait(batch, (int64_t)(intptr_t)own));
        OK(damacy_batch_wait(batch, (int64_t)(intptr_t)own));
        CHECK(copy(pinned[i], (uint64_t)(uintptr_t)info.data, info.nbytes, own) == 0);
        OK(damacy_batch_release(batch));
    }
    CHECK(synchronize(own) == 0);
    for (int i = 0; i < BATCHES; i++) {
        holds(pinned[i], i);
        CHECK(free_pinned(pinned[i]) == 0);
    }
}

/* The first members of DLManagedTensorVersioned. */
struct tensor {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct tensor *);
    uint64_t flags;
    void *data;
    int32_t device_type, device_id;
};

static void copies_and_exports(damacy_pipeline *pipeline, const char *store) {
    static float found[ELEMENTS];
    damacy_batch *batch;
    push_planes(pipeline, store, 1);
    OK(damacy_pop(pipeline, 60, &batch));
    OK(damacy_batch_copy(batch, found, sizeof found));
    holds(found, 0);
    REFUSED(damacy_batch_copy(batch, found, sizeof found - 1), "959");
    REFUSED(damacy_batch_copy(batch, NULL, sizeof found), "to is NULL");
    REFUSED(damacy_batch_wait(batch, 0), "ambiguous");
    REFUSED(damacy_batch_wait(batch, -2), "-2");
    OK(damacy_batch_wait(batch, 1));
    OK(damacy_batch_wait(batch, -1));
    struct DLManagedTensorVersioned *managed;
    OK(damacy_batch_dlpack(batch, &managed));
    struct tensor *tensor = (struct tensor *)(void *)managed;
    CHECK(tensor->device_type == 2 && tensor->device_id == 0 && tensor->data == info_of(batch).data);
    OK(damacy_batch_release(batch));
    tensor->deleter(tensor);
    REFUSED(damacy_batch_wait(batch, 1), "batch");
}

/* How often the driver's function of this name was called. */
static long calls(const char *name) {
    static char text[1 << 16];
    char key[64];
    size_t (*report)(char *buffer, size_t size);
    look_up("soft_cuda_report", &report);
    CHECK(report(text, sizeof text) <= sizeof text);
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *found = strstr(text, key);
    CHECK(found != NULL);
    return atol(found + strlen(key));
}

enum { WAITS = 50 };

static void *wait_with_own_default(void *batch) {
    for (int i = 0; i < WAITS; i++)
        OK(damacy_batch_wait(batch, 2));
    return NULL;
}

/* A stream that waits again is not remembered again; a thread's default stream is another in another thread. What is
 * remembered shows at the release: an event is recorded on each stream that the releasing thread can name. */
static void waits_are_remembered_once(damacy_pipeline *pipeline, const char *store, void *own) {
    damacy_batch *batch;
    push_planes(pipeline, store, 1);
    OK(damacy_pop(pipeline, 60, &batch));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, wait_with_own_default, batch) == 0 && pthread_join(thread, NULL) == 0);
    for (int i = 0; i < WAITS; i++) {
        OK(damacy_batch_wait(batch, 2));
        OK(damacy_batch_wait(batch, (int64_t)(intptr_t)own));
    }
    const long before = calls("cuEventRecord");
    OK(damacy_batch_release(batch));
    const long recorded = calls("cuEventRecord") - before;
    CHECK(recorded >= 2 && recorded < WAITS / 2); /* the pipeline may record some of its own */
}

static void refusals(const damacy_batch_spec *spec) {
    damacy_cuda_executor cuda;
    memset(&cuda, 0, sizeof cuda);
    cuda.struct_size = sizeof cuda;
    damacy_pipeline *pipeline;
    damacy_pipeline_config config = config_of(spec, &cuda);
    cuda.choice = 2;
    REFUSED(damacy_pipeline_create(&config, &pipeline), "damacy_cuda_choice");
    cuda.choice = DAMACY_CUDA_CURRENT;
    cuda.device = 1;
    REFUSED(damacy_pipeline_create(&config, &pipeline), "DAMACY_CUDA_CURRENT");
    cuda.choice = DAMACY_CUDA_DEVICE;
    REFUSED(damacy_pipeline_create(&config, &pipeline), "CUDA device 1 does not exist");
    cuda.device = -1;
    REFUSED(damacy_pipeline_create(&config, &pipeline), "-1");
    cuda.device = 0;
    cuda.max_gpu_memory_bytes = 1000;
    EXPECT(damacy_pipeline_create(&config, &pipeline), DAMACY_BUDGET, "max_gpu_memory_bytes");
    cuda.max_gpu_memory_bytes = 0;
    config.engine = DAMACY_SANDBOX;
    REFUSED(damacy_pipeline_create(&config, &pipeline), "DAMACY_SANDBOX");
    REFUSED(damacy_cuda_device_count(NULL), "count");
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    FILE *file = fopen(argv[2], "rb");
    CHECK(file != NULL && fread(elements, 1, sizeof elements, file) == sizeof elements);
    fclose(file);

    uint32_t devices = 9;
    OK(damacy_cuda_device_count(&devices));
    CHECK(devices == 1);
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK(driver != NULL);
    int (*retain)(void **context, int device), (*release)(int device), (*set_current)(void *context);
    make_function create;
    stream_function destroy;
    size_t (*violations)(void);
    look_up("cuDevicePrimaryCtxRetain", &retain);
    look_up("cuDevicePrimaryCtxRelease_v2", &release);
    look_up("cuCtxSetCurrent", &set_current);
    look_up("cuStreamCreate", &create);
    look_up("cuStreamDestroy_v2", &destroy);
    look_up("soft_cuda_violations", &violations);
    void *context, *own;
    CHECK(retain(&context, 0) == 0 && set_current(context) == 0 && create(&own, 1) == 0);

    const uint64_t shape[3] = {1, ROWS, COLUMNS};
    const damacy_batch_spec spec = spec_of(1, shape, 3, DAMACY_F32);
    damacy_cuda_executor cuda;
    memset(&cuda, 0, sizeof cuda);
    cuda.struct_size = sizeof cuda;
    cuda.max_gpu_memory_bytes = (uint64_t)4 << 20;
    for (int choice = 0; choice < 2; choice++) {
        cuda.choice = choice;
        const damacy_pipeline_config config = config_of(&spec, &cuda);
        damacy_pipeline *pipeline;
        OK(damacy_pipeline_create(&config, &pipeline));
        streams_take_turns(pipeline, argv[1], own);
        copies_and_exports(pipeline, argv[1]);
        waits_are_remembered_once(pipeline, argv[1], own);
        damacy_stats stats;
        memset(&stats, 0, sizeof stats);
        stats.struct_size = sizeof stats;
        OK(damacy_pipeline_stats(pipeline, &stats));
        CHECK(stats.upload_bytes >= stats.decoded_bytes && stats.peak_gpu_memory_bytes > 1 << 20);
        OK(damacy_pipeline_destroy(pipeline));
    }
    refusals(&spec);

    CHECK(destroy(own) == 0 && set_current(NULL) == 0 && release(0) == 0);
    CHECK(violations() == 0); /* nothing was left in the context, among other things */
    puts("cuda: ok");
    return 0;
}
