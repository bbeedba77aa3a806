// Breadth-first search by several GPUs over which the rows are spread, because no GPU's memory can store all rows.
#define BFS_SPREAD
#include "bfs_peers.cu"
#include "bfs_heads.cuh"

extern "C" __global__ void bfs_heads(const __grid_constant__ Graph g, u32* first) { copy_heads(g, first); }
