// Triangles a < b < c between a front (rows b) and a partner (rows c), both groups of consecutive rows in device memory.
//
// Row c holds c's smaller neighbours in ascending order, so the entries before b in row c, its *head* before b, are the
// candidates a, and row b tells which of them close a triangle. The heads are grouped by b with a counting sort
// (count_heads, scan.cu, scatter_heads). Then row b is marked once, in a bitmap in shared memory or, where b has few
// heads, in a small hash table, and its heads stream past.
#include "common.cuh"

// A head packed in 64 bits: where it starts among the partner's targets (32 bits), its length (22), the partner block (10).
constexpr u32 LENGTH_BITS = 22;
constexpr u32 LENGTH_MASK = (1u << LENGTH_BITS) - 1;

// A group of consecutive rows. starts has rows + 1 entries.
struct Rows {
    const u32* starts;
    const u32* targets;
    u32 first;
    u32 count;
};

// Everything that counting a pair of groups works on; triangle/gpu.rs has its twin.
struct Pair {
    Rows front, partner;
    // End of the heads of each front row in `heads`; those of the row before end where they start.
    const u32* ends;
    const u64* heads;
    // First row of every block of the front.
    const u32* front_blocks;
    u32 front_block_count, partner_block_count;
    // Triangles and probes of every pair of blocks, front after front.
    u64* counts;
    // Triangles at every vertex, or null.
    u64* corners;
    // Front rows with many heads, in chunks.
    const uint2* tasks;
    // [0] tasks there are, [1] tasks taken, [2] rows taken by count_few.
    u32* queue;
    // Set by the host to end early.
    const volatile u32* stop;
};

// Heads of one task.
constexpr u32 CHUNK = 4096;
// Rows with fewer heads than this are not worth a bitmap, unless they are too long for a hash table.
constexpr u32 FEW_HEADS = 64;
constexpr u32 LONGEST_HASHED = 512;

extern "C" __global__ void __launch_bounds__(256) shift_starts(u32* starts, u32 count, u32 base) {
    for (u32 i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) starts[i] += base;
}

// counts[b - low] += 1 for every target b of `targets` in low .. high.
extern "C" __global__ void __launch_bounds__(256)
count_heads(const u32* targets, u32 entries, u32 low, u32 high, u32* counts) {
    u32 step = gridDim.x * 256;
    for (u32 i = blockIdx.x * 256 + threadIdx.x; i < entries; i += step) {
        u32 b = targets[i];
        if (b >= low && b < high) atomicAdd(&counts[b - low], 1u);
        if (i + step < i) break; // near 2^32 entries the index would start anew
    }
}

// Puts the heads of `rows` rows before every b in low .. high to their place. starts are those of the rows.
extern "C" __global__ void __launch_bounds__(256)
scatter_heads(const u32* starts, u32 rows, const u32* targets, u32 low, u32 high, u32 block, u32* cursors, u64* heads) {
    u32 lane = lane_id(), warps = gridDim.x * 8;
    // A warp takes 32 rows at a time and their entries one after another, whatever the rows' lengths.
    for (u32 row = (blockIdx.x * 8 + warp_id()) * 32; row < rows; row += warps * 32) {
        u32 start = starts[min(row + lane, rows)], end = starts[min(row + 32, rows)];
        u32 first = __shfl_sync(ALL_LANES, start, 0);
        for (u32 at = first; at < end; at += 32) {
            u32 place = at + lane, mine = 0;
            for (u32 step = 16; step > 0; step /= 2) {
                u32 other = __shfl_sync(ALL_LANES, start, mine + step);
                if (other <= place) mine += step;
            }
            u32 from = __shfl_sync(ALL_LANES, start, mine);
            if (place < end) {
                u32 b = targets[place], length = place - from;
                if (b >= low && b < high) {
                    u32 slot = atomicAdd(&cursors[b - low], 1u);
                    heads[slot] = (u64)from << 32 | block << LENGTH_BITS | length;
                }
            }
        }
    }
}

__device__ inline u32 heads_start(const Pair& pair, u32 row) { return row > 0 ? pair.ends[row - 1] : 0; }

__device__ inline bool is_few(u32 heads, u32 length) { return heads < FEW_HEADS && length <= LONGEST_HASHED; }

