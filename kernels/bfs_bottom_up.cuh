// Bottom-up steps: every unreached vertex looks for a reached neighbour (Beamer, Asanovic and Patterson, SC 2012).
//
// A warp processes 256 vertices at a time. It first tests the first neighbour of each vertex. These neighbours are in one array. The first neighbour
// is the largest hub among the neighbours of a vertex, so most vertices find their parent there. The remaining vertices are compacted, so that all
// lanes have work. Their next neighbours are tested four at a time, from head arrays. Then eight lanes together test the rest of each row. Rows
// ascend, so the first hit is the smallest reached neighbour. The bitmap that is tested does not change during a step.
//
// A long row is cut into pieces, which all warps test after a barrier. Otherwise a single hub that the search does not reach would keep a few lanes
// busy for as long as the rest of the step takes.
#pragma once
#include "bfs_peers.cuh"

// Number of lanes of a group, which reads a row together, and number of groups of a warp.
constexpr u32 BFS_GROUP = 8;
constexpr u32 BFS_GROUPS = 32 / BFS_GROUP;
// Number of loads of a row after which a group of lanes leaves the rest of the row to all warps, and number of slots of a piece of such a row.
constexpr u32 BFS_LONG = 32;
constexpr u32 BFS_PIECE = 4096;
// If fewer than one vertex in this many is unreached, a warp checks several chunks at once.
constexpr u32 BFS_FEW_OPEN = 32;

// Continues with the upper half of a row if the lower half has been read.
__device__ inline void turn_page(Rest& rest) {
    if (rest.length > 0) return;
    rest = {rest.later, nullptr, rest.later_length, 0};
}

// Returns the rest of a vertex's in-row after the first `skipped` entries, or the whole row if it is packed.
__device__ inline Rest rest_of(const Graph& g, u32 vertex, u32 skipped) {
    u32 row = in_row(g, vertex);
    Segment lower = half_of(g, 0, row), upper = half_of(g, 1, row);
    if (PACKED) skipped = 0;
    u32 below = min(skipped, lower.length), above = min(skipped - below, upper.length);
    Rest rest = {lower.begin + below, upper.begin + above, lower.length - below, upper.length - above};
    turn_page(rest);
    return rest;
}

__device__ inline u32 pieces_of(u32 length) { return length / BFS_PIECE + (length % BFS_PIECE > 0); }

// Queues the rest of a vertex's row, in pieces, for all warps. `queue` is a queue that this step does not use otherwise. Returns false if it is full.
__device__ inline bool leave(const Search& s, const Queue& queue, Counts* counts, u32 vertex, const Rest& rest) {
    u32 first = pieces_of(rest.length), all = first + pieces_of(rest.later_length);
    u64 place = atomicAdd(&counts->pieces, u64(all));
    bool fits = place + all <= s.capacity;
    for (u32 k = 0; k < all && place + k < s.capacity; k++) {
        u32 before = (k < first ? k : k - first) * BFS_PIECE;
        u32 length = (k < first ? rest.length : rest.later_length) - before;
        queue.starts[place + k] = fits ? min(length, BFS_PIECE) : 0;
        queue.vertices[place + k] = vertex;
        queue.rows[place + k] = u64((k < first ? rest.at : rest.later) + before);
    }
    if (fits) s.parents[vertex] = NONE;
    return fits;
}

// Returns the first reached neighbour in a slot, or NONE. Adds the number of neighbours tested to `tested`.
__device__ inline u32 test_slot(const u32* reached, Slot slot, u32& tested) {
    while (slot.next != NONE) {
        tested++;
        if (is_in(reached, slot.next)) return slot.next;
        go_on(slot);
    }
    return NONE;
}

