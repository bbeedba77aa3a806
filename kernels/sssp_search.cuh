// Finds shortest paths from one root, in one cooperative launch. The graph's vertices are in descending order of degree, and the entries of a row are
// in ascending order of weight.
//
// The search pushes distances bucket by bucket while few edges are queued (sssp_walk.cuh). A bucket with many edges shows that the search has reached
// the core of the graph. The search then sets a cap, a little beyond the distances of this bucket, and pushes only along edges that give a distance
// below the cap. Distances from the cap on are pulled from neighbours (sssp_pull.cuh). Pulling along a row ends early, because rows are in ascending
// order of weight. In graphs without a core, all distances are pushed. In the end, parents are found (sssp_parents.cuh).
//
// The distance of a vertex is always the length of some path, and only decreases, until no edge makes any distance smaller. So results depend only on
// the graph and the root. Before the launch all distances are NEVER, all parents are NONE, and the state is zero. The tail (the vertices from `tail`
// on) has at most one edge per vertex, and is left out until the end.
#pragma once
#include "sssp.cuh"
#include "sssp_walk.cuh"
#include "sssp_pull.cuh"
#include "sssp_parents.cuh"

// Value of `begins` if distances are known and only parents are to be found.
constexpr u32 KNOWN = 2;

// Begins a search, with one thread: reaches the root, and queues its row.
template <class K> __device__ inline void begin(const Graph& g, const Search<typename K::Distance>& s) {
    State* state = s.state;
    for (u32 k = 0; k < 3; k++) state->limit[k] = state->least[k] = ~0ull;
    s.distances[s.root] = 0;
    s.parents[s.root] = s.root;
    Range row = row_of(g, out_row(g, s.root));
    if (row.length == 0) return;
    const auto& queue = s.queues[0];
    queue.slots[0] = 0;
    queue.vertices[0] = s.root;
    queue.bases[0] = address_of(row);
    queue.distances[0] = 0;
    state->queued[0] = packed(s.hops ? 1 : row.length);
}

template <class T> __device__ inline void mark(const Search<T>& s, u32 which) {
    if (blockIdx.x == 0 && threadIdx.x == 0) s.state->marks[which] = GLOBAL_TIMER();
}

template <class K> __device__ inline void search(const Graph& g, const Search<typename K::Distance>& s, Scratch<typename K::Distance>& scratch) {
    typedef typename K::Distance T;
    Walk<T>& walk = scratch.walk;
    const bool leads = blockIdx.x == 0 && threadIdx.x == 0;
    if (threadIdx.x == 0) {
        scratch.target = scratch.full = 0;
        if (s.begins) walk = Walk<T>{wider<K>(0, s.coarse), 0, K::NEVER, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
        else take_walk(s, walk);
    }
    if (s.begins) {
        if (leads) begin<K>(g, s);
        if (s.begins == KNOWN && leads) s.state->queued[0] = 0;
        if (s.begins != KNOWN) mark(s, 0);
        if (!grid_barrier(&s.state->barrier, scratch.target)) return;
    }
    if (threadIdx.x == 0) {
        scratch.alone = 0;
        scratch.last = walk.step + s.most_steps;
    }
    __syncthreads();
    while (true) {
        if (!walk_on<K>(g, s, scratch)) return;
        if (scratch.action != END || walk.phase > 0 || !walk.capped) break;
        mark(s, 1);
        // After this barrier, all blocks have seen that nothing is left to push.
        if (!grid_barrier(&s.state->barrier, scratch.target)) return;
        if (!pull<K>(g, s, scratch)) return;
        mark(s, 5);
    }
    bool ends = scratch.action == END;
    if (ends) {
        mark(s, 6);
        if (!grid_barrier(&s.state->barrier, scratch.target)) return;
        if (!nearer_parents<K>(g, s, scratch)) return;
        if (s.plateaus && !equal_parents<K>(g, s, scratch)) return;
    }
    if (leads) {
        *reinterpret_cast<Walk<T>*>(s.state->walk) = walk;
        s.state->pushed = walk.pushed;
        s.state->steps = walk.step;
        s.state->rounds = walk.rounds;
        s.state->finished = ends;
    }
    mark(s, 7);
}
