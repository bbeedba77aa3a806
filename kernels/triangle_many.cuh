// Counts triangles of front rows with many heads: a block of threads marks a row in a bitmap in shared memory, and probes the row's heads against it.
#pragma once
#include "triangle_pair.cuh"

// Exclusive end of the ids that have a bit of their own. Larger ids share the bits of a filter, and candidates that pass it are looked up in the row.
// Few triangles have such ids, and the bitmap is small enough for six blocks of threads on a multiprocessor.
constexpr u32 EXACT = 1u << 18;
constexpr u32 EXACT_WORDS = EXACT / 32;
constexpr u32 FILTER_WORDS = 512;
constexpr u32 MARK_WORDS = EXACT_WORDS + FILTER_WORDS;

// Exclusive end of the ids that have 16-bit counters in shared memory, for triangles per vertex or per edge to b. In nearly all triangles, the
// smallest id is below it. A 32-bit word contains the counters of two ids that are SHORT_COUNTERS / 2 apart, so that lanes with neighbouring ids add to
// different words.
constexpr u32 SHORT_COUNTERS = 4096;
// Maximum value of a counter. A head adds at most 1 to a counter.
constexpr u32 MAX_COUNT = 65535;

__device__ inline u32* id_counters() {
    __shared__ u32 counters[SHORT_COUNTERS / 2];
    return counters;
}
// Adds the counters to the numbers of triangles per vertex, and resets them. All threads of the block call it.
__device__ inline void flush_counters(u64* corners) {
    for (u32 i = threadIdx.x; i < SHORT_COUNTERS / 2; i += blockDim.x) {
        u32 both = id_counters()[i];
        id_counters()[i] = 0;
        if ((both & MAX_COUNT) > 0) atomicAdd(&corners[i], (u64)(both & MAX_COUNT));
        if (both > MAX_COUNT) atomicAdd(&corners[i + SHORT_COUNTERS / 2], (u64)(both >> 16));
    }
}
// Adds the counters to the numbers of triangles of the edges in a row, and resets them. The row begins with entry `start` of the front. All threads
// of the block call it.
__device__ inline void flush_counters(const EdgeCounts& edges, const u32* row, u32 start, u32 length) {
    u16* halves = (u16*)id_counters();
    for (u32 i = threadIdx.x; i < length && row[i] < SHORT_COUNTERS; i += blockDim.x) {
        u16& counter = halves[2 * (row[i] % (SHORT_COUNTERS / 2)) + row[i] / (SHORT_COUNTERS / 2)];
        if (counter > 0) edges.add(start + i, counter);
        counter = 0;
    }
}

// Row b, with the bitmap in which it is marked.
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
    // Returns 1 if the id is marked. For an id of EXACT or more, 1 means only that it may be marked.
    __device__ u32 bit(u32 id) const { return marks[word(id)] >> (id & 31) & 1; }
    // Returns 1 if an id below EXACT is marked.
    __device__ u32 exact(u32 id) const { return marks[id / 32] >> (id & 31) & 1; }
};

// Maximum number of candidates of a head that one lane processes, and of one that eight lanes process. A warp processes longer heads.
constexpr u32 LANE_HEAD = 4;
constexpr u32 EIGHT_HEAD = 32;

// Returns the warp's buffer of candidates that passed the filter, with one element per lane: their ids, or the indices of their entries if triangles
// are counted per edge.
__device__ inline u32* pending_candidates() {
    __shared__ u32 places[256];
    return places + (threadIdx.x & ~31u);
}

