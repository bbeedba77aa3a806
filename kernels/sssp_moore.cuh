// Moore's shortest-path algorithm with queues in three tiers (warp, block and grid), and the baseline with which it is compared.
//
// A task is a vertex whose distance became smaller in the previous round. A round relaxes the edges of all tasks. Each warp queues the vertices that
// it finds in shared memory. When that queue is full, the warp moves them to the block's queue in shared memory. At the end of a round, the block's
// queue is moved to the grid's queue in global memory. There are three kinds of launches: one block that computes many rounds and keeps its queue in
// shared memory between them; several blocks with a barrier in global memory between rounds; and any number of blocks for one round. The host chooses
// by the number of tasks.
//
// One addition to the published method: if one block has distances in shared memory and more tasks than it can relax at once, tasks beyond a distance
// threshold wait until few others are left (the threshold algorithm of Glover, Klingman and Phillips 1985). Most of them become nearer meanwhile, so
// their edges are relaxed once rather than many times.
//
// The baseline (Harish and Narayanan 2007) visits every vertex in every round. A mask marks the vertices whose distances became smaller.
//
// src/algo/sssp/gpu/kernel_structs.rs declares the same structs.
#pragma once
#include "sssp.cuh"

// Number of threads per block if there are several blocks, and if there is one.
constexpr u32 MOORE_THREADS = 512;
constexpr u32 MOORE_ALONE = 1024;
// Number of lanes that share the edges of a task, and minimum number of edges that all lanes of a warp share.
constexpr u32 MOORE_LANES = 8;
constexpr u32 MOORE_LONG = 64;
// Number of edges that a lane reads at a time.
constexpr u32 MOORE_EACH = 4;
// Capacity of a warp's queue, and of a block's queue, in tasks.
constexpr u32 MOORE_OF_WARP = 64;
constexpr u32 MOORE_OF_BLOCK = 1024;
// Value of `found` for a vertex that waits because its distance is beyond the threshold.
constexpr u32 MOORE_WAITS = NONE;

struct MooreState {
    GridBarrier barrier;
    // Number of tasks of each round, indexed by round modulo 3.
    u32 tasks[3];
    u32 overflowed;
    // Number of completed rounds, and number of relaxed edges.
    u64 rounds, relaxations;
};
static_assert(sizeof(MooreState) == 48, "as its twin");

struct Moore {
    void* distances;
    // For each vertex, the last round for which it was queued.
    u32* found;
    u32* queues[2];
    MooreState* state;
    // The threshold minus the distance of the nearest task.
    u64 reach;
    // Maximum number of rounds in a launch, and number of tasks above which the launch ends. The second is at most MOORE_OF_BLOCK for a launch of one
    // block.
    u32 most_rounds, most_tasks;
    // Number of tasks above which those beyond the threshold wait, and number of tasks up to which waiting vertices are queued again.
    u32 many, few;
    // 1 if one block has copies of the distances and of `found` in shared memory.
    u32 is_small, unused;
};
static_assert(sizeof(Moore) == 72, "as its twin");

// The distances and the array `found` in global memory. No task waits.
template <class K> struct InGlobal {
    typedef typename K::Distance T;
    T* distances;
    u32* found;
    __device__ inline T of(u32 vertex) const { return fresh(distances + vertex); }
    __device__ inline bool is_far(T) const { return false; }
    __device__ inline void leave(u32, u32) const {}
};

// The distances and the array `found` of a small graph, in the shared memory of one block.
template <class K> struct InShared {
    typedef typename K::Distance T;
    T* distances;
    u32* found;
    T threshold;
    // Set to 1 when a vertex has to wait.
    u32* waiting;
    __device__ inline T of(u32 vertex) const { return const_cast<const volatile T*>(distances)[vertex]; }
    __device__ inline bool is_far(T distance) const { return distance >= threshold; }
    // Marks a vertex as waiting, unless it is queued for the round `next`, because another thread may have found a shorter path to it.
    __device__ inline void leave(u32 vertex, u32 next) const {
        u32 had = const_cast<const volatile u32*>(found)[vertex];
        if (had != next && had != MOORE_WAITS) atomicCAS(found + vertex, had, MOORE_WAITS);
        *const_cast<volatile u32*>(waiting) = 1;
    }
};

