// Definitions shared by the headers of the shortest-path search: distance types, the graph, the state of a search, and queues.
//
// src/algo/sssp/gpu/kernel_structs.rs declares the same structs.
#pragma once
#include "grid_barrier.cuh"
#include "rows.cuh"

constexpr u32 SSSP_THREADS = 1024;
constexpr u32 SSSP_WARPS = SSSP_THREADS / 32;
// Number of slots of a queue (one per edge) that a thread processes at a time, as many as fit in its registers. SSSP_CHUNK is an upper bound on the
// number of slots that a block processes at a time.
template <class T> constexpr u32 SSSP_EACH = sizeof(T) > 4 ? 2 : 3;
constexpr u32 SSSP_CHUNK = SSSP_THREADS * 4;
// Minimum length of a row that several threads share, in entries.
constexpr u32 SSSP_MANY = 256;
// Maximum number of slots of a queue (SSSP_NARROW), and maximum number of entries of a pile, that one block processes while the others wait.
constexpr u32 SSSP_NARROW = 2048;
constexpr u32 SSSP_NARROW_PILE = 8192;
// Number of edges of a row that a thread loads at a time.
constexpr u32 SSSP_AHEAD = 4;
// Bit that marks the address of an edge in a queue as that of an in-row's edge. It is free because addresses of edges are multiples of 8.
constexpr u64 SSSP_INWARD = 1;
// Number of clock readings that a search records.
constexpr u32 SSSP_MARKS = 8;

// Edge to the neighbour x with the weight y, which are read together. If weights have 64 bits, y is a code: an index in the list of weights.
typedef uint2 Edge;

struct Graph {
    // Whole rows (both halves joined), which may be in host memory. The entries of a row are in ascending order of weight.
    RowsOf<Edge> rows;
    u32 vertices;
    // 1 if vertex v has an out-row 2v and an in-row 2v + 1; 0 if it has only one row, v.
    u32 shift;
    // Exclusive end of the vertices with at least two edges. The vertices from here on are the tail. No path between other vertices contains them.
    u32 tail;
    // Exclusive end of the vertices with at least SSSP_MANY edges.
    u32 many;
    // Near edges: copies of the first edges of each row, in GPU memory. `near_starts` contains the start of each row in `near`, and the end of the
    // last. Both are null if whole rows are in GPU memory, or if no near edge fits.
    const Edge* near;
    const u32* near_starts;
    // List of the 64-bit weights. The code of a weight is its index.
    const u64* values;
};
static_assert(sizeof(Graph) == 112, "as its twin");

// Distance types. NEVER is the distance of an unreached vertex. `plus` returns the sum of two distances, or NEVER if it does not fit. `add` returns
// the sum of a distance and the weight of an edge; in the last two types, the weight is the code of a 64-bit weight.

// Distances that are 32-bit integers. The search reports a sum that does not fit.
struct Whole {
    typedef u32 Distance;
    static constexpr u32 NEVER = NONE;
    static constexpr bool OVERFLOWS = true;
    static __device__ inline u32 plus(u32 a, u32 b) {
        u32 sum = a + b;
        return sum < a ? NEVER : sum;
    }
    static __device__ inline u32 add(const Graph&, u32 distance, u32 weight) { return plus(distance, weight); }
};

// Distances that are 64-bit integers.
struct Wide {
    typedef u64 Distance;
    static constexpr u64 NEVER = ~0ull;
    static constexpr bool OVERFLOWS = false;
    static __device__ inline u64 plus(u64 a, u64 b) {
        u64 sum = a + b;
        return sum < a ? NEVER : sum;
    }
    static __device__ inline u64 add(const Graph&, u64 distance, u32 weight) { return plus(distance, weight); }
};

// Distances that are f32, stored as bit patterns, which have the same order.
struct Decimal {
    typedef u32 Distance;
    static constexpr u32 NEVER = NONE;
    static constexpr bool OVERFLOWS = false;
    // An infinite sum counts as unreachable.
    static __device__ inline u32 plus(u32 a, u32 b) {
        u32 sum = __float_as_uint(__fadd_rn(__uint_as_float(a), __uint_as_float(b)));
        return sum >= 0x7f800000 ? NEVER : sum;
    }
    static __device__ inline u32 add(const Graph&, u32 distance, u32 weight) { return plus(distance, weight); }
};

// Distances that are 64-bit integers, for codes of 64-bit integer weights.
struct Coded : Wide {
    static __device__ inline u64 add(const Graph& g, u64 distance, u32 weight) { return plus(distance, __ldg(g.values + weight)); }
};

// Distances that are f64, stored as bit patterns, which have the same order, for codes of f64 weights.
struct Double {
    typedef u64 Distance;
    static constexpr u64 NEVER = ~0ull;
    static constexpr bool OVERFLOWS = false;
    // An infinite sum counts as unreachable.
    static __device__ inline u64 plus(u64 a, u64 b) {
        u64 sum = __double_as_longlong(__dadd_rn(__longlong_as_double(a), __longlong_as_double(b)));
        return sum >= 0x7ff0000000000000ull ? NEVER : sum;
    }
    static __device__ inline u64 add(const Graph& g, u64 distance, u32 weight) { return plus(distance, __ldg(g.values + weight)); }
};

