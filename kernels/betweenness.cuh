// Betweenness centrality: the state of a search from up to four sources, and sums along rows.
//
// The values of a vertex for the four sources are adjacent: 32 bytes, which the GPU reads at once. A group of four lanes processes a vertex, one lane
// per source, and reads these bytes of every neighbour. A mask has a bit for each source, such as whether the source has reached the vertex. A 32-bit
// word contains the masks of eight vertices.
#pragma once
#include "row_parts.cuh"

// Number of sources of a batch, and number of lanes of a group, which processes a vertex.
constexpr u32 SOURCES = 4;
// Minimum number of entries of a long row. A block counts paths along one long row, and many groups pull along it.
constexpr u32 LONG = 4096;
// Number of entries of a piece of a row. Each piece is added up separately, and its sum is added to the sum of the row.
constexpr u32 PIECE = 128;
// Number of values of a row whose loads are in flight at once.
constexpr u32 TOGETHER = 8;
// A single lane counts paths along a row of at most FEW entries, and scans a row of at most SCANNED entries for a neighbour that has a value. Rows of
// at least SEARCHED entries are searched for the first neighbour that can have a value.
constexpr u32 FEW = 4;
constexpr u32 SCANNED = 8;
constexpr u32 SEARCHED = 64;
// Number of blocks that a multiprocessor should run at once: of kernels that pull, and of kernels that count. Code for other architectures needs more
// registers.
#if __CUDA_ARCH__ == 900
constexpr u32 PULLING = 5, COUNTING = 6;
#else
constexpr u32 PULLING = 4, COUNTING = 5;
#endif
// Number of vertices of a tile. Pieces of long rows are added up tile by tile, by their first neighbours, so that the neighbours' values are in the
// cache.
constexpr u32 TILE = 1 << 12;
// Number of groups of a warp, and of a block.
constexpr u32 GROUPS = 32 / SOURCES, GROUPS_OF_BLOCK = 256 / SOURCES;
// EXACT is 2^53. Integers below it are exact in f64, so the order in which they are added does not matter. LARGEST is the largest supported count of
// shortest paths.
constexpr double EXACT = 9007199254740992.0;
constexpr double LARGEST = 1.0715086071862673e301;

// Codes for the results that betweenness_settle computes from sums: counts, shares, or nothing.
constexpr u32 COUNTS = 0;
constexpr u32 SHARES = 1;
constexpr u32 NOTHING = 2;

// Totals of the vertices that a step found. src/algo/betweenness/gpu/state.rs declares the same struct.
struct Found {
    // Number of vertices with long rows, and with short rows.
    u32 longs, shorts;
    // 1 if some count is not exact; and 1 if some count is too large for f64.
    u32 inexact, too_large;
    // Number of vertices of the graph from the first found vertex on.
    u32 span, unused;
    // For each source: number of vertices, number of entries in their rows of out-neighbours, and number of entries in their rows of in-neighbours.
    u64 reached[SOURCES], leaving[SOURCES], entering[SOURCES];
};
static_assert(sizeof(Found) == 120, "as its twin");

