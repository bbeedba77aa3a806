// Betweenness: Brandes' algorithm from up to four sources at once. src/algo/betweenness/level.rs adds up in the same order, so scores are the same
// bytes as on CPUs.
//
// The values of a vertex for the four sources are adjacent, in the 32 bytes that the GPU reads at once. Four lanes process a vertex, one for each
// source, and read these bytes of every neighbour. A mask has a bit for each source, such as whether the source has reached the vertex. A word has
// eight masks.
#include "row_parts.cuh"

// The number of sources of a batch. A group, which processes a vertex, has as many lanes.
constexpr u32 SOURCES = 4;
// A whole block adds up a row of at least this many entries.
constexpr u32 LONG = 4096;
// The number of entries in a piece. The sum of each piece is added to the sum of the row.
constexpr u32 PIECE = 128;
// Groups of a warp and of a block.
constexpr u32 GROUPS = 32 / SOURCES, GROUPS_OF_BLOCK = 256 / SOURCES;
// Below this number all whole numbers are f64, so the order in which they are added does not matter. LARGEST is the largest count.
constexpr double EXACT = 9007199254740992.0;
constexpr double LARGEST = 1.0715086071862673e301;
constexpr u32 NONE = 0xffffffffu;

// The values that betweenness_settle computes from sums.
constexpr u32 COUNTS = 0;
constexpr u32 SHARES = 1;
constexpr u32 NOTHING = 2;

// Totals of a step. src/algo/betweenness/gpu/state.rs declares the same struct.
struct Found {
    // The number of vertices with long and with short rows.
    u32 longs, shorts;
    // Whether a count is not exact, and whether one is too large for f64.
    u32 inexact, too_large;
    // The number of vertices of the graph from the first found vertex on.
    u32 span, unused;
    // For each source: the number of vertices, of entries in their rows of out-neighbours, and of entries in their rows of in-neighbours.
    u64 reached[SOURCES], leaving[SOURCES], entering[SOURCES];
};
static_assert(sizeof(Found) == 120, "as its twin");

// A search. src/algo/betweenness/gpu/state.rs declares the same struct.
struct Search {
    VertexRows rows;
    // For each vertex and source: the number of shortest paths; the sum of this step, and in the end the sum of the shares of successors; and the
    // share.
    double* paths;
    double* sums;
    double* shares;
    // The counts of each vertex as bytes. 255 stands for a count of 255 or more.
    u8* small;
    // The masks of the vertices that are reached; and the masks of the vertices that this step found or, on the way back, that have shares.
    u32* reached;
    u32* found;
    // The vertices of all steps with long rows, and those with short rows, each with its mask.
    u32* longs;
    u32* shorts;
    u8* masks_of_longs;
    u8* masks_of_shorts;
    const u32* degrees;
    Found* step;
    u32 vertices;
    // All vertices with long rows are before this vertex. It is a multiple of 256 or the number of vertices.
    u32 long_end;
};
static_assert(sizeof(Search) == 128, "as its twin");

// Vertices that a launch visits: a part of a list. src/algo/betweenness/gpu/state.rs declares the same struct.
struct Visited {
    const u32* list;
    const u8* masks;
    u32 first, count;
    // The mask of the sources for which the vertices are visited.
    u32 sources, unused;
};
static_assert(sizeof(Visited) == 32, "as its twin");

// The values to add up: counts of in-neighbours or, on the way back, shares of out-neighbours. Neighbours before vertex `first` have no value. For
// the sources in the mask `leaves`, the visited vertices are the deepest level, so their sums are 0. If `looks` is true, masks show which neighbours
// have shares, and the shares of other neighbours are not read: masks fit the cache.
struct Pull {
    u32 backward, leaves, first, looks;
};
static_assert(sizeof(Pull) == 16, "as its twin");

// Returns half a row of a vertex: its out-neighbours or its in-neighbours.
__device__ inline Segment half_of(const VertexRows& rows, u32 v, bool enters, u32 half) {
    return segment_of(rows, v, (enters && rows.shift > 0 ? 1 : 0) + (half << rows.shift));
}

__device__ inline u32 degree_of(const Search& p, u32 v, bool enters) {
    return p.degrees[(v << p.rows.shift) + (enters && p.rows.shift > 0 ? 1 : 0)];
}

