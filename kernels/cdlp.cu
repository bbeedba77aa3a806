// Label propagation: every vertex takes the most frequent label of its neighbours, or the smallest one of several equally frequent labels.
//
// A vote is a u64. Its upper half is the number of neighbours that have a label, and its lower half is the complement of this label. So the largest
// vote wins. The method of counting depends on the number of row entries of a vertex. Up to 2 entries need no counting. Up to 32 are compared by a
// warp, each lane with all others. Up to WARP_MOST are counted by a warp, and up to BLOCK_MOST by a block, in a hash table in shared memory that is
// large enough for all labels.
//
// The labels of longer rows do not fit such a table. Their entries are first counted in bins, by the hash of the label. A label has at most as many
// votes as its bin. So the labels of the fullest bins are counted one by one, then those of emptier bins, down to bins with fewer votes than some
// label is known to have. If the table overflows, the labels are counted again, for a part of all hashes at a time.
#include "row_parts.cuh"

// Maximum number of row entries of a vertex that a warp counts, and that a block counts.
constexpr u32 WARP_MOST = 256;
constexpr u32 BLOCK_MOST = 2048;
// Number of threads per block in the kernel for vertices with up to BLOCK_MOST entries, and in the kernel for vertices with more entries.
constexpr u32 MANY_THREADS = 256;
constexpr u32 HUB_THREADS = 512;
// Binary logarithm of the number of bins for a long row, and number of slots of its hash table.
constexpr u32 BIN_BITS = 13;
constexpr u32 HUB_SLOTS = 1024;
// Number of slots that are tried before the hash table of a long row counts as full.
constexpr u32 MOST_TRIES = 32;

// Labels before and after an iteration. src/algo/cdlp/gpu.rs declares the same struct.
struct Labels {
    const u32* before;
    u32* after;
    // For each vertex, whether a neighbour has changed its label. Null if this is not known.
    const u8* marked;
    // Number of vertices whose labels changed, and number of their row entries.
    u64* changed;
    // Whether all vertices have different labels.
    u32 differ;
};
static_assert(sizeof(Labels) == 40, "as its twin");

// Hash table of labels with the votes for each.
struct Table {
    u32* labels;
    u32* votes;
    // Number of slots minus 1; the number of slots is a power of two.
    u32 mask;
};

__device__ inline u64 vote(u32 votes, u32 label) { return u64(votes) << 32 | ~label; }
__device__ inline u32 votes_of(u64 vote) { return u32(vote >> 32); }
__device__ inline u32 label_of(u64 vote) { return ~u32(vote); }

// Returns the hash of a label. Different labels have different hashes.
__device__ inline u32 hash(u32 label) { return label * 0x9e3779b9; }

// Returns the number of votes for the label of vertex `u`, if no other vertex has this label: 2 if `u` is a neighbour in both directions, otherwise
// 1. `u` is an entry of segment `s` of the `count` segments `of`.
__device__ inline u32 votes_of_entry(const Segment* of, u32 count, u32 s, u32 u) {
    // A neighbour in both directions is in both rows of a half.
    return count == 4 && contains(of[s ^ 1].begin, of[s ^ 1].length, u) ? 2 : 1;
}

// Returns the maximum of `value` over the threads of a block, to every thread. Every thread must call this. `scratch` has a 64-bit word for each
// warp.
__device__ inline u64 most_of_block(u64 value, u64* scratch) {
    value = warp_max(value);
    __syncthreads();
    if (lane_id() == 0) scratch[warp_id()] = value;
    __syncthreads();
    u64 most = 0;
    for (u32 warp = 0; warp < blockDim.x / 32; warp++) most = max(most, scratch[warp]);
    return most;
}

// Adds a vote for a label. Returns the label's new number of votes, or 0 if all of the first `tries` slots contain other labels.
__device__ inline u32 add_vote(const Table& table, u32 label, u32 tries) {
    u32 slot = hash(label);
    slot = (slot ^ slot >> 15) & table.mask;
    for (; tries > 0; tries--) {
        u32 found = atomicCAS(table.labels + slot, NONE, label);
        if (found == NONE || found == label) return atomicAdd(table.votes + slot, 1u) + 1;
        slot = (slot + 1) & table.mask;
    }
    return 0;
}

