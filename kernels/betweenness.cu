// Betweenness centrality: Brandes' algorithm from up to four sources at once. src/algo/betweenness/level.rs adds numbers in the same order, so the
// scores are bitwise the same as on CPUs.
//
// The values of a vertex for the four sources are adjacent: 32 bytes, which the GPU reads at once. A group of four lanes processes a vertex, one lane
// per source, and reads these bytes of every neighbour. A mask has a bit for each source, such as whether the source has reached the vertex. A 32-bit
// word contains the masks of eight vertices.
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

// Finds which of the vertices from `first` to `end` (exclusive) the sources in the mask `sources` reach in the next level, and counts the shortest
// paths to them. `lanes` lanes process a vertex: SOURCES, or 1 if rows are short.
extern "C" __global__ void __launch_bounds__(256, COUNTING) betweenness_count_short(Search p, u32 sources, u32 looks, u32 first, u32 end, u32 lanes) {
    u32 lane = threadIdx.x % lanes, v = first + blockIdx.x * (256 / lanes) + threadIdx.x / lanes, found = 0;
    u32 mask = v < end ? sources & ~mask_of(p.reached, v) : 0;
    double sums[SOURCES] = {};
    if (mask != 0) add_counts(p, row_of(p.rows, v, true), mask, looks, lane, lanes, sums);
    __syncwarp();
    add_over(lanes, sums);
#pragma unroll
    for (u32 s = 0; s < SOURCES; s++) {
        if ((mask >> s & 1) == 0 || sums[s] == 0) continue;
        found |= 1u << s;
        if (lane == s % lanes) p.sums[u64(v) * SOURCES + s] = sums[s];
    }
    if (lane == 0 && found != 0) set_mask(p.found, v, found);
}

