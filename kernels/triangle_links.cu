// Counts links: the directed edges between the neighbours of each vertex. Rows contain codes in ascending order: twice the neighbour's id, plus 1 if
// there are edges in both directions.
//
// A triangle a < b < c adds to each corner the number of directed edges between the other two. A warp takes 32 heads at a time, most of which have
// the same b. For each head, it looks up the codes of the shorter list (the head or row b) in the longer one.
#include "triangle_pair.cuh"

// Exclusive end of the ids that have counters in shared memory. In nearly all triangles, the smallest id is below it. A head adds at most 2 to a
// counter, and a partner has fewer than 2^31 heads, so 32 bits suffice.
constexpr u32 COUNTED = 4096;
// Maximum number of codes in the shorter list for which one lane processes a head alone.
constexpr u32 LANE_LIST = 4;

// Returns the number of directed edges that a code stands for.
__device__ inline u32 edges_of(u32 code) { return 1 + (code & 1); }

// A head and row b: the index of the first code of each, and its number of codes.
struct Lists {
    u32 head, head_length, row, row_length;
    // Number of directed edges between b and c.
    u32 between;
};

// Number of triangles of a head, and the numbers of links that they add to b and c.
struct Found {
    u32 triangles, at_b, at_c;
};

// Looks up every `step`-th code of the shorter list, from index `first` on, in the longer list. Each code that is found closes a triangle, whose
// links are added to the count of vertex a. Returns the number of triangles, and the links that they add to b and c.
__device__ inline Found close(const Pair& pair, u32* counters, const Lists& lists, u32 first, u32 step) {
    const u32 *head = pair.partner.targets + lists.head, *row = pair.front.targets + lists.row;
    bool by_row = lists.row_length < lists.head_length;
    const u32 *some = by_row ? row : head, *others = by_row ? head : row;
    u32 count = min(lists.row_length, lists.head_length), all = max(lists.row_length, lists.head_length);
    Found found = {0, 0, 0};
    for (u32 i = first; i < count; i += step) {
        u32 code = some[i], place = lower_bound(others, all, code & ~1u);
        if (place == all) break;
        u32 other = others[place], a = code / 2;
        if (other / 2 != a) continue;
        found.triangles++;
        found.at_b += edges_of(by_row ? other : code);
        found.at_c += edges_of(by_row ? code : other);
        if (a < COUNTED) atomicAdd(&counters[a], lists.between);
        else atomicAdd(&pair.corners[a], (u64)lists.between);
    }
    return found;
}

// Adds each lane's `more` to its sums[place]. If `alike` is true, all lanes have the same place, and one of them adds the total. All lanes of a warp
// call it.
__device__ inline void add(u64* sums, u32 place, bool alike, u32 more) {
    u32 all = alike ? warp_sum(more) : more;
    if (all > 0 && (!alike || lane_id() == 0)) atomicAdd(&sums[place], (u64)all);
}

// Returns true if `number` is the same in all lanes that have a head. Lane 0 always has a head.
__device__ inline bool are_alike(u32 number, bool has_head) {
    u32 first = __shfl_sync(ALL_LANES, number, 0);
    return __all_sync(ALL_LANES, number == first || !has_head);
}

extern "C" __global__ void __launch_bounds__(256) count_links(Pair pair) {
    __shared__ u32 counters[COUNTED];
    for (u32 i = threadIdx.x; i < COUNTED; i += blockDim.x) counters[i] = 0;
    __syncthreads();
    u32 rows = rows_with_heads(pair), heads = rows > 0 ? pair.ends[rows - 1] : 0, pairs = pair.front_block_count * pair.partner_block_count;
    for (u32 turn = 0;; turn++) {
        u32 first = 0;
        if (lane_id() == 0) first = is_stopped(pair, turn) ? ALL_LANES : atomicAdd(&pair.queue[1], 32u);
        first = __shfl_sync(ALL_LANES, first, 0);
        if (first >= heads) break;
        bool has_head = lane_id() < heads - first;
        u64 head = has_head ? pair.heads[first + lane_id()] : 0;
        u32 row = head >> 32, length = (u32)head & LENGTH_MASK, b = 0, at_pair = 0;
        Lists lists = {0, 0, 0, 0, 0};
        if (has_head) {
            u32 from = pair.partner.starts[row], code = pair.partner.targets[from + length], local = code / 2 - pair.front.first;
            u32 start = pair.front.starts[local];
            lists = {from, length, start, pair.front.starts[local + 1] - start, edges_of(code)};
            b = code / 2;
            at_pair = front_block_of(pair, local) * pair.partner_block_count + ((u32)head >> LENGTH_BITS);
        }
        u32 shorter = min(lists.head_length, lists.row_length);
        Found mine = {0, 0, 0};
        if (shorter <= LANE_LIST) mine = close(pair, counters, lists, 0, 1);
        __syncwarp();
        for (u32 left = __ballot_sync(ALL_LANES, shorter > LANE_LIST); left != 0; left &= left - 1) {
            u32 lane = __ffs((int)left) - 1;
            Lists of_lane = {__shfl_sync(ALL_LANES, lists.head, lane), __shfl_sync(ALL_LANES, lists.head_length, lane),
                             __shfl_sync(ALL_LANES, lists.row, lane), __shfl_sync(ALL_LANES, lists.row_length, lane),
                             __shfl_sync(ALL_LANES, lists.between, lane)};
            Found found = close(pair, counters, of_lane, lane_id(), 32);
            found = {warp_sum(found.triangles), warp_sum(found.at_b), warp_sum(found.at_c)};
            if (lane_id() == lane) mine = found;
        }
        bool one_b = are_alike(b, has_head), one_pair = are_alike(at_pair, has_head);
        add(pair.corners, b, one_b, mine.at_b);
        if (mine.at_c > 0) atomicAdd(&pair.corners[pair.partner.first + row], (u64)mine.at_c);
        add(pair.counts, 2 * at_pair, one_pair, mine.triangles);
        add(pair.counts, 2 * at_pair + 1, one_pair, length);
        add(pair.counts + 2 * pairs, at_pair, one_pair, mine.triangles * lists.between + mine.at_b + mine.at_c);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < COUNTED; i += blockDim.x) {
        if (counters[i] > 0) atomicAdd(&pair.corners[i], (u64)counters[i]);
    }
}
