// The kernel of sssp_search.cuh for f64 distances and weights that are codes of f64 values.
#include "sssp_search.cuh"

extern "C" __global__ void __launch_bounds__(SSSP_THREADS, 1) sssp_double(const __grid_constant__ Graph g, const __grid_constant__ Search<u64> s) {
    __shared__ Scratch<u64> scratch;
    search<Double>(g, s, scratch);
}
