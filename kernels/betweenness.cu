// Betweenness centrality: Brandes' algorithm from up to four sources at once. src/algo/betweenness/level.rs adds numbers in the same order, so the
// scores are bitwise the same as on CPUs.
#include "betweenness.cuh"

// Finds which of the vertices from `first` to `end` (exclusive) the sources in the mask `sources` reach in the next level, and counts the shortest
// paths to them. `lanes` lanes process a vertex: SOURCES, or 1 if rows are short.
extern "C" __global__ void __launch_bounds__(256, COUNTING) betweenness_count_short(Search p, u32 sources, u32 looks, u32 first, u32 end, u32 lanes) {
    u32 lane = threadIdx.x % lanes, v = first + blockIdx.x * (256 / lanes) + threadIdx.x / lanes, found = 0;
    u32 mask = v < end ? sources & ~mask_of(p.reached, v) : 0;
    double sums[SOURCES] = {};
    if (mask != 0) add_counts(p, row_of(p.rows, v, true), mask, looks, lane, lanes, sums);
    __syncwarp();
    add_over(lanes, sums);
#pragma unroll
    for (u32 s = 0; s < SOURCES; s++) {
        if ((mask >> s & 1) == 0 || sums[s] == 0) continue;
        found |= 1u << s;
        if (lane == s % lanes) p.sums[u64(v) * SOURCES + s] = sums[s];
    }
    if (lane == 0 && found != 0) set_mask(p.found, v, found);
}

// Like betweenness_count_short, for vertices with long rows. A block processes a vertex.
extern "C" __global__ void __launch_bounds__(256, COUNTING) betweenness_count_long(Search p, u32 sources, u32 looks) {
    __shared__ double of_warps[8][SOURCES];
    u32 v = blockIdx.x, mask = sources & ~mask_of(p.reached, v), s = threadIdx.x;
    if (mask == 0) return;
    double sums[SOURCES] = {};
    add_counts(p, row_of(p.rows, v, true), mask, looks, threadIdx.x, 256, sums);
    __syncwarp();
    add_over(32, sums);
#pragma unroll
    for (u32 k = 0; k < SOURCES; k++) {
        if (lane_id() == 0) of_warps[warp_id()][k] = sums[k];
    }
    __syncthreads();
    if (s >= SOURCES || (mask >> s & 1) == 0) return;
    double sum = 0;
    for (u32 warp = 0; warp < 8; warp++) sum += of_warps[warp][s];
    if (sum == 0) return;
    p.sums[u64(v) * SOURCES + s] = sum;
    set_mask(p.found, v, 1u << s);
}