// Clears a table. `threads` threads share this work, and `thread` is the index of this one.
__device__ inline void clear(const Table& table, u32 thread, u32 threads) {
    for (u32 i = thread; i <= table.mask; i += threads) {
        table.labels[i] = NONE;
        table.votes[i] = 0;
    }
}

// Counts the labels of all row entries of a vertex in a table that is large enough for them. Whole warps call this. `threads` threads share the
// entries, and `thread` is the index of this one. Returns the largest vote that this thread has seen. Entries with the label `own` are not counted in
// the table; the number of those of this thread is added to `same`.
__device__ inline u64
count(const Segment* of, u32 segments, const Labels& labels, u32 own, const Table& table, u32 thread, u32 threads, u32& same) {
    u64 most = 0;
    for (u32 s = 0; s < segments; s++) {
        for (u32 i = thread; i < of[s].length; i += threads) {
            u32 u = of[s].begin[i], label = labels.before[u];
            if (labels.differ) most = max(most, vote(votes_of_entry(of, segments, s, u), label));
            else if (label == own) same++;
            else most = max(most, vote(add_vote(table, label, NONE), label));
        }
    }
    return most;
}

// Returns a number of slots with which a table of `entries` labels is at most half full.
__device__ inline u32 slots_for(u32 entries) { return max(64u, 1u << (33 - __clz(entries - 1))); }

// Computes the next labels of the vertices from `first` to `end` (exclusive), except vertices with more than WARP_MOST entries.
extern "C" __global__ void __launch_bounds__(256) cdlp_few(VertexRows rows, u32 first, u32 end, Labels labels) {
    constexpr u32 SLOTS = 2 * WARP_MOST;
    __shared__ u32 tables[8][2 * SLOTS];
    __shared__ Segment found[8][32][4];
    u32 count_of = segments(rows), changed = 0;
    u64 entries_changed = 0;
    for (u64 base = first + u64(blockIdx.x * 8 + warp_id()) * 32; base < end; base += u64(gridDim.x) * 256) {
        u32 v = u32(base) + lane_id(), own = v < end ? labels.before[v] : 0, best = own, length = 0;
        bool is_due = v < end && (labels.marked == nullptr || labels.marked[v] != 0);
        __syncwarp();
        for (u32 s = 0; s < count_of && is_due; s++) {
            Segment segment = found[warp_id()][lane_id()][s] = segment_of(rows, v, s);
            length += segment.length;
        }
        __syncwarp();
        if (length == 1 || length == 2) {
            best = NONE;
            for (u32 s = 0; s < count_of; s++) {
                Segment segment = found[warp_id()][lane_id()][s];
                for (u32 i = 0; i < segment.length; i++) best = min(best, labels.before[segment.begin[i]]);
            }
        }
        for (u32 left = __ballot_sync(ALL_LANES, length > 2 && length <= WARP_MOST); left > 0; left &= left - 1) {
            u32 lane = __ffs(left) - 1;
            u32 all = __shfl_sync(ALL_LANES, length, lane), own_label = __shfl_sync(ALL_LANES, own, lane);
            const Segment* of = found[warp_id()][lane];
            u64 most = 0;
            if (all <= 32) {
                u32 at = lane_id(), label = NONE, votes = 1;
                for (u32 s = 0; s < count_of; s++) {
                    if (at < of[s].length) {
                        u32 u = of[s].begin[at];
                        label = labels.before[u];
                        if (labels.differ) votes = votes_of_entry(of, count_of, s, u);
                        break;
                    }
                    at -= of[s].length;
                }
                u32 same = __popc(__match_any_sync(ALL_LANES, label));
                if (label != NONE) most = vote(labels.differ ? votes : same, label);
            } else {
                Table table = {tables[warp_id()], tables[warp_id()] + SLOTS, slots_for(all) - 1};
                u32 same = 0;
                if (!labels.differ) clear(table, lane_id(), 32);
                __syncwarp();
                most = count(of, count_of, labels, own_label, table, lane_id(), 32, same);
                __syncwarp();
                most = max(most, vote(warp_sum(same), own_label));
            }
            most = warp_max(most);
            if (lane_id() == lane) best = label_of(most);
        }
        if (v < end && length <= WARP_MOST) labels.after[v] = best;
        bool differs = v < end && length <= WARP_MOST && best != own;
        changed += differs;
        entries_changed += differs ? length : 0;
    }
    changed = warp_sum(changed);
    entries_changed = warp_sum(entries_changed);
    if (lane_id() == 0 && changed > 0) {
        atomicAdd(labels.changed, u64(changed));
        atomicAdd(labels.changed + 1, entries_changed);
    }
}

