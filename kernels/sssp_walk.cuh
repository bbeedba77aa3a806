// Pushes distances along edges, bucket by bucket. Vertices with distances below a bound are queued, and the others are piled up. When the queue
// is empty, the bound rises and the vertices below it are queued (near and far pile of Davidson, Baxter, Garland and Owens 2014).
//
// A vertex is added each time its distance becomes smaller. An entry counts only while the vertex still has the entry's distance, so that one of
// several entries is expanded. If there is no room for a vertex, its bit is set, and it is looked for when the queue is empty.
#pragma once
#include "sssp_deep.cuh"

enum Action : u32 {
    // Relax the out-edges of the vertices in the queue.
    PUSH,
    // Go through the queue again, because the bound became lower or a cap was set.
    REQUEUE,
    // Go through the pile.
    SIFT,
    // Look for vertices for which there was no room.
    RESCAN,
    // The launch has to end.
    PAUSE,
    // Nothing is left.
    END
};

// Returns `distance` plus `width`, but at least the next larger distance.
template <class K> __device__ inline typename K::Distance wider(typename K::Distance distance, u64 width) {
    typedef typename K::Distance T;
    if (width >= u64(K::NEVER) || distance == K::NEVER) return K::NEVER;
    return max(K::plus(distance, T(width)), T(distance + 1));
}

// Goes on to the next step, after a barrier.
template <class T> __device__ inline void next_step(const Search<T>& s, Walk<T>& walk) {
    walk.step++;
    walk.owed |= fresh(s.state->pending + walk.step % 3) == walk.step;
}

// Returns the next action, and changes the walk for it. One thread of each block calls it, and all get the same result, because the state that
// they read does not change while the action runs.
template <class K> __device__ inline u32 choose(const Search<typename K::Distance>& s, Scratch<typename K::Distance>& scratch) {
    typedef typename K::Distance T;
    const State* state = s.state;
    Walk<T>& walk = scratch.walk;
    u64 queued = min(fresh(state->queued + walk.step % 3), fresh(state->limit + walk.step % 3));
    scratch.queued = queued;
    scratch.piled = fresh(state->piled + walk.sift % 3);
    if (entries_of(queued) > 0) {
        walk.tried = 0;
        u64 slots = slots_of(queued);
        if (walk.capped || walk.phase > 0) return PUSH;
        bool many = walk.pushed + slots > s.threshold;
        T narrow = wider<K>(walk.lowest, s.fine);
        if ((many || slots > SSSP_NARROW) && narrow < walk.below) {
            walk.below = narrow;
            return REQUEUE;
        }
        if (!many) return PUSH;
        walk.capped = 1;
        walk.led = walk.lowest;
        walk.cap = wider<K>(walk.lowest, s.reach);
        walk.below = min(walk.below, walk.cap);
        return REQUEUE;
    }
    if (walk.owed && !walk.tried) {
        walk.tried = 1;
        walk.owed = 0;
        return RESCAN;
    }
    u64 least = fresh(state->least + walk.sift % 3);
    bool is_capped = walk.capped && walk.phase == 0;
    if (scratch.piled == 0 && !walk.owed) return END;
    if (is_capped && least >= walk.cap && !walk.owed) return END;
    walk.tried = 0;
    // If the pile has no least distance, the remaining vertices are those without room. The bound rises anyway.
    T from = least == ~0ull || T(least) == K::NEVER ? walk.below : T(least);
    walk.lowest = max(walk.lowest, from);
    walk.below = walk.phase > 0 ? K::NEVER : wider<K>(walk.lowest, is_capped ? s.fine : s.coarse);
    if (is_capped) walk.below = min(walk.below, walk.cap);
    return SIFT;
}

