// Searches by several GPUs of one machine, each of which runs the search in a kernel of its own and reaches the others' memory.
//
// Chunks of vertices belong to the GPUs in turn. Bottom-up, a GPU looks for parents of its own vertices alone, writes the bits that are new to
// all bitmaps, and waits for all GPUs: then the next step begins everywhere, by the sums of all counts. Top-down steps, which are short, are
// taken by each GPU by itself, with the same outcome. So nothing but bits and counts goes from one GPU to another, by plain stores, where all
// have all rows; where rows are spread, each reads those of others from their memory. At the end each vertex has its parent on the GPU that it
// belongs to.
//
// Before steps bottom-up that follow others there is a barrier, too: a GPU that is ahead must not write to bitmaps that are still read.
//
// In programs for one GPU all of this is nothing, or a barrier of the grid.
#pragma once
#include "bfs.cuh"

#ifdef BFS_PEERS
constexpr bool HAS_PEERS = true;

__device__ inline u32 gpus_of(const Search& s) { return s.peers.gpus; }

// Returns how many of `chunks` chunks, the first of which has this number, are this GPU's.
__device__ inline u32 own_chunks(const Search& s, u32 chunks, u32 first = 0) {
    u32 mine = (s.peers.rank + s.peers.gpus - first % s.peers.gpus) % s.peers.gpus;
    return chunks > mine ? (chunks - mine - 1) / s.peers.gpus + 1 : 0;
}

// Returns chunk `i` of those.
__device__ inline u32 own_chunk(const Search& s, u32 i, u32 first = 0) {
    return i * s.peers.gpus + (s.peers.rank + s.peers.gpus - first % s.peers.gpus) % s.peers.gpus;
}

// Returns true if a vertex is this GPU's.
__device__ inline bool is_own(const Search& s, u32 vertex) { return vertex / BFS_CHUNK % s.peers.gpus == s.peers.rank; }

// Writes a word of own vertices to a bitmap of every GPU; the address is that of this one's.
__device__ inline void put_word(const Search& s, u32 bitmap, u32*, u32 at, u32 word) {
    for (u32 gpu = 0; gpu < s.peers.gpus; gpu++) s.peers.reached[gpu][bitmap][at] = word;
}

// Returns how often four vertices from `tail` on are this GPU's, and the first of such four.
__device__ inline u32 own_fours(const Graph& g, const Search& s) {
    u32 chunks = (g.vertices - g.tail) / BFS_CHUNK + ((g.vertices - g.tail) % BFS_CHUNK > 0);
    return own_chunks(s, chunks, g.tail / BFS_CHUNK) * (BFS_CHUNK / 4);
}
__device__ inline u64 own_four(const Graph& g, const Search& s, u32 i) {
    return g.tail + u64(own_chunk(s, i / (BFS_CHUNK / 4), g.tail / BFS_CHUNK)) * BFS_CHUNK + 4 * (i % (BFS_CHUNK / 4));
}

constexpr u32 COUNTS = sizeof(Counts) / sizeof(u64);

// Tells all GPUs what this one counted, waits until all have told barrier `number`, and adds all parts to `sum` if there is one. One thread
// calls this once all blocks are there. Returns false if another GPU does not come.
__device__ inline bool meet_gpus(const Search& s, u64 number, Counts* sum) {
    const Peers& peers = s.peers;
    Meeting* mine = peers.meetings[peers.rank];
    u64* part = reinterpret_cast<u64*>(&mine->part);
    for (u32 gpu = 0; gpu < peers.gpus; gpu++) {
        if (gpu == peers.rank) continue;
        u64* told = reinterpret_cast<u64*>(&peers.meetings[gpu]->told[peers.rank][number & 1].counts);
        for (u32 k = 0; k < COUNTS; k++) told[k] = fresh(part + k);
    }
    // All that this GPU wrote is there before the number says so.
    __threadfence_system();
    for (u32 gpu = 0; gpu < peers.gpus; gpu++) {
        if (gpu == peers.rank) continue;
        volatile u64* told = &peers.meetings[gpu]->told[peers.rank][number & 1].number;
        *told = number;
    }
    for (u32 gpu = 0; gpu < peers.gpus; gpu++) {
        if (gpu == peers.rank) continue;
        if (!wait_for<true>(&s.state->barrier, &mine->told[gpu][number & 1].number, number)) return false;
    }
    __threadfence_system();
    mine->pieces = fresh(&mine->part.pieces);
    for (u32 k = 0; k < COUNTS; k++) {
        u64 all = fresh(part + k);
        for (u32 gpu = 0; gpu < peers.gpus; gpu++) {
            if (gpu != peers.rank) all += fresh(reinterpret_cast<u64*>(&mine->told[gpu][number & 1].counts) + k);
        }
        if (sum) reinterpret_cast<u64*>(sum)[k] = fresh(reinterpret_cast<u64*>(sum) + k) + all;
        part[k] = 0;
    }
    __threadfence();
    *const_cast<volatile u64*>(&mine->passed) = number;
    return true;
}

// Waits until all blocks of all GPUs are here, as grid_barrier does for those of one, and adds what they counted in `next_counts` to the counts of
// the next frontier.
__device__ inline bool barrier_of_all(const Search& s, GridBarrier* barrier, Scratch& scratch) {
    bool whole = true;
    __syncthreads();
    if (threadIdx.x == 0) {
        scratch.target += gridDim.x;
        scratch.passed++;
        __threadfence_system();
        // The last block to come meets the other GPUs.
        bool is_last = atomicAdd(&barrier->arrived, 1ull) + 1 == scratch.target;
        if (is_last) {
            __threadfence_system();
            whole = meet_gpus(s, scratch.passed, s.state->counts + (scratch.at.step + 1) % 3);
        } else {
            whole = wait_for(barrier, &s.peers.meetings[s.peers.rank]->passed, scratch.passed);
        }
        __threadfence_system();
    }
    return __syncthreads_and(whole);
}

// Waits for all GPUs before a step bottom-up, if others may still be at another step.
__device__ inline bool begin_bottom_up(const Search& s, GridBarrier* barrier, Scratch& scratch, bool others_may_lag) {
    return !others_may_lag || barrier_of_all(s, barrier, scratch);
}

// Returns what a step bottom-up counts in.
__device__ inline Counts* next_counts(const Search& s, const Scratch&) { return &s.peers.meetings[s.peers.rank]->part; }

// Returns the pieces of rows that this GPU's warps have left over.
__device__ inline u64 own_pieces(const Search& s, const Counts*) { return fresh(&s.peers.meetings[s.peers.rank]->pieces); }

__device__ inline void join_peers(const Search& s, Scratch& scratch) {
    scratch.passed = fresh(&s.peers.meetings[s.peers.rank]->passed);
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
