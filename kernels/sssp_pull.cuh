// Pulls distances from neighbours after those below a cap are known. A vertex beyond the cap goes through its in-row, which ascends by weight,
// until no further edge can make its distance smaller.
//
// In the first round, all vertices nearer than `led` have already pushed their distances, so a neighbour counts only if it is at least that far
// away. In later rounds, only distances beyond the cap change. All threads share the rows of many edges, through a queue.
#pragma once
#include "sssp_walk.cuh"

// Records vertices that became nearer: counts them, and piles them up if distances are pushed from them later. All lanes of a warp call it.
template <class T> __device__ inline void note_changed(const Search<T>& s, Scratch<T>& scratch, u32 vertex, T distance, bool has) {
    u32 lanes = __ballot_sync(ALL_LANES, has);
    if (lanes == 0) return;
    if (lane_id() == 0) atomicAdd(&scratch.found, u32(__popc(lanes)));
    if (scratch.walk.rounds > 0) pile_up_few(s, scratch, vertex, distance, has);
}

// Adds the number of vertices that a block recorded to the number of all blocks.
template <class T> __device__ inline void tell_changed(const Search<T>& s, Scratch<T>& scratch) {
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (scratch.found > 0) atomicAdd(s.state->changed + scratch.walk.rounds % 3, u64(scratch.found));
    scratch.found = 0;
}

// Returns the distance through an edge from a neighbour with the distance `near`.
template <class K> __device__ inline typename K::Distance sum_by(const Graph& g, const Search<typename K::Distance>& s, const Edge& edge, typename K::Distance near) {
    if (near == K::NEVER) return K::NEVER;
    typename K::Distance sum = K::add(g, near, edge.y);
    check_sum<K>(s, sum);
    return sum;
}

// Goes through a row with one thread: through its lightest edges, or until no further edge counts. Returns the smallest distance
// through a neighbour, or `had` if none is smaller.
template <class K>
__device__ inline typename K::Distance pulled(const Graph& g, const Search<typename K::Distance>& s, u32 row, typename K::Distance had,
                                              typename K::Distance least, bool lightest_only, u32& looked) {
    typedef typename K::Distance T;
    T best = had;
    auto counts = [&](u32 weight) { return K::add(g, least, weight) < best; };
    Range part = near_row(g, row);
    if (lightest_only) part.length = min(part.length, 2 * SSSP_AHEAD);
    do {
        for (u32 from = 0; from < part.length; from += SSSP_AHEAD) {
            Edge edge[SSSP_AHEAD];
            T near[SSSP_AHEAD];
            read_ahead(part, from, edge);
            if (!counts(edge[0].y)) break;
            // After the first edge, most others are known to give no smaller distance.
            best = min(best, sum_by<K>(g, s, edge[0], fresh(s.distances + edge[0].x)));
#pragma unroll
            for (u32 k = 1; k < SSSP_AHEAD; k++) {
                near[k] = edge[k].x != NONE && counts(edge[k].y) ? fresh(s.distances + edge[k].x) : K::NEVER;
            }
#pragma unroll
            for (u32 k = 1; k < SSSP_AHEAD; k++) best = min(best, sum_by<K>(g, s, edge[k], near[k]));
            looked += SSSP_AHEAD;
        }
    } while (!lightest_only && goes_on(g, row, part, counts));
    // An edge whose sum does not fit does not count, either.
    if (K::OVERFLOWS && best == K::NEVER && part.length > 0 && !counts(__ldg(&part.begin[part.length - 1].y))) check_sum<K>(s, best);
    return best;
}