// Adds up the values of the neighbours of vertices with short rows. A warp takes `each` vertices at a time: 32, or a divisor of 32 if there are few
// vertices, so that the longest rows, which come first, are divided among warps. If few neighbours have values, each lane first checks whether its
// row, if it is short enough to be scanned, has such a neighbour. Then a group processes each remaining vertex. If TEAMS is true, there are more
// groups than vertices, and several groups share the pieces of a row.
template <bool TEAMS> __device__ inline void pull_short(const Search& p, const Visited& visited, const Pull& pull, u32 each) {
    __shared__ u32 vertices[8][32];
    __shared__ u8 masks[8][32];
    u32 source = lane_id() % SOURCES, group = lane_id() / SOURCES;
    // Number of groups that process a vertex, and this group's index among them.
    u32 team = TEAMS ? GROUPS / each : 1, member = TEAMS ? group % team : 0;
    for (u32 base = (blockIdx.x * 8 + warp_id()) * each; base < visited.count; base += gridDim.x * 8 * each) {
        u32 i = base + lane_id(), v = 0, mask = 0;
        if (lane_id() < each && i < visited.count) {
            v = vertex_at(visited, i);
            mask = wanted(visited, i);
        }
        bool is_left = mask != 0;
        if (is_left && pull.looks) {
            Row row = row_of(p.rows, v, !pull.backward);
            if (row.lower.length + row.upper.length <= SCANNED && has_no_value(p, pull, row, mask)) {
                is_left = false;
#pragma unroll
                for (u32 s = 0; s < SOURCES; s++) {
                    if (mask >> s & 1) p.sums[u64(v) * SOURCES + s] = 0;
                }
            }
        }
        u32 left = __ballot_sync(ALL_LANES, is_left), count = __popc(left), place = __popc(left & ((1u << lane_id()) - 1));
        if (is_left) {
            vertices[warp_id()][place] = v;
            masks[warp_id()][place] = u8(mask);
        }
        __syncwarp();
        for (u32 first = 0; first < count; first += GROUPS / team) {
            u32 at = first + group / team;
            v = mask = 0;
            Row row = {};
            if (at < count) {
                v = vertices[warp_id()][at];
                mask = masks[warp_id()][at];
                row = row_of(p.rows, v, !pull.backward);
            }
            double total = 0;
            if (TEAMS) {
                u32 pieces = pieces_of(row.lower) + pieces_of(row.upper);
                for (u32 number = member; __any_sync(ALL_LANES, number - member < pieces); number += team) {
                    double sum = sum_of_row(p, pull, number < pieces ? piece_of(row, number, pull) : Row{}, mask);
                    for (u32 k = 0; k < team; k++) total = __dadd_rn(total, __shfl_sync(ALL_LANES, sum, k * SOURCES + source, team * SOURCES));
                }
            } else {
                total = sum_of_row(p, pull, row, mask);
            }
            if (at < count && member == 0 && mask >> source & 1) p.sums[u64(v) * SOURCES + source] = total;
        }
        __syncwarp();
    }
}

extern "C" __global__ void __launch_bounds__(256, PULLING) betweenness_pull_short(Search p, Visited visited, Pull pull, u32 each) {
    pull_short<false>(p, visited, pull, each);
}

// Like betweenness_pull_short, for so few vertices that several groups share a row.
extern "C" __global__ void __launch_bounds__(256, 3) betweenness_pull_few(Search p, Visited visited, Pull pull, u32 each) {
    pull_short<true>(p, visited, pull, each);
}

// Counts the pieces of long rows, in total and by the tile of their first neighbour. If `lists` is true, writes each piece to the next free list
// position of its tile. A block processes a vertex.
extern "C" __global__ void __launch_bounds__(256) betweenness_divide(Search p, Pieces pieces, u32 enters, u32 lists) {
    u32 v = blockIdx.x;
    Segment lower = half_of(p.rows, v, enters, 0), upper = half_of(p.rows, v, enters, 1);
    u32 of_lower = pieces_of(lower), count = of_lower + pieces_of(upper);
    if (!lists && threadIdx.x == 0) pieces.starts[v] = atomicAdd(pieces.total, count);
    for (u32 first = warp_id() * 32; first < count; first += 256) {
        u32 number = first + lane_id(), tile = NONE;
        if (number < of_lower) tile = lower.begin[number * PIECE] / TILE;
        else if (number < count) tile = upper.begin[(number - of_lower) * PIECE] / TILE;
        // The pieces of a warp are in few tiles.
        for (u32 left = __ballot_sync(ALL_LANES, tile != NONE); left != 0;) {
            u32 of = __shfl_sync(ALL_LANES, tile, __ffs(int(left)) - 1), same = __ballot_sync(ALL_LANES, tile == of), place = 0;
            if (lane_id() == 0) place = atomicAdd(pieces.places + of, __popc(same));
            place = __shfl_sync(ALL_LANES, place, 0) + __popc(same & ((1u << lane_id()) - 1));
            if (lists && tile == of) pieces.list[place] = u64(v) << 32 | number;
            left &= ~same;
        }
    }
}

// Marks the vertices with long rows that a pull visits.
extern "C" __global__ void __launch_bounds__(256) betweenness_mark(Visited visited, Pieces pieces) {
    u32 i = blockIdx.x * 256 + threadIdx.x;
    if (i < visited.count) pieces.visited[vertex_at(visited, i)] = u8(wanted(visited, i));
}

