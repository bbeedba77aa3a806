// What lanes of a warp do together, with masks that leave lanes out.
#include "common.cuh"

// Every result of one lane, one after another, for warps of which only the lanes in `mask` call.
extern "C" __global__ void lanes(u32 mask, u32* out) {
    const u32 lane = threadIdx.x % 32;
    u32* mine = out + threadIdx.x * 16;
    if (!(mask >> lane & 1)) {
        // The others do something else in the meantime, and meet too.
        mine[0] = __popc(__ballot_sync(~mask, 1));
        return;
    }
    const u32 first = __ffs(mask) - 1;
    mine[0] = __ballot_sync(mask, lane % 3 == 0);
    mine[1] = __shfl_sync(mask, lane * 10, first);
    mine[2] = __any_sync(mask, lane == first) * 2 + __all_sync(mask, lane == first);
#if __CUDA_ARCH__ >= 800
    mine[3] = __reduce_add_sync(mask, lane);
    mine[4] = __reduce_max_sync(mask, lane);
    mine[5] = __reduce_min_sync(mask, lane);
    mine[6] = __reduce_or_sync(mask, 1u << lane);
#endif
    mine[7] = __match_any_sync(mask, lane % 4);
    mine[8] = __popc(__match_any_sync(mask, u64(lane / 8) << 40));
    __syncwarp(mask);
    mine[9] = __shfl_sync(mask, lane, 31 - first);
}

// Shuffles of a full warp: widths, directions, 64 bits, negative numbers.
extern "C" __global__ void shuffles(u32* out) {
    const u32 lane = threadIdx.x % 32;
    u32* mine = out + threadIdx.x * 16;
    mine[0] = __shfl_up_sync(ALL, lane, 1);
    mine[1] = __shfl_down_sync(ALL, lane, 1);
    mine[2] = __shfl_xor_sync(ALL, lane, 3);
    mine[3] = __shfl_sync(ALL, lane, 9, 8);
    mine[4] = __shfl_up_sync(ALL, lane, 3, 8);
    mine[5] = __shfl_down_sync(ALL, lane, 3, 8);
    mine[6] = __shfl_xor_sync(ALL, lane, 12, 8);
    const u64 wide = __shfl_sync(ALL, u64(lane) << 33 | lane, 5);
    mine[7] = wide >> 33 == (wide & 31);
    mine[8] = __shfl_sync(ALL, -int(lane), 7) == -7;
    mine[9] = __syncthreads_count(lane < 5) * 100 + __syncthreads_and(lane < 5) * 10 + __syncthreads_or(lane < 5);
}

// Lanes leave one after another; those that stay still meet, though the mask names all.
extern "C" __global__ void leaving(u32* out) {
    for (u32 round = 0; round < threadIdx.x % 32; round++) out[threadIdx.x] = __popc(__ballot_sync(ALL, 1));
}

extern "C" __global__ void bits(u32* out) {
    const u32 x = 0x12345678, y = 0x9abcdef0;
    const u32 all[] = {u32(__popc(x)), u32(__popcll(u64(x) << 32 | y)), u32(__clz(1)), u32(__clz(0)), u32(__clzll(1)), u32(__ffs(8)),
                       u32(__ffs(0)), u32(__ffsll(1ull << 40)), __brev(1), __byte_perm(x, y, 0x5410), __funnelshift_l(x, y, 8),
                       __funnelshift_r(x, y, 8), __umulhi(x, y), u32(__umul64hi(u64(x) << 32, u64(y) << 32)), min(x, 3u), u32(max(-1, 2))};
    for (u32 i = 0; i < 16; i++) out[i] = all[i];
}

// Each kind of atomic, by all threads on the same words.
extern "C" __global__ void atomics(u64* wide, u32* narrow) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&wide[0], u64(i) << 20);
    atomicMax(&wide[1], u64(i) << 20);
    atomicMin(&wide[2], u64(i) + 7);
    atomicOr(&wide[3], 1ull << i % 64);
    u64 seen = wide[4], next;
    while ((next = atomicCAS(&wide[4], seen, seen + 3)) != seen) seen = next;
    atomicSub(&narrow[0], 2u);
    atomicXor(&narrow[1], i);
    atomicAnd(&narrow[2], ~(1u << i % 16));
    atomicAdd(&narrow[3], atomicExch(&narrow[4], 1u));
    atomicMax((int*)&narrow[5], int(i) - 5);
    // A lock that spins, and a count under it that is no atomic.
    while (atomicCAS(&narrow[6], 0u, 1u) != 0) __nanosleep(20);
    const u32 count = *(volatile u32*)&narrow[7];
    __threadfence();
    *(volatile u32*)&narrow[7] = count + 1;
    __threadfence();
    atomicExch(&narrow[6], 0u);
}
