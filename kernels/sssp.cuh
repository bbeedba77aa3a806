// What the parts of a search for shortest paths share: kinds of distances, the graph, the state of a search, queues.
//
// Structs have twins in src/algo/sssp/gpu/twins.rs.
#pragma once
#include "grid_barrier.cuh"
#include "rows.cuh"

constexpr u32 SSSP_THREADS = 1024;
constexpr u32 SSSP_WARPS = SSSP_THREADS / 32;
// Slots of a queue that a thread takes at a time, as many as registers hold, and most that a block takes.
template <class T> constexpr u32 SSSP_EACH = sizeof(T) > 4 ? 2 : 3;
constexpr u32 SSSP_CHUNK = SSSP_THREADS * 4;
// Entries of a row from which on several threads share it.
constexpr u32 SSSP_MANY = 256;
// Most slots that one block expands while the others wait, and most entries of a pile that it goes through.
constexpr u32 SSSP_NARROW = 2048;
constexpr u32 SSSP_NARROW_PILE = 8192;
// Edges that a thread reads at a time.
constexpr u32 SSSP_AHEAD = 4;
// Marks the base of an entry whose row is read from its far ends: of an in-row.
constexpr u64 SSSP_INWARD = 1ull << 63;
// Clock readings that a search leaves.
constexpr u32 SSSP_MARKS = 8;

// Sums of whole numbers that fit 32 bits; a sum that does not is noticed.
struct Whole {
    typedef u32 Distance;
    static constexpr u32 NEVER = NONE;
    static constexpr bool OVERFLOWS = true;
    // Returns the sum, or NEVER where that is none or the sum does not fit.
    static __device__ inline u32 add(u32 distance, u32 weight) {
        u32 sum = distance + weight;
        return sum < distance ? NEVER : sum;
    }
};

// Sums of whole numbers in 64 bits.
struct Wide {
    typedef u64 Distance;
    static constexpr u64 NEVER = ~0ull;
    static constexpr bool OVERFLOWS = false;
    static __device__ inline u64 add(u64 distance, u32 weight) {
        u64 sum = distance + weight;
        return sum < distance ? NEVER : sum;
    }
};

// Sums of f32 by their bits, which are in the same order.
struct Decimal {
    typedef u32 Distance;
    static constexpr u32 NEVER = NONE;
    static constexpr bool OVERFLOWS = false;
    // An infinite sum leads nowhere.
    static __device__ inline u32 add(u32 distance, u32 weight) {
        u32 sum = __float_as_uint(__fadd_rn(__uint_as_float(distance), __uint_as_float(weight)));
        return sum >= 0x7f800000 ? NEVER : sum;
    }
};

// Returns the sum of two distances.
template <class K> __device__ inline typename K::Distance sum_of(typename K::Distance a, typename K::Distance b) {
    return K::add(a, u32(b));
}
template <> __device__ inline u64 sum_of<Wide>(u64 a, u64 b) { return a + b < a ? Wide::NEVER : a + b; }

// A neighbour x and the weight y of the edge, read together.
typedef uint2 Edge;

struct Graph {
    // Whole rows, each by ascending weight.
    RowsOf<Edge> rows;
    u32 vertices;
    // 1 if vertex v has an out-row 2v and an in-row 2v + 1, 0 if it has one row, v.
    u32 shift;
    // Vertices from there on have one edge: they lead nowhere.
    u32 tail;
    // Vertices from there on have fewer than SSSP_MANY edges.
    u32 many;
    // The first SSSP_AHEAD edges of in-rows of vertices below `headed`, without neighbours where there are fewer. Rows may lie behind the bus.
    const Edge* heads;
    u32 headed, unused;
};
static_assert(sizeof(Graph) == 104, "as its twin");

// The rows of some vertices. Entry i covers the slots from slots[i] to slots[i + 1], one for each edge.
template <class T> struct Queue {
    u32* slots;
    u32* vertices;
    // The place of the row's first edge, less the slots before.
    u64* bases;
    // The distance that the vertex had; where it has a smaller one by now, another entry has that.
    T* distances;
};

// Vertices that are to be queued once their distance is in turn.
template <class T> struct Pile {
    u32* vertices;
    T* distances;
};

