// Kernels that show that the stand-in runs CUDA as CUDA is meant; tests/cuda_on_cpu.rs knows the right answers.
#include "common.cuh"

__device__ __forceinline__ u32 warp_sum(u32 v) {
    for (int step = 16; step; step /= 2) v += __shfl_xor_sync(ALL, v, step);
    return v;
}

// Adds all of `values` to *sum: grid stride, shuffles, static shared memory, a barrier, an atomic.
extern "C" __global__ void __launch_bounds__(256, 2) sum(const u32* __restrict__ values, u64 count, u64* sum) {
    __shared__ u64 parts[8];
    u64 mine = 0;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) mine += __ldg(values + i);
    const u64 low = warp_sum(u32(mine) & 0xffff), high = warp_sum(u32(mine >> 16));
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = low + (high << 16);
    __syncthreads();
    if (threadIdx.x == 0) {
        u64 all = 0;
        for (u32 i = 0; i < blockDim.x / 32; i++) all += parts[i];
        atomicAdd(sum, all);
    }
}

// Reverses each block's values through dynamic shared memory.
extern "C" __global__ void reverse(u32* values) {
    DYNAMIC_SHARED(u32, kept);
    const u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    kept[threadIdx.x] = values[at];
    __syncthreads();
    values[at] = kept[blockDim.x - 1 - threadIdx.x];
}

// Many barriers: each round turns the block's values by one.
extern "C" __global__ void turn(u32* values, u32 rounds) {
    DYNAMIC_SHARED(u32, kept);
    const u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    u32 mine = values[at];
    for (u32 round = 0; round < rounds; round++) {
        kept[threadIdx.x] = mine;
        __syncthreads();
        mine = kept[(threadIdx.x + 1) % blockDim.x];
        __syncthreads();
    }
    values[at] = mine;
}
