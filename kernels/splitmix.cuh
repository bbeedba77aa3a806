// SplitMix64 (Steele, Lea and Flood 2014): random numbers that are computed from their indices.
#pragma once
#include "common.cuh"

// Increment of the generator's state for each number.
constexpr u64 SPLITMIX_STEP = 0x9e3779b97f4a7c15ull;

// Returns the random number for a state.
__device__ inline u64 mixed(u64 state) {
    u64 x = (state ^ state >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}
