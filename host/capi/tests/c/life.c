/* Lifetimes and threads.
 *
 *     life STORE [ROUNDS [no-fork]]     # a (9, 20, 12) array
 *
 * A child made by fork leaves alone what its parent's threads held, which memcheck would call lost there: hence no-fork. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4 };
static const char *store;
static const uint64_t shape[3] = {2, 3, 4};
static const damacy_interval corner[3] = {{0, 2}, {0, 3}, {0, 4}};

static void sleep_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* A source of `count` samples, each with the next number as its tag. */
struct counted {
    long given, count;
    int32_t then;       /* what follows them */
    const char *text;   /* the text of that failure */
    long delay_ms;
    int in_next;        /* calls under way */
    int finished;       /* calls of finish */
};

static int32_t next_counted(void *context, damacy_sample *sample) {
    struct counted *counted = context;
    CHECK(__atomic_add_fetch(&counted->in_next, 1, __ATOMIC_SEQ_CST) == 1);
    CHECK(sample->struct_size == sizeof *sample && sample->uri == NULL && sample->tag == NULL);
    if (counted->delay_ms > 0)
        sleep_ms(counted->delay_ms);
    int32_t answer = 1;
    if (counted->given == counted->count) {
        answer = counted->then;
        if (counted->text != NULL)
            OK(damacy_set_error(counted->text));
    } else {
        *sample = sample_of(store, corner, 3, (void *)(intptr_t)(counted->given + 1));
        counted->given += 1;
    }
    __atomic_sub_fetch(&counted->in_next, 1, __ATOMIC_SEQ_CST);
    return answer;
}

static void finish_counted(void *context) {
    struct counted *counted = context;
    __atomic_add_fetch(&counted->finished, 1, __ATOMIC_SEQ_CST);
}

static damacy_sample_source source_of(struct counted *counted) {
    damacy_sample_source source = {0};
    source.struct_size = sizeof source;
    source.next = next_counted;
    source.finish = finish_counted;
    source.context = counted;
    return source;
}

static int finished(struct counted *counted) {
    for (int waited = 0; waited < 20000 && __atomic_load_n(&counted->finished, __ATOMIC_SEQ_CST) == 0; waited += 5)
        sleep_ms(5);
    return __atomic_load_n(&counted->finished, __ATOMIC_SEQ_CST);
}

/* Pops from several threads: every tag comes out once. */
static unsigned char seen[2001];

static void *pop_all(void *argument) {
    damacy_pipeline *pipeline = argument;
    for (;;) {
        damacy_batch *batch;
        OK(damacy_next(pipeline, DAMACY_NO_TIMEOUT, &batch));
        if (batch == NULL)
            return NULL;
        damacy_batch_info info = info_of(batch);
        for (uint64_t i = 0; i < info.samples; i++) {
            intptr_t tag = (intptr_t)info.tags[i];
            CHECK(tag == (intptr_t)(info.id * 4 + i + 1));
            CHECK(__atomic_add_fetch(&seen[tag], 1, __ATOMIC_SEQ_CST) == 1);
        }
        OK(damacy_batch_release(batch));
    }
}

static void several_threads_pop(long samples) {
    damacy_batch_spec spec = spec_of(4, shape, 3, DAMACY_F32);
    damacy_pipeline *pipeline = pipeline_of(&spec, DAMACY_NATIVE);
    struct counted counted = {0, samples, 0, NULL, 0, 0, 0};
    damacy_sample_source source = source_of(&counted);
    OK(damacy_push_source(pipeline, &source));
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, pop_all, pipeline) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (long tag = 1; tag <= samples; tag++)
        CHECK(seen[tag] == 1);
    CHECK(finished(&counted) == 1);
    damacy_stats stats = {0};
    stats.struct_size = sizeof stats;
    OK(damacy_pipeline_stats(pipeline, &stats));
    CHECK(stats.samples == (uint64_t)samples && stats.batches == (uint64_t)samples / 4 && stats.chunks_decoded > 0);
    CHECK(stats.output_bytes == stats.samples * 2 * 3 * 4 * 4 && stats.buffers_held == 0 && stats.wait_s >= 0);
    /* Later windows read the same crop again. */
    CHECK((stats.cache_hits > 0) == (stats.windows > 1));
    CHECK(stats.cache_bytes > 0 && stats.cache_bytes <= stats.memory_bytes);
    CHECK(stats.allocate_s >= 0);
    OK(damacy_pipeline_reset_stats(pipeline));
    OK(damacy_pipeline_stats(pipeline, &stats));
    CHECK(stats.samples == 0);
    OK(damacy_pipeline_destroy(pipeline));
    REFUSED(damacy_pipeline_destroy(pipeline), "is no pipeline");
}