// Like betweenness_count_short, for vertices with long rows. A block processes a vertex.
extern "C" __global__ void __launch_bounds__(256, COUNTING) betweenness_count_long(Search p, u32 sources, u32 looks) {
    __shared__ double of_warps[8][SOURCES];
    u32 v = blockIdx.x, mask = sources & ~mask_of(p.reached, v), s = threadIdx.x;
    if (mask == 0) return;
    double sums[SOURCES] = {};
    add_counts(p, row_of(p.rows, v, true), mask, looks, threadIdx.x, 256, sums);
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

// Adds up the values of the neighbours of vertices with short rows. A warp takes `each` vertices at a time: 32, or a divisor of 32 if there are few
// vertices, so that the longest rows, which come first, are divided among warps. If few neighbours have values, each lane first checks whether its
// row, if it is short enough to be scanned, has such a neighbour. Then a group processes each remaining vertex. If TEAMS is true, there are more
// groups than vertices, and several groups share the pieces of a row.
template <bool TEAMS> __device__ inline void pull_short(const Search& p, const Visited& visited, const Pull& pull, u32 each) {
    __shared__ u32 vertices[8][32];
    __shared__ u8 masks[8][32];
    u32 source = lane_id() % SOURCES, group = lane_id() / SOURCES;
    // Number of groups that process a vertex, and this group's index among them.
    u32 team = TEAMS ? GROUPS / each : 1, member = TEAMS ? group % team : 0;
    for (u32 base = (blockIdx.x * 8 + warp_id()) * each; base < visited.count; base += gridDim.x * 8 * each) {
        u32 i = base + lane_id(), v = 0, mask = 0;
        if (lane_id() < each && i < visited.count) {
            v = vertex_at(visited, i);
            mask = wanted(visited, i);
        }
        bool is_left = mask != 0;
        if (is_left && pull.looks) {
            Row row = row_of(p.rows, v, !pull.backward);
            if (row.lower.length + row.upper.length <= SCANNED && has_no_value(p, pull, row, mask)) {
                is_left = false;
#pragma unroll
                for (u32 s = 0; s < SOURCES; s++) {
                    if (mask >> s & 1) p.sums[u64(v) * SOURCES + s] = 0;
                }
            }
        }
        u32 left = __ballot_sync(ALL_LANES, is_left), count = __popc(left), place = __popc(left & ((1u << lane_id()) - 1));
        if (is_left) {
            vertices[warp_id()][place] = v;
            masks[warp_id()][place] = u8(mask);
        }
        __syncwarp();
        for (u32 first = 0; first < count; first += GROUPS / team) {
            u32 at = first + group / team;
            v = mask = 0;
            Row row = {};
            if (at < count) {
                v = vertices[warp_id()][at];
                mask = masks[warp_id()][at];
                row = row_of(p.rows, v, !pull.backward);
            }
            double total = 0;
            if (TEAMS) {
                u32 pieces = pieces_of(row.lower) + pieces_of(row.upper);
                for (u32 number = member; __any_sync(ALL_LANES, number - member < pieces); number += team) {
                    double sum = sum_of_row(p, pull, number < pieces ? piece_of(row, number, pull) : Row{}, mask);
                    for (u32 k = 0; k < team; k++) total = __dadd_rn(total, __shfl_sync(ALL_LANES, sum, k * SOURCES + source, team * SOURCES));
                }
            } else {
                total = sum_of_row(p, pull, row, mask);
            }
            if (at < count && member == 0 && mask >> source & 1) p.sums[u64(v) * SOURCES + source] = total;
        }
        __syncwarp();
    }
}

extern "C" __global__ void __launch_bounds__(256, PULLING) betweenness_pull_short(Search p, Visited visited, Pull pull, u32 each) {
    pull_short<false>(p, visited, pull, each);
}

// Like betweenness_pull_short, for so few vertices that several groups share a row.
extern "C" __global__ void __launch_bounds__(256, 3) betweenness_pull_few(Search p, Visited visited, Pull pull, u32 each) {
    pull_short<true>(p, visited, pull, each);
}

// Counts the pieces of long rows, in total and by the tile of their first neighbour. If `lists` is true, writes each piece to the next free list
// position of its tile. A block processes a vertex.
extern "C" __global__ void __launch_bounds__(256) betweenness_divide(Search p, Pieces pieces, u32 enters, u32 lists) {
    u32 v = blockIdx.x;
    Segment lower = half_of(p.rows, v, enters, 0), upper = half_of(p.rows, v, enters, 1);
    u32 of_lower = pieces_of(lower), count = of_lower + pieces_of(upper);
    if (!lists && threadIdx.x == 0) pieces.starts[v] = atomicAdd(pieces.total, count);
    for (u32 first = warp_id() * 32; first < count; first += 256) {
        u32 number = first + lane_id(), tile = NONE;
        if (number < of_lower) tile = lower.begin[number * PIECE] / TILE;
        else if (number < count) tile = upper.begin[(number - of_lower) * PIECE] / TILE;
        // The pieces of a warp are in few tiles.
        for (u32 left = __ballot_sync(ALL_LANES, tile != NONE); left != 0;) {
            u32 of = __shfl_sync(ALL_LANES, tile, __ffs(int(left)) - 1), same = __ballot_sync(ALL_LANES, tile == of), place = 0;
            if (lane_id() == 0) place = atomicAdd(pieces.places + of, __popc(same));
            place = __shfl_sync(ALL_LANES, place, 0) + __popc(same & ((1u << lane_id()) - 1));
            if (lists && tile == of) pieces.list[place] = u64(v) << 32 | number;
            left &= ~same;
        }
    }
}

// Marks the vertices with long rows that a pull visits.
extern "C" __global__ void __launch_bounds__(256) betweenness_mark(Visited visited, Pieces pieces) {
    u32 i = blockIdx.x * 256 + threadIdx.x;
    if (i < visited.count) pieces.visited[vertex_at(visited, i)] = u8(wanted(visited, i));
}

// Adds up each piece of the list whose vertex is marked. Of 256 pieces at a time, a block selects the marked ones, and its groups process them.
extern "C" __global__ void __launch_bounds__(256, PULLING) betweenness_pull_pieces(Search p, Pieces pieces, u32 count, Pull pull) {
    __shared__ u64 marked[256];
    __shared__ u32 scratch[32];
    for (u32 base = blockIdx.x * 256; base < count; base += gridDim.x * 256) {
        u64 listed = base + threadIdx.x < count ? __ldcs(pieces.list + base + threadIdx.x) : 0;
        u32 is_marked = base + threadIdx.x < count && pieces.visited[listed >> 32] != 0, total;
        u32 place = block_scan_before(is_marked, scratch, total);
        if (is_marked) marked[place] = listed;
        __syncthreads();
        for (u32 warps = warp_id() * GROUPS; warps < total; warps += GROUPS_OF_BLOCK) {
            u32 at = warps + lane_id() / SOURCES, v = 0, number = 0, mask = 0;
            Row piece = {};
            if (at < total) {
                v = u32(marked[at] >> 32), number = u32(marked[at]);
                mask = pieces.visited[v];
                piece = piece_of(row_of(p.rows, v, !pull.backward), number, pull);
            }
            double sum = sum_of_row(p, pull, piece, mask);
            if (at < total) pieces.sums[u64(pieces.starts[v] + number) * SOURCES + lane_id() % SOURCES] = sum;
        }
        __syncthreads();
    }
}

// Adds up the sums of the pieces of visited vertices with long rows, and removes their marks. A warp processes a vertex.
extern "C" __global__ void __launch_bounds__(256) betweenness_join(Search p, Visited visited, Pieces pieces, u32 enters) {
    u32 i = blockIdx.x * 8 + warp_id();
    if (i >= visited.count) return;
    u32 v = vertex_at(visited, i), mask = wanted(visited, i), source = lane_id() % SOURCES;
    if (mask == 0) return;
    u32 count = pieces_of(half_of(p.rows, v, enters, 0)) + pieces_of(half_of(p.rows, v, enters, 1));
    const double* sums = pieces.sums + u64(pieces.starts[v]) * SOURCES;
    constexpr u32 TOGETHER = 8;
    double total = 0;
    for (u32 from = 0; from < count; from += TOGETHER * GROUPS) {
        double loaded[TOGETHER];
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) {
            u32 at = from + k * GROUPS + lane_id() / SOURCES;
            loaded[k] = at < count ? sums[u64(at) * SOURCES + source] : 0;
        }
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) {
#pragma unroll
            for (u32 group = 0; group < GROUPS; group++) total = __dadd_rn(total, __shfl_sync(ALL_LANES, loaded[k], group * SOURCES + source));
        }
    }
    if (lane_id() < SOURCES && mask >> source & 1) p.sums[u64(v) * SOURCES + source] = total;
    if (lane_id() == 0) pieces.visited[v] = 0;
}

