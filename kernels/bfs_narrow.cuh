// Levels of few edges, one after the other by a single warp: barriers of the whole grid would take most of the time.
#pragma once
#include "bfs_top_down.cuh"

// Claims the next frontier from a slot of each lane, and queues its rows. `found` are those so far.
__device__ inline void claim_by_warp(const Graph& g, const Search& s, u32* claimed, const Queue& next, u32 from, u32 to, Counts& found) {
    bool mine = to != NONE && claim(g, s, claimed, from, to);
    Segment lower = {nullptr, 0}, upper = {nullptr, 0};
    u32 leaves = 0;
    if (mine) {
        lower = segment_of(g.halves[0], out_row(g, to));
        upper = segment_of(g.halves[1], out_row(g, to));
        leaves = leaves_of(g, to);
    }
    u32 claims = __ballot_sync(ALL_LANES, mine);
    if (claims == 0) return;
    bool is_sink = mine && lower.length + u64(upper.length) == 0;
    u32 sinks = __ballot_sync(ALL_LANES, is_sink);
    if (is_sink) put_sink(next, s.capacity, found.sinks + __popc(sinks & ((1u << lane_id()) - 1)), to);
    found.sinks += __popc(sinks);
    u64 before = packed(lower, upper), edges = u64(lower.length) + upper.length;
    for (u32 step = 1; step < 32; step *= 2) {
        u64 below = __shfl_up_sync(ALL_LANES, before, step);
        if (lane_id() >= step) before += below;
    }
    u64 total = __shfl_sync(ALL_LANES, before, 31);
    if (mine) put(next, s.capacity, found.queued + before - packed(lower, upper), to, lower, upper);
    found.queued += total;
    for (int step = 16; step > 0; step /= 2) edges += __shfl_xor_sync(ALL_LANES, edges, step);
    found.vertices += __popc(claims);
    found.edges += edges;
    found.leaves += warp_sum(leaves);
}

// Goes from one level to the next, by a frontier of at most BFS_NARROW slots.
__device__ inline Counts narrow_level(const Graph& g, const Search& s, const Progress& at, const Counts& frontier, u32* starts) {
    const Queue queue = s.queues[at.level & 1], next = s.queues[~at.level & 1];
    u32 *claimed = s.reached[at.current], *before = s.reached[at.current ^ 1];
    u32 entries = u32(entries_of(frontier.queued)), slots = slots_of(frontier.queued);
    for (u32 i = lane_id(); i < entries; i += 32) starts[i] = queue.starts[i];
    mark(s, queue, frontier, before, lane_id(), 32);
    __syncwarp();
    Counts found = {};
    found.checked = frontier.edges;
    for (u32 pass = 0; pass < (frontier.vertices > 1 ? 2 : 1); pass++) {
        for (u32 base = 0; base < slots; base += 32) {
            u32 slot = base + lane_id(), from = NONE, to = NONE;
            if (slot < slots) {
                u32 i = last_start_upto(starts, entries, slot);
                from = queue.vertices[i];
                to = __ldg(reinterpret_cast<const u32*>(queue.rows[i]) + slot);
            }
            if (pass == 0) claim_by_warp(g, s, claimed, next, from, to, found);
            else if (to != NONE) lower_parent(g, s, before, from, to);
        }
        __syncwarp();
    }
    return found;
}

// Returns true if a frontier is to be expanded from its queue, by the rule of `alpha` and the room there is.
__device__ inline bool goes_down(const Search& s, const Counts& frontier, u64 left) {
    bool fits = entries_of(frontier.queued) + frontier.sinks <= s.capacity && frontier.edges < BFS_MOST_SLOTS;
    return fits && double(frontier.edges) * s.alpha <= double(left);
}

// Goes on from level to level as long as they are narrow and are found top-down. One warp calls this while all other blocks wait, or are still
// about to read this step's counts: only the next step's are written, as in any step.
__device__ inline void narrow_levels(const Graph& g, const Search& s, Progress at, Counts frontier, u32 records, u64& clock, u32* starts) {
    Counts* next = s.state->counts + (at.step + 1) % 3;
    while (frontier.vertices > 0 && records < s.most_records && slots_of(frontier.queued) <= BFS_NARROW && goes_down(s, frontier, at.left)) {
        Counts found = narrow_level(g, s, at, frontier, starts);
        if (lane_id() == 0) {
            u64 now = GLOBAL_TIMER();
            s.records[records] = {frontier.vertices, frontier.leaves, found.checked, now - clock, 0};
            clock = now;
        }
        at.left -= min(at.left, frontier.edges);
        at.level++;
        records++;
        frontier = found;
    }
    if (lane_id() == 0) {
        at.step++;
        at.up = 0;
        *next = frontier;
        s.state->progress = at;
        s.state->records = records;
    }
}
