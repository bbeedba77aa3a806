// Fibers and the block scheduler: see fibers.h.
#include "fibers.h"
#include "switch.h"

#include <algorithm>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace cpu {

constexpr size_t PAGE = 4096, STACK = 64 << 10;
// So many atomics without a thread that ends or meets others: they spin for ever.
constexpr long MOST_SPINS = 4'000'000'000;
// A turn that a block gives away counts as so many.
constexpr long YIELD_COST = 200'000;
// Microseconds before a thread looks again for what another process is to write.
constexpr unsigned WAIT_FOR_PROCESSES = 20;

static uint64_t number_from(const char* name) {
    const char* text = getenv(name);
    return text ? strtoull(text, nullptr, 0) : 0;
}

const uint64_t seed = number_from("CUDA_ON_CPU_SEED");
static uint64_t dice = seed;

unsigned random_below(unsigned end) {
    // SplitMix64.
    uint64_t z = dice += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    z ^= z >> 31;
    return static_cast<unsigned>((z >> 32) * end >> 32);
}

Thread* self;
uint3 block_index;
dim3 block_size, grid_size;
int patience;

// A block: its threads and what they wait for.
struct Block {
    uint3 index;
    Thread threads[MOST_THREADS];
    struct {
        unsigned live, waiting;
    } warps[MOST_THREADS / WARP];
    unsigned alive;
    unsigned order[MOST_THREADS];
    // The barrier that fills.
    struct {
        unsigned arrived;
        const char* what;
        Where where;
        int sum, result;
    } gate;
    // Threads that can run, first come first served.
    Thread* ready[MOST_THREADS];
    unsigned ready_begin, ready_count;
    // What its shared memory held when another block took its place.
    std::vector<char> shared;
};

static const Launch* job;
static unsigned count;
static long spins;
// The block that runs, and all that are there at the same time: one, or those of a cooperative launch.
static Block* block;
static std::vector<std::unique_ptr<Block>> present;

static Fiber host;
static std::vector<Fiber> fibers;
static std::vector<Fiber*> idle;
static char *stacks, *shared_guard;
static size_t shared_size;

static bool running;
static pthread_t runner;
static int fault;

// Makes a thread of the block that runs ready.
static void queue(Thread& thread) {
    if (thread.queued) return;
    thread.queued = true;
    block->ready[(block->ready_begin + block->ready_count++) % MOST_THREADS] = &thread;
}

__attribute__((format(printf, 2, 3))) static void tell(Fault code, const char* format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "cuda_on_cpu: kernel %s, block (%u, %u, %u): %s\n", job->kernel->name, block_index.x, block_index.y,
            block_index.z, text);
    fault = code;
}

// Leaves all fibers where they are; their stacks are begun anew before the next kernel.
[[noreturn]] static void abandon() {
    Fiber left;
    left.change_to(host);
    __builtin_unreachable();
}

void fail(Fault code, const char* message, Where where) {
    const uint3 t = self->index;
    tell(code, "thread (%u, %u, %u) at %s:%u: %s", t.x, t.y, t.z, where.file_name(), where.line(), message);
    abandon();
}

// Nobody can run and some have not ended: it is told of one block.
[[noreturn]] static void stuck() {
    for (auto& other : present) {
        if (!block->alive) block = other.get(), block_index = block->index;
    }
    unsigned at_barrier = 0;
    const Thread *first = nullptr, *lane = nullptr;
    for (unsigned i = 0; i < count; i++) {
        const Thread& t = block->threads[i];
        if (t.state == Thread::AT_BARRIER) at_barrier++, first = first ? first : &t;
        if (t.state == Thread::AT_MEETING && !lane) lane = &t;
    }
    char gate_text[160] = "", lane_text[160] = "";
    if (first) snprintf(gate_text, 160, "; %u wait in %s at line %u", at_barrier, first->what, first->where.line());
    if (lane) {
        snprintf(lane_text, 160, "; %u wait for lanes, as thread %u in %s(0x%08x) at line %u", block->alive - at_barrier,
                 lane->number, lane->what, lane->mask, lane->where.line());
    }
    tell(LAUNCH_FAILED, "deadlock of %u threads%s%s", block->alive, gate_text, lane_text);
    abandon();
}

// What shared memory holds at first is nobody's business, so it is garbage.
static void spoil_shared() {
    const int garbage = seed ? static_cast<int>(random_below(256)) : 0xa5;
    memset(dynamic_shared(), garbage, static_cast<size_t>(shared_guard - static_cast<char*>(dynamic_shared())));
    const Kernel& kernel = *job->kernel;
    memset(kernel.shared, garbage, static_cast<size_t>(kernel.shared_end - kernel.shared));
}