// State of a warp that probes heads against a marked row. If SMALL, b is below EXACT, and so are all candidates.
template <bool SMALL, Counts COUNTS> struct Closing {
    const Pair& pair;
    Tally& tally;
    const Marked& marked;
    // Number of candidates that passed the filter. They wait until every lane has one to look up in the row.
    u32 pending;
    // Number of this lane's triangles with heads of partner block `block`, and with heads of other partner blocks.
    u32 in_block, before, block;

    // Looks up the waiting candidates in the row. Returns the number of triangles that this lane found.
    __device__ u32 search_pending() {
        if (pending == 0) return 0;
        __syncwarp();
        bool waits = lane_id() < pending;
        u32 entry = waits ? pending_candidates()[lane_id()] : 0, id = entry;
        if (COUNTS == EDGES && waits) id = __ldg(pair.partner.targets + entry);
        u32 place = waits ? lower_bound(marked.row, marked.length, id) : marked.length;
        bool hit = place < marked.length && marked.row[place] == id;
        triangle(id, entry, hit);
        pending = 0;
        __syncwarp();
        return hit;
    }
    // Adds candidates to the waiting ones. Bit k of a lane's `may` stands for head[lane + 32 * k]. When the buffer is full, looks up the waiting
    // candidates first. Returns the number of triangles that this lane found by looking them up.
    __device__ u32 add_pending(u32 may, const u32* head) {
        u32 found = 0;
        for (u32 votes; (votes = __ballot_sync(ALL_LANES, may != 0)) != 0; may &= may - 1) {
            if (pending + __popc(votes) > 32) found += search_pending();
            if (may != 0) {
                const u32* candidate = head + lane_id() + 32 * (__ffs((int)may) - 1);
                // This load hits the cache, because the id was loaded a moment ago.
                u32 waiting = COUNTS == EDGES ? u32(candidate - pair.partner.targets) : __ldg(candidate);
                pending_candidates()[pending + __popc(votes & ((1u << lane_id()) - 1))] = waiting;
            }
            pending += __popc(votes);
        }
        return found;
    }
    __device__ void switch_to(u32 to) {
        if (to == block) return;
        in_block += search_pending();
        tally.add_triangles(block, in_block);
        before += in_block;
        in_block = 0;
        block = to;
    }
    // If `hit` is not 0, counts a triangle at vertex `id`, or at the edges from this vertex to b and c. `entry` is the index of the candidate in the
    // partner.
    __device__ void triangle(u32 id, u32 entry, u32 hit) {
        if (COUNTS == TOTAL || !hit) return;
        if (COUNTS == EDGES) pair.partner_edges.add(entry, 1);
        if (id < SHORT_COUNTERS) atomicAdd(&id_counters()[id % (SHORT_COUNTERS / 2)], id < SHORT_COUNTERS / 2 ? 1u : 1u << 16);
        else if (COUNTS == CORNERS) atomicAdd(&pair.corners[id], 1ull);
        else pair.front_edges.add(u32(marked.row - pair.front.targets) + lower_bound(marked.row, marked.length, id), 1);
    }

    // Probes up to 32 * AT_ONCE candidates of a head: the first `left`, or all with FILL. Returns the number of triangles that this lane found. Each
    // lane has AT_ONCE loads in flight.
    template <u32 AT_ONCE, bool FILL> __device__ u32 close_some(const u32* head, u32 left) {
        u32 ids[AT_ONCE], largest = 0, found = 0, entry = u32(head - pair.partner.targets) + lane_id();
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            u32 at = lane_id() + 32 * k;
            // Lanes without a candidate use b, which is not its own neighbour and so never counts as a triangle. If b may not have a bit of its own,
            // they use 0, and ignore its bit below.
            ids[k] = FILL || at < left ? __ldg(head + at) : SMALL ? marked.b : 0;
            largest = max(largest, ids[k]);
        }
        // Most candidates are below EXACT.
        if (SMALL || __all_sync(ALL_LANES, largest < EXACT)) {
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++) {
                u32 hit = marked.exact(ids[k]);
                if (!SMALL && !FILL && lane_id() + 32 * k >= left) hit = 0;
                triangle(ids[k], entry + 32 * k, hit);
                found += hit;
            }
            return found;
        }
        u32 may = 0;
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            u32 bit = FILL || lane_id() + 32 * k < left ? marked.bit(ids[k]) : 0, hit = ids[k] < EXACT ? bit : 0;
            triangle(ids[k], entry + 32 * k, hit);
            found += hit;
            may |= (bit - hit) << k;
        }
        return found + add_pending(may, head);
    }
    // Probes one head with the whole warp.
    __device__ void close_long(u32 from, u32 length, u32 row) {
        const u32* head = pair.partner.targets + from;
        u32 found = 0;
        u32 left = length;
        // If triangles are counted per vertex or per edge, too few registers are left to unroll this loop.
#pragma unroll 1
        for (; COUNTS != TOTAL && left >= 128; left -= 128, head += 128) found += close_some<4, true>(head, 128);
        for (; COUNTS == TOTAL && left >= 128; left -= 128, head += 128) found += close_some<4, true>(head, 128);
        if (left > 64) found += close_some<4, false>(head, left);
        else if (left > 32) found += close_some<2, false>(head, left);
        else if (left > 0) found += close_some<1, false>(head, left);
        if (COUNTS != TOTAL) {
            found += search_pending();
            u32 sum = warp_sum(found);
            if (sum > 0 && lane_id() == 0) add_head<COUNTS>(pair, row, from, length, sum);
        }
        in_block += found;
    }
    // Probes up to four candidates of a head of partner block `of`: those with the indices `first`, `first` + STEP, ... Returns the number of
    // triangles that this lane found.
    template <u32 STEP> __device__ u32 close_four(u32 from, u32 length, u32 of, u32 first) {
        const u32* head = pair.partner.targets + from;
        u32 ids[4], found = 0;
#pragma unroll
        for (u32 k = 0; k < 4; k++) ids[k] = first + k * STEP < length ? __ldg(head + first + k * STEP) : ALL_LANES;
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            if (ids[k] == ALL_LANES) continue;
            u32 hit = SMALL ? marked.exact(ids[k]) : marked.bit(ids[k]);
            if (!SMALL && hit && ids[k] >= EXACT) {
                u32 place = lower_bound(marked.row, marked.length, ids[k]);
                hit = place < marked.length && marked.row[place] == ids[k];
            }
            triangle(ids[k], from + first + k * STEP, hit);
            found += hit;
        }
        if (of == block) {
            in_block += found;
        } else if (found > 0) {
            Tally::add(&tally.words[4 * of], found);
            before += found;
        }
        return found;
    }

    // Probes this warp's share of the heads from `first` to before `end`.
    __device__ void close(u32 first, u32 end) {
        // Every warp gets at least two rounds, so that all warps finish at about the same time.
        u32 each = min(32u, (end - first + 15) / 16), lane = lane_id();
        for (u32 batch = first + warp_id() * each; batch < end; batch += 8 * each) {
            u64 mine = lane < each && batch + lane < end ? pair.heads[batch + lane] : 0;
            u32 row = mine >> 32;
            if (COUNTS == CORNERS && mine != 0) mine = with_start(pair, mine);
            u32 from = mine >> 32, length = (u32)mine & LENGTH_MASK, of = (u32)mine >> LENGTH_BITS;
            tally.add_probes(of, length);
            u32 some = __ballot_sync(ALL_LANES, length > 0);
            if (some == 0) continue;
            switch_to(__shfl_sync(ALL_LANES, of, __ffs(some) - 1));
            if (length > 0 && length <= LANE_HEAD) {
                u32 found = close_four<1>(from, length, of, 0);
                if (COUNTS != TOTAL && found > 0) add_head<COUNTS>(pair, row, from, length, found);
            }
            __syncwarp();
            for (u32 left = __ballot_sync(ALL_LANES, length > LANE_HEAD && length <= EIGHT_HEAD); left != 0;) {
                u32 h = ALL_LANES;
#pragma unroll
                for (u32 k = 0; k < 4; k++) {
                    if (lane / 8 == k) h = __ffs(left) - 1;
                    left &= left - 1;
                }
                u64 head = __shfl_sync(ALL_LANES, mine, h & 31);
                u32 head_length = h < 32 ? (u32)head & LENGTH_MASK : 0;
                u32 found = close_four<8>(head >> 32, head_length, (u32)head >> LENGTH_BITS, lane % 8);
                if (COUNTS != TOTAL) {
                    u32 row_of_head = __shfl_sync(ALL_LANES, row, h & 31);
                    for (int step = 4; step > 0; step /= 2) found += __shfl_xor_sync(ALL_LANES, found, step);
                    if (found > 0 && lane % 8 == 0) add_head<COUNTS>(pair, row_of_head, head >> 32, head_length, found);
                }
            }
            for (u32 left = __ballot_sync(ALL_LANES, length > EIGHT_HEAD); left != 0; left &= left - 1) {
                u64 head = __shfl_sync(ALL_LANES, mine, __ffs(left) - 1);
                u32 row_of_head = COUNTS == CORNERS ? __shfl_sync(ALL_LANES, row, __ffs(left) - 1) : 0;
                switch_to((u32)head >> LENGTH_BITS);
                close_long(head >> 32, (u32)head & LENGTH_MASK, row_of_head);
            }
        }
        in_block += search_pending();
        tally.add_triangles(block, in_block);
        if (COUNTS == CORNERS) {
            u32 sum = warp_sum(before + in_block);
            if (sum > 0 && lane == 0) atomicAdd(&pair.corners[marked.b], (u64)sum);
        }
    }
};