// Finds the segments of a vertex. Writes them to `found`, in shared memory. Returns the number of their entries, or 0 if the vertex's label need not
// be computed. All threads of the block call this.
__device__ inline u32 find_segments(const VertexRows& rows, u32 v, const u8* marked, Segment* found) {
    if (marked != nullptr && marked[v] == 0) return 0;
    u32 all = segments(rows), entries = 0;
    if (threadIdx.x < all) found[threadIdx.x] = segment_of(rows, v, threadIdx.x);
    __syncthreads();
    for (u32 s = 0; s < all; s++) entries += found[s].length;
    return entries;
}

// Stores the winning label of a vertex with `entries` row entries; `most` is the winning vote.
__device__ inline void store(const Labels& labels, u32 v, u32 own, u32 entries, u64 most) {
    if (threadIdx.x > 0) return;
    labels.after[v] = label_of(most);
    if (label_of(most) == own) return;
    atomicAdd(labels.changed, u64(1));
    atomicAdd(labels.changed + 1, u64(entries));
}

// Computes the next label of each vertex of a list. Each has at most BLOCK_MOST row entries. A block processes one vertex.
extern "C" __global__ void __launch_bounds__(MANY_THREADS) cdlp_many(VertexRows rows, const u32* list, Labels labels) {
    constexpr u32 SLOTS = 2 * BLOCK_MOST;
    __shared__ u32 slots[2 * SLOTS];
    __shared__ Segment found[4];
    __shared__ u64 scratch[MANY_THREADS / 32];
    u32 v = list[blockIdx.x], own = labels.before[v], same = 0;
    u32 all = find_segments(rows, v, labels.marked, found);
    if (all == 0) return;
    Table table = {slots, slots + SLOTS, slots_for(all) - 1};
    if (!labels.differ) clear(table, threadIdx.x, MANY_THREADS);
    __shared__ u32 own_votes;
    if (threadIdx.x == 0) own_votes = 0;
    __syncthreads();
    u64 most = count(found, segments(rows), labels, own, table, threadIdx.x, MANY_THREADS, same);
    __syncwarp();
    same = warp_sum(same);
    if (lane_id() == 0) atomicAdd(&own_votes, same);
    most = most_of_block(most, scratch);
    store(labels, v, own, all, max(most, vote(own_votes, own)));
}

