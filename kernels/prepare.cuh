// Definitions that the kernels of preparation share. Each kernel computes the same result as the CPU code in
// src/prepare/{ingest,partition,sort}.
#pragma once
#include "common.cuh"

constexpr u32 THREADS = 256;
constexpr u32 WARPS = THREADS / 32;
// Stands for no id, no bin, no neighbour.
constexpr u32 NONE = 0xffffffffu;
// A line of a bin has the smaller neighbours of 64 edges, then the indices of their rows in the bin, two to a word. If edges have weights, the
// weights follow; programs for such edges define WEIGHTED.
constexpr u32 LINE = 64;
constexpr u32 PLAIN_WORDS = 96;
#ifdef WEIGHTED
constexpr u32 LINE_WORDS = PLAIN_WORDS + LINE;
#else
constexpr u32 LINE_WORDS = PLAIN_WORDS;
#endif
