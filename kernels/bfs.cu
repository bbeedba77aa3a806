// Breadth-first search of a graph whose vertices are in order of degree, from one root, in one cooperative launch for all levels.
//
// The grid goes from level to level by itself, with a barrier or two for each: launches from the host take longer than most levels. All
// blocks decide alike what a step does, by counts that do not change while any of them may read these: those of step i lie in slot i modulo
// 3, the step adds to the next slot and clears the third.
//
// The parent of a vertex is its smallest neighbour in the level before, so that the answer depends on nothing but the graph and the root.
// Vertices from `tail` on have one edge: they lead nowhere, so they are left out until the end, and then looked up.
//
// A launch ends when all is found, or when its records of levels are full: the host reads these, and launches it again to go on.
#include "bfs.cuh"
#include "bfs_bottom_up.cuh"
#include "bfs_narrow.cuh"
#include "bfs_top_down.cuh"

// Begins a search: no vertex but the root is reached.
__device__ inline void begin(const Graph& g, const Search& s) {
    u32 words = (g.vertices + BFS_CHUNK - 1) / BFS_CHUNK * BFS_CHUNK_WORDS;
    for (u32 i = blockIdx.x * BFS_THREADS + threadIdx.x; i < words; i += gridDim.x * BFS_THREADS) {
        // Bits past the end count as reached.
        u32 inside = i < g.vertices / 32 ? 32 : i == g.vertices / 32 ? g.vertices % 32 : 0;
        u32 bits = inside == 32 ? 0 : NONE << inside;
        if (s.root >> 5 == i) bits |= bit_of(s.root);
        s.reached[0][i] = s.reached[1][i] = bits;
    }
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    Segment lower = segment_of(g.halves[0], out_row(g, s.root)), upper = segment_of(g.halves[1], out_row(g, s.root));
    put(s.queues[0], s.capacity, 0, s.root, lower, upper);
    s.state->counts[0] = {1, u64(lower.length) + upper.length, leaves_of(g, s.root), 0, packed(lower, upper), 0, 0};
    s.state->counts[1] = s.state->counts[2] = Counts{};
    s.parents[s.root] = s.root;
}

// Ends a search: vertices that are not reached have no parent, and those left out get theirs.
__device__ inline void finish(const Graph& g, const Search& s, u32 current) {
    const u32* reached = s.reached[current];
    u32 words = (g.tail + 31) / 32;
    u32 warp = blockIdx.x * BFS_WARPS + warp_id(), warps = gridDim.x * BFS_WARPS;
    for (u64 base = u64(warp) * 32; base < words; base += u64(warps) * 32) {
        u32 word = base + lane_id() < words ? fresh(reached + base + lane_id()) : NONE;
        for (u32 rest = __ballot_sync(ALL_LANES, word != NONE); rest != 0; rest &= rest - 1) {
            u32 k = __ffs(rest) - 1;
            bool is_open = !(__shfl_sync(ALL_LANES, word, k) >> lane_id() & 1);
            if (is_open) s.parents[(base + k) * 32 + lane_id()] = NONE;
        }
    }
    for (u64 v = u64(g.tail) + blockIdx.x * BFS_THREADS + threadIdx.x; v < g.vertices; v += u64(gridDim.x) * BFS_THREADS) {
        u32 near = __ldcs(g.first + v);
        if (v != s.root) s.parents[v] = near != NONE && is_in(reached, near) ? near : NONE;
    }
}

// Copies counts that other blocks made.
__device__ inline Counts counts_of(const Search& s, u64 step) {
    const Counts* from = s.state->counts + step % 3;
    return {fresh(&from->vertices), fresh(&from->edges),  fresh(&from->leaves),
            fresh(&from->checked),  fresh(&from->queued), fresh(&from->sinks),
            fresh(&from->pieces)};
}

__device__ inline Progress progress_of(const Search& s) {
    const Progress* from = &s.state->progress;
    return {fresh(&from->level), fresh(&from->step), fresh(&from->left), fresh(&from->current), fresh(&from->up)};
}

extern "C" __global__ void __launch_bounds__(BFS_THREADS, 1)
    bfs_search(const __grid_constant__ Graph g, const __grid_constant__ Search s) {
    __shared__ Scratch scratch;
    const bool tells = blockIdx.x == 0 && threadIdx.x == 0;
    GridBarrier* barrier = &s.state->barrier;
    u64 target = 0, clock = GLOBAL_TIMER();
    u32 records = 0;
    Progress at = {0, 0, s.entries, 0, 0};
    if (s.begins) begin(g, s);
    else at = progress_of(s);
    if (!grid_barrier(barrier, target)) return;
    while (true) {
        Counts frontier = counts_of(s, at.step);
        if (frontier.vertices == 0 || records == s.most_records) break;
        bool has_queue = !at.up;
        if (at.up && double(frontier.vertices) * s.beta < double(g.vertices)) {
            queue_frontier(g, s, at, scratch);
            if (!grid_barrier(barrier, target)) return;
            frontier = counts_of(s, at.step);
            has_queue = true;
        }
        bool down = has_queue && goes_down(s, frontier, at.left);
        if (tells) s.state->counts[(at.step + 2) % 3] = Counts{};
        if (down && slots_of(frontier.queued) <= BFS_NARROW) {
            if (blockIdx.x == 0 && warp_id() == 0) narrow_levels(g, s, at, frontier, records, clock, scratch.tile);
            if (!grid_barrier(barrier, target)) return;
            at = progress_of(s);
            records = fresh(&s.state->records);
            continue;
        }
        if (down) {
            claim_next(g, s, at, frontier, scratch);
            if (!grid_barrier(barrier, target)) return;
            if (frontier.vertices > 1) {
                lower_parents(g, s, at, frontier, scratch);
                if (!grid_barrier(barrier, target)) return;
            }
        } else {
            find_next(g, s, at, scratch);
            if (!grid_barrier(barrier, target)) return;
            if (counts_of(s, at.step + 1).pieces > 0) {
                test_pieces(g, s, at, scratch);
                if (!grid_barrier(barrier, target)) return;
            }
            at.current ^= 1;
        }
        if (tells) {
            u64 now = GLOBAL_TIMER(), checked = down ? frontier.edges : fresh(&s.state->counts[(at.step + 1) % 3].checked);
            s.records[records] = {frontier.vertices, frontier.leaves, checked, now - clock, !down};
            clock = now;
        }
        if (has_queue) at.left -= min(at.left, frontier.edges);
        at.up = !down;
        at.level++;
        at.step++;
        records++;
    }
    bool ends = counts_of(s, at.step).vertices == 0;
    if (ends) finish(g, s, at.current);
    if (tells) {
        s.state->progress = at;
        s.state->records = records;
        s.state->finished = ends;
    }
}
