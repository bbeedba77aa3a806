// Checks a breadth-first tree in GPU memory against the five rules of Graph500 (src/algo/searches/tree/fault.rs). Also checks that each parent is the
// first neighbour in the previous level. Levels are computed from the parents alone. Then each edge is visited once, in the row of its larger end.
// The kernels only report that a rule is broken, or that the tree is too deep for marks. The host then finds the fault.
#include "rows.cuh"

// Format of a vertex's mark, which is one byte: the bits LEVEL contain the level, which is at most DEEPEST, or one of two special values. The other
// bits are flags.
constexpr u32 LEVEL = 63;
constexpr u32 DEEPEST = 60;
constexpr u32 UNREACHED = 62;
constexpr u32 UNKNOWN = 63;
// Flag: the parent is larger than the vertex. Nearly all parents are smaller, because the vertices of highest degree come first.
constexpr u32 LATE = 64;
// Flag: an edge to the parent was seen. The root needs none.
constexpr u32 JOINED = 128;
// Number of row entries that a warp checks at a time.
constexpr u32 PIECE = 2048;

// A tree, and the rows against which it is checked; src/algo/bfs/gpu/check.rs declares the same struct.
struct Check {
    RowsOf<u32> lower;
    const u32* parents;
    u8* marks;
    // Results: [0] 1 if a rule is broken or the tree is too deep; [1] the largest level; [2] the number of reached vertices.
    u32* found;
    u64 entries;
    u32 vertices;
    u32 root;
};
static_assert(sizeof(Check) == 112, "as its twin");

__device__ inline u32 late(u32 vertex, u32 parent) { return parent > vertex ? LATE : 0; }

__device__ inline void report(const Check& c, bool broken) {
    if (__any_sync(ALL_LANES, broken) && lane_id() == 0) c.found[0] = 1;
}

// Marks every vertex with its level. All marks must be UNKNOWN before. A thread follows the parents of a vertex up to a marked vertex, and then marks
// all vertices on this path. Several threads may mark the same vertex, with the same value.
extern "C" __global__ void bfs_mark(const __grid_constant__ Check c) {
    const volatile u8* marks = c.marks;
    bool broken = false;
    for (u64 v = u64(blockIdx.x) * blockDim.x + threadIdx.x; v < c.vertices; v += u64(gridDim.x) * blockDim.x) {
        u32 at = v, steps = 0, level;
        while ((level = marks[at] & LEVEL) == UNKNOWN) {
            u32 parent = c.parents[at];
            if (at == c.root || parent == NONE) {
                level = parent == NONE ? UNREACHED : 0;
                broken |= at == c.root && parent != at;
                c.marks[at] = at == c.root ? JOINED : level;
                break;
            }
            if (parent >= c.vertices || ++steps > DEEPEST) {
                broken = true;
                break;
            }
            at = parent;
        }
        broken |= steps > 0 && level + steps > DEEPEST;
        if (broken) break;
        for (at = v; steps > 0; steps--) {
            u32 parent = c.parents[at];
            c.marks[at] = (level + steps) | late(at, parent);
            at = parent;
        }
    }
    report(c, broken);
}

// Returns the last row that begins at or before the entry with index `place`.
__device__ inline u32 row_of(const Check& c, u64 place) {
    u32 low = 0, high = c.vertices;
    while (high - low > 1) {
        u32 middle = low + (high - low) / 2;
        if (start_of(c.lower, middle) <= place) low = middle;
        else high = middle;
    }
    return low;
}

extern "C" __global__ void bfs_check_edges(const __grid_constant__ Check c) {
    u64 begin = start_of(c.lower, 0), all = begin + c.entries;
    u64 warp = (u64(blockIdx.x) * blockDim.x + threadIdx.x) / 32, warps = u64(gridDim.x) * blockDim.x / 32;
    bool broken = false;
    for (u64 first = begin + PIECE * warp; first < all; first += PIECE * warps) {
        u64 end = min(first + PIECE, all), place = first + lane_id();
        if (place >= end) continue;
        u32 row = row_of(c, place), own = c.marks[row], parent = c.parents[row];
        u64 row_end = start_of(c.lower, row + 1);
        for (; place < end; place += 32) {
            if (place >= row_end) {
                do row_end = start_of(c.lower, ++row + 1);
                while (place >= row_end);
                own = c.marks[row], parent = c.parents[row];
            }
            u32 neighbour = __ldg(c.lower.entries + place), other = c.marks[neighbour];
            u32 level = own & LEVEL, level_there = other & LEVEL;
            if (level == level_there + 1) {
                broken |= neighbour < parent;
                if (neighbour == parent) c.marks[row] = own | JOINED;
            } else if (level_there == level + 1) {
                // Unless the neighbour is marked LATE, its parent is smaller than the neighbour, and so comes before this vertex.
                if (other & LATE) {
                    u32 there = c.parents[neighbour];
                    broken |= row < there;
                    if (row == there) c.marks[neighbour] = other | JOINED;
                }
            } else {
                broken |= level != level_there;
            }
        }
    }
    report(c, broken);
}

// Checks that an edge joins every reached vertex to its parent. Computes the largest level and the number of reached vertices.
extern "C" __global__ void bfs_sum_up(const __grid_constant__ Check c) {
    bool broken = false;
    u32 reached = 0, deepest = 0;
    for (u64 v = u64(blockIdx.x) * blockDim.x + threadIdx.x; v < c.vertices; v += u64(gridDim.x) * blockDim.x) {
        u32 mark = c.marks[v], level = mark & LEVEL;
        if (level == UNREACHED) continue;
        broken |= !(mark & JOINED);
        reached++;
        deepest = max(deepest, level);
    }
    report(c, broken);
    reached = warp_sum(reached);
    deepest = warp_max(deepest);
    if (lane_id() == 0) {
        atomicMax(&c.found[1], deepest);
        atomicAdd(&c.found[2], reached);
    }
}
