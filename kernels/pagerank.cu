// PageRank: sums of contributions, and new PageRank values. src/algo/pagerank/arithmetic.rs has the same operations, one by one, so the values are
// bitwise the same as on CPUs.
#include "row_parts.cuh"

// Number of row entries and row ends that a warp processes at a time. Row ends count too, because a million rows may be empty.
constexpr u32 CHUNK = 2048;

// Sums over vertices, in units: the absolute changes of PageRank values, and the PageRank values of vertices without out-edges (sinks).
struct Totals {
    u64 change, sinks;
};

// Number of units in 1. A unit is 2^-62.
constexpr double ONE = 4611686018427387904.0;

__device__ inline u64 units(double number) { return u64(__double2ll_rz(__dmul_rn(number, ONE))); }
__device__ inline double number(u64 units) { return __ddiv_rn(__ll2double_rn((long long)units), ONE); }
__device__ inline u64 contribution(double rank, u32 degree) {
    return degree == 0 ? 0 : units(__ddiv_rn(rank, double(degree)));
}

// Adds the sums of `change` and `sinks` over the threads of a block to `totals`. Every thread of the block must call this.
__device__ inline void add(Totals* totals, u64 change, u64 sinks) {
    __shared__ Totals of_warps[8];
    change = warp_sum(change);
    sinks = warp_sum(sinks);
    if (lane_id() == 0) of_warps[warp_id()] = {change, sinks};
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (u32 warp = 1; warp < 8; warp++) {
        change += of_warps[warp].change;
        sinks += of_warps[warp].sinks;
    }
    if (change > 0) atomicAdd(&totals->change, change);
    if (sinks > 0) atomicAdd(&totals->sinks, sinks);
}

// Computes the contributions of all vertices from their PageRank values, and sets the sums of all vertices to 0.
extern "C" __global__ void __launch_bounds__(256)
pagerank_contribute(const double* ranks, const u32* degrees, u32 vertices, u64* contributions, u64* sums, Totals* totals) {
    u64 sinks = 0;
    for (u64 v = blockIdx.x * 256 + threadIdx.x; v < vertices; v += gridDim.x * 256) {
        contributions[v] = contribution(ranks[v], degrees[v]);
        sums[v] = 0;
        if (degrees[v] == 0) sinks += units(ranks[v]);
    }
    add(totals, 0, sinks);
}

// A position in a part: an entry, or the end of a row after its last entry.
struct Place {
    u32 row, entry;
};

// Returns the position with index `number` in a part, where entries and row ends are counted in order. A warp searches 32 rows at once.
__device__ inline Place place_at(const RowPart& part, u64 number) {
    u32 low = 0, high = part.rows;
    while (high - low > 1) {
        u32 step = (high - low + 31) / 32, probe = low + lane_id() * step;
        bool upto = probe < high && u64(entries_of(part, probe).begin - part.first_entry) + probe <= number;
        low += (__popc(__ballot_sync(ALL_LANES, upto)) - 1) * step;
        high = min(low + step, high);
    }
    return {low, u32(min(part.first_entry + (number - low), u64(part.end_entry)))};
}

// Adds the contributions of each vertex's in-neighbours in a part to the sum of the vertex. Vertex v has row v if `shift` is 0. If `shift` is 1, its
// in-neighbours are in row 2v + 1.
extern "C" __global__ void __launch_bounds__(256)
pagerank_pull(RowPart part, u32 shift, const u64* contributions, u64* sums) {
    u64 places = u64(part.end_entry - part.first_entry) + part.rows;
    for (u64 chunk = u64(blockIdx.x * 8 + warp_id()) * CHUNK; chunk < places; chunk += u64(gridDim.x) * 8 * CHUNK) {
        Place from = place_at(part, chunk), last = place_at(part, min(chunk + CHUNK, places));
        u32 at = from.entry;
        for (u32 row = from.row; row <= last.row; row += 32) {
            // Each lane processes a row. The row's sum is the prefix sum up to its end, minus the prefix sum up to the end of the previous row.
            u32 mine = row + lane_id();
            u32 row_end = mine < last.row ? __ldg(part.starts + mine + 1) : last.entry;
            u32 upto = __shfl_sync(ALL_LANES, row_end, 31);
            u64 before = 0, own = 0, sum_at_end = 0;
            while (at < upto) {
                u32 ends = __ballot_sync(ALL_LANES, row_end > at && row_end <= at + 32);
                u32 entry = at + lane_id();
                u64 found = entry < upto ? contributions[part.targets[entry]] : 0;
                at += 32;
                if (ends == 0) {
                    // All entries belong to one row.
                    own += found;
                    continue;
                }
                before += warp_sum(own);
                own = 0;
                u64 sums_upto = warp_scan(found);
                u64 at_end = __shfl_sync(ALL_LANES, sums_upto, (row_end + 31 - at) & 31);
                if (ends >> lane_id() & 1) sum_at_end = before + at_end;
                before += __shfl_sync(ALL_LANES, sums_upto, 31);
            }
            at = upto;
            u64 previous = __shfl_up_sync(ALL_LANES, sum_at_end, 1);
            u64 sum = sum_at_end - (lane_id() > 0 ? previous : 0);
            u32 of_part = part.first_row + mine;
            if (mine <= last.row && sum > 0 && (shift == 0 || of_part % 2 == 1)) atomicAdd(sums + (of_part >> shift), sum);
        }
    }
}

// Teleport contributions from which new PageRank values are computed: `personalised` for the personalised vertices, and `of_all` for the others. Also
// the damping factor.
struct Bases {
    double of_all, personalised, damping;
    // The personalised vertices, ascending.
    const u32* vertices;
    u32 count;
};
static_assert(sizeof(Bases) == 40, "as its twin");

// Computes new PageRank values from the sums, and contributions from the new values. Sets the sums to 0.
extern "C" __global__ void __launch_bounds__(256)
pagerank_update(double* ranks, const u32* degrees, u32 vertices, u64* contributions, u64* sums, Bases bases, Totals* totals) {
    u64 change = 0, sinks = 0;
    for (u64 v = blockIdx.x * 256 + threadIdx.x; v < vertices; v += gridDim.x * 256) {
        double base = bases.count > 0 && contains(bases.vertices, bases.count, u32(v)) ? bases.personalised : bases.of_all;
        double before = ranks[v], after = __dadd_rn(base, __dmul_rn(bases.damping, number(sums[v])));
        sums[v] = 0;
        ranks[v] = after;
        contributions[v] = contribution(after, degrees[v]);
        change += units(fabs(__dadd_rn(after, -before)));
        if (degrees[v] == 0) sinks += units(after);
    }
    add(totals, change, sinks);
}
