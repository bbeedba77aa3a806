// Counts triangles in total and per vertex; the kernels are as in triangle_count.cu.
#include "triangle_few.cuh"
#include "triangle_many.cuh"

extern "C" __global__ void __launch_bounds__(256, BLOCKS_AT_ONCE - 1) count_many(Pair pair) { count_many_body<CORNERS>(pair); }

extern "C" __global__ void __launch_bounds__(256, BLOCKS_AT_ONCE - 1) count_few(Pair pair) { count_few_body<CORNERS>(pair); }
