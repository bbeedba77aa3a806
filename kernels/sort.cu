// Sorts the edges of bins into rows, and removes repeated edges. A bin contains the edges of consecutive rows.
#include "prepare.cuh"

// Entry of a row: the neighbour and, if edges have weights, the weight in the low 32 bits. Entries are sorted by neighbour, then by weight, so the
// smallest weight of a repeated edge comes first.
#ifdef WEIGHTED
typedef u64 Entry;
constexpr Entry NO_ENTRY = ~0ull;
__device__ inline Entry entry_of(u32 low, const u32* line, u32 k) { return (u64)low << 32 | line[PLAIN_WORDS + k]; }
__device__ inline u32 neighbour(Entry entry) { return (u32)(entry >> 32); }
#else
typedef u32 Entry;
constexpr Entry NO_ENTRY = NONE;
__device__ inline Entry entry_of(u32 low, const u32*, u32) { return low; }
__device__ inline u32 neighbour(Entry entry) { return entry; }
#endif
constexpr u32 ENTRY_WORDS = sizeof(Entry) / 4;

// A bin that is being sorted; src/prepare/sort/gpu/mod.rs declares the same struct.
struct Bin {
    const u32* lines;
    u32 line_count;
    u32 rows;
    u32 first_row;
    // Binary logarithm of the number of rows per vertex.
    u32 shift;
    // Arrays of rows + 1 words. `ends` first contains the number of edges of each row, then the start and finally the end of each row in `targets`.
    // `lengths` contains the number of distinct neighbours of each row. `starts` first contains the same numbers, and then the start of each row in
    // `out`.
    u32* ends;
    u32* lengths;
    u32* starts;
    // `targets` contains the entries of each row in order of arrival. After sorting, the distinct entries are at the start of the row. `out` is
    // scratch memory of ENTRY_WORDS words per entry. In the end it contains the neighbours without gaps, followed by the weights.
    Entry* targets;
    u32* out;
    // Lists of the rows that warps sort, and of those that blocks of threads sort.
    u32* warp_rows;
    u32* block_rows;
    // [0] number of rows in `warp_rows`; [1] number of rows in `block_rows`; [2] number of edges; [3] number of distinct edges.
    u32* words;
    // Degrees in the simple graph (without repeated edges), one per row, or null.
    u32* degrees;
};
static_assert(sizeof(Bin) == 96, "the host has a twin of this size");

// Maximum length of a row that a single thread sorts, of one that a warp sorts in registers, and of one that a warp sorts in shared memory. BLOCK_ROW
// is the maximum length of a row that a block of threads sorts in shared memory.
constexpr u32 THREAD_ROW = 6;
constexpr u32 LANES_ROW = 32;
constexpr u32 WARP_ROW = 256;
// Longer rows are sorted by marking their ids in a bitmap, WINDOW ids at a time. (Only graphs of 2^29 edges have a row that takes two windows; the
// CPU stand-in of the tests has smaller windows.) A bin of at most FEW_ROWS rows contains rows of hubs. These have very many edges each, so all
// threads would add to the same few counters. A block of threads therefore counts LINES_AT_ONCE lines in shared memory before it adds to these
// counters.
#ifdef CUDA_ON_CPU
constexpr u32 BLOCK_ROW = 512;
constexpr u32 WINDOW = 1u << 13;
constexpr u32 FEW_ROWS = 64;
constexpr u32 LINES_AT_ONCE = 8;
#else
constexpr u32 BLOCK_ROW = 2048;
constexpr u32 WINDOW = (1u << 18) / ENTRY_WORDS;
constexpr u32 FEW_ROWS = 2048;
constexpr u32 LINES_AT_ONCE = 128;
#endif
static_assert(WINDOW / 32 % THREADS == 0 && WINDOW / 32 >= THREADS, "every thread has words of the bitmap");
// Size of a block's shared memory in entries. It suffices for a row of BLOCK_ROW entries, and for the bitmap of a window. If edges have weights, the
// number of distinct ids before each word follows the bitmap.
constexpr u32 WINDOW_ENTRIES = WINDOW / 32;
constexpr u32 BLOCK_ENTRIES = WINDOW_ENTRIES > BLOCK_ROW ? WINDOW_ENTRIES : BLOCK_ROW;

