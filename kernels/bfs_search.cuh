// Breadth-first search from one root, in one cooperative launch for all levels. The graph's vertices are in the order of descending degree.
//
// The grid goes from level to level without the host, with one or two barriers per level, because launches from the host take longer than most
// levels. All blocks make the same decisions, from counts that do not change while a block may read them. The counts of step i are at index i modulo
// 3. The step adds to the next element and clears the third.
//
// The parent of a vertex is its smallest neighbour in the previous level, so the tree depends only on the graph and the root. Before the launch all
// parents are NONE. Vertices from `tail` on have one edge and lead nowhere, so the levels leave them out. At the end, each of them whose neighbour is
// reached gets this neighbour as parent.
//
// A launch ends when the search is finished, or when its array of level records is full. In the second case the host reads the records and launches
// the kernel again.
#pragma once
#include "bfs.cuh"
#include "bfs_bottom_up.cuh"
#include "bfs_narrow.cuh"
#include "bfs_top_down.cuh"

// Begins a search: only the root is reached.
__device__ inline void begin(const Graph& g, const Search& s) {
    u32 words = (g.vertices + BFS_CHUNK - 1) / BFS_CHUNK * BFS_CHUNK_WORDS;
    for (u32 i = blockIdx.x * BFS_THREADS + threadIdx.x; i < words; i += gridDim.x * BFS_THREADS) {
        // Bits after the last vertex count as reached.
        u32 inside = i < g.vertices / 32 ? 32 : i == g.vertices / 32 ? g.vertices % 32 : 0;
        u32 bits = inside == 32 ? 0 : NONE << inside;
        if (s.root >> 5 == i) bits |= bit_of(s.root);
        s.reached[0][i] = s.reached[1][i] = bits;
    }
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    Segment lower = half_of(g, 0, out_row(g, s.root)), upper = half_of(g, 1, out_row(g, s.root));
    put(s.queues[0], s.capacity, 0, s.root, lower, upper);
    s.state->counts[0] = {1, u64(lower.length) + upper.length, leaves_of(g, s.root), 0, packed(lower, upper), 0, 0, 0};
    s.state->counts[1] = s.state->counts[2] = Counts{};
    s.parents[s.root] = s.root;
}

// Ends a search: writes the parents of the vertices from `tail` on, which the levels left out. The parent of an unreached vertex stays NONE.
__device__ inline void finish(const Graph& g, const Search& s, u32 current) {
    const u32* reached = s.reached[current];
    // `tail` is a multiple of four, unless no vertex is left out.
    u32 fours = own_fours(g, s);
    for (u32 i = blockIdx.x * BFS_THREADS + threadIdx.x; i < fours; i += gridDim.x * BFS_THREADS) {
        u64 v = own_four(g, s, i);
        u32 near[4];
        bool whole = v + 4 <= g.vertices;
        if (whole) {
            uint4 all = __ldcs(reinterpret_cast<const uint4*>(g.first + v));
            near[0] = all.x, near[1] = all.y, near[2] = all.z, near[3] = all.w;
        } else {
#pragma unroll
            for (u32 k = 0; k < 4; k++) near[k] = v + k < g.vertices ? __ldcs(g.first + v + k) : NONE;
        }
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            if (near[k] != NONE && !is_in(reached, near[k])) near[k] = NONE;
        }
        if (whole && (s.root < v || s.root >= v + 4)) {
            __stcs(reinterpret_cast<uint4*>(s.parents + v), make_uint4(near[0], near[1], near[2], near[3]));
            continue;
        }
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            if (v + k < g.vertices && v + k != s.root) s.parents[v + k] = near[k];
        }
    }
}

// Reads the counts of the frontier of a step, which other blocks may have written.
__device__ inline Counts counts_of(const Search& s, u64 step) {
    const Counts* from = s.state->counts + step % 3;
    return {fresh(&from->vertices), fresh(&from->edges), fresh(&from->leaves), fresh(&from->checked),
            fresh(&from->queued),   fresh(&from->sinks), fresh(&from->pieces), fresh(&from->estimate)};
}

__device__ inline Progress progress_of(const Search& s) {
    const Progress* from = &s.state->progress;
    return {fresh(&from->level), fresh(&from->step), fresh(&from->left), fresh(&from->current),
            fresh(&from->found), fresh(&from->few),  fresh(&from->open)};
}

// Returns true if the frontier has so few vertices (by the rule of `beta`) that a top-down step reads few rows.
__device__ inline bool is_few(const Graph& g, const Search& s, const Scratch& scratch) {
    return double(scratch.frontier.vertices) * s.beta < double(g.vertices);
}