// Arguments of a search. src/algo/betweenness/gpu/state.rs declares the same struct.
struct Search {
    VertexRows rows;
    // For each vertex and source: the number of shortest paths; the sum of this step and, in the end, the sum of the shares of successors; and the
    // share. The share of a vertex is (1 + its dependency on the source) / its number of shortest paths.
    double* paths;
    double* sums;
    double* shares;
    // Counts of shortest paths of each vertex and source, as bytes. 255 stands for a count of 255 or more.
    u8* small;
    // Masks of the sources that have reached each vertex; and masks of the sources for which this step found the vertex or, on the way back, for
    // which it has a share.
    u32* reached;
    u32* found;
    // Vertices with long rows, and vertices with short rows, of all steps; and the mask of each listed vertex.
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

// Vertices that a launch visits: `count` elements of a list, from `first` on. src/algo/betweenness/gpu/state.rs declares the same struct.
struct Visited {
    const u32* list;
    const u8* masks;
    u32 first, count;
    // Mask of the sources for which the vertices are visited.
    u32 sources, unused;
};
static_assert(sizeof(Visited) == 32, "as its twin");

// Parameters of a pull, which adds up the counts of in-neighbours or, on the way back (`backward`), the shares of out-neighbours. Neighbours before
// vertex `first` have no value. If `looks` is true, the pull reads the masks first, because they fit the cache, and reads only the values of
// neighbours whose masks show that they have one. If `searches` is true, rows of at least SEARCHED entries are searched for the first neighbour that
// can have a value.
struct Pull {
    u32 backward, first, looks, searches;
};
static_assert(sizeof(Pull) == 16, "as its twin");

// Pieces of long rows in one direction. src/algo/betweenness/gpu/long_rows.rs declares the same struct.
struct Pieces {
    // For each piece: its vertex in the upper 32 bits, and its index among the vertex's pieces in the lower 32 bits. The pieces of the lower half of
    // a row come first.
    u64* list;
    // Sums of each piece for each source. The pieces of a vertex are adjacent and in the order of their indices.
    double* sums;
    // For each vertex with long rows, the position of its first piece in `sums`, and the mask of the sources for which a pull visits the vertex.
    u32* starts;
    u8* visited;
    // For each tile, the next free position in the list.
    u32* places;
    // Number of pieces.
    u32* total;
};
static_assert(sizeof(Pieces) == 48, "as its twin");

// Both halves of a vertex's row.
struct Row {
    Segment lower, upper;
};

__device__ inline Row row_of(const VertexRows& rows, u32 v, bool enters) { return {half_of(rows, v, enters, 0), half_of(rows, v, enters, 1)}; }

__device__ inline u32 mask_of(const u32* masks, u32 v) { return masks[v / 8] >> v % 8 * 4 & 15; }
__device__ inline void set_mask(u32* masks, u32 v, u32 mask) { atomicOr(masks + v / 8, mask << v % 8 * 4); }

__device__ inline u32 vertex_at(const Visited& visited, u32 i) { return visited.list[visited.first + i]; }

// Returns the mask of the sources for which a launch visits the vertex with index `i`.
__device__ inline u32 wanted(const Visited& visited, u32 i) { return visited.sources & visited.masks[visited.first + i]; }

// Returns the neighbour at index `place` of a row, or NONE if the row is shorter.
__device__ inline u32 entry_of(const Row& row, u32 place) {
    const u32* entry = place < row.lower.length ? row.lower.begin + place : row.upper.begin + (place - row.lower.length);
    return place < row.lower.length + row.upper.length ? __ldcs(entry) : NONE;
}

// Adds the counts of the neighbours at indices `lane`, `lane + lanes` and so on of a row to `sums`, for the sources in `mask`. The order does not
// matter, because sums that are not exact are computed again. Several loads are in flight at once.
__device__ inline void add_counts(const Search& p, const Row& row, u32 mask, u32 looks, u32 lane, u32 lanes, double (&sums)[SOURCES]) {
    constexpr u32 AT_ONCE = 4, ROUNDS = 64;
    u32 at = lane, length = row.lower.length + row.upper.length, bytes = ((mask & 1) | (mask & 2) << 7 | (mask & 4) << 14 | (mask & 8) << 21) * 255;
    while (at < length) {
        // Each half of these words is a sum of bytes below 255. It consists of at most 256 bytes, so it is below 65,536.
        u32 even = 0, odd = 0;
        for (u32 round = 0; round < ROUNDS && at < length; round++, at += AT_ONCE * lanes) {
            u32 near[AT_ONCE], small[AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++) near[k] = entry_of(row, at + k * lanes);
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++) {
                bool has_value = near[k] != NONE && (!looks || (mask & mask_of(p.reached, near[k])) != 0);
                small[k] = has_value ? bytes & __ldg(reinterpret_cast<const u32*>(p.small) + near[k]) : 0;
            }
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++) {
                // The highest bit of each byte that is 255.
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

// Returns the index in a row at which a pull can start: a multiple of TOGETHER such that no earlier neighbour has a value. If the row is searched,
// this is about the index of the first neighbour from vertex `pull.first` on, otherwise 0. The lanes of a group search together. All lanes of a warp
// call this.
__device__ inline u32 first_place(const Segment& row, const Pull& pull) {
    u32 low = 0, high = row.length, source = lane_id() % SOURCES, shift = lane_id() - source;
    if (!pull.searches || row.length < SEARCHED) high = 0;
    while (__any_sync(ALL_LANES, high - low > TOGETHER)) {
        // The lanes divide the range into five parts.
        u32 step = (high - low + SOURCES) / (SOURCES + 1), place = low + step * (source + 1);
        u32 before = __ballot_sync(ALL_LANES, place <= high && high - low > TOGETHER && row.begin[place - 1] < pull.first) >> shift & 15;
        if (high - low <= TOGETHER) continue;
        u32 parts = __popc(before);
        low += step * parts;
        if (parts < SOURCES) high = min(high, low + step);
    }
    return low / TOGETHER * TOGETHER;
}

// Returns the masks that show which vertices have a value.
__device__ inline const u32* masks_of(const Search& p, const Pull& pull) { return pull.backward ? p.found : p.reached; }

// Returns the sum of the values of a row's neighbours. The values of a piece are added in order, and the sums of the pieces are added in order. Each
// lane of a group receives the sum for its source. `mask` contains the sources of the group. All lanes of a warp call this. Several loads are in
// flight at once.
__device__ inline double sum_of_row(const Search& p, const Pull& pull, const Row& row, u32 mask) {
    const double* values = pull.backward ? p.shares : p.paths;
    const u32* masks = masks_of(p, pull);
    u32 source = lane_id() % SOURCES;
    // `at` runs over both halves of the row; each half begins at a multiple of TOGETHER. Neighbours before the first that can have a value are
    // skipped.
    u32 skipped = first_place(row.lower, pull), upper = (row.lower.length - skipped + TOGETHER - 1) / TOGETHER * TOGETHER;
    u32 skipped_above = first_place(row.upper, pull), longest = upper + row.upper.length - skipped_above;
#pragma unroll
    for (u32 step = SOURCES; step < 32; step *= 2) longest = max(longest, __shfl_xor_sync(ALL_LANES, longest, step));
    double total = 0, sum = 0;
    for (u32 at = 0; at < longest; at += TOGETHER) {
        bool is_upper = at >= upper;
        const u32* half = is_upper ? row.upper.begin : row.lower.begin;
        u32 length = is_upper ? row.upper.length : row.lower.length, of_half = is_upper ? at - upper + skipped_above : at + skipped;
        u32 near[TOGETHER / SOURCES];
#pragma unroll
        for (u32 k = 0; k < TOGETHER / SOURCES; k++) {
            u32 place = of_half + SOURCES * k + source;
            near[k] = place < length ? __ldcs(half + place) : NONE;
            if (near[k] < pull.first) near[k] = NONE;
        }
        if (pull.looks) {
#pragma unroll
            for (u32 k = 0; k < TOGETHER / SOURCES; k++) {
                if (near[k] != NONE && (mask & mask_of(masks, near[k])) == 0) near[k] = NONE;
            }
        }
        if (of_half % PIECE == 0 || at == upper) {
            total = __dadd_rn(total, sum);
            sum = 0;
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
    return __dadd_rn(total, sum);
}

// Returns true if no neighbour in a row of at most SCANNED entries has a value for a source in the mask.
__device__ inline bool has_no_value(const Search& p, const Pull& pull, const Row& row, u32 mask) {
    u32 near[SCANNED];
#pragma unroll
    for (u32 k = 0; k < SCANNED; k++) near[k] = entry_of(row, k);
    const u32* masks = masks_of(p, pull);
    bool has = false;
#pragma unroll
    for (u32 k = 0; k < SCANNED; k++) has |= near[k] != NONE && near[k] >= pull.first && (mask & mask_of(masks, near[k])) != 0;
    return !has;
}

// Returns the number of pieces of a row.
__device__ inline u32 pieces_of(const Segment& row) { return (row.length + PIECE - 1) / PIECE; }

// Returns the piece with index `number` of a row, in the form of a row. It is empty if none of the piece's neighbours can have a value. The pieces of
// the lower half come first.
__device__ inline Row piece_of(const Row& row, u32 number, const Pull& pull) {
    u32 of_lower = pieces_of(row.lower);
    const Segment& half = number < of_lower ? row.lower : row.upper;
    u32 from = (number < of_lower ? number : number - of_lower) * PIECE;
    Row piece = {};
    piece.lower = {half.begin + from, min(PIECE, half.length - from)};
    if (piece.lower.begin[piece.lower.length - 1] < pull.first) piece.lower.length = 0;
    return piece;
}