// A chunk of heads of a front row: the heads from `first` to before `end`. `local` is the index of the row in the front, `start` the index of its
// first entry, `length` its number of entries, and `block` its front block.
struct Task {
    u32 local, first, end, start, length, block;
};

template <Counts COUNTS> __device__ inline void count_many_body(const Pair& pair) {
    DYNAMIC_SHARED(u32, shared); // the bitmap, then the tally
    __shared__ Task task;
    // The first thread fetches the next task step by step while the block works on the current one.
    u32 *marks = shared, turn = 0, slot = 0, block = 0, counted = 0;
    uint2 next = make_uint2(0, 0);
    Tally tally = {shared + MARK_WORDS};
    tally.clear(pair.partner_block_count);
    for (u32 i = threadIdx.x; i < MARK_WORDS; i += blockDim.x) marks[i] = 0;
    if (COUNTS != TOTAL) {
        for (u32 i = threadIdx.x; i < SHORT_COUNTERS / 2; i += blockDim.x) id_counters()[i] = 0;
    }
    auto take = [&] { slot = is_stopped(pair, turn++) ? ALL_LANES : atomicAdd(&pair.queue[1], 1u); };
    auto look = [&] { next = slot < pair.queue[0] ? pair.tasks[slot] : make_uint2(ALL_LANES, 0); };
    auto give = [&] {
        u32 local = next.x, first = next.y;
        task.local = local;
        if (local == ALL_LANES) return;
        u32 start = pair.front.starts[local];
        task.first = first;
        task.end = first + min(pair.ends[local] - first, CHUNK);
        task.start = start;
        task.length = pair.front.starts[local + 1] - start;
        task.block = front_block_of(pair, local);
    };
    if (threadIdx.x == 0) take(), look(), give();
    __syncthreads();
    while (task.local != ALL_LANES) {
        if (task.block != block) {
            tally.flush(pair, block);
            block = task.block;
            __syncthreads();
        }
        if (threadIdx.x == 0) take();
        Marked marked = {marks, pair.front.targets + task.start, task.length, pair.front.first + task.local};
        marked.mark();
        u32 heads = task.end - task.first;
        if (COUNTS == CORNERS && counted + heads > MAX_COUNT) flush_counters(pair.corners), counted = 0;
        counted += heads;
        __syncthreads();
        if (threadIdx.x == 0) look();
        if (marked.b < EXACT) Closing<true, COUNTS>{pair, tally, marked, 0, 0, 0, 0}.close(task.first, task.end);
        else Closing<false, COUNTS>{pair, tally, marked, 0, 0, 0, 0}.close(task.first, task.end);
        __syncthreads();
        if (threadIdx.x == 0) give();
        if (COUNTS == EDGES) flush_counters(pair.front_edges, marked.row, u32(marked.row - pair.front.targets), marked.length);
        marked.clear();
        __syncthreads();
    }
    tally.flush(pair, block);
    if (COUNTS == CORNERS) flush_counters(pair.corners);
}
