// Definitions that the parts of breadth-first search share: the graph, the state of a search, and queues.
//
// src/algo/bfs/gpu/kernel_structs.rs declares the same structs.
#pragma once
#include "grid_barrier.cuh"
#include "rows.cuh"

constexpr u32 BFS_THREADS = 1024;
constexpr u32 BFS_WARPS = BFS_THREADS / 32;
// Number of vertices that a warp takes together in a bottom-up step.
constexpr u32 BFS_CHUNK = 256;
constexpr u32 BFS_CHUNK_WORDS = BFS_CHUNK / 32;
// Number of neighbours of a vertex in an array of heads, and maximum number of these arrays.
constexpr u32 BFS_HEAD = 4;
constexpr u32 BFS_MOST_HEADS = 8;
// The counter of a queue has the number of entries in its low bits and the number of slots above them.
constexpr u32 BFS_ENTRY_BITS = 34;
// Number of edges from which on a frontier's slots would not fit in the counter.
constexpr u32 BFS_MOST_SLOTS = 1 << 30;
// Maximum number of slots of a frontier that one warp expands.
constexpr u32 BFS_NARROW = 256;
// A frontier's neighbours are claimed without a queue if the frontier has enough edges, and if its neighbours together probably have more than
// one in `alpha` of the edges that are left. A neighbour is assumed to have BFS_BIAS times the mean number of edges, because edges lead to
// vertices with more edges than the mean.
constexpr u32 BFS_BIAS = 2;
// GPUs share claims if the frontier has at least `least_shared` edges plus one for every BFS_SHARED_VERTICES vertices.
constexpr u32 BFS_SHARED_VERTICES = 32;
// Number of consecutive small levels that are found bottom-up before a queue is made of the next, because the search mostly ends sooner.
constexpr u32 BFS_PATIENCE = 3;
// True in the programs for packed rows. A slot of a row is an entry, or a chunk of packed entries.
#ifdef BFS_PACKED
constexpr bool PACKED = true;
typedef uint4 RowSlot;
#else
constexpr bool PACKED = false;
typedef u32 RowSlot;
#endif

// Maximum number of GPUs that search together.
constexpr u32 BFS_MOST_GPUS = 8;

// One half of all rows, and the slots of one row in it.
typedef RowsOf<RowSlot> Half;
typedef SegmentOf<RowSlot> Segment;

#ifdef BFS_SPREAD
// Where the rows of a half are if they are spread over GPUs. GPU k has the rows from first[k] up to first[k + 1]. entries[k] is where its
// entries would begin if it had all rows. For a GPU that does not exist, first is NONE.
struct Spread {
    const RowSlot* entries[BFS_MOST_GPUS];
    u32 first[BFS_MOST_GPUS];
};
#endif

struct Graph {
    Half halves[2];
    // The first entry of each vertex's in-row, or NONE.
    const u32* first;
    // Heads of in-rows. Array k has the four entries from 1 + 4k on, for vertices below wide[k]; NONE if a row has fewer.
    const uint4* heads[BFS_MOST_HEADS];
    // Numbers of leaves, which are neighbours from `tail` on: a byte for each vertex, and a word for each vertex below `many`.
    const u8* few_leaves;
    const u32* many_leaves;
    u32 vertices;
    // 1 if vertex v has an out-row 2v and an in-row 2v + 1, 0 if it has one row, v.
    u32 shift;
    // Vertices from here on have one edge. It is a multiple of BFS_CHUNK, or the number of vertices.
    u32 tail;
    // Vertices from here on have fewer than 256 edges.
    u32 many;
    // Number of arrays of heads, as many as there was room for.
    u32 head_arrays;
    // In-rows of vertices from wide[k] on have at most 1 + 4k entries.
    u32 wide[BFS_MOST_HEADS + 1];
#ifdef BFS_SPREAD
    Spread spread[2];
#endif
};
#ifdef BFS_SPREAD
static_assert(sizeof(Graph) == 288 + 2 * sizeof(Spread) && sizeof(Spread) == 96, "as its twin");
#else
static_assert(sizeof(Graph) == 288, "as its twin");
#endif

// A queue of rows. Entry i covers the slots from starts[i] to starts[i + 1]. Vertices without rows are listed backwards from the end of the
// queue's memory.
struct Queue {
    u32* starts;
    u32* vertices;
    // The address of the row, minus the bytes of all slots before.
    u64* rows;
};

// The counts of a frontier.
struct Counts {
    u64 vertices;
    // Slots of the vertices' out-rows.
    u64 edges;
    // The vertices' neighbours from `tail` on, which belong to the next frontier.
    u64 leaves;
    // Entries that were read to find the frontier.
    u64 checked;
    // Entries and slots of the frontier's queue.
    u64 queued;
    // Vertices without out-rows, at the end of the queue.
    u64 sinks;
    // Pieces of long rows that were left to all warps.
    u64 pieces;
    // Estimate of the slots of the vertices' out-rows if the frontier was claimed without a queue: the mean of vertices of about the same rank.
    u64 estimate;
};

