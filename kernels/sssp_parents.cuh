// Finds parents once distances are known. An edge is tight if the neighbour's distance plus the weight is the vertex's distance. The parent of a
// vertex is the neighbour with the smallest id that is nearer to the root and has a tight edge to the vertex.
//
// If a cap was set, few vertices are nearer than `led`. They offer themselves to their neighbours as parents. Each other vertex searches its in-row
// for a parent whose distance is at least `led`, and reads only edges whose weights are small enough for that.
//
// Edges that add nothing to a distance, such as those of weight 0, connect vertices of equal distance. Some of these vertices are the root or have a
// parent by the rule above. The parent of any other vertex is its smallest neighbour by such an edge that is one edge closer to these.
#pragma once
#include "sssp_pull.cuh"

// Searches a row for a parent: the smallest neighbour that is nearer and has a tight edge, among those whose distance is at least `least`. One thread
// calls it.
template <class K>
__device__ inline u32 parent_in(const Graph& g, const Search<typename K::Distance>& s, u32 row, Range part, typename K::Distance distance,
                                typename K::Distance least, u32& looked) {
    typedef typename K::Distance T;
    auto counts = [&](u32 weight) { return K::add(g, least, weight) <= distance; };
    u32 parent = NONE;
    do {
        for (u32 from = 0; from < part.length; from += SSSP_AHEAD) {
            Edge edge[SSSP_AHEAD];
            T near[SSSP_AHEAD];
            read_ahead(part, from, edge);
            if (!counts(edge[0].y)) return parent;
#pragma unroll
            for (u32 k = 0; k < SSSP_AHEAD; k++) {
                near[k] = edge[k].x < parent && counts(edge[k].y) ? fresh(s.distances + edge[k].x) : K::NEVER;
            }
#pragma unroll
            for (u32 k = 0; k < SSSP_AHEAD; k++) {
                if (near[k] < distance && K::add(g, near[k], edge[k].y) == distance) parent = min(parent, edge[k].x);
            }
            looked += SSSP_AHEAD;
        }
    } while (goes_on(g, row, part, counts));
    return parent;
}

template <class T> __device__ inline void offer(const Search<T>& s, u32 vertex, u32 parent) {
    if (parent < fresh(s.parents + vertex)) atomicMin(s.parents + vertex, parent);
}

// Offers a vertex as a parent to the neighbours in its row to which it has a tight edge. One thread calls it.
template <class K>
__device__ inline void tell(const Graph& g, const Search<typename K::Distance>& s, u32 vertex, typename K::Distance distance, const Range& row) {
#pragma unroll 1
    for (u32 k = 0; k < row.length; k++) {
        Edge edge = __ldg(row.begin + k);
        typename K::Distance sum = K::add(g, distance, edge.y);
        if (edge.x < g.tail && sum > distance && sum == fresh(s.distances + edge.x)) offer(s, edge.x, vertex);
    }
}

// Computes the distances and parents of the vertices in the tail, which have at most one edge.
template <class K>
__device__ inline void end_tails(const Graph& g, const Search<typename K::Distance>& s, u32& reached, typename K::Distance& farthest) {
    typedef typename K::Distance T;
    for (u32 at = blockIdx.x * SSSP_THREADS + threadIdx.x; at < g.vertices - g.tail; at += gridDim.x * SSSP_THREADS) {
        u32 vertex = g.tail + at;
        if (vertex == s.root) continue;
        Range row = stored_row(g, in_row(g, vertex));
        if (row.length == 0) continue;
        Edge edge = __ldg(row.begin);
        // Two vertices whose only neighbours are each other are reachable only if one of them is the root.
        T near = edge.x < g.tail || edge.x == s.root ? fresh(s.distances + edge.x) : K::NEVER;
        if (near == K::NEVER) continue;
        T sum = K::add(g, near, edge.y);
        check_sum<K>(s, sum);
        if (sum == K::NEVER) continue;
        s.distances[vertex] = sum;
        s.parents[vertex] = edge.x;
        reached++;
        farthest = max(farthest, sum);
    }
}

