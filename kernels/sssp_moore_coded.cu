// The kernels of sssp_moore.cuh for weights that are codes of 64-bit weights, for each distance type.
#include "sssp_moore.cuh"

extern "C" __global__ void __launch_bounds__(MOORE_ALONE, 1) moore_one_coded(const __grid_constant__ Graph g, const __grid_constant__ Moore m) {
    __shared__ MooreScratch scratch;
    moore_one<Coded>(g, m, scratch);
}

extern "C" __global__ void __launch_bounds__(MOORE_THREADS, 2) moore_several_coded(const __grid_constant__ Graph g, const __grid_constant__ Moore m) {
    __shared__ MooreScratch scratch;
    moore_several<Coded>(g, m, scratch);
}

extern "C" __global__ void __launch_bounds__(MOORE_THREADS, 2) moore_any_coded(const __grid_constant__ Graph g, const __grid_constant__ Moore m) {
    __shared__ MooreScratch scratch;
    moore_any<Coded>(g, m, scratch);
}

extern "C" __global__ void masked_round_coded(const __grid_constant__ Graph g, const __grid_constant__ Masked m) { masked_round<Coded>(g, m); }

extern "C" __global__ void masked_next_coded(const __grid_constant__ Graph g, const __grid_constant__ Masked m) { masked_next<Coded>(g, m); }

extern "C" __global__ void __launch_bounds__(MOORE_ALONE, 1) moore_one_double(const __grid_constant__ Graph g, const __grid_constant__ Moore m) {
    __shared__ MooreScratch scratch;
    moore_one<Double>(g, m, scratch);
}

extern "C" __global__ void __launch_bounds__(MOORE_THREADS, 2) moore_several_double(const __grid_constant__ Graph g, const __grid_constant__ Moore m) {
    __shared__ MooreScratch scratch;
    moore_several<Double>(g, m, scratch);
}

extern "C" __global__ void __launch_bounds__(MOORE_THREADS, 2) moore_any_double(const __grid_constant__ Graph g, const __grid_constant__ Moore m) {
    __shared__ MooreScratch scratch;
    moore_any<Double>(g, m, scratch);
}

extern "C" __global__ void masked_round_double(const __grid_constant__ Graph g, const __grid_constant__ Masked m) { masked_round<Double>(g, m); }

extern "C" __global__ void masked_next_double(const __grid_constant__ Graph g, const __grid_constant__ Masked m) { masked_next<Double>(g, m); }
