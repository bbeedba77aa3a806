// Definitions that the parts of a search for shortest paths share: kinds of distances, the graph, the state of a search, and queues.
//
// src/algo/sssp/gpu/kernel_structs.rs declares the same structs.
#pragma once
#include "grid_barrier.cuh"
#include "rows.cuh"

constexpr u32 SSSP_THREADS = 1024;
constexpr u32 SSSP_WARPS = SSSP_THREADS / 32;
// Number of slots of a queue that a thread takes at a time, as many as its registers hold, and maximum number that a block takes.
template <class T> constexpr u32 SSSP_EACH = sizeof(T) > 4 ? 2 : 3;
constexpr u32 SSSP_CHUNK = SSSP_THREADS * 4;
// Number of entries of a row from which on several threads share it.
constexpr u32 SSSP_MANY = 256;
// Maximum number of slots that one block expands while the others wait, and maximum number of entries of a pile that it goes through.
constexpr u32 SSSP_NARROW = 2048;
constexpr u32 SSSP_NARROW_PILE = 8192;
// Number of edges that a thread reads at a time.
constexpr u32 SSSP_AHEAD = 4;
// Bit that marks the address of an entry of a queue as that of an in-row. Addresses of edges are multiples of 8.
constexpr u64 SSSP_INWARD = 1;
// Number of clock readings that a search records.
constexpr u32 SSSP_MARKS = 8;

// A neighbour x and the weight y of the edge, read together. Of a weight of 64 bits, y is the code.
typedef uint2 Edge;

struct Graph {
    // Whole rows, which may be in host memory. The entries of a row ascend by weight.
    RowsOf<Edge> rows;
    u32 vertices;
    // 1 if vertex v has an out-row 2v and an in-row 2v + 1, 0 if it has one row, v.
    u32 shift;
    // Vertices from here on have one edge, so they lead nowhere.
    u32 tail;
    // Vertices from here on have fewer than SSSP_MANY edges.
    u32 many;
    // The near edges: the first edges of each row, in GPU memory. Null if rows are in GPU memory, or if no near edges are kept.
    const Edge* near;
    const u32* near_starts;
    // Weights of 64 bits by their codes.
    const u64* values;
};
static_assert(sizeof(Graph) == 112, "as its twin");

// Kinds of distances. `plus` returns the sum of two distances, or NEVER if there is none. `add` returns the sum of a distance and a weight, which
// is the code of a weight of 64 bits in the last two kinds.

// Distances that are 32-bit integers. A sum that does not fit is reported.
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

// Distances that are f32, as their bits, which have the same order.
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

// Distances that are 64-bit integers, as sums of 64-bit weights.
struct Coded : Wide {
    static __device__ inline u64 add(const Graph& g, u64 distance, u32 weight) { return plus(distance, __ldg(g.values + weight)); }
};

// Distances that are f64, as their bits, which have the same order.
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

// A queue of rows. Entry i covers the slots from slots[i] to slots[i + 1], one for each edge.
template <class T> struct Queue {
    u32* slots;
    u32* vertices;
    // The address of the row's first edge, minus 8 bytes for each slot before, with a mark (SSSP_INWARD).
    u64* bases;
    // The distance that the vertex had. If its distance is smaller now, there is another entry with that distance.
    T* distances;
};

// Vertices that will be queued when the bound reaches their distance.
template <class T> struct Pile {
    u32* vertices;
    T* distances;
};

// The progress of a search, which is the same in all blocks.
template <class T> struct Walk {
    // Vertices with distances below `below` are queued, and others are piled up. Below `lowest` nothing is left to do.
    T below, lowest;
    // After a cap is set, all edges of vertices nearer than `led` are relaxed. Of other vertices, only edges that give a distance below `cap`
    // are. `cap` is NEVER before a cap is set, and again after distances are pulled.
    T cap, led;
    // Number of slots that were expanded.
    u64 pushed;
    // Number of steps, each of which ends with a barrier, and number of times that the pile was gone through.
    u64 step, sift;
    u32 capped;
    // `owed` is 1 if there was no room for some vertices, so that they are looked for later. `tried` is 1 if that was done since something was
    // queued.
    u32 owed, tried;
    // 0 before distances are pulled, and 1 after.
    u32 phase;
    u32 rounds, unused;
};
static_assert(sizeof(Walk<u64>) == 80, "fits the state");

