// Prefix sums of 64-bit numbers over the threads of a block. The block must have 1024 threads.
#pragma once
#include "common.cuh"

struct BlockScan {
    // Sum over the threads before this one, and sum over all threads of the block.
    u64 before, total;
};

// Computes the prefix sums of `x` over the threads of a block. It is not inlined, because each copy takes as long to compile as a short kernel.
__device__ __noinline__ BlockScan block_scan(u64 x) {
    __shared__ u64 sums[32];
    u64 upto = warp_scan(x);
    if (lane_id() == 31) sums[warp_id()] = upto;
    __syncthreads();
    if (warp_id() == 0) sums[lane_id()] = warp_scan(sums[lane_id()]);
    __syncthreads();
    BlockScan scan = {upto - x + (warp_id() > 0 ? sums[warp_id() - 1] : 0), sums[31]};
    __syncthreads();
    return scan;
}
