// Kernels whose blocks wait for each other, which only a cooperative launch may do.
#include "common.cuh"

// Waits until `blocks` blocks have come here once more than at the time before.
__device__ inline void all_blocks(u64* arrived, u64& target, u32 blocks) {
    __syncthreads();
    target += blocks;
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1ull);
        while (*(volatile u64*)arrived < target) YIELD();
        __threadfence();
    }
    __syncthreads();
}

// Passes words on from block to block, by way of shared memory, which is each block's own. Blocks from `skips` on leave before the
// last round.
extern "C" __global__ void __launch_bounds__(256) pass_on(u32* words, u64* arrived, u32 rounds, u32 skips) {
    __shared__ u32 kept[256];
    DYNAMIC_SHARED(u32, sums);
    u64 target = 0;
    sums[threadIdx.x] = 0;
    for (u32 round = 0; round < rounds; round++) {
        if (round + 1 == rounds && blockIdx.x >= skips) return;
        const u32 from = (blockIdx.x + 1) % gridDim.x;
        kept[threadIdx.x] = words[from * blockDim.x + threadIdx.x];
        all_blocks(arrived, target, gridDim.x);
        const u32 word = kept[(threadIdx.x + 1) % blockDim.x];
        sums[threadIdx.x] += word;
        words[blockIdx.x * blockDim.x + threadIdx.x] = word;
        all_blocks(arrived, target, gridDim.x);
    }
    words[blockIdx.x * blockDim.x + threadIdx.x] = sums[threadIdx.x];
}
