// Definitions shared by the kernels of breadth-first search: the graph, the state of a search, and queues. A row consists of slots. A slot is one
// neighbour or, if rows are packed (compressed), a 16-byte chunk of neighbours.
//
// src/algo/bfs/gpu/kernel_structs.rs declares the same structs.
#pragma once
#include "grid_barrier.cuh"
#include "rows.cuh"

constexpr u32 BFS_THREADS = 1024;
constexpr u32 BFS_WARPS = BFS_THREADS / 32;
// Number of vertices of a chunk, which a warp processes together in a bottom-up step, and number of 32-bit words of the chunk's bitmap.
constexpr u32 BFS_CHUNK = 256;
constexpr u32 BFS_CHUNK_WORDS = BFS_CHUNK / 32;
// Number of neighbours per vertex in a head array, and maximum number of head arrays. Head arrays store the neighbours after the first one, so that
// most rows need not be read.
constexpr u32 BFS_HEAD = 4;
constexpr u32 BFS_MOST_HEADS = 8;
// Number of low bits of a queue's 64-bit counter that contain the number of entries. The bits above them contain the number of slots.
constexpr u32 BFS_ENTRY_BITS = 34;
// Minimum number of edges of a frontier from which its slots would not fit the counter.
constexpr u32 BFS_MOST_SLOTS = 1 << 30;
// Maximum number of slots of a frontier that a single warp expands.
constexpr u32 BFS_NARROW = 256;
// Factor by which the neighbours of a frontier are assumed to have more edges than an average vertex, because edges lead to vertices with many edges.
// The neighbours are claimed without a queue if the frontier has enough edges, and if its neighbours together probably have more than one in `alpha`
// of the remaining edges.
constexpr u32 BFS_BIAS = 2;
// GPUs divide the claims of a frontier among themselves if it has at least `least_shared` edges plus one edge for every BFS_SHARED_VERTICES vertices.
constexpr u32 BFS_SHARED_VERTICES = 32;
// Number of consecutive small levels that are found bottom-up before the search makes a queue of the next one. Most searches end sooner and never
// need this queue.
constexpr u32 BFS_PATIENCE = 3;
// Whether rows are packed (compressed). The programs for packed rows define BFS_PACKED. RowSlot is the type of a slot of a row.
#ifdef BFS_PACKED
constexpr bool PACKED = true;
typedef uint4 RowSlot;
#else
constexpr bool PACKED = false;
typedef u32 RowSlot;
#endif

// Maximum number of GPUs that search together.
constexpr u32 BFS_MOST_GPUS = 8;

// One half of all rows, and the slots of one row in a half. The lower half contains the smaller neighbours of each vertex, the upper half the larger
// ones.
typedef RowsOf<RowSlot> Half;
typedef SegmentOf<RowSlot> Segment;

#ifdef BFS_SPREAD
// Location of the rows of a half if they are spread over GPUs. GPU k stores the rows from first[k] to first[k + 1] (exclusive). entries[k] is the
// address at which the half's first entry would be if GPU k stored all rows. For a GPU that does not exist, first[k] is NONE.
struct Spread {
    const RowSlot* entries[BFS_MOST_GPUS];
    u32 first[BFS_MOST_GPUS];
};
#endif

