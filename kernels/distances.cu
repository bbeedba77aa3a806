// Distances: breadth-first searches from up to 64 sources at once. A word is a mask with a bit for each source; for each vertex, one word shows which
// sources have reached it. src/algo/distances/level.rs does the same on CPUs. The order of OR operations does not matter, so words and sums are the
// same.
//
// A level is found by a pull along the rows of all vertices that some source has not reached, or by a push along the rows of the last level. Then
// `distances_add` adds the level to the words and sums. The words in `next` must be zero before a level is found.
#include "row_parts.cuh"

// Number of sources of a pass, which is the number of bits of a word.
constexpr u32 SOURCES = 64;
// Minimum number of row entries (both halves of the row together) of a vertex that a whole block processes.
constexpr u32 LONG = 4096;
// Number of lanes of a group, which processes a vertex with fewer entries.
constexpr u32 GROUP = 8;
// Number of loads per lane that are in flight at once.
constexpr u32 TOGETHER = 4;

// Totals of a level. src/algo/distances/gpu.rs declares the same struct.
struct Found {
    // Number of vertices of the level.
    u32 vertices, unused;
    // Number of entries in the out-rows of these vertices; and number of entries in the in-rows of those of them that all active sources have
    // reached.
    u64 leaving, full;
    // For each source, the number of vertices that it reaches in the level.
    u64 counts[SOURCES];
};
static_assert(sizeof(Found) == 536, "as its twin");

// Arguments of a pass. src/algo/distances/gpu.rs declares the same struct.
struct Search {
    VertexRows rows;
    // One word per vertex in each array: the sources that have reached the vertex, that reached it in the last level, and that reach it in this
    // level.
    u64* seen;
    u64* frontier;
    u64* next;
    // Two 64-bit numbers for each vertex: the sum of distances; and the largest distance (upper half) with the number of sources (lower half).
    u64* sums;
    // The vertices of the last level and of this level, in any order.
    u32* last;
    u32* list;
    const u32* degrees;
    Found* found;
    u32 vertices;
    // All vertices that whole blocks process are before this vertex.
    u32 long_end;
};
static_assert(sizeof(Search) == 96, "as its twin");

struct Sources {
    u32 of[SOURCES];
};

// Returns the OR of the words of up to TOGETHER neighbours: those at indices `at`, `at + lanes` and so on of a row.
__device__ inline u64 words_of(const Search& p, const Segment& row, u32 at, u32 lanes) {
    u32 near[TOGETHER];
    u64 word = 0;
#pragma unroll
    for (u32 k = 0; k < TOGETHER; k++) near[k] = at + k * lanes < row.length ? __ldg(row.begin + at + k * lanes) : p.vertices;
#pragma unroll
    for (u32 k = 0; k < TOGETHER; k++) word |= near[k] < p.vertices ? __ldg(p.frontier + near[k]) : 0;
    return word;
}

// Returns the OR of the words of `lanes` consecutive lanes.
__device__ inline u64 combined(u64 word, u32 lanes) {
    for (u32 step = lanes / 2; step > 0; step /= 2) word |= __shfl_xor_sync(ALL_LANES, word, step);
    return word;
}

// Begins a pass from `count` different sources. All words must be zero.
extern "C" __global__ void __launch_bounds__(256) distances_begin(Search p, Sources sources, u32 count) {
    u32 bit = threadIdx.x;
    if (blockIdx.x > 0 || bit >= count) return;
    u32 v = sources.of[bit];
    p.seen[v] = p.frontier[v] = 1ull << bit;
    p.last[bit] = v;
}

// Finds the words of the next level for all vertices with short rows and the sources in `active`. The launch has a group of lanes for each vertex.
extern "C" __global__ void __launch_bounds__(256) distances_pull_short(Search p, u64 active) {
    u32 lane = lane_id() % GROUP;
    u32 base = p.long_end + (blockIdx.x * 8 + warp_id()) * (32 / GROUP), v = base + lane_id() / GROUP;
    u64 wanted = v < p.vertices ? active & ~p.seen[v] : 0, found = 0;
    for (u32 half = 0; half < 2; half++) {
        Segment row = {};
        if ((wanted & ~found) != 0) row = half_of(p.rows, v, true, half);
        // Hubs come first in a row, so the first few entries often contribute all sources.
        u64 word = lane < row.length ? __ldg(p.frontier + __ldg(row.begin + lane)) : 0;
        found |= combined(word, GROUP);
        for (u32 from = GROUP;; from += TOGETHER * GROUP) {
            bool goes_on = from < row.length && (wanted & ~found) != 0;
            if (!__any_sync(ALL_LANES, goes_on)) break;
            found |= combined(goes_on ? words_of(p, row, from + lane, GROUP) : 0, GROUP);
        }
    }
    if (lane == 0 && (found & wanted) != 0) p.next[v] = found & wanted;
}

// Like distances_pull_short, for the vertices with long rows. A block processes a vertex.
extern "C" __global__ void __launch_bounds__(256) distances_pull_long(Search p, u64 active) {
    __shared__ u64 all;
    u32 v = blockIdx.x;
    u64 wanted = active & ~p.seen[v];
    if (wanted == 0) return;
    if (threadIdx.x == 0) all = 0;
    __syncthreads();
    for (u32 half = 0; half < 2; half++) {
        Segment row = half_of(p.rows, v, true, half);
        // Warps are not synchronized. Each sees sooner or later the sources that other warps have found.
        for (u32 from = warp_id() * 32 * TOGETHER; from < row.length; from += 256 * TOGETHER) {
            u64 before = *reinterpret_cast<volatile u64*>(&all);
            if (!__any_sync(ALL_LANES, (wanted & ~before) != 0)) break;
            u64 found = combined(words_of(p, row, from + lane_id(), 32), 32) & wanted;
            if (lane_id() == 0 && (found & ~before) != 0) atomicOr(&all, found);
            __syncwarp();
        }
    }
    __syncthreads();
    if (threadIdx.x == 0 && all != 0) p.next[v] = all;
}

