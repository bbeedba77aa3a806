// Finds the elements of a list that are on a cycle: the elements that no sublist ending at the end of the list contains.
#pragma once
#include "listrank.cuh"

// Walks all sublists. Without MARKS it writes their words. With MARKS it sets the bits of elements in from..to that belong to sublists from
// which pointer jumping reached the end of the list. The walk ends, because no two elements have the same successor.
template <class Index, bool MARKS>
__device__ void walk_only(const Sublists& lists, const Index* list, u32* seen, u64 from, u64 to) {
    u32 stride = gridDim.x * THREADS, count = block_count(lists) + 1;
    for (u32 number = blockIdx.x * THREADS + threadIdx.x; number < count; number += stride) {
        Index at = first_of<Index>(lists, number);
        if (at == end_of_list<Index>()) continue;
        if (MARKS && lists.words[number] >> LENGTH_BITS != NO_NEXT) continue;
        u64 length = 0;
        while (true) {
            length++;
            if (MARKS && at >= from && at < to) atomicOr(&seen[(at - from) >> 5], 1u << (at & 31));
            Index next = __ldg(list + at);
            bool is_last = next == end_of_list<Index>();
            if (is_last || is_splitter<Index>(next, lists.shift)) {
                if (!MARKS) lists.words[number] = word_of(is_last ? NO_NEXT : (u64)(next >> lists.shift), length);
                break;
            }
            at = next;
        }
    }
}

// Finds the smallest element of from..to whose bit is not set.
__device__ void smallest_unseen(const u32* seen, u64 from, u64 to, u64* found) {
    u64 smallest = ~0ull;
    for (u64 i = from + (u64)blockIdx.x * THREADS + threadIdx.x; i < to; i += (u64)gridDim.x * THREADS) {
        if (!(seen[(i - from) >> 5] >> (i & 31) & 1)) smallest = min(smallest, i);
    }
    if (smallest != ~0ull) atomicMin(found, smallest);
}
