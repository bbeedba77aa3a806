// Rows in reach of a GPU: where each begins, and entries of any type.
#pragma once
#include "common.cuh"

// Most starts of rows beyond 2^32 entries that are known.
constexpr u32 MOST_CROSSINGS = 13;
// The number that stands for no vertex.
constexpr u32 NONE = 0xffffffff;

// src/algo/device_rows has a twin.
template <class Entry> struct RowsOf {
    // The low 32 bits of the place of each row's first entry, and the end of the last row.
    const u32* starts;
    const Entry* entries;
    u32 crossings;
    // The first row that begins at or after entry 2^32, 2^33, 3 * 2^32, ...
    u32 crossing[MOST_CROSSINGS];
};
static_assert(sizeof(RowsOf<u32>) == 72, "as its twin");

// Reads what another block may have written, past the multiprocessor's own cache.
template <class T> __device__ inline T fresh(const T* at) { return __ldcg(at); }

// Returns the place of a row's first entry.
template <class Entry> __device__ inline u64 start_of(const RowsOf<Entry>& rows, u32 row) {
    u64 high = 0;
    for (u32 k = 0; k < rows.crossings; k++) high += row >= rows.crossing[k];
    return high << 32 | __ldg(rows.starts + row);
}

// The entries of a row.
template <class Entry> struct SegmentOf {
    const Entry* begin;
    u32 length;
};

// Returns the entries of a row, of rows whose first entry is at `entries`.
template <class Entry> __device__ inline SegmentOf<Entry> segment_at(const Entry* entries, const RowsOf<Entry>& rows, u32 row) {
    u64 begin = start_of(rows, row);
    // A row has fewer entries than there are vertices, so that low bits tell its length.
    return {entries + begin, __ldg(rows.starts + row + 1) - u32(begin)};
}

// Returns the entries of a row.
template <class Entry> __device__ inline SegmentOf<Entry> segment_of(const RowsOf<Entry>& rows, u32 row) {
    return segment_at(rows.entries, rows, row);
}
