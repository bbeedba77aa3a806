// Strongly connected components, in the same phases as src/algo/components/strong on CPUs.
//
// A phase computes values of live vertices (those in no component yet), and replaces their classes only at the end. So an interrupted phase has
// changed no class. Only edges between vertices of the same class count.
//
// | phase | value of a vertex |
// |---|---|
// | trim | the numbers of out-neighbours and of in-neighbours that are left. A vertex is removed when either number is 0 |
// | colour | the largest label that reaches it |
// | assign | 1 + the root that it reaches; 0 if it reaches none |
//
// Colour and assign spread the larger value along edges (an atomic maximum), so the order does not matter. If all values come from one root, a step
// may pull instead: vertices without a value look for a neighbour that has one. Steps pull while the rows of the vertices found last have many
// entries.
#include "frontier.cuh"

// Bit that marks a live vertex (one in no component yet) in Strong::of. The other bits are then its class.
constexpr u32 LIVE = 1u << 31;
// Codes of the phases. COUNT precedes TRIM. START lists the live vertices before the first phase.
constexpr u32 TRIM = 0;
constexpr u32 COLOUR = 1;
constexpr u32 ASSIGN = 2;
constexpr u32 COUNT = 3;
constexpr u32 START = 4;
// Bit masks of the segments of a vertex that contain its out-neighbours, and of those that contain its in-neighbours.
constexpr u32 OUT = 5, IN = 10;
// A step pulls if the vertices of the frontier have more than FEW entries, and more than 1/SPARSE of the entries of the vertices not found yet.
constexpr u32 FEW = 1 << 14;
constexpr u32 SPARSE = 8;
// In a step that pulls, a lane reads the first FIRST entries of a row, and its warp reads the others. Whole blocks read a row of more than
// MOST_OF_WARP entries.
constexpr u32 FIRST = 8, MOST_OF_WARP = 1 << 12;
// A launch ends after MOST_STEPS steps, or when it has visited MOST_VISITED vertices, so that the host can check for signals.
constexpr u32 MOST_STEPS = 1 << 10, MOST_VISITED = 1 << 26;
// A step of at most NARROW vertices with at most FEW entries is executed by a launch of one block. That launch ends when a step has more than WIDE
// vertices or more than FEW entries.
constexpr u32 NARROW = 128;
constexpr u32 WIDE = 512;
// Number of blocks that a multiprocessor runs at once. Code for older architectures needs more registers.
#if __CUDA_ARCH__ >= 800
constexpr u32 TRIMMING = 6, SPREADING = 5;
#else
constexpr u32 TRIMMING = 5, SPREADING = 4;
#endif

// Totals of all blocks in a step: number of vertices found, number of vertices with long rows that are still to be visited, and number of entries of
// the vertices found.
struct Slot {
    u32 found, longs;
    u64 entries;

    __device__ Slot fresh() const { return {__ldcg(&found), __ldcg(&longs), __ldcg(&entries)}; }
};

// Progress of a phase.
struct Place {
    // Number of vertices that the next step visits, and index of the list that contains them (0 or 1).
    u32 size, list;
    // Number of steps so far.
    u32 step;
    // The vertex from which all values come, or NONE if there are several.
    u32 root;
    // Number of entries of the listed vertices, in phases that spread values; if there is a root, number of entries of the live vertices that were not
    // listed yet.
    u64 entries, left;
};

// State of a search, which stays in GPU memory between launches. src/algo/components/strong/gpu.rs declares the same struct.
struct StrongState {
    GridBarrier barrier;
    Place at;
    Slot slots[3];
    // The pivot: the live vertex with the largest product of out-degree and in-degree. The high 32 bits are this product, as the bits of a float. The
    // low 32 bits are the complement of the vertex.
    u64 pivot;
    // Number of live vertices after a phase.
    u32 live;
    u32 unused;
};
static_assert(sizeof(StrongState) == 112, "as its twin");

