// Level-synchronous traversal by MPI ranks. The kernels find the candidates (neighbours of the frontier), sort them by a stable radix sort, remove
// repeats, and update the vertices that the rank owns. src/algo/traverse/gpu launches them in order. Between them, kernels/scan.cu turns counts into
// offsets.
#include "common.cuh"

constexpr u32 TRAVERSE_THREADS = 256;
// Number of pairs that a thread sorts, and that its block sorts. A pair consists of the key of a vertex (key_of_vertex) and a candidate for its
// parent.
constexpr u32 TRAVERSE_EACH = 8;
constexpr u32 TRAVERSE_TILE = TRAVERSE_THREADS * TRAVERSE_EACH;
constexpr u32 TRAVERSE_WARPS = TRAVERSE_THREADS / 32;
// Number of bits of a key by which one pass sorts (a digit).
constexpr u32 TRAVERSE_DIGIT = 8;
constexpr u32 DIGITS = 1u << TRAVERSE_DIGIT;
static_assert(DIGITS == TRAVERSE_THREADS, "a thread has a digit");

// The vertices that a rank owns; src/algo/traverse/gpu/kernel_structs.rs declares the same struct. The local index of a vertex is its index among
// them.
struct Owned {
    // `starts` contains the start of each row in `targets`, and the end of the last row. `offsets` contains the degrees of the frontier's vertices,
    // which are then replaced by the number of candidates before each vertex.
    const u32* starts;
    const u32* targets;
    u32* offsets;
    // Local indices of the frontier's vertices, in ascending order.
    u32* frontier;
    u32* parents;
    // Bitmaps by local index: `reached` marks the vertices that were reached before the step, and `fresh` those that the step reaches.
    u32* reached;
    u32* fresh;
    // Sums for the next frontier: [0] vertices, [1] edges. For a piece (the candidates that are sorted together): [2] pairs left after repeats are
    // removed. For the whole step: [3] candidates that belong to other ranks, [4] pairs left, [5] pairs left that belong to other ranks.
    u64* sums;
    // 2^64 divided by the number of ranks, rounded up; 0 for one rank.
    u64 reciprocal;
    u32 own;
    u32 rank;
    u32 ranks;
    // Number of keys per rank. The keys of rank r are those from r * stride on.
    u32 stride;
    // Binary logarithm of the number of consecutive vertices in a chunk. Chunks are assigned to ranks round-robin.
    u32 shift;
    u32 unused;
};
static_assert(sizeof(Owned) == 96, "the host has a twin of this size");

__device__ inline u64 pair_of(u32 key, u32 parent) { return (u64)key << 32 | parent; }
__device__ inline u32 key_of(u64 pair) { return (u32)(pair >> 32); }

// Returns the key of a vertex: its owner's rank times the stride, plus its local index at the owner.
__device__ inline u32 key_of_vertex(const Owned& owned, u32 v) {
    if (owned.reciprocal == 0) return v;
    u32 chunk = v >> owned.shift;
    u32 turn = (u32)__umul64hi(owned.reciprocal, chunk);
    u32 owner = chunk - turn * owned.ranks;
    return owner * owned.stride + (turn << owned.shift | (v & ((1u << owned.shift) - 1)));
}

// Returns the vertex of this rank with the local index `place`.
__device__ inline u32 vertex_at(const Owned& owned, u32 place) {
    if (owned.reciprocal == 0) return place;
    u32 within = place & ((1u << owned.shift) - 1);
    return ((place >> owned.shift) * owned.ranks + owned.rank) << owned.shift | within;
}

// Writes the degree of each vertex of the frontier to `offsets`, and a 0 after the last.
extern "C" __global__ void __launch_bounds__(TRAVERSE_THREADS) traverse_degrees(Owned owned, u32 count) {
    for (u32 i = blockIdx.x * TRAVERSE_THREADS + threadIdx.x; i <= count; i += gridDim.x * TRAVERSE_THREADS) {
        u32 degree = 0;
        if (i < count) {
            u32 place = owned.frontier[i];
            degree = owned.starts[place + 1] - owned.starts[place];
        }
        owned.offsets[i] = degree;
    }
}

