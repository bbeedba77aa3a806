// Preparation: degrees of all ids, edges into bins of rows, bins into rows without repeats. What each kernel does is
// what the processor does in src/prepare/{ingest,partition,sort}.rs, and gives the same.
#include "common.cuh"

constexpr u32 THREADS = 256;
constexpr u32 WARPS = THREADS / 32;
// No id, no bin, no neighbour.
constexpr u32 NONE = 0xffffffffu;
// A line of a bin: the smaller neighbours of 64 edges, then the places of their rows in the bin, two to a word.
constexpr u32 LINE = 64;
constexpr u32 LINE_WORDS = 96;

// ---- Ingest ----

// What a batch tells: [0] largest id, [1] whether an id has no counter, [2] loops, [3] hashes in the sample (there may
// be more than fit), then the hashes as 64 bits.
constexpr u32 SAMPLED = 510;

// As in src/prepare/sample.rs.
__device__ inline u64 hash_of(u64 low, u64 high) {
    u64 x = (low ^ 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    u64 y = (x ^ (x >> 31) ^ high) * 0x94d049bb133111ebull;
    return (y ^ (y >> 29)) * 0x9e3779b97f4a7c15ull;
}

// Adds both ends of each edge that is no loop to the degrees of ids below `end`.
extern "C" __global__ void __launch_bounds__(THREADS)
count_degrees(const uint2* edges, u32 count, u32* degrees, u32 end, u32 shift, u32* found) {
    u32 largest = 0, loops = 0;
    bool missed = false;
    u64* hashes = reinterpret_cast<u64*>(found + 4);
    for (u32 i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
        uint2 edge = edges[i];
        u32 low = min(edge.x, edge.y), high = max(edge.x, edge.y);
        largest = max(largest, high);
        if (low == high) {
            loops++;
        } else if (high >= end) {
            missed = true;
        } else {
            atomicAdd(&degrees[low], 1u);
            atomicAdd(&degrees[high], 1u);
            u64 hash = hash_of(low, high);
            if (shift == 64 || hash >> shift == 0) {
                u32 slot = atomicAdd(&found[3], 1u);
                if (slot < SAMPLED) hashes[slot] = hash;
            }
        }
    }
    for (u32 step = 16; step > 0; step /= 2) largest = max(largest, __shfl_xor_sync(ALL_LANES, largest, step));
    loops = warp_sum(loops);
    missed = __any_sync(ALL_LANES, missed);
    if (lane_id() == 0) {
        atomicMax(&found[0], largest);
        if (missed) found[1] = 1;
        if (loops > 0) atomicAdd(&found[2], loops);
    }
}

// Takes `carry` from every degree that has reached it, and lists the id: carried[0] is how many there are. Run before
// as much can have been added again as 32 bits hold.
extern "C" __global__ void __launch_bounds__(THREADS)
carry_degrees(u32* degrees, u64 count, u32 carry, u32* carried, u32 most) {
    for (u64 i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
        if (degrees[i] < carry) continue;
        u32 slot = atomicAdd(&carried[0], 1u);
        if (slot < most) {
            atomicSub(&degrees[i], carry);
            carried[1 + slot] = (u32)i;
        }
    }
}

// ---- Partition ----

// Where edges go; partition/gpu.rs has its twin.
struct Bins {
    // From input ids to the order of vertices.
    const u32* map;
    u32 ids;
    u32 mantissa;
    // The bin of each granule of rows; NONE where it takes no edges.
    const u32* of_granule;
    // First row of each bin.
    const u32* starts;
    u32 count;
};

// One lane's edges; partition/gpu.rs has its twin.
struct Gathered {
    // Renumbered edges {row, smaller neighbour}, and how many of each bin there are.
    uint2* edges;
    u32* counts;
    // Where each bin's lines start, and one past the last; where its edges that fill no line start; edges placed.
    u32* line_starts;
    u32* rest_starts;
    u32* placed;
    u32* lines;
    uint2* rest;
    // [0] edges, [1] whether the input has changed, [2] and [3] loops in 64 bits, [4] edges that fill no line.
    u32* words;
};

__device__ inline u32 bin_of(const Bins& bins, u32 row) {
    u32 shift = 31 - __clz(row | 1u << bins.mantissa) - bins.mantissa;
    return bins.of_granule[(shift << bins.mantissa) + (row >> shift)];
}

// Renumbers and orients edges, and gathers those whose bin takes any.
extern "C" __global__ void __launch_bounds__(THREADS)
gather_edges(const uint2* raw, u32 count, Bins bins, Gathered to) {
    u32 loops = 0;
    bool changed = false;
    // The same number of turns for all lanes of a warp.
    for (u32 start = blockIdx.x * THREADS + warp_id() * 32; start < count; start += gridDim.x * THREADS) {
        u32 i = start + lane_id(), row = 0, low = 0, bin = NONE;
        if (i < count) {
            uint2 edge = raw[i];
            if (edge.x == edge.y) {
                loops++;
            } else if (max(edge.x, edge.y) >= bins.ids) {
                changed = true;
            } else {
                u32 a = bins.map[edge.x], b = bins.map[edge.y];
                row = max(a, b), low = min(a, b);
                if (row == NONE) changed = true;
                else bin = bin_of(bins, row);
            }
        }
        u32 taken = __ballot_sync(ALL_LANES, bin != NONE), first = 0;
        if (lane_id() == 0 && taken != 0) first = atomicAdd(&to.words[0], (u32)__popc(taken));
        first = __shfl_sync(ALL_LANES, first, 0);
        if (bin != NONE) {
            to.edges[first + __popc(taken & ((1u << lane_id()) - 1))] = make_uint2(row, low);
            atomicAdd(&to.counts[bin], 1u);
        }
    }
    loops = warp_sum(loops);
    changed = __any_sync(ALL_LANES, changed);
    if (lane_id() == 0) {
        if (changed) to.words[1] = 1;
        if (loops > 0) atomicAdd(reinterpret_cast<u64*>(&to.words[2]), (u64)loops);
    }
}

// Gives every bin whole lines for its edges; those that fill none stay for the next time, or if it is the last, get a
// line, too. One block.
extern "C" __global__ void __launch_bounds__(1024) plan_lines(u32 bins, u32 last, Gathered to) {
    __shared__ u32 scratch[32];
    u32 lines = 0, rest = 0;
    for (u32 start = 0; start < bins; start += blockDim.x) {
        u32 bin = start + threadIdx.x, count = bin < bins ? to.counts[bin] : 0;
        u32 more_lines, more_rest, my_lines = last ? (count + LINE - 1) / LINE : count / LINE;
        u32 my_rest = last ? 0 : count % LINE;
        u32 lines_before = block_scan_before(my_lines, scratch, more_lines);
        u32 rest_before = block_scan_before(my_rest, scratch, more_rest);
        if (bin < bins) {
            to.line_starts[bin] = lines + lines_before;
            to.rest_starts[bin] = rest + rest_before;
            to.placed[bin] = 0;
            to.counts[bin] = my_rest;
        }
        lines += more_lines;
        rest += more_rest;
    }
    if (threadIdx.x == 0) {
        to.line_starts[bins] = lines;
        to.words[4] = rest;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) fill_lines(Bins bins, Gathered to) {
    u32 count = to.words[0];
    for (u32 i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
        uint2 edge = to.edges[i];
        u32 bin = bin_of(bins, edge.x), at = atomicAdd(&to.placed[bin], 1u);
        u32 first = to.line_starts[bin], room = (to.line_starts[bin + 1] - first) * LINE;
        if (at < room) {
            u32* line = to.lines + (first + at / LINE) * LINE_WORDS;
            u32 k = at % LINE;
            line[k] = edge.y;
            reinterpret_cast<u16*>(line + LINE)[2 * (k % 32) + k / 32] = (u16)(edge.x - bins.starts[bin]);
        } else {
            to.rest[to.rest_starts[bin] + at - room] = edge;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) keep_rest(Gathered to) {
    u32 count = to.words[4];
    for (u32 i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) to.edges[i] = to.rest[i];
    if (blockIdx.x == 0 && threadIdx.x == 0) to.words[0] = count;
}

// ---- Sort ----

// A bin while it is sorted; sort/gpu.rs has its twin.
struct Bin {
    const u32* lines;
    u32 line_count;
    u32 rows;
    u32 first_row;
    // Of rows + 1 words each: numbers of edges, which become starts and then ends of the rows in `targets`; numbers
    // of distinct neighbours; the same, which become starts of the rows in `out`.
    u32* ends;
    u32* lengths;
    u32* starts;
    // Neighbours as they come, and each row sorted at its start; the result without gaps, and before that, scratch.
    u32* targets;
    u32* out;
    // Rows for a warp, rows for a block.
    u32* warp_rows;
    u32* block_rows;
    // [0] rows for a warp, [1] rows for a block, [2] edges, [3] distinct ones.
    u32* words;
    // Degrees of the simple graph, or null.
    u32* degrees;
};

// Rows that a thread sorts, a warp in registers, a warp in shared memory, a block in shared memory.
constexpr u32 THREAD_ROW = 6;
constexpr u32 LANES_ROW = 32;
constexpr u32 WARP_ROW = 256;
// Ids of a longer row are marked in a bitmap, so many at once. (Only graphs of 2^29 edges have a row that takes two
// windows: the stand-in that tests run this on makes do with less.)
#ifdef CUDA_ON_CPU
constexpr u32 BLOCK_ROW = 512;
constexpr u32 WINDOW = 1u << 13;
#else
constexpr u32 BLOCK_ROW = 2048;
constexpr u32 WINDOW = 1u << 18;
#endif
static_assert(WINDOW / 32 % THREADS == 0 && WINDOW / 32 >= THREADS, "every thread has words of the bitmap");
constexpr u32 BLOCK_WORDS = WINDOW / 32 > BLOCK_ROW ? WINDOW / 32 : BLOCK_ROW;

// Calls each(place of the row, smaller neighbour) for every edge.
template <class F> __device__ inline void each_edge(const Bin& bin, F each) {
    for (u32 i = blockIdx.x * THREADS + threadIdx.x; i < bin.line_count * 32; i += gridDim.x * THREADS) {
        const u32* line = bin.lines + i / 32 * LINE_WORDS;
        u32 k = i % 32, below = line[k], above = line[k + 32], places = line[k + LINE];
        if (below != NONE) each(places & 0xffffu, below);
        if (above != NONE) each(places >> 16, above);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) count_rows(Bin bin) {
    each_edge(bin, [&](u32 place, u32) { atomicAdd(&bin.ends[place], 1u); });
}

extern "C" __global__ void __launch_bounds__(THREADS) fill_rows(Bin bin) {
    each_edge(bin, [&](u32 place, u32 low) { bin.targets[atomicAdd(&bin.ends[place], 1u)] = low; });
}

__device__ inline u32 row_start(const Bin& bin, u32 row) { return row > 0 ? bin.ends[row - 1] : 0; }

__device__ inline void set_length(const Bin& bin, u32 row, u32 length) { bin.lengths[row] = bin.starts[row] = length; }

// Sorts a short row by insertion; the number of its distinct neighbours, which are at its start.
__device__ inline u32 sort_by_thread(u32* row, u32 count) {
    u32 kept = 0;
    for (u32 i = 0; i < count; i++) {
        u32 x = row[i], at = kept;
        while (at > 0 && row[at - 1] > x) at--;
        if (at > 0 && row[at - 1] == x) continue;
        for (u32 j = kept; j > at; j--) row[j] = row[j - 1];
        row[at] = x;
        kept++;
    }
    return kept;
}

// The lanes' values in order.
__device__ inline u32 sort_by_lanes(u32 x) {
    for (u32 size = 2; size <= 32; size *= 2) {
        for (u32 step = size / 2; step > 0; step /= 2) {
            u32 other = __shfl_xor_sync(ALL_LANES, x, step);
            bool ascends = (lane_id() & size) == 0, is_lower = (lane_id() & step) == 0;
            x = ascends == is_lower ? min(x, other) : max(x, other);
        }
    }
    return x;
}

// One step of a bitonic sort by `threads` threads of which this is `thread`.
__device__ inline void exchange(u32* values, u32 count, u32 size, u32 step, u32 thread, u32 threads) {
    for (u32 i = thread; i < count / 2; i += threads) {
        u32 low = 2 * i - (i & (step - 1)), high = low + step;
        u32 a = values[low], b = values[high];
        if ((a > b) == ((low & size) == 0)) {
            values[low] = b;
            values[high] = a;
        }
    }
}

__device__ inline u32 power_of_two(u32 least) { return 1u << (32 - __clz(least - 1)); }

// Sorts rows of up to 32 edges, lists the others.
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
            u32 x = sort_by_lanes(lane < length ? bin.targets[from + lane] : NONE);
            u32 before = __shfl_up_sync(ALL_LANES, x, 1);
            bool is_new = lane < length && (lane == 0 || x != before);
            u32 kept = __ballot_sync(ALL_LANES, is_new);
            if (is_new) bin.targets[from + __popc(kept & ((1u << lane) - 1))] = x;
            if (lane == 0) set_length(bin, first + owner, __popc(kept));
        }
    }
}

// Sorts the rows listed for warps.
extern "C" __global__ void __launch_bounds__(THREADS) sort_warp_rows(Bin bin) {
    __shared__ u32 tiles[WARPS * WARP_ROW];
    u32* tile = tiles + warp_id() * WARP_ROW;
    u32 lane = lane_id(), rows = bin.words[0];
    for (u32 i = blockIdx.x * WARPS + warp_id(); i < rows; i += gridDim.x * WARPS) {
        u32 row = bin.warp_rows[i], start = row_start(bin, row), count = bin.ends[row] - start;
        u32* targets = bin.targets + start;
        u32 padded = power_of_two(count);
        for (u32 k = lane; k < padded; k += 32) tile[k] = k < count ? targets[k] : NONE;
        __syncwarp();
        for (u32 size = 2; size <= padded; size *= 2) {
            for (u32 step = size / 2; step > 0; step /= 2) {
                exchange(tile, padded, size, step, lane, 32);
                __syncwarp();
            }
        }
        u32 kept = 0;
        for (u32 base = 0; base < count; base += 32) {
            u32 k = base + lane;
            bool is_new = k < count && (k == 0 || tile[k] != tile[k - 1]);
            u32 votes = __ballot_sync(ALL_LANES, is_new);
            if (is_new) targets[kept + __popc(votes & ((1u << lane) - 1))] = tile[k];
            kept += __popc(votes);
        }
        if (lane == 0) set_length(bin, row, kept);
        __syncwarp();
    }
}

// Marks the ids of a row in a bitmap, a window at a time, and reads them back in order; by way of `spare`, for what is
// not yet read must not be written over.
__device__ inline u32 mark_in_windows(u32* targets, u32 count, u32 end, u32* spare, u32* bits, u32* scratch) {
    u32 kept = 0;
    for (u32 window = 0; window < end; window += WINDOW) {
        for (u32 k = threadIdx.x; k < WINDOW / 32; k += THREADS) bits[k] = 0;
        __syncthreads();
        for (u32 k = threadIdx.x; k < count; k += THREADS) {
            u32 id = targets[k] - window;
            if (id < WINDOW) atomicOr(&bits[id / 32], 1u << (id % 32));
        }
        __syncthreads();
        for (u32 base = 0; base < WINDOW / 32; base += THREADS) {
            u32 word = bits[base + threadIdx.x], total;
            u32 at = kept + block_scan_before(__popc(word), scratch, total);
            for (; word != 0; word &= word - 1)
                spare[at++] = window + (base + threadIdx.x) * 32 + __ffs((int)word) - 1;
            kept += total;
        }
        if (window + WINDOW < window) break;
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < kept; k += THREADS) targets[k] = spare[k];
    return kept;
}

// Sorts the rows listed for blocks.
extern "C" __global__ void __launch_bounds__(THREADS) sort_block_rows(Bin bin) {
    __shared__ u32 memory[BLOCK_WORDS];
    __shared__ u32 scratch[32];
    u32 rows = bin.words[1];
    for (u32 i = blockIdx.x; i < rows; i += gridDim.x) {
        u32 row = bin.block_rows[i], start = row_start(bin, row), count = bin.ends[row] - start, kept = 0;
        u32* targets = bin.targets + start;
        if (count > BLOCK_ROW) {
            kept = mark_in_windows(targets, count, bin.first_row + row, bin.out + start, memory, scratch);
        } else {
            u32 padded = power_of_two(count);
            for (u32 k = threadIdx.x; k < padded; k += THREADS) memory[k] = k < count ? targets[k] : NONE;
            __syncthreads();
            for (u32 size = 2; size <= padded; size *= 2) {
                for (u32 step = size / 2; step > 0; step /= 2) {
                    exchange(memory, padded, size, step, threadIdx.x, THREADS);
                    __syncthreads();
                }
            }
            for (u32 base = 0; base < count; base += THREADS) {
                u32 k = base + threadIdx.x, total;
                bool is_new = k < count && (k == 0 || memory[k] != memory[k - 1]);
                u32 at = kept + block_scan_before(is_new, scratch, total);
                if (is_new) targets[at] = memory[k];
                kept += total;
            }
        }
        if (threadIdx.x == 0) set_length(bin, row, kept);
        __syncthreads();
    }
}

// Puts the sorted rows behind one another, and counts their ends in the degrees.
extern "C" __global__ void __launch_bounds__(THREADS) join_rows(Bin bin) {
    u32 lane = lane_id();
    // A warp takes 32 rows at a time and their entries one after another, whatever the rows' lengths.
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
                u32 target = bin.targets[source];
                out[place] = target;
                if (bin.degrees) atomicAdd(&bin.degrees[target], 1u);
            }
        }
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        bin.words[2] = bin.ends[bin.rows];
        bin.words[3] = bin.starts[bin.rows];
    }
}