struct MooreScratch {
    // The block's queues: tasks of this round, which only a launch of one block uses, and of the next round.
    u32 tasks[2][MOORE_OF_BLOCK];
    u32 of_warp[MOORE_ALONE / 32][MOORE_OF_WARP];
    u32 count, place, waiting;
    // The minimum that nearest_of computes.
    u64 nearest;
    u64 target;
};

// Moves the tasks in a warp's queue to the block's queue, and those that do not fit to the grid's queue. All lanes of the warp call it.
__device__ inline void pass_on(const Moore& m, MooreScratch& scratch, u32 round, u32 count) {
    __syncwarp();
    u32 place = lane_id() == 0 ? atomicAdd(&scratch.count, count) : 0;
    place = __shfl_sync(ALL_LANES, place, 0);
    u32 beyond = place + count > MOORE_OF_BLOCK ? place + count - max(place, MOORE_OF_BLOCK) : 0, at = 0;
    if (beyond > 0) {
        if (lane_id() == 0) at = atomicAdd(m.state->tasks + (round + 1) % 3, beyond);
        at = __shfl_sync(ALL_LANES, at, 0);
    }
    for (u32 k = lane_id(); k < count; k += 32) {
        u32 task = scratch.of_warp[warp_id()][k];
        if (place + k < MOORE_OF_BLOCK) scratch.tasks[(round + 1) & 1][place + k] = task;
        else m.queues[(round + 1) & 1][at + k - (count - beyond)] = task;
    }
    __syncwarp();
}

// Relaxes the edges of `count` tasks; `task(i)` returns task i. `rank` is the index of this block among `blocks` blocks.
template <class K, class Known, class F>
__device__ inline void moore_round(const Graph& g, const Moore& m, MooreScratch& scratch, const Known& known, u32 round, u32 count, u32 rank, u32 blocks, F task) {
    typedef typename K::Distance T;
    constexpr u32 TASKS = 32 / MOORE_LANES;
    u32 warps = blockDim.x / 32, warp = rank * warps + warp_id(), stride = blocks * warps * TASKS, queued = 0, looked = 0;
    bool overflowed = false;
    for (u32 from = warp * TASKS; from < count; from += stride) {
        u32 nth = from + lane_id() / MOORE_LANES, lane = lane_id() % MOORE_LANES;
        Range row = {};
        T distance = 0;
        if (nth < count) {
            u32 vertex = task(nth);
            distance = known.of(vertex);
            if (!known.is_far(distance)) row = row_of(g, out_row(g, vertex));
            else if (lane == 0) known.leave(vertex, round + 1);
            if (lane == 0) looked += row.length;
        }
        // Relaxes MOORE_EACH edges of a row: those with the indices k, k + stride, k + 2 * stride, ...
        auto along = [&](const Range& row, T distance, u32 k, u32 stride) {
            Edge edge[MOORE_EACH];
            T near[MOORE_EACH], sum[MOORE_EACH];
#pragma unroll
            for (u32 j = 0; j < MOORE_EACH; j++) {
                edge[j] = k + j * stride < row.length ? __ldg(row.begin + k + j * stride) : Edge{NONE, 0};
            }
#pragma unroll
            for (u32 j = 0; j < MOORE_EACH; j++) {
                near[j] = edge[j].x == NONE ? T(0) : known.of(edge[j].x);
                sum[j] = K::add(g, distance, edge[j].y);
                if (edge[j].x != NONE) overflowed |= K::OVERFLOWS && sum[j] == K::NEVER;
            }
#pragma unroll
            for (u32 j = 0; j < MOORE_EACH; j++) {
                if (sum[j] < near[j]) near[j] = atomicMin(known.distances + edge[j].x, sum[j]);
            }
#pragma unroll
            for (u32 j = 0; j < MOORE_EACH; j++) {
                bool is_nearer = sum[j] < near[j];
                // In most rounds few neighbours become nearer, so this test saves time.
                if (!__any_sync(ALL_LANES, is_nearer)) continue;
                if (is_nearer && known.is_far(sum[j])) {
                    known.leave(edge[j].x, round + 1);
                    is_nearer = false;
                }
                bool is_next = is_nearer && atomicExch(known.found + edge[j].x, round + 1) != round + 1;
                u32 next = __ballot_sync(ALL_LANES, is_next);
                if (is_next) scratch.of_warp[warp_id()][queued + __popc(next & ((1u << lane_id()) - 1))] = edge[j].x;
                queued += __popc(next);
                if (queued > MOORE_OF_WARP - 32) {
                    pass_on(m, scratch, round, queued);
                    queued = 0;
                }
            }
        };
        u32 is_long = __ballot_sync(ALL_LANES, lane == 0 && row.length >= MOORE_LONG);
        for (; is_long != 0; is_long &= is_long - 1) {
            u32 from_lane = __ffs((int)is_long) - 1;
            u64 address = __shfl_sync(ALL_LANES, address_of(row), from_lane);
            Range whole = {reinterpret_cast<const Edge*>(address), __shfl_sync(ALL_LANES, row.length, from_lane)};
            T had = __shfl_sync(ALL_LANES, distance, from_lane);
            for (u32 k = lane_id(); k - lane_id() < whole.length; k += 32 * MOORE_EACH) along(whole, had, k, 32);
        }
        if (row.length >= MOORE_LONG) row.length = 0;
        for (u32 k = lane; __any_sync(ALL_LANES, k < row.length); k += MOORE_LANES * MOORE_EACH) along(row, distance, k, MOORE_LANES);
    }
    if (queued > 0) pass_on(m, scratch, round, queued);
    u64 all = warp_sum(u64(looked));
    if (lane_id() == 0 && all > 0) atomicAdd(&m.state->relaxations, all);
    if (overflowed) m.state->overflowed = 1;
}

