// Barrier for all blocks of a grid. All blocks must be resident on the GPU at the same time, which a cooperative launch ensures.
#pragma once
#include "common.cuh"

// Returns the time of the GPU's clock in nanoseconds. The clock is the same on all multiprocessors.
#ifndef GLOBAL_TIMER
#define GLOBAL_TIMER() global_timer()
__device__ inline u64 global_timer() {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}
#endif

// Hook that is called in loops that wait for other blocks. It does nothing on a GPU, because the blocks run in parallel. Tests that run kernels on a
// CPU (tests/cuda_on_cpu) define it.
#ifndef YIELD
#define YIELD()
#endif

// Hook that is called in loops that wait for other GPUs. It does nothing on a GPU, but tests define it.
#ifndef YIELD_TO_GPUS
#define YIELD_TO_GPUS()
#endif

// Time in nanoseconds after which a waiting block gives up. The longest work between two barriers is reading all rows over the bus from the memory of
// a large host.
constexpr u64 LONGEST_WAIT = 30ull * 1000 * 1000 * 1000;

// State of a grid's barriers in GPU memory; all zero when the grid is launched.
struct GridBarrier {
    // Number of times that a block has arrived at a barrier, summed over all blocks and barriers.
    u64 arrived;
    // 1 if a block has given up, otherwise 0.
    u32 broken;
    u32 unused;
};

// Waits until other blocks of this grid, or other GPUs, have raised `*number` to `target`. One thread per block calls it. Returns false if some
// block, possibly this one, has given up.
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

// Waits until all blocks of the grid have arrived; all threads of each block call it. After the barrier, every thread sees what any thread wrote
// before it, except through loads that use the read-only cache. `target` is in shared memory and must be zero at the launch. If a block waited too
// long, returns false to all threads of this block. The block must then exit, and all other blocks will do so too.
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

// Like inline_grid_barrier, for searches, which contain a dozen barriers. It is not inlined, so that a search compiles faster. A call takes next to
// no time compared with a barrier.
__device__ __noinline__ bool grid_barrier(GridBarrier* barrier, u64& target) { return inline_grid_barrier(barrier, target); }
