// Top-down steps: the search follows the out-edges of the frontier, whose rows are in a queue.
//
// A slot is an edge, or a chunk of packed edges. The slots are divided evenly among blocks and threads, whatever the lengths of rows (Merrill,
// Garland and Grimshaw, PPoPP 2012). A vertex is claimed by an atomic minimum on its parent, which is NONE before. So its parent becomes the smallest
// neighbour, no matter which thread comes first. The bitmap of vertices up to this level does not change during the step. The other bitmap receives
// the claimed vertices and also this level's vertices.
//
// Making a queue of the next frontier costs more than claiming it. A large frontier is mostly the last one before a bottom-up step, which needs no
// queue. So if many edges leave the frontier, the step only makes claims. If the next step is top-down after all, its queue is made from the bitmaps.
#pragma once
#include "bfs_peers.cuh"
#include "block_scan.cuh"

// Number of slots per thread in a tile, and number of slots of a tile, which a block processes together.
constexpr u32 BFS_EACH = 4;
constexpr u32 BFS_TILE = BFS_EACH * BFS_THREADS;

// Returns the index of the queue entry that contains this slot. All threads of the block search together.
__device__ inline u32 entry_of(const Queue& queue, u32 entries, u32 slot) {
    u32 low = 0, high = entries;
    while (high - low > 1) {
        u32 step = (high - low + BFS_THREADS - 1) / BFS_THREADS;
        u64 at = low + u64(step) * threadIdx.x;
        u32 upto = __syncthreads_count(at < high && queue.starts[at] <= slot);
        low += (upto - 1) * step;
        high = min(high, low + step);
    }
    return low;
}

// Copies the starts of queue entries to the tile: those from `entry` on that are before slot `last`. Returns their number.
__device__ inline u32 load_starts(const Queue& queue, u32 entries, u32 entry, u32 last, Scratch& scratch) {
    u32 count = 0, more;
    do {
        u32 at = count + threadIdx.x;
        u32 start = entry + u64(at) < entries ? queue.starts[entry + at] : NONE;
        if (start < last) scratch.tile[at] = start;
        more = __syncthreads_count(start < last);
        count += more;
    } while (more == BFS_THREADS);
    return count;
}

// Follows the packed slots from `first` to `last` (exclusive). The tile contains the starts of `count` queue entries, from `entry` on.
template <class Visit, class End>
__device__ void expand_tile(const Queue& queue, u32 entry, u32 count, u32 first, u32 last, Scratch& scratch, Visit visit, End end) {
    for (u32 base = first; base < last; base += BFS_THREADS) {
        u32 slot = base + threadIdx.x, from = NONE;
        Slot near = no_slot();
        if (slot < last) {
            u32 at = entry + last_start_upto(scratch.tile, count, slot);
            from = queue.vertices[at];
            near = read_slot(queue.rows[at], slot);
        }
        while (__syncthreads_or(near.next != NONE)) {
#pragma unroll
            for (u32 k = 0; k < BFS_EACH; k++) {
                if (near.next == NONE) continue;
                visit(k, from, near.next);
                go_on(near);
            }
            end();
        }
    }
}

// Follows this block's share of a queue's slots, one tile after the other. Calls `visit(k, from, to)` for each vertex `from` of the frontier and
// neighbour `to`; `k` is below BFS_EACH, and a thread uses each `k` at most once between two calls of `end`. All threads call `end` after each tile
// or, if rows are packed, after up to BFS_EACH neighbours of each thread.
template <class Visit, class End> __device__ void expand(const Queue& queue, u64 queued, Scratch& scratch, Visit visit, End end) {
    u32 entries = u32(entries_of(queued)), slots = slots_of(queued);
    u32 share = ((slots + gridDim.x - 1) / gridDim.x + 31) / 32 * 32;
    u64 begin = u64(share) * blockIdx.x;
    if (begin >= slots) return;
    u32 stop = u32(min(begin + share, u64(slots)));
    u32 entry = entry_of(queue, entries, u32(begin));
    for (u32 first = u32(begin); first < stop; first += BFS_TILE) {
        u32 last = min(first + BFS_TILE, stop);
        u32 count = load_starts(queue, entries, entry, last, scratch);
        if (PACKED) {
            expand_tile(queue, entry, count, first, last, scratch, visit, end);
            entry += count - 1;
            continue;
        }
        u32 from[BFS_EACH], to[BFS_EACH];
#pragma unroll
        for (u32 k = 0; k < BFS_EACH; k++) {
            u32 slot = first + k * BFS_THREADS + threadIdx.x;
            from[k] = to[k] = NONE;
            if (slot < last) {
                u32 at = entry + last_start_upto(scratch.tile, count, slot);
                from[k] = queue.vertices[at];
                to[k] = __ldg(reinterpret_cast<const u32*>(queue.rows[at]) + slot);
            }
        }
#pragma unroll
        for (u32 k = 0; k < BFS_EACH; k++) {
            if (to[k] != NONE) visit(k, from[k], to[k]);
        }
        __syncthreads();
        end();
        // The last entry may have slots in the next tile, too.
        entry += count - 1;
    }
}