__device__ inline u32 mask_of(const u32* masks, u32 v) { return masks[v / 8] >> v % 8 * 4 & 15; }
__device__ inline void set_mask(u32* masks, u32 v, u32 mask) { atomicOr(masks + v / 8, mask << v % 8 * 4); }

__device__ inline u32 vertex_at(const Visited& visited, u32 i) { return visited.list[visited.first + i]; }

// Returns the mask of the sources for which a launch visits vertex number `i`.
__device__ inline u32 wanted(const Visited& visited, u32 i) { return visited.sources & visited.masks[visited.first + i]; }

// Adds the counts of the neighbours in places `lane`, `lane + lanes` and so on of a row, for the sources in `mask`. The order does not matter,
// because sums that are not exact are computed again. Several loads are in flight at once.
__device__ inline void add_counts(const Search& p, const Segment& row, u32 mask, u32 lane, u32 lanes, double (&sums)[SOURCES]) {
    constexpr u32 TOGETHER = 4, ROUNDS = 64;
    u32 at = lane, bytes = ((mask & 1) | (mask & 2) << 7 | (mask & 4) << 14 | (mask & 8) << 21) * 255;
    while (at < row.length) {
        // Each 16 bits have the sum of bytes below 255. There are so few bytes that the sum is below 65,536.
        u32 even = 0, odd = 0;
        for (u32 round = 0; round < ROUNDS && at < row.length; round++, at += TOGETHER * lanes) {
            u32 near[TOGETHER], small[TOGETHER];
#pragma unroll
            for (u32 k = 0; k < TOGETHER; k++) near[k] = at + k * lanes < row.length ? __ldcs(row.begin + at + k * lanes) : NONE;
#pragma unroll
            for (u32 k = 0; k < TOGETHER; k++) small[k] = near[k] != NONE ? bytes & __ldg(reinterpret_cast<const u32*>(p.small) + near[k]) : 0;
#pragma unroll
            for (u32 k = 0; k < TOGETHER; k++) {
                // The highest bits of bytes that are 255.
                u32 larger = ((small[k] & 0x7f7f7f7f) + 0x01010101) & small[k] & 0x80808080;
                if (larger != 0) {
#pragma unroll
                    for (u32 s = 0; s < SOURCES; s++) {
                        if ((larger >> (8 * s + 7) & 1) == 0) continue;
                        sums[s] += p.paths[u64(near[k]) * SOURCES + s];
                        small[k] &= ~(255u << 8 * s);
                    }
                }
                even += small[k] & 0x00ff00ff;
                odd += small[k] >> 8 & 0x00ff00ff;
            }
        }
        sums[0] += even & 0xffff;
        sums[1] += odd & 0xffff;
        sums[2] += even >> 16;
        sums[3] += odd >> 16;
    }
}

// Adds up `sums` over `lanes` consecutive lanes.
__device__ inline void add_over(u32 lanes, double (&sums)[SOURCES]) {
#pragma unroll
    for (u32 s = 0; s < SOURCES; s++) {
        for (u32 step = lanes / 2; step > 0; step /= 2) sums[s] += __shfl_xor_sync(ALL_LANES, sums[s], step);
    }
}

// Finds the next level of the sources in a mask, with its counts, from all vertices with short rows that they have not reached. A group processes a
// vertex.
extern "C" __global__ void __launch_bounds__(256, 6) betweenness_count_short(Search p, u32 sources) {
    for (u32 base = p.long_end + (blockIdx.x * 8 + warp_id()) * GROUPS; base < p.vertices; base += gridDim.x * 8 * GROUPS) {
        u32 v = base + lane_id() / SOURCES, lane = lane_id() % SOURCES, found = 0;
        u32 mask = v < p.vertices ? sources & ~mask_of(p.reached, v) : 0;
        double sums[SOURCES] = {};
        if (mask != 0) {
            for (u32 half = 0; half < 2; half++) add_counts(p, half_of(p.rows, v, true, half), mask, lane, SOURCES, sums);
        }
        __syncwarp();
        add_over(SOURCES, sums);
#pragma unroll
        for (u32 s = 0; s < SOURCES; s++) {
            if ((mask >> s & 1) == 0 || sums[s] == 0) continue;
            found |= 1u << s;
            if (lane == s) p.sums[u64(v) * SOURCES + s] = sums[s];
        }
        if (lane == 0 && found != 0) set_mask(p.found, v, found);
    }
}

