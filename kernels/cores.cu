// Core numbers: layers of vertices are removed until no vertex is left. (Kabir and Madduri, 2017, peel on CPUs in this way.)
//
// Each vertex has a count of its remaining neighbours. Removing a vertex decrements the counts of its neighbours. The thread whose decrement makes a
// count equal to the level appends the vertex to the queue. So each vertex is appended once; it is removed in the next layer. A count that is not
// above the level belongs to a vertex that is removed or in the queue. In the end, it is the vertex's core number. For a moment such a count may be
// smaller, even negative, because several threads may subtract 1 before the first of them adds it again. So counts are compared as signed numbers.
//
// All blocks of the grid process the layers together, with barriers between layers.
#include "frontier.cuh"

// Totals of a step over all blocks.
struct Slot {
    // Number of vertices that were appended to the queue in this step, and number of those appended to the list of vertices with long rows.
    u32 found, longs;
    // Complement of the smallest count above the level, and one past the last vertex whose count is above the level.
    u32 least, end;

    __device__ Slot fresh() const { return {__ldcg(&found), __ldcg(&longs), __ldcg(&least), __ldcg(&end)}; }
};

// Progress of the peeling, which removes layers of vertices.
struct Place {
    u32 level, layer;
    // The next layer: position of its first vertex in the queue, and number of its vertices.
    u32 first, size;
    // All vertices from this one on are removed.
    u32 end;
    // Number of steps so far.
    u32 step;
    // 1 if no vertex is left, otherwise 0.
    u32 finished;
    u32 unused;
};

// State of the peeling between launches, in GPU memory. src/algo/cores/gpu.rs declares the same struct.
struct PeelingState {
    GridBarrier barrier;
    Place at;
    Slot slots[3];
};
static_assert(sizeof(PeelingState) == 96, "as its twin");

// Arguments of the kernels. src/algo/cores/gpu.rs declares the same struct.
struct Peeling {
    VertexRows rows;
    // For each vertex, the number of remaining neighbours or, once it is removed, its core number; and its layer. The queue contains the removed
    // vertices, followed by those to be removed next. `longs` contains the vertices of a layer with long rows.
    u32* left;
    u32* layers;
    u32* queue;
    u32* longs;
    PeelingState* state;
    // Number of layers after which the kernel ends.
    u32 most_layers;
    u32 unused;
};
static_assert(sizeof(Peeling) == 72, "as its twin");

// Shared memory of a block.
struct Scratch {
    u64 target;
    Place at;
    Slot sums;
    WarpRows warps[8];
};

// Returns true if `u`, an entry of segment `s` of a vertex with the segments `of`, is also in the segment before it, of the opposite direction. Such
// an entry is skipped, because a neighbour in both directions counts once.
__device__ inline bool is_repeat(const VertexRows& rows, const Segment* of, u32 s, u32 u) {
    return rows.shift > 0 && s % 2 > 0 && contains(of[s - 1].begin, of[s - 1].length, u);
}

// Decrements the count of vertex `u`. Returns true if this makes the count equal to the level.
__device__ inline bool lose(const Peeling& p, u32 level, u32 u) {
    // If several threads subtract before they add again, the count wraps below 0 for a moment, by fewer than `threads`.
    constexpr u32 threads = 1 << 20;
    u32* left = p.left + u;
    if (__ldcg(left) + threads <= level + threads) return false;
    u32 before = atomicSub(left, 1u);
    // Another thread's decrement came first, so undo this one.
    if (before + threads <= level + threads) atomicAdd(left, 1u);
    return before == level + 1;
}