// Appends the rows of up to N vertices of each thread to a queue. NONE stands for no vertex.
template <u32 N>
__device__ void append(const Graph& g, const Search& s, const Queue& queue, Counts* counts, const u32 (&vertices)[N], Found& found,
                       Scratch& scratch) {
    u64 mine = 0;
#pragma unroll
    for (u32 k = 0; k < N; k++) {
        if (vertices[k] == NONE) continue;
        u32 row = out_row(g, vertices[k]);
        Segment lower = half_of(g, 0, row), upper = half_of(g, 1, row);
        u64 more = packed(lower, upper);
        if (more == 0) put_sink(queue, s.capacity, atomicAdd(&counts->sinks, 1ull), vertices[k]);
        mine += more;
        found.vertices++;
        found.edges += u64(lower.length) + upper.length;
        found.leaves += leaves_of(g, vertices[k]);
    }
    BlockScan scan = block_scan(mine);
    if (scan.total == 0) return;
    if (threadIdx.x == 0) scratch.place = atomicAdd(&counts->queued, scan.total);
    __syncthreads();
    u64 place = scan.before + scratch.place;
#pragma unroll
    for (u32 k = 0; k < N; k++) {
        if (vertices[k] == NONE) continue;
        u32 row = out_row(g, vertices[k]);
        Segment lower = half_of(g, 0, row), upper = half_of(g, 1, row);
        put(queue, s.capacity, place, vertices[k], lower, upper);
        place += packed(lower, upper);
    }
}

// Claims the neighbour `to` of the frontier vertex `from` if it is unreached. Returns false if it is reached, if another thread claimed it first, or
// if it has one edge and is left for the end of the search.
__device__ inline bool claim(const Graph& g, const Search& s, const u32* reached, u32* after, u32 from, u32 to) {
    if (to >= g.tail || (fresh(reached + (to >> 5)) & bit_of(to))) return false;
    if (atomicMin(s.parents + to, from) != NONE) return false;
    atomicOr(after + (to >> 5), bit_of(to));
    return true;
}

// Adds the vertices of a queue to a bitmap. `threads` threads share this work, and `thread` is the index of this one.
__device__ inline void mark(const Search& s, const Queue& queue, const Counts& frontier, u32* bits, u32 thread, u32 threads) {
    u32 entries = u32(entries_of(frontier.queued)), all = entries + u32(frontier.sinks);
    for (u32 i = thread; i < all; i += threads) {
        u32 v = queue.vertices[i < entries ? i : s.capacity - 1 - (i - entries)];
        atomicOr(bits + (v >> 5), bit_of(v));
    }
}

// Claims the next frontier and queues its rows. Also adds this frontier to the bitmap that receives the claims.
__device__ inline void claim_next(const Graph& g, const Search& s, Scratch& scratch) {
    const Queue queue = s.queues[scratch.at.level & 1], next = s.queues[~scratch.at.level & 1];
    Counts* counts = s.state->counts + (scratch.at.step + 1) % 3;
    const u32* reached = s.reached[scratch.at.current];
    u32* after = s.reached[scratch.at.current ^ 1];
    mark(s, queue, scratch.frontier, after, blockIdx.x * BFS_THREADS + threadIdx.x, gridDim.x * BFS_THREADS);
    Found found = {};
    u32 mine[BFS_EACH];
#pragma unroll
    for (u32 k = 0; k < BFS_EACH; k++) mine[k] = NONE;
    expand(
        queue, scratch.frontier.queued, scratch,
        [&](u32 k, u32 from, u32 to) {
            mine[k] = claim(g, s, reached, after, from, to) ? to : NONE;
            found.checked += PACKED;
        },
        [&] {
            append(g, s, next, counts, mine, found, scratch);
#pragma unroll
            for (u32 k = 0; k < BFS_EACH; k++) mine[k] = NONE;
        });
    add(counts, &counts->edges, found, scratch);
}

