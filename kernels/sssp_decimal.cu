// The kernel of sssp_search.cuh for f32 distances.
#include "sssp_search.cuh"

extern "C" __global__ void __launch_bounds__(SSSP_THREADS, 1) sssp_decimal(const __grid_constant__ Graph g, const __grid_constant__ Search<u32> s) {
    __shared__ Scratch<u32> scratch;
    search<Decimal>(g, s, scratch);
}
