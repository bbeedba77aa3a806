// Rows with many heads: a block of threads marks one in a bitmap in shared memory, and its heads stream past.
#pragma once
#include "triangle_pair.cuh"

// Ids under EXACT have a bit each. Those beyond share the bits of a filter, and what it lets pass is looked up in the row:
// few triangles end there, and the bitmap is small enough for six blocks of threads on a multiprocessor.
constexpr u32 EXACT = 1u << 18;
constexpr u32 EXACT_WORDS = EXACT / 32;
constexpr u32 FILTER_WORDS = 512;
constexpr u32 MARK_WORDS = EXACT_WORDS + FILTER_WORDS;

// Row b, marked.
struct Marked {
    u32* marks;
    const u32* row;
    u32 length;
    u32 b;

    __device__ static u32 word(u32 id) {
        return id < EXACT ? id / 32 : EXACT_WORDS + ((id / 32) & (FILTER_WORDS - 1));
    }
    __device__ void mark() const {
        for (u32 i = threadIdx.x; i < length; i += blockDim.x) atomicOr(&marks[word(row[i])], 1u << (row[i] & 31));
    }
    __device__ void clear() const {
        for (u32 i = threadIdx.x; i < length; i += blockDim.x) marks[word(row[i])] = 0;
    }
    // 1 if the id, which is under EXACT, is marked.
    __device__ u32 exact(u32 id) const { return marks[id / 32] >> (id & 31) & 1; }
    __device__ bool contains_id(u32 id) const {
        return (marks[word(id)] >> (id & 31) & 1) && (id < EXACT || contains(row, length, id));
    }
};

// This lane's triangles among up to 32 * AT_ONCE candidates: `left` of them, or more if they FILL it. As many loads are in
// flight a lane. SMALL: b is under EXACT, and so are all candidates.
template <u32 AT_ONCE, bool FILL, bool SMALL, bool CORNERS>
__device__ inline u32 close_some(const Pair& pair, const Marked& marked, const u32* head, u32 left) {
    u32 ids[AT_ONCE], found = 0;
#pragma unroll
    for (u32 k = 0; k < AT_ONCE; k++) {
        u32 at = lane_id() + 32 * k;
        // b is no neighbour of itself.
        ids[k] = FILL || at < left ? __ldg(head + at) : marked.b;
    }
    // Heads ascend, so the last candidates tell whether all are under EXACT, as most are.
    if (SMALL || __all_sync(ALL_LANES, ids[AT_ONCE - 1] < EXACT)) {
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            u32 bit = marked.exact(ids[k]);
            if (CORNERS && bit) atomicAdd(&pair.corners[ids[k]], 1ull);
            found += bit;
        }
    } else {
        for (u32 k = 0; k < AT_ONCE; k++) {
            bool hit = marked.contains_id(ids[k]);
            if (CORNERS && hit) atomicAdd(&pair.corners[ids[k]], 1ull);
            found += hit;
        }
    }
    return found;
}

// Streams one head past the marked row, a warp at a time; returns this lane's triangles.
template <bool SMALL, bool CORNERS>
__device__ inline u32 close_head(const Pair& pair, const Marked& marked, const u32* head, u32 length) {
    u32 found = 0;
    for (; length >= 128; length -= 128, head += 128) found += close_some<4, true, SMALL, CORNERS>(pair, marked, head, 128);
    if (length > 64) found += close_some<4, false, SMALL, CORNERS>(pair, marked, head, length);
    else if (length > 32) found += close_some<2, false, SMALL, CORNERS>(pair, marked, head, length);
    else if (length > 0) found += close_some<1, false, SMALL, CORNERS>(pair, marked, head, length);
    return found;
}

// Streams heads first .. end past the marked row.
template <bool SMALL, bool CORNERS>
__device__ inline void close_heads(const Pair& pair, Tally& tally, const Marked& marked, u32 first, u32 end) {
    u32 closed = 0, before = 0, block = 0;
    // Every warp has eight turns or so, so that all end at about the same time.
    u32 each = min(32u, (end - first + 63) / 64);
    for (u32 batch = first + warp_id() * each; batch < end; batch += 8 * each) {
        u32 some = min(each, end - batch);
        u64 mine = lane_id() < some ? pair.heads[batch + lane_id()] : 0;
        tally.add_probes((u32)mine >> LENGTH_BITS, (u32)mine & LENGTH_MASK);
        for (u32 h = 0; h < some; h++) {
            u64 head = __shfl_sync(ALL_LANES, mine, h);
            u32 from = head >> 32, length = (u32)head & LENGTH_MASK;
            if ((u32)head >> LENGTH_BITS != block) {
                tally.add_triangles(block, closed);
                before += closed;
                closed = 0;
                block = (u32)head >> LENGTH_BITS;
            }
            u32 found = close_head<SMALL, CORNERS>(pair, marked, pair.partner.targets + from, length);
            closed += found;
            if (CORNERS) {
                u32 sum = warp_sum(found);
                if (sum > 0 && lane_id() == 0) add_corner_of_head(pair, from, sum);
            }
        }
    }
    tally.add_triangles(block, closed);
    if (CORNERS) {
        u32 sum = warp_sum(before + closed);
        if (sum > 0 && lane_id() == 0) atomicAdd(&pair.corners[marked.b], (u64)sum);
    }
}

template <bool CORNERS> __device__ inline void count_many_body(const Pair& pair) {
    DYNAMIC_SHARED(u32, shared); // the bitmap, then the tally
    __shared__ u32 next;
    u32 *marks = shared, turn = 0;
    Tally tally = {shared + MARK_WORDS};
    tally.clear(pair.partner_block_count);
    for (u32 i = threadIdx.x; i < MARK_WORDS; i += blockDim.x) marks[i] = 0;
    while (true) {
        if (threadIdx.x == 0) next = is_stopped(pair, turn++) ? ALL_LANES : atomicAdd(&pair.queue[1], 1u);
        __syncthreads();
        if (next >= pair.queue[0]) break;
        uint2 task = pair.tasks[next];
        u32 local = task.x, first = task.y, end = first + min(pair.ends[local] - first, CHUNK);
        u32 start = pair.front.starts[local], length = pair.front.starts[local + 1] - start;
        Marked marked = {marks, pair.front.targets + start, length, pair.front.first + local};
        marked.mark();
        __syncthreads();
        if (marked.b < EXACT) close_heads<true, CORNERS>(pair, tally, marked, first, end);
        else close_heads<false, CORNERS>(pair, tally, marked, first, end);
        __syncthreads();
        tally.flush(pair, front_block_of(pair, local));
        marked.clear();
        __syncthreads();
    }
}
