// Computes levels with few edges in a single warp, one level after the other, because barriers of the whole grid would take most of the time.
#pragma once
#include "bfs_top_down.cuh"

// Claims up to one vertex per lane for the next frontier, and queues the rows of the claimed vertices. The edge of a lane leads from `from` to `to`,
// or `to` is NONE. `found` contains the counts of the next frontier so far.
__device__ inline void claim_by_warp(const Graph& g, const Search& s, const u32* reached, u32* after, const Queue& next, u32 from, u32 to,
                                     Counts& found) {
    bool mine = to != NONE && claim(g, s, reached, after, from, to);
    u32 claims = __ballot_sync(ALL_LANES, mine);
    if (claims == 0) return;
    u64 edges = 0, own = 0;
    if (mine) {
        Segment lower = half_of(g, 0, out_row(g, to)), upper = half_of(g, 1, out_row(g, to));
        edges = u64(lower.length) + upper.length;
        own = packed(lower, upper);
    }
    edges = warp_sum(edges);
    if (lane_id() == 0) found.edges += edges;
    u32 sinks = __ballot_sync(ALL_LANES, mine && own == 0);
    u64 upto = warp_scan(own);
    if (own > 0) {
        Segment lower = half_of(g, 0, out_row(g, to)), upper = half_of(g, 1, out_row(g, to));
        put(next, s.capacity, found.queued + upto - own, to, lower, upper);
    } else if (mine) {
        put_sink(next, s.capacity, found.sinks + __popc(sinks & ((1u << lane_id()) - 1)), to);
    }
    u32 leaves = warp_sum(mine ? leaves_of(g, to) : 0);
    u64 queued = __shfl_sync(ALL_LANES, upto, 31);
    __syncwarp();
    if (lane_id() == 0) {
        found.vertices += __popc(claims);
        found.leaves += leaves;
        found.queued += queued;
        found.sinks += __popc(sinks);
    }
    __syncwarp();
}

// Writes the record of a level and of the step that starts from it. One thread calls it.
__device__ inline void tell(const Search& s, Scratch& scratch, u64 checked, bool up) {
    u64 now = GLOBAL_TIMER();
    s.records[scratch.records] = {scratch.frontier.vertices, scratch.frontier.leaves, checked, now - scratch.clock, up};
    scratch.clock = now;
}

// Returns true if the frontier should be expanded top-down from its queue: the whole frontier fits the queue, and by the rule of `alpha` its edges
// are too few for a bottom-up step.
__device__ inline bool goes_down(const Search& s, const Scratch& scratch) {
    const Counts& frontier = scratch.frontier;
    bool fits = entries_of(frontier.queued) + frontier.sinks <= s.capacity && frontier.edges < BFS_MOST_SLOTS;
    return fits && double(frontier.edges) * s.alpha <= double(scratch.at.left);
}

// Returns true if a single warp should expand a frontier from its queue. A packed slot contains many neighbours, so the maximum number of slots is
// smaller if rows are packed.
__device__ inline bool is_narrow(const Counts& frontier) { return slots_of(frontier.queued) <= (PACKED ? BFS_NARROW / 4 : BFS_NARROW); }

// Goes from one level to the next, in one warp. The frontier has at most BFS_NARROW slots. Writes the counts of the next frontier to
// `scratch.found_by_warp`.
__device__ inline void narrow_level(const Graph& g, const Search& s, Scratch& scratch) {
    const Queue queue = s.queues[scratch.at.level & 1], next = s.queues[~scratch.at.level & 1];
    const u32* reached = s.reached[scratch.at.current];
    u32 *after = s.reached[scratch.at.current ^ 1], *starts = scratch.tile;
    u32 entries = u32(entries_of(scratch.frontier.queued)), slots = slots_of(scratch.frontier.queued);
    for (u32 i = lane_id(); i < entries; i += 32) starts[i] = queue.starts[i];
    mark(s, queue, scratch.frontier, after, lane_id(), 32);
    if (lane_id() == 0) scratch.found_by_warp = Counts{};
    __syncwarp();
#pragma unroll 1
    for (u32 base = 0; base < slots; base += 32) {
        u32 slot = base + lane_id(), from = NONE, checked = 0;
        Slot near = no_slot();
        if (slot < slots) {
            u32 i = last_start_upto(starts, entries, slot);
            from = queue.vertices[i];
            near = read_slot(queue.rows[i], slot);
        }
        do {
            claim_by_warp(g, s, reached, after, next, from, near.next, scratch.found_by_warp);
            checked += near.next != NONE;
            go_on(near);
        } while (PACKED && __any_sync(ALL_LANES, near.next != NONE));
        checked = warp_sum(checked);
        if (lane_id() == 0) scratch.found_by_warp.checked += checked;
        __syncwarp();
    }
    __syncwarp();
}

// Goes from level to level as long as levels are narrow and found top-down. One warp calls this, while the other warps of its block wait. Other
// blocks wait too, or may still read the counts of this step. So only the counts of the next step are written, as in any step.
__device__ inline void narrow_levels(const Graph& g, const Search& s, Scratch& scratch) {
    do {
        narrow_level(g, s, scratch);
        if (lane_id() == 0) {
            tell(s, scratch, scratch.found_by_warp.checked, false);
            scratch.at.left -= min(scratch.at.left, scratch.frontier.edges);
            scratch.at.open -= min(scratch.at.open, scratch.frontier.vertices);
            scratch.at.level++;
            scratch.at.current ^= 1;
            scratch.records++;
            scratch.frontier = scratch.found_by_warp;
        }
        __syncwarp();
    } while (scratch.frontier.vertices > 0 && scratch.records < s.most_records && is_narrow(scratch.frontier) && goes_down(s, scratch));
    if (lane_id() != 0) return;
    s.state->counts[(scratch.at.step + 1) % 3] = scratch.frontier;
    scratch.at.step++;
    scratch.at.found = QUEUED;
    s.state->progress = scratch.at;
    s.state->records = scratch.records;
}
