// Queues and piles of vertices. The threads of a block together append the vertices that they found, with a single atomic addition. All blocks share
// the queued edges.
#pragma once
#include "block_scan.cuh"
#include "sssp.cuh"

// Number of low bits of a queue's counter that contain the number of slots. The bits above them contain the number of entries.
#ifdef CUDA_ON_CPU
constexpr u32 SSSP_SLOT_BITS = 50;
#else
constexpr u32 SSSP_SLOT_BITS = 40;
#endif
// Maximum number of slots of a queue. A queue with this many takes no more entries.
constexpr u64 SSSP_MOST_SLOTS = 1ull << 31;

__device__ inline u64 packed(u32 slots) { return 1ull << SSSP_SLOT_BITS | slots; }
__device__ inline u32 entries_of(u64 queued) { return u32(queued >> SSSP_SLOT_BITS); }
__device__ inline u64 slots_of(u64 queued) { return queued & ((1ull << SSSP_SLOT_BITS) - 1); }

// Position returned for entries that were not counted because the queue is full.
constexpr u64 SSSP_NO_PLACE = ~0ull;

// Reserves positions for entries in the next step's queue, and returns the first of them as a packed counter. One thread calls it. Once a block has
// found the queue full, it no longer adds to the counter, because the entries of all threads together might overflow it.
template <class T> __device__ inline u64 take_places(const Search<T>& s, Scratch<T>& scratch, u64 count) {
    u64 next = scratch.walk.step + 1;
    if (*const_cast<volatile u64*>(&scratch.full) == next) return SSSP_NO_PLACE;
    u64 place = atomicAdd(s.state->queued + next % 3, count);
    if (entries_of(place) >= s.queue_room || slots_of(place) >= SSSP_MOST_SLOTS) scratch.full = next;
    return place;
}

// Sets the bit of a vertex that did not fit in a queue or pile, so that a later scan finds it.
template <class T> __device__ inline void leave(const Search<T>& s, const Scratch<T>& scratch, u32 vertex) {
    atomicOr(s.pending + vertex / 32, 1u << (vertex % 32));
    u64 next = scratch.walk.step + 1;
    s.state->pending[next % 3] = next;
}

// Queues rows for the next step: up to N per thread of the block. Rows of length 0 are not queued. Returns a bit mask of the thread's rows that did
// not fit. All threads of the block call it.
template <class T, u32 N>
__device__ inline u32 enqueue(const Search<T>& s, Scratch<T>& scratch, const u32 (&vertex)[N], const T (&distance)[N], const Range (&row)[N]) {
    u64 mine = 0;
#pragma unroll
    for (u32 r = 0; r < N; r++) mine += row[r].length > 0 ? packed(row[r].length) : 0;
    if (!__syncthreads_or(mine > 0)) return 0;
    BlockScan scan = block_scan(mine);
    u64 next = (scratch.walk.step + 1) % 3;
    if (threadIdx.x == 0) scratch.place = take_places(s, scratch, scan.total);
    __syncthreads();
    const bool is_full = scratch.place == SSSP_NO_PLACE;
    u64 place = scan.before + scratch.place;
    const Queue<T>& queue = s.queues[(scratch.walk.step + 1) & 1];
    u32 without = 0;
#pragma unroll
    for (u32 r = 0; r < N; r++) {
        if (row[r].length == 0) continue;
        u32 at = entries_of(place);
        u64 slot = slots_of(place);
        if (!is_full && at < s.queue_room && slot + row[r].length <= SSSP_MOST_SLOTS) {
            queue.slots[at] = u32(slot);
            queue.vertices[at] = vertex[r];
            queue.bases[at] = address_of(row[r]) - slot * sizeof(Edge);
            queue.distances[at] = distance[r];
        } else {
            // Entries at later positions do not fit, either.
            if (!is_full) atomicMin(s.state->limit + next, place);
            without |= 1u << r;
        }
        place += packed(row[r].length);
    }
    return without;
}

