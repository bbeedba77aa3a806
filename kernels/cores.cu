// Core numbers: layers of vertices are removed until none is left. (Kabir and Madduri, 2017, peel on CPUs in this way.)
//
// Each vertex has a count of its remaining neighbours. Removing a vertex decrements the counts of its neighbours. The thread whose
// decrement makes a count equal to the level appends the vertex to the queue, so each vertex is there once, and is removed in the next
// layer. A count at or below the level belongs to a vertex that is removed or in the queue, and is its core number in the end. For a moment
// it may be less, even negative, because several threads may subtract before the first of them adds again. So counts are compared as signed
// numbers.
//
// All blocks of the grid process the layers together, with barriers between layers. The totals of a step are in one of three slots, which
// take turns. A slot is read in the step after, and cleared in the step after that.
#include "grid_barrier.cuh"
#include "row_parts.cuh"

// Stands for no vertex, and for more neighbours than any vertex has.
constexpr u32 NONE = 0xffffffff;
// Whole blocks remove a vertex with at least this many entries.
constexpr u32 LONG = 256;

// Totals of all blocks in a step.
struct Slot {
    // The number of vertices that were appended to the queue, and to the list of vertices with long rows.
    u32 found, longs;
    // The complement of the smallest count of remaining neighbours of any vertex, and one past the last vertex with this count.
    u32 least, end;
};

// Progress of the peeling.
struct Place {
    u32 level, layer;
    // The next layer in the queue.
    u32 first, size;
    // All vertices from this one on are removed.
    u32 end;
    // The number of steps.
    u32 step;
    // Whether no vertex is left.
    u32 finished;
    u32 unused;
};

// src/algo/cores/gpu.rs declares the same struct.
struct PeelingState {
    GridBarrier barrier;
    Place at;
    Slot slots[3];
};
static_assert(sizeof(PeelingState) == 96, "as its twin");

// src/algo/cores/gpu.rs declares the same struct.
struct Peeling {
    VertexRows rows;
    // Neighbours left, or core numbers; layers; removed vertices and the next ones; vertices of a layer with long rows.
    u32* left;
    u32* layers;
    u32* queue;
    u32* longs;
    PeelingState* state;
    // The number of layers after which the kernel ends.
    u32 most_layers;
    u32 unused;
};
static_assert(sizeof(Peeling) == 72, "as its twin");

// Shared memory of a block.
struct Scratch {
    u64 target;
    Place at;
    Slot sums;
    Segment rows[8][32][4];
    // The number of entries before the rows of each vertex of a warp.
    u32 before[8][32];
};

__device__ inline Slot* slot_of(const Peeling& p, const Scratch& scratch) { return p.state->slots + scratch.at.step % 3; }

// Appends the vertices of those lanes of a warp that have one to a list, whose first free place is `end` and of which `*count` were
// appended in this step. All lanes call this.
__device__ inline void append(u32* list, u32 end, u32* count, bool has, u32 v) {
    u32 lanes = __ballot_sync(ALL_LANES, has), first = 0;
    if (lanes == 0) return;
    if (lane_id() == 0) first = atomicAdd(count, u32(__popc(lanes)));
    first = end + __shfl_sync(ALL_LANES, first, 0);
    if (has) list[first + __popc(lanes & ((1u << lane_id()) - 1))] = v;
}

// Returns whether `u`, an entry of segment `s` of a vertex whose segments are `of`, is in another segment, too: a neighbour in both
// directions counts once.
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
    // Another thread was faster.
    if (before + threads <= level + threads) atomicAdd(left, 1u);
    return before == level + 1;
}

// Ends a step. Afterwards `scratch.sums` has the totals of all blocks. Returns false if the block must end.
__device__ inline bool end_step(const Peeling& p, Scratch& scratch) {
    // Blocks read this slot two steps ago.
    if (blockIdx.x == 0 && threadIdx.x == 0) p.state->slots[(scratch.at.step + 1) % 3] = Slot{};
    if (!inline_grid_barrier(&p.state->barrier, scratch.target)) return false;
    if (threadIdx.x == 0) {
        const Slot* slot = slot_of(p, scratch);
        scratch.sums = {__ldcg(&slot->found), __ldcg(&slot->longs), __ldcg(&slot->least), __ldcg(&slot->end)};
        scratch.at.step++;
    }
    __syncthreads();
    return true;
}

