// Steps in which all blocks of a grid visit the rows of listed vertices.
//
// The totals of a step are added up in one of three slots, which are used in turn. A slot is read after its step has ended. It is cleared two steps
// later, before it is used again.
#pragma once
#include "grid_barrier.cuh"
#include "row_parts.cuh"

// Minimum number of row entries of a vertex that whole blocks visit.
constexpr u32 LONG = 256;
// Bit mask of all segments of a vertex, of which there are at most four.
constexpr u32 ALL_SEGMENTS = 15;

// Shared memory of a warp, for the up to 32 vertices that it visits together. For each vertex: its id, the number of row entries of the vertices
// before it, and the segments of its rows.
struct WarpRows {
    u32 vertices[32];
    u32 before[32];
    Segment segments[32][4];
};

// Lists of vertices in a step.
struct Lists {
    // Vertices to visit, and their number.
    const u32* list;
    u32 size;
    // Vertices that the step finds, and their number.
    u32* found;
    u32* found_count;
    // Visited vertices with long rows, and their number.
    u32* longs;
    u32* long_count;
};

// Appends the vertex `v` of every lane whose `has` is true to `list`, which contains `*count` vertices. All lanes of the warp must call this.
__device__ inline void append(u32* list, u32* count, bool has, u32 v) {
    u32 lanes = __ballot_sync(ALL_LANES, has), first = 0;
    if (lanes == 0) return;
    if (lane_id() == 0) first = atomicAdd(count, u32(__popc(lanes)));
    first = __shfl_sync(ALL_LANES, first, 0);
    if (has) list[first + __popc(lanes & ((1u << lane_id()) - 1))] = v;
}

// Returns the slot for the totals of this step. `scratch` is the block's shared memory, and `scratch.at.step` is the index of the step.
template <class State, class Scratch> __device__ inline auto slot_of(State* state, const Scratch& scratch) {
    return state->slots + scratch.at.step % 3;
}

// Ends a step. Afterwards `scratch.sums` contains the totals over all blocks. Returns false if the block must exit.
template <class State, class Scratch> __device__ inline bool end_step(State* state, Scratch& scratch) {
    // Clear the slot of the next step. Blocks read it two steps ago.
    if (blockIdx.x == 0 && threadIdx.x == 0) state->slots[(scratch.at.step + 1) % 3] = {};
    if (!inline_grid_barrier(&state->barrier, scratch.target)) return false;
    if (threadIdx.x == 0) {
        scratch.sums = slot_of(state, scratch)->fresh();
        scratch.at.step++;
    }
    __syncthreads();
    return true;
}

// Visits the rows of listed vertices. One lane first calls `begin(v)` for each vertex `v`. Then `each(v, segments, s, u)` is called for every entry
// `u` of every segment `s` of the vertex whose bit is set in `wanted`. If `each` returns a vertex and not NONE, that vertex is appended to the found
// vertices. A vertex with long rows is appended to `lists.longs` instead, for visit_long. A warp takes up to 32 vertices at a time, and divides their
// entries among its lanes.
template <class Begin, class Each>
__device__ inline void visit_short(const VertexRows& rows, u32 wanted, const Lists& lists, WarpRows& warp, Begin begin, Each each) {
    // If the list is small, each warp takes fewer vertices, so that all warps have work.
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

// Visits the `count` vertices that visit_short listed because their rows are long. If there are more blocks than vertices, several blocks share a
// vertex.
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