// Puts vertices on a pile: up to N per thread of the block, those whose bits are set in `which`. `ahead` is 0 for the current pile, and 1 for the
// pile that replaces it. All threads of the block call it.
template <class T, u32 N>
__device__ inline void pile_up(const Search<T>& s, Scratch<T>& scratch, const u32 (&vertex)[N], const T (&distance)[N], u32 which, u32 ahead) {
    if (!__syncthreads_or(which != 0)) return;
    u64 sift = scratch.walk.sift + ahead;
    u32 all, at = block_scan_before(__popc(which), scratch.words, all);
    if (threadIdx.x == 0) scratch.pile_place = atomicAdd(s.state->piled + sift % 3, u64(all));
    __syncthreads();
    u64 place = scratch.pile_place + at;
    const Pile<T>& pile = s.piles[sift & 1];
    T least = ~T(0);
#pragma unroll
    for (u32 r = 0; r < N; r++) {
        if (!(which >> r & 1)) continue;
        least = min(least, distance[r]);
        if (place < s.pile_room) {
            pile.vertices[place] = vertex[r];
            pile.distances[place] = distance[r];
        } else {
            leave(s, scratch, vertex[r]);
        }
        place++;
    }
    least = warp_min(least);
    if (lane_id() == 0 && u64(least) < fresh(s.state->least + sift % 3)) atomicMin(s.state->least + sift % 3, u64(least));
}

// Puts vertices on the current pile: one for each lane whose `has` is true. All lanes of a warp call it. It is made for the case that few threads
// have a vertex.
template <class T> __device__ inline void pile_up_few(const Search<T>& s, const Scratch<T>& scratch, u32 vertex, T distance, bool has) {
    u32 lanes = __ballot_sync(ALL_LANES, has);
    if (lanes == 0) return;
    u64 sift = scratch.walk.sift, place = 0;
    T least = warp_min(has ? distance : ~T(0));
    if (lane_id() == 0) {
        place = atomicAdd(s.state->piled + sift % 3, u64(__popc(lanes)));
        if (u64(least) < fresh(s.state->least + sift % 3)) atomicMin(s.state->least + sift % 3, u64(least));
    }
    place = __shfl_sync(ALL_LANES, place, 0) + __popc(lanes & ((1u << lane_id()) - 1));
    if (!has) return;
    const Pile<T>& pile = s.piles[sift & 1];
    if (place < s.pile_room) {
        pile.vertices[place] = vertex;
        pile.distances[place] = distance;
    } else {
        leave(s, scratch, vertex);
    }
}

// Processes the slots (edges) of this step's queue, of which every block of the team gets the same number. Calls `each(r, vertex, distance, address)`
// for each slot, where `r` is its index among the slots that the thread processes in a chunk. After each chunk, all threads of the block call
// `then(slots in the chunk)`.
template <class T, class F, class G>
__device__ inline void for_slots(const Search<T>& s, Scratch<T>& scratch, Team team, F each, G then) {
    const Queue<T>& queue = s.queues[scratch.walk.step & 1];
    u32 count = entries_of(scratch.queued), slots = u32(slots_of(scratch.queued));
    u32 share = u32((u64(slots) + team.size - 1) / team.size + 255) / 256 * 256;
    u64 begin = u64(share) * team.rank, end = min(u64(slots), begin + share);
    if (begin >= end) return;
    u32* tile = scratch.tile;
    // All threads search for the last entry that begins at or before the first slot.
    u32 low = 0, high = count;
    while (high - low > 1) {
        u32 stride = (high - low + SSSP_THREADS - 1) / SSSP_THREADS;
        u64 at = u64(low) + u64(stride) * threadIdx.x;
        u32 before = __syncthreads_count(at < high && fresh(queue.slots + at) <= u32(begin));
        low += (before - 1) * stride;
        high = min(high, low + stride);
    }
    u32 first = low;
    for (u64 from = begin; from < end; from += SSSP_THREADS * SSSP_EACH<T>) {
        u32 to = u32(min(end, from + SSSP_THREADS * SSSP_EACH<T>)), loaded = 0;
        __syncthreads();
        while (true) {
            u64 at = u64(first) + loaded + threadIdx.x;
            tile[loaded + threadIdx.x] = at < count ? fresh(queue.slots + at) : NONE;
            loaded += SSSP_THREADS;
            __syncthreads();
            if (tile[loaded - 1] >= to) break;
        }
#pragma unroll
        for (u32 r = 0; r < SSSP_EACH<T>; r++) {
            u32 slot = u32(from) + r * SSSP_THREADS + threadIdx.x;
            if (slot >= to) continue;
            u32 entry = first + last_start_upto(tile, loaded, slot);
            each(r, fresh(queue.vertices + entry), fresh(queue.distances + entry), fresh(queue.bases + entry) + slot * sizeof(Edge));
        }
        u32 on = last_start_upto(tile, loaded, to);
        then(to - u32(from));
        first += on;
    }
}