// Appends the vertices that have `next` neighbours left to the queue, and finds the smallest count above the level.
__device__ inline void find(const Peeling& p, const Scratch& scratch, u32 next) {
    Slot* slot = slot_of(p.state, scratch);
    u32 least = NONE, end = 0;
    u32* last = p.queue + scratch.at.first + scratch.at.size;
    for (u32 base = blockIdx.x * 256; base < scratch.at.end; base += gridDim.x * 256) {
        u32 v = base + threadIdx.x, left = v < scratch.at.end ? __ldcg(p.left + v) : 0;
        if (left > scratch.at.level) {
            least = min(least, left);
            end = v + 1;
        }
        append(last, &slot->found, left == next, v);
    }
    for (u32 step = 16; step > 0; step /= 2) {
        least = min(least, __shfl_xor_sync(ALL_LANES, least, step));
        end = max(end, __shfl_xor_sync(ALL_LANES, end, step));
    }
    if (lane_id() == 0 && end > 0) {
        atomicMax(&slot->least, ~least);
        atomicMax(&slot->end, end);
    }
}

// Counts the distinct neighbours of every vertex. A warp processes one vertex at a time.
extern "C" __global__ void __launch_bounds__(256) cores_begin(Peeling p, u32 vertices) {
    for (u32 v = blockIdx.x * 8 + warp_id(); v < vertices; v += gridDim.x * 8) {
        Segment of[4];
        u32 count = 0;
        for (u32 s = 0; s < segments(p.rows); s++) {
            of[s] = segment_of(p.rows, v, s);
            if (p.rows.shift == 0 || s % 2 == 0) {
                count += lane_id() == 0 ? of[s].length : 0;
                continue;
            }
            for (u32 i = lane_id(); i < of[s].length; i += 32) count += !is_repeat(p.rows, of, s, of[s].begin[i]);
        }
        count = warp_sum(count);
        if (lane_id() == 0) p.left[v] = count;
    }
}

// Removes up to `most_layers` layers. The barrier in the state must be zero at the launch.
extern "C" __global__ void __launch_bounds__(256) cores_peel(Peeling p) {
    __shared__ Scratch scratch;
    if (threadIdx.x == 0) {
        scratch.target = 0;
        scratch.at = p.state->at;
    }
    __syncthreads();
    u32 last_layer = scratch.at.layer + p.most_layers;
    while (scratch.at.layer < last_layer && scratch.at.finished == 0) {
        // Nearly always, the next level has vertices.
        for (u32 next = scratch.at.level + 1; scratch.at.size == 0 && scratch.at.finished == 0;) {
            find(p, scratch, next);
            if (!end_step(p.state, scratch)) return;
            u32 least = ~scratch.sums.least, found = scratch.sums.found, end = scratch.sums.end;
            __syncthreads();
            if (threadIdx.x == 0) {
                scratch.at.end = end;
                scratch.at.size = found;
                if (found > 0) scratch.at.level = next;
                if (least == NONE) scratch.at.finished = 1;
            }
            __syncthreads();
            next = least;
        }
        if (scratch.at.finished != 0) break;
        // Wait until all threads have read the layer.
        __syncthreads();
        if (threadIdx.x == 0) scratch.at.layer++;
        __syncthreads();
        u32 level = scratch.at.level, layer = scratch.at.layer, end = scratch.at.first + scratch.at.size;
        Slot* slot = slot_of(p.state, scratch);
        Lists lists = {p.queue + scratch.at.first, scratch.at.size, p.queue + end, &slot->found, p.longs, &slot->longs};
        auto take = [&](u32 v) { p.layers[v] = layer; };
        auto remove = [&](u32, const Segment* of, u32 s, u32 u) { return !is_repeat(p.rows, of, s, u) && lose(p, level, u) ? u : NONE; };
        visit_short(p.rows, ALL_SEGMENTS, lists, scratch.warps[warp_id()], take, remove);
        if (!end_step(p.state, scratch)) return;
        u32 found = scratch.sums.found, longs = scratch.sums.longs;
        if (longs > 0) {
            __syncthreads();
            lists.found = p.queue + end + found;
            lists.found_count = &slot_of(p.state, scratch)->found;
            visit_long(p.rows, ALL_SEGMENTS, lists, longs, remove);
            if (!end_step(p.state, scratch)) return;
            found += scratch.sums.found;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            scratch.at.first += scratch.at.size;
            scratch.at.size = found;
        }
        __syncthreads();
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) p.state->at = scratch.at;
}