// Appends the vertices that have `next` neighbours left, and finds the smallest count.
__device__ inline void find(const Peeling& p, const Scratch& scratch, u32 next) {
    Slot* slot = slot_of(p, scratch);
    u32 least = NONE, end = 0, last = scratch.at.first + scratch.at.size;
    for (u32 base = blockIdx.x * 256; base < scratch.at.end; base += gridDim.x * 256) {
        u32 v = base + threadIdx.x, left = v < scratch.at.end ? __ldcg(p.left + v) : 0;
        if (left > scratch.at.level) {
            least = min(least, left);
            end = v + 1;
        }
        append(p.queue, last, &slot->found, left == next, v);
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

// Removes the vertices of a layer, except those with long rows. A warp takes up to 32 vertices, and divides their entries among its lanes.
__device__ inline void remove_short(const Peeling& p, Scratch& scratch) {
    Slot* slot = slot_of(p, scratch);
    u32 first = scratch.at.first, size = scratch.at.size, end = first + size;
    Segment(*rows)[4] = scratch.rows[warp_id()];
    u32* before = scratch.before[warp_id()];
    // All warps take part in a small layer.
    u32 warps = gridDim.x * 8, width = min(32u, (size + warps - 1) / warps);
    for (u32 base = (blockIdx.x * 8 + warp_id()) * width; base < size; base += warps * width) {
        u32 v = 0, entries = 0;
        if (lane_id() < width && base + lane_id() < size) {
            v = __ldcg(p.queue + first + base + lane_id());
            p.layers[v] = scratch.at.layer;
            for (u32 s = 0; s < segments(p.rows); s++) {
                rows[lane_id()][s] = segment_of(p.rows, v, s);
                entries += rows[lane_id()][s].length;
            }
        }
        append(p.longs, 0, &slot->longs, entries >= LONG, v);
        if (entries >= LONG) entries = 0;
        u32 upto = warp_scan(entries), all = __shfl_sync(ALL_LANES, upto, 31);
        before[lane_id()] = upto - entries;
        __syncwarp();
        for (u32 i = lane_id(); i - lane_id() < all; i += 32) {
            u32 u = 0;
            bool few = false;
            if (i < all) {
                u32 vertex = last_start_upto(before, 32, i), place = i - before[vertex], s = 0;
                const Segment* of = rows[vertex];
                for (; place >= of[s].length; s++) place -= of[s].length;
                u = of[s].begin[place];
                few = !is_repeat(p.rows, of, s, u) && lose(p, scratch.at.level, u);
            }
            append(p.queue, end, &slot->found, few, u);
        }
        __syncwarp();
    }
}

// Removes the vertices of a layer that have long rows. `count` are listed, and `end` is the end of the queue. Several blocks share a vertex
// if there are more blocks than vertices.
__device__ inline void remove_long(const Peeling& p, const Scratch& scratch, u32 count, u32 end) {
    Slot* slot = slot_of(p, scratch);
    u32 blocks = max(1u, gridDim.x / count);
    for (u32 at = blockIdx.x / blocks; at < count; at += max(1u, gridDim.x / blocks)) {
        u32 v = __ldcg(p.longs + at);
        Segment of[4];
        for (u32 s = 0; s < segments(p.rows); s++) {
            Segment row = of[s] = segment_of(p.rows, v, s);
            for (u32 base = blockIdx.x % blocks * 256; base < row.length; base += blocks * 256) {
                bool has = base + threadIdx.x < row.length;
                u32 u = has ? row.begin[base + threadIdx.x] : 0;
                bool few = has && !is_repeat(p.rows, of, s, u) && lose(p, scratch.at.level, u);
                append(p.queue, end, &slot->found, few, u);
            }
        }
    }
}

// Counts the neighbours of all vertices, one in each warp.
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

// Removes layers. The barrier in the state must be zero at the launch.
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
            if (!end_step(p, scratch)) return;
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
        // All threads have read the layer.
        __syncthreads();
        if (threadIdx.x == 0) scratch.at.layer++;
        __syncthreads();
        remove_short(p, scratch);
        if (!end_step(p, scratch)) return;
        u32 found = scratch.sums.found, longs = scratch.sums.longs;
        if (longs > 0) {
            __syncthreads();
            remove_long(p, scratch, longs, scratch.at.first + scratch.at.size + found);
            if (!end_step(p, scratch)) return;
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
