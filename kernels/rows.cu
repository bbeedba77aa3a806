// Computes row starts: those of one half, and those of whole rows (both halves joined).
#include "rows.cuh"

// Adds `before`, the number of entries in earlier blocks, to the row starts of a block.
extern "C" __global__ void rows_rebase(u32* starts, u32 count, u32 before) {
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) starts[i] += before;
}

// Adds the row starts of both halves, which gives the starts of whole rows modulo 2^32. Finds the crossings: the rows that are the first to begin at
// or after a multiple of 2^32 entries. Stores their number in found[0], and the rows in the following elements, in any order.
extern "C" __global__ void rows_join(const u32* lower, const u32* upper, u64 count, u32* starts, u32* found) {
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) {
        u32 start = lower[i] + upper[i];
        starts[i] = start;
        // A row has fewer than 2^32 entries. So a start that is smaller than the previous one means that exactly one multiple was passed.
        if (i > 0 && start < lower[i - 1] + upper[i - 1]) {
            u32 at = atomicAdd(found, 1u);
            if (at < MOST_CROSSINGS) found[1 + at] = u32(i);
        }
    }
}