// How a level was found: QUEUED or CLAIMED top-down, or BOTTOM_UP. Only a QUEUED level has a queue.
constexpr u32 QUEUED = 0;
constexpr u32 BOTTOM_UP = 1;
constexpr u32 CLAIMED = 2;

struct Progress {
    u64 level;
    // Number of steps that all blocks have taken. A step finds one level, or several narrow ones.
    u64 step;
    // Slots of out-rows of vertices that are in no frontier so far.
    u64 left;
    // The bitmap of vertices up to this level.
    u32 current;
    // How this level was found, which tells whether it has a queue.
    u32 found;
    // Number of consecutive levels that were small and found bottom-up.
    u64 few;
    // Number of vertices before `tail` that are in no frontier so far.
    u64 open;
};

struct State {
    GridBarrier barrier;
    // Counts by steps modulo 3: the counts of this step's frontier, the counts of the frontier that it finds, and those that it clears.
    Counts counts[3];
    Progress progress;
    // Number of levels that this launch has recorded.
    u32 records;
    u32 finished;
};

// The record of a level.
struct Record {
    u64 vertices, leaves, checked, nanoseconds, up;
};

#ifdef BFS_PEERS
// What a GPU sends to another at a barrier of all GPUs: its part of the counts, followed by the number of the barrier.
struct BarrierCounts {
    Counts counts;
    u64 number;
};

// The state of barriers of all GPUs, in the memory of one GPU.
struct GpuBarriers {
    // What the other GPUs sent at the last barrier with an even number and at the last with an odd number.
    BarrierCounts reported[BFS_MOST_GPUS][2];
    // The last barrier that blocks of this GPU may leave.
    u64 passed;
    // This GPU's part of the counts.
    Counts part;
    // Number of pieces of rows in the part that was sent last.
    u64 pieces;
};

// Several GPUs that search together; bfs_peers.cuh has the method.
struct Peers {
    // Bitmaps and barrier states of each GPU.
    u32* reached[BFS_MOST_GPUS][2];
    GpuBarriers* barriers[BFS_MOST_GPUS];
    // The number of this GPU, and the number of GPUs.
    u32 rank, gpus;
};
static_assert(sizeof(GpuBarriers) == 1232 && sizeof(Peers) == 200, "as in kernel_structs.rs");
#endif

struct Search {
    // Two bitmaps of reached vertices.
    u32* reached[2];
    u32* parents;
    // The queues of levels with even and odd numbers.
    Queue queues[2];
    State* state;
    Record* records;
    // Bottom-up steps begin when edges * alpha exceeds the edges that are left, and end when vertices * beta is below the number of all
    // vertices.
    double alpha, beta;
    // Slots of all out-rows.
    u64 slots;
    u32 root;
    // Number of entries for which a queue has room.
    u32 capacity;
    u32 most_records;
    // 1 in the first launch of a search.
    u32 begins;
    // Number of edges of a frontier from which on its neighbours may be claimed without a queue, and from which on GPUs may share that.
    u32 least_unqueued, least_shared;
#ifdef BFS_PEERS
    Peers peers;
#endif
};

#ifdef BFS_PEERS
static_assert(sizeof(Search) == 136 + sizeof(Peers), "as its twin");
#else
static_assert(sizeof(Search) == 136, "as its twin");
#endif
static_assert(sizeof(State) == 264 && sizeof(Record) == 40, "as in kernel_structs.rs");

// The rest of a row: the slots that remain of the lower half, and later those of the upper half.
struct Rest {
    const RowSlot* at;
    const RowSlot* later;
    u32 length, later_length;
};

// Data of the vertices that a warp takes in a bottom-up step.
struct Chunk {
    // Vertices that need more neighbours, by their numbers in the chunk, and the rest of the rows of some of them.
    u8 open[BFS_CHUNK];
    Rest rests[32];
    // Bits of the vertices found among them.
    u32 found[BFS_CHUNK_WORDS];
};

// Memory that a block shares.
struct Scratch {
    union {
        u32 tile[4 * BFS_THREADS + 1];
        Chunk chunks[BFS_WARPS];
    };
    u64 sums[4][BFS_WARPS];
    u64 place;
    // Data of this step that all threads read, and the time when the level before was done. It is in shared memory, because in registers it
    // would displace what the steps work with.
    Progress at;
    Counts frontier;
    u32 records;
    u64 clock, target;
#ifdef BFS_PEERS
    // Number of the last barrier of all GPUs.
    u64 passed;
#endif
    // Counts of what a single warp finds.
    Counts found_by_warp;
    // Mean number of slots of the out-rows of vertices 2^k up to 2^(k+1).
    u32 mean_slots[32];
};

__device__ inline u32 bit_of(u32 vertex) { return 1u << (vertex & 31); }

__device__ inline bool is_in(const u32* bits, u32 vertex) { return bits[vertex >> 5] >> (vertex & 31) & 1; }

