// Definitions shared by the kernels of list ranking: sublists, their words, and how threads get sublists.
#pragma once
#include "common.cuh"

constexpr u32 THREADS = 256;

// Format of the word of a sublist: the index of the next sublist (all ones if it is the last) in the high bits, and the number of the sublist's
// elements in the LENGTH_BITS low bits.
constexpr u32 LENGTH_BITS = 38;
constexpr u64 LENGTH_MASK = (1ull << LENGTH_BITS) - 1;
constexpr u64 NO_NEXT = ~0ull >> LENGTH_BITS;

// A list divided into sublists; src/algo/listrank/gpu/ruling.rs declares the same struct. Every block of 2^shift consecutive elements contains one
// splitter, at which the sublist with the block's index begins. One more sublist, whose index is the number of blocks, begins at the head of the
// list, unless the head is a splitter.
struct Sublists {
    u64 length;
    u64 head;
    // Words of the sublists, by index.
    u64* words;
    // [0] number of sublists that threads have taken, [1] index that the next part of a sublist gets.
    u32* counters;
    u32 shift;
    // Exclusive upper bound on the indices of parts of sublists.
    u32 most;
};
static_assert(sizeof(Sublists) == 40, "the host has a twin of this size");

// Returns the value that stands for the end of the list.
template <class Index> __device__ inline Index end_of_list() { return (Index)~0ull; }

// Returns the offset of a block's splitter in the block. It is a hash of the block's index, because a list may be periodic (after lowbias32 of C.
// Wellons).
__device__ inline u32 place_in_block(u32 block, u32 shift) {
    u32 x = block;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return (x ^ (x >> 16)) & ((1u << shift) - 1);
}

template <class Index> __device__ inline bool is_splitter(Index element, u32 shift) {
    u32 in_block = (u32)element & ((1u << shift) - 1);
    return in_block == place_in_block((u32)(element >> shift), shift);
}

__device__ inline u32 block_count(const Sublists& lists) {
    return (u32)((lists.length + (1ull << lists.shift) - 1) >> lists.shift);
}

// Returns the first element of a sublist, or the end of the list if there is no sublist with the index `number`.
template <class Index> __device__ inline Index first_of(const Sublists& lists, u32 number) {
    if (number == block_count(lists)) {
        return is_splitter<Index>((Index)lists.head, lists.shift) ? end_of_list<Index>() : (Index)lists.head;
    }
    u64 splitter = ((u64)number << lists.shift) + place_in_block(number, lists.shift);
    return splitter < lists.length ? (Index)splitter : end_of_list<Index>();
}

// Returns the next value of `counter` to every lane whose `wants` is true, and NONE to the others. All lanes of the warp call this.
__device__ inline u32 hand_out(bool wants, u32* counter) {
    u32 asking = __ballot_sync(ALL_LANES, wants);
    if (asking == 0) return NONE;
    u32 first = 0;
    if (lane_id() == 0) first = atomicAdd(counter, (u32)__popc(asking));
    first = __shfl_sync(ALL_LANES, first, 0);
    return wants ? first + __popc(asking & ((1u << lane_id()) - 1)) : NONE;
}

__device__ inline u64 word_of(u64 next, u64 length) { return next << LENGTH_BITS | length; }