// Like betweenness_count_short, for vertices with long rows. A block processes a vertex.
extern "C" __global__ void __launch_bounds__(256, 6) betweenness_count_long(Search p, u32 sources) {
    __shared__ double of_warps[8][SOURCES];
    u32 v = blockIdx.x, mask = sources & ~mask_of(p.reached, v), s = threadIdx.x;
    if (mask == 0) return;
    double sums[SOURCES] = {};
    for (u32 half = 0; half < 2; half++) add_counts(p, half_of(p.rows, v, true, half), mask, threadIdx.x, 256, sums);
    __syncwarp();
    add_over(32, sums);
#pragma unroll
    for (u32 k = 0; k < SOURCES; k++) {
        if (lane_id() == 0) of_warps[warp_id()][k] = sums[k];
    }
    __syncthreads();
    if (s >= SOURCES || (mask >> s & 1) == 0) return;
    double sum = 0;
    for (u32 warp = 0; warp < 8; warp++) sum += of_warps[warp][s];
    if (sum == 0) return;
    p.sums[u64(v) * SOURCES + s] = sum;
    set_mask(p.found, v, 1u << s);
}

// Returns the sum of the values of the neighbours in places `from` to `to` of a row, added in order. The row may end before `to`. Each lane of a
// group gets the sum for its source. `mask` has the sources of the group. All lanes of a warp call this with the same number of places, and several
// loads are in flight at once.
__device__ inline double sum_of_piece(const Search& p, const Pull& pull, const Segment& row, u32 mask, u32 from, u32 to) {
    const double* values = pull.backward ? p.shares : p.paths;
    constexpr u32 TOGETHER = 8;
    u32 source = lane_id() % SOURCES;
    double sum = 0;
    for (u32 at = from; at < to; at += TOGETHER) {
        u32 near[TOGETHER / SOURCES];
#pragma unroll
        for (u32 k = 0; k < TOGETHER / SOURCES; k++) {
            u32 place = at + SOURCES * k + source;
            near[k] = place < row.length ? __ldcs(row.begin + place) : NONE;
            if (near[k] < pull.first) near[k] = NONE;
        }
        if (pull.looks) {
#pragma unroll
            for (u32 k = 0; k < TOGETHER / SOURCES; k++) {
                if (near[k] != NONE && (mask & mask_of(p.found, near[k])) == 0) near[k] = NONE;
            }
        }
        double found[TOGETHER];
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) {
            u32 w = __shfl_sync(ALL_LANES, near[k / SOURCES], k % SOURCES, SOURCES);
            found[k] = w != NONE ? __ldg(values + u64(w) * SOURCES + source) : 0;
        }
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) sum = __dadd_rn(sum, found[k]);
    }
    return sum;
}

// Returns half a row of a vertex for a pull, or an empty row if there is nothing to add up for the sources in `mask`.
__device__ inline Segment pulled(const Search& p, u32 v, u32 mask, const Pull& pull, u32 half) {
    // The lower half has neighbours before the vertex.
    if ((mask & ~pull.leaves) == 0 || (half == 0 && v <= pull.first)) return {};
    return half_of(p.rows, v, !pull.backward, half);
}

// Adds up the rows of vertices with short rows. A group processes a vertex.
extern "C" __global__ void __launch_bounds__(256, 5) betweenness_pull_short(Search p, Visited visited, Pull pull) {
    for (u32 base = (blockIdx.x * 8 + warp_id()) * GROUPS; base < visited.count; base += gridDim.x * 8 * GROUPS) {
        u32 i = base + lane_id() / SOURCES, v = 0, mask = 0;
        if (i < visited.count) {
            v = vertex_at(visited, i);
            mask = wanted(visited, i);
        }
        double total = 0;
        for (u32 half = 0; half < 2; half++) {
            Segment row = pulled(p, v, mask, pull, half);
            u32 longest = row.length;
#pragma unroll
            for (u32 step = SOURCES; step < 32; step *= 2) longest = max(longest, __shfl_xor_sync(ALL_LANES, longest, step));
            for (u32 from = 0; from < longest; from += PIECE) {
                total = __dadd_rn(total, sum_of_piece(p, pull, row, mask, from, min(from + PIECE, longest)));
            }
        }
        u32 source = lane_id() % SOURCES;
        if (mask >> source & 1) p.sums[u64(v) * SOURCES + source] = total;
    }
}

