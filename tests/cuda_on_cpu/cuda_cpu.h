// CUDA's language for g++: what a kernel may call, in terms of fibers.h. Each .cu file is compiled behind this header,
// unmodified, in a translation unit and an unnamed namespace of its own (the build script writes that).
//
// Where CUDA leaves something undefined, it is made to hurt: a shuffle from a lane outside of the mask gives garbage,
// __activemask() knows of no lane but its own, threads that meet in different barriers end the kernel.
#pragma once
#include "fibers.h"

#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#define CUDA_ON_CPU 1
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDA_ARCH__ 900
#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __constant__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_assume(x) assert(x)
// A section of its own, so that it can be filled with garbage before every block. In templates g++ forgets the section,
// and what the block before left is there.
#define __shared__ static __attribute__((section(CUDA_ON_CPU_SHARED)))
// On a GPU: extern __shared__ type name[];
#define DYNAMIC_SHARED(type, name) type* const name = static_cast<type*>(cpu::dynamic_shared())
// In a loop that waits for other blocks: on a GPU, nothing.
#define YIELD() cpu::yield(cpu::Where::current())
// The same in one that waits for another GPU, which is another process.
#define YIELD_TO_GPUS() cpu::yield_to_processes()
// On a GPU: the register %globaltimer.
#define GLOBAL_TIMER() static_cast<unsigned long long>(clock64())

#define threadIdx (cpu::self->index)
#define blockIdx (cpu::block_index)
#define blockDim (cpu::block_size)
#define gridDim (cpu::grid_size)
constexpr int warpSize = 32;

#undef assert
#define assert(x) ((x) ? void() : cpu::fail(cpu::ASSERT, "assertion failed: " #x, cpu::Where::current()))

[[noreturn]] inline void __trap(cpu::Where where = cpu::Where::current()) {
    cpu::fail(cpu::LAUNCH_FAILED, "__trap", where);
}

// Vector types, aligned as CUDA aligns them: wide ones in one access.
#define CUDA_ON_CPU_VECTORS(T, name)                                                                                   \
    struct name##1 { T x; };                                                                                           \
    struct alignas(2 * sizeof(T)) name##2 { T x, y; };                                                                 \
    struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) name##4 { T x, y, z, w; };                                 \
    inline name##1 make_##name##1(T x) { return {x}; }                                                                 \
    inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                                         \
    inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
#define CUDA_ON_CPU_TRIPLE(T, name)                                                                                    \
    struct name##3 { T x, y, z; };                                                                                     \
    inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }
CUDA_ON_CPU_VECTORS(signed char, char)
CUDA_ON_CPU_VECTORS(unsigned char, uchar)
CUDA_ON_CPU_VECTORS(short, short)
CUDA_ON_CPU_VECTORS(unsigned short, ushort)
CUDA_ON_CPU_VECTORS(int, int)
CUDA_ON_CPU_VECTORS(unsigned, uint)
CUDA_ON_CPU_VECTORS(long long, longlong)
CUDA_ON_CPU_VECTORS(unsigned long long, ulonglong)
CUDA_ON_CPU_VECTORS(float, float)
CUDA_ON_CPU_VECTORS(double, double)
CUDA_ON_CPU_TRIPLE(int, int)
CUDA_ON_CPU_TRIPLE(float, float)
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

