// List ranking: check of a list, the ruling-set method, and pointer jumping.
//
// src/algo/listrank/gpu/mod.rs describes the method.
#include "listrank.cuh"

// Layout of `found`, in 64-bit words: [0] the smallest element whose successor is out of range, [1] the smallest element that is the successor of two
// elements, [2] the number of ends (elements without successor), [3] the first of them, [4] the sum of all successors in range.

// Checks that the successors in from..to are distinct; `seen` has a bit for each of these values. If `from` is 0, also checks that every successor is
// in range, and computes the other words of `found`, because this is needed only once.
template <class Index>
__device__ void check(const Index* list, u64 length, u32* seen, u64 from, u64 to, u64* found) {
    u64 range = ~0ull, twice = ~0ull, ends = 0, first_end = ~0ull, sum = 0;
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 base = (u64)blockIdx.x * THREADS + threadIdx.x; base < length; base += 4 * stride) {
        Index next[4];
#pragma unroll
        for (u32 k = 0; k < 4; k++) next[k] = base + k * stride < length ? __ldcs(list + base + k * stride) : 0;
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            u64 element = base + k * stride, x = next[k];
            if (element >= length) break;
            if (from == 0) {
                bool is_end = next[k] == end_of_list<Index>();
                if (is_end) {
                    ends++;
                    first_end = min(first_end, element);
                } else if (x >= length) {
                    range = min(range, element);
                } else {
                    sum += x;
                }
            }
            if (x >= from && x < to) {
                u32 bit = 1u << (x & 31);
                if (atomicOr(&seen[(x - from) >> 5], bit) & bit) twice = min(twice, x);
            }
        }
    }
    if (range != ~0ull) atomicMin(&found[0], range);
    if (twice != ~0ull) atomicMin(&found[1], twice);
    if (ends > 0) {
        atomicAdd(&found[2], ends);
        atomicMin(&found[3], first_end);
    }
    sum = warp_sum(sum);
    if (lane_id() == 0 && sum != 0) atomicAdd(&found[4], sum);
}

extern "C" __global__ void __launch_bounds__(THREADS)
check_list(const u32* list, u64 length, u32* seen, u64 from, u64 to, u64* found) {
    check(list, length, seen, from, to, found);
}

extern "C" __global__ void __launch_bounds__(THREADS)
check_list_wide(const u64* list, u64 length, u32* seen, u64 from, u64 to, u64* found) {
    check(list, length, seen, from, to, found);
}

// Maximum number of elements of a part of a sublist. A longer sublist is split into several parts, each with its own index. The index of the part,
// and the element's offset in it, replace the element's successor.
constexpr u32 PART_BITS = 8;
constexpr u32 PART = 1u << PART_BITS;

// Number of sublists that a thread walks at once. One is fastest if a multiprocessor runs as many threads as it can.
constexpr u32 LISTS = 1;