// Exchanges shared memory, of which there is one, for that of another block.
static void change_to(Block& other) {
    const Kernel& kernel = *job->kernel;
    const auto fixed = static_cast<size_t>(kernel.shared_end - kernel.shared);
    const auto dynamic = static_cast<size_t>(shared_guard - static_cast<char*>(dynamic_shared()));
    if (block && block->alive) {
        block->shared.resize(fixed + dynamic);
        memcpy(block->shared.data(), kernel.shared, fixed);
        memcpy(block->shared.data() + fixed, dynamic_shared(), dynamic);
    }
    block = &other, block_index = other.index;
    if (other.shared.empty()) return spoil_shared();
    memcpy(kernel.shared, other.shared.data(), fixed);
    memcpy(dynamic_shared(), other.shared.data() + fixed, dynamic);
}

// Goes on with another block, if one can run.
static bool change_block() {
    const auto blocks = static_cast<unsigned>(present.size());
    if (blocks < 2) return false;
    static unsigned turn;
    if (seed) turn = random_below(blocks);
    for (unsigned i = 0; i < blocks; i++) {
        Block& other = *present[++turn % blocks];
        if (&other != block && other.ready_count) return change_to(other), true;
    }
    return false;
}

static Thread& take() {
    if (!block->ready_count && !change_block()) stuck();
    Thread& next = *block->ready[block->ready_begin];
    block->ready_begin = (block->ready_begin + 1) % MOST_THREADS, block->ready_count--;
    next.queued = false;
#ifdef __x86_64__
    // Its stack is in no near cache, nor is that of the thread after it, which is fetched while this one runs.
    const Thread& after = *block->ready[block->ready_begin];
    if (block->ready_count && after.fiber) {
        const char* stack = static_cast<const char*>(after.fiber->pointer);
        for (int line = 0; line < 4; line++) __builtin_prefetch(stack + 64 * line, 1);
    }
#endif
    return next;
}

// Runs another thread until someone queues this one again.
static void wait() {
    Thread &me = *self, &next = take();
    if (&me == &next) return;
    self = &next;
    if (!next.fiber) next.fiber = idle.back(), idle.pop_back();
    me.fiber->change_to(*next.fiber);
}

void preempt(int cost) {
    patience = seed ? static_cast<int>(random_below(16)) : 4096;
    spins += patience + 1 + cost;
    if (spins > MOST_SPINS) fail(LAUNCH_FAILED, "threads spin for ever", Where::current());
    const bool leaves = present.size() > 1 && seed && random_below(64) == 0;
    if (!block->ready_count && !leaves) return;
    queue(*self);
    if (leaves) change_block();
    wait();
}

void yield(Where where) {
    spins += YIELD_COST;
    if (spins > MOST_SPINS) fail(LAUNCH_FAILED, "a block waits for others for ever", where);
    queue(*self);
    change_block();
    wait();
}

void yield_to_processes() {
    spins = 0;
    usleep(WAIT_FOR_PROCESSES);
    queue(*self);
    change_block();
    wait();
}

static void open_gate() {
    block->gate.result = block->gate.sum;
    block->gate.arrived = 0;
    spins = 0;
    // Another one first, and in the other direction, than at the last barrier.
    const unsigned from = seed ? random_below(count) : 0, back = seed ? random_below(2) : 0;
    for (unsigned i = 0; i < count; i++) {
        const unsigned at = from + (back ? count - i : i);
        Thread& t = block->threads[block->order[at >= count ? at - count : at]];
        if (t.state == Thread::AT_BARRIER) t.state = Thread::RUNS, queue(t);
    }
}

int barrier(const char* what, Join join, int value, Where where) {
    if (!block->gate.arrived) {
        block->gate.what = what, block->gate.where = where, block->gate.sum = join == AND;
    } else if (block->gate.what != what || block->gate.where.line() != where.line() || block->gate.where.column() != where.column()) {
        char text[200];
        snprintf(text, sizeof text, "divergent barrier: it reaches %s, others wait in %s at line %u", what, block->gate.what,
                 block->gate.where.line());
        fail(LAUNCH_FAILED, text, where);
    }
    switch (join) {
        case COUNT: block->gate.sum += value != 0; break;
        case AND: block->gate.sum &= value != 0; break;
        case OR: block->gate.sum |= value != 0; break;
    }
    Thread& me = *self;
    me.state = Thread::AT_BARRIER, me.what = what, me.where = where;
    if (++block->gate.arrived == block->alive) open_gate();
    wait();
    return block->gate.result;
}

