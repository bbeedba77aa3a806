// Weakly connected components: a forest of vertices, whose trees are joined along edges.
//
// A root is its own parent, and every other parent is smaller than its vertex. So threads may join trees at the same time without locks: a parent
// that another thread has replaced meanwhile is still an ancestor. (Jaiganesh and Burtscher, HPDC 2018, join on a GPU in this way; Sutton, Ben-Nun
// and Barak, IPDPS 2018, join the first edges of all vertices before the others, most of which then join nothing.)
//
// A row contains the smaller neighbours of a vertex in ascending order, and vertices are in the order of descending degree. Once the first edges are
// joined, nearly all vertices of high degree are in the tree of vertex 0. `known` is the number of consecutive vertices, beginning at 0, that are
// known to be in this tree. For a vertex in this tree, neighbours below `known` join nothing, so they are not read.
#include "row_parts.cuh"

// Returns the root of a vertex, and halves the path to it. Vertex 0 is always a root. Its parent is not read: nearly all vertices are in its tree,
// and reads of the same address wait for each other.
__device__ inline u32 root_of(u32* parents, u32 v) {
    while (v != 0) {
        u32 parent = __ldcg(parents + v);
        if (parent == v || parent == 0) return parent;
        u32 above = __ldcg(parents + parent);
        if (parent == above) return parent;
        parents[v] = above;
        v = above;
    }
    return 0;
}

// Joins the trees of two vertices. The smaller root stays a root.
__device__ inline void join(u32* parents, u32 u, u32 v) {
    u = root_of(parents, u);
    v = root_of(parents, v);
    while (u != v) {
        u32 low = min(u, v), high = max(u, v);
        u32 found = atomicCAS(parents + high, high, low);
        if (found == high) return;
        // Another thread has joined `high` to a smaller vertex.
        u = low;
        v = root_of(parents, found);
    }
}

// Makes every vertex a tree of its own.
extern "C" __global__ void __launch_bounds__(256) components_begin(u32* parents, u32 vertices) {
    for (u64 v = blockIdx.x * 256 + threadIdx.x; v < vertices; v += gridDim.x * 256) parents[v] = u32(v);
}

// Joins each vertex to its first neighbour. Vertex v has the row with index v << shift and, if `shift` is 1, also the next row.
extern "C" __global__ void __launch_bounds__(256) components_first(RowPart part, u32 shift, u32* parents) {
    for (u32 row = blockIdx.x * 256 + threadIdx.x; row < part.rows; row += gridDim.x * 256) {
        EntryRange entries = entries_of(part, row);
        if (entries.begin < entries.end) join(parents, (part.first_row + row) >> shift, part.targets[entries.begin]);
    }
}

// Sets the parent of each vertex to its root. Sets `*next`, which must be NONE before, to the number of consecutive vertices, beginning at 0, in the
// tree of vertex 0; it stays NONE if all vertices are in this tree. The first `*known` vertices are known to be in it, with vertex 0 as parent, and
// are skipped.
extern "C" __global__ void __launch_bounds__(256)
components_flatten(u32* parents, u32 vertices, const u32* known, u32* next) {
    u32 least = NONE;
    for (u64 v = u64(*known) + blockIdx.x * 256 + threadIdx.x; v < vertices; v += gridDim.x * 256) {
        u32 root = root_of(parents, u32(v));
        parents[v] = root;
        if (root != 0) least = min(least, u32(v));
    }
    least = warp_min(least);
    if (lane_id() == 0 && least != NONE) atomicMin(next, least);
}

// Joins each of the vertices from `first` to `end` (exclusive) to its parent in another forest, whose parents may be in the memory of another GPU. If
// `others_known` is not null, vertices that are known to be in the tree of vertex 0 in both forests are skipped.
extern "C" __global__ void __launch_bounds__(256)
components_merge(u32* parents, const u32* others, u32 first, u32 end, const u32* known, const u32* others_known) {
    u64 begin = others_known == nullptr ? first : max(first, min(*known, *others_known));
    for (u64 v = begin + blockIdx.x * 256 + threadIdx.x; v < end; v += gridDim.x * 256) {
        u32 other = others[v];
        // Nearly all vertices are in the tree of vertex 0 in both forests.
        if (other != v && __ldcg(parents + v) != other) join(parents, u32(v), other);
    }
}

// Joins each vertex to all its neighbours, except those that are known to be in the same tree.
extern "C" __global__ void __launch_bounds__(256)
components_join(RowPart part, u32 shift, u32* parents, const u32* known) {
    u32 bound = *known;
    for (u32 first = (blockIdx.x * 8 + warp_id()) * 32; first < part.rows; first += gridDim.x * 256) {
        u32 row = first + lane_id(), v = (part.first_row + row) >> shift, root = 0;
        EntryRange entries = {0, 0};
        if (row < part.rows) entries = entries_of(part, row);
        // The first entry is already joined.
        entries.begin = min(entries.begin + 1, entries.end);
        if (entries.begin < entries.end) {
            root = root_of(parents, v);
            if (root == 0 && part.targets[entries.end - 1] < bound) entries.begin = entries.end;
        }
        // The warp processes the remaining rows one after another.
        for (u32 left = __ballot_sync(ALL_LANES, entries.begin < entries.end); left > 0; left &= left - 1) {
            u32 lane = __ffs(left) - 1;
            u32 begin = __shfl_sync(ALL_LANES, entries.begin, lane), end = __shfl_sync(ALL_LANES, entries.end, lane);
            u32 of_v = __shfl_sync(ALL_LANES, root, lane), vertex = __shfl_sync(ALL_LANES, v, lane);
            if (of_v == 0) begin += lower_bound(part.targets + begin, end - begin, bound);
            for (u32 i = begin + lane_id(); i < end; i += 32) {
                u32 u = part.targets[i];
                if (__ldcg(parents + u) != of_v) join(parents, vertex, u);
            }
        }
    }
}
