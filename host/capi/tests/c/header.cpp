// The header in C++17: structs start as {}, enumerators convert, functions link with C's names.
#include <damacy.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

int main() {
    static_assert(DAMACY_I64 == 9 && DAMACY_INTERNAL == 13, "numbers of the specification");
    const std::vector<std::uint64_t> shape{2, 2};
    damacy_batch_spec output{};
    output.struct_size = sizeof output;
    output.samples = 0;
    output.shape = shape.data();
    output.rank = shape.size();
    output.dtype = DAMACY_U8;
    damacy_pipeline_config config{};
    config.struct_size = sizeof config;
    config.output = &output;
    damacy_pipeline *pipeline = nullptr;
    if (damacy_pipeline_create(&config, &pipeline) != DAMACY_INVAL || pipeline != nullptr)
        return 1;
    if (std::strstr(damacy_last_error(), "samples = 0") == nullptr)
        return 1;
    damacy_tenant_limits limits{};
    limits.struct_size = sizeof limits;
    limits.waiting = DAMACY_NO_WAITING;
    limits.deadline_s = -1;
    damacy_pool_config pool_config{};
    pool_config.struct_size = sizeof pool_config;
    pool_config.limits = &limits;
    damacy_pool *pool = nullptr;
    if (damacy_pool_create(&pool_config, &pool) != DAMACY_INVAL || pool != nullptr)
        return 1;
    std::puts("header: ok");
    return 0;
}
