// Computes where rows begin: the rows of one half, and whole rows.
#include "rows.cuh"

// Adds `before`, the number of entries before a block, to the starts of the block's rows.
extern "C" __global__ void rows_rebase(u32* starts, u32 count, u32 before) {
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) starts[i] += before;
}

// Adds the starts of both halves' rows, which gives the starts of whole rows. `found` gets the number of rows that are the first to begin at or
// after a multiple of 2^32 entries, and then these rows in any order.
extern "C" __global__ void rows_join(const u32* lower, const u32* upper, u64 count, u32* starts, u32* found) {
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) {
        u32 start = lower[i] + upper[i];
        starts[i] = start;
        // A row has fewer than 2^32 entries, so a smaller start means that one multiple was passed.
        if (i > 0 && start < lower[i - 1] + upper[i - 1]) {
            u32 at = atomicAdd(found, 1u);
            if (at < MOST_CROSSINGS) found[1 + at] = u32(i);
        }
    }
}
