// Breadth-first search by several GPUs of one machine. Each GPU runs the search in its own kernel and can access the memory of the other GPUs.
//
// Chunks of vertices are assigned to the GPUs in turn. In a bottom-up step, a GPU looks for parents of its own vertices only, writes new bits to the
// bitmaps of all GPUs, and waits for all GPUs. Then all GPUs begin the next step with the sums of all counts. In a short top-down step, each GPU
// follows all edges by itself, and all GPUs compute the same result. So if every GPU stores all rows, GPUs exchange only bits and counts, by plain
// stores. If rows are spread over the GPUs, each GPU reads other rows from the memory of the other GPUs. At the end, the parent of each vertex is on
// the GPU to which the vertex belongs.
//
// There is also a barrier of all GPUs before a bottom-up step that follows another kind of step. Otherwise a GPU that is ahead could write to bitmaps
// that others still read.
//
// The programs for one GPU contain trivial versions of these functions, which do nothing or wait at a barrier of the grid.
#pragma once
#include "bfs.cuh"

#ifdef BFS_PEERS
constexpr bool HAS_PEERS = true;

__device__ inline u32 gpus_of(const Search& s) { return s.peers.gpus; }

// Returns how many of `chunks` consecutive chunks belong to this GPU; `first` is the index of the first of these chunks.
__device__ inline u32 own_chunks(const Search& s, u32 chunks, u32 first = 0) {
    u32 mine = (s.peers.rank + s.peers.gpus - first % s.peers.gpus) % s.peers.gpus;
    return chunks > mine ? (chunks - mine - 1) / s.peers.gpus + 1 : 0;
}

// Returns the index of the i-th chunk that belongs to this GPU, among the chunks from `first` on. The index is relative to `first`.
__device__ inline u32 own_chunk(const Search& s, u32 i, u32 first = 0) {
    return i * s.peers.gpus + (s.peers.rank + s.peers.gpus - first % s.peers.gpus) % s.peers.gpus;
}

// Returns true if a vertex belongs to this GPU.
__device__ inline bool is_own(const Search& s, u32 vertex) { return vertex / BFS_CHUNK % s.peers.gpus == s.peers.rank; }

// Writes bitmap word `at`, which contains only vertices of this GPU, to the bitmap with index `bitmap` of every GPU. The unnamed parameter is the
// address of this GPU's bitmap; only the version for one GPU uses it.
__device__ inline void put_word(const Search& s, u32 bitmap, u32*, u32 at, u32 word) {
    for (u32 gpu = 0; gpu < s.peers.gpus; gpu++) s.peers.reached[gpu][bitmap][at] = word;
}

// own_fours returns how many groups of four vertices, among the vertices from `tail` on, belong to this GPU. own_four returns the first vertex of the
// i-th of these groups.
__device__ inline u32 own_fours(const Graph& g, const Search& s) {
    u32 chunks = (g.vertices - g.tail) / BFS_CHUNK + ((g.vertices - g.tail) % BFS_CHUNK > 0);
    return own_chunks(s, chunks, g.tail / BFS_CHUNK) * (BFS_CHUNK / 4);
}
__device__ inline u64 own_four(const Graph& g, const Search& s, u32 i) {
    return g.tail + u64(own_chunk(s, i / (BFS_CHUNK / 4), g.tail / BFS_CHUNK)) * BFS_CHUNK + 4 * (i % (BFS_CHUNK / 4));
}

constexpr u32 COUNTS = sizeof(Counts) / sizeof(u64);