// Queue of rows whose edges are to be relaxed. Each edge has a slot: entry i covers the slots from slots[i] to before slots[i + 1].
template <class T> struct Queue {
    u32* slots;
    u32* vertices;
    // Address of the row's first edge minus 8 bytes per earlier slot, so that the edge of slot k is at the base + 8 * k. The bit SSSP_INWARD marks
    // in-rows.
    u64* bases;
    // Distance of the vertex when it was queued. If its distance is smaller now, another entry has that distance.
    T* distances;
};

// Pile of vertices that wait until the bound of the bucket (Walk::below) exceeds their distances.
template <class T> struct Pile {
    u32* vertices;
    T* distances;
};

// Progress of a search. All blocks have the same copy.
template <class T> struct Walk {
    // Vertices with distances below `below` are queued, and others are put on the pile. Vertices with distances below `lowest` are finished.
    T below, lowest;
    // Distances from `cap` on are pulled instead of pushed. When the cap is set, all edges of vertices nearer than `led` have been relaxed. From then
    // on, an edge of another vertex is relaxed only if it gives a distance below `cap`. `cap` is NEVER before it is set, and again after distances
    // are pulled.
    T cap, led;
    // Number of slots (edges) processed so far.
    u64 pushed;
    // Number of steps, each of which ends with a barrier, and number of sifts (passes over the pile).
    u64 step, sift;
    u32 capped;
    // `owed` is 1 if vertices did not fit in a queue or pile, so that a later scan has to find them. `tried` is 1 if such a scan was made after the
    // queue last had entries.
    u32 owed, tried;
    // 0 before distances are pulled, and 1 afterwards.
    u32 phase;
    u32 rounds, unused;
};
static_assert(sizeof(Walk<u64>) == 80, "fits the state");

struct State {
    GridBarrier barrier;
    // `queued` contains the number of entries and slots of a queue, packed into one counter. `limit` is the packed position of the first entry that
    // did not fit. Both are indexed by step modulo 3: one element is for this step's queue, one for the next step's, and one is cleared.
    u64 queued[3], limit[3];
    // Number of entries in the pile and the smallest of their distances, indexed by sift (pass over the pile) modulo 3.
    u64 piled[3], least[3];
    // Number of vertices whose distances changed in a round of pulling, indexed by round modulo 3.
    u64 changed[3];
    // The step after the one in which a vertex did not fit in a queue or pile, so that its bit was set; indexed by step modulo 3.
    u64 pending[3];
    // Number of edges read, number of vertices reached, and the largest distance.
    u64 relaxations, reached, farthest;
    // Number of vertices that still need a parent at the start of a round of `equal_parents`, indexed by round modulo 3.
    u64 adopted[3];
    // 1 if a sum did not fit in its type.
    u32 overflowed;
    u32 finished;
    // Number of slots processed, of steps, and of rounds of pulling; valid once the search is finished.
    u64 pushed, steps, rounds;
    u64 marks[SSSP_MARKS];
    u64 walk[10];
};
static_assert(sizeof(State) == 384, "as its twin");

template <class T> struct Search {
    T* distances;
    u32* parents;
    // Bitmap of the vertices that did not fit in a queue or pile. All bits are 0 before and after a search.
    u32* pending;
    Queue<T> queues[2];
    Pile<T> piles[2];
    State* state;
    // Number of edges that are relaxed by pushing before a cap is set.
    u64 threshold;
    // Widths of buckets, as distances: `coarse` while few edges are queued, and `fine` otherwise. `reach` is the range of distances that is still
    // pushed once a cap is set.
    u64 coarse, fine, reach;
    u32 root;
    // Capacity of a queue, and of a pile, in entries.
    u32 queue_room, pile_room;
    // Maximum number of steps in a launch.
    u32 most_steps;
    // 1 in the first launch of a search; 2 (KNOWN) if distances are known and only parents are to be found; 0 in later launches.
    u32 begins;
    // 1 if the sum of a distance and a weight may equal the distance.
    u32 plateaus;
    // Maximum number of consecutive edges that a step follows in a deep graph (one of short rows); 0 for other graphs.
    u32 hops, unused;
};
static_assert(sizeof(Search<u32>) == 192, "as its twin");

// Reads the progress of a search from its state.
template <class T> __device__ inline void take_walk(const Search<T>& s, Walk<T>& walk) {
    u32* to = reinterpret_cast<u32*>(&walk);
    const u32* from = reinterpret_cast<const u32*>(s.state->walk);
    for (u32 i = 0; i < sizeof(Walk<T>) / sizeof(u32); i++) to[i] = fresh(from + i);
}

// Shared memory of a block.
template <class T> struct Scratch {
    u32 tile[SSSP_CHUNK + 2 * SSSP_THREADS];
    u32 words[SSSP_WARPS];
    u64 place, pile_place;
    // The step whose queue this block found full.
    u64 full;
    T least;
    u32 found;
    Walk<T> walk;
    u64 queued, piled;
    u32 action;
    // `alone` is 1 in the one block that executes small steps while the others wait; `last` is the step at which the launch ends.
    u32 alone;
    u64 last, target;
};