/* Pops until the pipeline is gone, and keeps nothing. */
static void *pop_until_gone(void *argument) {
    for (;;) {
        damacy_batch *batch;
        damacy_status status = damacy_pop(argument, DAMACY_NO_TIMEOUT, &batch);
        if (status == DAMACY_OK) {
            OK(damacy_batch_release(batch));
            continue;
        }
        CHECK(batch == NULL);
        CHECK(status == DAMACY_SHUTDOWN || status == DAMACY_INVAL);
        return NULL;
    }
}

/* Destroys a pipeline while threads wait in pop, or are about to. */
static void destroy_while_popping(long delay_ms) {
    damacy_batch_spec spec = spec_of(4, shape, 3, DAMACY_U16);
    damacy_pipeline *pipeline = pipeline_of(&spec, DAMACY_NATIVE);
    struct counted counted = {0, 1000000, 0, NULL, delay_ms, 0, 0};
    damacy_sample_source source = source_of(&counted);
    OK(damacy_push_source(pipeline, &source));
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, pop_until_gone, pipeline) == 0);
    sleep_ms(30);
    OK(damacy_pipeline_destroy(pipeline));
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(finished(&counted) == 1);
}

/* Retains and releases from several threads; the batch outlives its pipeline. */
struct shared {
    damacy_batch *batch;
    uint64_t id;
};

static void *retain_and_release(void *argument) {
    struct shared *shared = argument;
    for (int i = 0; i < 500; i++) {
        OK(damacy_batch_retain(shared->batch));
        damacy_batch_info info = info_of(shared->batch);
        CHECK(info.id == shared->id && ((const volatile char *)info.data)[info.nbytes - 1] >= -128);
        OK(damacy_batch_release(shared->batch));
    }
    OK(damacy_batch_release(shared->batch)); /* its own */
    return NULL;
}

static void batches_are_counted(void) {
    damacy_batch_spec spec = spec_of(1, shape, 3, DAMACY_I64);
    damacy_pipeline *pipeline = pipeline_of(&spec, DAMACY_NATIVE);
    damacy_sample sample = sample_of(store, corner, 3, NULL);
    OK(damacy_push(pipeline, &sample, 1));
    struct shared shared = {NULL, 0};
    OK(damacy_pop(pipeline, 60.0, &shared.batch));
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        OK(damacy_batch_retain(shared.batch));
        CHECK(pthread_create(&threads[i], NULL, retain_and_release, &shared) == 0);
    }
    OK(damacy_pipeline_destroy(pipeline));
    OK(damacy_batch_release(shared.batch));
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    REFUSED(damacy_batch_release(shared.batch), "is no batch");
    REFUSED(damacy_batch_retain(shared.batch), "is no batch");
}

