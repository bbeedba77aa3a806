// The kernel of sssp_search.cuh for 64-bit integer distances and weights that are codes of 64-bit integers.
#include "sssp_search.cuh"

extern "C" __global__ void __launch_bounds__(SSSP_THREADS, 1) sssp_coded(const __grid_constant__ Graph g, const __grid_constant__ Search<u64> s) {
    __shared__ Scratch<u64> scratch;
    search<Coded>(g, s, scratch);
}
