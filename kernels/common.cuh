// Definitions that all kernels share: integer types, sums over warps and blocks, searches in sorted arrays.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

// Declares an array in shared memory whose size is set at the launch.
#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(type, name) extern __shared__ type name[]
#endif

constexpr u32 ALL_LANES = 0xffffffffu;

__device__ inline u32 lane_id() { return threadIdx.x & 31; }
__device__ inline u32 warp_id() { return threadIdx.x >> 5; }

// Returns the sum of `x` over all 32 lanes of the warp, to every lane.
__device__ inline u32 warp_sum(u32 x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(ALL_LANES, x);
#else
    for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(ALL_LANES, x, step);
    return x;
#endif
}

// Returns the sum of `x` over the lanes up to and including this one (inclusive prefix sum over the warp).
template <class Number>
__device__ inline Number warp_scan(Number x) {
    for (u32 step = 1; step < 32; step *= 2) {
        Number below = __shfl_up_sync(ALL_LANES, x, step);
        if (lane_id() >= step) x += below;
    }
    return x;
}

// Returns the sum of `x` over the threads before this one (exclusive prefix sum over the block). `total` receives the sum over all threads of the
// block. `scratch` is 32 words of shared memory. Every thread of the block must call this.
__device__ inline u32 block_scan_before(u32 x, u32* scratch, u32& total) {
    u32 sum = warp_scan(x);
    u32 warps = (blockDim.x + 31) / 32;
    if (lane_id() == 31) scratch[warp_id()] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        u32 of_warp = threadIdx.x < warps ? scratch[threadIdx.x] : 0;
        scratch[threadIdx.x] = warp_scan(of_warp);
    }
    __syncthreads();
    u32 before = sum - x + (warp_id() > 0 ? scratch[warp_id() - 1] : 0);
    total = scratch[warps - 1];
    __syncthreads();
    return before;
}

// Returns the index of the last element of `starts` that is at most `at`. The `count` elements ascend, and the first must be at most `at`.
__device__ inline u32 last_start_upto(const u32* starts, u32 count, u32 at) {
    u32 low = 0, high = count;
    while (high - low > 1) {
        u32 middle = (low + high) / 2;
        if (starts[middle] <= at) low = middle;
        else high = middle;
    }
    return low;
}

// Returns how many of the `count` ascending ids are smaller than `id`.
__device__ inline u32 lower_bound(const u32* ids, u32 count, u32 id) {
    u32 low = 0, high = count;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (ids[middle] < id) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Returns true if `id` is one of the `count` ascending ids.
__device__ inline bool contains(const u32* ids, u32 count, u32 id) {
    u32 place = lower_bound(ids, count, id);
    return place < count && ids[place] == id;
}
