// Relaxes the edges of a queue in deep graphs. These have short rows, and paths of many edges. A step follows paths of several edges before the next
// barrier.
//
// A block copies its part of the queue to shared memory. When a vertex becomes nearer and its distance is below the bound of the bucket, the same
// block relaxes the vertex's edges in the same step. If another block then finds an even smaller distance, that block relaxes them again, because an
// entry counts only while the vertex has the entry's distance.
#pragma once
#include "sssp_queue.cuh"

// Number of lanes that share the edges of a vertex.
constexpr u32 DEEP_LANES = 4;
// Capacity of a block's own queue, in vertices. A block has two such queues.
constexpr u32 DEEP_ROOM = (SSSP_CHUNK + 2 * SSSP_THREADS) / 4;
// Maximum number of entries of a queue that one block processes while the others wait.
constexpr u32 DEEP_NARROW = 192;
// Minimum number of entries of a queue that a block takes.
constexpr u32 DEEP_LEAST = 32;

// Queues vertices for the next step: one for each lane whose `has` is true. All lanes of a warp call it.
template <class T> __device__ inline void enqueue_few(const Search<T>& s, Scratch<T>& scratch, u32 vertex, T distance, bool has) {
    u32 lanes = __ballot_sync(ALL_LANES, has);
    if (lanes == 0) return;
    u64 next = (scratch.walk.step + 1) % 3, place = 0;
    if (lane_id() == 0) place = take_places(s, scratch, packed(1) * u64(__popc(lanes)));
    place = __shfl_sync(ALL_LANES, place, 0);
    const bool is_full = place == SSSP_NO_PLACE;
    place += packed(1) * u64(__popc(lanes & ((1u << lane_id()) - 1)));
    if (!has) return;
    u32 at = entries_of(place);
    if (!is_full && at < s.queue_room) {
        const Queue<T>& queue = s.queues[(scratch.walk.step + 1) & 1];
        queue.vertices[at] = vertex;
        queue.distances[at] = distance;
    } else {
        if (!is_full) atomicMin(s.state->limit + next, place);
        leave(s, scratch, vertex);
    }
}

// Relaxes the edges of paths with up to `hops` edges that begin at the vertices in the queue.
template <class K>
__device__ inline void push_deep(const Graph& g, const Search<typename K::Distance>& s, Scratch<typename K::Distance>& scratch, Team team, u32 hops) {
    typedef typename K::Distance T;
    const Walk<T>& walk = scratch.walk;
    const Queue<T>& queue = s.queues[walk.step & 1];
    const T below = walk.below;
    u32 count = entries_of(scratch.queued), share = max(DEEP_LEAST, (count + team.size - 1) / team.size);
    u64 begin = u64(share) * team.rank, end = min(u64(count), begin + share);
    // Two queues, which are used alternately. Each contains vertices and the low 32 bits of their distances.
    u32* own = scratch.tile;
    for (u64 from = begin; from < end; from += DEEP_ROOM) {
        u32 some = u32(min(end - from, u64(DEEP_ROOM)));
        __syncthreads();
        for (u32 i = threadIdx.x; i < some; i += SSSP_THREADS) {
            own[i] = fresh(queue.vertices + from + i);
            own[DEEP_ROOM + i] = u32(fresh(queue.distances + from + i));
        }
        for (u32 hop = 1; some > 0; hop++) {
            u32* now = own + (hop & 1 ? 0 : 2 * DEEP_ROOM);
            u32* next = own + (hop & 1 ? 2 * DEEP_ROOM : 0);
            if (threadIdx.x == 0) scratch.found = 0;
            __syncthreads();
            for (u32 base = warp_id() * (32 / DEEP_LANES); base < some; base += SSSP_THREADS / DEEP_LANES) {
                u32 nth = base + lane_id() / DEEP_LANES, vertex = 0;
                Range row = {};
                T distance = 0;
                if (nth < some) {
                    vertex = now[nth];
                    distance = fresh(s.distances + vertex);
                    row = row_of(g, out_row(g, vertex));
                    if (u32(distance) != now[DEEP_ROOM + nth]) row.length = 0;
                }
                for (u32 k = lane_id() % DEEP_LANES; __any_sync(ALL_LANES, k < row.length); k += DEEP_LANES) {
                    bool nearer = false;
                    T sum = 0;
                    Edge edge = {0, 0};
                    if (k < row.length) {
                        edge = __ldg(row.begin + k);
                        sum = K::add(g, distance, edge.y);
                        check_sum<K>(s, sum);
                        nearer = edge.x < g.tail && sum < fresh(s.distances + edge.x) && sum < atomicMin(s.distances + edge.x, sum);
                    }
                    bool is_near = nearer && sum < below, goes_on = is_near && hop < hops;
                    u32 lanes = __ballot_sync(ALL_LANES, goes_on);
                    if (lanes != 0) {
                        u32 place = lane_id() == 0 ? atomicAdd(&scratch.found, u32(__popc(lanes))) : 0;
                        place = __shfl_sync(ALL_LANES, place, 0) + __popc(lanes & ((1u << lane_id()) - 1));
                        if (goes_on && place < DEEP_ROOM) {
                            next[place] = edge.x;
                            next[DEEP_ROOM + place] = u32(sum);
                        }
                        goes_on &= place < DEEP_ROOM;
                    }
                    enqueue_few(s, scratch, edge.x, sum, is_near && !goes_on);
                    pile_up_few(s, scratch, edge.x, sum, nearer && !is_near);
                }
            }
            __syncthreads();
            some = min(scratch.found, DEEP_ROOM);
            __syncthreads();
        }
    }
}