template <class A, class B> constexpr std::common_type_t<A, B> min(A a, B b) {
    using T = std::common_type_t<A, B>;
    return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B> constexpr std::common_type_t<A, B> max(A a, B b) {
    using T = std::common_type_t<A, B>;
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}

// Bits.
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clz(int v) { return v ? __builtin_clz(static_cast<unsigned>(v)) : 32; }
inline int __clzll(long long v) { return v ? __builtin_clzll(static_cast<unsigned long long>(v)) : 64; }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline unsigned long long __brevll(unsigned long long v) {
    unsigned long long r = 0;
    for (int i = 0; i < 64; i++) r |= (v >> i & 1) << (63 - i);
    return r;
}
inline unsigned __brev(unsigned v) { return static_cast<unsigned>(__brevll(v) >> 32); }
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) r |= static_cast<unsigned>(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    return r;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(1ull * a * b >> 32); }
inline int __mulhi(int a, int b) { return static_cast<int>(1ll * a * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}

// Numbers of f32 and f64, rounded after each operation.
inline float __uint_as_float(unsigned bits) {
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
inline unsigned __float_as_uint(float v) {
    unsigned bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}
inline double __longlong_as_double(long long bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
inline long long __double_as_longlong(double v) {
    long long bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __ll2double_rn(long long v) { return double(v); }
inline long long __double2ll_rz(double v) { return (long long)v; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }

// Memory. Fibers of one core see each other's writes; a fence is a place to lose the turn.
template <class T> T __ldg(const T* p) { return *p; }
template <class T> T __ldca(const T* p) { return *p; }
template <class T> T __ldcs(const T* p) { return *p; }
template <class T> T __ldcg(const T* p) { return cpu::point(), *p; }
template <class T> T __ldcv(const T* p) { return cpu::point(), *p; }
template <class T> void __stcs(T* p, T v) { *p = v; }
template <class T> void __stcg(T* p, T v) { *p = v; }
template <class T> void __stwb(T* p, T v) { *p = v; }
template <class T> void __stwt(T* p, T v) { *p = v; }
inline void __threadfence() { cpu::point(); }
inline void __threadfence_block() { cpu::point(); }
inline void __threadfence_system() {
    cpu::point();
    // Other GPUs are other processes.
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __nanosleep(unsigned) { cpu::preempt(1000); }
inline long long clock64() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000ll + now.tv_nsec;
}

namespace cpu {

// Atomic by taking turns; the value that was there.
template <class T, class F> T update(T* p, Where where, F change) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 2);
    if (reinterpret_cast<uintptr_t>(p) % sizeof(T)) fail(MISALIGNED_ADDRESS, "atomic on a misaligned address", where);
    point();
    const T old = *p;
    *p = change(old);
    return old;
}

}  // namespace cpu

#define CUDA_ON_CPU_ATOMIC(name, expression)                                                                           \
    template <class T> T name(T* p, std::type_identity_t<T> v, cpu::Where where = cpu::Where::current()) {             \
        return cpu::update(p, where, [v](T old) { return static_cast<T>(expression); });                               \
    }                                                                                                                  \
    template <class T> T name##_block(T* p, std::type_identity_t<T> v) { return name(p, v); }
CUDA_ON_CPU_ATOMIC(atomicAdd, old + v)
CUDA_ON_CPU_ATOMIC(atomicSub, old - v)
CUDA_ON_CPU_ATOMIC(atomicOr, old | v)
CUDA_ON_CPU_ATOMIC(atomicAnd, old & v)
CUDA_ON_CPU_ATOMIC(atomicXor, old ^ v)
CUDA_ON_CPU_ATOMIC(atomicMax, old < v ? v : old)
CUDA_ON_CPU_ATOMIC(atomicMin, v < old ? v : old)
CUDA_ON_CPU_ATOMIC(atomicExch, v)
CUDA_ON_CPU_ATOMIC(atomicInc, old >= v ? 0 : old + 1)
CUDA_ON_CPU_ATOMIC(atomicDec, old == 0 || old > v ? v : old - 1)
template <class T>
T atomicCAS(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> v, cpu::Where where = cpu::Where::current()) {
    return cpu::update(p, where, [=](T old) { return old == expected ? v : old; });
}

// Barriers.
inline void __syncthreads(cpu::Where where = cpu::Where::current()) {
    cpu::barrier("__syncthreads", cpu::COUNT, 0, where);
}
inline int __syncthreads_count(int v, cpu::Where where = cpu::Where::current()) {
    return cpu::barrier("__syncthreads_count", cpu::COUNT, v, where);
}
inline int __syncthreads_and(int v, cpu::Where where = cpu::Where::current()) {
    return cpu::barrier("__syncthreads_and", cpu::AND, v, where);
}
inline int __syncthreads_or(int v, cpu::Where where = cpu::Where::current()) {
    return cpu::barrier("__syncthreads_or", cpu::OR, v, where);
}

// What lanes of a warp do together.
namespace cpu {

template <class T> Word to_word(T v) {
    static_assert(sizeof(T) <= sizeof(Word));
    Word w = 0;
    memcpy(&w, &v, sizeof v);
    return w;
}
template <class T> T from_word(Word w) {
    T v;
    memcpy(&v, &w, sizeof v);
    return v;
}

// `finish(threads of the warp, lanes that take part)` sets the results of all.
template <class F> Word meet(const char* what, unsigned mask, Word value, unsigned argument, Where where, F finish) {
    if (Thread* lanes = arrive(mask, what, value, argument, where)) {
        finish(lanes, mask & living());
        release(mask);
    }
    return self->result;
}

template <class F> void each(unsigned lanes, F f) {
    for (; lanes; lanes &= lanes - 1) f(static_cast<unsigned>(__builtin_ctz(lanes)));
}

// `source(lane, argument, width)` is the lane to read.
template <class T, class F>
T shuffle(const char* what, unsigned mask, T v, unsigned argument, unsigned width, Where where, F source) {
    return from_word<T>(meet(what, mask, to_word(v), argument, where, [=](Thread* threads, unsigned taking_part) {
        each(taking_part, [=](unsigned i) {
            const unsigned from = source(i, threads[i].argument, width);
            // From a lane that takes no part comes anything.
            threads[i].result = taking_part >> from & 1 ? threads[from].value : 0xa5a5a5a5a5a5a5a5;
        });
    }));
}

// One result for all: the values folded.
template <class T, class F> T reduce(const char* what, unsigned mask, T v, Where where, F fold) {
    return from_word<T>(meet(what, mask, to_word(v), 0, where, [=](Thread* threads, unsigned taking_part) {
        T all = from_word<T>(threads[__builtin_ctz(taking_part)].value);
        each(taking_part & (taking_part - 1), [&](unsigned i) { all = fold(all, from_word<T>(threads[i].value)); });
        each(taking_part, [=](unsigned i) { threads[i].result = to_word(all); });
    }));
}

inline unsigned ballot(const char* what, unsigned mask, bool vote, Where where) {
    return reduce(what, mask, vote ? 1u << lane() : 0u, where, [](unsigned a, unsigned b) { return a | b; });
}

inline Word match(const char* what, unsigned mask, Word value, Where where) {
    return meet(what, mask, value, 0, where, [](Thread* threads, unsigned taking_part) {
        each(taking_part, [=](unsigned i) {
            Word same = 0;
            each(taking_part, [&](unsigned j) { same |= Word(threads[i].value == threads[j].value) << j; });
            threads[i].result = same;
        });
    });
}

}  // namespace cpu

inline void __syncwarp(unsigned mask = ~0u, cpu::Where where = cpu::Where::current()) {
    cpu::meet("__syncwarp", mask, 0, 0, where, [](cpu::Thread*, unsigned) {});
}
template <class T>
T __shfl_sync(unsigned mask, T v, int from, int width = 32, cpu::Where where = cpu::Where::current()) {
    return cpu::shuffle("__shfl_sync", mask, v, static_cast<unsigned>(from), static_cast<unsigned>(width), where,
                        [](unsigned i, unsigned from, unsigned width) { return (i & -width) | (from & (width - 1)); });
}
template <class T>
T __shfl_up_sync(unsigned mask, T v, unsigned by, int width = 32, cpu::Where where = cpu::Where::current()) {
    return cpu::shuffle("__shfl_up_sync", mask, v, by, static_cast<unsigned>(width), where,
                        [](unsigned i, unsigned by, unsigned width) { return (i & (width - 1)) >= by ? i - by : i; });
}
template <class T>
T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32, cpu::Where where = cpu::Where::current()) {
    return cpu::shuffle("__shfl_down_sync", mask, v, by, static_cast<unsigned>(width), where,
                        [](unsigned i, unsigned by, unsigned width) { return (i & (width - 1)) + by < width ? i + by : i; });
}
template <class T>
T __shfl_xor_sync(unsigned mask, T v, int with, int width = 32, cpu::Where where = cpu::Where::current()) {
    return cpu::shuffle("__shfl_xor_sync", mask, v, static_cast<unsigned>(with), static_cast<unsigned>(width), where,
                        [](unsigned i, unsigned with, unsigned width) {
                            const unsigned from = i ^ with;
                            return from < (i | (width - 1)) + 1 && from < 32 ? from : i;
                        });
}
inline unsigned __ballot_sync(unsigned mask, int vote, cpu::Where where = cpu::Where::current()) {
    return cpu::ballot("__ballot_sync", mask, vote, where);
}
inline int __any_sync(unsigned mask, int vote, cpu::Where where = cpu::Where::current()) {
    return cpu::ballot("__any_sync", mask, vote, where) != 0;
}
inline int __all_sync(unsigned mask, int vote, cpu::Where where = cpu::Where::current()) {
    return cpu::ballot("__all_sync", mask, !vote, where) == 0;
}
inline unsigned __activemask() { return 1u << cpu::lane(); }
template <class T> unsigned __match_any_sync(unsigned mask, T v, cpu::Where where = cpu::Where::current()) {
    return static_cast<unsigned>(cpu::match("__match_any_sync", mask, cpu::to_word(v), where));
}
template <class T>
unsigned __match_all_sync(unsigned mask, T v, int* same, cpu::Where where = cpu::Where::current()) {
    const unsigned lanes = static_cast<unsigned>(cpu::match("__match_all_sync", mask, cpu::to_word(v), where));
    *same = lanes == (mask & cpu::living());
    return *same ? mask : 0;
}
#define CUDA_ON_CPU_REDUCE(T, name, expression)                                                                        \
    inline T name(unsigned mask, T v, cpu::Where where = cpu::Where::current()) {                                      \
        return cpu::reduce(#name, mask, v, where, [](T a, T b) { return static_cast<T>(expression); });                \
    }
CUDA_ON_CPU_REDUCE(unsigned, __reduce_add_sync, a + b)
CUDA_ON_CPU_REDUCE(unsigned, __reduce_min_sync, min(a, b))
CUDA_ON_CPU_REDUCE(unsigned, __reduce_max_sync, max(a, b))
CUDA_ON_CPU_REDUCE(unsigned, __reduce_and_sync, a & b)
CUDA_ON_CPU_REDUCE(unsigned, __reduce_or_sync, a | b)
CUDA_ON_CPU_REDUCE(unsigned, __reduce_xor_sync, a ^ b)
CUDA_ON_CPU_REDUCE(int, __reduce_add_sync, a + b)
CUDA_ON_CPU_REDUCE(int, __reduce_min_sync, min(a, b))
CUDA_ON_CPU_REDUCE(int, __reduce_max_sync, max(a, b))

// How the registry, which the build script writes, makes a kernel known.
namespace cpu {

// `__launch_bounds__(a, b)`: the first is the most threads of a block.
constexpr unsigned most_threads(unsigned first = MOST_THREADS, ...) {
    return first;
}

struct Registered {
    template <class... A>
    Registered(const char* program, const char* name, unsigned bound, char* shared, char* shared_end, void (*f)(A...)) {
        add({program, name, bound, shared, shared_end, [f](void** given) {
                 return bind(f, given, std::index_sequence_for<A...>());
             }});
    }

    template <class... A, size_t... I>
    static std::function<void()> bind(void (*f)(A...), void** given, std::index_sequence<I...>) {
        auto copies = std::make_shared<std::tuple<A...>>(*static_cast<A*>(given[I])...);
        return [f, copies] { std::apply(f, *copies); };
    }
};

}  // namespace cpu
