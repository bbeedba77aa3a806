// Breadth-first search by several GPUs; bfs_peers.cuh describes the method.
#define BFS_PEERS
#include "bfs_search.cuh"

// Waits until all GPUs have begun a search, so that its measured time is the time of the search alone. Runs as one thread.
extern "C" __global__ void bfs_meet(const __grid_constant__ Search s) {
    meet_gpus(s, fresh(&s.peers.barriers[s.peers.rank]->passed) + 1, nullptr);
}

extern "C" __global__ void __launch_bounds__(BFS_THREADS, 1)
    bfs_search(const __grid_constant__ Graph g, const __grid_constant__ Search s) {
    __shared__ Scratch scratch;
    search_levels(g, s, scratch);
}

// Copies the parents of this GPU's vertices to the array `to` on another GPU, after the search has ended on both GPUs.
extern "C" __global__ void bfs_gather(const __grid_constant__ Search s, u32 vertices, u32* to) {
    u64 own = u64(own_chunks(s, vertices / BFS_CHUNK + (vertices % BFS_CHUNK > 0))) * BFS_CHUNK;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < own; i += u64(gridDim.x) * blockDim.x) {
        u64 v = u64(own_chunk(s, u32(i / BFS_CHUNK))) * BFS_CHUNK + i % BFS_CHUNK;
        if (v < vertices) to[v] = s.parents[v];
    }
}
