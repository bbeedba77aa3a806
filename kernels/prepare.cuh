// What the kernels of preparation share. What each does is what the processor does in src/prepare/{ingest,partition,sort}.rs,
// and gives the same.
#pragma once
#include "common.cuh"

constexpr u32 THREADS = 256;
constexpr u32 WARPS = THREADS / 32;
// No id, no bin, no neighbour.
constexpr u32 NONE = 0xffffffffu;
// A line of a bin: the smaller neighbours of 64 edges, then the places of their rows in the bin, two to a word.
constexpr u32 LINE = 64;
constexpr u32 LINE_WORDS = 96;