struct Graph {
    Half halves[2];
    // First entry of each vertex's in-row, or NONE.
    const u32* first;
    // Head arrays of in-rows. Array k contains the four entries from index 1 + 4k on, for vertices below wide[k]. If a row has fewer entries, the
    // rest is NONE.
    const uint4* heads[BFS_MOST_HEADS];
    // Leaf counts: the number of neighbours from `tail` on, as a byte for each vertex, and as a 32-bit word for each vertex below `many`.
    const u8* few_leaves;
    const u32* many_leaves;
    u32 vertices;
    // 1 if vertex v has an out-row with index 2v and an in-row with index 2v + 1; 0 if it has a single row with index v.
    u32 shift;
    // Vertices from this one on have one edge (leaves). `tail` is a multiple of BFS_CHUNK, or the number of vertices.
    u32 tail;
    // Vertices from this one on have fewer than 256 edges.
    u32 many;
    // Number of head arrays: as many as fit in GPU memory.
    u32 head_arrays;
    // In-rows of the vertices from wide[k] on have at most 1 + 4k entries.
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

// Queue of the out-rows of a frontier, with an entry for each half of a row that is not empty. The slots of entry i begin at index starts[i] and end
// where the slots of the next entry begin. Vertices without out-rows (sinks) are stored at the end of `vertices`, in reverse order.
struct Queue {
    u32* starts;
    u32* vertices;
    // For each entry, the address of its row minus the size in bytes of all slots before the entry. So the row's slots are addressed by their indices
    // in the queue.
    u64* rows;
};

// Counts of a frontier.
struct Counts {
    u64 vertices;
    // Number of slots in the out-rows of the vertices.
    u64 edges;
    // Number of the vertices' neighbours from `tail` on (leaves), which belong to the next frontier.
    u64 leaves;
    // Number of row entries read to find the frontier.
    u64 checked;
    // Number of entries (low bits) and number of slots (high bits) of the frontier's queue; see BFS_ENTRY_BITS.
    u64 queued;
    // Number of vertices without out-rows, which are at the end of the queue.
    u64 sinks;
    // Number of pieces of long rows that are queued for all warps.
    u64 pieces;
    // Estimated number of slots in the out-rows of the vertices, if the frontier was claimed without a queue. Each vertex is assumed to have the mean
    // number of slots of the vertices from 2^k to 2^(k+1), where k is chosen such that the range contains the vertex.
    u64 estimate;
};

// Codes for how a level was found: top-down with a queue of its rows (QUEUED), top-down by claims without a queue (CLAIMED), or bottom-up. Only a
// QUEUED level has a queue.
constexpr u32 QUEUED = 0;
constexpr u32 BOTTOM_UP = 1;
constexpr u32 CLAIMED = 2;

struct Progress {
    u64 level;
    // Number of steps that all blocks have taken. A step finds one level, or several narrow levels.
    u64 step;
    // Number of slots in the out-rows of the vertices that are in no frontier so far.
    u64 left;
    // Index of the bitmap of all vertices up to this level.
    u32 current;
    // How this level was found (QUEUED, BOTTOM_UP or CLAIMED), and so whether it has a queue.
    u32 found;
    // Number of consecutive levels, up to this one, that were small and found bottom-up.
    u64 few;
    // Number of vertices before `tail` that are in no frontier so far.
    u64 open;
};

struct State {
    GridBarrier barrier;
    // Counts of the frontier of step i, at index i modulo 3. In each step, one element contains the counts of its frontier, the next element receives
    // the counts of the frontier that it finds, and the third element is cleared.
    Counts counts[3];
    Progress progress;
    // Number of levels that this launch has recorded.
    u32 records;
    u32 finished;
};

// Statistics of one level and of the step that starts from it: the level's vertices and leaves; the number of row entries that the step checks, its
// duration, and 1 if it is bottom-up (0 if top-down).
struct Record {
    u64 vertices, leaves, checked, nanoseconds, up;
};

#ifdef BFS_PEERS
// Message of one GPU to another at a barrier of all GPUs: the sender's part of the counts, followed by the sequence number of the barrier.
struct BarrierCounts {
    Counts counts;
    u64 number;
};

// State of the barriers of all GPUs, in the memory of one GPU.
struct GpuBarriers {
    // Messages of each other GPU at the last even-numbered barrier and at the last odd-numbered one.
    BarrierCounts reported[BFS_MOST_GPUS][2];
    // Sequence number of the last barrier that the blocks of this GPU may leave.
    u64 passed;
    // This GPU's part of the counts.
    Counts part;
    // Number of row pieces in the part of the counts that was sent last.
    u64 pieces;
};

// GPUs that search together; bfs_peers.cuh describes the method.
struct Peers {
    // Addresses of the two bitmaps and of the barrier state of each GPU.
    u32* reached[BFS_MOST_GPUS][2];
    GpuBarriers* barriers[BFS_MOST_GPUS];
    // Index of this GPU, and number of GPUs.
    u32 rank, gpus;
};
static_assert(sizeof(GpuBarriers) == 1232 && sizeof(Peers) == 200, "as in kernel_structs.rs");
#endif

struct Search {
    // Two bitmaps of reached vertices.
    u32* reached[2];
    u32* parents;
    // Queue of the even-numbered levels, and queue of the odd-numbered levels.
    Queue queues[2];
    State* state;
    Record* records;
    // Thresholds for the direction. Bottom-up steps begin when the frontier's edges * alpha exceed the remaining edges, and end when the frontier's
    // vertices * beta are fewer than all vertices.
    double alpha, beta;
    // Number of slots in all out-rows.
    u64 slots;
    u32 root;
    // Maximum number of entries of a queue.
    u32 capacity;
    u32 most_records;
    // 1 in the first launch of a search, otherwise 0.
    u32 begins;
    // Minimum number of edges of a frontier from which its neighbours may be claimed without a queue; and base of the minimum from which GPUs divide
    // these claims among themselves (see BFS_SHARED_VERTICES).
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

// Unread rest of a row: the remaining slots of the current half, and the slots of the half that is read later, if any.
struct Rest {
    const RowSlot* at;
    const RowSlot* later;
    u32 length, later_length;
};

// Data of a chunk of BFS_CHUNK vertices that a warp processes in a bottom-up step.
struct Chunk {
    // Vertices without a parent whose further neighbours must be tested, as indices in the chunk; and the unread rows of up to 32 of them.
    u8 open[BFS_CHUNK];
    Rest rests[32];
    // Bitmap of the chunk's vertices that were found after the test of first neighbours.
    u32 found[BFS_CHUNK_WORDS];
};

// Shared memory of a block.
struct Scratch {
    union {
        u32 tile[4 * BFS_THREADS + 1];
        Chunk chunks[BFS_WARPS];
    };
    u64 sums[4][BFS_WARPS];
    u64 place;
    // Data of this step that all threads read, and `clock`, the time at which the previous level was complete. They are in shared memory because in
    // registers they would displace the data on which the steps work.
    Progress at;
    Counts frontier;
    u32 records;
    u64 clock, target;
#ifdef BFS_PEERS
    // Sequence number of the last barrier of all GPUs.
    u64 passed;
#endif
    // Counts of the next frontier, if a single warp finds it.
    Counts found_by_warp;
    // mean_slots[k] is the mean number of slots in the out-rows of the vertices from 2^k to 2^(k+1) (exclusive).
    u32 mean_slots[32];
};

__device__ inline u32 bit_of(u32 vertex) { return 1u << (vertex & 31); }

__device__ inline bool is_in(const u32* bits, u32 vertex) { return bits[vertex >> 5] >> (vertex & 31) & 1; }

__device__ inline u32 out_row(const Graph& g, u32 vertex) { return vertex << g.shift; }
__device__ inline u32 in_row(const Graph& g, u32 vertex) { return (vertex << g.shift) | g.shift; }

// Returns the segment of a row that is in the given half.
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

// Iterator over the neighbours in a slot. src/graph/packed/chunk.rs describes the format of a packed slot. An unpacked slot contains one neighbour.
struct Slot {
    // The next neighbour, or NONE.
    u32 next;
    // Packed differences between the neighbours after `next`, and the number of bits of each difference.
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

// Reads the slot with index `slot` of the row at address `row`.
__device__ inline Slot read_slot(u64 row, u64 slot) {
    if (!PACKED) return {__ldg(reinterpret_cast<const u32*>(row) + slot), 0, 0, 0, 0};
    uint4 chunk = __ldg(reinterpret_cast<const uint4*>(row) + slot);
    return {chunk.x, __funnelshift_r(chunk.y, chunk.z, 5), __funnelshift_r(chunk.z, chunk.w, 5), chunk.w >> 5, chunk.y & 31};
}

// Returns the number of leaves of a vertex: its neighbours from `tail` on.
__device__ inline u32 leaves_of(const Graph& g, u32 vertex) {
    return vertex < g.many ? __ldg(g.many_leaves + vertex) : __ldg(g.few_leaves + vertex);
}

__device__ inline u64 packed(u64 entries, u64 slots) { return slots << BFS_ENTRY_BITS | entries; }
__device__ inline u64 entries_of(u64 queued) { return queued & ((1ull << BFS_ENTRY_BITS) - 1); }
__device__ inline u32 slots_of(u64 queued) { return u32(queued >> BFS_ENTRY_BITS); }

// Returns the increment of a queue's counter for a vertex whose row has these segments. An empty segment has no entry.
__device__ inline u64 packed(const Segment& lower, const Segment& upper) {
    return packed((lower.length > 0) + (upper.length > 0), u64(lower.length) + upper.length);
}

// Stores a vertex without out-rows at the end of the queue's memory, unless the queue is full. `number` is the number of such vertices before it.
__device__ inline void put_sink(const Queue& queue, u32 capacity, u64 number, u32 vertex) {
    if (number < capacity) queue.vertices[capacity - 1 - number] = vertex;
}

// Writes the queue entries of a vertex's row, unless the queue is full. `place` is the value of the queue's counter before these entries.
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

// Contribution of one thread to the counts of the next frontier.
struct Found {
    u32 vertices, leaves, checked;
    u64 edges;
};

// Adds the contributions `found` of all threads of a block to `counts`. The number of edges is added to `*edges`, which is one of the counts.
__device__ inline void add(Counts* counts, u64* edges, const Found& found, Scratch& scratch) {
    u64 parts[4] = {found.vertices, found.edges, found.leaves, found.checked};
    for (u32 k = 0; k < 4; k++) {
        parts[k] = warp_sum(parts[k]);
        if (lane_id() == 0) scratch.sums[k][warp_id()] = parts[k];
    }
    __syncthreads();
    if (warp_id() < 4) {
        u64 sum = warp_sum(scratch.sums[warp_id()][lane_id()]);
        u64* to = warp_id() == 0 ? &counts->vertices : warp_id() == 1 ? edges : warp_id() == 2 ? &counts->leaves : &counts->checked;
        if (lane_id() == 0 && sum > 0) atomicAdd(to, sum);
    }
    __syncthreads();
}
