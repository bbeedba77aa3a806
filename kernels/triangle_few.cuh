// Counts triangles of front rows with few heads: a warp puts the ids of a row into a hash table in shared memory, and probes the row's heads against
// it.
#pragma once
#include "triangle_pair.cuh"

// Maximum number of slots of the open-addressing hash table of a row's ids: twice the maximum number of ids.
constexpr u32 SLOTS = 2 * LONGEST_HASHED;
constexpr u32 EMPTY = 0xffffffffu;
// Number of rounds that each warp should get, to balance the load, because many rows have few heads or none. In a round, a warp takes several rows of
// the front.
constexpr u32 FEW_TURNS = 32;

__device__ inline u32 hashed_slot(u32 id, u32 mask) { return id * 2654435761u >> 16 & mask; }

__device__ inline bool is_in(const u32* table, u32 mask, u32 id) {
    for (u32 slot = hashed_slot(id, mask);; slot = (slot + 1) & mask) {
        u32 found = table[slot];
        if (found == id) return true;
        if (found == EMPTY) return false;
    }
}

// Counts the triangles of all heads of one row, with one warp.
template <Counts COUNTS>
__device__ inline void close_few(const Pair& pair, Tally& tally, u32* table, u32 b, u32 first, u32 heads) {
    u32 start = pair.front.starts[b], length = pair.front.starts[b + 1] - start, lane = lane_id();
    u32 mask = length <= 16 ? 31 : min(2u << (32 - __clz(length - 1)), SLOTS) - 1;
    for (u32 i = lane; i <= mask; i += 32) table[i] = EMPTY;
    __syncwarp();
    for (u32 i = lane; i < length; i += 32) {
        u32 id = pair.front.targets[start + i], slot = hashed_slot(id, mask);
        while (atomicCAS(&table[slot], EMPTY, id) != EMPTY) slot = (slot + 1) & mask;
    }
    __syncwarp();
    u32 at_b = 0;
    for (u32 batch = 0; batch < heads; batch += 32) {
        u64 mine = batch + lane < heads ? pair.heads[first + batch + lane] : 0;
        tally.add_probes((u32)mine >> LENGTH_BITS, (u32)mine & LENGTH_MASK);
        // Eight lanes process a head, because most heads are short.
        for (u32 h = lane / 8; h < 32; h += 4) {
            u64 head = __shfl_sync(ALL_LANES, mine, h);
            u32 row = head >> 32;
            if (COUNTS == CORNERS && batch + h < heads) head = with_start(pair, head);
            u32 from = head >> 32, head_length = (u32)head & LENGTH_MASK, found = 0;
            for (u32 i = lane % 8; i < head_length; i += 32) {
                u32 ids[4];
#pragma unroll
                for (u32 k = 0; k < 4; k++)
                    ids[k] = i + 8 * k < head_length ? __ldg(pair.partner.targets + from + i + 8 * k) : EMPTY;
#pragma unroll
                for (u32 k = 0; k < 4; k++) {
                    bool hit = ids[k] != EMPTY && is_in(table, mask, ids[k]);
                    if (COUNTS == CORNERS && hit) atomicAdd(&pair.corners[ids[k]], 1ull);
                    if (COUNTS == EDGES && hit) {
                        pair.partner_edges.add(from + i + 8 * k, 1);
                        pair.front_edges.add(start + lower_bound(pair.front.targets + start, length, ids[k]), 1);
                    }
                    found += hit;
                }
            }
            for (int step = 4; step > 0; step /= 2) found += __shfl_xor_sync(ALL_LANES, found, step);
            at_b += found;
            if (found > 0 && lane % 8 == 0) {
                Tally::add(&tally.words[4 * ((u32)head >> LENGTH_BITS)], found);
                add_head<COUNTS>(pair, row, from, head_length, found);
            }
        }
    }
    if (COUNTS == CORNERS) {
        u32 sum = warp_sum(lane % 8 == 0 ? at_b : 0);
        if (sum > 0 && lane == 0) atomicAdd(&pair.corners[pair.front.first + b], (u64)sum);
    }
    __syncwarp();
}

template <Counts COUNTS> __device__ inline void count_few_body(const Pair& pair) {
    DYNAMIC_SHARED(u32, shared); // a hash table per warp, then the tally
    __shared__ u32 next, taken;
    u32 *table = shared + warp_id() * SLOTS, turn = 0;
    Tally tally = {shared + 8 * SLOTS};
    tally.clear(pair.partner_block_count);
    // `each` is the number of rows that a warp takes at a time, and `rows` the number that its block of threads takes.
    u32 all = rows_with_heads(pair), each = max(4u, min(32u, all / (gridDim.x * 8 * FEW_TURNS))), rows = 32 * each;
    while (true) {
        if (threadIdx.x == 0) next = is_stopped(pair, turn++) ? ALL_LANES : atomicAdd(&pair.queue[2], 1u);
        __syncthreads();
        if (next >= (all + rows - 1) / rows) break;
        u32 low = next * rows, end = min(low + rows, all);
        // Usually all these rows belong to one front block. If not, the rows of each front block get a round of their own.
        for (u32 block = front_block_of(pair, low); low < end; block++) {
            u32 high = block + 1 < pair.front_block_count ? pair.front_blocks[block + 1] - pair.front.first : end;
            high = min(high, end);
            if (threadIdx.x == 0) taken = low;
            __syncthreads();
            while (true) {
                u32 row = lane_id() == 0 ? atomicAdd(&taken, each) : 0;
                row = __shfl_sync(ALL_LANES, row, 0);
                if (row >= high) break;
                row += lane_id();
                u32 first = 0, heads = 0;
                if (row < high && lane_id() < each) {
                    u32 length = pair.front.starts[row + 1] - pair.front.starts[row];
                    first = heads_start(pair, row);
                    heads = pair.ends[row] - first;
                    if (!is_few(heads, length)) heads = 0;
                }
                for (u32 left = __ballot_sync(ALL_LANES, heads > 0); left != 0; left &= left - 1) {
                    u32 lane = __ffs(left) - 1;
                    close_few<COUNTS>(pair, tally, table, __shfl_sync(ALL_LANES, row, lane),
                                      __shfl_sync(ALL_LANES, first, lane), __shfl_sync(ALL_LANES, heads, lane));
                }
            }
            __syncthreads();
            tally.flush(pair, block);
            __syncthreads();
            low = high;
        }
    }
}
