// Definitions that all kernels share: integer types, sums over warps and blocks, searches in sorted arrays, sorting networks.
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
// Value that stands for no vertex, id, bin or label.
constexpr u32 NONE = 0xffffffffu;

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
__device__ inline u64 warp_sum(u64 x) {
    for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(ALL_LANES, x, step);
    return x;
}

// Returns the minimum of `x` over all lanes of the warp, to every lane.
template <class Number> __device__ inline Number warp_min(Number x) {
    for (int step = 16; step > 0; step /= 2) x = min(x, __shfl_xor_sync(ALL_LANES, x, step));
    return x;
}

// Returns the maximum of `x` over all lanes of the warp, to every lane.
template <class Number> __device__ inline Number warp_max(Number x) {
    for (int step = 16; step > 0; step /= 2) x = max(x, __shfl_xor_sync(ALL_LANES, x, step));
    return x;
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

// Sorts one key per lane of a warp, by a bitonic network (Batcher 1968). Lanes from `count` on must have the largest possible key.
template <class Key> __device__ inline Key sort_lanes(Key key, u32 count) {
    for (u32 size = 2; size <= 32; size *= 2) {
        for (u32 step = size / 2; step > 0; step /= 2) {
            Key other = __shfl_xor_sync(ALL_LANES, key, step);
            bool takes_less = ((lane_id() & step) == 0) == ((lane_id() & size) == 0);
            key = takes_less ? min(key, other) : max(key, other);
        }
        // The first `size` lanes are in ascending order now.
        if (size >= count) break;
    }
    return key;
}

// Sorts `count` keys, a power of two, in shared memory, by a bitonic network. `threads` threads share this work, and `thread` is the index of this
// one. After each step, each of them calls `wait`, which waits for all of them.
template <class Key, class Wait> __device__ inline void sort_shared(Key* keys, u32 count, u32 thread, u32 threads, Wait wait) {
    for (u32 size = 2; size <= count; size *= 2) {
        for (u32 step = size / 2; step > 0; step /= 2) {
            for (u32 i = thread; i < count / 2; i += threads) {
                u32 low = 2 * i - (i & (step - 1)), high = low + step;
                Key a = keys[low], b = keys[high];
                if ((a > b) == ((low & size) == 0)) {
                    keys[low] = b;
                    keys[high] = a;
                }
            }
            wait();
        }
    }
}
