/* Values: conversions and batches against what others computed.
 *
 *     values STORE ELEMENTS     # a (9, 20, 12) uint16 array, written by zarr-python, and its elements, as numpy has them */
#include "check.h"
#include <stdint.h>

enum { PLANES = 9, ROWS = 20, COLUMNS = 12 };
static uint16_t elements[PLANES][ROWS][COLUMNS];

static void spec_examples(damacy_engine engine) {
    /* The checks of the specification. */
    const int16_t small[3] = {-1, 12, 256};
    uint8_t bytes[3];
    OK(damacy_convert(engine, DAMACY_SOURCE_I16, DAMACY_LITTLE_ENDIAN, DAMACY_U8, small, 6, bytes, 3));
    CHECK(bytes[0] == 0 && bytes[1] == 12 && bytes[2] == 255);

    const uint32_t bits[4] = {0xbff33333, 0x414e6666, 0x7fc00000, 0x7f800000}; /* -1.9, 12.9, NaN, inf */
    int16_t shorts[4];
    OK(damacy_convert(engine, DAMACY_SOURCE_F32, DAMACY_LITTLE_ENDIAN, DAMACY_I16, bits, 16, shorts, 8));
    CHECK(shorts[0] == -1 && shorts[1] == 12 && shorts[2] == 0 && shorts[3] == 32767);

    const uint8_t big[4] = {0x00, 0x07, 0x01, 0x00};
    OK(damacy_convert(engine, DAMACY_SOURCE_U16, DAMACY_BIG_ENDIAN, DAMACY_U8, big, 4, bytes, 2));
    CHECK(bytes[0] == 7 && bytes[1] == 255);
    OK(damacy_convert(engine, DAMACY_SOURCE_U16, DAMACY_BIG_ENDIAN, DAMACY_U8, NULL, 0, NULL, 0));
}

static damacy_conversion conversion_of(damacy_engine engine) {
    damacy_conversion box;
    memset(&box, 0, sizeof box);
    box.struct_size = sizeof box;
    box.engine = engine;
    box.source = DAMACY_SOURCE_U16;
    box.output = DAMACY_F32;
    return box;
}

static void boxes(damacy_engine engine, size_t threads) {
    /* Rows 5..15 and columns 11, 9, ... 1 (backwards) of plane 2, transposed into (6, 10) rows of 16 floats. */
    float out[6][16];
    for (int i = 0; i < 6 * 16; i++)
        out[i / 16][i % 16] = -1.0f;
    const uint64_t extent[2] = {10, 6};
    const ptrdiff_t from[2] = {COLUMNS * 2, -4}, to[2] = {4, 64};
    damacy_conversion box = conversion_of(engine);
    box.rank = 2;
    box.extent = extent;
    box.src = elements;
    box.src_bytes = sizeof elements;
    box.src_offset = ((2 * ROWS + 5) * COLUMNS + 11) * 2;
    box.src_strides = from;
    box.dst = out;
    box.dst_bytes = sizeof out;
    box.dst_strides = to;
    box.threads = threads;
    OK(damacy_convert_box(&box));
    for (int row = 0; row < 10; row++)
        for (int column = 0; column < 6; column++)
            CHECK(out[column][row] == (float)elements[2][5 + row][11 - 2 * column]);
    for (int column = 0; column < 6; column++)
        for (int row = 10; row < 16; row++)
            CHECK(out[column][row] == -1.0f);

    /* C order where no strides are given; a box of rank 0 is one element. */
    static float all[PLANES * ROWS * COLUMNS];
    const uint64_t whole[3] = {PLANES, ROWS, COLUMNS};
    box = conversion_of(engine);
    box.rank = 3;
    box.extent = whole;
    box.src = elements;
    box.src_bytes = sizeof elements;
    box.dst = all;
    box.dst_bytes = sizeof all;
    OK(damacy_convert_box(&box));
    for (int z = 0, i = 0; z < PLANES; z++)
        for (int y = 0; y < ROWS; y++)
            for (int x = 0; x < COLUMNS; x++, i++)
                CHECK(all[i] == (float)elements[z][y][x]);
    box.rank = 0;
    box.extent = NULL;
    box.src_offset = 2;
    all[0] = -1.0f;
    OK(damacy_convert_box(&box));
    CHECK(all[0] == (float)elements[0][0][1]);
}