// Calls each(valid, index of the candidate, neighbour, vertex of the frontier) for the candidates from `first` to before `end`, one per thread. The
// vertex is found by a binary search in `offsets`, between the vertices of the block's first and last candidate. All lanes of a warp call `each`
// together; `valid` is false for lanes without a candidate.
template <class F> __device__ inline void each_candidate(const Owned& owned, u32 count, u32 first, u32 end, F each) {
    __shared__ u32 bounds[2];
    for (u32 start = first + blockIdx.x * TRAVERSE_TILE; start < end; start += gridDim.x * TRAVERSE_TILE) {
        u32 stop = min(end - start, TRAVERSE_TILE);
        if (threadIdx.x < 2) bounds[threadIdx.x] = last_start_upto(owned.offsets, count, start + threadIdx.x * (stop - 1));
        __syncthreads();
        u32 low = bounds[0], high = bounds[1];
        for (u32 i = threadIdx.x; i - lane_id() < stop; i += TRAVERSE_THREADS) {
            u32 number = start + i, neighbour = 0, v = 0;
            if (i < stop) {
                u32 at = low + last_start_upto(owned.offsets + low, high - low + 1, number);
                u32 place = owned.frontier[at];
                neighbour = owned.targets[owned.starts[place] + (number - owned.offsets[at])];
                v = vertex_at(owned, place);
            }
            each(i < stop, number, neighbour, v);
        }
        __syncthreads();
    }
}

// Adds the values `x` of all threads of the block to `sum`.
__device__ inline void add_of_block(u32 x, u64* sum) {
    x = warp_sum(x);
    if (lane_id() == 0 && x > 0) atomicAdd(sum, (u64)x);
}

// Writes the candidates from `first` to before `end` as pairs, and counts those that belong to other ranks.
extern "C" __global__ void __launch_bounds__(TRAVERSE_THREADS)
    traverse_search(Owned owned, u32 count, u32 first, u32 end, u64* pairs) {
    u32 away = 0, own = owned.rank * owned.stride;
    each_candidate(owned, count, first, end, [&](bool valid, u32 number, u32 neighbour, u32 v) {
        if (!valid) return;
        u32 key = key_of_vertex(owned, neighbour);
        away += key - own >= owned.stride;
        pairs[number - first] = pair_of(key, v);
    });
    add_of_block(away, owned.sums + 3);
}

// Returns a bit mask of the valid lanes that have the same digit. All lanes of the warp call it.
__device__ inline u32 same_digit(u32 digit, bool valid) {
    u32 same = __ballot_sync(ALL_LANES, valid);
    for (u32 bit = 0; bit < TRAVERSE_DIGIT; bit++) {
        bool is_set = digit >> bit & 1;
        u32 others = __ballot_sync(ALL_LANES, is_set);
        same &= is_set ? others : ~others;
    }
    return same;
}

// Counts how often each digit occurs in each tile: counts[digit * tiles + tile].
extern "C" __global__ void __launch_bounds__(TRAVERSE_THREADS)
    traverse_count(const u64* pairs, u32 count, u32 bit, u32 tiles, u32* counts) {
    __shared__ u32 digits[DIGITS];
    for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        digits[threadIdx.x] = 0;
        __syncthreads();
        for (u32 k = 0; k < TRAVERSE_EACH; k++) {
            u32 at = tile * TRAVERSE_TILE + k * TRAVERSE_THREADS + threadIdx.x;
            bool valid = at < count;
            u32 digit = valid ? key_of(pairs[at]) >> bit & (DIGITS - 1) : 0;
            // Hubs have many candidates, so one lane adds for all lanes with the same digit.
            u32 same = same_digit(digit, valid);
            if (valid && __ffs(same) - 1 == (int)lane_id()) atomicAdd(&digits[digit], (u32)__popc(same));
        }
        __syncthreads();
        counts[threadIdx.x * tiles + tile] = digits[threadIdx.x];
        __syncthreads();
    }
}