// Copies runs of lines from device-resident lines to the bin that is being sorted. A run is {first resident line, first line in the bin, number of
// lines}. A block of threads copies one run at a time.
extern "C" __global__ void __launch_bounds__(THREADS) bring_lines(const uint4* runs, u32 count, const u32* resident, u32* lines) {
    constexpr u32 PIECES = LINE_WORDS / 4;
    for (u32 i = blockIdx.x; i < count; i += gridDim.x) {
        uint4 run = runs[i];
        const uint4* from = reinterpret_cast<const uint4*>(resident) + (u64)run.x * PIECES;
        uint4* to = reinterpret_cast<uint4*>(lines) + (u64)run.y * PIECES;
        for (u32 k = threadIdx.x; k < run.z * PIECES; k += THREADS) to[k] = from[k];
    }
}

// Writes the offset of each row of a bin within the entries of the graph block to which the bin belongs. `before` is the number of the block's
// entries in earlier bins. The last offset is the exclusive end, where the next bin begins.
extern "C" __global__ void __launch_bounds__(THREADS) place_rows(Bin bin, u32 before, u32* offsets) {
    for (u32 row = blockIdx.x * THREADS + threadIdx.x; row <= bin.rows; row += gridDim.x * THREADS)
        offsets[row] = before + bin.starts[row];
}

// Calls each(index of the row in the bin, entry) for both edges of every `step`-th pair of edges from `first` to before `end`. A line consists of 32
// pairs.
template <class F> __device__ inline void each_edge(const Bin& bin, u32 first, u32 end, u32 step, F each) {
    for (u32 i = first; i < end; i += step) {
        const u32* line = bin.lines + i / 32 * LINE_WORDS;
        u32 k = i % 32, below = line[k], above = line[k + 32], places = line[k + LINE];
        if (below != NONE) each(places & 0xffffu, entry_of(below, line, k));
        if (above != NONE) each(places >> 16, entry_of(above, line, k + 32));
    }
}

// Calls `each` for all edges of the bin, which the threads of the grid share.
template <class F> __device__ inline void each_edge(const Bin& bin, F each) {
    each_edge(bin, blockIdx.x * THREADS + threadIdx.x, bin.line_count * 32, gridDim.x * THREADS, each);
}