// Writes, for all k, the mean number of slots in the out-rows of the vertices from 2^k to 2^(k+1) (exclusive) to `scratch.mean_slots[k]`. All threads
// of the block call this. They need a barrier before they read the means.
__device__ __noinline__ void load_mean_slots(const Graph& g, Scratch& scratch) {
    if (threadIdx.x >= 32) return;
    u64 first = 1ull << lane_id(), last = min(2 * first, u64(g.tail)), slots = 0;
    for (u32 half = 0; half < 2 && first < last; half++) {
        slots += start_of(g.halves[half], u32(last << g.shift)) - start_of(g.halves[half], u32(first << g.shift));
    }
    // The sum includes the in-rows, which alternate with the out-rows.
    scratch.mean_slots[lane_id()] = first < last ? u32(float(slots >> g.shift) / float(last - first)) : 0;
}

// Returns true if so many edges leave the frontier that the next frontier is probably expanded bottom-up, which needs no queue.
__device__ inline bool leads_to_many(const Graph& g, const Search& s, const Scratch& scratch) {
    double mean = double(s.slots) / g.tail;
    return scratch.frontier.edges >= s.least_unqueued && double(scratch.frontier.edges) * mean * s.alpha * BFS_BIAS >= double(scratch.at.left);
}

// Returns true if the GPUs divide the claims of this frontier among themselves, instead of each making all of them. Dividing costs a barrier and the
// exchange of bits.
__device__ inline bool is_shared(const Graph& g, const Search& s, const Scratch& scratch) {
    return HAS_PEERS && scratch.frontier.edges >= s.least_shared + g.tail / BFS_SHARED_VERTICES;
}

// Claims the next frontier without queueing it; if `shared`, only the vertices that belong to this GPU. No positions in a queue are computed, and of
// each claimed vertex only the parent, the bit and the leaf count are accessed. The number of edges of the next frontier is estimated. Also adds this
// frontier to the bitmap that receives the claims.
__device__ inline void claim_unqueued(const Graph& g, const Search& s, Scratch& scratch, bool shared) {
    const Queue queue = s.queues[scratch.at.level & 1];
    Counts* counts = shared ? next_counts(s, scratch) : s.state->counts + (scratch.at.step + 1) % 3;
    const u32* reached = s.reached[scratch.at.current];
    u32* after = s.reached[scratch.at.current ^ 1];
    load_mean_slots(g, scratch);
    mark(s, queue, scratch.frontier, after, blockIdx.x * BFS_THREADS + threadIdx.x, gridDim.x * BFS_THREADS);
    Found found = {};
    u32 parents[BFS_EACH], mine[BFS_EACH];
#pragma unroll
    for (u32 k = 0; k < BFS_EACH; k++) parents[k] = mine[k] = NONE;
    expand(
        queue, scratch.frontier.queued, scratch,
        [&](u32 k, u32 from, u32 to) {
            parents[k] = from;
            mine[k] = to < g.tail && (!shared || is_own(s, to)) ? to : NONE;
            found.checked += PACKED;
        },
        [&] {
            // Accesses of the same kind are issued together, so that a thread waits once for each kind.
            u32 words[BFS_EACH], before[BFS_EACH];
#pragma unroll
            for (u32 k = 0; k < BFS_EACH; k++) words[k] = mine[k] != NONE ? fresh(reached + (mine[k] >> 5)) : 0;
#pragma unroll
            for (u32 k = 0; k < BFS_EACH; k++) {
                if (mine[k] != NONE && (words[k] & bit_of(mine[k]))) mine[k] = NONE;
            }
#pragma unroll
            for (u32 k = 0; k < BFS_EACH; k++) before[k] = mine[k] != NONE ? atomicMin(s.parents + mine[k], parents[k]) : 0;
#pragma unroll
            for (u32 k = 0; k < BFS_EACH; k++) {
                if (mine[k] != NONE && before[k] == NONE) {
                    atomicOr(after + (mine[k] >> 5), bit_of(mine[k]));
                    found.vertices++;
                    found.leaves += leaves_of(g, mine[k]);
                    found.edges += scratch.mean_slots[31 - __clz(mine[k] | 1)];
                }
                mine[k] = NONE;
            }
        });
    add(counts, &counts->estimate, found, scratch);
}