/* A source's failure is the error of its batch, sticky, with its text; earlier batches come out first. */
static void sources_fail(void) {
    damacy_batch_spec spec = spec_of(2, shape, 3, DAMACY_F32);
    const struct {
        int32_t then;
        const char *text;
        damacy_status status;
        const char *part;
    } cases[] = {
        {-DAMACY_IO, "the list of crops is gone", DAMACY_IO, "the list of crops is gone"},
        {-DAMACY_NOTFOUND, NULL, DAMACY_NOTFOUND, "sample 3 of the source"},
        {7, NULL, DAMACY_INVAL, "returned 7"},
        {INT32_MIN, NULL, DAMACY_INVAL, "returned -2147483648"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        damacy_pipeline *pipeline = pipeline_of(&spec, DAMACY_NATIVE);
        struct counted counted = {0, 3, cases[i].then, cases[i].text, 0, 0, 0};
        damacy_sample_source source = source_of(&counted);
        OK(damacy_push_source(pipeline, &source));
        damacy_batch *batch;
        OK(damacy_pop(pipeline, 60.0, &batch));
        OK(damacy_batch_release(batch));
        for (int again = 0; again < 2; again++)
            EXPECT(damacy_pop(pipeline, 60.0, &batch), cases[i].status, cases[i].part);
        OK(damacy_pipeline_close(pipeline));
        OK(damacy_pipeline_close(pipeline));
        CHECK(finished(&counted) == 1);
        EXPECT(damacy_pop(pipeline, 0.0, &batch), DAMACY_SHUTDOWN, "closed");
        /* A push that fails leaves the source to its caller. */
        counted.finished = 0;
        EXPECT(damacy_push_source(pipeline, &source), DAMACY_SHUTDOWN, "closed");
        CHECK(counted.finished == 0);
        OK(damacy_pipeline_destroy(pipeline));
    }
}

/* A pipeline whose buffers are all held: AGAIN, marked as starved. */
static void starvation(void) {
    damacy_batch_spec spec = spec_of(1, shape, 3, DAMACY_F32);
    damacy_pipeline_config config = {0};
    config.struct_size = sizeof config;
    config.output = &spec;
    config.output_buffers = 2;
    config.pop_timeout_s = 0.05;
    damacy_pipeline *pipeline;
    OK(damacy_pipeline_create(&config, &pipeline));
    struct counted counted = {0, 100, 0, NULL, 0, 0, 0};
    damacy_sample_source source = source_of(&counted);
    OK(damacy_push_source(pipeline, &source));
    damacy_batch *batches[3];
    OK(damacy_pop(pipeline, 60.0, &batches[0]));
    OK(damacy_pop(pipeline, 60.0, &batches[1]));
    EXPECT(damacy_pop(pipeline, 60.0, &batches[2]), DAMACY_AGAIN, "2 of 2 output buffers");
    damacy_error_info error = {0};
    error.struct_size = sizeof error;
    OK(damacy_last_error_info(&error));
    CHECK(error.status == DAMACY_AGAIN && error.starved == 1 && strcmp(error.stage, "pop") == 0);
    OK(damacy_batch_release(batches[0]));
    OK(damacy_pop(pipeline, 60.0, &batches[2]));
    OK(damacy_batch_release(batches[1]));
    OK(damacy_batch_release(batches[2]));
    OK(damacy_pipeline_destroy(pipeline));
    CHECK(finished(&counted) == 1);
}

/* The last error is the thread's own. */
static void *own_error(void *argument) {
    (void)argument;
    CHECK(damacy_last_error()[0] == '\0');
    REFUSED(damacy_batch_retain(NULL), "the batch is NULL");
    return NULL;
}

static void errors_belong_to_threads(void) {
    damacy_dtype dtype = -5;
    REFUSED(damacy_dtype_parse("float64", &dtype), "float64");
    CHECK(dtype == -5);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, own_error, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(strstr(damacy_last_error(), "float64") != NULL);
}

/* A child knows nothing of its parent's objects, and can make its own. */
static void forks(void) {
    damacy_batch_spec spec = spec_of(1, shape, 3, DAMACY_F32);
    damacy_pipeline *pipeline = pipeline_of(&spec, DAMACY_NATIVE);
    damacy_sample sample = sample_of(store, corner, 3, NULL);
    damacy_batch *batch;
    OK(damacy_push(pipeline, &sample, 1));
    OK(damacy_pop(pipeline, 60.0, &batch));
    float first = *(const float *)info_of(batch).data;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        REFUSED(damacy_push(pipeline, &sample, 1), "forked");
        REFUSED(damacy_batch_release(batch), "forked");
        damacy_pipeline *own = pipeline_of(&spec, DAMACY_NATIVE);
        OK(damacy_push(own, &sample, 1));
        OK(damacy_pop(own, 60.0, &batch));
        CHECK(*(const float *)info_of(batch).data == first);
        OK(damacy_batch_release(batch));
        OK(damacy_pipeline_destroy(own));
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(damacy_batch_release(batch));
    OK(damacy_pipeline_destroy(pipeline));
}

static int logging, stop_logging, logged;

/* Stays in the call until it is told to leave. */
static void log_slowly(void *context, damacy_log_level level, const char *message) {
    (void)context, (void)level, (void)message;
    __atomic_store_n(&logging, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&stop_logging, __ATOMIC_SEQ_CST))
        sleep_ms(1);
}

static void log_counted(void *context, damacy_log_level level, const char *message) {
    (void)context, (void)level, (void)message;
    __atomic_add_fetch(&logged, 1, __ATOMIC_SEQ_CST);
}

/* Destroys a pipeline whose source is busy, which is logged. */
static void *destroy_busy(void *argument) {
    (void)argument;
    damacy_batch_spec spec = spec_of(1, shape, 3, DAMACY_F32);
    damacy_pipeline *pipeline = pipeline_of(&spec, DAMACY_NATIVE);
    struct counted counted = {0};
    counted.count = 1;
    counted.delay_ms = 500;
    damacy_sample_source source = source_of(&counted);
    OK(damacy_push_source(pipeline, &source));
    for (int waited = 0; waited < 20000 && __atomic_load_n(&counted.in_next, __ATOMIC_SEQ_CST) == 0; waited++)
        sleep_ms(1);
    OK(damacy_pipeline_destroy(pipeline));
    CHECK(finished(&counted) == 1);
    return NULL;
}