// Tests the first neighbour of each unreached vertex of a chunk. `word` is one word of the chunk's bitmap in each of the first BFS_CHUNK_WORDS lanes.
// Returns the bits of the vertices found, in the same lanes. Sets `left` to the number of vertices whose further neighbours must be tested.
__device__ inline u32 test_first(const Graph& g, const Search& s, const u32* reached, u32 first_vertex, u32 word, Chunk& chunk, u32& left,
                                 Found& found) {
    u32 near[BFS_CHUNK_WORDS];
#pragma unroll
    for (u32 k = 0; k < BFS_CHUNK_WORDS; k++) {
        bool is_open = !(__shfl_sync(ALL_LANES, word, k) >> lane_id() & 1);
        near[k] = is_open ? __ldcs(g.first + first_vertex + 32 * k + lane_id()) : NONE;
    }
    u32 bits = 0;
    left = 0;
#pragma unroll
    for (u32 k = 0; k < BFS_CHUNK_WORDS; k++) {
        u32 vertex = first_vertex + 32 * k + lane_id();
        bool is_open = near[k] != NONE, hit = is_open && is_in(reached, near[k]);
        if (hit) {
            s.parents[vertex] = near[k];
            found.leaves += leaves_of(g, vertex);
        }
        found.checked += is_open;
        u32 hits = __ballot_sync(ALL_LANES, hit);
        if (lane_id() == k) bits = hits;
        bool more = is_open && !hit && vertex < g.wide[0];
        u32 all = __ballot_sync(ALL_LANES, more);
        if (more) chunk.open[left + __popc(all & ((1u << lane_id()) - 1))] = u8(32 * k + lane_id());
        left += __popc(all);
    }
    __syncwarp();
    return bits;
}

// Writes the parent of a vertex that was found after the test of first neighbours, and sets its bit in the chunk.
__device__ inline void find(const Graph& g, const Search& s, Chunk& chunk, u32 vertex, u32 parent, Found& found) {
    s.parents[vertex] = parent;
    found.leaves += leaves_of(g, vertex);
    atomicOr(chunk.found + (vertex % BFS_CHUNK >> 5), bit_of(vertex));
}

// Tests the neighbours in a head array, for the first `count` vertices of `chunk.open`. Returns the number of vertices whose further neighbours must
// be tested.
__device__ inline u32 test_heads(const Graph& g, const Search& s, u32 array, const u32* reached, u32 first_vertex, Chunk& chunk, u32 count,
                                 Found& found) {
    const uint4* heads = g.heads[array] + first_vertex;
    const u32 wide = g.wide[array + 1];
    u32 left = 0;
    for (u32 base = 0; base < count; base += 32) {
        bool more = base + lane_id() < count;
        u32 open = more ? chunk.open[base + lane_id()] : 0;
        if (more) {
            uint4 near = __ldcs(heads + open);
            u32 tested = (near.x != NONE) + (near.y != NONE) + (near.z != NONE) + (near.w != NONE);
            bool x = near.x != NONE && is_in(reached, near.x), y = near.y != NONE && is_in(reached, near.y);
            bool z = near.z != NONE && is_in(reached, near.z), w = near.w != NONE && is_in(reached, near.w);
            u32 parent = x ? near.x : y ? near.y : z ? near.z : w ? near.w : NONE;
            found.checked += x ? 1 : y ? 2 : z ? 3 : tested;
            if (parent != NONE) find(g, s, chunk, first_vertex + open, parent, found);
            more = parent == NONE && first_vertex + open < wide;
        }
        u32 all = __ballot_sync(ALL_LANES, more);
        // All lanes must have read their vertices before these elements of `open` are overwritten.
        __syncwarp();
        if (more) chunk.open[left + __popc(all & ((1u << lane_id()) - 1))] = u8(open);
        left += __popc(all);
        __syncwarp();
    }
    return left;
}

