// Definitions shared by the kernels of triangle counting: the pair of batches (groups of consecutive rows), and the tally.
#pragma once
#include "common.cuh"

// A head (the part of a partner's row before b) is packed into 64 bits. The high 32 bits are its start in the partner's targets or, if triangles are
// counted per vertex, the index of its row. The next 10 bits are the partner block, and the low 22 bits the length.
constexpr u32 LENGTH_BITS = 22;
constexpr u32 LENGTH_MASK = (1u << LENGTH_BITS) - 1;
// Value of `first_row` (see scatter_heads) if heads contain their start instead of the index of their row.
constexpr u32 NO_ROW = 4294967295;

// A batch: `count` consecutive rows from row `first` on. `starts` has one element more than there are rows.
struct Rows {
    const u32* starts;
    const u32* targets;
    u32 first;
    u32 count;
};
static_assert(sizeof(Rows) == 24, "the host has a twin of this size");

// What the kernels count in addition to the triangles per pair of blocks: nothing, the triangles per vertex, or the triangles per edge.
enum Counts { TOTAL, CORNERS, EDGES };

// Triangle counters of the entries first .. first + count of a batch. An edge is counted at its entry in the row of its larger end.
struct EdgeCounts {
    u32* counts;
    u32 first, count;

    // Adds triangles to the counter of `entry`, if it has one.
    __device__ void add(u32 entry, u32 triangles) const {
        if (entry - first < count) atomicAdd(&counts[entry - first], triangles);
    }
};
static_assert(sizeof(EdgeCounts) == 16, "the host has a twin of this size");

// A front batch and a partner batch, with all data for counting them; src/algo/triangle/gpu/pair.rs declares the same struct.
struct Pair {
    Rows front, partner;
    // End of the heads of each front row in `heads`. They start where those of the previous row end.
    const u32* ends;
    const u64* heads;
    // First row of each block of the front.
    const u32* front_blocks;
    u32 front_block_count, partner_block_count;
    // Number of triangles and number of probes of every pair of blocks, ordered by front block, then by partner block. They are followed by the
    // number of links of every pair.
    u64* counts;
    // Number of triangles or links per vertex, or null.
    u64* corners;
    // Numbers of triangles per edge of the front and of the partner.
    EdgeCounts front_edges, partner_edges;
    // Tasks: chunks of heads of front rows with many heads.
    const uint2* tasks;
    // [0] number of tasks; [1] number of tasks taken, or of heads taken if links are counted; [2] number of groups of rows that count_few took.
    u32* queue;
    // Flag that the host sets to end the kernel early.
    const volatile u32* stop;
};
static_assert(sizeof(Pair) == 152, "the host has a twin of this size");

// Number of blocks of threads that fit in a multiprocessor's shared memory. It limits the number of registers per thread.
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
#define BLOCKS_AT_ONCE 6
#else
#define BLOCKS_AT_ONCE 4
#endif

// Maximum number of heads in one task.
constexpr u32 CHUNK = 4096;
// Minimum number of heads for which marking a row in a bitmap pays off. A row longer than LONGEST_HASHED is always marked, because it is too long for
// a hash table.
constexpr u32 FEW_HEADS = 32;
constexpr u32 LONGEST_HASHED = 512;

__device__ inline u32 heads_start(const Pair& pair, u32 row) { return row > 0 ? pair.ends[row - 1] : 0; }

// Returns the number of front rows that may have heads: those before the end of the partner's rows.
__device__ inline u32 rows_with_heads(const Pair& pair) {
    u32 end = pair.partner.first + pair.partner.count;
    return end > pair.front.first ? min(pair.front.count, end - pair.front.first) : 0;
}

__device__ inline bool is_few(u32 heads, u32 length) { return heads < FEW_HEADS && length <= LONGEST_HASHED; }

// Counts triangles and probes per partner block while a block of threads works on one front block. For each partner block, shared memory contains
// four 32-bit words: the halves of two 64-bit sums, because shared memory has no 64-bit addition.
struct Tally {
    u32* words;

    __device__ void clear(u32 blocks) {
        for (u32 i = threadIdx.x; i < 4 * blocks; i += blockDim.x) words[i] = 0;
    }
    __device__ static void add(u32* sum, u32 more) {
        if (atomicAdd(sum, more) > ALL_LANES - more) atomicAdd(sum + 1, 1u);
    }
    // Adds the numbers of triangles of all lanes. All lanes of a warp call it.
    __device__ void add_triangles(u32 block, u32 triangles) {
        u32 sum = warp_sum(triangles);
        if (lane_id() == 0 && sum > 0) add(&words[4 * block], sum);
    }
    // Adds the lengths of the lanes' heads to the probes; a lane without a head passes 0. The heads of a row are ordered by block, so most lanes have
    // the same block.
    __device__ void add_probes(u32 block, u32 length) {
        u32 first = __shfl_sync(ALL_LANES, block, 0);
        if (__all_sync(ALL_LANES, block == first || length == 0)) {
            // The sum of 32 lengths of 22 bits fits 32 bits.
            u32 sum = warp_sum(length);
            if (lane_id() == 0 && sum > 0) add(&words[4 * first + 2], sum);
        } else if (length > 0) {
            add(&words[4 * block + 2], length);
        }
    }
    // Adds all counts to the totals of `front_block` and resets them. The block of threads needs a barrier before the call, and another one before it
    // adds more.
    __device__ void flush(const Pair& pair, u32 front_block) {
        u64* totals = pair.counts + (u64)front_block * 2 * pair.partner_block_count;
        for (u32 i = threadIdx.x; i < 2 * pair.partner_block_count; i += blockDim.x) {
            u64 sum = (u64)words[2 * i + 1] << 32 | words[2 * i];
            if (sum > 0) atomicAdd(&totals[i], sum);
            words[2 * i] = words[2 * i + 1] = 0;
        }
    }
};

__device__ inline u32 front_block_of(const Pair& pair, u32 row) {
    return last_start_upto(pair.front_blocks, pair.front_block_count, pair.front.first + row);
}

// Converts a head that contains the index of its row to one that contains its start.
__device__ inline u64 with_start(const Pair& pair, u64 head) { return (u64)__ldg(pair.partner.starts + (head >> 32)) << 32 | (u32)head; }

// Adds the triangles of a head to the counter of the vertex of its row, or to that of the edge between this vertex and b. The head consists of
// `length` entries of the partner from `from` on, and the entry after them is b.
template <Counts COUNTS> __device__ inline void add_head(const Pair& pair, u32 row, u32 from, u32 length, u32 triangles) {
    if (COUNTS == CORNERS) atomicAdd(&pair.corners[pair.partner.first + row], (u64)triangles);
    if (COUNTS == EDGES) pair.partner_edges.add(from + length, triangles);
}

// Returns true if the host wants the kernel to end early. Reads the host's flag only in every 64th turn, because the read goes over the bus.
__device__ inline bool is_stopped(const Pair& pair, u32 turn) { return turn % 64 == 63 && *pair.stop; }
