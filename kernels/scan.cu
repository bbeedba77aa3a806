// Computes exclusive prefix sums of an array in place, in three launches: the sum of each tile (SCAN_TILE values), the prefix sums of these sums, and
// the prefix sums within each tile.
#include "common.cuh"

constexpr u32 SCAN_THREADS = 256;
constexpr u32 SCAN_EACH = 16;
constexpr u32 SCAN_TILE = SCAN_THREADS * SCAN_EACH;

// Sets sums[t] to the sum of tile t.
extern "C" __global__ void __launch_bounds__(SCAN_THREADS) scan_sums(const u32* values, u32 count, u32* sums) {
    __shared__ u32 scratch[32];
    u32 start = blockIdx.x * SCAN_TILE, sum = 0, total;
    for (u32 i = 0; i < SCAN_EACH; i++) {
        u32 at = start + i * SCAN_THREADS + threadIdx.x;
        if (at < count) sum += values[at];
    }
    block_scan_before(sum, scratch, total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

// Replaces each tile sum by the sum of the tiles before it. Runs as one block of threads.
extern "C" __global__ void __launch_bounds__(1024) scan_tiles(u32* sums, u32 count) {
    __shared__ u32 scratch[32];
    u32 carry = 0;
    for (u32 start = 0; start < count; start += blockDim.x) {
        u32 at = start + threadIdx.x, total;
        u32 before = block_scan_before(at < count ? sums[at] : 0, scratch, total);
        if (at < count) sums[at] = carry + before;
        carry += total;
    }
}

// Replaces each value by the sum of all values before it. `sums` contains the sum of all values before each tile.
extern "C" __global__ void __launch_bounds__(SCAN_THREADS) scan_values(u32* values, u32 count, const u32* sums) {
    __shared__ u32 scratch[32];
    __shared__ u32 tile[SCAN_TILE + SCAN_TILE / SCAN_EACH];
    u32 start = blockIdx.x * SCAN_TILE;
    // Values pass through shared memory, so that global loads and stores are coalesced. A word of padding after every 16 values avoids bank
    // conflicts.
    for (u32 i = threadIdx.x; i < SCAN_TILE; i += SCAN_THREADS)
        tile[i + i / SCAN_EACH] = start + i < count ? values[start + i] : 0;
    __syncthreads();
    u32* mine = tile + threadIdx.x * (SCAN_EACH + 1);
    u32 sum = 0, total;
    for (u32 i = 0; i < SCAN_EACH; i++) sum += mine[i];
    u32 next = sums[blockIdx.x] + block_scan_before(sum, scratch, total);
    for (u32 i = 0; i < SCAN_EACH; i++) {
        u32 value = mine[i];
        mine[i] = next;
        next += value;
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < SCAN_TILE; i += SCAN_THREADS)
        if (start + i < count) values[start + i] = tile[i + i / SCAN_EACH];
}