struct State {
    GridBarrier barrier;
    // `queued` has the number of entries and slots in queues, and `limit` the place of the first entry for which there was no room. Both are by
    // steps modulo 3: one element is for this step's queue, one for the next step's, and one is cleared.
    u64 queued[3], limit[3];
    // Number of entries in the pile and the smallest of their distances, by sifts modulo 3.
    u64 piled[3], least[3];
    // Number of vertices that a round of pulling changed, by rounds modulo 3.
    u64 changed[3];
    // The step after the one in which there was no room for a vertex, so that its bit was set; by steps modulo 3.
    u64 pending[3];
    // Number of edges that were read, number of vertices reached, and the largest distance.
    u64 relaxations, reached, farthest;
    // Number of vertices that still need a parent at the start of a round over equal distances, by rounds modulo 3.
    u64 adopted[3];
    // 1 if a sum did not fit.
    u32 overflowed;
    u32 finished;
    // Number of slots that were expanded, of steps, and of rounds of pulling; valid once the search is finished.
    u64 pushed, steps, rounds;
    u64 marks[SSSP_MARKS];
    u64 walk[10];
};
static_assert(sizeof(State) == 384, "as its twin");

template <class T> struct Search {
    T* distances;
    u32* parents;
    // Bits of vertices for which a queue or pile had no room. All are 0 before and after a search.
    u32* pending;
    Queue<T> queues[2];
    Pile<T> piles[2];
    State* state;
    // Number of edges that are pushed before a cap is set.
    u64 threshold;
    // Widths of buckets, as distances: `coarse` while little is queued, and `fine` otherwise. `reach` is the width of all buckets together that
    // are pushed after a cap is set.
    u64 coarse, fine, reach;
    u32 root;
    // Number of entries for which a queue and a pile have room.
    u32 queue_room, pile_room;
    // Number of steps after which a launch ends.
    u32 most_steps;
    // 1 in the first launch of a search; 2 (KNOWN) if distances are known and only parents are to be found.
    u32 begins;
    // 1 if the sum of a distance and a weight may be the same distance.
    u32 plateaus;
    // Number of consecutive edges that a step follows in a graph of short rows; 0 if rows are long.
    u32 hops, unused;
};
static_assert(sizeof(Search<u32>) == 192, "as its twin");

// Reads the progress of a search.
template <class T> __device__ inline void take_walk(const Search<T>& s, Walk<T>& walk) {
    u32* to = reinterpret_cast<u32*>(&walk);
    const u32* from = reinterpret_cast<const u32*>(s.state->walk);
    for (u32 i = 0; i < sizeof(Walk<T>) / sizeof(u32); i++) to[i] = fresh(from + i);
}

// Memory that a block shares.
template <class T> struct Scratch {
    u32 tile[SSSP_CHUNK + 2 * SSSP_THREADS];
    u32 words[SSSP_WARPS];
    u64 place, pile_place;
    // The step whose queue the block has found full.
    u64 full;
    T least;
    u32 found;
    Walk<T> walk;
    u64 queued, piled;
    u32 action;
    // `alone` is 1 in the one block that takes small steps while the others wait; `last` is the step at which the launch ends.
    u32 alone;
    u64 last, target;
};

// The blocks that work together: all of them, or one while the others wait.
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

// Returns the address of the first edge. Edges of in-rows may be marked.
__device__ inline u64 address_of(const Range& row) { return reinterpret_cast<u64>(row.begin); }
__device__ inline Range inward(const Range& row) { return {reinterpret_cast<const Edge*>(address_of(row) | SSSP_INWARD), row.length}; }
__device__ inline Edge edge_at(u64 address) { return __ldg(reinterpret_cast<const Edge*>(address & ~SSSP_INWARD)); }