static void refusals(damacy_engine engine) {
    uint16_t source[8] = {0};
    float out[8];
    memset(out, 0x55, sizeof out);
    float before[8];
    memcpy(before, out, sizeof out);

    /* Not a whole number of elements; a destination too small, or too large. */
    REFUSED(damacy_convert(engine, DAMACY_SOURCE_U16, 0, DAMACY_F32, source, 15, out, 32),
            "15 bytes; accepted is a multiple of 2");
    REFUSED(damacy_convert(engine, DAMACY_SOURCE_U16, 0, DAMACY_F32, source, 16, out, 28), "28 bytes; accepted are 32");
    REFUSED(damacy_convert(engine, DAMACY_SOURCE_U16, 0, DAMACY_F32, source, 14, out, 32), "32 bytes; accepted are 28");
    /* Overlap: the same buffer, and buffers that share their last and first byte. */
    REFUSED(damacy_convert(engine, DAMACY_SOURCE_U32, 0, DAMACY_F32, out, 32, out, 32), "overlap");
    REFUSED(damacy_convert(engine, DAMACY_SOURCE_U8, 0, DAMACY_U8, out, 8, (char *)out + 7, 8), "dst (8 bytes at 0x");
    REFUSED(damacy_convert(engine, DAMACY_SOURCE_U8, 0, DAMACY_U8, (char *)out + 7, 8, out, 8), "overlap");
    OK(damacy_convert(engine, DAMACY_SOURCE_U8, 0, DAMACY_U8, (char *)out + 8, 8, out, 8));
    memcpy(out, before, sizeof out);

    const uint64_t extent[1] = {8};
    const ptrdiff_t wide[1] = {8}, still[1] = {0};
    damacy_conversion box = conversion_of(engine);
    box.rank = 1;
    box.extent = extent;
    box.src = source;
    box.src_bytes = sizeof source;
    box.dst = out;
    box.dst_bytes = sizeof out;
    damacy_conversion bad = box;
    bad.src_offset = 2;
    REFUSED(damacy_convert_box(&bad), "outside the source: its elements lie from byte 2 to byte 18; accepted is from 0 to 16");
    bad = box;
    bad.src_offset = SIZE_MAX;
    REFUSED(damacy_convert_box(&bad), "outside the source");
    bad = box;
    bad.dst_bytes = 31;
    REFUSED(damacy_convert_box(&bad), "outside the destination: its elements lie from byte 0 to byte 32; accepted is from 0 to 31");
    bad = box;
    bad.dst_strides = wide;
    REFUSED(damacy_convert_box(&bad), "from byte 0 to byte 60; accepted is from 0 to 32");
    bad = box;
    bad.dst_strides = still;
    REFUSED(damacy_convert_box(&bad), "they have 32 bytes and lie in 4");
    bad = box;
    bad.dst = source;
    bad.dst_bytes = sizeof source;
    REFUSED(damacy_convert_box(&bad), "overlap");
    bad = box;
    bad.rank = 33;
    REFUSED(damacy_convert_box(&bad), "at most 32");
    const uint64_t huge[2] = {UINT64_MAX, 1};
    bad = box;
    bad.rank = 2;
    bad.extent = huge;
    REFUSED(damacy_convert_box(&bad), "outside");
    CHECK(memcmp(out, before, sizeof out) == 0);
}

