// Counts triangles a < b < c between a front batch (rows b) and a partner batch (rows c). A batch is a group of consecutive rows in GPU memory.
//
// Row c contains c's smaller neighbours in ascending order. The entries before b in row c are its *head* before b: the candidates a. Row b decides
// which of them close a triangle. A counting sort groups the heads by b (count_heads, scan.cu, scatter_heads). Then row b is marked once, in a bitmap
// in shared memory (triangle_many.cuh) or, if b has few heads, in a small hash table (triangle_few.cuh), and all its heads are probed against it. A
// job counts triangles in total, per vertex or per edge, so the kernels that probe are compiled for each: in triangle_count.cu, triangle_corners.cu
// and triangle_edges.cu. The kernel in triangle_links.cu counts the links of a directed graph. It takes the heads in their order, without marks.
//
// On rows oriented by degree this is a form of the forward algorithm (Schank and Wagner 2005; Latapy 2008). Counting batch by batch against a
// resident front follows MGT (Hu, Tao and Chung 2013) and PDTL (Giechaskiel et al. 2015).
#include "triangle_pair.cuh"

extern "C" __global__ void __launch_bounds__(256) shift_starts(u32* starts, u32 count, u32 base) {
    for (u32 i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) starts[i] += base;
}

// Adds 1 to counts[b - low] for every target b of `targets` in low .. high. A target contains `bits` low bits in addition to the id of b.
extern "C" __global__ void __launch_bounds__(256)
count_heads(const u32* targets, u32 entries, u32 low, u32 high, u32* counts, u32 bits) {
    u32 step = gridDim.x * 256;
    for (u32 i = blockIdx.x * 256 + threadIdx.x; i < entries; i += step) {
        u32 b = targets[i] >> bits;
        if (b >= low && b < high) atomicAdd(&counts[b - low], 1u);
        if (i + step < i) break; // near 2^32 entries the index would overflow
    }
}

// Returns the index of the last of `rows` rows that starts at or before `at`. A warp searches 32 starts at once.
__device__ inline u32 row_at(const u32* starts, u32 rows, u32 at) {
    u32 low = 0, high = rows;
    while (high - low > 1) {
        u32 step = (high - low + 31) / 32, probe = low + lane_id() * step;
        u32 upto = __popc(__ballot_sync(ALL_LANES, probe < high && starts[probe] <= at));
        low += (upto - 1) * step;
        high = min(low + step, high);
    }
    return low;
}

// Number of entries that a warp takes at a time, across row boundaries.
constexpr u32 SCATTERED = 1024;

// Writes the heads of `rows` rows before every b in low .. high to their positions in `heads`. The rows have `entries` entries together. `starts`
// contains only the starts of these rows, because the end of the last one may not have arrived yet. If triangles are counted per vertex, a head
// contains the index of its row in the partner instead of its start; `first_row` is the index of the first of these rows. A target contains `bits`
// low bits in addition to the id of b. `block` is the partner block.
extern "C" __global__ void __launch_bounds__(256)
scatter_heads(const u32* starts, u32 rows, u32 entries, const u32* targets, u32 low, u32 high, u32 block, u32* cursors,
              u64* heads, u32 first_row, u32 bits) {
    u32 base = starts[0], last = base + entries;
    u32 parts = (entries + SCATTERED - 1) / SCATTERED;
    for (u32 part = blockIdx.x * 8 + warp_id(); part < parts; part += gridDim.x * 8) {
        u32 at = base + part * SCATTERED, end = base + min(part * SCATTERED + SCATTERED, entries);
        u32 row = row_at(starts, rows, at);
        while (at < end) {
            // Each lane stores the start of one of 32 rows; each iteration below processes 32 of their entries.
            u32 start = row + lane_id() < rows ? starts[row + lane_id()] : last;
            u32 upto = row + 32 < rows ? min(starts[row + 32], end) : end;
            for (; at < upto; at += 32) {
                u32 place = at + lane_id(), mine = 0;
                for (u32 step = 16; step > 0; step /= 2) {
                    u32 other = __shfl_sync(ALL_LANES, start, mine + step);
                    if (other <= place) mine += step;
                }
                u32 from = __shfl_sync(ALL_LANES, start, mine);
                if (place < upto) {
                    u32 b = targets[place] >> bits;
                    if (b >= low && b < high) {
                        u32 slot = atomicAdd(&cursors[b - low], 1u);
                        heads[slot] = (u64)(first_row != NO_ROW ? first_row + row + mine : from) << 32 | block << LENGTH_BITS | (place - from);
                    }
                }
            }
            at = upto;
            row += 32;
        }
    }
}

// Lists a task {row, first head} for every chunk of heads of each row that will be marked in a bitmap.
extern "C" __global__ void __launch_bounds__(256) list_tasks(Pair pair, uint2* tasks) {
    u32 rows = rows_with_heads(pair);
    for (u32 row = blockIdx.x * 256 + threadIdx.x; row < rows; row += gridDim.x * 256) {
        u32 first = heads_start(pair, row), heads = pair.ends[row] - first;
        u32 length = pair.front.starts[row + 1] - pair.front.starts[row];
        if (heads == 0 || is_few(heads, length)) continue;
        u32 chunks = (heads - 1) / CHUNK + 1, slot = atomicAdd(&pair.queue[0], chunks);
        for (u32 chunk = 0; chunk < chunks; chunk++) tasks[slot + chunk] = make_uint2(row, first + chunk * CHUNK);
    }
}
