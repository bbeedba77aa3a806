// A barrier of all blocks of a grid. The blocks have to be on the GPU at the same time, which a cooperative launch ensures.
#pragma once
#include "common.cuh"

// Reads the GPU's clock in nanoseconds, which is the same on all multiprocessors.
#ifndef GLOBAL_TIMER
#define GLOBAL_TIMER() global_timer()
__device__ inline u64 global_timer() {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}
#endif

// Is called in loops that wait for other blocks. On a GPU it does nothing, because the blocks run in parallel.
#ifndef YIELD
#define YIELD()
#endif

// Is called in loops that wait for other GPUs.
#ifndef YIELD_TO_GPUS
#define YIELD_TO_GPUS()
#endif

// Nanoseconds after which a waiting block gives up. The longest work between two barriers is to read all rows over the bus from the memory of a
// large host.
constexpr u64 LONGEST_WAIT = 30ull * 1000 * 1000 * 1000;

// The state of a grid's barriers in GPU memory, all zero when the grid is launched.
struct GridBarrier {
    // Number of arrivals of blocks at barriers, summed over all barriers.
    u64 arrived;
    // 1 once a block has given up.
    u32 broken;
    u32 unused;
};

// Waits until other blocks of this grid, or other GPUs, have raised `*number` to `target`. One thread of a block calls it. Returns false if some
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

// Waits until all blocks of the grid have arrived; all threads of each block call it. Whatever a thread wrote before the barrier, all threads
// read after it, except by loads through the read-only cache. `target` is shared by the block, and zero at the launch. Returns false to all
// threads of a block if a block waited too long. The block must then leave, and so will all others.
__device__ inline bool inline_grid_barrier(GridBarrier* barrier, u64& target) {
    bool whole = true;
    __syncthreads();
    if (threadIdx.x == 0) {
        target += gridDim.x;
        // The first fence makes this block's writes visible to others. The second drops old values from this multiprocessor's cache.
        __threadfence();
        atomicAdd(&barrier->arrived, 1ull);
        whole = wait_for(barrier, &barrier->arrived, target);
        __threadfence();
    }
    return __syncthreads_and(whole);
}

// The same for searches, which have a dozen of barriers. It is not inlined, because that makes a search shorter to compile, and a call takes next to
// no time beside a barrier.
__device__ __noinline__ bool grid_barrier(GridBarrier* barrier, u64& target) { return inline_grid_barrier(barrier, target); }