// Adds up each piece of the list whose vertex is marked. Of 256 pieces at a time, a block selects the marked ones, and its groups process them.
extern "C" __global__ void __launch_bounds__(256, PULLING) betweenness_pull_pieces(Search p, Pieces pieces, u32 count, Pull pull) {
    __shared__ u64 marked[256];
    __shared__ u32 scratch[32];
    for (u32 base = blockIdx.x * 256; base < count; base += gridDim.x * 256) {
        u64 listed = base + threadIdx.x < count ? __ldcs(pieces.list + base + threadIdx.x) : 0;
        u32 is_marked = base + threadIdx.x < count && pieces.visited[listed >> 32] != 0, total;
        u32 place = block_scan_before(is_marked, scratch, total);
        if (is_marked) marked[place] = listed;
        __syncthreads();
        for (u32 warps = warp_id() * GROUPS; warps < total; warps += GROUPS_OF_BLOCK) {
            u32 at = warps + lane_id() / SOURCES, v = 0, number = 0, mask = 0;
            Row piece = {};
            if (at < total) {
                v = u32(marked[at] >> 32), number = u32(marked[at]);
                mask = pieces.visited[v];
                piece = piece_of(row_of(p.rows, v, !pull.backward), number, pull);
            }
            double sum = sum_of_row(p, pull, piece, mask);
            if (at < total) pieces.sums[u64(pieces.starts[v] + number) * SOURCES + lane_id() % SOURCES] = sum;
        }
        __syncthreads();
    }
}

// Adds up the sums of the pieces of visited vertices with long rows, and removes their marks. A warp processes a vertex.
extern "C" __global__ void __launch_bounds__(256) betweenness_join(Search p, Visited visited, Pieces pieces, u32 enters) {
    u32 i = blockIdx.x * 8 + warp_id();
    if (i >= visited.count) return;
    u32 v = vertex_at(visited, i), mask = wanted(visited, i), source = lane_id() % SOURCES;
    if (mask == 0) return;
    u32 count = pieces_of(half_of(p.rows, v, enters, 0)) + pieces_of(half_of(p.rows, v, enters, 1));
    const double* sums = pieces.sums + u64(pieces.starts[v]) * SOURCES;
    constexpr u32 TOGETHER = 8;
    double total = 0;
    for (u32 from = 0; from < count; from += TOGETHER * GROUPS) {
        double loaded[TOGETHER];
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) {
            u32 at = from + k * GROUPS + lane_id() / SOURCES;
            loaded[k] = at < count ? sums[u64(at) * SOURCES + source] : 0;
        }
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) {
#pragma unroll
            for (u32 group = 0; group < GROUPS; group++) total = __dadd_rn(total, __shfl_sync(ALL_LANES, loaded[k], group * SOURCES + source));
        }
    }
    if (lane_id() < SOURCES && mask >> source & 1) p.sums[u64(v) * SOURCES + source] = total;
    if (lane_id() == 0) pieces.visited[v] = 0;
}

// Adds the counts of a vertex to the counts of its out-neighbour `w`, for the sources that have not reached `w` yet.
__device__ inline void push_to(const Search& p, u32 w, u32 mask, const double* paths) {
    mask &= ~mask_of(p.reached, w);
    if (mask == 0) return;
#pragma unroll
    for (u32 s = 0; s < SOURCES; s++) {
        if (mask >> s & 1) atomicAdd(p.sums + u64(w) * SOURCES + s, paths[s]);
    }
    if ((mask_of(p.found, w) & mask) != mask) set_mask(p.found, w, mask);
}

