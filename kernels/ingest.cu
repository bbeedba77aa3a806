// Counts the degrees of all ids, and generates the edges of Kronecker graphs.
#include "prepare.cuh"
#include "splitmix.cuh"

// Layout of `found`, in 32-bit words: [0] largest id, [1] 1 if an id has no counter, [2] number of self-loops, [3] number of hashes in the sample
// (possibly more than SAMPLED, which is the capacity), [4] complement of the smallest id that has a self-loop, [5] unused, followed by the hashes, of
// 64 bits each.
constexpr u32 SAMPLED = 509;

// Returns the hash of an edge. src/prepare/sample.rs computes the same hash.
__device__ inline u64 hash_of(u64 low, u64 high) {
    u64 x = (low ^ 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    u64 y = (x ^ (x >> 31) ^ high) * 0x94d049bb133111ebull;
    return (y ^ (y >> 29)) * 0x9e3779b97f4a7c15ull;
}

// Counts each edge in the degrees of both its ends, except self-loops and edges with an id of `end` or more. An edge is in the sample if its hash,
// shifted right by `shift` bits, is 0; with a `shift` of 64, every edge is.
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
    largest = warp_max(largest);
    loops = warp_sum(loops);
    missed = __any_sync(ALL_LANES, missed);
    if (lane_id() == 0) {
        atomicMax(&found[0], largest);
        if (missed) found[1] = 1;
        if (loops > 0) atomicAdd(&found[2], loops);
    }
}

// Subtracts `carry` from every degree that is at least `carry`, and lists the ids of these degrees. carried[0] is their number, and the ids follow;
// at most `most` ids fit. The kernel must run before degrees can overflow 32 bits.
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

// Adds another GPU's degrees of the same ids. A sum that overflows 32 bits becomes NONE.
extern "C" __global__ void __launch_bounds__(THREADS) add_degrees(u32* degrees, const u32* others, u64 count) {
    for (u64 i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
        u32 degree = degrees[i], other = others[i];
        degrees[i] = degree + other < degree ? NONE : degree + other;
    }
}

// Parameters of a Kronecker graph; src/formats/input/generated.rs declares the same struct.
struct Kronecker {
    // Columns of the alias table. The low 32 bits are a threshold: 24-bit draws below it choose the first outcome of the column. Then follow the
    // first outcome and the second, of 8 bits each. An outcome contains four bits of the first id, and four of the second.
    u64 columns[256];
    u64 stream;
    u32 multiply[3];
    u32 add;
    u32 shift;
    u32 scale;
};
static_assert(sizeof(Kronecker) == 2080, "the host has a twin of this size");

// Appends four bits, which `draw` chooses, to each of the ids `u` and `v`.
__device__ inline void descend(const u64* columns, u32 draw, u32& u, u32& v) {
    u64 column = columns[draw >> 24];
    u32 outcome = (u32)(column >> ((draw & 0xffffff) < (u32)column ? 32 : 40));
    u = u << 4 | (outcome & 15);
    v = v << 4 | (outcome >> 4 & 15);
}

__device__ inline u32 permuted(const Kronecker& k, u32 x) {
    u32 mask = 0xffffffffu >> (32 - k.scale);
    x = (x + k.add) & mask;
    for (u32 round = 0; round < 3; round++) {
        x = x * k.multiply[round] & mask;
        x ^= x >> k.shift;
    }
    return x;
}

// Generates `count` edges from edge `first` on, as src/generate/kronecker.rs does.
extern "C" __global__ void __launch_bounds__(THREADS)
make_edges(const __grid_constant__ Kronecker k, u64 first, u32 count, uint2* edges) {
    __shared__ u64 columns[256];
    static_assert(THREADS == 256, "each thread copies one column");
    columns[threadIdx.x] = k.columns[threadIdx.x];
    __syncthreads();
    u32 draws = (k.scale + 3) / 4, numbers = (draws + 1) / 2, surplus = 4 * draws - k.scale;
    for (u32 i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
        u64 counter = (first + i) * numbers;
        u32 u = 0, v = 0;
        for (u32 n = 0; n < numbers; n++) {
            u64 random = mixed(k.stream + (counter + n) * SPLITMIX_STEP);
            descend(columns, (u32)(random >> 32), u, v);
            if (2 * n + 1 < draws) descend(columns, (u32)random, u, v);
        }
        edges[i] = make_uint2(permuted(k, u >> surplus), permuted(k, v >> surplus));
    }
}