// Arguments of the kernels. src/algo/components/strong/gpu.rs declares the same struct.
struct Strong {
    VertexRows rows;
    // For each vertex: its component or, if it is live, its class with the bit LIVE.
    u32* of;
    // Two values per vertex: an array of the first values, then an array of the second.
    u32* values;
    // `live` contains the live vertices. `lists` contains two lists, one after the other: the vertices that a step visits, and those that it finds.
    // `longs` contains the vertices with long rows that a step has still to visit.
    u32* live;
    u32* lists;
    u32* longs;
    // Two bitmaps of vertices, one after the other. In trim, the first marks all removed vertices. In other phases, each marks the vertices of one
    // list.
    u32* queued;
    StrongState* state;
    // Number of vertices, and number of live vertices.
    u32 vertices, count;
};
static_assert(sizeof(Strong) == 88, "as its twin");

// Shared memory of a block.
struct Scratch {
    u64 target;
    Place at;
    Slot sums;
    WarpRows warps[8];
};

// Returns the label of a vertex, as src/algo/components/strong/colour.rs does.
__device__ inline u32 label(u32 v) {
    u32 hash = ((v + 1) * 0x9e3779b1u) & ~LIVE;
    hash = ((hash ^ hash >> 16) * 0x85ebca6bu) & ~LIVE;
    return hash ^ hash >> 15;
}

// Returns the number of entries in the segments of a vertex whose bits are set in `wanted`.
__device__ inline u32 entries_of(const Strong& p, u32 v, u32 wanted) {
    u32 entries = 0;
    for (u32 s = 0; s < 4; s++) entries += wanted >> s & 1 ? segment_of(p.rows, v, s).length : 0;
    return entries;
}

// Returns the address of the 32-bit word of bitmap `list` that contains the bit of vertex `v`.
__device__ inline u32* word_of(const Strong& p, u32 list, u32 v) { return p.queued + list * ((p.vertices + 31) / 32) + v / 32; }

// Sets the bit of a vertex in bitmap `list`. Returns true if it was not set before.
__device__ inline bool queue(const Strong& p, u32 list, u32 v) { return (atomicOr(word_of(p, list, v), 1u << v % 32) >> v % 32 & 1) == 0; }

// Visits neighbour `u` in segment `s` of vertex `v`. In COUNT, counts it if it is in the same class. In TRIM, `v` has been removed, so the count of
// `u` decreases. Returns the vertex that the next step removes, or NONE.
__device__ inline u32 count(const Strong& p, u32 phase, u32 v, u32 s, u32 u) {
    if (p.of[u] != p.of[v]) return NONE;
    if (phase == COUNT) {
        atomicAdd(p.values + u64(s % 2) * p.vertices + v, 1u);
        return NONE;
    }
    // An out-neighbour loses an in-neighbour, and an in-neighbour loses an out-neighbour.
    return atomicSub(p.values + u64(1 - s % 2) * p.vertices + u, 1u) == 1 && queue(p, 0, u) ? u : NONE;
}

// Spreads the value of vertex `from` to a neighbour. Returns the neighbour if the next step visits it, or NONE.
__device__ inline u32 spread(const Strong& p, u32 next, u32 from, u32 to) {
    u32 value = p.values[from];
    if (__ldcg(p.values + to) >= value || p.of[to] != p.of[from] || atomicMax(p.values + to, value) >= value) return NONE;
    return queue(p, next, to) ? to : NONE;
}

// Gives the root's value to each vertex of its class that has no value and has a neighbour with one. `wanted` selects the segments that contain these
// neighbours. Vertices with long rows are listed for whole blocks instead. Adds the entries of the vertices found to `entries`.
__device__ inline void pull_short(const Strong& p, u32 wanted, const Lists& lists, u32 root, WarpRows& warp, u64& entries) {
    u32 value = p.values[root], own = p.of[root];
    for (u32 base = (blockIdx.x * 8 + warp_id()) * 32; base < p.count; base += gridDim.x * 256) {
        u32 v = NONE, length = 0;
        if (base + lane_id() < p.count) v = p.live[base + lane_id()];
        bool found = false, is_open = v != NONE && p.values[v] == 0 && p.of[v] == own;
        Segment* halves = warp.segments[lane_id()];
        if (is_open) {
            for (u32 half = 0; half < 2; half++) halves[half] = segment_of(p.rows, v, 2 * half + (wanted == IN));
            length = halves[0].length + halves[1].length;
        }
        auto has_value = [&](const Segment* row, u32 i) {
            u32 lower = row[0].length, u = i < lower ? row[0].begin[i] : row[1].begin[i - lower];
            return p.values[u] != 0 && p.of[u] == own;
        };
        // Neighbours with many edges come first in a row, and usually get values early.
        for (u32 i = 0; i < min(length, FIRST) && !found; i++) found = has_value(halves, i);
        append(lists.longs, lists.long_count, length > MOST_OF_WARP && !found, v);
        warp.before[lane_id()] = length;
        __syncwarp();
        for (u32 rest = __ballot_sync(ALL_LANES, length > FIRST && length <= MOST_OF_WARP && !found); rest != 0; rest &= rest - 1) {
            u32 lane = __ffs(int(rest)) - 1, end = warp.before[lane];
            bool has = false;
            for (u32 i = FIRST; i < end && !has; i += 32) {
                has = __any_sync(ALL_LANES, i + lane_id() < end && has_value(warp.segments[lane], i + lane_id()));
            }
            found |= has && lane == lane_id();
        }
        if (found) {
            p.values[v] = value;
            entries += entries_of(p, v, ALL_SEGMENTS);
        }
        append(lists.found, lists.found_count, found, v);
        __syncwarp();
    }
}

