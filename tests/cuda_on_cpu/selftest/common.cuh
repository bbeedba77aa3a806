// What the self-test kernels share; files of kernels/ define DYNAMIC_SHARED and YIELD in the same way.
#pragma once

typedef unsigned u32;
typedef unsigned long long u64;

#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(type, name) extern __shared__ type name[]
#endif

#ifndef YIELD
#define YIELD()
#endif

constexpr u32 ALL = 0xffffffffu;
