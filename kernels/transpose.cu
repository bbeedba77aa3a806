// Builds the rows of the upper half (larger neighbours) by transposing the lower half (smaller neighbours). Batches of rows of the lower half are
// appended one after another, the entries of a batch in any order. So the entries of a row ascend except within a batch. The ids of the vertices of a
// batch differ only in their low GROUP_BITS bits. The entries of a row whose ids differ only in these bits form a group, and each group is sorted in
// place.
#include "prepare.cuh"

// Rows that one pass builds; src/prepare/transpose/gpu/mod.rs declares the same struct.
struct Window {
    // Entries of all rows, row after row.
    u32* entries;
    // For each row, the index at which its next entry is stored. After the last entry is appended, it is the row's end.
    u32* ends;
    u32 first_row;
    u32 rows;
    // Number of entries of all rows.
    u32 count;
    // Binary logarithm of the number of rows per vertex. With two rows, an entry of an out-row becomes an entry of an in-row, and vice versa.
    u32 shift;
    // First row whose number of entries is not the expected one, or NONE.
    u32* differs;
};
static_assert(sizeof(Window) == 40, "the host has a twin of this size");

// Number of low bits in which the ids of a group may differ. No batch contains vertices on both sides of a multiple of 2^GROUP_BITS.
constexpr u32 GROUP_BITS = 17;
constexpr u32 GROUP_WORDS = 1u << (GROUP_BITS - 5);
static_assert(GROUP_WORDS % THREADS == 0, "every thread has words of the bitmap");
// Number of entries of a tile. A block of threads sorts the groups that begin in a tile. If they have at most MOST entries, it sorts them together in
// shared memory. Otherwise the last of them has more than MOST - TILE entries, and is sorted by marking its ids in a bitmap.
#ifdef CUDA_ON_CPU
constexpr u32 TILE = 64;
constexpr u32 MOST = 128;
#else
constexpr u32 TILE = 1024;
constexpr u32 MOST = 2048;
#endif
static_assert(GROUP_WORDS >= 2 * MOST, "a bitmap takes more room than keys");
// Number of entries of a batch that a block of threads appends at a time.
constexpr u32 PIECE = 2048;

// Appends each entry of a batch to the row of its target, if the window contains that row. A batch consists of the starts of its rows, the end of the
// last row, and the entries. `first` is the index of its first row.
extern "C" __global__ void __launch_bounds__(THREADS) append_entries(Window window, const u32* starts, u32 rows, u32 first) {
    __shared__ u32 bounds[2];
    const u32* targets = starts + rows + 1;
    u32 count = starts[rows];
    for (u32 base = blockIdx.x * PIECE; base < count; base += gridDim.x * PIECE) {
        u32 end = min(base + PIECE, count);
        if (threadIdx.x == 0) bounds[0] = last_start_upto(starts, rows, base);
        if (threadIdx.x == 32) bounds[1] = last_start_upto(starts, rows, end - 1);
        __syncthreads();
        u32 low = bounds[0], span = bounds[1] - low + 1;
        for (u32 k = base + threadIdx.x; k < end; k += THREADS) {
            u32 from = window.shift ? first + low + last_start_upto(starts + low, span, k) : 0;
            u32 row = (targets[k] << window.shift | (~from & window.shift)) - window.first_row;
            if (row >= window.rows) continue;
            u32 at = atomicAdd(&window.ends[row], 1u);
            if (!window.shift) from = first + low + last_start_upto(starts + low, span, k);
            // If degrees are wrong, there may be more entries than `entries` can hold.
            if (at < window.count) window.entries[at] = from >> window.shift;
        }
        __syncthreads();
    }
}

// Copies the weights of a batch's entries to the indices of these entries in the rows of the window. In a batch, the weights follow the entries. The
// rows must be sorted.
extern "C" __global__ void __launch_bounds__(THREADS)
place_weights(Window window, u32* weights, const u32* starts, u32 rows, u32 first) {
    const u32* targets = starts + rows + 1;
    u32 count = starts[rows];
    const u32* of_targets = targets + count;
    for (u32 k = blockIdx.x * THREADS + threadIdx.x; k < count; k += gridDim.x * THREADS) {
        u32 from = first + last_start_upto(starts, rows, k);
        u32 row = (targets[k] << window.shift | (~from & window.shift)) - window.first_row;
        if (row >= window.rows) continue;
        u32 start = row > 0 ? window.ends[row - 1] : 0, id = from >> window.shift;
        u32 place = start + lower_bound(window.entries + start, window.ends[row] - start, id);
        if (place < window.count) weights[place] = of_targets[k];
    }
}

// Compares the ends of `count` rows, from row `row` on, with the expected `ends`, and records the first row that differs.
extern "C" __global__ void __launch_bounds__(THREADS) check_ends(Window window, u32 row, const u32* ends, u32 count) {
    for (u32 i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS)
        if (window.ends[row + i] != ends[i]) atomicMin(window.differs, row + i);
}