// Moves the tasks in the block's queue to the grid's queue. All threads of the block call it.
__device__ inline void pass_on_all(const Moore& m, MooreScratch& scratch, u32 round) {
    __syncthreads();
    u32 count = min(scratch.count, MOORE_OF_BLOCK);
    if (threadIdx.x == 0 && count > 0) scratch.place = atomicAdd(m.state->tasks + (round + 1) % 3, count);
    __syncthreads();
    for (u32 k = threadIdx.x; k < count; k += blockDim.x) m.queues[(round + 1) & 1][scratch.place + k] = scratch.tasks[(round + 1) & 1][k];
    __syncthreads();
    if (threadIdx.x == 0) scratch.count = 0;
    __syncthreads();
}

// Returns the smallest distance of the vertices of(0) to of(count - 1), except those that are NONE; `never` if there are no others. All threads of a
// block call it.
template <class T, class D, class F> __device__ inline T nearest_of(MooreScratch& scratch, T never, u32 count, D distance, F of) {
    T nearest = never;
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
        u32 vertex = of(i);
        if (vertex != NONE) nearest = min(nearest, distance(vertex));
    }
    for (u32 step = 16; step > 0; step /= 2) nearest = min(nearest, __shfl_down_sync(ALL_LANES, nearest, step));
    if (threadIdx.x == 0) scratch.nearest = never;
    __syncthreads();
    if (lane_id() == 0 && nearest != never) atomicMin(&scratch.nearest, u64(nearest));
    __syncthreads();
    return T(scratch.nearest);
}

// Returns the threshold, given the distance `nearest` of the nearest task. The threshold exceeds this distance, so that at least one task does not
// wait.
template <class K> __device__ inline typename K::Distance threshold_of(const Moore& m, typename K::Distance nearest) {
    typedef typename K::Distance T;
    return max(K::plus(nearest, T(m.reach)), T(nearest + 1));
}