// Walks all sublists. Only one thread reaches an element, because no two elements have the same successor. A walk on a damaged list ends when no part
// index is left. Each phase is a loop over a thread's sublists, after which all lanes converge. A variant with a `continue` of the outer loop for
// lanes whose sublist ends took 166 ms for 10^9 elements instead of 91.
template <class Index> __device__ void walk(const Sublists& lists, Index* list) {
    Index at[LISTS];
    u32 number[LISTS], offset[LISTS];
    u32 busy = 0;
    bool has_more = true;
    while (true) {
#pragma unroll
        for (u32 k = 0; k < LISTS; k++) {
            u32 given = hand_out(has_more && !(busy >> k & 1), &lists.counters[0]);
            if (given == NONE) continue;
            if (given > block_count(lists)) {
                has_more = false;
                continue;
            }
            at[k] = first_of<Index>(lists, given);
            number[k] = given;
            offset[k] = 0;
            if (at[k] != end_of_list<Index>()) busy |= 1u << k;
        }
        if (!__any_sync(ALL_LANES, busy != 0 || has_more)) break;
        Index next[LISTS];
#pragma unroll
        for (u32 k = 0; k < LISTS; k++) {
            if (!(busy >> k & 1)) continue;
            offset[k]++;
            next[k] = list[at[k]];
        }
#pragma unroll
        for (u32 k = 0; k < LISTS; k++) {
            if (!(busy >> k & 1)) continue;
            list[at[k]] = (Index)number[k] << PART_BITS | (offset[k] - 1);
            bool is_last = next[k] == end_of_list<Index>();
            if (is_last || is_splitter<Index>(next[k], lists.shift)) {
                lists.words[number[k]] = word_of(is_last ? NO_NEXT : (u64)(next[k] >> lists.shift), offset[k]);
                busy &= ~(1u << k);
                continue;
            }
            at[k] = next[k];
            if (offset[k] == PART) {
                u32 fresh = atomicAdd(&lists.counters[1], 1u);
                if (fresh >= lists.most) {
                    busy &= ~(1u << k);
                    continue;
                }
                lists.words[number[k]] = word_of(fresh, PART);
                number[k] = fresh;
                offset[k] = 0;
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) walk_sublists(Sublists lists, u32* list) {
    walk(lists, list);
}

extern "C" __global__ void __launch_bounds__(THREADS) walk_sublists_wide(Sublists lists, u64* list) {
    walk(lists, list);
}

// One round of pointer jumping: replaces the pointer in every word by the pointer in the word to which it points. The pointer is in the high bits of
// a word, and the distance to its target in the lowest BITS bits. A word changes as a whole. Both the old and the new word contain a pointer and the
// distance to its target, so it does not matter which of the two another thread reads. Sets `*is_left` to 1 if another round may be needed.
template <u32 BITS> __device__ void jump(u64* words, u64 count, u32* is_left) {
    const u64 mask = (1ull << BITS) - 1;
    volatile u64* shared = words;
    bool found = false;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < count; i += (u64)gridDim.x * THREADS) {
        u64 word = shared[i];
        u64 next = word >> BITS;
        if (next == ~0ull >> BITS) continue;
        u64 other = shared[next];
        shared[i] = (other & ~mask) | ((word + other) & mask);
        found = found || other >> BITS != ~0ull >> BITS;
    }
    if (found) *is_left = 1;
}

extern "C" __global__ void __launch_bounds__(THREADS) jump_sublists(u64* words, u64 count, u32* is_left) {
    jump<LENGTH_BITS>(words, count, is_left);
}

extern "C" __global__ void __launch_bounds__(THREADS) jump_elements(u64* words, u64 count, u32* is_left) {
    jump<32>(words, count, is_left);
}

// Writes the list rank of the first element of each part: one less than the number of elements from there to the end of the list.
template <class Index> __device__ void first_ranks(const u64* words, u64 count, Index* ranks) {
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < count; i += (u64)gridDim.x * THREADS) {
        ranks[i] = (Index)((words[i] & LENGTH_MASK) - 1);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) ranks_of_parts(const u64* words, u64 count, u32* ranks) {
    first_ranks(words, count, ranks);
}

extern "C" __global__ void __launch_bounds__(THREADS) ranks_of_parts_wide(const u64* words, u64 count, u64* ranks) {
    first_ranks(words, count, ranks);
}

// Replaces the part index and the offset of each element by its list rank.
template <class Index> __device__ void finish(Index* list, u64 length, const Index* ranks) {
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 base = (u64)blockIdx.x * THREADS + threadIdx.x; base < length; base += 4 * stride) {
        Index x[4];
#pragma unroll
        for (u32 k = 0; k < 4; k++) x[k] = base + k * stride < length ? __ldcs(list + base + k * stride) : 0;
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            if (base + k * stride < length) x[k] = __ldg(ranks + (x[k] >> PART_BITS)) - (x[k] & (PART - 1));
        }
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            if (base + k * stride < length) __stcs(list + base + k * stride, x[k]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) finish_ranks(u32* list, u64 length, const u32* ranks) {
    finish(list, length, ranks);
}

extern "C" __global__ void __launch_bounds__(THREADS) finish_ranks_wide(u64* list, u64 length, const u64* ranks) {
    finish(list, length, ranks);
}

// Makes the 64-bit words of the elements in from..to. The high half is the successor. The low half is the distance to it: 1, or 0 at the end of the
// list. `words` may overlap the successors before `from`.
extern "C" __global__ void __launch_bounds__(THREADS) words_of_elements(const u32* list, u64 from, u64 to, u64* words) {
    for (u64 i = from + (u64)blockIdx.x * THREADS + threadIdx.x; i < to; i += (u64)gridDim.x * THREADS) {
        u32 next = list[i];
        words[i] = (u64)next << 32 | (next == NONE ? 0 : 1);
    }
}

// Writes the distances in the words from..to as list ranks. `ranks` may overlap the words before `from`.
extern "C" __global__ void __launch_bounds__(THREADS) ranks_of_words(const u64* words, u64 from, u64 to, u32* ranks) {
    for (u64 i = from + (u64)blockIdx.x * THREADS + threadIdx.x; i < to; i += (u64)gridDim.x * THREADS) {
        u32 rank = (u32)words[i];
        ranks[i] = rank;
    }
}
