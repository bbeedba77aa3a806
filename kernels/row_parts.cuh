// Rows in GPU memory: consecutive rows of one block (RowPart), and all rows of consecutive vertices (VertexRows).
#pragma once
#include "common.cuh"

// Consecutive rows of a block. src/stream/passes.rs declares the same struct.
struct RowPart {
    // Start of each row (index of its first entry in the block), followed by the end of the last row.
    const u32* starts;
    // The first entry of the block. If only a part of the block is in GPU memory, this is the address where the first entry would be.
    const u32* targets;
    // Range of the entries in GPU memory, as indices in the block. If a row is cut, its other entries are in other parts.
    u32 first_entry, end_entry;
    u32 first_row, rows;
};
static_assert(sizeof(RowPart) == 32, "as its twin");

// Range of those entries of a row that are in GPU memory, as indices in `targets`.
struct EntryRange {
    u32 begin, end;
};

// Returns the range of entries of row `local`, which is an index within the part.
__device__ inline EntryRange entries_of(const RowPart& part, u32 local) {
    return {max(__ldg(part.starts + local), part.first_entry), min(__ldg(part.starts + local + 1), part.end_entry)};
}

// All rows of consecutive vertices. src/stream/windows.rs declares the same struct.
struct VertexRows {
    // The parts of the lower half (rows of smaller neighbours), in order, then those of the upper half (larger neighbours). No row is cut. `counts`
    // are the numbers of parts in the lower and in the upper half.
    const RowPart* parts;
    u32 counts[2];
    // Binary logarithm of the number of rows per vertex in a half: vertex v has row v << shift and, if shift is 1, also the next row.
    u32 shift;
};
static_assert(sizeof(VertexRows) == 24, "as its twin");

// The entries of a vertex in one half and one direction.
struct Segment {
    const u32* begin;
    u32 length;
};

// Returns the number of segments per vertex. The first half of them are the vertex's rows in the lower half, the others its rows in the upper half.
__device__ inline u32 segments(const VertexRows& rows) { return 2u << rows.shift; }

// Returns segment `s` of vertex `v`, in the order of `segments`.
__device__ inline Segment segment_of(const VertexRows& rows, u32 v, u32 s) {
    u32 half = s >> rows.shift, count = half > 0 ? rows.counts[1] : rows.counts[0];
    u32 row = (v << rows.shift) + s - (half << rows.shift);
    const RowPart* parts = rows.parts + (half > 0 ? rows.counts[0] : 0);
    u32 low = 0, high = count;
    while (high - low > 1) {
        u32 middle = (low + high) / 2;
        if (parts[middle].first_row <= row) low = middle;
        else high = middle;
    }
    EntryRange entries = entries_of(parts[low], row - parts[low].first_row);
    return {parts[low].targets + entries.begin, entries.end - entries.begin};
}

// Returns the index of a vertex's row of in-neighbours among its rows in a half if `enters` is true, else that of its row of out-neighbours.
__device__ inline u32 row_of_way(const VertexRows& rows, bool enters) { return enters && rows.shift > 0 ? 1 : 0; }

// Returns one half of a vertex's row of in-neighbours if `enters` is true, else of its row of out-neighbours.
__device__ inline Segment half_of(const VertexRows& rows, u32 v, bool enters, u32 half) {
    return segment_of(rows, v, row_of_way(rows, enters) + (half << rows.shift));
}

// Returns the degree of a vertex in the given direction. `degrees` contains the degree of each row.
__device__ inline u32 degree_of(const VertexRows& rows, const u32* degrees, u32 v, bool enters) {
    return degrees[(v << rows.shift) + row_of_way(rows, enters)];
}