// Adds up the rows of vertices with long rows. A block processes a vertex, and its groups process the pieces.
extern "C" __global__ void __launch_bounds__(256, 5) betweenness_pull_long(Search p, Visited visited, Pull pull) {
    __shared__ double pieces[GROUPS_OF_BLOCK][SOURCES];
    u32 group = threadIdx.x / SOURCES, source = threadIdx.x % SOURCES;
    u32 v = vertex_at(visited, blockIdx.x), mask = wanted(visited, blockIdx.x);
    if (mask == 0) return;
    double total = 0;
    for (u32 half = 0; half < 2; half++) {
        Segment row = pulled(p, v, mask, pull, half);
        for (u32 from = 0; from < row.length; from += GROUPS_OF_BLOCK * PIECE) {
            u32 begin = from + group * PIECE;
            double sum = sum_of_piece(p, pull, row, mask, begin, begin + PIECE);
            __syncthreads();
            pieces[group][source] = sum;
            __syncthreads();
            if (group > 0) continue;
            u32 count = min(GROUPS_OF_BLOCK, (row.length - from + PIECE - 1) / PIECE);
            for (u32 k = 0; k < count; k++) total = __dadd_rn(total, pieces[k][source]);
        }
    }
    if (group == 0 && mask >> source & 1) p.sums[u64(v) * SOURCES + source] = total;
}

// Adds the counts of a vertex to the counts of an out-neighbour that is not reached yet.
__device__ inline void push_to(const Search& p, u32 w, u32 mask, const double* paths) {
    mask &= ~mask_of(p.reached, w);
    if (mask == 0) return;
#pragma unroll
    for (u32 s = 0; s < SOURCES; s++) {
        if (mask >> s & 1) atomicAdd(p.sums + u64(w) * SOURCES + s, paths[s]);
    }
    if ((mask_of(p.found, w) & mask) != mask) set_mask(p.found, w, mask);
}

// Adds the counts of some vertices to the counts of the next level, along their rows. `threads` threads process a vertex: a group, or a block.
extern "C" __global__ void __launch_bounds__(256) betweenness_push(Search p, Visited visited, u32 threads) {
    u32 lane = threadIdx.x % threads, group = threadIdx.x / threads, groups = 256 / threads;
    for (u32 i = blockIdx.x * groups + group; i < visited.count; i += gridDim.x * groups) {
        u32 v = vertex_at(visited, i), mask = wanted(visited, i);
        if (mask == 0) continue;
        double paths[SOURCES];
#pragma unroll
        for (u32 s = 0; s < SOURCES; s++) paths[s] = p.paths[u64(v) * SOURCES + s];
        for (u32 half = 0; half < 2; half++) {
            Segment row = half_of(p.rows, v, false, half);
            for (u32 at = lane; at < row.length; at += threads) push_to(p, __ldg(row.begin + at), mask, paths);
        }
    }
}

// Adds the sum over the lanes of each source to the element of `to` for this source.
__device__ inline void add_lanes(u64* to, u64 x) {
    for (u32 step = SOURCES; step < 32; step *= 2) x += __shfl_xor_sync(ALL_LANES, x, step);
    if (lane_id() < SOURCES && x > 0) atomicAdd(to + lane_id(), x);
}

