// Breadth-first search on packed rows, in which a slot is a 16-byte chunk of neighbours.
#define BFS_PACKED
#include "bfs_heads.cuh"
#include "bfs_search.cuh"

extern "C" __global__ void bfs_heads(const __grid_constant__ Graph g, u32* first) { copy_heads(g, first); }

extern "C" __global__ void __launch_bounds__(BFS_THREADS, 1)
    bfs_search(const __grid_constant__ Graph g, const __grid_constant__ Search s) {
    __shared__ Scratch scratch;
    search_levels(g, s, scratch);
}