// The blocks that work together: all of them, or one while the others wait. `rank` is the index of this block among them.
struct Team {
    u32 rank, size;
};

__device__ inline u32 out_row(const Graph& g, u32 vertex) { return vertex << g.shift; }
__device__ inline u32 in_row(const Graph& g, u32 vertex) { return (vertex << g.shift) | g.shift; }

// Consecutive edges of a row.
struct Range {
    const Edge* begin;
    u32 length;
};

// Returns the address of the first edge of a range. `inward` marks the edges as those of an in-row, and `edge_at` ignores the mark.
__device__ inline u64 address_of(const Range& row) { return reinterpret_cast<u64>(row.begin); }
__device__ inline Range inward(const Range& row) { return {reinterpret_cast<const Edge*>(address_of(row) | SSSP_INWARD), row.length}; }
__device__ inline Edge edge_at(u64 address) { return __ldg(reinterpret_cast<const Edge*>(address & ~SSSP_INWARD)); }

// Returns a whole row from Graph::rows, which may be in host memory.
__device__ inline Range stored_row(const Graph& g, u32 row) {
    SegmentOf<Edge> segment = segment_of(g.rows, row);
    return {segment.begin, segment.length};
}

// Returns the near edges of a row, or the whole row if there are no near edges in the graph.
__device__ inline Range near_row(const Graph& g, u32 row) {
    if (g.near_starts == nullptr) return stored_row(g, row);
    u32 begin = __ldg(g.near_starts + row);
    return {g.near + begin, __ldg(g.near_starts + row + 1) - begin};
}

// Returns a whole row, from GPU memory if all its edges are near edges.
__device__ inline Range row_of(const Graph& g, u32 row) {
    Range all = stored_row(g, row);
    if (g.near_starts == nullptr) return all;
    Range near = near_row(g, row);
    return near.length == all.length ? near : all;
}

// Replaces the near edges of a row in `part` by its other edges, and returns true. Returns false if there are no others, or if the last near edge
// does not count, so that no heavier edge does. `counts(weight)` tells whether an edge counts.
template <class F> __device__ inline bool goes_on(const Graph& g, u32 row, Range& part, F counts) {
    if (g.near_starts == nullptr || (part.length > 0 && !counts(__ldg(&part.begin[part.length - 1].y)))) return false;
    Range all = stored_row(g, row);
    bool is_rest = part.begin + part.length == all.begin + all.length;
    if (is_rest || part.length == all.length) return false;
    part = {all.begin + part.length, all.length - part.length};
    return true;
}

// Loads SSSP_AHEAD edges of a row from index `from` on, with one thread. Edges after the end of the row get the neighbour NONE.
__device__ inline void read_ahead(const Range& row, u32 from, Edge (&edge)[SSSP_AHEAD]) {
#pragma unroll
    for (u32 k = 0; k < SSSP_AHEAD; k++) edge[k] = from + k < row.length ? __ldg(row.begin + from + k) : Edge{NONE, 0};
}

// Returns the number of edges before the first whose weight does not count, by a binary search, because rows are in ascending order of weight.
template <class F> __device__ inline u32 edges_while(const Range& row, F counts) {
    u32 low = 0, high = row.length;
#pragma unroll 1
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (counts(__ldg(&row.begin[middle].y))) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Returns the edges of a row before the first whose weight does not count, from GPU memory if all of them are near edges.
template <class F> __device__ inline Range first_edges(const Graph& g, u32 row, F counts) {
    Range part = near_row(g, row), first = {part.begin, edges_while(part, counts)};
    if (first.length < part.length || !goes_on(g, row, part, counts)) return first;
    u32 more = edges_while(part, counts);
    return more > 0 ? Range{part.begin - first.length, first.length + more} : first;
}

// Returns the edges of a vertex's out-row along which its distance is pushed: all edges, or those that give a distance below the cap. It is not
// inlined, because its registers would displace the caller's.
template <class K> __device__ __noinline__ Range pushed_of(const Graph& g, const Walk<typename K::Distance>& walk, u32 vertex, typename K::Distance distance) {
    typename K::Distance cap = walk.cap;
    if (cap == K::NEVER) return row_of(g, out_row(g, vertex));
    return first_edges(g, out_row(g, vertex), [&](u32 weight) { return K::add(g, distance, weight) < cap; });
}

// Adds the numbers of edges that the lanes read to State::relaxations. All lanes of a warp call it.
template <class T> __device__ inline void count_looked(const Search<T>& s, u32 looked) {
    u64 all = warp_sum(u64(looked));
    if (lane_id() == 0 && all > 0) atomicAdd(&s.state->relaxations, all);
}

// Records an overflow if a sum did not fit in its type.
template <class K> __device__ inline void check_sum(const Search<typename K::Distance>& s, typename K::Distance sum) {
    if (K::OVERFLOWS && sum == K::NEVER) s.state->overflowed = 1;
}
