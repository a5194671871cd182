/* What a job would read, and what it would cost, before a byte of data is read:
 *
 *     plan ARRAY DTYPE START,STOP [START,STOP ...]
 *
 * Prints the stored objects that hold the box's chunks, and what random crops of the box's shape would cost. The array's
 * metadata is read by this program and handed over as bytes, as a scheduler would do with what a tenant sent: parsing and
 * planning run in a sandbox and do no I/O. */
#include <damacy.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_AXES = 8, MAX_BYTES = 1 << 20 };

static void check(damacy_status status) {
    if (status != DAMACY_OK) {
        fprintf(stderr, "%s: %s\n", damacy_status_name(status), damacy_last_error());
        exit(10 + status);
    }
}

/* The array's zarr.json, else its .zarray. */
static damacy_array read_metadata(const char *folder, char *bytes) {
    static const struct {
        const char *name;
        damacy_zarr_format format;
    } documents[] = {{"zarr.json", DAMACY_ZARR_V3}, {".zarray", DAMACY_ZARR_V2}};
    damacy_array array = {0};
    array.struct_size = sizeof array;
    array.uri = folder;
    for (int i = 0; i < 2; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, documents[i].name);
        FILE *file = fopen(path, "rb");
        if (file == NULL)
            continue;
        array.metadata = bytes;
        array.metadata_bytes = fread(bytes, 1, MAX_BYTES, file);
        array.format = documents[i].format;
        fclose(file);
        return array;
    }
    fprintf(stderr, "%s: neither zarr.json nor .zarray\n", folder);
    exit(1);
}

static void print_plan(const damacy_job *job) {
    damacy_plan *plan;
    damacy_plan_info info = {0};
    damacy_array_info array = {0};
    info.struct_size = sizeof info;
    array.struct_size = sizeof array;
    check(damacy_plan_create(job, &plan));
    check(damacy_plan_info_get(plan, &info));
    check(damacy_plan_array(plan, 0, &array));
    printf("%s array of %zu axes, %zu chunks, decode waste %.2f\n", array.data_type, array.rank, info.chunk_count,
           info.decode_waste);
    for (size_t chunk = 0; chunk < info.chunk_count; chunk++) {
        char key[256];
        check(damacy_plan_object_key(plan, chunk, key, sizeof key, NULL));
        printf("chunk");
        for (size_t axis = 0; axis < info.rank; axis++)
            printf(" %" PRIu64, info.coords[chunk * info.rank + axis]);
        printf(" in %s\n", key);
    }
    check(damacy_plan_destroy(plan));
}

static void print_cost(const damacy_job *job) {
    damacy_estimate cost = {0};
    damacy_layout current = {0}, best = {0};
    damacy_lookahead ahead = {0};
    cost.struct_size = sizeof cost;
    current.struct_size = sizeof current;
    best.struct_size = sizeof best;
    ahead.struct_size = sizeof ahead;
    check(damacy_estimate_job(job, &cost));
    check(damacy_advise_layout(job, 0, &current, &best));
    check(damacy_advise_lookahead(job, &ahead));
    printf("random crops, windows of %" PRIu64 ": %.1f chunks a crop, decode waste %.2f, host memory %" PRIu64 " bytes\n",
           cost.samples, cost.uses / (double)cost.samples, cost.decode_waste, cost.host_bytes);
    printf("better chunks:");
    for (size_t axis = 0; axis < best.rank; axis++)
        printf(" %" PRIu64, best.chunk_shape[axis]);
    printf(", decode waste %.2f instead of %.2f\n", best.decode_waste, current.decode_waste);
    printf("look ahead %" PRIu64 " samples\n", ahead.enough);
}

int main(int argc, char **argv) {
    static char bytes[MAX_BYTES];
    damacy_interval bounds[MAX_AXES];
    uint64_t shape[MAX_AXES];
    int axes = argc - 3;
    if (axes < 1 || axes > MAX_AXES) {
        fprintf(stderr, "usage: plan ARRAY DTYPE START,STOP [START,STOP ...]\n");
        return 2;
    }
    for (int axis = 0; axis < axes; axis++) {
        if (sscanf(argv[3 + axis], "%" SCNu64 ",%" SCNu64, &bounds[axis].start, &bounds[axis].stop) != 2)
            return 2;
        shape[axis] = bounds[axis].stop - bounds[axis].start;
    }

    damacy_batch_spec output = {0};
    output.struct_size = sizeof output;
    output.samples = 8;
    output.shape = shape;
    output.rank = (size_t)axes;
    check(damacy_dtype_parse(argv[2], &output.dtype));
    damacy_array array = read_metadata(argv[1], bytes);
    damacy_box box = {0};
    box.struct_size = sizeof box;
    box.bounds = bounds;
    box.rank = (size_t)axes;

    damacy_job job = {0};
    job.struct_size = sizeof job;
    job.output = &output;
    job.arrays = &array;
    job.array_count = 1;
    job.boxes = &box;
    job.box_count = 1;
    print_plan(&job);

    job.crops = DAMACY_CROPS_UNIFORM;
    job.boxes = NULL;
    job.box_count = 0;
    print_cost(&job);
    return 0;
}