// Returns true if a frontier without a queue needs one. There are two cases: the frontier was claimed, and the estimate of its edges allows a
// top-down step; or several consecutive levels with few vertices were found bottom-up. The result must not depend on the counts of queued rows, which
// blocks that are ahead may already be changing.
__device__ inline bool needs_queue(const Graph& g, const Search& s, const Scratch& scratch) {
    if (scratch.at.found == CLAIMED) return double(scratch.frontier.estimate) * s.alpha <= double(scratch.at.left);
    return scratch.at.found == BOTTOM_UP && is_few(g, s, scratch) && scratch.at.few >= BFS_PATIENCE;
}

// Takes one step from the frontier in `scratch`; all blocks take the same step. Returns false if the block must exit.
__device__ inline bool take_step(const Graph& g, const Search& s, Scratch& scratch) {
    GridBarrier* barrier = &s.state->barrier;
    const bool tells = blockIdx.x == 0 && threadIdx.x == 0;
    bool has_queue = scratch.at.found == QUEUED;
    if (needs_queue(g, s, scratch)) {
        // Wait for other GPUs, which may still be sending their claims.
        if (HAS_PEERS && scratch.at.found == CLAIMED && !barrier_of_all(s, barrier, scratch)) return false;
        queue_frontier(g, s, scratch);
        if (!grid_barrier(barrier, scratch.target)) return false;
        if (threadIdx.x == 0) scratch.frontier = counts_of(s, scratch.at.step);
        __syncthreads();
        has_queue = true;
    }
    bool down = has_queue && goes_down(s, scratch);
    if (tells) s.state->counts[(scratch.at.step + 2) % 3] = Counts{};
    if (down && is_narrow(scratch.frontier)) {
        // Wait until all threads have read the data that one warp changes next.
        __syncthreads();
        if (blockIdx.x == 0 && warp_id() == 0) narrow_levels(g, s, scratch);
        if (!grid_barrier(barrier, scratch.target)) return false;
        if (threadIdx.x == 0) {
            scratch.at = progress_of(s);
            scratch.records = fresh(&s.state->records);
        }
        return true;
    }
    bool unqueued = down && leads_to_many(g, s, scratch);
    if (unqueued) {
        bool shared = is_shared(g, s, scratch);
        claim_unqueued(g, s, scratch, shared);
        if (!(shared ? barrier_of_all(s, barrier, scratch) : grid_barrier(barrier, scratch.target))) return false;
        if (shared) put_claims(g, s, scratch);
    } else if (down) {
        claim_next(g, s, scratch);
        if (!grid_barrier(barrier, scratch.target)) return false;
    } else {
        if (!begin_bottom_up(s, barrier, scratch, has_queue || scratch.at.found == CLAIMED)) return false;
        find_next(g, s, scratch);
        if (!barrier_of_all(s, barrier, scratch)) return false;
        if (fresh(&s.state->counts[(scratch.at.step + 1) % 3].pieces) > 0) {
            test_pieces(g, s, scratch);
            if (HAS_PEERS && !grid_barrier(barrier, scratch.target)) return false;
            if (HAS_PEERS) put_pieces(s, scratch);
            if (!barrier_of_all(s, barrier, scratch)) return false;
        }
    }
    // Wait until all threads have read the data that the first thread changes next.
    __syncthreads();
    if (threadIdx.x == 0) {
        u64 checked = down && !PACKED ? scratch.frontier.edges : fresh(&s.state->counts[(scratch.at.step + 1) % 3].checked);
        if (tells) tell(s, scratch, checked, !down);
        Progress& at = scratch.at;
        if (has_queue) at.left -= min(at.left, scratch.frontier.edges);
        at.open -= min(at.open, scratch.frontier.vertices);
        at.current ^= 1;
        at.few = down ? 0 : at.few + is_few(g, s, scratch);
        at.found = unqueued ? CLAIMED : down ? QUEUED : BOTTOM_UP;
        at.level++;
        at.step++;
        scratch.records++;
    }
    return true;
}

// Runs the levels of a search until it is finished or the array of records is full. All threads of the grid call it.
__device__ inline void search_levels(const Graph& g, const Search& s, Scratch& scratch) {
    if (threadIdx.x == 0) {
        scratch.at = s.begins ? Progress{0, 0, s.slots, 0, QUEUED, 0, g.tail} : progress_of(s);
        scratch.records = 0;
        scratch.clock = GLOBAL_TIMER();
        scratch.target = 0;
        join_peers(s, scratch);
    }
    if (HAS_PEERS && fresh(&s.state->barrier.broken)) return;
    if (s.begins) begin(g, s);
    if (!grid_barrier(&s.state->barrier, scratch.target)) return;
    while (true) {
        if (threadIdx.x == 0) scratch.frontier = counts_of(s, scratch.at.step);
        __syncthreads();
        if (scratch.frontier.vertices == 0 || scratch.records == s.most_records) break;
        if (!take_step(g, s, scratch)) return;
    }
    bool ends = scratch.frontier.vertices == 0;
    if (ends) finish(g, s, scratch.at.current);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        s.state->progress = scratch.at;
        s.state->records = scratch.records;
        s.state->finished = ends;
    }
}