// Returns the row that contains the entry with index `place`, among `rows` rows from row `first` on.
__device__ inline u32 row_of(const Window& window, u32 first, u32 rows, u32 place) {
    u32 low = first, high = first + rows - 1;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (window.ends[middle] > place) high = middle;
        else low = middle + 1;
    }
    return low;
}

__device__ inline u32 start_of(const Window& window, u32 row) { return row > 0 ? window.ends[row - 1] : 0; }

// Returns the first index in [from, to) whose entry is in group `group` or a later one, or `to`. All these entries belong to one row. Other blocks
// may be sorting there, but this does not change the group at any index.
__device__ inline u32 first_of_group(const Window& window, u32 from, u32 to, u32 group) {
    while (from < to) {
        u32 middle = from + (to - from) / 2;
        if (window.entries[middle] >> GROUP_BITS < group) from = middle + 1;
        else to = middle;
    }
    return from;
}

// Returns the first index at or after `place` at which a group begins.
__device__ inline u32 next_group(const Window& window, u32 place) {
    if (place >= window.count) return window.count;
    u32 row = row_of(window, 0, window.rows, place);
    if (start_of(window, row) == place) return place;
    return first_of_group(window, place, window.ends[row], (window.entries[place - 1] >> GROUP_BITS) + 1);
}

// Sorts the entries from..end by row and then by id. They are whole groups, with at most MOST entries together.
__device__ inline void sort_groups(const Window& window, u32 from, u32 end, u64* keys, u32* bounds) {
    u32 count = end - from, padded = 2;
    while (padded < count) padded *= 2;
    if (threadIdx.x == 0) bounds[0] = row_of(window, 0, window.rows, from);
    if (threadIdx.x == 32) bounds[1] = row_of(window, 0, window.rows, end - 1);
    __syncthreads();
    u32 first = bounds[0], rows = bounds[1] - first + 1;
    for (u32 k = threadIdx.x; k < padded; k += THREADS) {
        u64 row = k < count ? row_of(window, first, rows, from + k) - first : NONE;
        keys[k] = row << 32 | (k < count ? window.entries[from + k] : NONE);
    }
    __syncthreads();
    sort_shared(keys, padded, threadIdx.x, THREADS, [] { __syncthreads(); });
    for (u32 k = threadIdx.x; k < count; k += THREADS) window.entries[from + k] = (u32)keys[k];
    __syncthreads();
}

// Sorts the entries from..end, which are one group, by marking their ids in a bitmap. The ids are distinct.
__device__ inline void mark_group(const Window& window, u32 from, u32 end, u32* bits, u32* scratch) {
    u32 first = window.entries[from] >> GROUP_BITS << GROUP_BITS;
    for (u32 k = threadIdx.x; k < GROUP_WORDS; k += THREADS) bits[k] = 0;
    __syncthreads();
    for (u32 k = from + threadIdx.x; k < end; k += THREADS) {
        u32 id = window.entries[k] - first;
        if (id < 1u << GROUP_BITS) atomicOr(&bits[id / 32], 1u << (id % 32));
    }
    __syncthreads();
    for (u32 base = 0; base < GROUP_WORDS; base += THREADS) {
        u32 word = bits[base + threadIdx.x], total;
        u32 at = from + block_scan_before(__popc(word), scratch, total);
        for (; word != 0; word &= word - 1) window.entries[at++] = first + (base + threadIdx.x) * 32 + __ffs((int)word) - 1;
        from += total;
    }
    __syncthreads();
}

// Sorts all rows. All entries must have been appended.
extern "C" __global__ void __launch_bounds__(THREADS) sort_rows(Window window) {
    __shared__ u64 memory[GROUP_WORDS / 2];
    __shared__ u32 scratch[32];
    __shared__ u32 bounds[3];
    for (u64 tile = (u64)blockIdx.x * TILE; tile < window.count; tile += (u64)gridDim.x * TILE) {
        u32 end = (u32)min(tile + TILE, (u64)window.count);
        if (threadIdx.x == 0) bounds[0] = next_group(window, (u32)tile);
        if (threadIdx.x == 32) bounds[1] = next_group(window, end);
        if (threadIdx.x == 64) {
            u32 row = row_of(window, 0, window.rows, end - 1);
            bounds[2] = first_of_group(window, start_of(window, row), end - 1, window.entries[end - 1] >> GROUP_BITS);
        }
        __syncthreads();
        u32 from = bounds[0], to = bounds[1], last = bounds[2];
        __syncthreads();
        // If no group begins in the tile, both bounds are the start of the next group.
        if (from >= to) continue;
        bool is_long = to - from > MOST;
        u32 sorted = is_long ? last : to;
        if (sorted - from > 1) sort_groups(window, from, sorted, memory, bounds);
        if (is_long) mark_group(window, last, to, reinterpret_cast<u32*>(memory), scratch);
    }
}
