// Distributes edges to bins (ranges of rows).
#include "prepare.cuh"

// An edge: the ids of its two ends, and its weight if edges have weights.
#ifdef WEIGHTED
typedef uint3 Edge;
__device__ inline Edge renumbered(Edge edge, u32 row, u32 low) { return make_uint3(row, low, edge.z); }
#else
typedef uint2 Edge;
__device__ inline Edge renumbered(Edge, u32 row, u32 low) { return make_uint2(row, low); }
#endif

// Bins to which edges are distributed; src/prepare/partition/kernel_structs.rs declares the same struct.
struct Bins {
    // Vertex of each input id. Vertices are in the order of descending degree.
    const u32* map;
    u32 ids;
    // Binary logarithm of the number of granules (small ranges of rows) from each power of two of the row index to the next.
    u32 mantissa;
    // Bin of each granule (small range of rows); NONE if that bin takes no edges.
    const u32* of_granule;
    // First row of each bin.
    const u32* starts;
    u32 count;
    // Binary logarithm of the number of rows of a vertex. If a vertex v has two rows, an edge from v to a smaller vertex is in row 2v, and an edge
    // from a smaller vertex to v is in row 2v + 1.
    u32 shift;
};
static_assert(sizeof(Bins) == 40, "the host has a twin of this size");

// Edges that one lane (GPU queue) of the host has gathered; src/prepare/partition/kernel_structs.rs declares the same struct.
struct Gathered {
    // Renumbered edges {row, smaller neighbour}, and number of edges per bin.
    Edge* edges;
    u32* counts;
    // `line_starts` contains the first line of each bin, followed by the end of the last line (exclusive). `rest_starts` contains the position in
    // `rest` of each bin's edges that fill no whole line. `placed` contains the number of edges that are placed in each bin.
    u32* line_starts;
    u32* rest_starts;
    u32* placed;
    u32* lines;
    Edge* rest;
    // Counts: [0] edges; [1] 1 if the input has changed; [2] and [3] self-loops, in 64 bits; [4] edges that fill no whole line.
    u32* words;
};
static_assert(sizeof(Gathered) == 64, "the host has a twin of this size");

__device__ inline u32 bin_of(const Bins& bins, u32 row) {
    u32 shift = 31 - __clz(row | 1u << bins.mantissa) - bins.mantissa;
    return bins.of_granule[(shift << bins.mantissa) + (row >> shift)];
}

// Replaces the ids of edges by vertices, orients the edges, and gathers the edges whose bin takes edges.
extern "C" __global__ void __launch_bounds__(THREADS)
gather_edges(const Edge* raw, u32 count, Bins bins, Gathered to) {
    u32 loops = 0;
    bool changed = false;
    // All lanes of a warp make the same number of iterations, because they vote in each.
    for (u32 start = blockIdx.x * THREADS + warp_id() * 32; start < count; start += gridDim.x * THREADS) {
        u32 i = start + lane_id(), row = 0, low = 0, bin = NONE;
        Edge edge = {};
        if (i < count) {
            edge = raw[i];
            if (edge.x == edge.y) {
                loops++;
            } else if (max(edge.x, edge.y) >= bins.ids) {
                changed = true;
            } else {
                u32 a = bins.map[edge.x], b = bins.map[edge.y];
                row = max(a, b), low = min(a, b);
                if (row == NONE) {
                    changed = true;
                } else {
                    row = row << bins.shift | (bins.shift & (u32)(a < b));
                    bin = bin_of(bins, row);
                }
            }
        }
        u32 taken = __ballot_sync(ALL_LANES, bin != NONE), first = 0;
        if (lane_id() == 0 && taken != 0) first = atomicAdd(&to.words[0], (u32)__popc(taken));
        first = __shfl_sync(ALL_LANES, first, 0);
        if (bin != NONE) {
            to.edges[first + __popc(taken & ((1u << lane_id()) - 1))] = renumbered(edge, row, low);
            atomicAdd(&to.counts[bin], 1u);
        }
    }
    loops = warp_sum(loops);
    changed = __any_sync(ALL_LANES, changed);
    if (lane_id() == 0) {
        if (changed) to.words[1] = 1;
        if (loops > 0) atomicAdd(reinterpret_cast<u64*>(&to.words[2]), (u64)loops);
    }
}

// Assigns lines to every bin for its edges. Edges that fill no whole line stay for the next call, or get a line too if this is the `last` call. Runs
// as one block.
extern "C" __global__ void __launch_bounds__(1024) plan_lines(u32 bins, u32 last, Gathered to) {
    __shared__ u32 scratch[32];
    u32 lines = 0, rest = 0;
    for (u32 start = 0; start < bins; start += blockDim.x) {
        u32 bin = start + threadIdx.x, count = bin < bins ? to.counts[bin] : 0;
        u32 more_lines, more_rest, my_lines = last ? (count + LINE - 1) / LINE : count / LINE;
        u32 my_rest = last ? 0 : count % LINE;
        u32 lines_before = block_scan_before(my_lines, scratch, more_lines);
        u32 rest_before = block_scan_before(my_rest, scratch, more_rest);
        if (bin < bins) {
            to.line_starts[bin] = lines + lines_before;
            to.rest_starts[bin] = rest + rest_before;
            to.placed[bin] = 0;
            to.counts[bin] = my_rest;
        }
        lines += more_lines;
        rest += more_rest;
    }
    if (threadIdx.x == 0) {
        to.line_starts[bins] = lines;
        to.words[4] = rest;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) fill_lines(Bins bins, Gathered to) {
    u32 count = to.words[0];
    for (u32 i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
        Edge edge = to.edges[i];
        u32 bin = bin_of(bins, edge.x), at = atomicAdd(&to.placed[bin], 1u);
        u32 first = to.line_starts[bin], room = (to.line_starts[bin + 1] - first) * LINE;
        if (at < room) {
            u32* line = to.lines + (first + at / LINE) * LINE_WORDS;
            u32 k = at % LINE;
            line[k] = edge.y;
            reinterpret_cast<u16*>(line + LINE)[2 * (k % 32) + k / 32] = (u16)(edge.x - bins.starts[bin]);
#ifdef WEIGHTED
            line[PLAIN_WORDS + k] = edge.z;
#endif
        } else {
            to.rest[to.rest_starts[bin] + at - room] = edge;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) keep_rest(Gathered to) {
    u32 count = to.words[4];
    for (u32 i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) to.edges[i] = to.rest[i];
    if (blockIdx.x == 0 && threadIdx.x == 0) to.words[0] = count;
}
