// The kernels of sssp_moore.cuh, for each distance type.
#include "sssp_moore.cuh"

// Sets the root's distance to 0, and queues the root.
extern "C" __global__ void moore_begin(const __grid_constant__ Moore m, u32 root, u32 wide) {
    if (wide) static_cast<u64*>(m.distances)[root] = 0;
    else static_cast<u32*>(m.distances)[root] = 0;
    m.queues[0][0] = root;
    m.state->tasks[0] = 1;
}

// Ends a round that a `moore_any` kernel computed.
extern "C" __global__ void moore_end(const __grid_constant__ Moore m) {
    u64 round = m.state->rounds;
    m.state->tasks[round % 3] = 0;
    m.state->rounds = round + 1;
}

extern "C" __global__ void __launch_bounds__(MOORE_ALONE, 1) moore_one_whole(const __grid_constant__ Graph g, const __grid_constant__ Moore m) {
    __shared__ MooreScratch scratch;
    moore_one<Whole>(g, m, scratch);
}

extern "C" __global__ void __launch_bounds__(MOORE_THREADS, 2) moore_several_whole(const __grid_constant__ Graph g, const __grid_constant__ Moore m) {
    __shared__ MooreScratch scratch;
    moore_several<Whole>(g, m, scratch);
}

extern "C" __global__ void __launch_bounds__(MOORE_THREADS, 2) moore_any_whole(const __grid_constant__ Graph g, const __grid_constant__ Moore m) {
    __shared__ MooreScratch scratch;
    moore_any<Whole>(g, m, scratch);
}

extern "C" __global__ void masked_round_whole(const __grid_constant__ Graph g, const __grid_constant__ Masked m) { masked_round<Whole>(g, m); }

extern "C" __global__ void masked_next_whole(const __grid_constant__ Graph g, const __grid_constant__ Masked m) { masked_next<Whole>(g, m); }

extern "C" __global__ void __launch_bounds__(MOORE_ALONE, 1) moore_one_wide(const __grid_constant__ Graph g, const __grid_constant__ Moore m) {
    __shared__ MooreScratch scratch;
    moore_one<Wide>(g, m, scratch);
}

extern "C" __global__ void __launch_bounds__(MOORE_THREADS, 2) moore_several_wide(const __grid_constant__ Graph g, const __grid_constant__ Moore m) {
    __shared__ MooreScratch scratch;
    moore_several<Wide>(g, m, scratch);
}

extern "C" __global__ void __launch_bounds__(MOORE_THREADS, 2) moore_any_wide(const __grid_constant__ Graph g, const __grid_constant__ Moore m) {
    __shared__ MooreScratch scratch;
    moore_any<Wide>(g, m, scratch);
}

extern "C" __global__ void masked_round_wide(const __grid_constant__ Graph g, const __grid_constant__ Masked m) { masked_round<Wide>(g, m); }

extern "C" __global__ void masked_next_wide(const __grid_constant__ Graph g, const __grid_constant__ Masked m) { masked_next<Wide>(g, m); }

extern "C" __global__ void __launch_bounds__(MOORE_ALONE, 1) moore_one_decimal(const __grid_constant__ Graph g, const __grid_constant__ Moore m) {
    __shared__ MooreScratch scratch;
    moore_one<Decimal>(g, m, scratch);
}

extern "C" __global__ void __launch_bounds__(MOORE_THREADS, 2) moore_several_decimal(const __grid_constant__ Graph g, const __grid_constant__ Moore m) {
    __shared__ MooreScratch scratch;
    moore_several<Decimal>(g, m, scratch);
}

extern "C" __global__ void __launch_bounds__(MOORE_THREADS, 2) moore_any_decimal(const __grid_constant__ Graph g, const __grid_constant__ Moore m) {
    __shared__ MooreScratch scratch;
    moore_any<Decimal>(g, m, scratch);
}

extern "C" __global__ void masked_round_decimal(const __grid_constant__ Graph g, const __grid_constant__ Masked m) { masked_round<Decimal>(g, m); }

extern "C" __global__ void masked_next_decimal(const __grid_constant__ Graph g, const __grid_constant__ Masked m) { masked_next<Decimal>(g, m); }
