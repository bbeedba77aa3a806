// Prepares a graph for breadth-first search: first neighbours, leaf counts, and vertex bounds by degree.
#include "bfs_heads.cuh"

__device__ inline void raise(u32* bound, u32 to) {
    if (fresh(bound) < to) atomicMax(bound, to);
}

__device__ inline u32 length_of(const Half& half, u32 row) { return __ldg(half.starts + row + 1) - __ldg(half.starts + row); }

// Computes vertex bounds. Each bound is the exclusive end of the vertices with a property: one past the last such vertex. bounds[0]: the vertex has
// more than one edge. bounds[1]: it has at least 256 edges. bounds[2 + k]: its in-row has more than 1 + 4k entries. All bounds must be zero at the
// launch.
extern "C" __global__ void bfs_bounds(const __grid_constant__ Graph g, u32* bounds) {
    for (u64 v = u64(blockIdx.x) * blockDim.x + threadIdx.x; v < g.vertices; v += u64(gridDim.x) * blockDim.x) {
        u64 in = u64(length_of(g.halves[0], in_row(g, v))) + length_of(g.halves[1], in_row(g, v)), all = in;
        if (g.shift) all += u64(length_of(g.halves[0], out_row(g, v))) + length_of(g.halves[1], out_row(g, v));
        if (all > 1) raise(bounds, u32(v) + 1);
        if (all >= 256) raise(bounds + 1, u32(v) + 1);
        for (u32 k = 0; k <= BFS_MOST_HEADS && in > 1 + BFS_HEAD * k; k++) raise(bounds + 2 + k, u32(v) + 1);
    }
}

extern "C" __global__ void bfs_heads(const __grid_constant__ Graph g, u32* first) { copy_heads(g, first); }

// Counts the leaves of each vertex: its neighbours from `tail` on, which have one edge. All counts must be zero at the launch.
extern "C" __global__ void bfs_leaves(const __grid_constant__ Graph g, u32* counts) {
    for (u64 v = u64(g.tail) + blockIdx.x * blockDim.x + threadIdx.x; v < g.vertices; v += u64(gridDim.x) * blockDim.x) {
        u32 near = __ldg(g.first + v);
        if (near != NONE) atomicAdd(counts + near, 1u);
    }
}

// Copies the leaf count of each vertex to a byte. For vertices whose count may not fit a byte, searches read `many_leaves` instead.
extern "C" __global__ void bfs_few_leaves(const u32* counts, u32 vertices, u8* few) {
    for (u64 v = u64(blockIdx.x) * blockDim.x + threadIdx.x; v < vertices; v += u64(gridDim.x) * blockDim.x) few[v] = u8(counts[v]);
}
