// What the self-test kernels share; kernels/common.cuh defines DYNAMIC_SHARED in the same way.
#pragma once

typedef unsigned u32;
typedef unsigned long long u64;

#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(type, name) extern __shared__ type name[]
#endif

constexpr u32 ALL = 0xffffffffu;