// Adds the sum of `entries` over the threads of a block to the total of the step. `entries` is the number of row entries of the vertices that a
// thread found.
__device__ inline void add_entries(Slot* slot, u64 entries) {
    entries = warp_sum(entries);
    if (lane_id() == 0 && entries > 0) atomicAdd(&slot->entries, entries);
}

// Executes steps of a phase until no vertex is listed. A launch may end earlier, and the next one then continues. The barrier in the state must be
// zero at the launch.
template <bool SPREADS> __device__ inline void take_steps(const Strong& p, u32 phase, Scratch& scratch) {
    if (threadIdx.x == 0) {
        scratch.target = 0;
        scratch.at = p.state->at;
        if (scratch.at.step == 0) scratch.at.root = SPREADS && scratch.at.size == 1 ? p.lists[0] : NONE;
    }
    __syncthreads();
    u32 begun = scratch.at.step;
    bool is_narrow = gridDim.x == 1;
    for (u32 visited = 0; visited < MOST_VISITED;) {
        Place at = scratch.at;
        if (at.size == 0 || at.step - begun > MOST_STEPS) break;
        // The other kind of launch takes the next step.
        if (at.step > begun && (is_narrow ? at.size > WIDE || at.entries > FEW : at.size <= NARROW && at.entries <= FEW)) break;
        bool pulls = SPREADS && at.root != NONE && at.entries > max(u64(FEW), at.left / SPARSE);
        u32 wanted = !SPREADS ? ALL_SEGMENTS : (phase == COLOUR) != pulls ? OUT : IN, next = 1 - at.list;
        u64 entries = 0;
        Slot* slot = slot_of(p.state, scratch);
        Lists lists = {p.lists + u64(at.list) * p.vertices, at.size, p.lists + u64(next) * p.vertices, &slot->found, p.longs, &slot->longs};
        if (phase == COUNT) lists.list = p.live;
        auto leave = [&](u32 v) {
            if (SPREADS) atomicAnd(word_of(p, at.list, v), ~(1u << v % 32));
        };
        auto each = [&](u32 v, const Segment*, u32 s, u32 u) {
            if (!SPREADS) return count(p, phase, v, s, u);
            u32 found = pulls ? spread(p, next, u, v) : spread(p, next, v, u);
            if (found != NONE) entries += entries_of(p, found, ALL_SEGMENTS);
            return found;
        };
        if (pulls) pull_short(p, wanted, lists, at.root, scratch.warps[warp_id()], entries);
        else visit_short(p.rows, wanted, lists, scratch.warps[warp_id()], leave, each);
        add_entries(slot, entries);
        if (!end_step(p.state, scratch)) return;
        Slot sums = scratch.sums;
        if (sums.longs > 0) {
            __syncthreads();
            entries = 0;
            slot = slot_of(p.state, scratch);
            lists.found += sums.found;
            lists.found_count = &slot->found;
            visit_long(p.rows, wanted, lists, sums.longs, each);
            add_entries(slot, entries);
            if (!end_step(p.state, scratch)) return;
            sums.found += scratch.sums.found;
            sums.entries += scratch.sums.entries;
        }
        visited += pulls ? p.count : at.size;
        __syncthreads();
        if (threadIdx.x == 0) {
            scratch.at.size = sums.found;
            scratch.at.list = next;
            scratch.at.entries = sums.entries;
            scratch.at.left -= min(at.left, sums.entries);
        }
        __syncthreads();
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) p.state->at = scratch.at;
}