// Finds the parents of all vertices that have a nearer neighbour with a tight edge. Returns false if a block gave up at a barrier; this block must
// then return.
template <class K>
__device__ inline bool nearer_parents(const Graph& g, const Search<typename K::Distance>& s, Scratch<typename K::Distance>& scratch) {
    typedef typename K::Distance T;
    Walk<T>& walk = scratch.walk;
    const Team all = {blockIdx.x, gridDim.x};
    const T led = walk.capped ? walk.led : T(0);
    u32 mine = 0, reached = 0;
    T farthest = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0) clear_counts(s, walk);
    for (u32 base = blockIdx.x * SSSP_THREADS; base < g.tail; base += gridDim.x * SSSP_THREADS) {
        u32 vertex = base + threadIdx.x;
        T distance = vertex < g.tail ? fresh(s.distances + vertex) : K::NEVER;
        bool is_reached = distance != K::NEVER, tells = is_reached && distance < led, looks = is_reached && !tells && vertex != s.root;
        reached += is_reached;
        if (is_reached) farthest = max(farthest, distance);
        u32 vertices[1] = {vertex};
        T distances[1] = {distance};
        Range rows[1] = {};
        u32 row = looks ? in_row(g, vertex) : out_row(g, vertex);
        bool shares = looks && base < g.many && stored_row(g, row).length >= SSSP_MANY;
        if (tells) rows[0] = row_of(g, row);
        if (shares) rows[0] = inward(first_edges(g, row, [&](u32 weight) { return K::add(g, led, weight) <= distance; }));
        u32 without = enqueue<T, 1>(s, scratch, vertices, distances, rows);
        if (looks && (!shares || without)) {
            u32 parent = parent_in<K>(g, s, row, near_row(g, row), distance, led, mine);
            // If nearer vertices offer themselves, other threads may write this parent at the same time.
            if (parent != NONE && walk.capped) atomicMin(s.parents + vertex, parent);
            else if (parent != NONE) s.parents[vertex] = parent;
        }
        if (tells && without) tell<K>(g, s, vertex, distance, rows[0]);
    }
    end_tails<K>(g, s, reached, farthest);
    if (blockIdx.x == 0 && threadIdx.x == 0 && s.root >= g.tail) {
        reached++;
        tell<K>(g, s, s.root, T(0), row_of(g, out_row(g, s.root)));
    }
    count_looked(s, mine);
    u64 all_reached = warp_sum(u64(reached));
    farthest = warp_max(farthest);
    if (lane_id() == 0 && all_reached > 0) {
        atomicAdd(&s.state->reached, all_reached);
        atomicMax(&s.state->farthest, u64(farthest));
    }
    if (!grid_barrier(&s.state->barrier, scratch.target)) return false;
    if (threadIdx.x == 0) {
        walk.step++;
        scratch.queued = min(fresh(s.state->queued + walk.step % 3), fresh(s.state->limit + walk.step % 3));
    }
    __syncthreads();
    if (entries_of(scratch.queued) == 0) return true;
    for_slots(
        s, scratch, all,
        [&](u32, u32 vertex, T distance, u64 address) {
            Edge edge = edge_at(address);
            if (address & SSSP_INWARD) {
                T near = fresh(s.distances + edge.x);
                if (near < distance && K::add(g, near, edge.y) == distance) offer(s, vertex, edge.x);
            } else if (edge.x < g.tail) {
                T sum = K::add(g, distance, edge.y);
                if (sum > distance && sum == fresh(s.distances + edge.x)) offer(s, edge.x, vertex);
            }
        },
        [](u32) {});
    if (blockIdx.x == 0 && threadIdx.x == 0) atomicAdd(&s.state->relaxations, slots_of(scratch.queued));
    return true;
}

// Sets the bit in `pending` of each reached vertex that still needs a parent, and clears the other bits. Returns the number of such vertices that
// this warp found.
template <class K> __device__ inline u32 settle(const Graph& g, const Search<typename K::Distance>& s) {
    u32 words = (g.tail + 31) / 32, open = 0;
    for (u32 word = blockIdx.x * SSSP_WARPS + warp_id(); word < words; word += gridDim.x * SSSP_WARPS) {
        u32 vertex = word * 32 + lane_id();
        bool is_open = vertex < g.tail && vertex != s.root && fresh(s.parents + vertex) == NONE && fresh(s.distances + vertex) != K::NEVER;
        u32 bits = __ballot_sync(ALL_LANES, is_open);
        open += __popc(bits);
        if (lane_id() == 0) s.pending[word] = bits;
    }
    return open;
}

// Finds parents along edges that add nothing to a distance, in rounds, for vertices that have no nearer neighbour. Returns false if a block gave up
// at a barrier; this block must then return.
template <class K> __device__ inline bool equal_parents(const Graph& g, const Search<typename K::Distance>& s, Scratch<typename K::Distance>& scratch) {
    typedef typename K::Distance T;
    if (!grid_barrier(&s.state->barrier, scratch.target)) return false;
    u32 words = (g.tail + 31) / 32;
    for (u64 round = 0;; round++) {
        u32 open = settle<K>(g, s);
        // All blocks add their numbers of vertices that still need a parent. If there are none, no bit is set any more.
        u64* left = s.state->adopted + round % 3;
        if (lane_id() == 0 && open > 0) atomicAdd(left, u64(open));
        if (blockIdx.x == 0 && threadIdx.x == 0) s.state->adopted[(round + 1) % 3] = 0;
        if (!grid_barrier(&s.state->barrier, scratch.target)) return false;
        if (fresh(left) == 0) return true;
        for (u32 word = blockIdx.x * SSSP_WARPS + warp_id(); word < words; word += gridDim.x * SSSP_WARPS) {
            for (u32 bits = fresh(s.pending + word); bits != 0; bits &= bits - 1) {
                u32 vertex = word * 32 + __ffs((int)bits) - 1, parent = NONE;
                T distance = fresh(s.distances + vertex);
                Range row = row_of(g, in_row(g, vertex));
                for (u32 from = 0; from < row.length; from += 32) {
                    Edge edge = from + lane_id() < row.length ? __ldg(row.begin + from + lane_id()) : Edge{NONE, 0};
                    bool adds_nothing = edge.x != NONE && K::add(g, distance, edge.y) == distance;
                    if (adds_nothing && fresh(s.distances + edge.x) == distance &&
                        (edge.x < g.tail ? !(fresh(s.pending + edge.x / 32) >> (edge.x % 32) & 1) : edge.x == s.root)) {
                        parent = min(parent, edge.x);
                    }
                    if (!__any_sync(ALL_LANES, adds_nothing)) break;
                }
                parent = warp_min(parent);
                if (lane_id() == 0 && parent != NONE) s.parents[vertex] = parent;
            }
        }
        if (!grid_barrier(&s.state->barrier, scratch.target)) return false;
    }
}
