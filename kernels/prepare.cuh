// Definitions shared by the kernels that prepare a graph. Each kernel computes the same result as the CPU code in
// src/prepare/{ingest,partition,sort}.
#pragma once
#include "common.cuh"

constexpr u32 THREADS = 256;
constexpr u32 WARPS = THREADS / 32;
// Number of edges of a line (group of edges of one bin), and number of 32-bit words of a line. A line contains the smaller end of each of its 64
// edges, followed by the index of each edge's row in the bin, two indices per word. If edges have weights, the weights follow. Programs for such
// edges define WEIGHTED.
constexpr u32 LINE = 64;
constexpr u32 PLAIN_WORDS = 96;
#ifdef WEIGHTED
constexpr u32 LINE_WORDS = PLAIN_WORDS + LINE;
#else
constexpr u32 LINE_WORDS = PLAIN_WORDS;
#endif