// Lists a task {row, first head} for every chunk of heads of the rows that are to be marked in a bitmap.
extern "C" __global__ void __launch_bounds__(256) list_tasks(Pair pair, uint2* tasks) {
    for (u32 row = blockIdx.x * 256 + threadIdx.x; row < pair.front.count; row += gridDim.x * 256) {
        u32 first = heads_start(pair, row), heads = pair.ends[row] - first;
        u32 length = pair.front.starts[row + 1] - pair.front.starts[row];
        if (heads == 0 || length == 0 || is_few(heads, length)) continue;
        u32 chunks = (heads - 1) / CHUNK + 1, slot = atomicAdd(&pair.queue[0], chunks);
        for (u32 chunk = 0; chunk < chunks; chunk++) tasks[slot + chunk] = make_uint2(row, first + chunk * CHUNK);
    }
}

// Triangles and probes by partner block while a block of threads works on one front block. Kept in shared memory.
struct Tally {
    u64* counts;

    __device__ void clear(u32 blocks) {
        for (u32 i = threadIdx.x; i < 2 * blocks; i += blockDim.x) counts[i] = 0;
    }
    __device__ void add_triangles(u32 block, u32 triangles) {
        u32 sum = warp_sum(triangles);
        if (lane_id() == 0 && sum > 0) atomicAdd(&counts[2 * block], (u64)sum);
    }
    // Every lane has a head, or a length of 0. The heads of a row come block after block, mostly of the same.
    __device__ void add_probes(u32 block, u32 length) {
        u32 first = __shfl_sync(ALL_LANES, block, 0);
        if (__all_sync(ALL_LANES, block == first || length == 0)) {
            // 32 lengths of 22 bits fit 32 bits.
            u32 sum = warp_sum(length);
            if (lane_id() == 0 && sum > 0) atomicAdd(&counts[2 * first + 1], (u64)sum);
        } else if (length > 0) {
            atomicAdd(&counts[2 * block + 1], (u64)length);
        }
    }
    // Adds all to the totals of `front_block` and starts anew. Between two barriers.
    __device__ void flush(const Pair& pair, u32 front_block) {
        u64* totals = pair.counts + (u64)front_block * 2 * pair.partner_block_count;
        for (u32 i = threadIdx.x; i < 2 * pair.partner_block_count; i += blockDim.x) {
            if (counts[i] > 0) atomicAdd(&totals[i], counts[i]);
            counts[i] = 0;
        }
    }
};

__device__ inline u32 front_block_of(const Pair& pair, u32 row) {
    return last_start_upto(pair.front_blocks, pair.front_block_count, pair.front.first + row);
}

// Adds to the count of the vertex whose row of the partner starts at `start`.
__device__ inline void add_corner_of_head(const Pair& pair, u32 start, u32 triangles) {
    u32 row = last_start_upto(pair.partner.starts, pair.partner.count, start);
    atomicAdd(&pair.corners[pair.partner.first + row], (u64)triangles);
}

// Ids under EXACT have a bit each. Those beyond share the bits of a filter, and what it lets pass is looked up in the row:
// few triangles end there, and the bitmap is small enough for six blocks of threads on a multiprocessor.
constexpr u32 EXACT = 1u << 18;
constexpr u32 EXACT_WORDS = EXACT / 32;
constexpr u32 FILTER_WORDS = 512;
constexpr u32 MARK_WORDS = EXACT_WORDS + FILTER_WORDS;

__device__ inline u32 mark_word(u32 id) {
    return id < EXACT ? id / 32 : EXACT_WORDS + ((id / 32) & (FILTER_WORDS - 1));
}

// Streams one head past the marked row, a warp at a time; returns this lane's triangles.
template <bool CORNERS>
__device__ inline u32 close_head(const Pair& pair, const u32* marks, const u32* row, u32 row_length, const u32* head,
                                 u32 length) {
    // Four loads in flight a lane: the latency of memory is what limits this.
    constexpr u32 AT_ONCE = 4, NONE = 0xffffffffu;
    u32 found = 0;
    for (u32 at = lane_id(); at < length; at += 32 * AT_ONCE) {
        u32 ids[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) ids[k] = at + 32 * k < length ? __ldg(head + at + 32 * k) : NONE;
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            u32 id = ids[k];
            if (id == NONE) continue;
            bool hit = marks[mark_word(id)] >> (id & 31) & 1;
            if (hit && id >= EXACT) hit = contains(row, row_length, id);
            if (CORNERS && hit) atomicAdd(&pair.corners[id], 1ull);
            found += hit;
        }
    }
    return found;
}