// Moves the pairs of each tile to the positions of their digits, in stable order. `places` contains the position of the first pair of each digit and
// tile. Each warp takes consecutive pairs. A tile is first sorted in shared memory, so that pairs with the same digit are written next to each other.
extern "C" __global__ void __launch_bounds__(TRAVERSE_THREADS)
    traverse_scatter(const u64* pairs, u32 count, u32 bit, u32 tiles, const u32* places, u64* sorted) {
    __shared__ u64 tile_pairs[TRAVERSE_TILE];
    __shared__ u32 of_warp[TRAVERSE_WARPS][DIGITS];
    __shared__ u32 first[DIGITS];
    __shared__ u32 scratch[32];
    u32 warp = warp_id(), lane = lane_id();
    for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        for (u32 w = 0; w < TRAVERSE_WARPS; w++) of_warp[w][threadIdx.x] = 0;
        __syncthreads();
        u64 mine[TRAVERSE_EACH];
        u32 ranks[TRAVERSE_EACH];
        u32 start = tile * TRAVERSE_TILE + warp * (TRAVERSE_TILE / TRAVERSE_WARPS);
        u32 left = count - tile * TRAVERSE_TILE;
        u32 filled = left < TRAVERSE_TILE ? left : TRAVERSE_TILE;
#pragma unroll
        for (u32 k = 0; k < TRAVERSE_EACH; k++) {
            u32 at = start + k * 32 + lane;
            bool valid = at < count;
            mine[k] = valid ? pairs[at] : 0;
            u32 digit = key_of(mine[k]) >> bit & (DIGITS - 1);
            u32 same = same_digit(digit, valid);
            u32 before = valid ? of_warp[warp][digit] : 0;
            ranks[k] = before + __popc(same & ((1u << lane) - 1));
            __syncwarp();
            if (valid && __ffs(same) - 1 == (int)lane) of_warp[warp][digit] = before + __popc(same);
            __syncwarp();
        }
        __syncthreads();
        // Each thread computes two offsets for one digit: that of each warp's pairs among all pairs of the digit, and that of the digit in the tile.
        u32 sum = 0, total;
        for (u32 w = 0; w < TRAVERSE_WARPS; w++) {
            u32 of_this = of_warp[w][threadIdx.x];
            of_warp[w][threadIdx.x] = sum;
            sum += of_this;
        }
        u32 before_digit = block_scan_before(sum, scratch, total);
        for (u32 w = 0; w < TRAVERSE_WARPS; w++) of_warp[w][threadIdx.x] += before_digit;
        // Unsigned integers wrap around, so the sum with a pair's index in the tile is right even if this difference is negative.
        first[threadIdx.x] = places[threadIdx.x * tiles + tile] - before_digit;
        __syncthreads();
#pragma unroll
        for (u32 k = 0; k < TRAVERSE_EACH; k++) {
            if (start + k * 32 + lane < count) {
                u32 digit = key_of(mine[k]) >> bit & (DIGITS - 1);
                tile_pairs[of_warp[warp][digit] + ranks[k]] = mine[k];
            }
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < filled; i += TRAVERSE_THREADS) {
            u64 pair = tile_pairs[i];
            sorted[first[key_of(pair) >> bit & (DIGITS - 1)] + i] = pair;
        }
        __syncthreads();
    }
}

__device__ inline bool is_first(const u64* pairs, u32 at) { return at == 0 || key_of(pairs[at - 1]) != key_of(pairs[at]); }

// Counts, for each tile, the pairs that are the first with their key.
extern "C" __global__ void __launch_bounds__(TRAVERSE_THREADS) traverse_firsts(const u64* pairs, u32 count, u32 tiles, u32* counts) {
    __shared__ u32 scratch[32];
    for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        u32 firsts = 0, total;
        for (u32 k = 0; k < TRAVERSE_EACH; k++) {
            u32 at = tile * TRAVERSE_TILE + k * TRAVERSE_THREADS + threadIdx.x;
            firsts += at < count && is_first(pairs, at);
        }
        block_scan_before(firsts, scratch, total);
        if (threadIdx.x == 0) counts[tile] = total;
    }
}

