// The kernels of sssp_search.cuh for weights of 32 bits, by kinds of distances.
#include "sssp_search.cuh"

extern "C" __global__ void __launch_bounds__(SSSP_THREADS, 1) sssp_whole(const __grid_constant__ Graph g, const __grid_constant__ Search<u32> s) {
    __shared__ Scratch<u32> scratch;
    search<Whole>(g, s, scratch);
}

extern "C" __global__ void __launch_bounds__(SSSP_THREADS, 1) sssp_wide(const __grid_constant__ Graph g, const __grid_constant__ Search<u64> s) {
    __shared__ Scratch<u64> scratch;
    search<Wide>(g, s, scratch);
}

extern "C" __global__ void __launch_bounds__(SSSP_THREADS, 1) sssp_decimal(const __grid_constant__ Graph g, const __grid_constant__ Search<u32> s) {
    __shared__ Scratch<u32> scratch;
    search<Decimal>(g, s, scratch);
}
