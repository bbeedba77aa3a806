// Counts triangles; triangle.cu describes the method.
#include "triangle_few.cuh"
#include "triangle_many.cuh"

// Counts triangles of front rows with many heads. A block of threads takes one task at a time.
extern "C" __global__ void __launch_bounds__(256, BLOCKS_AT_ONCE) count_many(Pair pair) { count_many_body<TOTAL>(pair); }

// Counts triangles of front rows with few heads. A warp takes one row at a time.
extern "C" __global__ void __launch_bounds__(256, BLOCKS_AT_ONCE) count_few(Pair pair) { count_few_body<TOTAL>(pair); }