// Writes the first pair of each key to `left` without gaps, and the number of keys to sums[2]. `places` contains the number of first pairs before
// each tile.
extern "C" __global__ void __launch_bounds__(TRAVERSE_THREADS)
    traverse_unique(const u64* pairs, u32 count, u32 tiles, const u32* places, u64* left, u64* sums) {
    __shared__ u32 scratch[32];
    for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        u32 next = places[tile], total;
        for (u32 k = 0; k < TRAVERSE_EACH; k++) {
            u32 at = tile * TRAVERSE_TILE + k * TRAVERSE_THREADS + threadIdx.x;
            bool is_left = at < count && is_first(pairs, at);
            u32 before = block_scan_before(is_left, scratch, total);
            if (is_left) left[next + before] = pairs[at];
            next += total;
        }
        if (tile + 1 == tiles && threadIdx.x == 0) sums[2] = next;
    }
}

// Returns how many of the sorted pairs have keys below `end`.
__device__ inline u32 pairs_before(const u64* pairs, u32 count, u64 end) {
    u32 low = 0, high = count;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (key_of(pairs[middle]) < end) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Writes the end of each rank's range of the sorted pairs. Adds to the sums the number of pairs left, and the number of those that rank `own` sends
// to other ranks.
extern "C" __global__ void __launch_bounds__(TRAVERSE_THREADS)
    traverse_ends(const u64* pairs, u64* sums, u32 own, u32 ranks, u32 stride, u32* ends) {
    u32 count = (u32)sums[2];
    for (u32 rank = blockIdx.x * TRAVERSE_THREADS + threadIdx.x; rank < ranks; rank += gridDim.x * TRAVERSE_THREADS) {
        u32 end = pairs_before(pairs, count, (u64)(rank + 1) * stride);
        ends[rank] = end;
        if (rank != own) continue;
        sums[4] += count;
        sums[5] += count - (end - pairs_before(pairs, count, (u64)rank * stride));
    }
}

// Claims the vertex with the local index `place` for a parent, unless it was reached before the step. Of several parents, the smallest remains.
__device__ inline void claim(const Owned& owned, u32 place, u32 parent) {
    u32 bit = 1u << (place & 31);
    if (owned.reached[place >> 5] & bit) return;
    if (atomicMin(&owned.parents[place], parent) == NONE) atomicOr(&owned.fresh[place >> 5], bit);
}

// Claims the vertices of pairs, all of which this rank owns.
extern "C" __global__ void __launch_bounds__(TRAVERSE_THREADS) traverse_update(Owned owned, const u64* pairs, u32 count) {
    u32 own = owned.rank * owned.stride;
    for (u32 i = blockIdx.x * TRAVERSE_THREADS + threadIdx.x; i < count; i += gridDim.x * TRAVERSE_THREADS)
        claim(owned, key_of(pairs[i]) - own, (u32)pairs[i]);
}

// Claims this rank's vertices among the pairs that a rank, on this GPU or another, has written. `ends` contains the end of each rank's range of the
// pairs.
extern "C" __global__ void __launch_bounds__(TRAVERSE_THREADS) traverse_take(Owned owned, const u64* pairs, const u32* ends) {
    u32 own = owned.rank * owned.stride;
    u32 first = owned.rank > 0 ? ends[owned.rank - 1] : 0, end = ends[owned.rank];
    for (u32 i = first + blockIdx.x * TRAVERSE_THREADS + threadIdx.x; i < end; i += gridDim.x * TRAVERSE_THREADS) {
        u64 pair = pairs[i];
        claim(owned, key_of(pair) - own, (u32)pair);
    }
}

// Reserves positions for candidates, one per valid lane: adds the number of lanes with the same owner to the owner's counter, with one atomic
// addition. Returns the lane's position, which is only meaningful for valid lanes. All lanes of a warp call it.
__device__ inline u32 draw(u32* next, u32 owner, bool valid) {
    u32 same = __match_any_sync(ALL_LANES, valid ? owner : NONE);
    u32 leader = __ffs(same) - 1, first = 0;
    if (valid && lane_id() == leader) first = atomicAdd(&next[owner], (u32)__popc(same));
    return __shfl_sync(ALL_LANES, first, leader) + __popc(same & ((1u << lane_id()) - 1));
}

// Counts, for each other rank, the candidates that belong to it.
extern "C" __global__ void __launch_bounds__(TRAVERSE_THREADS)
    traverse_atomic_count(Owned owned, u32 count, u32 first, u32 end, u32* counts) {
    each_candidate(owned, count, first, end, [&](bool valid, u32, u32 neighbour, u32) {
        u32 owner = key_of_vertex(owned, neighbour) / owned.stride;
        draw(counts, owner, valid && owner != owned.rank);
    });
}

// Replaces each rank's count by the position of the rank's first candidate. One thread is enough, because there are few ranks.
extern "C" __global__ void __launch_bounds__(TRAVERSE_THREADS) traverse_atomic_ends(Owned owned, u32* counts) {
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    u32 all = 0;
    for (u32 rank = 0; rank < owned.ranks; rank++) {
        u32 of_rank = counts[rank];
        counts[rank] = all;
        all += of_rank;
    }
    owned.sums[3] += all;
    owned.sums[5] += all;
}

// Claims this rank's vertices, and appends the candidates of each other rank at its next position, without removing repeats.
extern "C" __global__ void __launch_bounds__(TRAVERSE_THREADS)
    traverse_atomic(Owned owned, u32 count, u32 first, u32 end, u32* next, u64* pairs) {
    each_candidate(owned, count, first, end, [&](bool valid, u32, u32 neighbour, u32 v) {
        u32 key = key_of_vertex(owned, neighbour), owner = key / owned.stride;
        bool is_own = owner == owned.rank;
        if (valid && is_own) claim(owned, key - owner * owned.stride, v);
        if (owned.ranks == 1) return;
        u32 place = draw(next, owner, valid && !is_own);
        if (valid && !is_own) pairs[place] = pair_of(key, v);
    });
}

// Writes the number of vertices that the step reached, for each 32-bit word of the bitmap.
extern "C" __global__ void __launch_bounds__(TRAVERSE_THREADS) traverse_reached(Owned owned, u32 words, u32* counts) {
    for (u32 i = blockIdx.x * TRAVERSE_THREADS + threadIdx.x; i < words; i += gridDim.x * TRAVERSE_THREADS)
        counts[i] = __popc(owned.fresh[i]);
}

// Turns the vertices that the step reached into the next frontier, and adds up its vertices and edges. `places` contains, for each 32-bit word of the
// bitmap, the number of these vertices before it.
extern "C" __global__ void __launch_bounds__(TRAVERSE_THREADS) traverse_advance(Owned owned, u32 words, const u32* places) {
    u32 vertices = 0;
    u64 edges = 0;
    for (u32 i = blockIdx.x * TRAVERSE_THREADS + threadIdx.x; i < words; i += gridDim.x * TRAVERSE_THREADS) {
        u32 bits = owned.fresh[i], at = places[i];
        if (bits == 0) continue;
        owned.reached[i] |= bits;
        owned.fresh[i] = 0;
        vertices += __popc(bits);
        while (bits != 0) {
            u32 place = i * 32 + __ffs(bits) - 1;
            owned.frontier[at++] = place;
            edges += owned.starts[place + 1] - owned.starts[place];
            bits &= bits - 1;
        }
    }
    if (vertices > 0) {
        atomicAdd(owned.sums, (u64)vertices);
        atomicAdd(owned.sums + 1, edges);
    }
}

// Begins a search whose root this rank owns: the root, with the local index `place`, becomes the frontier.
extern "C" __global__ void __launch_bounds__(TRAVERSE_THREADS) traverse_begin(Owned owned, u32 place, u32 root) {
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    owned.parents[place] = root;
    owned.reached[place >> 5] |= 1u << (place & 31);
    owned.frontier[0] = place;
}
