// The functions of libcuda.so that do something: contexts, memory, copies, streams, events.
// Signatures are those of cuda.h, with handles as plain pointers.
#include "device.h"

#include <cstdlib>
#include <cstring>
#include <vector>

using namespace device;

Device device::devices[64];

int device::physical[64];

// Of CUDA_VISIBLE_DEVICES numbers alone are read.
static int visible(int all) {
    const char* list = getenv("CUDA_VISIBLE_DEVICES");
    for (int i = 0; i < 64; i++) device::physical[i] = i;
    if (!list) return all;
    int count = 0;
    for (char* end; *list; list = *end == ',' ? end + 1 : end) {
        long index = strtol(list, &end, 10);
        if (end == list || index < 0 || index >= all) break;
        device::physical[count++] = static_cast<int>(index);
    }
    return count;
}

const int device::device_count = visible(static_cast<int>(number("CUDA_ON_CPU_DEVICES", 1)));

bool device::initialised;
thread_local Device* device::current;

extern "C" {

int cuInit(unsigned) {
    Held held(lock);
    initialised = device_count > 0;
    for (int i = 0; i < device_count; i++) devices[i].index = i;
    return initialised ? SUCCESS : 100;
}

// Contexts.
int cuDevicePrimaryCtxRetain(Device** context, int index) {
    Held held(lock);
    if (!initialised) return NOT_INITIALIZED;
    if (index < 0 || index >= device_count) return INVALID_DEVICE;
    Device& device = devices[index];
    if (!device.references++) device.legacy = new_stream(device, true);
    *context = &device;
    return SUCCESS;
}
int cuDevicePrimaryCtxRelease_v2(int index) {
    Held held(lock);
    if (index < 0 || index >= device_count) return INVALID_DEVICE;
    Device& device = devices[index];
    if (!device.references) return INVALID_CONTEXT;
    if (--device.references) return SUCCESS;
    drop_work(device);
    free_all(device);
    std::erase_if(streams, [&](Stream* stream) { return stream->device == &device; });
    device.error = 0;
    return SUCCESS;
}
int cuCtxSetCurrent(Device* context) {
    current = context;
    return SUCCESS;
}
int cuCtxGetCurrent(Device** context) {
    *context = current;
    return SUCCESS;
}
int cuCtxGetDevice(int* index) {
    return in_context([&](Device& device, Held&) { return *index = device.index, SUCCESS; });
}
int cuCtxSynchronize() {
    return in_context([](Device& device, Held& held) { return wait_for_all(device, held), SUCCESS; });
}

// Memory.
int cuMemAlloc_v2(Address* address, size_t size) {
    return in_context([&](Device& device, Held& held) {
        if (!size) return INVALID_VALUE;
        if (fails_by_order()) return OUT_OF_MEMORY;
        *address = allocate(device, size);
        if (!*address) {
            // What is still queued may free some.
            wait_for_all(device, held);
            *address = allocate(device, size);
        }
        return *address ? SUCCESS : OUT_OF_MEMORY;
    });
}
int cuMemAllocAsync(Address* address, size_t size, Stream*) {
    return cuMemAlloc_v2(address, size);
}
int cuMemAllocFromPoolAsync(Address* address, size_t size, void*, Stream*) {
    return cuMemAlloc_v2(address, size);
}
int cuMemFree_v2(Address address) {
    return in_context([&](Device& device, Held& held) {
        if (!address) return SUCCESS;
        wait_for_all(device, held);
        return free_memory(device, address) ? SUCCESS : INVALID_VALUE;
    });
}
struct Name {
    char bytes[64];
};
int cuIpcGetMemHandle(Name* name, Address address) {
    return in_context([&](Device&, Held&) { return name_memory(address, name->bytes); });
}
int cuIpcOpenMemHandle_v2(Address* address, Name name, unsigned) {
    return in_context([&](Device& device, Held&) { return open_memory(device, name.bytes, address); });
}
int cuIpcCloseMemHandle(Address address) {
    return in_context([&](Device& device, Held& held) {
        wait_for_all(device, held);
        return close_memory(address);
    });
}
int cuMemFreeAsync(Address address, Stream* stream) {
    return on_stream(stream, [&](Stream& stream, Held&) {
        if (!address) return SUCCESS;
        if (!is_device(address, 0)) return INVALID_VALUE;
        Device& device = *stream.device;
        enqueue(stream, {.run = [&device, address] {
            return free_memory(device, address) ? 0 : fault("device memory was freed twice");
        }});
        return SUCCESS;
    });
}
int cuMemGetInfo_v2(size_t* free, size_t* total) {
    return in_context([&](Device& device, Held&) {
        *total = total_memory;
        const size_t gone = device.used + taken_memory;
        *free = gone < total_memory ? total_memory - gone : 0;
        return SUCCESS;
    });
}
int cuMemHostAlloc(void** address, size_t size, unsigned) {
    return in_context([&](Device&, Held&) {
        if (!size) return INVALID_VALUE;
        *address = fails_by_order() ? nullptr : allocate_pinned(size);
        return *address ? SUCCESS : OUT_OF_MEMORY;
    });
}
int cuMemFreeHost(void* address) {
    return in_context([&](Device&, Held&) { return free_pinned(address) ? SUCCESS : INVALID_VALUE; });
}
int cuMemHostRegister_v2(void* address, size_t size, unsigned) {
    return in_context([&](Device&, Held&) -> int {
        return fails_by_order() ? OUT_OF_MEMORY : register_host(address, size);
    });
}
int cuMemHostUnregister(void* address) {
    return in_context([&](Device&, Held&) { return unregister_host(address) ? SUCCESS : NOT_REGISTERED; });
}
int cuMemHostGetDevicePointer_v2(Address* address, void* host, unsigned) {
    return in_context([&](Device&, Held&) {
        *address = reinterpret_cast<Address>(host);
        return is_pinned(host, 0) ? SUCCESS : INVALID_VALUE;
    });
}

// Copies. Page-locked memory is read and written when the work runs. Other host memory is done with when the call
// returns, as CUDA promises: it is read at once, or the call waits.
int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t size, Stream* stream) {
    return on_stream(stream, [&](Stream& stream, Held&) {
        if (!size) return SUCCESS;
        if (!is_device(to, size)) return INVALID_VALUE;
        std::shared_ptr<std::vector<char>> copy;
        if (!is_pinned(from, size)) {
            const char* bytes = static_cast<const char*>(from);
            copy = std::make_shared<std::vector<char>>(bytes, bytes + size);
        }
        enqueue(stream, {.run = [=] {
            if (!is_device(to, size)) return fault("a copy writes to device memory that was freed");
            if (!copy && !is_pinned(from, size)) return fault("a copy reads page-locked memory that was freed");
            memcpy(reinterpret_cast<void*>(to), copy ? copy->data() : from, size);
            return 0;
        }});
        return SUCCESS;
    });
}
int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t size, Stream* stream) {
    return on_stream(stream, [&](Stream& stream, Held& held) {
        if (!size) return SUCCESS;
        if (!is_device(from, size)) return INVALID_VALUE;
        const bool locked = is_pinned(to, size);
        enqueue(stream, {.run = [=] {
            if (!is_device(from, size)) return fault("a copy reads device memory that was freed");
            if (locked && !is_pinned(to, size)) return fault("a copy writes to page-locked memory that was freed");
            memcpy(to, reinterpret_cast<const void*>(from), size);
            return 0;
        }});
        if (!locked) wait_for(stream, held);
        return SUCCESS;
    });
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t size, Stream* stream) {
    return on_stream(stream, [&](Stream& stream, Held&) {
        if (!size) return SUCCESS;
        if (!is_device(to, size) || !is_device(from, size)) return INVALID_VALUE;
        enqueue(stream, {.run = [=] {
            if (!is_device(to, size) || !is_device(from, size)) return fault("a copy touches memory that was freed");
            memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), size);
            return 0;
        }});
        return SUCCESS;
    });
}
int cuMemcpyPeerAsync(Address to, Device*, Address from, Device*, size_t size, Stream* stream) {
    return cuMemcpyDtoDAsync_v2(to, from, size, stream);
}
int cuStreamSynchronize(Stream* stream) {
    return on_stream(stream, [](Stream& stream, Held& held) { return wait_for(stream, held), SUCCESS; });
}
// Without a stream, copies are those of the default stream, waited for. Other streams of the non-blocking kind go on.
int cuMemcpyHtoD_v2(Address to, const void* from, size_t size) {
    const int result = cuMemcpyHtoDAsync_v2(to, from, size, nullptr);
    return result ? result : cuStreamSynchronize(nullptr);
}
int cuMemcpyDtoH_v2(void* to, Address from, size_t size) {
    const int result = cuMemcpyDtoHAsync_v2(to, from, size, nullptr);
    return result ? result : cuStreamSynchronize(nullptr);
}
int cuMemcpyDtoD_v2(Address to, Address from, size_t size) {
    return cuMemcpyDtoDAsync_v2(to, from, size, nullptr);
}

}  // extern "C"

