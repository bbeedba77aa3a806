// Device memory and page-locked memory. Every allocation is a mapping of its own that ends at a page nobody may touch,
// so that a kernel that goes past the end stops there; what is freed can't be touched either. New memory is garbage:
// private copies of a file full of it, which costs nothing until written. What is filled with another byte becomes copies of a file of that.
#include "device.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace device {

constexpr size_t PAGE = 4096, FILE_SIZE = 4 << 20, ALIGNMENT = 256;
constexpr unsigned char POISON = 0xa5;
// Freed mappings that are kept, so that their addresses are not used again at once.
constexpr size_t MOST_FREED = 512;

uint64_t number(const char* variable, uint64_t otherwise) {
    const char* text = getenv(variable);
    return text && *text ? strtoull(text, nullptr, 0) : otherwise;
}

void note(const char* format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "cuda_on_cpu: %s\n", text);
}

const size_t total_memory = number("CUDA_ON_CPU_MEMORY", 1 << 30);
const size_t taken_memory = number("CUDA_ON_CPU_TAKEN", 0);

static constexpr size_t up(size_t size, size_t to) {
    return (size + to - 1) / to * to;
}

struct Region {
    size_t size;
    char* map;
    size_t mapped;
    Device* device;
    // Of memory that other processes may open: its file. Of another process's: that it is.
    int file = -1;
    bool is_peer = false;
};
using Regions = std::map<uintptr_t, Region>;
static Regions live, pinned, registered;
static void forget(Regions::iterator entry);

struct Freed {
    char* map;
    size_t mapped;
};
static std::deque<Freed> freed;

static const Regions::value_type* find(const Regions& regions, uintptr_t address) {
    auto next = regions.upper_bound(address);
    if (next == regions.begin()) return nullptr;
    return &*--next;
}

static bool holds(const Regions& regions, uintptr_t address, size_t size) {
    const auto* found = find(regions, address);
    return found && address - found->first <= found->second.size && size <= found->second.size - (address - found->first);
}

bool fails_by_order() {
    static const uint64_t which = number("CUDA_ON_CPU_FAIL_ALLOC", 0);
    static uint64_t count = 0;
    return ++count == which;
}

// The file that has this byte throughout.
static int file_of(unsigned char byte) {
    static std::map<unsigned char, int> files;
    const auto [entry, is_new] = files.try_emplace(byte, -1);
    if (!is_new) return entry->second;
    const int file = memfd_create("filled", MFD_CLOEXEC);
    static unsigned char block[1 << 16];
    memset(block, byte, sizeof block);
    for (size_t at = 0; at < FILE_SIZE; at += sizeof block) {
        if (pwrite(file, block, sizeof block, static_cast<off_t>(at)) != sizeof block) abort();
    }
    return entry->second = file;
}

// Maps `size` bytes, which are whole pages, as private copies of that file.
static bool map_filled(char* to, size_t size, unsigned char byte) {
    for (size_t at = 0; at < size; at += FILE_SIZE) {
        const size_t part = size - at < FILE_SIZE ? size - at : FILE_SIZE;
        void* made = mmap(to + at, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file_of(byte), 0);
        if (made == MAP_FAILED) return false;
    }
    return true;
}