// Adds the counts of a vertex to the counts of its out-neighbour `w`, for the sources that have not reached `w` yet.
__device__ inline void push_to(const Search& p, u32 w, u32 mask, const double* paths) {
    mask &= ~mask_of(p.reached, w);
    if (mask == 0) return;
#pragma unroll
    for (u32 s = 0; s < SOURCES; s++) {
        if (mask >> s & 1) atomicAdd(p.sums + u64(w) * SOURCES + s, paths[s]);
    }
    if ((mask_of(p.found, w) & mask) != mask) set_mask(p.found, w, mask);
}

// Adds the counts of the visited vertices to the counts of the next level, along their rows. `threads` threads process a vertex: a warp, or several
// blocks.
extern "C" __global__ void __launch_bounds__(256) betweenness_push(Search p, Visited visited, u32 threads) {
    u64 thread = u64(blockIdx.x) * 256 + threadIdx.x;
    u32 i = u32(thread / threads), lane = u32(thread % threads);
    if (i >= visited.count) return;
    u32 v = vertex_at(visited, i), mask = wanted(visited, i);
    if (mask == 0) return;
    double paths[SOURCES];
#pragma unroll
    for (u32 s = 0; s < SOURCES; s++) paths[s] = p.paths[u64(v) * SOURCES + s];
    for (u32 half = 0; half < 2; half++) {
        Segment row = half_of(p.rows, v, false, half);
        for (u32 at = lane; at < row.length; at += threads) push_to(p, __ldg(row.begin + at), mask, paths);
    }
}

// Adds, for each source, the sum of `x` over the source's lanes to the source's element of `to`.
__device__ inline void add_lanes(u64* to, u64 x) {
    for (u32 step = SOURCES; step < 32; step *= 2) x += __shfl_xor_sync(ALL_LANES, x, step);
    if (lane_id() < SOURCES && x > 0) atomicAdd(to + lane_id(), x);
}