unsigned living() {
    return block->warps[self->number / WARP].live;
}

// Whether all that `one` waits for are there. It is the last who asks, so that there is no second answer.
static bool complete(const Thread& one) {
    const auto& warp = block->warps[one.number / WARP];
    if (one.mask & warp.live & ~warp.waiting) return false;
    const Thread* lanes = block->threads + one.number / WARP * WARP;
    for (unsigned rest = one.mask & warp.live; rest; rest &= rest - 1) {
        const Thread& other = lanes[__builtin_ctz(rest)];
        if (other.mask != one.mask || other.what != one.what) return false;
    }
    return true;
}

Thread* arrive(unsigned mask, const char* what, Word value, unsigned argument, Where where) {
    Thread& me = *self;
    auto& warp = block->warps[me.number / WARP];
    if (!(mask >> lane() & 1)) fail(LAUNCH_FAILED, "a lane calls a _sync function whose mask leaves it out", where);
    me.mask = mask, me.what = what, me.where = where, me.value = value, me.argument = argument;
    me.state = Thread::AT_MEETING;
    warp.waiting |= 1u << lane();
    while (!complete(me)) {
        wait();
        if (me.state == Thread::RUNS) return nullptr;
    }
    return block->threads + me.number / WARP * WARP;
}

void release(unsigned mask) {
    auto& warp = block->warps[self->number / WARP];
    Thread* lanes = block->threads + self->number / WARP * WARP;
    spins = 0;
    warp.waiting &= ~mask;
    for (unsigned rest = mask & warp.live; rest; rest &= rest - 1) {
        Thread& t = lanes[__builtin_ctz(rest)];
        t.state = Thread::RUNS;
        if (&t != self) queue(t);
    }
    if (seed && random_below(2)) preempt(0);
}

// A thread has returned from the kernel; on return another one has this fiber.
static void end_thread() {
    Thread& me = *self;
    Fiber* mine = me.fiber;
    me.state = Thread::ENDED, me.fiber = nullptr;
    block->alive--, spins = 0;
    auto& warp = block->warps[me.number / WARP];
    warp.live &= ~(1u << lane());
    // Those who waited for it may go on: one of them is woken to find that out.
    for (unsigned rest = warp.waiting; rest; rest &= rest - 1) {
        Thread& t = block->threads[me.number / WARP * WARP + static_cast<unsigned>(__builtin_ctz(rest))];
        if (complete(t)) {
            queue(t);
            break;
        }
    }
    if (block->alive && block->gate.arrived == block->alive) open_gate();
    if (!block->alive && !change_block()) {
        for (auto& other : present) {
            if (other->alive) stuck();
        }
        idle.push_back(mine);
        mine->change_to(host);
        return;
    }
    Thread& next = take();
    self = &next;
    if (!next.fiber) {
        // A thread that has not begun goes on with this stack: threads that never wait all share one.
        next.fiber = mine;
        return;
    }
    idle.push_back(mine);
    mine->change_to(*next.fiber);
}

static void fiber_entry() {
    for (;;) {
        job->body();
        end_thread();
    }
}

void* dynamic_shared() {
    return shared_guard - (shared_size + 15) / 16 * 16;
}

// A signal that stopped the kernel, to be told where there is more stack than a handler has.
static struct {
    int number;
    const char* address;
} trap;

static void tell_trap() {
    const char* at = trap.address;
    const bool in_stack = at >= stacks && at < stacks + fibers.size() * (STACK + PAGE);
    const bool in_shared = at >= shared_guard && at < shared_guard + PAGE;
    const char* what = trap.number == SIGFPE ? "division by zero"
                       : in_stack            ? "its stack is full"
                       : in_shared           ? "it goes past its dynamic shared memory"
                                             : describe(at);
    tell(ILLEGAL_ADDRESS, "thread (%u, %u, %u), address %p: %s", self->index.x, self->index.y, self->index.z,
         static_cast<const void*>(at), what);
    trap.number = 0;
}

static struct sigaction former[NSIG];

// A bad access of a kernel becomes an error of the device; all others are left to whoever handled them before.
static void on_signal(int number, siginfo_t* info, void* context) {
    if (running && pthread_equal(pthread_self(), runner)) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, number);
        pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
        trap = {number, static_cast<const char*>(info->si_addr)};
        abandon();
    }
    if (former[number].sa_flags & SA_SIGINFO) {
        former[number].sa_sigaction(number, info, context);
    } else {
        // The default: with it in place again, the instruction fails once more.
        sigaction(number, &former[number], nullptr);
    }
}

