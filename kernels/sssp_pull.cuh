// Pulls distances from neighbours once all distances below the cap are known. A vertex whose distance is not below the cap reads its in-row, which is
// in ascending order of weight, until no further edge can make its distance smaller.
//
// Vertices nearer than `led` have already pushed their distances. So in the first round, a neighbour counts only if its distance is at least `led`.
// In later rounds, it counts only if its distance is at least the cap, because only such distances change. All threads share the long rows, through a
// queue.
#pragma once
#include "sssp_walk.cuh"

// Records vertices that became nearer: one for each lane whose `has` is true. Counts them and, except in the first round, puts them on the pile,
// because their distances may be pushed later. All lanes of a warp call it.
template <class T> __device__ inline void note_changed(const Search<T>& s, Scratch<T>& scratch, u32 vertex, T distance, bool has) {
    u32 lanes = __ballot_sync(ALL_LANES, has);
    if (lanes == 0) return;
    if (lane_id() == 0) atomicAdd(&scratch.found, u32(__popc(lanes)));
    if (scratch.walk.rounds > 0) pile_up_few(s, scratch, vertex, distance, has);
}

// Adds the number of vertices that this block recorded to the total of all blocks.
template <class T> __device__ inline void tell_changed(const Search<T>& s, Scratch<T>& scratch) {
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (scratch.found > 0) atomicAdd(s.state->changed + scratch.walk.rounds % 3, u64(scratch.found));
    scratch.found = 0;
}

// Returns the distance by an edge from a neighbour with the distance `near`.
template <class K> __device__ inline typename K::Distance sum_by(const Graph& g, const Search<typename K::Distance>& s, const Edge& edge, typename K::Distance near) {
    if (near == K::NEVER) return K::NEVER;
    typename K::Distance sum = K::add(g, near, edge.y);
    check_sum<K>(s, sum);
    return sum;
}

// Reads a row with one thread: only the lightest edges, or until no further edge counts. Returns the smallest distance by a neighbour, or `had` if
// none is smaller. Distances of neighbours that count are at least `least`.
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
            // After the first edge, most others are known to give no smaller distance, so their neighbours are not read.
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
    // `counts` is also false for an edge whose sum does not fit in its type, which is reported here.
    if (K::OVERFLOWS && best == K::NEVER && part.length > 0 && !counts(__ldg(&part.begin[part.length - 1].y))) check_sum<K>(s, best);
    return best;
}

// Pulls the distances of all vertices at or beyond the cap once. Returns false if a block gave up at a barrier; this block must then return.
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
        // The lightest edges of a long row give an upper bound on the distance, so that few of the others count.
        if (beyond) now = pulled<K>(g, s, row, now, least, length >= SSSP_MANY, mine);
        if (base < g.many) {
            u32 vertices[1] = {vertex};
            T distances[1] = {had};
            Range rows[1] = {};
            if (length >= SSSP_MANY) {
                rows[0] = first_edges(g, row, [&](u32 weight) { return K::add(g, least, weight) < now; });
                if (rows[0].length < length) check_sum<K>(s, now);
            }
            // If a row does not fit in the queue, its thread reads it alone.
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
                // The arrays are shifted, rather than indexed by a variable, because their elements are in registers. The outer loop is not unrolled,
                // because unrolling it takes longer to compile.
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

// Pulls in rounds until nothing changes, or until so few distances change that pushing is faster. The vertices to push from are then on the pile.
// Returns false if a block gave up at a barrier; this block must then return.
template <class K> __device__ inline bool pull(const Graph& g, const Search<typename K::Distance>& s, Scratch<typename K::Distance>& scratch) {
    Walk<typename K::Distance>& walk = scratch.walk;
    while (true) {
        // Drop the pile of the previous round.
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
        // Pushing reads whole rows. If these are in host memory, pushing is faster only from a smaller number of vertices.
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