// Pulls the distances of all vertices beyond the cap once. Returns false if the block must leave.
template <class K> __device__ inline bool pull_round(const Graph& g, const Search<typename K::Distance>& s, Scratch<typename K::Distance>& scratch) {
    typedef typename K::Distance T;
    Walk<T>& walk = scratch.walk;
    const Team all = {blockIdx.x, gridDim.x};
    const T least = walk.rounds == 0 ? walk.led : walk.cap;
    u32 mine = 0;
    if (threadIdx.x == 0) scratch.found = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        clear_counts(s, walk);
        s.state->changed[(walk.rounds + 1) % 3] = 0;
    }
    __syncthreads();
    for (u32 base = blockIdx.x * SSSP_THREADS; base < g.tail; base += gridDim.x * SSSP_THREADS) {
        u32 vertex = base + threadIdx.x;
        T had = vertex < g.tail ? fresh(s.distances + vertex) : T(0), now = had;
        bool beyond = had >= walk.cap && vertex < g.tail && vertex != s.root;
        u32 row = in_row(g, vertex), length = beyond && base < g.many ? stored_row(g, row).length : 0;
        // The lightest edges of a long row show how far away the vertex is at most, so that few others count.
        if (beyond) now = pulled<K>(g, s, row, now, least, length >= SSSP_MANY, mine);
        if (base < g.many) {
            u32 vertices[1] = {vertex};
            T distances[1] = {had};
            Range rows[1] = {};
            if (length >= SSSP_MANY) {
                rows[0] = first_edges(g, row, [&](u32 weight) { return K::add(g, least, weight) < now; });
                if (rows[0].length < length) check_sum<K>(s, now);
            }
            // If there is no room for a row in the queue, its thread goes through it.
            if (enqueue<T, 1>(s, scratch, vertices, distances, rows)) now = pulled<K>(g, s, row, now, least, false, mine);
        }
        bool changes = now < had;
        if (changes) s.distances[vertex] = now;
        note_changed(s, scratch, vertex, now, changes);
    }
    count_looked(s, mine);
    tell_changed(s, scratch);
    if (!grid_barrier(&s.state->barrier, scratch.target)) return false;
    if (threadIdx.x == 0) {
        next_step(s, walk);
        scratch.queued = min(fresh(s.state->queued + walk.step % 3), fresh(s.state->limit + walk.step % 3));
    }
    __syncthreads();
    if (entries_of(scratch.queued) > 0) {
        if (blockIdx.x == 0 && threadIdx.x == 0) clear_counts(s, walk);
        u32 vertex[SSSP_EACH<T>];
        T distance[SSSP_EACH<T>];
        u32 changed = 0;
        for_slots(
            s, scratch, all,
            [&](u32 r, u32 to, T, u64 address) {
                Edge edge = edge_at(address);
                T near = fresh(s.distances + edge.x);
                if (near == K::NEVER) return;
                T sum = K::add(g, near, edge.y);
                check_sum<K>(s, sum);
                if (sum >= fresh(s.distances + to) || sum >= atomicMin(s.distances + to, sum)) return;
                vertex[r] = to;
                distance[r] = sum;
                changed |= 1u << r;
            },
            [&](u32) {
                // The arrays move up instead of an index, because their elements are registers. Unrolled, this loop takes longer to compile.
#pragma unroll 1
                for (u32 left = SSSP_EACH<T>; left > 0; left--, changed >>= 1) {
                    note_changed(s, scratch, vertex[0], distance[0], changed & 1);
#pragma unroll
                    for (u32 r = 1; r < SSSP_EACH<T>; r++) vertex[r - 1] = vertex[r], distance[r - 1] = distance[r];
                }
            });
        if (blockIdx.x == 0 && threadIdx.x == 0) atomicAdd(&s.state->relaxations, slots_of(scratch.queued));
        tell_changed(s, scratch);
        if (!grid_barrier(&s.state->barrier, scratch.target)) return false;
        if (threadIdx.x == 0) next_step(s, walk);
    }
    return true;
}

// Pulls until nothing changes, or so little that pushing is faster. The vertices to push from are then piled up. Returns false if the block must
// leave.
template <class K> __device__ inline bool pull(const Graph& g, const Search<typename K::Distance>& s, Scratch<typename K::Distance>& scratch) {
    Walk<typename K::Distance>& walk = scratch.walk;
    while (true) {
        // The pile of the round before is dropped.
        __syncthreads();
        if (blockIdx.x == 0 && threadIdx.x == 0) clear_counts(s, walk);
        __syncthreads();
        if (threadIdx.x == 0) walk.sift++;
        __syncthreads();
        if (!pull_round<K>(g, s, scratch)) return false;
        if (threadIdx.x == 0) scratch.queued = fresh(s.state->changed + walk.rounds % 3);
        __syncthreads();
        u64 changed = scratch.queued;
        if (blockIdx.x == 0 && threadIdx.x == 0 && walk.rounds + 4 < SSSP_MARKS) s.state->marks[walk.rounds + 2] = GLOBAL_TIMER();
        // Whole rows, which are pushed along, may be in host memory.
        bool few = walk.rounds > 0 && changed < g.tail / (g.near_starts == nullptr ? 16 : 1024);
        __syncthreads();
        if (threadIdx.x == 0) walk.rounds++;
        if (changed == 0 || few) break;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        walk.phase = 1;
        walk.cap = K::NEVER;
    }
    __syncthreads();
    return true;
}