static void batches(const char *store, damacy_engine engine, damacy_dtype dtype) {
    const uint64_t shape[3] = {4, 9, 7};
    const damacy_interval crops[3][3] = {
        {{0, 4}, {0, 9}, {0, 7}}, {{5, 9}, {11, 20}, {5, 12}}, {{1, 5}, {3, 12}, {2, 9}}};
    int tags[3];
    damacy_batch_spec spec = spec_of(3, shape, 3, dtype);
    damacy_pipeline *pipeline = pipeline_of(&spec, engine);
    damacy_sample samples[3];
    for (int i = 0; i < 3; i++)
        samples[i] = sample_of(store, crops[i], 3, i == 1 ? NULL : &tags[i]);
    OK(damacy_push(pipeline, samples, 3));
    damacy_batch *batch;
    OK(damacy_pop(pipeline, 60.0, &batch));
    /* Nothing more can come. */
    damacy_batch *none = batch;
    EXPECT(damacy_pop(pipeline, DAMACY_NO_TIMEOUT, &none), DAMACY_AGAIN, "0 of 3 samples pushed");
    CHECK(none == NULL);
    OK(damacy_pipeline_destroy(pipeline));

    damacy_batch_info info = info_of(batch);
    size_t width = damacy_dtype_bytes(dtype);
    CHECK(info.id == 0 && info.samples == 3 && info.dtype == dtype && info.rank == 4);
    CHECK((uintptr_t)info.data % 64 == 0 && info.nbytes == 3 * 4 * 9 * 7 * width);
    CHECK(info.shape[0] == 3 && info.shape[1] == 4 && info.shape[2] == 9 && info.shape[3] == 7);
    CHECK(info.strides[3] == (ptrdiff_t)width && info.strides[0] == (ptrdiff_t)(4 * 9 * 7 * width));
    CHECK(info.tags[0] == &tags[0] && info.tags[1] == NULL && info.tags[2] == &tags[2]);
    for (int i = 0; i < 3; i++)
        for (int z = 0; z < 4; z++)
            for (int y = 0; y < 9; y++)
                for (int x = 0; x < 7; x++) {
                    const char *at = (const char *)info.data + i * info.strides[0] + z * info.strides[1] +
                                     y * info.strides[2] + x * info.strides[3];
                    uint16_t expected = elements[crops[i][0].start + z][crops[i][1].start + y][crops[i][2].start + x];
                    float f32;
                    memcpy(&f32, at, sizeof f32 <= width ? sizeof f32 : 0);
                    if (dtype == DAMACY_F32)
                        CHECK(f32 == (float)expected);
                    else
                        CHECK(*(const uint8_t *)at == (expected > 255 ? 255 : expected));
                }

    static char copied[3 * 4 * 9 * 7 * 4];
    const size_t bytes = (size_t)info.nbytes;
    REFUSED(damacy_batch_copy(batch, NULL, bytes), "to is NULL");
    REFUSED(damacy_batch_copy(batch, copied, bytes - 1), "to be copied");
    /* The batch's own memory, and its last byte alone. */
    REFUSED(damacy_batch_copy(batch, info.data, bytes), "to (");
    REFUSED(damacy_batch_copy(batch, (char *)info.data + bytes - 1, bytes), "the batch's own bytes");
    OK(damacy_batch_copy(batch, copied, bytes));
    CHECK(memcmp(copied, info.data, bytes) == 0);
    OK(damacy_batch_release(batch));
}