// Sets a new threshold, and adds the waiting vertices below it to the block's `count` tasks of a round, as far as they fit. All threads of the block
// call it. Returns the new number of tasks.
template <class K> __device__ inline u32 end_waiting(const Graph& g, const Moore& m, MooreScratch& scratch, InShared<K>& shared, u32 round, u32 count) {
    typedef typename K::Distance T;
    T nearest = nearest_of(scratch, T(K::NEVER), g.vertices, [&](u32 v) { return shared.of(v); }, [&](u32 v) { return shared.found[v] == MOORE_WAITS ? v : NONE; });
    shared.threshold = nearest == K::NEVER ? T(K::NEVER) : threshold_of<K>(m, nearest);
    if (threadIdx.x == 0) {
        scratch.waiting = 0;
        scratch.count = count;
    }
    __syncthreads();
    for (u32 v = threadIdx.x; nearest != K::NEVER && v < g.vertices; v += blockDim.x) {
        if (shared.found[v] != MOORE_WAITS) continue;
        u32 place = shared.is_far(shared.of(v)) ? NONE : atomicAdd(&scratch.count, 1u);
        if (place < MOORE_OF_BLOCK) {
            scratch.tasks[round & 1][place] = v;
            shared.found[v] = round;
        } else {
            *const_cast<volatile u32*>(&scratch.waiting) = 1;
        }
    }
    __syncthreads();
    count = min(scratch.count, MOORE_OF_BLOCK);
    __syncthreads();
    if (threadIdx.x == 0) scratch.count = 0;
    __syncthreads();
    return count;
}

