// Prepares weighted rows for shortest paths: joins both halves of each row, pairs neighbours with their weights, and sorts each row by weight.
#include "splitmix.cuh"
#include "sssp.cuh"

// Maximum length of a row that a warp sorts (SORT_FEW), and of one that a block of threads sorts in shared memory (SORT_MIDDLE). Of a longer row, a
// block sorts SORT_TILE entries in shared memory at a time.
constexpr u32 SORT_FEW = 32;
#ifdef CUDA_ON_CPU
constexpr u32 SORT_MIDDLE = 64;
constexpr u32 SORT_TILE = 128;
#else
constexpr u32 SORT_MIDDLE = 2048;
constexpr u32 SORT_TILE = 4096;
#endif
constexpr u32 SORT_THREADS = 256;

// Computes the exclusive ends of four groups of vertices. bounds[0] is raised to the end of the vertices with at least two edges; bounds[1], [2] and
// [3] to the ends of those with at least SSSP_MANY, with more than SORT_FEW, and with more than SORT_MIDDLE edges. Also raises bounds[4] to the
// number of entries of the longest row.
extern "C" __global__ void sssp_bounds(const __grid_constant__ Graph g, u32* bounds) {
    for (u64 v = u64(blockIdx.x) * blockDim.x + threadIdx.x; v < g.vertices; v += u64(gridDim.x) * blockDim.x) {
        u32 in = stored_row(g, in_row(g, v)).length, out = g.shift ? stored_row(g, out_row(g, v)).length : 0;
        u64 all = u64(in) + out;
        const u64 least[4] = {2, SSSP_MANY, SORT_FEW + 1, SORT_MIDDLE + 1};
        for (u32 k = 0; k < 4; k++) {
            if (all >= least[k] && fresh(bounds + k) < v + 1) atomicMax(bounds + k, u32(v) + 1);
        }
        if (fresh(bounds + 4) < max(in, out)) atomicMax(bounds + 4, max(in, out));
    }
}

// Source of the weights: stored with the rows, all 1, or random as in src/graph/weights/drawn.rs (integers or f32).
enum Weights : u32 { STORED, UNIT, DRAWN_WHOLE, DRAWN_DECIMAL };

struct Placing {
    Edge* edges;
    // `own` contains the row starts of the half that is being copied. `lower` contains those of the lower half; it is null while that half is being
    // copied.
    const u32* own;
    const u32* lower;
    // Id of every vertex in the input.
    const u64* ids;
    u64 seed;
    u32 weights;
    // Smallest and largest random weight.
    u32 least, most;
    u32 unused;
};
static_assert(sizeof(Placing) == 56, "as its twin");

__device__ inline u32 drawn(const Placing& p, u64 first, u64 second) {
    if (p.weights == UNIT) return 1;
    u64 hash = mixed(p.seed + SPLITMIX_STEP);
    hash = mixed(hash + first + SPLITMIX_STEP);
    hash = mixed(hash + second + SPLITMIX_STEP);
    if (p.weights == DRAWN_WHOLE) return p.least + u32((hash >> 32) * (u64(p.most - p.least) + 1) >> 32);
    // The result is rounded after each operation, as on the host.
    float least = __uint_as_float(p.least), most = __uint_as_float(p.most);
    float part = float(u32(hash >> 40)) * (1.0f / (1 << 24));
    return __float_as_uint(min(__fadd_rn(least, __fmul_rn(part, __fadd_rn(most, -least))), most));
}

// Copies a piece of a half's neighbours, with their weights, to their indices in whole rows. The piece begins at entry `begin` of the half (low 32
// bits) and contains entries of `rows` rows from `first` on.
extern "C" __global__ void sssp_place(const __grid_constant__ Graph g, const __grid_constant__ Placing p, const u32* targets, const u32* weights,
                                      u32 count, u32 first, u32 rows, u32 begin) {
    const u32* starts = p.own + first;
    u32 base = __ldg(starts);
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        u32 at = begin + i - base, low = 0, high = rows;
        while (high - low > 1) {
            u32 middle = (low + high) / 2;
            if (__ldg(starts + middle) - base <= at) low = middle;
            else high = middle;
        }
        u32 row = first + low, target = targets[i];
        u64 place = start_of(g.rows, row) + (at - (__ldg(starts + low) - base));
        if (p.lower != nullptr) place += __ldg(p.lower + row + 1) - __ldg(p.lower + row);
        u32 weight;
        if (p.weights == STORED) {
            weight = weights[i];
        } else {
            u64 own = 0, other = 0;
            if (p.weights != UNIT) {
                own = __ldg(p.ids + (row >> g.shift));
                other = __ldg(p.ids + target);
            }
            // The entries of an in-row are the tails of its edges. In an undirected graph, the smaller id comes first.
            bool turns = g.shift ? (row & 1) != 0 : other < own;
            weight = drawn(p, turns ? other : own, turns ? own : other);
        }
        p.edges[place] = Edge{target, weight};
    }
}

