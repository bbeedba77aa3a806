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
