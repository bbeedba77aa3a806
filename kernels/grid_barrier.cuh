// A barrier of all blocks of a grid. They have to be on the GPU at the same time, which a cooperative launch sees to.
#pragma once
#include "common.cuh"

// The GPU's clock in nanoseconds, the same on all multiprocessors.
#ifndef GLOBAL_TIMER
#define GLOBAL_TIMER() global_timer()
__device__ inline u64 global_timer() {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}
#endif

// Stands in loops that wait for other blocks, which on a GPU run beside this one.
#ifndef YIELD
#define YIELD()
#endif

// Stands in loops that wait for other GPUs.
#ifndef YIELD_TO_GPUS
#define YIELD_TO_GPUS()
#endif

// Nanoseconds after which a block that waits gives up. Between two barriers the longest that blocks do is to read all rows of a large host's
// memory over the bus.
constexpr u64 LONGEST_WAIT = 30ull * 1000 * 1000 * 1000;

// The state of a grid's barriers in GPU memory, all zero when the grid is launched.
struct GridBarrier {
    // Blocks that have come to a barrier, over all barriers.
    u64 arrived;
    // 1 once a block has given up.
    u32 broken;
    u32 unused;
};

// Waits until others have raised a number to `target`, as one thread of a block: blocks of this grid, or other GPUs. Returns false if some
// block gave up.
template <bool OF_GPUS = false> __device__ inline bool wait_for(GridBarrier* barrier, const volatile u64* number, u64 target) {
    volatile u32* broken = &barrier->broken;
    u64 begun = 0;
    for (u32 turn = 1; *number < target; turn++) {
        if (OF_GPUS) YIELD_TO_GPUS();
        else YIELD();
        if (turn % 4096 != 0) continue;
        u64 now = GLOBAL_TIMER();
        if (begun == 0) begun = now;
        if (*broken != 0) return false;
        if (now - begun > LONGEST_WAIT) {
            *broken = 1;
            return false;
        }
    }
    return true;
}

// Waits until all blocks of the grid are here, as all threads of each. What any of them wrote before is what all of them read after it, by
// loads other than those of the read-only cache. `target` is shared by the block, and zero at the launch. Returns false, to all threads of a
// block, if a block waited too long: the block must leave, and so will all others.
__device__ inline bool grid_barrier(GridBarrier* barrier, u64& target) {
    bool whole = true;
    __syncthreads();
    if (threadIdx.x == 0) {
        target += gridDim.x;
        // The first fence lets others see what this block wrote; the second drops what this multiprocessor's cache holds of old values.
        __threadfence();
        atomicAdd(&barrier->arrived, 1ull);
        whole = wait_for(barrier, &barrier->arrived, target);
        __threadfence();
    }
    return __syncthreads_and(whole);
}
