// Rows of a block, or some of them, in GPU memory.
#pragma once
#include "common.cuh"

// Consecutive rows of a block. src/stream/passes.rs declares the same struct.
struct RowPart {
    // The place of each row's first entry in the block, and of the end of the last row.
    const u32* starts;
    // Where the first entry of the block is, or would be.
    const u32* targets;
    // The entries that are there. A row that is cut has more entries in other parts.
    u32 first_entry, end_entry;
    u32 first_row, rows;
};
static_assert(sizeof(RowPart) == 32, "as its twin");

// The entries of a row that are there: their places in `targets`.
struct EntryRange {
    u32 begin, end;
};

// Returns the entries of row `local` of a part.
__device__ inline EntryRange entries_of(const RowPart& part, u32 local) {
    return {max(__ldg(part.starts + local), part.first_entry), min(__ldg(part.starts + local + 1), part.end_entry)};
}

// All rows of consecutive vertices. src/stream/windows.rs declares the same struct.
struct VertexRows {
    // The parts of the lower half in order, then those of the upper half. No row is cut.
    const RowPart* parts;
    u32 counts[2];
    // Vertex v has row v << shift, and, if shift is 1, the next row.
    u32 shift;
};
static_assert(sizeof(VertexRows) == 24, "as its twin");

// The entries of a vertex in one half and one direction.
struct Segment {
    const u32* begin;
    u32 length;
};

// Returns the number of segments of a vertex: the lower row or rows, then the upper ones.
__device__ inline u32 segments(const VertexRows& rows) { return 2u << rows.shift; }

// Returns segment `s` of vertex `v`.
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