// Computes the next label of each vertex of a list, with any number of row entries. A block processes one vertex.
extern "C" __global__ void __launch_bounds__(HUB_THREADS) cdlp_hubs(VertexRows rows, const u32* list, Labels labels) {
    __shared__ u32 bins[1 << BIN_BITS];
    __shared__ u32 slots[2 * HUB_SLOTS];
    __shared__ Segment found[4];
    __shared__ u64 scratch[HUB_THREADS / 32];
    __shared__ u32 own_votes;
    u32 v = list[blockIdx.x], own = labels.before[v], count_of = segments(rows), same = 0;
    u32 all = find_segments(rows, v, labels.marked, found);
    if (all == 0) return;
    Table table = {slots, slots + HUB_SLOTS, HUB_SLOTS - 1};
    for (u32 i = threadIdx.x; i < 1 << BIN_BITS; i += HUB_THREADS) bins[i] = 0;
    if (threadIdx.x == 0) own_votes = 0;
    __syncthreads();
    u64 known = 0;
    for (u32 s = 0; s < count_of; s++) {
        for (u32 i = threadIdx.x; i < found[s].length; i += HUB_THREADS) {
            u32 u = found[s].begin[i], label = labels.before[u];
            if (labels.differ) known = max(known, vote(votes_of_entry(found, count_of, s, u), label));
            else if (label == own) same++;
            else atomicAdd(bins + (hash(label) >> (32 - BIN_BITS)), 1u);
        }
    }
    __syncwarp();
    same = warp_sum(same);
    if (lane_id() == 0) atomicAdd(&own_votes, same);
    known = most_of_block(known, scratch);
    if (own_votes > 0) known = max(known, vote(own_votes, own));
    // Bins with more votes than `most` have been counted.
    u32 most = NONE;
    for (;;) {
        u32 fullest = 0;
        for (u32 i = threadIdx.x; i < 1 << BIN_BITS; i += HUB_THREADS) {
            if (bins[i] <= most) fullest = max(fullest, bins[i]);
        }
        most = u32(most_of_block(u64(fullest), scratch));
        if (most == 0 || most < votes_of(known)) break;
        u32 least = max(votes_of(known), most / 2 + 1);
        // Count the labels whose hashes are in a range: `span` consecutive hashes from `from` on. If these labels do not fit the table, the range
        // becomes shorter.
        u64 span = u64(1) << 32;
        for (u64 from = 0; from < u64(1) << 32;) {
            clear(table, threadIdx.x, HUB_THREADS);
            __syncthreads();
            bool is_full = false;
            u64 found_most = 0;
            for (u32 s = 0; s < count_of; s++) {
                for (u32 i = threadIdx.x; i < found[s].length; i += HUB_THREADS) {
                    u32 label = labels.before[found[s].begin[i]], code = hash(label), in_bin = bins[code >> (32 - BIN_BITS)];
                    if (label == own || in_bin < least || in_bin > most || code < from || code - from >= span) continue;
                    u32 votes = add_vote(table, label, MOST_TRIES);
                    is_full |= votes == 0;
                    found_most = max(found_most, vote(votes, label));
                }
            }
            if (__syncthreads_or(is_full)) {
                span /= 4;
                continue;
            }
            known = max(known, most_of_block(found_most, scratch));
            from += span;
        }
        most = least - 1;
    }
    store(labels, v, own, all, known);
}

// Marks the vertices in a segment. `threads` threads share this work, and `thread` is the index of this one.
__device__ inline void mark(const Segment& segment, u32 thread, u32 threads, u8* marked) {
    for (u32 i = thread; i < segment.length; i += threads) marked[segment.begin[i]] = 1;
}

// Marks the neighbours of every vertex from `first` to `end` (exclusive) whose own label changed, except vertices with more than WARP_MOST entries.
extern "C" __global__ void __launch_bounds__(256)
cdlp_mark_few(VertexRows rows, u32 first, u32 end, const u32* before, const u32* after, u8* marked) {
    for (u64 base = first + u64(blockIdx.x * 8 + warp_id()) * 32; base < end; base += u64(gridDim.x) * 256) {
        u32 mine = u32(base) + lane_id();
        for (u32 left = __ballot_sync(ALL_LANES, mine < end && before[mine] != after[mine]); left > 0; left &= left - 1) {
            u32 v = u32(base) + __ffs(left) - 1, length = 0;
            for (u32 s = 0; s < segments(rows); s++) length += segment_of(rows, v, s).length;
            if (length > WARP_MOST) continue;
            for (u32 s = 0; s < segments(rows); s++) mark(segment_of(rows, v, s), lane_id(), 32, marked);
        }
    }
}

// Marks the neighbours of every vertex of a list whose own label changed. A block processes one vertex.
extern "C" __global__ void __launch_bounds__(256)
cdlp_mark_many(VertexRows rows, const u32* list, const u32* before, const u32* after, u8* marked) {
    u32 v = list[blockIdx.x];
    if (before[v] == after[v]) return;
    for (u32 s = 0; s < segments(rows); s++) mark(segment_of(rows, v, s), threadIdx.x, 256, marked);
}
