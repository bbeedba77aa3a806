// How a kernel runs on a CPU: the part that kernels (cuda_cpu.h) and the driver (driver.cpp) both see.
//
// Every CUDA thread is a fiber with a stack of its own. Fibers take turns on one core: one runs until it waits for
// others (a barrier, a meeting of lanes) or reaches an atomic at which chance takes its turn away. Blocks run one
// after another, so shared memory is an ordinary static of the kernel. Those of a cooperative launch are all there from the
// beginning: one runs until none of its threads can, or yields in a loop that waits for others, or loses its turn by chance;
// then shared memory is exchanged for that of the next. With a seed, threads and blocks run in a
// shuffled order: what is right only in one order comes out wrong.
//
// What this cannot find: races between blocks and between threads that have no barrier, shuffle or atomic
// between them; memory that another block wrote and a cache holds as it was. A loop that waits for a `volatile` and does
// not yield hangs; one that waits for a block which was not launched together with it, or never comes, is an error. Kernels may touch host
// memory that no GPU could. Of a file with several kernels static shared memory is not counted against limits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

namespace cpu {

using Where = std::source_location;
using Word = unsigned long long;

// Words of cuda.h, as far as kernels can cause them.
enum Fault { ILLEGAL_ADDRESS = 700, ASSERT = 710, MISALIGNED_ADDRESS = 716, LAUNCH_FAILED = 719 };

constexpr unsigned WARP = 32, MOST_THREADS = 1024;
constexpr size_t PLAIN_SHARED = 48 << 10, MOST_SHARED = 227 << 10;

struct Fiber;

// One thread of the block that runs, and what it waits for.
struct Thread {
    uint3 index;
    unsigned number;
    Fiber* fiber;
    enum { RUNS, AT_BARRIER, AT_MEETING, ENDED } state;
    bool queued;
    // Its part in a meeting: who meets and in what, what it brings, what it gets.
    unsigned mask;
    const char* what;
    Where where;
    Word value;
    unsigned argument;
    Word result;
};

extern Thread* self;
extern uint3 block_index;
extern dim3 block_size, grid_size;
extern int patience;

enum Join { COUNT, AND, OR };

// Waits for all threads of the block; the sum, and, or of what they bring.
int barrier(const char* what, Join join, int value, Where where);

// Waits until all lanes of `mask` that have not ended are here. The one that comes last gets the warp's threads and
// must fill in their results and release them; the others get null when that is done.
Thread* arrive(unsigned mask, const char* what, Word value, unsigned argument, Where where);
void release(unsigned mask);
// Lanes of this warp that have not ended.
unsigned living();

// Gives the turn to another thread that could run, if there is one. `cost` counts against threads that only spin.
void preempt(int cost);

// Gives the turn to another block, or thread: in loops that wait for others.
void yield(Where where);
// The same in loops that wait for the kernel of another process, which takes as long as it takes.
void yield_to_processes();

// Ends the kernel with an error that stays.
[[noreturn]] void fail(Fault fault, const char* message, Where where);

void* dynamic_shared();

inline unsigned lane() {
    return self->number % WARP;
}

// A place where chance may take the turn away.
inline void point() {
    if (--patience < 0) preempt(0);
}

// A kernel by its name, as the build script found it.
struct Kernel {
    const char* program;
    const char* name;
    unsigned most_threads;
    char *shared, *shared_end;
    // Copies the arguments of a launch.
    std::function<std::function<void()>(void**)> bind;
};

// Called once for each, when the library is loaded.
void add(const Kernel& kernel);

struct Launch {
    const Kernel* kernel;
    dim3 grid, block;
    size_t shared;
    // All blocks are there at the same time.
    bool together;
    std::function<void()> body;
};

// Runs all blocks; 0, or the fault, which was told on standard error.
int run(const Launch& launch);

// Random numbers by CUDA_ON_CPU_SEED; `seed` is 0 for natural order.
extern const uint64_t seed;
unsigned random_below(unsigned end);

// What is known of an address that a kernel may not touch (memory.cpp).
const char* describe(const void* address);

}  // namespace cpu
