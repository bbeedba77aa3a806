// Steps in which all blocks of a grid visit the rows of listed vertices.
//
// The totals of a step are in one of three slots, which take turns. A slot is read in the step after, and cleared in the step after that.
#pragma once
#include "grid_barrier.cuh"
#include "row_parts.cuh"

// Stands for no vertex.
constexpr u32 NONE = 0xffffffff;
// Whole blocks visit a vertex with at least this many entries.
constexpr u32 LONG = 256;
// A bit for each segment of a vertex.
constexpr u32 ALL_SEGMENTS = 15;

// Shared memory of a warp: vertices, the number of entries before those of each vertex, and the segments of its rows.
struct WarpRows {
    u32 vertices[32];
    u32 before[32];
    Segment segments[32][4];
};

// The lists of a step.
struct Lists {
    // The vertices that are visited.
    const u32* list;
    u32 size;
    // Vertices that the step finds, and their number.
    u32* found;
    u32* found_count;
    // Visited vertices with long rows, and their number.
    u32* longs;
    u32* long_count;
};

// Appends the vertices of those lanes of a warp that have one to a list that has `*count` vertices. All lanes call this.
__device__ inline void append(u32* list, u32* count, bool has, u32 v) {
    u32 lanes = __ballot_sync(ALL_LANES, has), first = 0;
    if (lanes == 0) return;
    if (lane_id() == 0) first = atomicAdd(count, u32(__popc(lanes)));
    first = __shfl_sync(ALL_LANES, first, 0);
    if (has) list[first + __popc(lanes & ((1u << lane_id()) - 1))] = v;
}

// Returns the slot of this step. `scratch` is shared memory of the block with the number of the step in `at.step`.
template <class State, class Scratch> __device__ inline auto slot_of(State* state, const Scratch& scratch) {
    return state->slots + scratch.at.step % 3;
}

// Ends a step. Afterwards `scratch.sums` has the totals of all blocks. Returns false if the block must end.
template <class State, class Scratch> __device__ inline bool end_step(State* state, Scratch& scratch) {
    // Blocks read this slot two steps ago.
    if (blockIdx.x == 0 && threadIdx.x == 0) state->slots[(scratch.at.step + 1) % 3] = {};
    if (!inline_grid_barrier(&state->barrier, scratch.target)) return false;
    if (threadIdx.x == 0) {
        scratch.sums = slot_of(state, scratch)->fresh();
        scratch.at.step++;
    }
    __syncthreads();
    return true;
}

// Calls `each(v, segments, s, u)` for the entries `u` of segments `s` of the listed vertices `v`, and appends the vertices that it returns (or NONE)
// to the found ones. `wanted` has a bit for each segment that is visited. Vertices with long rows are listed instead. Before, one lane calls
// `begin(v)` for each vertex. A warp takes up to 32 vertices, and divides their entries among its lanes.
template <class Begin, class Each>
__device__ inline void visit_short(const VertexRows& rows, u32 wanted, const Lists& lists, WarpRows& warp, Begin begin, Each each) {
    // All warps take part if the list is small.
    u32 warps = gridDim.x * 8, width = min(32u, (lists.size + warps - 1) / warps);
    for (u32 base = (blockIdx.x * 8 + warp_id()) * width; base < lists.size; base += warps * width) {
        u32 v = 0, entries = 0;
        if (lane_id() < width && base + lane_id() < lists.size) {
            v = __ldcg(lists.list + base + lane_id());
            begin(v);
            for (u32 s = 0; s < segments(rows); s++) {
                Segment row = wanted >> s & 1 ? segment_of(rows, v, s) : Segment{};
                warp.segments[lane_id()][s] = row;
                entries += row.length;
            }
        }
        warp.vertices[lane_id()] = v;
        append(lists.longs, lists.long_count, entries >= LONG, v);
        if (entries >= LONG) entries = 0;
        u32 upto = warp_scan(entries), all = __shfl_sync(ALL_LANES, upto, 31);
        warp.before[lane_id()] = upto - entries;
        __syncwarp();
        for (u32 i = lane_id(); i - lane_id() < all; i += 32) {
            u32 found = NONE;
            if (i < all) {
                u32 at = last_start_upto(warp.before, 32, i), place = i - warp.before[at], s = 0;
                const Segment* of = warp.segments[at];
                for (; place >= of[s].length; s++) place -= of[s].length;
                found = each(warp.vertices[at], of, s, of[s].begin[place]);
            }
            append(lists.found, lists.found_count, found != NONE, found);
        }
        __syncwarp();
    }
}

// Visits the `count` vertices that visit_short listed because their rows are long. Several blocks share a vertex if there are more blocks than
// vertices.
template <class Each> __device__ inline void visit_long(const VertexRows& rows, u32 wanted, const Lists& lists, u32 count, Each each) {
    u32 blocks = max(1u, gridDim.x / count);
    for (u32 at = blockIdx.x / blocks; at < count; at += max(1u, gridDim.x / blocks)) {
        u32 v = __ldcg(lists.longs + at);
        Segment of[4];
        for (u32 s = 0; s < segments(rows); s++) {
            Segment row = of[s] = wanted >> s & 1 ? segment_of(rows, v, s) : Segment{};
            for (u32 base = blockIdx.x % blocks * 256; base < row.length; base += blocks * 256) {
                u32 found = NONE;
                if (base + threadIdx.x < row.length) found = each(v, of, s, row.begin[base + threadIdx.x]);
                append(lists.found, lists.found_count, found != NONE, found);
            }
        }
    }
}
