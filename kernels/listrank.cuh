// Definitions that the kernels of list ranking share: sublists, their words, and the handing out of sublists to threads.
#pragma once
#include "common.cuh"

constexpr u32 THREADS = 256;
constexpr u32 NONE = 0xffffffffu;

// A sublist has a word: the number of the next one (all ones if it is the last) above the number of its elements.
constexpr u32 LENGTH_BITS = 38;
constexpr u64 LENGTH_MASK = (1ull << LENGTH_BITS) - 1;
constexpr u64 NO_NEXT = ~0ull >> LENGTH_BITS;

// A list cut into sublists; src/algo/listrank/gpu/ruling.rs declares the same struct. Every block of 2^shift places has one splitter,
// which begins the sublist of the block's number; the one after the last block begins at the head, unless that is a splitter.
struct Sublists {
    u64 length;
    u64 head;
    // By the number of a sublist.
    u64* words;
    // [0] sublists handed out, [1] the next number of a part of a sublist.
    u32* counters;
    u32 shift;
    // Numbers that parts of sublists can have.
    u32 most;
};
static_assert(sizeof(Sublists) == 40, "the host has a twin of this size");

// Returns the last element's successor.
template <class Index> __device__ inline Index end_of_list() { return (Index)~0ull; }

// Returns the splitter's place in a block. It is hashed, for a list may have a rhythm (after lowbias32 of C. Wellons).
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

// Returns the first element of a sublist, or the end of the list if the number has none.
template <class Index> __device__ inline Index first_of(const Sublists& lists, u32 number) {
    if (number == block_count(lists)) {
        return is_splitter<Index>((Index)lists.head, lists.shift) ? end_of_list<Index>() : (Index)lists.head;
    }
    u64 splitter = ((u64)number << lists.shift) + place_in_block(number, lists.shift);
    return splitter < lists.length ? (Index)splitter : end_of_list<Index>();
}

// Returns a number of its own to every lane that wants one, and NONE to the others. All lanes of the warp call it.
__device__ inline u32 hand_out(bool wants, u32* counter) {
    u32 asking = __ballot_sync(ALL_LANES, wants);
    if (asking == 0) return NONE;
    u32 first = 0;
    if (lane_id() == 0) first = atomicAdd(counter, (u32)__popc(asking));
    first = __shfl_sync(ALL_LANES, first, 0);
    return wants ? first + __popc(asking & ((1u << lane_id()) - 1)) : NONE;
}

__device__ inline u64 word_of(u64 next, u64 length) { return next << LENGTH_BITS | length; }