// Relaxes the edges of the queued vertices, and queues or piles up vertices whose distances become smaller.
template <class K>
__device__ inline void push(const Graph& g, const Search<typename K::Distance>& s, Scratch<typename K::Distance>& scratch, Team team) {
    typedef typename K::Distance T;
    const Walk<T>& walk = scratch.walk;
    u32 vertex[SSSP_EACH<T>], far = 0, near = 0;
    T distance[SSSP_EACH<T>];
    for_slots(
        s, scratch, team,
        [&](u32 r, u32 from, T had, u64 address) {
            if (fresh(s.distances + from) != had) return;
            Edge edge = edge_at(address);
            if (edge.x >= g.tail) return;
            T sum = K::add(g, had, edge.y);
            check_sum<K>(s, sum);
            if (sum >= fresh(s.distances + edge.x) || sum >= walk.cap) return;
            if (sum >= atomicMin(s.distances + edge.x, sum)) return;
            vertex[r] = edge.x;
            distance[r] = sum;
            if (sum < walk.below) near |= 1u << r;
            else far |= 1u << r;
        },
        [&](u32) {
            Range row[SSSP_EACH<T>];
#pragma unroll
            for (u32 r = 0; r < SSSP_EACH<T>; r++) row[r] = near >> r & 1 ? pushed_of<K>(g, walk, vertex[r], distance[r]) : Range{};
            u32 without = enqueue<T, SSSP_EACH<T>>(s, scratch, vertex, distance, row);
#pragma unroll
            for (u32 r = 0; r < SSSP_EACH<T>; r++) {
                if (without >> r & 1) leave(s, scratch, vertex[r]);
            }
            pile_up<T, SSSP_EACH<T>>(s, scratch, vertex, distance, far, 0);
            near = far = 0;
        });
}

// Queues one vertex of each thread if its distance is below the bound, and otherwise piles it up.
template <class K>
__device__ inline void put(const Graph& g, const Search<typename K::Distance>& s, Scratch<typename K::Distance>& scratch, u32 vertex,
                           typename K::Distance distance, bool has, u32 ahead) {
    typedef typename K::Distance T;
    const Walk<T>& walk = scratch.walk;
    u32 vertices[1] = {vertex};
    T distances[1] = {distance};
    Range rows[1] = {};
    u32 far = 0;
    if (has && distance < walk.below) rows[0] = s.hops ? Range{nullptr, 1} : pushed_of<K>(g, walk, vertex, distance);
    else far = has && distance < walk.cap;
    if (enqueue<T, 1>(s, scratch, vertices, distances, rows)) leave(s, scratch, vertex);
    pile_up<T, 1>(s, scratch, vertices, distances, far, ahead);
}

// Goes through the queue or the pile, or looks for vertices whose bit is set because there was no room for them. Queues or piles up each one again.
template <class K>
__device__ inline void sift(const Graph& g, const Search<typename K::Distance>& s, Scratch<typename K::Distance>& scratch, Team team, u32 action) {
    typedef typename K::Distance T;
    const Walk<T>& walk = scratch.walk;
    const bool rescans = action == RESCAN, again = action == REQUEUE;
    const u32* vertices = again ? s.queues[walk.step & 1].vertices : s.piles[walk.sift & 1].vertices;
    const T* distances = again ? s.queues[walk.step & 1].distances : s.piles[walk.sift & 1].distances;
    u64 count = rescans ? (g.tail + 31) / 32 : again ? entries_of(scratch.queued) : min(scratch.piled, u64(s.pile_room));
    u64 stride = u64(team.size) * SSSP_THREADS;
    for (u64 base = u64(team.rank) * SSSP_THREADS; base < count; base += stride) {
        u64 at = base + threadIdx.x;
        u32 vertex = 0, bits = 0;
        T distance = 0;
        bool has = at < count;
        if (has && rescans) {
            bits = fresh(s.pending + at);
            if (bits != 0) bits = atomicExch(s.pending + at, 0u);
        } else if (has) {
            vertex = fresh(vertices + at);
            distance = fresh(distances + at);
            has = fresh(s.distances + vertex) == distance;
        }
        do {
            if (rescans) {
                has = bits != 0;
                vertex = has ? u32(at) * 32 + __ffs((int)bits) - 1 : 0;
                if (has) distance = fresh(s.distances + vertex);
                bits &= bits - 1;
            }
            // Entries of the pile go to the other pile, and all others to the current one.
            put<K>(g, s, scratch, vertex, distance, has, action == SIFT);
        } while (rescans && __syncthreads_or(bits != 0));
    }
}