// Addresses for `inside` bytes between two pages that nobody may touch.
static bool reserve(size_t inside, Region& region) {
    region.mapped = inside + 2 * PAGE;
    void* map = mmap(nullptr, region.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return false;
    region.map = static_cast<char*>(map);
    return true;
}

// Garbage of `size` bytes whose end is that of a page; null without memory.
static char* map_garbage(size_t size, Region& region) {
    const size_t inside = up(size, PAGE);
    if (!reserve(inside, region)) return nullptr;
    if (!map_filled(region.map + PAGE, inside, POISON)) {
        munmap(region.map, region.mapped);
        return nullptr;
    }
    return region.map + PAGE + inside - size;
}

// The same as one file, of this process or another's, that both see; null without memory.
static char* map_shared(size_t size, Region& region) {
    const size_t inside = up(size, PAGE);
    if (!reserve(inside, region)) return nullptr;
    void* made = mmap(region.map + PAGE, inside, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, region.file, 0);
    if (made == MAP_FAILED) {
        munmap(region.map, region.mapped);
        return nullptr;
    }
    return region.map + PAGE + inside - size;
}

// What the 64 bytes of a handle hold.
struct Name {
    int64_t process, file;
    uint64_t size;
};

static bool is_shared() {
    static const bool shared = number("CUDA_ON_CPU_IPC", 0);
    return shared;
}

int name_memory(Address address, char* handle) {
    const auto entry = live.find(address);
    if (entry == live.end()) return INVALID_VALUE;
    if (entry->second.file < 0) return NOT_SUPPORTED;
    const Name name = {getpid(), entry->second.file, entry->second.size};
    memset(handle, 0, 64);
    memcpy(handle, &name, sizeof name);
    return SUCCESS;
}

int open_memory(Device& device, const char* handle, Address* address) {
    Name name;
    memcpy(&name, handle, sizeof name);
    // A process can't open its own.
    if (name.process == getpid()) return INVALID_CONTEXT;
    const std::string path = "/proc/" + std::to_string(name.process) + "/fd/" + std::to_string(name.file);
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return INVALID_HANDLE;
    Region region = {name.size, nullptr, 0, &device, file, true};
    char* at = map_shared(up(name.size, ALIGNMENT), region);
    if (!at) return OUT_OF_MEMORY;
    live[reinterpret_cast<uintptr_t>(at)] = region;
    *address = reinterpret_cast<Address>(at);
    return SUCCESS;
}

int close_memory(Address address) {
    const auto entry = live.find(address);
    if (entry == live.end() || !entry->second.is_peer) return INVALID_VALUE;
    forget(entry);
    return SUCCESS;
}

// Takes the memory away and keeps the addresses.
static void unmap(const Region& region) {
    mmap(region.map, region.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    freed.push_back({region.map, region.mapped});
    if (freed.size() > MOST_FREED) {
        munmap(freed.front().map, freed.front().mapped);
        freed.pop_front();
    }
}

bool take_memory(Device& device, size_t size) {
    const size_t counted = up(size, 512);
    if (size > total_memory || device.used + taken_memory + counted > total_memory) return false;
    device.used += counted;
    return true;
}

Address allocate(Device& device, size_t size) {
    const size_t counted = up(size, 512);
    if (size > total_memory || device.used + taken_memory + counted > total_memory) return 0;
    Region region = {size, nullptr, 0, &device};
    char* at = nullptr;
    if (is_shared()) {
        region.file = memfd_create("device", MFD_CLOEXEC);
        const std::string garbage(up(up(size, ALIGNMENT), PAGE), static_cast<char>(POISON));
        if (region.file < 0 || write(region.file, garbage.data(), garbage.size()) != ssize_t(garbage.size())) return 0;
        at = map_shared(up(size, ALIGNMENT), region);
    } else {
        at = map_garbage(up(size, ALIGNMENT), region);
    }
    if (!at) return 0;
    device.used += counted;
    live[reinterpret_cast<uintptr_t>(at)] = region;
    return reinterpret_cast<Address>(at);
}

static bool end_is_whole(const Regions::value_type& entry) {
    const auto* start = reinterpret_cast<const unsigned char*>(entry.first);
    for (size_t at = entry.second.size; at < up(entry.second.size, ALIGNMENT); at++) {
        if (start[at] == POISON) continue;
        note("something wrote %zu bytes past the end of device memory %p of %zu bytes", at - entry.second.size + 1,
             static_cast<const void*>(start), entry.second.size);
        return false;
    }
    return true;
}

bool ends_are_whole() {
    for (const auto& entry : live) {
        if (!end_is_whole(entry)) return false;
    }
    return true;
}

static void forget(Regions::iterator entry) {
    if (!entry->second.is_peer) entry->second.device->used -= up(entry->second.size, 512);
    if (entry->second.file >= 0) close(entry->second.file);
    unmap(entry->second);
    live.erase(entry);
}

bool free_memory(Device& device, Address address) {
    const auto entry = live.find(address);
    if (entry == live.end() || entry->second.device != &device) return false;
    forget(entry);
    return true;
}

void free_all(Device& device) {
    for (auto entry = live.begin(); entry != live.end();) {
        const auto next = std::next(entry);
        if (entry->second.device == &device) forget(entry);
        entry = next;
    }
}

bool is_device(Address address, size_t size) {
    return holds(live, address, size);
}

void fill(Address address, unsigned char byte, size_t size) {
    // Fewer pages are written in less time than mapped.
    constexpr size_t LEAST = 1 << 20;
    auto* const start = reinterpret_cast<char*>(address);
    const size_t before = up(address, PAGE) - address;
    const size_t pages = size > before ? (size - before) / PAGE * PAGE : 0;
    // Pages that other processes see must stay theirs.
    if (pages < LEAST || find(live, address)->second.file >= 0 || !map_filled(start + before, pages, byte)) {
        memset(start, byte, size);
        return;
    }
    memset(start, byte, before);
    memset(start + before + pages, byte, size - before - pages);
}

void* allocate_pinned(size_t size) {
    Region region = {size, nullptr, 0, nullptr};
    char* at = map_garbage(up(size, ALIGNMENT), region);
    if (at) pinned[reinterpret_cast<uintptr_t>(at)] = region;
    return at;
}

bool free_pinned(void* address) {
    const auto entry = pinned.find(reinterpret_cast<uintptr_t>(address));
    if (entry == pinned.end()) return false;
    unmap(entry->second);
    pinned.erase(entry);
    return true;
}

int register_host(void* address, size_t size) {
    const auto start = reinterpret_cast<uintptr_t>(address);
    if (!address || !size) return INVALID_VALUE;
    for (const Regions* regions : {&registered, &pinned}) {
        const auto* before = find(*regions, start + size - 1);
        if (before && before->first + before->second.size > start) return ALREADY_REGISTERED;
    }
    registered[start] = {size, nullptr, 0, nullptr};
    return SUCCESS;
}

bool unregister_host(void* address) {
    return registered.erase(reinterpret_cast<uintptr_t>(address)) == 1;
}

bool is_pinned(const void* address, size_t size) {
    const auto start = reinterpret_cast<uintptr_t>(address);
    return holds(pinned, start, size) || holds(registered, start, size);
}

}  // namespace device

const char* cpu::describe(const void* address) {
    using namespace device;
    static char text[160];
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (const auto* found = find(live, at); found && at < found->first + found->second.size + PAGE + ALIGNMENT) {
        snprintf(text, sizeof text, "it goes past device memory %#zx of %zu bytes, at byte %zu", found->first,
                 found->second.size, at - found->first);
        return text;
    }
    for (const Freed& gone : freed) {
        if (address >= gone.map && address < gone.map + gone.mapped) return "that device memory was freed";
    }
    return "no device memory is there";
}