// Encoding of the weights: integers, bit patterns of f32, or codes (indices in a list) of integers or of f64 values.
enum Scale : u32 { INTEGERS, FLOATS, CODES_OF_INTEGERS, CODES_OF_DOUBLES };

__device__ inline double number_of(u32 weight, u32 scale, const u64* values) {
    switch (scale) {
        case INTEGERS: return double(weight);
        case FLOATS: return double(__uint_as_float(weight));
        case CODES_OF_INTEGERS: return double(__ldg(values + weight));
        default: return __longlong_as_double(__ldg(values + weight));
    }
}

// Computes the smallest and the largest weight in their stored encoding, and the sum of all weights as numbers.
extern "C" __global__ void sssp_weights(const Edge* edges, u64 count, u32 scale, const u64* values, u32* bounds, double* sum) {
    u32 least = NONE, most = 0;
    double all = 0;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) {
        u32 weight = __ldg(&edges[i].y);
        least = min(least, weight);
        most = max(most, weight);
        all += number_of(weight, scale, values);
    }
    least = warp_min(least);
    most = warp_max(most);
    for (int step = 16; step > 0; step /= 2) all += __shfl_xor_sync(ALL_LANES, all, step);
    if (lane_id() != 0) return;
    atomicMin(bounds, least);
    atomicMax(bounds + 1, most);
    atomicAdd(sum, all);
}

// Arguments of the kernels that choose near edges. `distances` are from vertex 0, a hub. A search that has passed the hubs follows few edges whose
// weight is larger than the distance from a hub to their head. So the edges with the smallest excess are chosen: their weight minus this distance.
struct Excess {
    const void* distances;
    const u64* values;
    // The largest weight as a number, and EXCESS_STEPS / 2 divided by it.
    double most, steps;
    // Encoding of weights and distances, and whether distances have 64 bits.
    u32 scale, is_wide;
};
static_assert(sizeof(Excess) == 40, "as its twin");

// Number of equal steps into which the range of excesses is divided, from minus the largest weight to plus the largest weight.
constexpr u32 EXCESS_STEPS = 1024;

// Returns the distance of a row's vertex, but at most the largest weight. For an out-row of a directed graph, returns 0, so that its lightest edges
// are chosen, because distances are pushed along them.
__device__ inline double distance_of(const Graph& g, const Excess& e, u32 row) {
    u32 vertex = row >> g.shift;
    if (row != in_row(g, vertex)) return 0;
    u64 bits = e.is_wide ? static_cast<const u64*>(e.distances)[vertex] : static_cast<const u32*>(e.distances)[vertex];
    // An unreached vertex has the bits of a very large integer or of NaN, which `fmin` replaces by the largest weight.
    double distance = e.scale == FLOATS ? double(__uint_as_float(u32(bits))) : e.scale == CODES_OF_DOUBLES ? __longlong_as_double(bits) : double(bits);
    return fmin(distance, e.most);
}

// Returns the step that contains the excess of a weight over a distance. A larger weight never has a smaller step.
__device__ inline u32 excess_step(const Excess& e, u32 weight, double distance) {
    double step = (number_of(weight, e.scale, e.values) - distance) * e.steps + EXCESS_STEPS / 2;
    return u32(fmin(fmax(step, 0.0), double(EXCESS_STEPS)));
}

// Returns true if near edges are chosen from a row: its vertex is not in the tail.
__device__ inline bool has_near(const Graph& g, u64 row) { return (row >> g.shift) < g.tail; }

