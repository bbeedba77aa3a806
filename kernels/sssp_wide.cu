// The kernel of sssp_search.cuh for 64-bit integer distances and 32-bit integer weights.
#include "sssp_search.cuh"

extern "C" __global__ void __launch_bounds__(SSSP_THREADS, 1) sssp_wide(const __grid_constant__ Graph g, const __grid_constant__ Search<u64> s) {
    __shared__ Scratch<u64> scratch;
    search<Wide>(g, s, scratch);
}