/* A child is not held up by a log call of its parent, logs nothing of its own accord, and logs what it asks for. */
static void forks_while_logging(void) {
    OK(damacy_set_log(DAMACY_LOG_DEBUG, log_slowly, NULL));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, destroy_busy, NULL) == 0);
    for (int waited = 0; waited < 20000 && !__atomic_load_n(&logging, __ATOMIC_SEQ_CST); waited++)
        sleep_ms(1);
    CHECK(__atomic_load_n(&logging, __ATOMIC_SEQ_CST));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        destroy_busy(NULL);
        OK(damacy_set_log(DAMACY_LOG_DEBUG, log_counted, NULL));
        destroy_busy(NULL);
        CHECK(__atomic_load_n(&logged, __ATOMIC_SEQ_CST) >= 1);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    __atomic_store_n(&stop_logging, 1, __ATOMIC_SEQ_CST);
    CHECK(pthread_join(thread, NULL) == 0);
    OK(damacy_set_log(DAMACY_LOG_OFF, NULL, NULL));
}

/* DLPack 1.0, as dlpack.h lays it out. */
struct DLManagedTensorVersioned {
    struct {
        uint32_t major, minor;
    } version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    struct {
        void *data;
        struct {
            int32_t device_type, device_id;
        } device;
        int32_t ndim;
        struct {
            uint8_t code, bits;
            uint16_t lanes;
        } dtype;
        int64_t *shape, *strides;
        uint64_t byte_offset;
    } dl_tensor;
};

static void exports(void) {
    damacy_batch_spec spec = spec_of(2, shape, 3, DAMACY_BF16);
    damacy_pipeline *pipeline = pipeline_of(&spec, DAMACY_NATIVE);
    damacy_sample samples[2] = {sample_of(store, corner, 3, NULL), sample_of(store, corner, 3, NULL)};
    damacy_batch *batch;
    OK(damacy_push(pipeline, samples, 2));
    OK(damacy_pop(pipeline, 60.0, &batch));
    struct DLManagedTensorVersioned *tensor;
    OK(damacy_batch_dlpack(batch, &tensor));
    void *data = info_of(batch).data;
    OK(damacy_batch_release(batch));
    OK(damacy_pipeline_destroy(pipeline));
    CHECK(tensor->version.major == 1 && tensor->dl_tensor.data == data && tensor->dl_tensor.byte_offset == 0);
    CHECK(tensor->dl_tensor.device.device_type == 1 && tensor->dl_tensor.ndim == 4);
    CHECK(tensor->dl_tensor.dtype.code == 4 && tensor->dl_tensor.dtype.bits == 16 && tensor->dl_tensor.dtype.lanes == 1);
    const int64_t extents[4] = {2, 2, 3, 4}, strides[4] = {24, 12, 4, 1};
    CHECK(memcmp(tensor->dl_tensor.shape, extents, sizeof extents) == 0);
    CHECK(memcmp(tensor->dl_tensor.strides, strides, sizeof strides) == 0);
    const uint16_t *elements = data; /* still there: both crops are the same */
    for (int i = 0; i < 24; i++)
        CHECK(elements[i] == elements[24 + i]);
    tensor->deleter(tensor);
}

/* Pages of the process that are in memory. */
static long resident_pages(void) {
    long all, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%ld %ld", &all, &resident) == 2);
    fclose(file);
    return resident;
}

/* In host memory there is nothing to wait for, and nothing to remember about who asked. */
static void waits_for_nothing(void) {
    enum { CALLS = 100000 };
    damacy_batch_spec spec = spec_of(1, shape, 3, DAMACY_F32);
    damacy_pipeline *pipeline = pipeline_of(&spec, DAMACY_NATIVE);
    damacy_sample sample = sample_of(store, corner, 3, NULL);
    damacy_batch *batch;
    OK(damacy_push(pipeline, &sample, 1));
    OK(damacy_pop(pipeline, 60.0, &batch));
    OK(damacy_batch_wait(batch, 2));
    const long before = resident_pages();
    for (int64_t stream = 3; stream < CALLS; stream++)
        OK(damacy_batch_wait(batch, stream));
    /* Less than 20 bytes a call. */
    CHECK((resident_pages() - before) * sysconf(_SC_PAGESIZE) < 20L * CALLS);
    OK(damacy_batch_release(batch));
    OK(damacy_pipeline_destroy(pipeline));
}

int main(int argc, char **argv) {
    CHECK(argc >= 2);
    store = argv[1];
    long rounds = argc > 2 ? atol(argv[2]) : 10;
    waits_for_nothing(); /* first, while there is no freed memory to use again */
    errors_belong_to_threads();
    several_threads_pop(rounds * 200);
    for (long i = 0; i < rounds; i++) {
        destroy_while_popping(0);
        destroy_while_popping(1);
        batches_are_counted();
    }
    sources_fail();
    starvation();
    exports();
    if (argc <= 3) {
        forks();
        forks_while_logging();
    }
    puts("life: ok");
    return 0;
}