// Tests the rest of the rows of the first `count` vertices of `chunk.open`, with eight lanes per row. Each lane first looks up the location of one
// row. A group that has finished a row continues with another without waiting for other groups.
__device__ inline void test_rows(const Graph& g, const Search& s, const u32* reached, u32 first_vertex, Chunk& chunk, u32 count, Counts* counts,
                                 Found& found) {
    const u32 group = lane_id() / BFS_GROUP, lane = lane_id() % BFS_GROUP;
    for (u32 base = 0; base < count; base += 32) {
        u32 rows = min(count - base, 32u), next = group, vertex = NONE, turn = 0;
        if (lane_id() < rows) {
            u32 mine = first_vertex + chunk.open[base + lane_id()];
            chunk.rests[lane_id()] = rest_of(g, mine, 1 + BFS_HEAD * g.head_arrays);
        }
        __syncwarp();
        Rest rest = {};
        while (__any_sync(ALL_LANES, rest.length > 0 || next < rows)) {
            if (rest.length == 0 && next < rows) {
                rest = chunk.rests[next];
                vertex = first_vertex + chunk.open[base + next];
                next += BFS_GROUPS;
                turn = 0;
            }
            u32 looked = 0, near = test_slot(reached, lane < rest.length ? read_slot(u64(rest.at), lane) : no_slot(), looked);
            u32 hits = __ballot_sync(ALL_LANES, near != NONE) >> (group * BFS_GROUP) & ((1u << BFS_GROUP) - 1);
            if (rest.length == 0) continue;
            u32 tested = hits != 0 ? __ffs(hits) : min(rest.length, BFS_GROUP);
            found.checked += PACKED ? looked : lane == 0 ? tested : 0;
            if (hits != 0) {
                if (lane + 1 == tested) find(g, s, chunk, vertex, near, found);
                rest.length = 0;
                continue;
            }
            rest.at += tested;
            rest.length -= tested;
            turn_page(rest);
            turn++;
            if (turn == BFS_LONG && rest.length > 0) {
                u32 others = ((1u << BFS_GROUP) - 1) << (group * BFS_GROUP);
                bool left = lane == 0 && leave(s, s.queues[0], counts, vertex, rest);
                if (__any_sync(others, left)) rest.length = 0;
            }
        }
        __syncwarp();
    }
}

// If all vertices of this GPU's four chunks from index `i` on are reached, copies their words to the bitmap of the next level and returns true.
__device__ inline bool copy_reached(const Search& s, const u32* reached, u32* after, u32 i, u32 chunks, u32 bitmap) {
    u32 mine = own_chunk(s, i + lane_id() / BFS_CHUNK_WORDS), at = mine * BFS_CHUNK_WORDS + lane_id() % BFS_CHUNK_WORDS;
    if (!__all_sync(ALL_LANES, mine >= chunks || fresh(reached + at) == NONE)) return false;
    if (mine < chunks && (!HAS_PEERS || fresh(after + at) != NONE)) put_word(s, bitmap, after, at, NONE);
    return true;
}