static void begin_fibers() {
    idle.clear();
    for (size_t i = fibers.size(); i-- > 0;) {
        // Tops at different cache sets, or a thousand stacks would share a few lines of the cache.
        const size_t colour = (i + i / 16) % 32 * 128;
        fibers[i].begin(stacks + i * (STACK + PAGE) + PAGE, STACK - colour, fiber_entry);
        idle.push_back(&fibers[i]);
    }
}

static char* map(size_t size) {
    void* made = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) {
        fprintf(stderr, "cuda_on_cpu: no memory for stacks\n");
        abort();
    }
    return static_cast<char*>(made);
}

// Makes stacks for as many threads as are there at the same time.
static void make_fibers(size_t threads) {
    if (stacks) munmap(stacks, fibers.size() * (STACK + PAGE));
    stacks = map(threads * (STACK + PAGE));
    for (size_t i = 0; i < threads; i++) mprotect(stacks + i * (STACK + PAGE), PAGE, PROT_NONE);
    fibers.resize(threads);
    begin_fibers();
}

static void prepare() {
    const size_t shared = (MOST_SHARED + PAGE - 1) / PAGE * PAGE;
    shared_guard = map(shared + PAGE) + shared;
    mprotect(shared_guard, PAGE, PROT_NONE);
    for (int number : {SIGSEGV, SIGBUS, SIGFPE}) {
        struct sigaction action = {};
        action.sa_sigaction = on_signal;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigaction(number, &action, &former[number]);
    }
}

// Makes the threads of a block, all of them ready.
static void begin_block(Block& made, uint64_t number) {
    block = &made;
    const uint64_t row = number / grid_size.x;
    block->index = {unsigned(number % grid_size.x), unsigned(row % grid_size.y), unsigned(row / grid_size.y)};
    block->shared.clear();
    block->alive = count;
    block->gate.arrived = 0;
    block->ready_begin = block->ready_count = 0;
    unsigned* order = block->order;
    for (unsigned i = 0; i < count; i++) {
        order[i] = i;
        if (seed) {
            const unsigned other = random_below(i + 1);
            order[i] = order[other], order[other] = i;
        }
        Thread& t = block->threads[i];
        t.index = {i % block_size.x, i / block_size.x % block_size.y, i / (block_size.x * block_size.y)};
        t.number = i, t.fiber = nullptr, t.state = Thread::RUNS, t.queued = false;
        if (i % WARP == 0) block->warps[i / WARP] = {count - i >= WARP ? ~0u : (1u << (count - i)) - 1, 0};
    }
    for (unsigned i = 0; i < count; i++) queue(block->threads[order[i]]);
}

// Runs all blocks that are present to their end.
static void run_blocks() {
    Block& first = *present.front();
    block = nullptr;
    change_to(first);
    spins = 0;
    patience = seed ? 0 : 4096;
    self = &take();
    self->fiber = idle.back(), idle.pop_back();
    host.change_to(*self->fiber);
    if (trap.number) tell_trap();
}

int run(const Launch& launch) {
    if (!shared_guard) prepare();
    job = &launch;
    grid_size = launch.grid, block_size = launch.block, shared_size = launch.shared;
    count = block_size.x * block_size.y * block_size.z;
    fault = 0;
    runner = pthread_self();
    running = true;
    const uint64_t blocks = uint64_t(grid_size.x) * grid_size.y * grid_size.z;
    const uint64_t at_once = launch.together ? blocks : 1;
    while (present.size() < at_once) present.push_back(std::make_unique<Block>());
    present.resize(at_once);
    if (fibers.size() < at_once * count) make_fibers(std::max<size_t>(at_once * count, MOST_THREADS));
    // A shuffle that takes no memory: steps of a size without common divisor, from anywhere.
    uint64_t step = 1, at = 0;
    if (seed && blocks > 1) {
        const unsigned end = blocks < UINT32_MAX ? static_cast<unsigned>(blocks) : UINT32_MAX;
        at = random_below(end);
        const auto common = [](uint64_t a, uint64_t b) {
            while (b) a %= b, std::swap(a, b);
            return a;
        };
        do {
            step = 1 + random_below(end - 1);
        } while (common(step, blocks) != 1);
    }
    for (uint64_t i = 0; i < blocks && !fault; i++, at = (at + step) % blocks) {
        begin_block(*present[i % at_once], at);
        if (i % at_once == at_once - 1) run_blocks();
    }
    running = false;
    if (fault) begin_fibers();
    return fault;
}

}  // namespace cpu