template <bool CORNERS> __device__ inline void count_many_body(const Pair& pair) {
    DYNAMIC_SHARED(u32, shared); // the bitmap, then the tally
    __shared__ u32 next;
    u32* marks = shared;
    Tally tally = {(u64*)(shared + MARK_WORDS)};
    tally.clear(pair.partner_block_count);
    for (u32 i = threadIdx.x; i < MARK_WORDS; i += blockDim.x) marks[i] = 0;
    while (true) {
        if (threadIdx.x == 0) next = *pair.stop ? ALL_LANES : atomicAdd(&pair.queue[1], 1u);
        __syncthreads();
        if (next >= pair.queue[0]) break;
        uint2 task = pair.tasks[next];
        u32 b = task.x, end = min(pair.ends[b] - task.y, CHUNK) + task.y;
        u32 start = pair.front.starts[b], length = pair.front.starts[b + 1] - start;
        const u32* row = pair.front.targets + start;
        for (u32 i = threadIdx.x; i < length; i += blockDim.x) atomicOr(&marks[mark_word(row[i])], 1u << (row[i] & 31));
        __syncthreads();

        u32 closed = 0, at_b = 0, block = 0;
        for (u32 batch = task.y + warp_id() * 32; batch < end; batch += blockDim.x) {
            u64 mine = batch + lane_id() < end ? pair.heads[batch + lane_id()] : 0;
            tally.add_probes((u32)mine >> LENGTH_BITS, (u32)mine & LENGTH_MASK);
            for (u32 h = 0; h < min(32u, end - batch); h++) {
                u64 head = __shfl_sync(ALL_LANES, mine, h);
                if ((u32)head >> LENGTH_BITS != block) {
                    tally.add_triangles(block, closed);
                    at_b += closed;
                    closed = 0;
                    block = (u32)head >> LENGTH_BITS;
                }
                u32 from = head >> 32, head_length = (u32)head & LENGTH_MASK;
                u32 found = close_head<CORNERS>(pair, marks, row, length, pair.partner.targets + from, head_length);
                closed += found;
                if (CORNERS) {
                    u32 sum = warp_sum(found);
                    if (sum > 0 && lane_id() == 0) add_corner_of_head(pair, from, sum);
                }
            }
        }
        tally.add_triangles(block, closed);
        if (CORNERS) {
            u32 sum = warp_sum(at_b + closed);
            if (sum > 0 && lane_id() == 0) atomicAdd(&pair.corners[pair.front.first + b], (u64)sum);
        }
        __syncthreads();
        tally.flush(pair, front_block_of(pair, b));
        for (u32 i = threadIdx.x; i < length; i += blockDim.x) marks[mark_word(row[i])] = 0;
        __syncthreads();
    }
}

// Front rows with many heads: a block of threads takes a task at a time.
extern "C" __global__ void __launch_bounds__(256, 6) count_many(Pair pair) { count_many_body<false>(pair); }
extern "C" __global__ void __launch_bounds__(256, 6) count_many_corners(Pair pair) { count_many_body<true>(pair); }

// An open hash table of a row's ids; twice as many slots as ids, at least.
constexpr u32 SLOTS = 2 * LONGEST_HASHED;
constexpr u32 EMPTY = 0xffffffffu;
// Rows that a block of threads takes at a time: a lane each.
constexpr u32 FEW_ROWS = 8 * 32;

__device__ inline u32 slot_of(u32 id, u32 mask) { return id * 2654435761u >> 16 & mask; }

__device__ inline bool is_in(const u32* table, u32 mask, u32 id) {
    for (u32 slot = slot_of(id, mask);; slot = (slot + 1) & mask) {
        u32 found = table[slot];
        if (found == id) return true;
        if (found == EMPTY) return false;
    }
}