// How far a search is, the same in all blocks.
template <class T> struct Walk {
    // Vertices of distances below are queued, others are piled up. Below `lowest` nothing is left to do.
    T below, lowest;
    // Once capped: rows of vertices nearer than `led` are gone through wholly, those of others as far as distances remain below `cap`, which is NEVER
    // without and once distances are pulled.
    T cap, led;
    // Slots that were expanded.
    u64 pushed;
    // Steps between two barriers, and times that the pile was gone through.
    u64 step, sift;
    u32 capped;
    // 1 if vertices had no room, so that they are to be looked for, and 1 if they were since something was queued.
    u32 owed, tried;
    // 0 before, 1 after distances are pulled.
    u32 phase;
    u32 rounds, unused;
};
static_assert(sizeof(Walk<u64>) == 80, "fits the state");

struct State {
    GridBarrier barrier;
    // Entries and slots queued, and the place of the first entry for which there was no room, by steps modulo 3: of this step's queue, of the
    // next one's, and one that is cleared.
    u64 queued[3], limit[3];
    // Entries of the pile and the least of their distances, by sifts modulo 3.
    u64 piled[3], least[3];
    // Vertices that a round of pulling changed, by rounds modulo 3.
    u64 changed[3];
    // The step before which a vertex found no room in a queue or pile, and left a bit: by steps modulo 3.
    u64 pending[3];
    // Edges that were looked at, vertices reached, the largest distance.
    u64 relaxations, reached, farthest;
    // Vertices that a round over equal distances gave a parent, by rounds modulo 3.
    u64 adopted[3];
    // 1 if a sum did not fit.
    u32 overflowed;
    u32 finished;
    // Slots that were expanded, steps, and rounds of pulling, once it is finished.
    u64 pushed, steps, rounds;
    u64 marks[SSSP_MARKS];
    u64 walk[10];
};
static_assert(sizeof(State) == 384, "as its twin");

template <class T> struct Search {
    T* distances;
    u32* parents;
    // Bits of vertices that had no room in a queue or pile; none before and after a search.
    u32* pending;
    Queue<T> queues[2];
    Pile<T> piles[2];
    State* state;
    // Edges that are pushed before a cap is set.
    u64 threshold;
    // Widths of buckets while little is queued and else, and the width of all buckets that are pushed once there is a cap, as distances.
    u64 coarse, fine, reach;
    u32 root;
    // Entries that a queue and a pile have room for.
    u32 queue_room, pile_room;
    // Steps after which a launch ends.
    u32 most_steps;
    // 1 in the first launch of a search, 2 where distances are known and parents are not.
    u32 begins;
    // 1 if an edge may add nothing.
    u32 plateaus;
    // Edges that a step of a deep graph leads on by, one after the other; 0 if rows are long.
    u32 hops, unused;
};
static_assert(sizeof(Search<u32>) == 192, "as its twin");

// Reads how far a search is.
template <class T> __device__ inline void take_walk(const Search<T>& s, Walk<T>& walk) {
    u32* to = reinterpret_cast<u32*>(&walk);
    const u32* from = reinterpret_cast<const u32*>(s.state->walk);
    for (u32 i = 0; i < sizeof(Walk<T>) / sizeof(u32); i++) to[i] = fresh(from + i);
}

// Memory that a block shares.
template <class T> struct Scratch {
    u32 tile[SSSP_CHUNK + 2 * SSSP_THREADS];
    u64 sums[SSSP_WARPS];
    u32 words[SSSP_WARPS];
    u64 place, pile_place;
    // The step whose queue is known to be full.
    u64 full;
    T least;
    u32 found;
    Walk<T> walk;
    u64 queued, piled;
    u32 action;
    // 1 in the one block that takes small steps while the others wait, and the step at which the launch ends.
    u32 alone;
    u64 last, target;
};

// The blocks that work together: all, or one while the others wait.
struct Team {
    u32 rank, size;
};

// Waits for the team. Returns false if the block must leave.
template <class T> __device__ inline bool meet(const Search<T>& s, Scratch<T>& scratch, Team team) {
    if (team.size > 1) return grid_barrier(&s.state->barrier, scratch.target);
    __syncthreads();
    return true;
}

__device__ inline u32 out_row(const Graph& g, u32 vertex) { return vertex << g.shift; }
__device__ inline u32 in_row(const Graph& g, u32 vertex) { return (vertex << g.shift) | g.shift; }

// A row: the place of its first edge, and how many there are.
struct Range {
    u64 start;
    u32 length;
};

