// What a stand-in device is: memory with a budget (memory.cpp), streams that run late (streams.cpp), and the functions
// of libcuda.so on top of them (driver.cpp, launch.cpp, about.cpp). One lock guards all of it.
//
// What the environment decides, for each process:
//   CUDA_ON_CPU_SEED=n          the order of threads, blocks and streams; 0, which it is unless said, is the natural one
//   CUDA_ON_CPU_MEMORY=bytes    memory of a device, 1 GiB unless said; CUDA_ON_CPU_TAKEN=bytes of it are others'
//   CUDA_ON_CPU_DEVICES=n       how many devices there are; CUDA_VISIBLE_DEVICES=numbers of those that are seen
//   CUDA_ON_CPU_IPC=1           device memory can be opened by other processes
//   CUDA_ON_CPU_FAIL_ALLOC=k    the k-th allocation, of device or pinned memory, or registration fails
//   CUDA_ON_CPU_FAIL_LAUNCH=k   the k-th launch is a fault, which whoever waits gets, and every call after
//   CUDA_ON_CPU_LOCAL=bytes     the first launch takes so much for local memory, as drivers do, and fails where it is not free;
//                               CUDA_ON_CPU_LOCAL_AT=k: the k-th launch does
//   CUDA_ON_CPU_NVRTC_FAIL=1    nothing compiles (nvrtc.cpp)
#pragma once
#include "fibers.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <set>

namespace device {

// Words of cuda.h; all of them have names in about.cpp.
enum Result {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    ALREADY_REGISTERED = 712,
    NOT_REGISTERED = 713,
    COOPERATIVE_LAUNCH_TOO_LARGE = 720,
    NOT_SUPPORTED = 801,
};

using Address = unsigned long long;
using Held = std::unique_lock<std::mutex>;

// Cooperative launches fill all of them, whether or not there is work for so many threads.
constexpr int MULTIPROCESSORS = 2;

// Memory as the environment sets it.
extern const size_t total_memory, taken_memory;
extern const int device_count;
// Which of all devices one that is seen is.
extern int physical[64];
uint64_t number(const char* variable, uint64_t otherwise);
// Says something about a misuse; the caller returns the error that a GPU would give.
void note(const char* format, ...) __attribute__((format(printf, 1, 2)));

struct Stream;

struct Device {
    int index;
    size_t used;
    int references;
    // The first fault, which every later call answers.
    int error;
    Stream* legacy;
};
extern Device devices[64];

// A point in a stream that others can wait for.
struct Mark {
    bool reached = false;
    double milliseconds = 0;
    Stream* stream;
};

struct Work {
    uint64_t number = 0;
    // 0, or the fault that it ends with.
    std::function<int()> run = {};
    std::shared_ptr<Mark> needs = {}, reaches = {};
    // A function of the host, which runs without the lock.
    bool of_host = false;
};

struct Stream {
    Device* device;
    // Ordered with the legacy stream.
    bool blocking;
    std::deque<Work> queue;
    bool busy = false;
};

struct Event {
    Device* device;
    bool timed;
    std::shared_ptr<Mark> last;
};

extern std::mutex lock;
extern std::set<Stream*> streams;

Stream* new_stream(Device& device, bool blocking);
// Adds work to the end of a stream; it runs when something waits for it.
void enqueue(Stream& stream, Work work);
// These run work, of this stream or any, until the point is reached; `held` is the lock.
void wait_for(Stream& stream, Held& held);
void wait_for(Mark& mark, Held& held);
void wait_for_all(Device& device, Held& held);
// Runs one piece of work, if there is any.
void run_one(Stream& wanted, Held& held);
// Forgets what is queued on a device that failed or went.
void drop_work(Device& device);

// Memory. Sizes are rounded up to 512 bytes, as the driver does, when they are counted.
Address allocate(Device& device, size_t size);
bool free_memory(Device& device, Address address);
// Takes memory that nobody addresses, for as long as the process lives; false where it is not free.
bool take_memory(Device& device, size_t size);
// Memory of one process in another: the name, of 64 bytes, of what is there; what has that name; and no more.
int name_memory(Address address, char* name);
int open_memory(Device& device, const char* name, Address* address);
int close_memory(Address address);
void free_all(Device& device);
// Whether all of it is memory that is allocated on some device.
bool is_device(Address address, size_t size);
// Sets all of it, which is memory of some device.
void fill(Address address, unsigned char byte, size_t size);
// The bytes behind each allocation that belong to nobody; tells, and is false, when someone wrote there.
bool ends_are_whole();

void* allocate_pinned(size_t size);
bool free_pinned(void* address);
int register_host(void* address, size_t size);
bool unregister_host(void* address);
// Page-locked: copies of it are truly asynchronous.
bool is_pinned(const void* address, size_t size);

// CUDA_ON_CPU_FAIL_ALLOC: whether this allocation is the one to fail.
bool fails_by_order();

extern bool initialised;
extern thread_local Device* current;

// Does something in the thread's context: with the lock, and not after a fault, which is the answer from then on.
template <class F> int in_context(F body) {
    Held held(lock);
    if (!initialised) return NOT_INITIALIZED;
    if (!current || !current->references) return INVALID_CONTEXT;
    Device& device = *current;
    if (device.error) return device.error;
    const int result = body(device, held);
    return device.error ? device.error : result;
}

// The same on a stream; 1 and 2 are names for the default stream.
template <class F> int on_stream(Stream* stream, F body) {
    return in_context([&](Device& device, Held& held) -> int {
        if (reinterpret_cast<uintptr_t>(stream) <= 2) stream = device.legacy;
        return streams.contains(stream) ? body(*stream, held) : INVALID_HANDLE;
    });
}

inline int fault(const char* what) {
    note("%s", what);
    return ILLEGAL_ADDRESS;
}

}  // namespace device