// Carries out an action.
template <class K>
__device__ inline void act(const Graph& g, const Search<typename K::Distance>& s, Scratch<typename K::Distance>& scratch, Team team, u32 action) {
    if (action == PUSH && s.hops) {
        push_deep<K>(g, s, scratch, team, s.hops);
    } else if (action == PUSH) {
        push<K>(g, s, scratch, team);
    } else {
        sift<K>(g, s, scratch, team, action);
    }
}

// Clears the counts of the step after the next and of the sift after the next. One thread calls it.
template <class T> __device__ inline void clear_counts(const Search<T>& s, const Walk<T>& walk) {
    s.state->queued[(walk.step + 2) % 3] = 0;
    s.state->limit[(walk.step + 2) % 3] = ~0ull;
    s.state->piled[(walk.sift + 2) % 3] = 0;
    s.state->least[(walk.sift + 2) % 3] = ~0ull;
}

// Returns true if one block does the action as fast as all blocks.
template <class T> __device__ inline bool is_narrow(const Search<T>& s, const Scratch<T>& scratch, u32 action) {
    // The size of the pile may be compared only for a sift, because in other actions it grows while other blocks still read it.
    if (action == SIFT) return scratch.piled <= SSSP_NARROW_PILE;
    return action < SIFT && slots_of(scratch.queued) <= (s.hops ? DEEP_NARROW : SSSP_NARROW);
}

// Takes steps until nothing is left or the launch has to end. Returns false if the block must leave.
template <class K> __device__ inline bool walk_on(const Graph& g, const Search<typename K::Distance>& s, Scratch<typename K::Distance>& scratch) {
    typedef typename K::Distance T;
    while (true) {
        // All threads of the block have now read what one of them changes next.
        __syncthreads();
        if (threadIdx.x == 0) {
            // The other blocks make their own choice, by the walk as it was before.
            if (scratch.alone) *reinterpret_cast<Walk<T>*>(s.state->walk) = scratch.walk;
            scratch.action = scratch.walk.step < scratch.last ? choose<K>(s, scratch) : PAUSE;
        }
        __syncthreads();
        bool narrow = gridDim.x > 1 && is_narrow(s, scratch, scratch.action);
        if (narrow != scratch.alone) {
            // One block continues alone after all have chosen, and the others wait until it is done.
            if (!grid_barrier(&s.state->barrier, scratch.target)) return false;
            if (narrow && blockIdx.x != 0 && !grid_barrier(&s.state->barrier, scratch.target)) return false;
            if (threadIdx.x == 0) {
                scratch.alone = narrow && blockIdx.x == 0;
                if (!scratch.alone) take_walk(s, scratch.walk);
            }
            __syncthreads();
            if (!scratch.alone) continue;
        }
        if (scratch.action >= PAUSE) return true;
        if (blockIdx.x == 0 && threadIdx.x == 0) clear_counts(s, scratch.walk);
        act<K>(g, s, scratch, scratch.alone ? Team{0, 1} : Team{blockIdx.x, gridDim.x}, scratch.action);
        if (scratch.alone) __syncthreads();
        else if (!grid_barrier(&s.state->barrier, scratch.target)) return false;
        if (threadIdx.x == 0) {
            if (scratch.action == PUSH) scratch.walk.pushed += slots_of(scratch.queued);
            next_step(s, scratch.walk);
            scratch.walk.sift += scratch.action == SIFT;
        }
    }
}
