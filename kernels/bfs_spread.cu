// Breadth-first search by several GPUs, none of which has room for all rows, so that the rows are spread over them.
#define BFS_SPREAD
#include "bfs_peers.cu"
#include "bfs_heads.cuh"

extern "C" __global__ void bfs_heads(const __grid_constant__ Graph g, u32* first) { copy_heads(g, first); }