// Computes rounds with one block, until there are no tasks or too many, or the launch has had its maximum number of rounds.
template <class K> __device__ inline void moore_one(const Graph& g, const Moore& m, MooreScratch& scratch) {
    typedef typename K::Distance T;
    DYNAMIC_SHARED(u64, memory);
    const InGlobal<K> global = {static_cast<T*>(m.distances), m.found};
    InShared<K> shared = {reinterpret_cast<T*>(memory), reinterpret_cast<u32*>(reinterpret_cast<T*>(memory) + g.vertices), K::NEVER, &scratch.waiting};
    u32 round = u32(m.state->rounds), count = m.state->tasks[round % 3], done = 0;
    if (threadIdx.x == 0) scratch.count = scratch.waiting = 0;
    for (u32 v = threadIdx.x; m.is_small && v < g.vertices; v += blockDim.x) {
        shared.distances[v] = global.of(v);
        shared.found[v] = fresh(m.found + v);
    }
    for (u32 k = threadIdx.x; k < count; k += blockDim.x) scratch.tasks[round & 1][k] = fresh(m.queues[round & 1] + k);
    __syncthreads();
    // Two rounds later, tasks that do not fit in the block's queue are added to this count.
    if (threadIdx.x == 0) m.state->tasks[round % 3] = 0;
    for (; count > 0 && count <= m.most_tasks && done < m.most_rounds; done++) {
        const u32* tasks = scratch.tasks[round & 1];
        auto task = [=](u32 i) { return tasks[i]; };
        if (m.is_small) {
            if (count > m.many) {
                T nearest = nearest_of(scratch, T(K::NEVER), count, [&](u32 v) { return shared.of(v); }, task);
                shared.threshold = min(shared.threshold, threshold_of<K>(m, nearest));
            }
            moore_round<K>(g, m, scratch, shared, round, count, 0, 1, task);
        } else {
            moore_round<K>(g, m, scratch, global, round, count, 0, 1, task);
        }
        __syncthreads();
        count = scratch.count;
        u32 waiting = scratch.waiting;
        __syncthreads();
        if (threadIdx.x == 0) scratch.count = 0;
        round++;
        __syncthreads();
        if (waiting != 0 && count <= m.few) count = end_waiting<K>(g, m, scratch, shared, round, count);
    }
    // Tasks that did not fit in the block's queue are already in the grid's queue. Append the tasks in the block's queue, and then the waiting
    // vertices.
    u32 own = min(count, MOORE_OF_BLOCK), before = count - own;
    for (u32 k = threadIdx.x; k < own; k += blockDim.x) m.queues[round & 1][before + k] = scratch.tasks[round & 1][k];
    if (threadIdx.x == 0) scratch.count = count;
    __syncthreads();
    for (u32 v = threadIdx.x; m.is_small && v < g.vertices; v += blockDim.x) {
        bool waits = shared.found[v] == MOORE_WAITS;
        if (waits) m.queues[round & 1][atomicAdd(&scratch.count, 1u)] = v;
        global.distances[v] = shared.distances[v];
        m.found[v] = waits ? round : shared.found[v];
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    m.state->tasks[round % 3] = scratch.count;
    m.state->tasks[(round + 1) % 3] = m.state->tasks[(round + 2) % 3] = 0;
    m.state->rounds = round;
}

// Computes rounds with several blocks, until there are no tasks or too many, or the launch has had its maximum number of rounds.
template <class K> __device__ inline void moore_several(const Graph& g, const Moore& m, MooreScratch& scratch) {
    u32 round = u32(fresh(&m.state->rounds)), done = 0;
    if (threadIdx.x == 0) {
        scratch.count = 0;
        scratch.target = 0;
    }
    __syncthreads();
    u32 count = fresh(m.state->tasks + round % 3);
    for (; count > 0 && count <= m.most_tasks && done < m.most_rounds; done++) {
        const u32* tasks = m.queues[round & 1];
        if (blockIdx.x == 0 && threadIdx.x == 0) m.state->tasks[(round + 2) % 3] = 0;
        moore_round<K>(g, m, scratch, InGlobal<K>{static_cast<typename K::Distance*>(m.distances), m.found}, round, count, blockIdx.x, gridDim.x, [=](u32 i) { return fresh(tasks + i); });
        pass_on_all(m, scratch, round);
        if (!inline_grid_barrier(&m.state->barrier, scratch.target)) return;
        round++;
        count = fresh(m.state->tasks + round % 3);
    }
    // Each round has cleared the count of the round after the next.
    if (!inline_grid_barrier(&m.state->barrier, scratch.target)) return;
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    m.state->tasks[(round + 1) % 3] = m.state->tasks[(round + 2) % 3] = 0;
    m.state->rounds = round;
}

// Computes one round with any number of blocks.
template <class K> __device__ inline void moore_any(const Graph& g, const Moore& m, MooreScratch& scratch) {
    u32 round = u32(m.state->rounds), count = m.state->tasks[round % 3];
    const u32* tasks = m.queues[round & 1];
    if (threadIdx.x == 0) scratch.count = 0;
    __syncthreads();
    moore_round<K>(g, m, scratch, InGlobal<K>{static_cast<typename K::Distance*>(m.distances), m.found}, round, count, blockIdx.x, gridDim.x, [=](u32 i) { return fresh(tasks + i); });
    pass_on_all(m, scratch, round);
}

// Arrays of the baseline.
struct Masked {
    void* distances;
    // The smallest distances found so far.
    void* found;
    u8* mask;
    // [0] is 1 if a distance became smaller in this round; [1] is 1 if a sum did not fit in its type.
    u32* again;
    u64* relaxations;
};
static_assert(sizeof(Masked) == 40, "as its twin");

// Relaxes the edges of all vertices in the mask.
template <class K> __device__ inline void masked_round(const Graph& g, const Masked& m) {
    typedef typename K::Distance T;
    u32 vertex = blockIdx.x * blockDim.x + threadIdx.x;
    bool has = vertex < g.vertices && m.mask[vertex];
    u64 all = warp_sum(u64(has ? stored_row(g, out_row(g, vertex)).length : 0));
    if (lane_id() == 0 && all > 0) atomicAdd(m.relaxations, all);
    if (!has) return;
    m.mask[vertex] = 0;
    T distance = static_cast<T*>(m.distances)[vertex];
    Range row = row_of(g, out_row(g, vertex));
    for (u32 k = 0; k < row.length; k++) {
        Edge edge = __ldg(row.begin + k);
        T sum = K::add(g, distance, edge.y);
        if (K::OVERFLOWS && sum == K::NEVER) m.again[1] = 1;
        atomicMin(static_cast<T*>(m.found) + edge.x, sum);
    }
}

// Updates the distances that became smaller, and puts their vertices into the mask.
template <class K> __device__ inline void masked_next(const Graph& g, const Masked& m) {
    typedef typename K::Distance T;
    u32 vertex = blockIdx.x * blockDim.x + threadIdx.x;
    if (vertex >= g.vertices) return;
    T found = static_cast<T*>(m.found)[vertex];
    if (found >= static_cast<T*>(m.distances)[vertex]) return;
    static_cast<T*>(m.distances)[vertex] = found;
    m.mask[vertex] = 1;
    m.again[0] = 1;
}
