// Pushes distances along edges, bucket by bucket. Vertices with distances below a bound are queued, and the others are put on a pile. When the queue
// is empty, the bound rises, and the vertices on the pile that are now below it are queued (near and far pile of Davidson, Baxter, Garland and Owens
// 2014).
//
// A vertex is added each time its distance becomes smaller. An entry counts only while the vertex still has the entry's distance, so only one of
// several entries is expanded. If a vertex does not fit in the queue or the pile, its bit is set in a bitmap. When the queue is empty, a scan of the
// bitmap finds it.
#pragma once
#include "sssp_deep.cuh"

enum Action : u32 {
    // Relax the out-edges of the vertices in the queue.
    PUSH,
    // Distribute the vertices in the queue to queue and pile again, because the bound became lower or a cap was set.
    REQUEUE,
    // Distribute the vertices on the pile to the queue and a new pile, because the bound rose.
    SIFT,
    // Find the vertices that did not fit in a queue or pile.
    RESCAN,
    // End the launch; the next one continues.
    PAUSE,
    // Nothing is left to push.
    END
};

// Returns `distance` plus `width`, but at least the next larger distance.
template <class K> __device__ inline typename K::Distance wider(typename K::Distance distance, u64 width) {
    typedef typename K::Distance T;
    if (width >= u64(K::NEVER) || distance == K::NEVER) return K::NEVER;
    return max(K::plus(distance, T(width)), T(distance + 1));
}

// Advances to the next step. Called after a barrier.
template <class T> __device__ inline void next_step(const Search<T>& s, Walk<T>& walk) {
    walk.step++;
    walk.owed |= fresh(s.state->pending + walk.step % 3) == walk.step;
}

// Returns the next action, and updates the walk for it. One thread of each block calls it. All get the same result, because the state that they read
// does not change while the action runs.
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
    // If the pile gives no smallest distance, only vertices that did not fit are left. The bound rises anyway.
    T from = least == ~0ull || T(least) == K::NEVER ? walk.below : T(least);
    walk.lowest = max(walk.lowest, from);
    walk.below = walk.phase > 0 ? K::NEVER : wider<K>(walk.lowest, is_capped ? s.fine : s.coarse);
    if (is_capped) walk.below = min(walk.below, walk.cap);
    return SIFT;
}

// Relaxes the edges of the queued vertices. Vertices whose distances become smaller are queued or put on the pile.
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

// Queues the thread's vertex if its distance is below the bound. Otherwise puts it on the pile if its distance is below the cap. All threads of the
// block call it; `has` is false for threads without a vertex.
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

// Distributes vertices again to queue and pile: those in the queue (REQUEUE), those on the pile (SIFT), or those whose bit is set because they did
// not fit (RESCAN).
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
            // In a sift, far vertices go to the pile that replaces the current one. Otherwise they go to the current pile.
            put<K>(g, s, scratch, vertex, distance, has, action == SIFT);
        } while (rescans && __syncthreads_or(bits != 0));
    }
}

// Executes an action.
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

// Clears the counts of the step after the next, and of the sift (pass over the pile) after the next. One thread calls it.
template <class T> __device__ inline void clear_counts(const Search<T>& s, const Walk<T>& walk) {
    s.state->queued[(walk.step + 2) % 3] = 0;
    s.state->limit[(walk.step + 2) % 3] = ~0ull;
    s.state->piled[(walk.sift + 2) % 3] = 0;
    s.state->least[(walk.sift + 2) % 3] = ~0ull;
}

// Returns true if one block executes the action as fast as all blocks.
template <class T> __device__ inline bool is_narrow(const Search<T>& s, const Scratch<T>& scratch, u32 action) {
    // The size of the pile may be compared only for a sift. In other actions the pile grows while other blocks still read its size.
    if (action == SIFT) return scratch.piled <= SSSP_NARROW_PILE;
    return action < SIFT && slots_of(scratch.queued) <= (s.hops ? DEEP_NARROW : SSSP_NARROW);
}

// Executes steps until nothing is left to push or the launch has to end. Returns false if a block gave up at a barrier; this block must then return.
template <class K> __device__ inline bool walk_on(const Graph& g, const Search<typename K::Distance>& s, Scratch<typename K::Distance>& scratch) {
    typedef typename K::Distance T;
    while (true) {
        // All threads of the block have now read the fields that thread 0 changes next.
        __syncthreads();
        if (threadIdx.x == 0) {
            // Store the walk before the choice, because the other blocks read it and make the same choice themselves.
            if (scratch.alone) *reinterpret_cast<Walk<T>*>(s.state->walk) = scratch.walk;
            scratch.action = scratch.walk.step < scratch.last ? choose<K>(s, scratch) : PAUSE;
        }
        __syncthreads();
        bool narrow = gridDim.x > 1 && is_narrow(s, scratch, scratch.action);
        if (narrow != scratch.alone) {
            // Once all blocks have made their choice, block 0 continues alone, and the others wait until it is done.
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