// Adds the sources of each of the `count` vertices of the last level to the `next` words of its out-neighbours, except sources that have reached the
// out-neighbour before. Appends the out-neighbours that receive a source to `list`. `threads` threads process a vertex: a group, or a whole block for
// a long row. Then `pieces` blocks share the row.
extern "C" __global__ void __launch_bounds__(256) distances_push(Search p, u32 count, u32 threads, u32 pieces) {
    u32 takers = 256 / threads, lane = threadIdx.x % threads;
    for (u64 at = u64(blockIdx.x) * takers + threadIdx.x / threads; at < u64(count) * pieces; at += u64(gridDim.x) * takers) {
        u32 v = p.last[at / pieces], piece = u32(at % pieces);
        if ((v < p.long_end) != (threads == 256)) continue;
        u64 word = p.frontier[v];
        for (u32 half = 0; half < 2; half++) {
            Segment row = half_of(p.rows, v, false, half);
            for (u32 place = piece * threads + lane; place < row.length; place += pieces * threads) {
                u32 w = __ldg(row.begin + place);
                u64 reached = word & ~p.seen[w];
                // Many neighbours already have all these sources.
                if ((reached & ~*reinterpret_cast<volatile u64*>(p.next + w)) == 0) continue;
                if (atomicOr(p.next + w, reached) == 0) p.list[atomicAdd(&p.found->vertices, 1u)] = w;
            }
        }
    }
}

// Adds the level, whose distance from the sources is `distance`, to the words and the sums of its vertices. Clears the `frontier` words of the `last`
// vertices of the previous level. If `listed` is 0, the vertices of the level are not in `list` yet, and are appended to it.
extern "C" __global__ void __launch_bounds__(256) distances_add(Search p, u64 active, u64 distance, u32 last, u32 listed) {
    __shared__ u64 counts[SOURCES];
    for (u32 bit = threadIdx.x; bit < SOURCES; bit += 256) counts[bit] = 0;
    __syncthreads();
    u32 lane = lane_id(), count = listed ? p.found->vertices : p.vertices, low = 0, high = 0;
    u64 leaving = 0, full = 0;
    for (u64 base = (blockIdx.x * 8 + warp_id()) * 32; base < count; base += gridDim.x * 256) {
        u32 v = p.vertices;
        if (base + lane < count) v = listed ? p.list[base + lane] : u32(base + lane);
        u64 word = v < p.vertices ? p.next[v] : 0;
        u32 nonzero = __ballot_sync(ALL_LANES, word != 0);
        if (nonzero == 0) continue;
        if (!listed) {
            u32 place = 0;
            if (lane == 0) place = atomicAdd(&p.found->vertices, u32(__popc(nonzero)));
            place = __shfl_sync(ALL_LANES, place, 0) + __popc(nonzero & ((1u << lane) - 1));
            if (word != 0) p.list[place] = v;
        }
        if (word != 0) {
            u64 seen = p.seen[v] | word, reached = __popcll(word), others = p.sums[2 * u64(v) + 1];
            p.seen[v] = seen;
            p.sums[2 * u64(v)] += distance * reached;
            p.sums[2 * u64(v) + 1] = max(distance, others >> 32) << 32 | (u32(others) + reached);
            leaving += degree_of(p.rows, p.degrees, v, false);
            if ((active & ~seen) == 0) full += degree_of(p.rows, p.degrees, v, true);
        }
        __syncwarp();
        // Lane i counts bits i and 32 + i.
        for (u32 bit = 0; bit < 32; bit++) {
            u32 of_low = __ballot_sync(ALL_LANES, word >> bit & 1), of_high = __ballot_sync(ALL_LANES, word >> (32 + bit) & 1);
            if (lane == bit) {
                low += __popc(of_low);
                high += __popc(of_high);
            }
        }
    }
    for (u64 i = blockIdx.x * 256 + threadIdx.x; i < last; i += gridDim.x * 256) p.frontier[p.last[i]] = 0;
    for (u32 step = 16; step > 0; step /= 2) {
        leaving += __shfl_xor_sync(ALL_LANES, leaving, step);
        full += __shfl_xor_sync(ALL_LANES, full, step);
    }
    if (lane == 0 && leaving > 0) atomicAdd(&p.found->leaving, leaving);
    if (lane == 0 && full > 0) atomicAdd(&p.found->full, full);
    if (low > 0) atomicAdd(counts + lane, u64(low));
    if (high > 0) atomicAdd(counts + 32 + lane, u64(high));
    __syncthreads();
    for (u32 bit = threadIdx.x; bit < SOURCES; bit += 256) {
        if (counts[bit] > 0) atomicAdd(p.found->counts + bit, counts[bit]);
    }
}

// Copies, for each of `vertices`, the word of the sources that have reached it to `words`.
extern "C" __global__ void __launch_bounds__(256) distances_reaching(Search p, const u32* vertices, u64* words, u32 count) {
    for (u32 i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) words[i] = p.seen[vertices[i]];
}