// Counts edges by step of excess, in counts[0] to counts[EXCESS_STEPS], except the last edge of each row. Adds the number of rows that have near
// edges to counts[EXCESS_STEPS + 1]. A warp processes one row at a time.
extern "C" __global__ void __launch_bounds__(256) sssp_excess(const __grid_constant__ Graph g, const __grid_constant__ Excess e, u64 rows, u64* counts) {
    __shared__ u32 here[EXCESS_STEPS + 2];
    for (u32 i = threadIdx.x; i < EXCESS_STEPS + 2; i += blockDim.x) here[i] = 0;
    __syncthreads();
    u64 warp = (u64(blockIdx.x) * blockDim.x + threadIdx.x) / 32, warps = u64(gridDim.x) * blockDim.x / 32;
    for (u64 row = warp; row < rows; row += warps) {
        Range range = has_near(g, row) ? stored_row(g, u32(row)) : Range{};
        if (range.length == 0) continue;
        double distance = distance_of(g, e, u32(row));
        for (u32 k = lane_id(); k + 1 < range.length; k += 32) atomicAdd(here + excess_step(e, __ldg(&range.begin[k].y), distance), 1u);
        if (lane_id() == 0) atomicAdd(here + EXCESS_STEPS + 1, 1u);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < EXCESS_STEPS + 2; i += blockDim.x) {
        if (here[i] > 0) atomicAdd(counts + i, u64(here[i]));
    }
}

// Sets near_starts[row] to the number of near edges of each row: the edges with a step below `steps`, and the edge after them, which shows that all
// others are at least as heavy. near_starts[rows] becomes 0.
extern "C" __global__ void sssp_near_counts(const __grid_constant__ Graph g, const __grid_constant__ Excess e, u64 rows, u32 steps, u32* near_starts) {
    for (u64 row = u64(blockIdx.x) * blockDim.x + threadIdx.x; row <= rows; row += u64(gridDim.x) * blockDim.x) {
        u32 count = 0;
        if (row < rows && has_near(g, row)) {
            Range range = stored_row(g, u32(row));
            double distance = distance_of(g, e, u32(row));
            count = min(edges_while(range, [&](u32 weight) { return excess_step(e, weight, distance) < steps; }) + 1, range.length);
        }
        near_starts[row] = count;
    }
}

// Copies the near edges of all rows to `near`, where `near_starts` contains the start of each row. A warp copies one row at a time.
extern "C" __global__ void sssp_near(const __grid_constant__ Graph g, u64 rows, const u32* near_starts, Edge* near) {
    u64 warp = (u64(blockIdx.x) * blockDim.x + threadIdx.x) / 32, warps = u64(gridDim.x) * blockDim.x / 32;
    for (u64 row = warp; row < rows; row += warps) {
        u32 begin = near_starts[row], count = near_starts[row + 1] - begin;
        if (count == 0) continue;
        Range range = stored_row(g, u32(row));
        for (u32 k = lane_id(); k < count; k += 32) near[begin + k] = __ldg(range.begin + k);
    }
}

// Sort key of an edge: the weight, then the neighbour.
__device__ inline u64 key_of(const Edge& edge) { return u64(edge.y) << 32 | edge.x; }
__device__ inline Edge edge_of(u64 key) { return Edge{u32(key), u32(key >> 32)}; }

// Sorts the rows of up to SORT_FEW entries. A warp sorts one row at a time.
extern "C" __global__ void sssp_sort_few(const __grid_constant__ Graph g, Edge* edges, u64 rows) {
    u64 warp = (u64(blockIdx.x) * blockDim.x + threadIdx.x) / 32, warps = u64(gridDim.x) * blockDim.x / 32;
    for (u64 row = warp; row < rows; row += warps) {
        Range range = stored_row(g, u32(row));
        if (range.length < 2 || range.length > SORT_FEW) continue;
        Edge* of_row = edges + (range.begin - g.rows.entries);
        u64 key = lane_id() < range.length ? key_of(of_row[lane_id()]) : ~0ull;
        key = sort_lanes(key, range.length);
        if (lane_id() < range.length) of_row[lane_id()] = edge_of(key);
    }
}