// All heads of one row by one warp.
template <bool CORNERS>
__device__ inline void close_few(const Pair& pair, Tally& tally, u32* table, u32 b, u32 first, u32 heads) {
    u32 start = pair.front.starts[b], length = pair.front.starts[b + 1] - start, lane = lane_id();
    u32 mask = max(32u, 2u << (32 - __clz(length - 1))) - 1;
    mask = min(mask, SLOTS - 1);
    for (u32 i = lane; i <= mask; i += 32) table[i] = EMPTY;
    __syncwarp();
    for (u32 i = lane; i < length; i += 32) {
        u32 id = pair.front.targets[start + i], slot = slot_of(id, mask);
        while (atomicCAS(&table[slot], EMPTY, id) != EMPTY) slot = (slot + 1) & mask;
    }
    __syncwarp();
    u32 at_b = 0;
    for (u32 batch = 0; batch < heads; batch += 32) {
        u64 mine = batch + lane < heads ? pair.heads[first + batch + lane] : 0;
        tally.add_probes((u32)mine >> LENGTH_BITS, (u32)mine & LENGTH_MASK);
        // Eight lanes a head: most are short.
        for (u32 h = lane / 8; h < 32; h += 4) {
            u64 head = __shfl_sync(ALL_LANES, mine, h);
            u32 from = head >> 32, head_length = (u32)head & LENGTH_MASK, found = 0;
            for (u32 i = lane % 8; i < head_length; i += 8) {
                u32 id = __ldg(pair.partner.targets + from + i);
                bool hit = is_in(table, mask, id);
                if (CORNERS && hit) atomicAdd(&pair.corners[id], 1ull);
                found += hit;
            }
            for (int step = 4; step > 0; step /= 2) found += __shfl_xor_sync(ALL_LANES, found, step);
            at_b += found;
            if (found > 0 && lane % 8 == 0) {
                atomicAdd(&tally.counts[2 * ((u32)head >> LENGTH_BITS)], (u64)found);
                if (CORNERS) add_corner_of_head(pair, from, found);
            }
        }
    }
    if (CORNERS) {
        u32 sum = warp_sum(lane % 8 == 0 ? at_b : 0);
        if (sum > 0 && lane == 0) atomicAdd(&pair.corners[pair.front.first + b], (u64)sum);
    }
    __syncwarp();
}

template <bool CORNERS> __device__ inline void count_few_body(const Pair& pair) {
    DYNAMIC_SHARED(u32, shared); // a table for each warp, then the tally
    __shared__ u32 next;
    u32* table = shared + warp_id() * SLOTS;
    Tally tally = {(u64*)(shared + 8 * SLOTS)};
    tally.clear(pair.partner_block_count);
    while (true) {
        if (threadIdx.x == 0) next = *pair.stop ? ALL_LANES : atomicAdd(&pair.queue[2], 1u);
        __syncthreads();
        u32 taken = next;
        if (taken >= (pair.front.count + FEW_ROWS - 1) / FEW_ROWS) break;
        u32 first_row = taken * FEW_ROWS, last_row = min(first_row + FEW_ROWS, pair.front.count) - 1;
        // Mostly one block; rows of the next one get a turn of their own.
        u32 block = front_block_of(pair, first_row), last_block = front_block_of(pair, last_row);
        for (; block <= last_block; block++) {
            u32 row = first_row + threadIdx.x, first = 0, heads = 0;
            bool mine = row <= last_row && (block == last_block || pair.front.first + row < pair.front_blocks[block + 1]) &&
                        pair.front.first + row >= pair.front_blocks[block];
            if (mine) {
                u32 length = pair.front.starts[row + 1] - pair.front.starts[row];
                first = heads_start(pair, row);
                heads = pair.ends[row] - first;
                if (length == 0 || !is_few(heads, length)) heads = 0;
            }
            u32 left = __ballot_sync(ALL_LANES, heads > 0);
            while (left != 0) {
                u32 lane = __ffs(left) - 1;
                left &= left - 1;
                close_few<CORNERS>(pair, tally, table, __shfl_sync(ALL_LANES, row, lane),
                                   __shfl_sync(ALL_LANES, first, lane), __shfl_sync(ALL_LANES, heads, lane));
            }
            __syncthreads();
            tally.flush(pair, block);
            __syncthreads();
        }
    }
}

// Front rows with few heads: a warp takes a row at a time.
extern "C" __global__ void __launch_bounds__(256, 6) count_few(Pair pair) { count_few_body<false>(pair); }
extern "C" __global__ void __launch_bounds__(256, 6) count_few_corners(Pair pair) { count_few_body<true>(pair); }