// Counts the neighbours of live vertices in their classes (COUNT), or removes vertices (TRIM).
extern "C" __global__ void __launch_bounds__(256, TRIMMING) strong_trim(Strong p, u32 phase) {
    __shared__ Scratch scratch;
    take_steps<false>(p, phase, scratch);
}

// Spreads colours (COLOUR) or roots (ASSIGN).
extern "C" __global__ void __launch_bounds__(256, SPREADING) strong_spread(Strong p, u32 phase) {
    __shared__ Scratch scratch;
    take_steps<true>(p, phase, scratch);
}

// Appends vertices to a list that contains `*count` vertices: one for each thread of the block whose `has` is true. All threads of the block call it.
__device__ inline void append_of_block(u32* list, u32* count, bool has, u32 v) {
    __shared__ u32 scratch[32], first;
    u32 total, before = block_scan_before(has, scratch, total);
    if (threadIdx.x == 0) first = atomicAdd(count, total);
    __syncthreads();
    if (has) list[first + before] = v;
    __syncthreads();
}

// Finds the pivot: the live vertex with the largest product of out-degree and in-degree. It is likely to be in the largest component. Also adds up the
// entries of all live vertices, in `left`.
extern "C" __global__ void __launch_bounds__(256) strong_pivot(Strong p) {
    u64 best = 0, entries = 0;
    for (u32 i = blockIdx.x * 256 + threadIdx.x; i < p.count; i += gridDim.x * 256) {
        u32 v = p.live[i], out = entries_of(p, v, OUT), in = entries_of(p, v, IN);
        best = max(best, u64(__float_as_uint(float(out) * float(in))) << 32 | u32(~v));
        entries += u64(out) + in;
    }
    best = warp_max(best);
    entries = warp_sum(entries);
    if (lane_id() == 0 && best > 0) {
        atomicMax(&p.state->pivot, best);
        atomicAdd(&p.state->at.left, entries);
    }
}

// Sets the values of live vertices, and lists the vertices that the first step of a phase visits. If there is a pivot, only the pivot has a label.
extern "C" __global__ void __launch_bounds__(256) strong_begin(Strong p, u32 phase) {
    u64 pivot = p.state->pivot;
    for (u32 base = blockIdx.x * 256; base < p.count; base += gridDim.x * 256) {
        u32 v = NONE;
        bool is_listed = false;
        if (base + threadIdx.x < p.count) {
            v = p.live[base + threadIdx.x];
            u32* value = p.values + v;
            if (phase == COLOUR) {
                is_listed = pivot == 0 || v == ~u32(pivot);
                *value = is_listed ? label(v) : 0;
            } else if (phase == ASSIGN) {
                is_listed = p.of[v] == (LIVE | label(v));
                *value = is_listed ? v + 1 : 0;
            } else {
                // While all vertices are live, they are in one class, so every neighbour counts.
                if (p.count == p.vertices) {
                    value[0] = entries_of(p, v, OUT);
                    value[p.vertices] = entries_of(p, v, IN);
                }
                is_listed = value[0] == 0 || value[p.vertices] == 0;
                if (is_listed) queue(p, 0, v);
            }
        }
        append_of_block(p.lists, &p.state->at.size, is_listed, v);
    }
}

// Replaces the classes of live vertices by the classes and components that the phase found. Lists the vertices that are still live in the first list.
extern "C" __global__ void __launch_bounds__(256) strong_end(Strong p, u32 phase) {
    for (u32 base = blockIdx.x * 256; base < p.count; base += gridDim.x * 256) {
        u32 v = NONE, of = 0;
        if (base + threadIdx.x < p.count) {
            v = phase == START ? base + threadIdx.x : p.live[base + threadIdx.x];
            of = p.of[v];
            if (phase == TRIM && *word_of(p, 0, v) >> v % 32 & 1) of = v;
            if (phase == COLOUR) of = LIVE | p.values[v];
            if (phase == ASSIGN && p.values[v] != 0) of = p.values[v] - 1;
            p.of[v] = of;
        }
        append_of_block(p.lists, &p.state->live, (of & LIVE) != 0, v);
    }
}