// Appends the vertices that were found to the lists, at the positions `long_at` and `short_at`. Marks the vertices as reached, and stores their sums
// as counts.
extern "C" __global__ void __launch_bounds__(256) betweenness_collect(Search p, u32 long_at, u32 short_at) {
    u32 words = (p.vertices + 7) / 8, span = 0, source = lane_id() % SOURCES;
    u64 reached = 0, leaving = 0, entering = 0;
    bool inexact = false;
    for (u32 base = (blockIdx.x * 8 + warp_id()) * 32; base < words; base += gridDim.x * 256) {
        u32 word = base + lane_id() < words ? p.found[base + lane_id()] : 0;
        if (!__any_sync(ALL_LANES, word != 0)) continue;
        // Consecutive vertices get consecutive positions.
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
        // Each bit of a word belongs to a vertex and a source, and the lane with the same index processes it. Several loads are in flight at once.
        constexpr u32 AT_ONCE = 4;
        for (u32 first = 0; first < 32; first += AT_ONCE) {
            double sums[AT_ONCE];
            u32 leave[AT_ONCE], enter[AT_ONCE];
            bool is_found[AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++) {
                u32 v = (base + first + k) * 8 + lane_id() / SOURCES;
                is_found[k] = __shfl_sync(ALL_LANES, word, first + k) >> lane_id() & 1;
                sums[k] = is_found[k] ? p.sums[u64(v) * SOURCES + source] : 0;
                leave[k] = is_found[k] ? degree_of(p.rows, p.degrees, v, false) : 0;
                enter[k] = is_found[k] && p.rows.shift > 0 ? degree_of(p.rows, p.degrees, v, true) : leave[k];
            }
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++) {
                if (!is_found[k]) continue;
                u64 place = u64((base + first + k) * 8 + lane_id() / SOURCES) * SOURCES + source;
                p.paths[place] = sums[k];
                p.small[place] = sums[k] < 255 ? u8(sums[k]) : 255;
                inexact |= sums[k] >= EXACT;
                reached += 1;
                leaving += leave[k];
                entering += enter[k];
            }
        }
        __syncwarp();
    }
    add_lanes(p.step->reached, reached);
    add_lanes(p.step->leaving, leaving);
    add_lanes(p.step->entering, entering);
    if (span > 0) atomicMax(&p.step->span, span);
    if (inexact) p.step->inexact = 1;
}

// Begins a search: each source in the mask `sources` reaches itself. All masks and values must be zero.
extern "C" __global__ void __launch_bounds__(256) betweenness_begin(Search p, uint4 roots, u32 sources) {
    u32 of[SOURCES] = {roots.x, roots.y, roots.z, roots.w}, s = threadIdx.x;
    if (blockIdx.x > 0 || s >= SOURCES || (sources >> s & 1) == 0) return;
    p.sums[u64(of[s]) * SOURCES + s] = 1;
    set_mask(p.found, of[s], 1u << s);
}

// Converts the sums of a step to counts or shares, or sets the counts of a step to 0, so that they can be pulled again; `makes` is the code of the
// result. A thread processes a vertex and a source. For the sources in the mask `leaves`, nothing was added up: the vertices are the deepest level,
// so their sums are 0.
extern "C" __global__ void __launch_bounds__(256) betweenness_settle(Search p, Visited visited, u32 makes, u32 leaves) {
    // Several loads are in flight at once.
    constexpr u32 AT_ONCE = 4;
    u64 count = u64(visited.count) * SOURCES, threads = u64(gridDim.x) * 256;
    u32 s = threadIdx.x % SOURCES;
    bool is_leaf = leaves >> s & 1;
    for (u64 first = blockIdx.x * 256 + threadIdx.x; first < count; first += AT_ONCE * threads) {
        u32 vertices[AT_ONCE], masks[AT_ONCE];
        double sums[AT_ONCE], paths[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            u32 i = u32((first + k * threads) / SOURCES);
            bool is_there = first + k * threads < count;
            vertices[k] = is_there ? vertex_at(visited, i) : 0;
            masks[k] = is_there ? wanted(visited, i) : 0;
        }
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            bool is_visited = masks[k] >> s & 1;
            u64 place = u64(vertices[k]) * SOURCES + s;
            sums[k] = is_visited && !is_leaf ? p.sums[place] : 0;
            paths[k] = is_visited && makes == SHARES ? p.paths[place] : 1;
        }
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            u64 place = u64(vertices[k]) * SOURCES + s;
            if (s == 0 && masks[k] != 0 && makes == SHARES) set_mask(p.found, vertices[k], masks[k]);
            if ((masks[k] >> s & 1) == 0) continue;
            if (is_leaf) p.sums[place] = 0;
            if (makes == SHARES) {
                p.shares[place] = __ddiv_rn(__dadd_rn(1, __dmul_rn(paths[k], sums[k])), paths[k]);
            } else {
                p.paths[place] = makes == COUNTS ? sums[k] : 0;
                if (makes == COUNTS && sums[k] > LARGEST) p.step->too_large = 1;
            }
        }
    }
}

// Adds the dependencies of all vertices to their totals, one source after the other.
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
