// The kernels of sssp_search.cuh for codes of weights of 64 bits, by kinds of distances.
#include "sssp_search.cuh"

extern "C" __global__ void __launch_bounds__(SSSP_THREADS, 1) sssp_coded(const __grid_constant__ Graph g, const __grid_constant__ Search<u64> s) {
    __shared__ Scratch<u64> scratch;
    search<Coded>(g, s, scratch);
}

extern "C" __global__ void __launch_bounds__(SSSP_THREADS, 1) sssp_double(const __grid_constant__ Graph g, const __grid_constant__ Search<u64> s) {
    __shared__ Scratch<u64> scratch;
    search<Double>(g, s, scratch);
}
