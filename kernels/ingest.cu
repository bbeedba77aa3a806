// Counts degrees of all ids.
#include "prepare.cuh"

// Words of `found`: [0] largest id, [1] 1 if an id has no counter, [2] loops, [3] hashes in the sample (possibly more than
// fit), [4] the complement of the smallest id that has a loop, [5] nothing, then the hashes as 64 bits.
constexpr u32 SAMPLED = 509;

// The hash of an edge, which src/prepare/sample.rs also computes.
__device__ inline u64 hash_of(u64 low, u64 high) {
    u64 x = (low ^ 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    u64 y = (x ^ (x >> 31) ^ high) * 0x94d049bb133111ebull;
    return (y ^ (y >> 29)) * 0x9e3779b97f4a7c15ull;
}

// Counts both ends of each edge in the degrees of its ids, except loops and edges with an id of `end` or more.
extern "C" __global__ void __launch_bounds__(THREADS)
count_degrees(const uint2* edges, u32 count, u32* degrees, u32 end, u32 shift, u32* found) {
    u32 largest = 0, loops = 0;
    bool missed = false;
    u64* hashes = reinterpret_cast<u64*>(found + 6);
    for (u32 i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
        uint2 edge = edges[i];
        u32 low = min(edge.x, edge.y), high = max(edge.x, edge.y);
        largest = max(largest, high);
        if (low == high) {
            loops++;
            atomicMax(&found[4], ~low);
        } else if (high >= end) {
            missed = true;
        } else {
            atomicAdd(&degrees[low], 1u);
            atomicAdd(&degrees[high], 1u);
            u64 hash = hash_of(low, high);
            if (shift == 64 || hash >> shift == 0) {
                u32 slot = atomicAdd(&found[3], 1u);
                if (slot < SAMPLED) hashes[slot] = hash;
            }
        }
    }
    for (u32 step = 16; step > 0; step /= 2) largest = max(largest, __shfl_xor_sync(ALL_LANES, largest, step));
    loops = warp_sum(loops);
    missed = __any_sync(ALL_LANES, missed);
    if (lane_id() == 0) {
        atomicMax(&found[0], largest);
        if (missed) found[1] = 1;
        if (loops > 0) atomicAdd(&found[2], loops);
    }
}

// Subtracts `carry` from every degree that has reached it, and lists the ids of these degrees after their number, carried[0]. It must run before
// the degrees can overflow 32 bits.
extern "C" __global__ void __launch_bounds__(THREADS)
carry_degrees(u32* degrees, u64 count, u32 carry, u32* carried, u32 most) {
    for (u64 i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
        if (degrees[i] < carry) continue;
        u32 slot = atomicAdd(&carried[0], 1u);
        if (slot < most) {
            atomicSub(&degrees[i], carry);
            carried[1 + slot] = (u32)i;
        }
    }
}

// Adds another GPU's degrees of the same ids.
extern "C" __global__ void __launch_bounds__(THREADS) add_degrees(u32* degrees, const u32* others, u64 count) {
    for (u64 i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
        u32 degree = degrees[i], other = others[i];
        degrees[i] = degree + other < degree ? NONE : degree + other;
    }
}