// Adds the counts of the visited vertices to the counts of the next level, along their rows. `threads` threads process a vertex: a warp, or several
// blocks.
extern "C" __global__ void __launch_bounds__(256) betweenness_push(Search p, Visited visited, u32 threads) {
    u64 thread = u64(blockIdx.x) * 256 + threadIdx.x;
    u32 i = u32(thread / threads), lane = u32(thread % threads);
    if (i >= visited.count) return;
    u32 v = vertex_at(visited, i), mask = wanted(visited, i);
    if (mask == 0) return;
    double paths[SOURCES];
#pragma unroll
    for (u32 s = 0; s < SOURCES; s++) paths[s] = p.paths[u64(v) * SOURCES + s];
    for (u32 half = 0; half < 2; half++) {
        Segment row = half_of(p.rows, v, false, half);
        for (u32 at = lane; at < row.length; at += threads) push_to(p, __ldg(row.begin + at), mask, paths);
    }
}

// Adds, for each source, the sum of `x` over the source's lanes to the source's element of `to`.
__device__ inline void add_lanes(u64* to, u64 x) {
    for (u32 step = SOURCES; step < 32; step *= 2) x += __shfl_xor_sync(ALL_LANES, x, step);
    if (lane_id() < SOURCES && x > 0) atomicAdd(to + lane_id(), x);
}

// Appends the vertices that were found to the lists, at the positions `long_at` and `short_at`. Marks the vertices as reached, and stores their sums
// as counts.
extern "C" __global__ void __launch_bounds__(256) betweenness_collect(Search p, u32 long_at, u32 short_at) {
    u32 words = (p.vertices + 7) / 8, span = 0, source = lane_id() % SOURCES;
    u64 reached = 0, leaving = 0, entering = 0;
    bool inexact = false;
    for (u32 base = (blockIdx.x * 8 + warp_id()) * 32; base < words; base += gridDim.x * 256) {
        u32 word = base + lane_id() < words ? p.found[base + lane_id()] : 0;
        if (!__any_sync(ALL_LANES, word != 0)) continue;
        // Consecutive vertices get consecutive positions.
        bool is_long = base * 8 < p.long_end;
        u32 count = __popc((word | word >> 1 | word >> 2 | word >> 3) & 0x11111111), upto = warp_scan(count), place = 0;
        if (lane_id() == 31) place = atomicAdd(is_long ? &p.step->longs : &p.step->shorts, upto);
        place = (is_long ? long_at : short_at) + __shfl_sync(ALL_LANES, place, 31) + upto - count;
        if (word != 0) {
            p.found[base + lane_id()] = 0;
            p.reached[base + lane_id()] |= word;
            span = max(span, p.vertices - ((base + lane_id()) * 8 + (__ffs(int(word)) - 1) / SOURCES));
        }
        for (u32 k = 0; k < 8; k++) {
            u32 mask = word >> SOURCES * k & 15;
            if (mask == 0) continue;
            (is_long ? p.longs : p.shorts)[place] = (base + lane_id()) * 8 + k;
            (is_long ? p.masks_of_longs : p.masks_of_shorts)[place++] = u8(mask);
        }
        __syncwarp();
        // Each bit of a word belongs to a vertex and a source, and the lane with the same index processes it. Several loads are in flight at once.
        constexpr u32 AT_ONCE = 4;
        for (u32 first = 0; first < 32; first += AT_ONCE) {
            double sums[AT_ONCE];
            u32 leave[AT_ONCE], enter[AT_ONCE];
            bool is_found[AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++) {
                u32 v = (base + first + k) * 8 + lane_id() / SOURCES;
                is_found[k] = __shfl_sync(ALL_LANES, word, first + k) >> lane_id() & 1;
                sums[k] = is_found[k] ? p.sums[u64(v) * SOURCES + source] : 0;
                leave[k] = is_found[k] ? degree_of(p.rows, p.degrees, v, false) : 0;
                enter[k] = is_found[k] && p.rows.shift > 0 ? degree_of(p.rows, p.degrees, v, true) : leave[k];
            }
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++) {
                if (!is_found[k]) continue;
                u64 place = u64((base + first + k) * 8 + lane_id() / SOURCES) * SOURCES + source;
                p.paths[place] = sums[k];
                p.small[place] = sums[k] < 255 ? u8(sums[k]) : 255;
                inexact |= sums[k] >= EXACT;
                reached += 1;
                leaving += leave[k];
                entering += enter[k];
            }
        }
        __syncwarp();
    }
    add_lanes(p.step->reached, reached);
    add_lanes(p.step->leaving, leaving);
    add_lanes(p.step->entering, entering);
    if (span > 0) atomicMax(&p.step->span, span);
    if (inexact) p.step->inexact = 1;
}

