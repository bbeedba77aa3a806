// SplitMix64 (Steele, Lea and Flood 2014), random numbers by their index.
#pragma once
#include "common.cuh"

// What the generator adds to its state before each number.
constexpr u64 SPLITMIX_STEP = 0x9e3779b97f4a7c15ull;

// Returns the number that belongs to a state.
__device__ inline u64 mixed(u64 state) {
    u64 x = (state ^ state >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}