// Appends the vertices that were found to the lists, whose next free places are `long_at` and `short_at`. Marks the vertices as reached, and stores
// their sums as counts.
extern "C" __global__ void __launch_bounds__(256) betweenness_collect(Search p, u32 long_at, u32 short_at) {
    u32 words = (p.vertices + 7) / 8, span = 0, source = lane_id() % SOURCES;
    u64 reached = 0, leaving = 0, entering = 0;
    bool inexact = false;
    for (u32 base = (blockIdx.x * 8 + warp_id()) * 32; base < words; base += gridDim.x * 256) {
        u32 word = base + lane_id() < words ? p.found[base + lane_id()] : 0;
        if (!__any_sync(ALL_LANES, word != 0)) continue;
        // Consecutive vertices are in consecutive places.
        bool is_long = base * 8 < p.long_end;
        u32 count = __popc((word | word >> 1 | word >> 2 | word >> 3) & 0x11111111), upto = warp_scan(count), place = 0;
        if (lane_id() == 31) place = atomicAdd(is_long ? &p.step->longs : &p.step->shorts, upto);
        place = (is_long ? long_at : short_at) + __shfl_sync(ALL_LANES, place, 31) + upto - count;
        if (word != 0) {
            p.found[base + lane_id()] = 0;
            p.reached[base + lane_id()] |= word;
            span = max(span, p.vertices - ((base + lane_id()) * 8 + (__ffs(int(word)) - 1) / SOURCES));
        }
        for (u32 k = 0; k < 8; k++) {
            u32 mask = word >> SOURCES * k & 15;
            if (mask == 0) continue;
            (is_long ? p.longs : p.shorts)[place] = (base + lane_id()) * 8 + k;
            (is_long ? p.masks_of_longs : p.masks_of_shorts)[place++] = u8(mask);
        }
        __syncwarp();
        // Each bit of a word is a vertex and a source, and so is each lane.
        for (u32 k = 0; k < 32; k++) {
            if ((__shfl_sync(ALL_LANES, word, k) >> lane_id() & 1) == 0) continue;
            u32 v = (base + k) * 8 + lane_id() / SOURCES;
            double sum = p.sums[u64(v) * SOURCES + source];
            p.paths[u64(v) * SOURCES + source] = sum;
            p.small[u64(v) * SOURCES + source] = sum < 255 ? u8(sum) : 255;
            inexact |= sum >= EXACT;
            reached += 1;
            leaving += degree_of(p, v, false);
            entering += degree_of(p, v, true);
        }
        __syncwarp();
    }
    add_lanes(p.step->reached, reached);
    add_lanes(p.step->leaving, leaving);
    add_lanes(p.step->entering, entering);
    if (span > 0) atomicMax(&p.step->span, span);
    if (inexact) p.step->inexact = 1;
}

// Begins a search: each source in the mask reaches itself. All masks and values must be zero.
extern "C" __global__ void __launch_bounds__(256) betweenness_begin(Search p, uint4 roots, u32 sources) {
    u32 of[SOURCES] = {roots.x, roots.y, roots.z, roots.w}, s = threadIdx.x;
    if (blockIdx.x > 0 || s >= SOURCES || (sources >> s & 1) == 0) return;
    p.sums[u64(of[s]) * SOURCES + s] = 1;
    set_mask(p.found, of[s], 1u << s);
}

// Converts the sums of a step to counts or shares, or sets its counts to 0, so that they can be pulled again. A thread processes a vertex and a
// source.
extern "C" __global__ void __launch_bounds__(256) betweenness_settle(Search p, Visited visited, u32 makes) {
    for (u64 at = blockIdx.x * 256 + threadIdx.x; at < u64(visited.count) * SOURCES; at += gridDim.x * 256) {
        u32 i = u32(at / SOURCES), s = u32(at % SOURCES), v = vertex_at(visited, i);
        u32 mask = wanted(visited, i);
        if (s == 0 && makes == SHARES) set_mask(p.found, v, mask);
        if ((mask >> s & 1) == 0) continue;
        u64 place = u64(v) * SOURCES + s;
        double sum = p.sums[place];
        if (makes == SHARES) {
            double paths = p.paths[place];
            p.shares[place] = __ddiv_rn(__dadd_rn(1, __dmul_rn(paths, sum)), paths);
        } else {
            p.paths[place] = makes == COUNTS ? sum : 0;
            if (makes == COUNTS && sum > LARGEST) p.step->too_large = 1;
        }
    }
}

// Adds the dependencies of all vertices to their totals, source after source.
extern "C" __global__ void __launch_bounds__(256) betweenness_add(Search p, double* totals) {
    for (u32 v = blockIdx.x * 256 + threadIdx.x; v < p.vertices; v += gridDim.x * 256) {
        u32 mask = mask_of(p.reached, v);
        if (mask == 0) continue;
        double total = totals[v];
#pragma unroll
        for (u32 s = 0; s < SOURCES; s++) {
            u64 place = u64(v) * SOURCES + s;
            if (mask >> s & 1) total = __dadd_rn(total, __dmul_rn(p.paths[place], p.sums[place]));
        }
        totals[v] = total;
    }
}