template <class T> static int set_memory(Address to, T value, size_t count, Stream* stream) {
    return on_stream(stream, [&](Stream& stream, Held&) {
        if (!count) return SUCCESS;
        if (to % sizeof(T) || count > total_memory || !is_device(to, count * sizeof(T))) return INVALID_VALUE;
        enqueue(stream, {.run = [=] {
            if (!is_device(to, count * sizeof(T))) return fault("memory that was freed is set");
            if constexpr (sizeof(T) == 1) fill(to, value, count);
            else std::fill_n(reinterpret_cast<T*>(to), count, value);
            return 0;
        }});
        return SUCCESS;
    });
}

extern "C" {

int cuMemsetD8Async(Address to, unsigned char value, size_t count, Stream* stream) {
    return set_memory(to, value, count, stream);
}
int cuMemsetD8_v2(Address to, unsigned char value, size_t count) {
    return set_memory(to, value, count, nullptr);
}
int cuMemsetD32Async(Address to, unsigned value, size_t count, Stream* stream) {
    return set_memory(to, value, count, stream);
}
int cuMemsetD32_v2(Address to, unsigned value, size_t count) {
    return set_memory(to, value, count, nullptr);
}

// Streams and events.
int cuStreamCreateWithPriority(Stream** stream, unsigned flags, int) {
    return in_context([&](Device& device, Held&) { return *stream = new_stream(device, !(flags & 1)), SUCCESS; });
}
int cuStreamCreate(Stream** stream, unsigned flags) {
    return cuStreamCreateWithPriority(stream, flags, 0);
}
int cuStreamDestroy_v2(Stream* stream) {
    return on_stream(stream, [](Stream& stream, Held& held) {
        if (&stream == stream.device->legacy) return INVALID_HANDLE;
        wait_for(stream, held);
        streams.erase(&stream);
        delete &stream;
        return SUCCESS;
    });
}
int cuStreamQuery(Stream* stream) {
    return on_stream(stream, [](Stream& stream, Held& held) {
        run_one(stream, held);
        return stream.queue.empty() ? SUCCESS : NOT_READY;
    });
}
int cuLaunchHostFunc(Stream* stream, void (*function)(void*), void* data) {
    return on_stream(stream, [&](Stream& stream, Held&) {
        enqueue(stream, {.run = [=] { return function(data), 0; }, .of_host = true});
        return SUCCESS;
    });
}
int cuEventCreate(Event** event, unsigned flags) {
    return in_context([&](Device& device, Held&) { return *event = new Event{&device, !(flags & 2), {}}, SUCCESS; });
}
int cuEventDestroy_v2(Event* event) {
    Held held(lock);
    delete event;
    return SUCCESS;
}
int cuEventRecord(Event* event, Stream* stream) {
    return on_stream(stream, [&](Stream& stream, Held&) {
        if (stream.device != event->device) return INVALID_HANDLE;
        event->last = std::make_shared<Mark>();
        enqueue(stream, {.reaches = event->last});
        return SUCCESS;
    });
}
int cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
    return on_stream(stream, [&](Stream& stream, Held&) {
        if (event->last && !event->last->reached) enqueue(stream, {.needs = event->last});
        return SUCCESS;
    });
}
int cuEventSynchronize(Event* event) {
    return in_context([&](Device&, Held& held) {
        if (const auto last = event->last) wait_for(*last, held);
        return event->device->error ? static_cast<Result>(event->device->error) : SUCCESS;
    });
}
int cuEventQuery(Event* event) {
    return in_context([&](Device&, Held& held) {
        const auto last = event->last;
        if (last && !last->reached) run_one(*last->stream, held);
        return !last || last->reached ? SUCCESS : NOT_READY;
    });
}
int cuEventElapsedTime_v2(float* milliseconds, Event* from, Event* to) {
    return in_context([&](Device&, Held&) {
        if (!from->timed || !to->timed || !from->last || !to->last) return INVALID_HANDLE;
        if (!from->last->reached || !to->last->reached) return NOT_READY;
        *milliseconds = static_cast<float>(to->last->milliseconds - from->last->milliseconds);
        return SUCCESS;
    });
}
int cuEventElapsedTime(float* milliseconds, Event* from, Event* to) {
    return cuEventElapsedTime_v2(milliseconds, from, to);
}

}  // extern "C"
