// Places of rows, of one half and of both together.
#include "rows.cuh"

// Adds to the starts of a block's rows the entries before the block.
extern "C" __global__ void rows_rebase(u32* starts, u32 count, u32 before) {
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) starts[i] += before;
}

// Adds the starts of a half's rows to those of the other half's: whole rows begin there. `found` gets their number and the first rows that
// begin at or after a multiple of 2^32 entries, in any order.
extern "C" __global__ void rows_join(const u32* lower, const u32* upper, u64 count, u32* starts, u32* found) {
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) {
        u32 start = lower[i] + upper[i];
        starts[i] = start;
        // A row has fewer than 2^32 entries.
        if (i > 0 && start < lower[i - 1] + upper[i - 1]) {
            u32 at = atomicAdd(found, 1u);
            if (at < MOST_CROSSINGS) found[1 + at] = u32(i);
        }
    }
}
