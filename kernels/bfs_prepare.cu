// Prepares a graph for breadth-first search: first neighbours, numbers of leaves, and bounds for vertices by degree.
#include "bfs_heads.cuh"

__device__ inline void raise(u32* bound, u32 to) {
    if (fresh(bound) < to) atomicMax(bound, to);
}

__device__ inline u32 length_of(const Half& half, u32 row) { return __ldg(half.starts + row + 1) - __ldg(half.starts + row); }

// Raises each of the bounds to one past the last vertex that meets a condition. bounds[0]: it has more than one edge. bounds[1]: it has at least
// 256 edges. bounds[2 + k]: its in-row has more than 1 + 4k entries.
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

// Counts for each vertex its leaves, which are the neighbours from `tail` on. Counts are zero before the launch.
extern "C" __global__ void bfs_leaves(const __grid_constant__ Graph g, u32* counts) {
    for (u64 v = u64(g.tail) + blockIdx.x * blockDim.x + threadIdx.x; v < g.vertices; v += u64(gridDim.x) * blockDim.x) {
        u32 near = __ldg(g.first + v);
        if (near != NONE) atomicAdd(counts + near, 1u);
    }
}

// Copies the count of each vertex to a byte. Counts that do not fit are read from elsewhere.
extern "C" __global__ void bfs_few_leaves(const u32* counts, u32 vertices, u8* few) {
    for (u64 v = u64(blockIdx.x) * blockDim.x + threadIdx.x; v < vertices; v += u64(gridDim.x) * blockDim.x) few[v] = u8(counts[v]);
}