// Processes a bin of few rows in parts of LINES_AT_ONCE lines. For each part, calls each(row, number of the row's edges in the part) for every row
// with edges in it, and then calls then(first line of the part, exclusive end of its lines).
template <class Each, class Then> __device__ inline void by_parts(const Bin& bin, u32* counts, Each each, Then then) {
    for (u32 line = blockIdx.x * LINES_AT_ONCE; line < bin.line_count; line += gridDim.x * LINES_AT_ONCE) {
        u32 end = min(line + LINES_AT_ONCE, bin.line_count);
        for (u32 row = threadIdx.x; row < bin.rows; row += THREADS) counts[row] = 0;
        __syncthreads();
        each_edge(bin, line * 32 + threadIdx.x, end * 32, THREADS, [&](u32 place, Entry) { atomicAdd(&counts[place], 1u); });
        __syncthreads();
        for (u32 row = threadIdx.x; row < bin.rows; row += THREADS)
            if (counts[row] > 0) each(row, counts[row]);
        __syncthreads();
        then(line, end);
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) count_rows(Bin bin) {
    __shared__ u32 counts[FEW_ROWS];
    if (bin.rows <= FEW_ROWS) {
        by_parts(bin, counts, [&](u32 row, u32 count) { atomicAdd(&bin.ends[row], count); }, [](u32, u32) {});
    } else {
        each_edge(bin, [&](u32 place, Entry) { atomicAdd(&bin.ends[place], 1u); });
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) fill_rows(Bin bin) {
    __shared__ u32 cursors[FEW_ROWS];
    if (bin.rows <= FEW_ROWS) {
        by_parts(bin, cursors, [&](u32 row, u32 count) { cursors[row] = atomicAdd(&bin.ends[row], count); }, [&](u32 line, u32 end) {
            each_edge(bin, line * 32 + threadIdx.x, end * 32, THREADS,
                      [&](u32 place, Entry entry) { bin.targets[atomicAdd(&cursors[place], 1u)] = entry; });
        });
    } else {
        each_edge(bin, [&](u32 place, Entry entry) { bin.targets[atomicAdd(&bin.ends[place], 1u)] = entry; });
    }
}

__device__ inline u32 row_start(const Bin& bin, u32 row) { return row > 0 ? bin.ends[row - 1] : 0; }

__device__ inline void set_length(const Bin& bin, u32 row, u32 length) { bin.lengths[row] = bin.starts[row] = length; }

// Sorts a short row by insertion, with one thread. Returns the number of distinct neighbours, whose entries are then at the start of the row.
__device__ inline u32 sort_by_thread(Entry* row, u32 count) {
    u32 kept = 0;
    for (u32 i = 0; i < count; i++) {
        Entry x = row[i];
        u32 at = kept;
        while (at > 0 && row[at - 1] > x) at--;
        if (at > 0 && neighbour(row[at - 1]) == neighbour(x)) continue;
        if (at < kept && neighbour(row[at]) == neighbour(x)) {
            row[at] = x;
            continue;
        }
        for (u32 j = kept; j > at; j--) row[j] = row[j - 1];
        row[at] = x;
        kept++;
    }
    return kept;
}

__device__ inline u32 power_of_two(u32 least) { return 1u << (32 - __clz(least - 1)); }

// Sorts the rows of up to LANES_ROW edges. Adds longer rows to the lists for warps and for blocks of threads.
extern "C" __global__ void __launch_bounds__(THREADS) sort_short_rows(Bin bin) {
    u32 lane = lane_id();
    for (u32 first = (blockIdx.x * WARPS + warp_id()) * 32; first < bin.rows; first += gridDim.x * THREADS) {
        u32 row = first + lane, start = 0, count = 0;
        if (row < bin.rows) {
            start = row_start(bin, row);
            count = bin.ends[row] - start;
            if (count <= THREAD_ROW) {
                set_length(bin, row, sort_by_thread(bin.targets + start, count));
            } else if (count > WARP_ROW) {
                bin.block_rows[atomicAdd(&bin.words[1], 1u)] = row;
            } else if (count > LANES_ROW) {
                bin.warp_rows[atomicAdd(&bin.words[0], 1u)] = row;
            }
        }
        u32 left = __ballot_sync(ALL_LANES, count > THREAD_ROW && count <= LANES_ROW);
        for (; left != 0; left &= left - 1) {
            u32 owner = __ffs((int)left) - 1;
            u32 from = __shfl_sync(ALL_LANES, start, owner), length = __shfl_sync(ALL_LANES, count, owner);
            Entry x = sort_lanes(lane < length ? bin.targets[from + lane] : NO_ENTRY, 32);
            u32 before = __shfl_up_sync(ALL_LANES, neighbour(x), 1);
            bool is_new = lane < length && (lane == 0 || neighbour(x) != before);
            u32 kept = __ballot_sync(ALL_LANES, is_new);
            if (is_new) bin.targets[from + __popc(kept & ((1u << lane) - 1))] = x;
            if (lane == 0) set_length(bin, first + owner, __popc(kept));
        }
    }
}

// Sorts the rows in the list for warps.
extern "C" __global__ void __launch_bounds__(THREADS) sort_warp_rows(Bin bin) {
    __shared__ Entry tiles[WARPS * WARP_ROW];
    Entry* tile = tiles + warp_id() * WARP_ROW;
    u32 lane = lane_id(), rows = bin.words[0];
    for (u32 i = blockIdx.x * WARPS + warp_id(); i < rows; i += gridDim.x * WARPS) {
        u32 row = bin.warp_rows[i], start = row_start(bin, row), count = bin.ends[row] - start;
        Entry* targets = bin.targets + start;
        u32 padded = power_of_two(count);
        for (u32 k = lane; k < padded; k += 32) tile[k] = k < count ? targets[k] : NO_ENTRY;
        __syncwarp();
        sort_shared(tile, padded, lane, 32, [] { __syncwarp(); });
        u32 kept = 0;
        for (u32 base = 0; base < count; base += 32) {
            u32 k = base + lane;
            bool is_new = k < count && (k == 0 || neighbour(tile[k]) != neighbour(tile[k - 1]));
            u32 votes = __ballot_sync(ALL_LANES, is_new);
            if (is_new) targets[kept + __popc(votes & ((1u << lane) - 1))] = tile[k];
            kept += __popc(votes);
        }
        if (lane == 0) set_length(bin, row, kept);
        __syncwarp();
    }
}

// Sorts a row by marking its ids, all below `end`, in a bitmap, one window of ids at a time, and reading them back in order. The ids go to `spare`
// first, so that no entry is overwritten before it is read. If edges have weights, the smallest weight of each id goes to `spare` as well, from index
// `count` on. Returns the number of distinct ids.
__device__ inline u32 mark_in_windows(Entry* targets, u32 count, u32 end, u32* spare, u32* bits, u32* scratch) {
    u32 kept = 0;
    for (u32 window = 0; window < end; window += WINDOW) {
        for (u32 k = threadIdx.x; k < WINDOW / 32; k += THREADS) bits[k] = 0;
        __syncthreads();
        for (u32 k = threadIdx.x; k < count; k += THREADS) {
            u32 id = neighbour(targets[k]) - window;
            if (id < WINDOW) atomicOr(&bits[id / 32], 1u << (id % 32));
        }
        __syncthreads();
        for (u32 base = 0; base < WINDOW / 32; base += THREADS) {
            u32 word = bits[base + threadIdx.x], total;
            u32 at = kept + block_scan_before(__popc(word), scratch, total);
#ifdef WEIGHTED
            bits[WINDOW / 32 + base + threadIdx.x] = at;
            for (u32 k = 0; k < __popc(word); k++) spare[count + at + k] = NONE;
#endif
            for (; word != 0; word &= word - 1)
                spare[at++] = window + (base + threadIdx.x) * 32 + __ffs((int)word) - 1;
            kept += total;
        }
#ifdef WEIGHTED
        __syncthreads();
        for (u32 k = threadIdx.x; k < count; k += THREADS) {
            u32 id = neighbour(targets[k]) - window;
            if (id >= WINDOW) continue;
            u32 below = bits[id / 32] & ((1u << (id % 32)) - 1);
            atomicMin(&spare[count + bits[WINDOW / 32 + id / 32] + __popc(below)], (u32)targets[k]);
        }
        __syncthreads();
#endif
        if (window + WINDOW < window) break;
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < kept; k += THREADS) {
#ifdef WEIGHTED
        targets[k] = (u64)spare[k] << 32 | spare[count + k];
#else
        targets[k] = spare[k];
#endif
    }
    return kept;
}

// Sorts the rows in the list for blocks of threads.
extern "C" __global__ void __launch_bounds__(THREADS) sort_block_rows(Bin bin) {
    __shared__ Entry memory[BLOCK_ENTRIES];
    __shared__ u32 scratch[32];
    u32 rows = bin.words[1];
    for (u32 i = blockIdx.x; i < rows; i += gridDim.x) {
        u32 row = bin.block_rows[i], start = row_start(bin, row), count = bin.ends[row] - start, kept = 0;
        Entry* targets = bin.targets + start;
        if (count > BLOCK_ROW) {
            u32* spare = bin.out + (u64)start * ENTRY_WORDS;
            u32 end = (bin.first_row + row) >> bin.shift;
            kept = mark_in_windows(targets, count, end, spare, reinterpret_cast<u32*>(memory), scratch);
        } else {
            u32 padded = power_of_two(count);
            for (u32 k = threadIdx.x; k < padded; k += THREADS) memory[k] = k < count ? targets[k] : NO_ENTRY;
            __syncthreads();
            sort_shared(memory, padded, threadIdx.x, THREADS, [] { __syncthreads(); });
            for (u32 base = 0; base < count; base += THREADS) {
                u32 k = base + threadIdx.x, total;
                bool is_new = k < count && (k == 0 || neighbour(memory[k]) != neighbour(memory[k - 1]));
                u32 at = kept + block_scan_before(is_new, scratch, total);
                if (is_new) targets[at] = memory[k];
                kept += total;
            }
        }
        if (threadIdx.x == 0) set_length(bin, row, kept);
        __syncthreads();
    }
}

// Copies the sorted rows to `out` without gaps, and adds each edge to the degrees of both of its ends.
extern "C" __global__ void __launch_bounds__(THREADS) join_rows(Bin bin) {
    u32 lane = lane_id();
    // A warp processes 32 rows at a time. Its lanes copy 32 consecutive entries at a time, across row boundaries.
    for (u32 first = (blockIdx.x * WARPS + warp_id()) * 32; first < bin.rows; first += gridDim.x * THREADS) {
        u32 row = first + lane, from = 0, length = 0;
        if (row < bin.rows) {
            from = row_start(bin, row);
            length = bin.lengths[row];
            if (bin.degrees && length > 0) atomicAdd(&bin.degrees[bin.first_row + row], length);
        }
        u32 sum = warp_scan(length), before = sum - length, total = __shfl_sync(ALL_LANES, sum, 31);
        u32* out = bin.out + bin.starts[first];
        for (u32 at = 0; at < total; at += 32) {
            u32 place = at + lane, mine = 0;
            for (u32 step = 16; step > 0; step /= 2) {
                u32 other = __shfl_sync(ALL_LANES, before, mine + step);
                if (other <= place) mine += step;
            }
            u32 source = __shfl_sync(ALL_LANES, from - before, mine) + place;
            if (place < total) {
                u32 target = neighbour(bin.targets[source]);
                out[place] = target;
#ifdef WEIGHTED
                out[bin.starts[bin.rows] + place] = (u32)bin.targets[source];
#endif
                if (bin.degrees) {
                    // The other end counts the edge in its row of the opposite direction.
                    u32 way = (bin.first_row + first + mine + 1) & bin.shift;
                    atomicAdd(&bin.degrees[target << bin.shift | way], 1u);
                }
            }
        }
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        bin.words[2] = bin.ends[bin.rows];
        bin.words[3] = bin.starts[bin.rows];
    }
}

// Summarises degrees: sums[0] gets their sum and sums[1] the largest. sums[2] and sums[3] get the low and the high 64 bits of the number of wedges
// (pairs of edges that share a vertex).
extern "C" __global__ void __launch_bounds__(THREADS) sum_up_degrees(const u32* degrees, u64 count, u64* sums) {
    u64 sum = 0, low = 0, high = 0;
    u32 largest = 0;
    for (u64 i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
        u64 degree = degrees[i], pairs = degree > 0 ? degree * (degree - 1) / 2 : 0;
        sum += degree;
        largest = max(largest, (u32)degree);
        low += pairs;
        high += low < pairs;
    }
    for (u32 step = 16; step > 0; step /= 2) {
        u64 other = __shfl_xor_sync(ALL_LANES, low, step);
        high += __shfl_xor_sync(ALL_LANES, high, step);
        low += other;
        high += low < other;
    }
    sum = warp_sum(sum);
    largest = warp_max(largest);
    if (lane_id() == 0) {
        atomicAdd(&sums[0], sum);
        atomicMax(&sums[1], (u64)largest);
        u64 before = atomicAdd(&sums[2], low);
        atomicAdd(&sums[3], high + (before + low < before));
    }
}