/* The worked example of docs/cost-model.md; then as many chunks as cannot be counted one by one. */
static void prices(void) {
    static const char volume[] = "{\"zarr_format\": 2, \"shape\": [256, 512, 512], \"chunks\": [32, 64, 64], \"dtype\": \"<u2\","
                                 " \"order\": \"C\", \"compressor\": null, \"filters\": null, \"fill_value\": 0}";
    static const char vast[] =
        "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [640000, 640000, 640000], \"data_type\": \"float16\","
        " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [64, 64, 64]}},"
        " \"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": \"NaN\","
        " \"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}]}";
    const uint64_t shape[3] = {64, 128, 128};
    damacy_batch_spec spec = spec_of(8, shape, 3, DAMACY_F32);
    damacy_array array = {0};
    array.struct_size = sizeof array;
    array.metadata = volume;
    array.metadata_bytes = sizeof volume - 1;
    array.format = DAMACY_ZARR_V2;
    array.encoded_ratio = 0.5;
    damacy_job job = {0};
    job.struct_size = sizeof job;
    job.output = &spec;
    job.arrays = &array;
    job.array_count = 1;
    job.crops = DAMACY_CROPS_UNIFORM;
    damacy_estimate cost = {0};
    cost.struct_size = sizeof cost;
    OK(damacy_estimate_job(&job, &cost));
    CHECK(cost.certainty != DAMACY_EXACT && cost.samples == 64 && cost.read_known == 1);
    CHECK(cost.needed_bytes == (uint64_t)64 * 64 * 128 * 128 * 2);
    CHECK(cost.output_bytes[DAMACY_F32] == 2 * cost.needed_bytes && cost.output_bytes[DAMACY_I64] == 4 * cost.needed_bytes);
    CHECK(cost.use_waste > 3.285 && cost.use_waste < 3.295 && cost.decode_waste > 0.855 && cost.decode_waste < 0.865);
    CHECK(cost.read_waste > 0.425 && cost.read_waste < 0.435);
    CHECK(cost.host_bytes == cost.buffers * cost.batch_bytes + cost.workers * cost.decode_bytes + cost.plan_bytes);

    array.metadata = vast; /* 10^12 chunks */
    array.metadata_bytes = sizeof vast - 1;
    array.format = DAMACY_ZARR_V3;
    array.encoded_ratio = 0;
    OK(damacy_estimate_job(&job, &cost));
    CHECK(cost.read_known == 0 && cost.read_bytes == 0 && cost.uses > 64 * 12 && cost.uses <= 64 * 27);
    damacy_layout current = {0}, best = {0};
    current.struct_size = sizeof current;
    best.struct_size = sizeof best;
    OK(damacy_advise_layout(&job, 0, &current, &best));
    CHECK(current.rank == 3 && current.chunk_shape[2] == 64 && current.object_shape[0] == 64 && current.chunk_shape[3] == 0);
    CHECK(current.chunk_bytes == 64 * 64 * 64 * 2 && best.decode_waste <= current.decode_waste);
}

/* What zarr-python wrote into the array's metadata. */
static void inspected(const char *store) {
    damacy_inspection *inspection;
    const char *json;
    OK(damacy_inspect(store, &inspection));
    OK(damacy_inspection_json(inspection, &json));
    CHECK(strncmp(json, "{\"kind\":\"array\",", 16) == 0 && json[strlen(json) - 1] == '}');
    CHECK(strstr(json, "\"shape\":[9,20,12]") != NULL && strstr(json, "\"chunk_shape\":[2,5,6]") != NULL);
    CHECK(strstr(json, "\"shard_shapes\":[[4,10,12]]") != NULL && strstr(json, "\"source\":\"uint16\"") != NULL);
    REFUSED(damacy_inspection_json(inspection, NULL), "json is NULL");
    OK(damacy_inspection_destroy(inspection));
    REFUSED(damacy_inspection_json(inspection, &json), "is no inspection");
    OK(damacy_inspection_destroy(NULL));
    inspection = (damacy_inspection *)1;
    EXPECT(damacy_inspect("/no/such/array", &inspection), DAMACY_NOTFOUND, "/no/such/array");
    CHECK(inspection == NULL);
    REFUSED(damacy_inspect(NULL, &inspection), "uri is NULL");
    REFUSED(damacy_inspect(store, NULL), "inspection is NULL");
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    FILE *file = fopen(argv[2], "rb");
    CHECK(file != NULL && fread(elements, 1, sizeof elements, file) == sizeof elements);
    fclose(file);
    for (damacy_engine engine = DAMACY_NATIVE; engine <= DAMACY_SANDBOX; engine++) {
        spec_examples(engine);
        boxes(engine, 1);
        boxes(engine, 0);
        refusals(engine);
        batches(argv[1], engine, DAMACY_F32);
        batches(argv[1], engine, DAMACY_U8);
    }
    prices();
    inspected(argv[1]);
    puts("values: ok");
    return 0;
}