// Begins a search: each source in the mask `sources` reaches itself. All masks and values must be zero.
extern "C" __global__ void __launch_bounds__(256) betweenness_begin(Search p, uint4 roots, u32 sources) {
    u32 of[SOURCES] = {roots.x, roots.y, roots.z, roots.w}, s = threadIdx.x;
    if (blockIdx.x > 0 || s >= SOURCES || (sources >> s & 1) == 0) return;
    p.sums[u64(of[s]) * SOURCES + s] = 1;
    set_mask(p.found, of[s], 1u << s);
}

// Converts the sums of a step to counts or shares, or sets the counts of a step to 0, so that they can be pulled again; `makes` is the code of the
// result. A thread processes a vertex and a source. For the sources in the mask `leaves`, nothing was added up: the vertices are the deepest level,
// so their sums are 0.
extern "C" __global__ void __launch_bounds__(256) betweenness_settle(Search p, Visited visited, u32 makes, u32 leaves) {
    // Several loads are in flight at once.
    constexpr u32 AT_ONCE = 4;
    u64 count = u64(visited.count) * SOURCES, threads = u64(gridDim.x) * 256;
    u32 s = threadIdx.x % SOURCES;
    bool is_leaf = leaves >> s & 1;
    for (u64 first = blockIdx.x * 256 + threadIdx.x; first < count; first += AT_ONCE * threads) {
        u32 vertices[AT_ONCE], masks[AT_ONCE];
        double sums[AT_ONCE], paths[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            u32 i = u32((first + k * threads) / SOURCES);
            bool is_there = first + k * threads < count;
            vertices[k] = is_there ? vertex_at(visited, i) : 0;
            masks[k] = is_there ? wanted(visited, i) : 0;
        }
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            bool is_visited = masks[k] >> s & 1;
            u64 place = u64(vertices[k]) * SOURCES + s;
            sums[k] = is_visited && !is_leaf ? p.sums[place] : 0;
            paths[k] = is_visited && makes == SHARES ? p.paths[place] : 1;
        }
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            u64 place = u64(vertices[k]) * SOURCES + s;
            if (s == 0 && masks[k] != 0 && makes == SHARES) set_mask(p.found, vertices[k], masks[k]);
            if ((masks[k] >> s & 1) == 0) continue;
            if (is_leaf) p.sums[place] = 0;
            if (makes == SHARES) {
                p.shares[place] = __ddiv_rn(__dadd_rn(1, __dmul_rn(paths[k], sums[k])), paths[k]);
            } else {
                p.paths[place] = makes == COUNTS ? sums[k] : 0;
                if (makes == COUNTS && sums[k] > LARGEST) p.step->too_large = 1;
            }
        }
    }
}

// Adds the dependencies of all vertices to their totals, one source after the other.
extern "C" __global__ void __launch_bounds__(256) betweenness_add(Search p, double* totals) {
    for (u32 v = blockIdx.x * 256 + threadIdx.x; v < p.vertices; v += gridDim.x * 256) {
        u32 mask = mask_of(p.reached, v);
        if (mask == 0) continue;
        double total = totals[v];
#pragma unroll
        for (u32 s = 0; s < SOURCES; s++) {
            u64 place = u64(v) * SOURCES + s;
            if (mask >> s & 1) total = __dadd_rn(total, __dmul_rn(p.paths[place], p.sums[place]));
        }
        totals[v] = total;
    }
}
