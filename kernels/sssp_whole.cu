// The kernel of sssp_search.cuh for 32-bit integer distances.
#include "sssp_search.cuh"

extern "C" __global__ void __launch_bounds__(SSSP_THREADS, 1) sssp_whole(const __grid_constant__ Graph g, const __grid_constant__ Search<u32> s) {
    __shared__ Scratch<u32> scratch;
    search<Whole>(g, s, scratch);
}