// Sends this GPU's counts to all GPUs, and waits until all have sent theirs for the barrier with sequence number `number`. Adds the counts of all
// GPUs to `*sum`, unless `sum` is null. One thread calls this, after all blocks of this GPU have arrived. Returns false if another GPU does not
// arrive in time.
__device__ inline bool meet_gpus(const Search& s, u64 number, Counts* sum) {
    const Peers& peers = s.peers;
    GpuBarriers* mine = peers.barriers[peers.rank];
    u64* part = reinterpret_cast<u64*>(&mine->part);
    for (u32 gpu = 0; gpu < peers.gpus; gpu++) {
        if (gpu == peers.rank) continue;
        u64* slot = reinterpret_cast<u64*>(&peers.barriers[gpu]->reported[peers.rank][number & 1].counts);
        for (u32 k = 0; k < COUNTS; k++) slot[k] = fresh(part + k);
    }
    // Everything that this GPU wrote must become visible before the sequence number does.
    __threadfence_system();
    for (u32 gpu = 0; gpu < peers.gpus; gpu++) {
        if (gpu == peers.rank) continue;
        volatile u64* slot = &peers.barriers[gpu]->reported[peers.rank][number & 1].number;
        *slot = number;
    }
    for (u32 gpu = 0; gpu < peers.gpus; gpu++) {
        if (gpu == peers.rank) continue;
        if (!wait_for<true>(&s.state->barrier, &mine->reported[gpu][number & 1].number, number)) return false;
    }
    __threadfence_system();
    mine->pieces = fresh(&mine->part.pieces);
    for (u32 k = 0; k < COUNTS; k++) {
        u64 all = fresh(part + k);
        for (u32 gpu = 0; gpu < peers.gpus; gpu++) {
            if (gpu != peers.rank) all += fresh(reinterpret_cast<u64*>(&mine->reported[gpu][number & 1].counts) + k);
        }
        if (sum) reinterpret_cast<u64*>(sum)[k] = fresh(reinterpret_cast<u64*>(sum) + k) + all;
        part[k] = 0;
    }
    __threadfence();
    *const_cast<volatile u64*>(&mine->passed) = number;
    return true;
}

// Waits until all blocks of all GPUs have arrived, as grid_barrier does for the blocks of one GPU. Adds what every GPU has counted in `next_counts`
// to the counts of the next frontier.
__device__ inline bool barrier_of_all(const Search& s, GridBarrier* barrier, Scratch& scratch) {
    bool whole = true;
    __syncthreads();
    if (threadIdx.x == 0) {
        scratch.target += gridDim.x;
        scratch.passed++;
        __threadfence_system();
        // The last block to arrive waits for the other GPUs.
        bool is_last = atomicAdd(&barrier->arrived, 1ull) + 1 == scratch.target;
        if (is_last) {
            __threadfence_system();
            whole = meet_gpus(s, scratch.passed, s.state->counts + (scratch.at.step + 1) % 3);
        } else {
            whole = wait_for(barrier, &s.peers.barriers[s.peers.rank]->passed, scratch.passed);
        }
        __threadfence_system();
    }
    return __syncthreads_and(whole);
}

// Waits for all GPUs before a bottom-up step if `others_may_lag`: other GPUs may still be in an earlier step of another kind.
__device__ inline bool begin_bottom_up(const Search& s, GridBarrier* barrier, Scratch& scratch, bool others_may_lag) {
    return !others_may_lag || barrier_of_all(s, barrier, scratch);
}

// Returns the counts to which this GPU adds in a step that ends with barrier_of_all.
__device__ inline Counts* next_counts(const Search& s, const Scratch&) { return &s.peers.barriers[s.peers.rank]->part; }

// Returns the number of pieces of long rows that the blocks of this GPU have queued, to be shared by all of its warps.
__device__ inline u64 own_pieces(const Search& s, const Counts*) { return fresh(&s.peers.barriers[s.peers.rank]->pieces); }

__device__ inline void join_peers(const Search& s, Scratch& scratch) {
    scratch.passed = fresh(&s.peers.barriers[s.peers.rank]->passed);
}

#else
constexpr bool HAS_PEERS = false;

__device__ inline u32 gpus_of(const Search&) { return 1; }
__device__ inline u32 own_chunk(const Search&, u32 i) { return i; }
__device__ inline bool is_own(const Search&, u32) { return true; }
__device__ inline u32 own_fours(const Graph& g, const Search&) { return (g.vertices - g.tail) / 4 + ((g.vertices - g.tail) % 4 > 0); }
__device__ inline u64 own_four(const Graph& g, const Search&, u32 i) { return u64(g.tail) + 4 * u64(i); }
__device__ inline void put_word(const Search&, u32, u32* bits, u32 at, u32 word) { bits[at] = word; }
__device__ inline bool barrier_of_all(const Search&, GridBarrier* barrier, Scratch& scratch) { return grid_barrier(barrier, scratch.target); }
__device__ inline bool begin_bottom_up(const Search&, GridBarrier*, Scratch&, bool) { return true; }
__device__ inline Counts* next_counts(const Search& s, const Scratch& scratch) { return s.state->counts + (scratch.at.step + 1) % 3; }
__device__ inline u64 own_pieces(const Search&, const Counts* counts) { return fresh(&counts->pieces); }
__device__ inline void join_peers(const Search&, Scratch&) {}
#endif
