// Copies the first neighbours of all vertices to arrays, in which the neighbours of consecutive vertices are adjacent.
#pragma once
#include "bfs.cuh"

// Copies the first entry of each in-row to `first`, and the following entries to the head arrays.
__device__ inline void copy_heads(const Graph& g, u32* first) {
    for (u64 v = u64(blockIdx.x) * blockDim.x + threadIdx.x; v < g.vertices; v += u64(gridDim.x) * blockDim.x) {
        Segment lower = half_of(g, 0, in_row(g, v)), upper = half_of(g, 1, in_row(g, v));
        u32 read = 0;
        Slot slot = no_slot();
        auto entry = [&]() -> u32 {
            if (slot.next == NONE && read < lower.length + upper.length) {
                bool is_lower = read < lower.length;
                slot = is_lower ? read_slot(u64(lower.begin), read) : read_slot(u64(upper.begin), read - lower.length);
                read++;
            }
            u32 near = slot.next;
            go_on(slot);
            return near;
        };
        first[v] = entry();
        for (u32 k = 0; k < g.head_arrays && v < g.wide[k]; k++) {
            u32 x = entry(), y = entry(), z = entry(), w = entry();
            const_cast<uint4*>(g.heads[k])[v] = make_uint4(x, y, z, w);
        }
    }
}