// Sends the bits of the claimed vertices that belong to this GPU to the other GPUs, after all blocks of this GPU have made their claims.
__device__ inline void put_claims(const Graph& g, const Search& s, const Scratch& scratch) {
    const u32* reached = s.reached[scratch.at.current];
    u32* after = s.reached[scratch.at.current ^ 1];
    u32 chunks = (g.tail + BFS_CHUNK - 1) / BFS_CHUNK;
    for (u64 i = u64(blockIdx.x) * BFS_THREADS + threadIdx.x;; i += u64(gridDim.x) * BFS_THREADS) {
        u64 chunk = own_chunk(s, u32(i / BFS_CHUNK_WORDS));
        if (chunk >= chunks) break;
        u32 at = u32(chunk) * BFS_CHUNK_WORDS + u32(i % BFS_CHUNK_WORDS), word = fresh(after + at);
        if (word != fresh(reached + at)) put_word(s, scratch.at.current ^ 1, after, at, word);
    }
}

// Writes the vertices whose bits are set in four words to the tile, at positions `place`, `place` + 1 and so on. Omits vertices whose position is
// outside the tile. The first bit of the words is vertex `first`.
__device__ inline void write_tile(uint4 bits, u32 first, u32 place, Scratch& scratch) {
    for (u32 k = 0; k < 4; k++) {
        u32 word = k == 0 ? bits.x : k == 1 ? bits.y : k == 2 ? bits.z : bits.w;
        for (; word != 0; word &= word - 1, place++) {
            if (place < BFS_TILE) scratch.tile[place] = first + 32 * k + __ffs(word) - 1;
        }
    }
}

// Queues the rows of a frontier that has no queue. Its vertices are those whose bits are set only in the current bitmap. Also sets their bits in the
// other bitmap.
__device__ inline void queue_frontier(const Graph& g, const Search& s, Scratch& scratch) {
    const Queue queue = s.queues[scratch.at.level & 1];
    Counts* counts = s.state->counts + scratch.at.step % 3;
    const uint4* current = reinterpret_cast<const uint4*>(s.reached[scratch.at.current]);
    uint4* before = reinterpret_cast<uint4*>(s.reached[scratch.at.current ^ 1]);
    const u32 fours = (g.tail + BFS_CHUNK - 1) / BFS_CHUNK * (BFS_CHUNK_WORDS / 4);
    Found found = {};
    for (u32 base = blockIdx.x * BFS_THREADS; base < fours; base += gridDim.x * BFS_THREADS) {
        u32 at = base + threadIdx.x;
        uint4 bits = {};
        if (at < fours) {
            uint4 now = fresh(current + at), old = fresh(before + at);
            bits = make_uint4(now.x & ~old.x, now.y & ~old.y, now.z & ~old.z, now.w & ~old.w);
            if ((bits.x | bits.y | bits.z | bits.w) != 0) before[at] = now;
        }
        BlockScan scan = block_scan(__popc(bits.x) + __popc(bits.y) + __popc(bits.z) + __popc(bits.w));
        u32 place = u32(scan.before);
        for (u32 round = 0; round < u32(scan.total); round += BFS_TILE) {
            // A position before the tile becomes a large number, because the subtraction wraps around.
            write_tile(bits, at * 128, place - round, scratch);
            __syncthreads();
            u32 mine[BFS_EACH];
#pragma unroll
            for (u32 k = 0; k < BFS_EACH; k++) {
                u32 slot = k * BFS_THREADS + threadIdx.x;
                mine[k] = round + slot < u32(scan.total) ? scratch.tile[slot] : NONE;
            }
            __syncthreads();
            append(g, s, queue, counts, mine, found, scratch);
        }
    }
    // Vertices and leaves were counted when they were found.
    add(counts, &counts->edges, Found{0, 0, 0, found.edges}, scratch);
}
