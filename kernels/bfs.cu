// Breadth-first search; bfs_search.cuh describes the method.
#include "bfs_search.cuh"

extern "C" __global__ void __launch_bounds__(BFS_THREADS, 1)
    bfs_search(const __grid_constant__ Graph g, const __grid_constant__ Search s) {
    __shared__ Scratch scratch;
    search_levels(g, s, scratch);
}