__device__ inline u32 out_row(const Graph& g, u32 vertex) { return vertex << g.shift; }
__device__ inline u32 in_row(const Graph& g, u32 vertex) { return (vertex << g.shift) | g.shift; }

// Returns the part of a row that is in this half.
__device__ inline Segment half_of(const Graph& g, u32 half, u32 row) {
#ifdef BFS_SPREAD
    const Spread& spread = g.spread[half];
    const RowSlot* entries = spread.entries[0];
    for (u32 k = 1; k < BFS_MOST_GPUS; k++) entries = row >= spread.first[k] ? spread.entries[k] : entries;
    return segment_at(entries, g.halves[half], row);
#else
    return segment_of(g.halves[half], row);
#endif
}

// The neighbours in a slot, read one after the other; src/graph/packed/chunk.rs says how they are packed. An unpacked slot has one neighbour.
struct Slot {
    // The next neighbour, or NONE.
    u32 next;
    // The differences between the later neighbours, and the number of bits of a difference.
    u32 low, middle, high, width;
};

__device__ inline Slot no_slot() { return {NONE, 0, 0, 0, 0}; }

__device__ inline void go_on(Slot& slot) {
    u32 more = PACKED ? slot.low & ((1u << slot.width) - 1) : 0;
    slot.next = more == 0 ? NONE : slot.next + more;
    slot.low = __funnelshift_r(slot.low, slot.middle, slot.width);
    slot.middle = __funnelshift_r(slot.middle, slot.high, slot.width);
    slot.high >>= slot.width;
}

// Reads a slot of the row at this address.
__device__ inline Slot read_slot(u64 row, u64 slot) {
    if (!PACKED) return {__ldg(reinterpret_cast<const u32*>(row) + slot), 0, 0, 0, 0};
    uint4 chunk = __ldg(reinterpret_cast<const uint4*>(row) + slot);
    return {chunk.x, __funnelshift_r(chunk.y, chunk.z, 5), __funnelshift_r(chunk.z, chunk.w, 5), chunk.w >> 5, chunk.y & 31};
}

// Returns the number of a vertex's neighbours from `tail` on.
__device__ inline u32 leaves_of(const Graph& g, u32 vertex) {
    return vertex < g.many ? __ldg(g.many_leaves + vertex) : __ldg(g.few_leaves + vertex);
}

__device__ inline u64 packed(u64 entries, u64 slots) { return slots << BFS_ENTRY_BITS | entries; }
__device__ inline u64 entries_of(u64 queued) { return queued & ((1ull << BFS_ENTRY_BITS) - 1); }
__device__ inline u32 slots_of(u64 queued) { return u32(queued >> BFS_ENTRY_BITS); }

// Returns what a vertex with these segments adds to a queue's counter. An empty segment has no entry.
__device__ inline u64 packed(const Segment& lower, const Segment& upper) {
    return packed((lower.length > 0) + (upper.length > 0), u64(lower.length) + upper.length);
}

// Lists a vertex without rows at the end of the queue, unless the queue is full.
__device__ inline void put_sink(const Queue& queue, u32 capacity, u64 number, u32 vertex) {
    if (number < capacity) queue.vertices[capacity - 1 - number] = vertex;
}

// Writes the entries of a vertex's row at a place of the queue, unless the queue is full.
__device__ inline void put(const Queue& queue, u32 capacity, u64 place, u32 vertex, const Segment& lower, const Segment& upper) {
    u64 at = entries_of(place);
    u32 slot = slots_of(place);
    for (u32 half = 0; half < 2; half++) {
        const Segment& one = half == 0 ? lower : upper;
        if (one.length == 0) continue;
        if (at < capacity) {
            queue.starts[at] = slot;
            queue.vertices[at] = vertex;
            queue.rows[at] = u64(one.begin) - sizeof(RowSlot) * u64(slot);
        }
        at++;
        slot += one.length;
    }
}

// A thread's part of the counts of the next frontier.
struct Found {
    u32 vertices, leaves, checked;
    u64 edges;
};

// Adds up what all threads of a block found, and adds it to `counts`. The edges go to `edges`, which is one of the counts.
__device__ inline void add(Counts* counts, u64* edges, const Found& found, Scratch& scratch) {
    u64 parts[4] = {found.vertices, found.edges, found.leaves, found.checked};
    for (u32 k = 0; k < 4; k++) {
        for (int step = 16; step > 0; step /= 2) parts[k] += __shfl_xor_sync(ALL_LANES, parts[k], step);
        if (lane_id() == 0) scratch.sums[k][warp_id()] = parts[k];
    }
    __syncthreads();
    if (warp_id() < 4) {
        u64 sum = scratch.sums[warp_id()][lane_id()];
        for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, step);
        u64* to = warp_id() == 0 ? &counts->vertices : warp_id() == 1 ? edges : warp_id() == 2 ? &counts->leaves : &counts->checked;
        if (lane_id() == 0 && sum > 0) atomicAdd(to, sum);
    }
    __syncthreads();
}