// Returns a whole row where all rows are, which may be host memory.
__device__ inline Range stored_row(const Graph& g, u32 row) {
    SegmentOf<Edge> segment = segment_of(g.rows, row);
    return {segment.begin, segment.length};
}

// Returns the near edges of a row, or the whole row if no near edges are kept.
__device__ inline Range near_row(const Graph& g, u32 row) {
    if (g.near_starts == nullptr) return stored_row(g, row);
    u32 begin = __ldg(g.near_starts + row);
    return {g.near + begin, __ldg(g.near_starts + row + 1) - begin};
}

// Returns a whole row, from GPU memory if it is there.
__device__ inline Range row_of(const Graph& g, u32 row) {
    Range all = stored_row(g, row);
    if (g.near_starts == nullptr) return all;
    Range near = near_row(g, row);
    return near.length == all.length ? near : all;
}

// Replaces the near edges of a row by its other edges, and returns true. Returns false if there are none, or if the last near edge shows that they do
// not count: rows ascend by weight, and `counts` returns true for the weights of edges that count.
template <class F> __device__ inline bool goes_on(const Graph& g, u32 row, Range& part, F counts) {
    if (g.near_starts == nullptr || (part.length > 0 && !counts(__ldg(&part.begin[part.length - 1].y)))) return false;
    Range all = stored_row(g, row);
    bool is_rest = part.begin + part.length == all.begin + all.length;
    if (is_rest || part.length == all.length) return false;
    part = {all.begin + part.length, all.length - part.length};
    return true;
}

// Reads the next edges of a row with one thread. Edges after its end have no neighbour.
__device__ inline void read_ahead(const Range& row, u32 from, Edge (&edge)[SSSP_AHEAD]) {
#pragma unroll
    for (u32 k = 0; k < SSSP_AHEAD; k++) edge[k] = from + k < row.length ? __ldg(row.begin + from + k) : Edge{NONE, 0};
}

// Returns the number of edges before the first whose weight does not count. Rows ascend by weight.
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

// Returns the first edges of a row, up to the first whose weight does not count, from GPU memory if all of them are there.
template <class F> __device__ inline Range first_edges(const Graph& g, u32 row, F counts) {
    Range part = near_row(g, row), first = {part.begin, edges_while(part, counts)};
    if (first.length < part.length || !goes_on(g, row, part, counts)) return first;
    u32 more = edges_while(part, counts);
    return more > 0 ? Range{part.begin - first.length, first.length + more} : first;
}

// Returns the part of a vertex's out-row along which distances are pushed. It is not inlined, because its registers would displace the caller's.
template <class K> __device__ __noinline__ Range pushed_of(const Graph& g, const Walk<typename K::Distance>& walk, u32 vertex, typename K::Distance distance) {
    typename K::Distance cap = walk.cap;
    if (cap == K::NEVER) return row_of(g, out_row(g, vertex));
    return first_edges(g, out_row(g, vertex), [&](u32 weight) { return K::add(g, distance, weight) < cap; });
}

__device__ inline u64 sum_of_warp(u64 x) {
    for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(ALL_LANES, x, step);
    return x;
}

// Adds the edges that each lane read to the count of edges. All lanes of a warp call it.
template <class T> __device__ inline void count_looked(const Search<T>& s, u32 looked) {
    u64 all = sum_of_warp(looked);
    if (lane_id() == 0 && all > 0) atomicAdd(&s.state->relaxations, all);
}

template <class T> __device__ inline T least_of_warp(T x) {
    for (int step = 16; step > 0; step /= 2) x = min(x, __shfl_xor_sync(ALL_LANES, x, step));
    return x;
}

// Records that a sum does not fit.
template <class K> __device__ inline void check_sum(const Search<typename K::Distance>& s, typename K::Distance sum) {
    if (K::OVERFLOWS && sum == K::NEVER) s.state->overflowed = 1;
}