// Sorts or merges up to SORT_TILE keys in shared memory by a bitonic network, from subsequences of `size` keys on. If `merged` is true, the first
// step of that size has been done already. `padded` is the size at which the network ends, a power of two.
__device__ inline void sort_tile(u64* keys, u32 length, u32 size, bool merged, u32 padded) {
    for (; size <= padded; size *= 2) {
        for (u32 step = merged ? size / 2 : size; step > 0; step /= 2) {
            bool flips = step == size;
            for (u32 i = threadIdx.x; i < padded / 2; i += blockDim.x) {
                u32 low, high;
                if (flips) {
                    u32 half = size / 2, within = i % half;
                    low = i / half * size + within;
                    high = low - within + size - 1 - within;
                } else {
                    low = 2 * i - (i & (step - 1));
                    high = low + step;
                }
                if (high < length && keys[low] > keys[high]) {
                    u64 larger = keys[low];
                    keys[low] = keys[high];
                    keys[high] = larger;
                }
            }
            __syncthreads();
            if (flips) step = size / 2;
        }
        merged = false;
    }
}

// Among the first `rows` rows, sorts those of more than SORT_FEW and up to SORT_MIDDLE entries. A block of threads sorts one row at a time.
extern "C" __global__ void __launch_bounds__(SORT_THREADS) sssp_sort_middle(const __grid_constant__ Graph g, Edge* edges, u64 rows) {
    __shared__ u64 keys[SORT_MIDDLE];
    for (u64 row = blockIdx.x; row < rows; row += gridDim.x) {
        Range range = stored_row(g, u32(row));
        if (range.length <= SORT_FEW || range.length > SORT_MIDDLE) continue;
        Edge* of_row = edges + (range.begin - g.rows.entries);
        u32 padded = 2 * SORT_FEW;
        while (padded < range.length) padded *= 2;
        __syncthreads();
        for (u32 i = threadIdx.x; i < range.length; i += blockDim.x) keys[i] = key_of(of_row[i]);
        __syncthreads();
        sort_tile(keys, range.length, 2, false, padded);
        for (u32 i = threadIdx.x; i < range.length; i += blockDim.x) of_row[i] = edge_of(keys[i]);
    }
}

// Among the first `rows` rows, sorts those of more than SORT_MIDDLE entries in place. A block of threads sorts one row at a time. `next` is the next
// row that no block has taken; it must be 0 before the launch.
extern "C" __global__ void __launch_bounds__(SSSP_THREADS, 1) sssp_sort_many(const __grid_constant__ Graph g, Edge* edges, u64 rows, u32* next) {
    __shared__ u64 keys[SORT_TILE];
    __shared__ u32 mine;
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0) mine = atomicAdd(next, 1u);
        __syncthreads();
        u32 row = mine;
        if (row >= rows) return;
        Range range = stored_row(g, row);
        if (range.length <= SORT_MIDDLE) continue;
        Edge* of_row = edges + (range.begin - g.rows.entries);
        auto by_tiles = [&](u32 size, bool merged) {
            for (u32 from = 0; from < range.length; from += SORT_TILE) {
                u32 length = min(SORT_TILE, range.length - from);
                for (u32 i = threadIdx.x; i < length; i += SSSP_THREADS) keys[i] = key_of(of_row[from + i]);
                __syncthreads();
                sort_tile(keys, length, size, merged, SORT_TILE);
                for (u32 i = threadIdx.x; i < length; i += SSSP_THREADS) of_row[from + i] = edge_of(keys[i]);
                __syncthreads();
            }
        };
        by_tiles(2, false);
        for (u64 size = 2 * SORT_TILE; size / 2 < range.length; size *= 2) {
            for (u64 step = size; step >= SORT_TILE; step /= 2) {
                bool flips = step == size;
                u64 half = flips ? size / 2 : step;
                u64 pairs = (range.length + 2 * half - 1) / (2 * half) * half;
                for (u64 i = threadIdx.x; i < pairs; i += SSSP_THREADS) {
                    u64 within = i % half, low = i / half * (2 * half) + within, high = flips ? low - within + size - 1 - within : low + half;
                    if (high >= range.length) continue;
                    Edge a = of_row[low], b = of_row[high];
                    if (key_of(a) > key_of(b)) {
                        of_row[low] = b;
                        of_row[high] = a;
                    }
                }
                __syncthreads();
                if (flips) step = size / 2;
            }
            by_tiles(SORT_TILE, true);
        }
    }
}