// Finds the next frontier. Writes its bits, and those of all vertices reached before, to the other bitmap.
__device__ inline void find_next(const Graph& g, const Search& s, Scratch& scratch) {
    const u32* reached = s.reached[scratch.at.current];
    u32* after = s.reached[scratch.at.current ^ 1];
    Counts* counts = next_counts(s, scratch);
    Chunk& chunk = scratch.chunks[warp_id()];
    Found found = {};
    const bool has_word = lane_id() < BFS_CHUNK_WORDS;
    if (has_word) chunk.found[lane_id()] = 0;
    __syncwarp();
    const u32 chunks = (g.tail + BFS_CHUNK - 1) / BFS_CHUNK;
    // If nearly all vertices are reached, warps would spend most of their time waiting for words, so they read the words of several chunks at once.
    const bool few_open = scratch.at.open < scratch.frontier.vertices + g.tail / BFS_FEW_OPEN;
    const u32 width = few_open ? 32 / BFS_CHUNK_WORDS : 1;
#pragma unroll 1
    for (u32 next = (blockIdx.x * BFS_WARPS + warp_id()) * width;; next++) {
        // Skip the following groups of chunks as long as all of their vertices are reached.
        if (next % width == 0 && few_open) {
            while (own_chunk(s, next) < chunks && copy_reached(s, reached, after, next, chunks, scratch.at.current ^ 1)) {
                next += gridDim.x * BFS_WARPS * width;
            }
        }
        const u32 i = own_chunk(s, next);
        if (i >= chunks) break;
        u32 word = has_word ? fresh(reached + i * BFS_CHUNK_WORDS + lane_id()) : NONE, now = 0;
        if (!__all_sync(ALL_LANES, word == NONE)) {
            u32 left, first_vertex = i * BFS_CHUNK;
            now = test_first(g, s, reached, first_vertex, word, chunk, left, found);
#pragma unroll 1
            for (u32 k = 0; k < g.head_arrays && left > 0; k++) {
                left = test_heads(g, s, k, reached, first_vertex, chunk, left, found);
            }
            if (left > 0) test_rows(g, s, reached, first_vertex, chunk, left, counts, found);
            __syncwarp();
        }
        if (has_word) {
            now |= chunk.found[lane_id()];
            chunk.found[lane_id()] = 0;
            found.vertices += __popc(now);
            u32 at = i * BFS_CHUNK_WORDS + lane_id();
            // Most words change in only few steps, and all GPUs have the same bitmap, so unchanged words are not sent.
            if (!HAS_PEERS || fresh(after + at) != (word | now)) put_word(s, scratch.at.current ^ 1, after, at, word | now);
        }
        __syncwarp();
        // After the last chunk of a group, continue with this warp's next group.
        if ((next + 1) % width == 0) next += gridDim.x * BFS_WARPS * width - width;
    }
    // From here on, the shared memory of the chunks is used for other data.
    __syncthreads();
    add(counts, &counts->edges, found, scratch);
}

// Tests the pieces of long rows that are queued to be shared by all warps.
__device__ inline void test_pieces(const Graph& g, const Search& s, Scratch& scratch) {
    const u32* reached = s.reached[scratch.at.current];
    u32* after = s.reached[scratch.at.current ^ 1];
    Counts* counts = next_counts(s, scratch);
    const Queue& queue = s.queues[0];
    u64 count = min(own_pieces(s, counts), u64(s.capacity));
    Found found = {};
    for (u64 i = blockIdx.x * BFS_WARPS + warp_id(); i < count; i += gridDim.x * BFS_WARPS) {
        u32 vertex = queue.vertices[i], length = queue.starts[i];
        for (u32 base = 0; base < length; base += 32) {
            bool has_slot = base + lane_id() < length;
            u32 looked = 0, near = test_slot(reached, has_slot ? read_slot(queue.rows[i], base + lane_id()) : no_slot(), looked);
            u32 hits = __ballot_sync(ALL_LANES, near != NONE);
            u32 tested = hits != 0 ? __ffs(hits) : min(length - base, 32u);
            found.checked += PACKED ? looked : lane_id() == 0 ? tested : 0;
            if (hits == 0) continue;
            if (lane_id() + 1 == tested) {
                atomicMin(s.parents + vertex, near);
                if (!(atomicOr(after + (vertex >> 5), bit_of(vertex)) & bit_of(vertex))) {
                    found.vertices++;
                    found.leaves += leaves_of(g, vertex);
                }
            }
            break;
        }
    }
    add(counts, &counts->edges, found, scratch);
}

// Sends the bits of the vertices that were found in row pieces to the other GPUs, after all blocks of this GPU have tested their pieces.
__device__ inline void put_pieces(const Search& s, const Scratch& scratch) {
    u32* after = s.reached[scratch.at.current ^ 1];
    u64 count = min(own_pieces(s, next_counts(s, scratch)), u64(s.capacity));
    for (u64 i = u64(blockIdx.x) * BFS_THREADS + threadIdx.x; i < count; i += gridDim.x * BFS_THREADS) {
        u32 at = s.queues[0].vertices[i] >> 5;
        put_word(s, scratch.at.current ^ 1, after, at, fresh(after + at));
    }
}