__device__ inline Range range_of(const Graph& g, u32 row) {
    u64 start = start_of(g.rows, row);
    return {start, __ldg(g.rows.starts + row + 1) - u32(start)};
}

// True if the first edges of a vertex's out-row lie beside: without direction it is the in-row.
__device__ inline bool has_head(const Graph& g, u32 vertex) { return vertex < g.headed && g.shift == 0; }

// Reads the next edges of a vertex's in-row, as one thread; those behind its end have no neighbour.
__device__ inline void read_ahead(const Graph& g, u32 vertex, const Range& row, u32 from, Edge (&edge)[SSSP_AHEAD]) {
    bool is_head = from == 0 && vertex < g.headed;
    const Edge* at = is_head ? g.heads + u64(vertex) * SSSP_AHEAD : g.rows.entries + row.start + from;
#pragma unroll
    for (u32 k = 0; k < SSSP_AHEAD; k++) edge[k] = is_head || from + k < row.length ? __ldg(at + k) : Edge{NONE, 0};
}

// Returns how many edges of a row come before the first whose weight is not `few`; rows ascend.
template <class F> __device__ inline u32 edges_while(const Edge* edges, u32 count, F few) {
    u32 low = 0, high = count;
#pragma unroll 1
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (few(__ldg(&edges[middle].y))) low = middle + 1;
        else high = middle;
    }
    return low;
}

template <class F> __device__ inline u32 edges_while(const Graph& g, const Range& row, F few) {
    return edges_while(g.rows.entries + row.start, row.length, few);
}

// Returns what is to be pushed of a vertex's row. A call, as its registers would drive out those of who asks.
template <class K> __device__ __noinline__ Range pushed_of(const Graph& g, const Walk<typename K::Distance>& walk, u32 vertex, typename K::Distance distance) {
    Range row = range_of(g, out_row(g, vertex));
    typename K::Distance cap = walk.cap;
    if (cap == K::NEVER) return row;
    const Edge* edges = g.rows.entries + row.start;
    if (has_head(g, vertex)) {
        // Of most rows the first edges tell, which lie beside.
        const Edge* head = g.heads + u64(vertex) * SSSP_AHEAD;
        if (row.length < SSSP_AHEAD || K::add(distance, __ldg(&head[SSSP_AHEAD - 1].y)) >= cap) {
            edges = head;
            row.length = min(row.length, SSSP_AHEAD);
        }
    }
    row.length = edges_while(edges, row.length, [=](u32 weight) { return K::add(distance, weight) < cap; });
    return row;
}

// Returns the sum of the threads before this one, and in `total` that of all.
template <class T> __device__ inline u64 scan_before(u64 x, Scratch<T>& scratch, u64& total) {
    u64 sum = x;
    for (u32 step = 1; step < 32; step *= 2) {
        u64 below = __shfl_up_sync(ALL_LANES, sum, step);
        if (lane_id() >= step) sum += below;
    }
    if (lane_id() == 31) scratch.sums[warp_id()] = sum;
    __syncthreads();
    if (warp_id() == 0) {
        u64 all = scratch.sums[lane_id()];
        for (u32 step = 1; step < 32; step *= 2) {
            u64 below = __shfl_up_sync(ALL_LANES, all, step);
            if (lane_id() >= step) all += below;
        }
        scratch.sums[lane_id()] = all;
    }
    __syncthreads();
    total = scratch.sums[SSSP_WARPS - 1];
    u64 before = sum - x + (warp_id() > 0 ? scratch.sums[warp_id() - 1] : 0);
    __syncthreads();
    return before;
}

__device__ inline u64 sum_of_warp(u64 x) {
    for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(ALL_LANES, x, step);
    return x;
}

// Counts edges that were looked at, as all lanes of a warp.
template <class T> __device__ inline void count_looked(const Search<T>& s, u32 looked) {
    u64 all = sum_of_warp(looked);
    if (lane_id() == 0 && all > 0) atomicAdd(&s.state->relaxations, all);
}

template <class T> __device__ inline T least_of_warp(T x) {
    for (int step = 16; step > 0; step /= 2) x = min(x, __shfl_xor_sync(ALL_LANES, x, step));
    return x;
}

// Notes a sum that does not fit.
template <class K> __device__ inline void check_sum(const Search<typename K::Distance>& s, typename K::Distance sum) {
    if (K::OVERFLOWS && sum == K::NEVER) s.state->overflowed = 1;
}
