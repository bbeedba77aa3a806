// Adjacency rows that a GPU can read: the start of each row, and the entries, which may have any type.
#pragma once
#include "common.cuh"

// Maximum number of crossings. A crossing is the first row that begins at or after a multiple of 2^32 entries.
constexpr u32 MOST_CROSSINGS = 13;

// The rows of a graph, or of one of its halves. src/algo/searches/gpu/rows.rs declares the same struct.
template <class Entry> struct RowsOf {
    // Start of each row (the low 32 bits of the index of its first entry), followed by the end of the last row.
    const u32* starts;
    const Entry* entries;
    u32 crossings;
    // crossing[k] is the first row that begins at or after entry (k + 1) * 2^32.
    u32 crossing[MOST_CROSSINGS];
};
static_assert(sizeof(RowsOf<u32>) == 72, "as its twin");

// Reads a value that another block may have written, bypassing the multiprocessor's L1 cache.
template <class T> __device__ inline T fresh(const T* at) { return __ldcg(at); }

// Returns the index of a row's first entry.
template <class Entry> __device__ inline u64 start_of(const RowsOf<Entry>& rows, u32 row) {
    u64 high = 0;
    // Few graphs have crossings, so this loop is not unrolled. Unrolled, it was an eighth of the code of a search.
#pragma unroll 1
    for (u32 k = 0; k < rows.crossings; k++) high += row >= rows.crossing[k];
    return high << 32 | __ldg(rows.starts + row);
}

// The entries of a row.
template <class Entry> struct SegmentOf {
    const Entry* begin;
    u32 length;
};

// Returns the entries of a row. `entries` points to the first entry of all rows.
template <class Entry> __device__ inline SegmentOf<Entry> segment_at(const Entry* entries, const RowsOf<Entry>& rows, u32 row) {
    u64 begin = start_of(rows, row);
    // A row has fewer entries than there are vertices, so the low bits are enough for its length.
    return {entries + begin, __ldg(rows.starts + row + 1) - u32(begin)};
}

// Returns the entries of a row.
template <class Entry> __device__ inline SegmentOf<Entry> segment_of(const RowsOf<Entry>& rows, u32 row) {
    return segment_at(rows.entries, rows, row);
}
