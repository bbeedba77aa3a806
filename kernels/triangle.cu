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

// Blocks of threads on a multiprocessor: what decides how many registers there are. Older ones need more of them.
#if __CUDA_ARCH__ >= 750
#define BLOCKS_AT_ONCE 6
#else
#define BLOCKS_AT_ONCE 4
#endif

// Heads of one task.
constexpr u32 CHUNK = 4096;
// Rows with fewer heads than this are not worth a bitmap, unless they are too long for a hash table.
constexpr u32 FEW_HEADS = 32;
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

// The last of `rows` rows that starts at `at` or before, by a warp: 32 starts are looked at at once.
__device__ inline u32 row_at(const u32* starts, u32 rows, u32 at) {
    u32 low = 0, high = rows;
    while (high - low > 1) {
        u32 step = (high - low + 31) / 32, probe = low + lane_id() * step;
        u32 upto = __popc(__ballot_sync(ALL_LANES, probe < high && starts[probe] <= at));
        low += (upto - 1) * step;
        high = min(low + step, high);
    }
    return low;
}

// Entries that a warp takes at a time, whatever rows they are of.
constexpr u32 SCATTERED = 1024;

// Puts the heads of `rows` rows of `entries` entries before every b in low .. high to their place. starts are those of the
// rows alone: where the last one ends may not have arrived yet.
extern "C" __global__ void __launch_bounds__(256)
scatter_heads(const u32* starts, u32 rows, u32 entries, const u32* targets, u32 low, u32 high, u32 block, u32* cursors,
              u64* heads) {
    u32 base = starts[0], last = base + entries;
    u32 parts = (entries + SCATTERED - 1) / SCATTERED;
    for (u32 part = blockIdx.x * 8 + warp_id(); part < parts; part += gridDim.x * 8) {
        u32 at = base + part * SCATTERED, end = base + min(part * SCATTERED + SCATTERED, entries);
        u32 row = row_at(starts, rows, at);
        while (at < end) {
            // 32 rows and where they start; a step for 32 entries of theirs.
            u32 start = row + lane_id() < rows ? starts[row + lane_id()] : last;
            u32 upto = row + 32 < rows ? min(starts[row + 32], end) : end;
            for (; at < upto; at += 32) {
                u32 place = at + lane_id(), mine = 0;
                for (u32 step = 16; step > 0; step /= 2) {
                    u32 other = __shfl_sync(ALL_LANES, start, mine + step);
                    if (other <= place) mine += step;
                }
                u32 from = __shfl_sync(ALL_LANES, start, mine);
                if (place < upto) {
                    u32 b = targets[place];
                    if (b >= low && b < high) {
                        u32 slot = atomicAdd(&cursors[b - low], 1u);
                        heads[slot] = (u64)from << 32 | block << LENGTH_BITS | (place - from);
                    }
                }
            }
            at = upto;
            row += 32;
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
        if (heads == 0 || is_few(heads, length)) continue;
        u32 chunks = (heads - 1) / CHUNK + 1, slot = atomicAdd(&pair.queue[0], chunks);
        for (u32 chunk = 0; chunk < chunks; chunk++) tasks[slot + chunk] = make_uint2(row, first + chunk * CHUNK);
    }
}

// Triangles and probes by partner block while a block of threads works on one front block: four words of shared memory for
// each, as 64-bit sums in halves. (Shared memory has no 64-bit addition of its own.)
struct Tally {
    u32* words;

    __device__ void clear(u32 blocks) {
        for (u32 i = threadIdx.x; i < 4 * blocks; i += blockDim.x) words[i] = 0;
    }
    __device__ static void add(u32* sum, u32 more) {
        if (atomicAdd(sum, more) > ALL_LANES - more) atomicAdd(sum + 1, 1u);
    }
    // By a whole warp.
    __device__ void add_triangles(u32 block, u32 triangles) {
        u32 sum = warp_sum(triangles);
        if (lane_id() == 0 && sum > 0) add(&words[4 * block], sum);
    }
    // Every lane has a head, or a length of 0. The heads of a row come block after block, mostly of the same.
    __device__ void add_probes(u32 block, u32 length) {
        u32 first = __shfl_sync(ALL_LANES, block, 0);
        if (__all_sync(ALL_LANES, block == first || length == 0)) {
            // 32 lengths of 22 bits fit 32 bits.
            u32 sum = warp_sum(length);
            if (lane_id() == 0 && sum > 0) add(&words[4 * first + 2], sum);
        } else if (length > 0) {
            add(&words[4 * block + 2], length);
        }
    }
    // Adds all to the totals of `front_block` and starts anew. Between two barriers.
    __device__ void flush(const Pair& pair, u32 front_block) {
        u64* totals = pair.counts + (u64)front_block * 2 * pair.partner_block_count;
        for (u32 i = threadIdx.x; i < 2 * pair.partner_block_count; i += blockDim.x) {
            u64 sum = (u64)words[2 * i + 1] << 32 | words[2 * i];
            if (sum > 0) atomicAdd(&totals[i], sum);
            words[2 * i] = words[2 * i + 1] = 0;
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

// Whether the host wants an end. It is asked every so many turns: the answer comes over the bus.
__device__ inline bool is_stopped(const Pair& pair, u32 turn) { return turn % 64 == 63 && *pair.stop; }

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

// Front rows with many heads: a block of threads takes a task at a time.
extern "C" __global__ void __launch_bounds__(256, BLOCKS_AT_ONCE) count_many(Pair pair) { count_many_body<false>(pair); }
extern "C" __global__ void __launch_bounds__(256, BLOCKS_AT_ONCE) count_many_corners(Pair pair) { count_many_body<true>(pair); }

// An open hash table of a row's ids; twice as many slots as ids, at least.
constexpr u32 SLOTS = 2 * LONGEST_HASHED;
constexpr u32 EMPTY = 0xffffffffu;
// Rows that a block of threads takes at a time, and its warps: where most rows have heads, a few are work enough.
constexpr u32 FEW_ROWS = 128;
constexpr u32 FEW_ROWS_EACH = 4;

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
    u32 mask = length <= 16 ? 31 : min(2u << (32 - __clz(length - 1)), SLOTS) - 1;
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
            for (u32 i = lane % 8; i < head_length; i += 32) {
                u32 ids[4];
#pragma unroll
                for (u32 k = 0; k < 4; k++)
                    ids[k] = i + 8 * k < head_length ? __ldg(pair.partner.targets + from + i + 8 * k) : EMPTY;
#pragma unroll
                for (u32 k = 0; k < 4; k++) {
                    bool hit = ids[k] != EMPTY && is_in(table, mask, ids[k]);
                    if (CORNERS && hit) atomicAdd(&pair.corners[ids[k]], 1ull);
                    found += hit;
                }
            }
            for (int step = 4; step > 0; step /= 2) found += __shfl_xor_sync(ALL_LANES, found, step);
            at_b += found;
            if (found > 0 && lane % 8 == 0) {
                Tally::add(&tally.words[4 * ((u32)head >> LENGTH_BITS)], found);
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
    __shared__ u32 next, taken;
    u32 *table = shared + warp_id() * SLOTS, turn = 0;
    Tally tally = {shared + 8 * SLOTS};
    tally.clear(pair.partner_block_count);
    while (true) {
        if (threadIdx.x == 0) next = is_stopped(pair, turn++) ? ALL_LANES : atomicAdd(&pair.queue[2], 1u);
        __syncthreads();
        if (next >= (pair.front.count + FEW_ROWS - 1) / FEW_ROWS) break;
        u32 low = next * FEW_ROWS, end = min(low + FEW_ROWS, pair.front.count);
        // Mostly of one block; rows of another get a turn of their own.
        for (u32 block = front_block_of(pair, low); low < end; block++) {
            u32 high = block + 1 < pair.front_block_count ? pair.front_blocks[block + 1] - pair.front.first : end;
            high = min(high, end);
            if (threadIdx.x == 0) taken = low;
            __syncthreads();
            while (true) {
                u32 row = lane_id() == 0 ? atomicAdd(&taken, FEW_ROWS_EACH) : 0;
                row = __shfl_sync(ALL_LANES, row, 0);
                if (row >= high) break;
                row += lane_id();
                u32 first = 0, heads = 0;
                if (row < high && lane_id() < FEW_ROWS_EACH) {
                    u32 length = pair.front.starts[row + 1] - pair.front.starts[row];
                    first = heads_start(pair, row);
                    heads = pair.ends[row] - first;
                    if (!is_few(heads, length)) heads = 0;
                }
                for (u32 left = __ballot_sync(ALL_LANES, heads > 0); left != 0; left &= left - 1) {
                    u32 lane = __ffs(left) - 1;
                    close_few<CORNERS>(pair, tally, table, __shfl_sync(ALL_LANES, row, lane),
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

// Front rows with few heads: a warp takes a row at a time.
extern "C" __global__ void __launch_bounds__(256, BLOCKS_AT_ONCE) count_few(Pair pair) { count_few_body<false>(pair); }
extern "C" __global__ void __launch_bounds__(256, BLOCKS_AT_ONCE) count_few_corners(Pair pair) { count_few_body<true>(pair); }
