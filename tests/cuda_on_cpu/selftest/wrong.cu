// Kernels with a mistake each, which the stand-in must find.
#include "common.cuh"

// Reads a neighbour's word without a barrier: right only when threads run in the order of their numbers.
extern "C" __global__ void race(u32* out) {
    __shared__ u32 words[256];
    words[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = threadIdx.x == 0 ? 0 : words[threadIdx.x - 1];
}

// Counts with a read, an unrelated atomic, and a write.
extern "C" __global__ void lost_update(u32* out) {
    const u32 seen = *(volatile u32*)out;
    atomicAdd(out + 1, 1u);
    *(volatile u32*)out = seen + 1;
}

// Adds to shared memory that nobody set.
extern "C" __global__ void unset_shared(u32* out) {
    __shared__ u32 words[32];
    DYNAMIC_SHARED(u32, more);
    words[threadIdx.x] += 1;
    more[threadIdx.x] += 1;
    out[threadIdx.x] = words[threadIdx.x] == 1 || more[threadIdx.x] == 1;
}

extern "C" __global__ void divergent_barrier() {
    if (threadIdx.x < 7) {
        __syncthreads();
    } else {
        __syncthreads();
    }
}

extern "C" __global__ void missing_lane() {
    if (threadIdx.x != 3) __syncwarp(ALL);
    __syncthreads();
}

extern "C" __global__ void outside_mask() {
    __ballot_sync(0xff00, 1);
}

extern "C" __global__ void spin(u32* flag) {
    while (atomicAdd(flag, 0u) == 0) __nanosleep(100);
}

extern "C" __global__ void past_end(u32* words, u64 at) {
    words[at] = 1;
}

extern "C" __global__ void past_shared(u32 at) {
    DYNAMIC_SHARED(u32, words);
    ((volatile u32*)words)[at] = 1;
}

extern "C" __global__ void asserts(u32 x) {
    assert(x == 1);
}
