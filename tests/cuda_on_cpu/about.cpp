// The functions of libcuda.so that only tell: devices, limits, names of errors; and those that have nothing to do here.
#include "device.h"

#include <cstdio>
#include <cstring>

using namespace device;

struct Name {
    int code;
    const char *name, *text;
};
static const Name NAMES[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {710, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

static const Name* named(int code) {
    for (const Name& name : NAMES) {
        if (name.code == code) return &name;
    }
    return nullptr;
}

// CU_DEVICE_ATTRIBUTE_*, those of an H100 where a program may depend on them; all others are 0.
static int attribute(int which) {
    switch (which) {
        case 1: return cpu::MOST_THREADS;          // MAX_THREADS_PER_BLOCK
        case 2: case 3: return 1024;               // MAX_BLOCK_DIM_X, Y
        case 4: return 64;                         // MAX_BLOCK_DIM_Z
        case 5: return INT32_MAX;                  // MAX_GRID_DIM_X
        case 6: case 7: return 65535;              // MAX_GRID_DIM_Y, Z
        case 8: return cpu::PLAIN_SHARED;          // MAX_SHARED_MEMORY_PER_BLOCK
        case 9: return 65536;                      // TOTAL_CONSTANT_MEMORY
        case 10: return cpu::WARP;                 // WARP_SIZE
        case 12: case 82: return 65536;            // MAX_REGISTERS_PER_BLOCK, _PER_MULTIPROCESSOR
        case 13: return 1'000'000;                 // CLOCK_RATE
        case 16: return MULTIPROCESSORS;           // MULTIPROCESSOR_COUNT
        case 19: case 31: case 41: return 1;       // CAN_MAP_HOST_MEMORY, CONCURRENT_KERNELS, UNIFIED_ADDRESSING
        case 36: return 1'000'000;                 // MEMORY_CLOCK_RATE
        case 37: return 512;                       // GLOBAL_MEMORY_BUS_WIDTH
        case 38: return 4 << 20;                   // L2_CACHE_SIZE
        case 39: return 2048;                      // MAX_THREADS_PER_MULTIPROCESSOR
        case 40: return 2;                         // ASYNC_ENGINE_COUNT
        case 75: return 9;                         // COMPUTE_CAPABILITY_MAJOR
        case 76: return 0;                         // COMPUTE_CAPABILITY_MINOR
        case 81: return 228 << 10;                 // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
        case 97: return cpu::MOST_SHARED;          // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
        case 99: case 113: case 115: return 1;     // HOST_REGISTER, READ_ONLY_HOST_REGISTER, MEMORY_POOLS_SUPPORTED
        case 106: return 32;                       // MAX_BLOCKS_PER_MULTIPROCESSOR
        case 111: return 1024;                     // RESERVED_SHARED_MEMORY_PER_BLOCK
        default: return 0;
    }
}

static bool exists(int index) {
    return index >= 0 && index < device_count;
}

extern "C" {

int cuGetErrorName(int code, const char** text) {
    const Name* name = named(code);
    *text = name ? name->name : nullptr;
    return name ? SUCCESS : INVALID_VALUE;
}
int cuGetErrorString(int code, const char** text) {
    const Name* name = named(code);
    *text = name ? name->text : nullptr;
    return name ? SUCCESS : INVALID_VALUE;
}
int cuDriverGetVersion(int* version) {
    *version = 13000;
    return SUCCESS;
}
int cuDeviceGetCount(int* count) {
    *count = device_count;
    return SUCCESS;
}
int cuDeviceGet(int* device, int index) {
    *device = index;
    return exists(index) ? SUCCESS : INVALID_DEVICE;
}
int cuDeviceGetAttribute(int* value, int which, int index) {
    if (!exists(index)) return INVALID_DEVICE;
    *value = which == 33 ? index + 1 : attribute(which);  // PCI_BUS_ID
    return SUCCESS;
}
int cuDeviceGetName(char* name, int size, int index) {
    snprintf(name, static_cast<size_t>(size), "CUDA on a CPU (stand-in)");
    return exists(index) ? SUCCESS : INVALID_DEVICE;
}
int cuDeviceGetUuid_v2(unsigned char* uuid, int index) {
    memcpy(uuid, "cuda_on_cpu    ", 16);
    if (!exists(index)) return INVALID_DEVICE;
    uuid[15] = static_cast<unsigned char>(physical[index]);
    return SUCCESS;
}
int cuDeviceGetUuid(unsigned char* uuid, int index) {
    return cuDeviceGetUuid_v2(uuid, index);
}
int cuDeviceGetPCIBusId(char* id, int size, int index) {
    snprintf(id, static_cast<size_t>(size), "0000:%02x:00.0", static_cast<unsigned>(index + 1));
    return exists(index) ? SUCCESS : INVALID_DEVICE;
}
int cuDeviceTotalMem_v2(size_t* bytes, int index) {
    *bytes = total_memory;
    return exists(index) ? SUCCESS : INVALID_DEVICE;
}

// Memory pools: there is one, which keeps nothing back.
int cuDeviceGetDefaultMemPool(void** pool, int index) {
    if (!exists(index)) return INVALID_DEVICE;
    *pool = &devices[index];
    return SUCCESS;
}
int cuDeviceGetMemPool(void** pool, int index) {
    return cuDeviceGetDefaultMemPool(pool, index);
}
int cuMemPoolGetAttribute(Device* pool, int which, void* value) {
    std::lock_guard held(lock);
    // Up to 3 they are ints that say how memory may be used again; from 5 on bytes that are used.
    if (which <= 3) *static_cast<int*>(value) = 1;
    else *static_cast<uint64_t*>(value) = which == 4 ? 0 : pool->used;
    return SUCCESS;
}
int cuMemPoolSetAttribute(void*, int, void*) {
    return SUCCESS;
}
int cuMemPoolTrimTo(void*, size_t) {
    return SUCCESS;
}

// Settings that change nothing that can be seen here.
int cuCtxSetFlags(unsigned) {
    return SUCCESS;
}
int cuCtxGetLimit(size_t* value, int) {
    *value = 1024;
    return SUCCESS;
}
int cuCtxSetLimit(int, size_t) {
    return SUCCESS;
}
int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    *least = *greatest = 0;
    return SUCCESS;
}
int cuCtxSetCacheConfig(int) {
    return SUCCESS;
}
int cuFuncSetCacheConfig(void*, int) {
    return SUCCESS;
}
int cuProfilerStart() {
    return SUCCESS;
}
int cuProfilerStop() {
    return SUCCESS;
}

int cuDeviceSetMemPool(int, void*) {
    return SUCCESS;
}
int cuCtxGetCacheConfig(int* config) {
    *config = 0;
    return SUCCESS;
}
int cuStreamIsCapturing(void*, int* status) {
    *status = 0;
    return SUCCESS;
}

// What the stand-in does not have, so that a caller gets an error, not a panic over a symbol.
#define LACKS(name)                                                                                                    \
    int name() {                                                                                                       \
        return NOT_SUPPORTED;                                                                                          \
    }
LACKS(cuCtxCreate_v3)
LACKS(cuCtxCreate_v4)
LACKS(cuCtxDestroy_v2)
LACKS(cuDestroyExternalMemory)
LACKS(cuExternalMemoryGetMappedBuffer)
LACKS(cuGraphDestroy)
LACKS(cuGraphExecDestroy)
LACKS(cuGraphInstantiateWithFlags)
LACKS(cuGraphLaunch)
LACKS(cuGraphUpload)
LACKS(cuImportExternalMemory)
LACKS(cuMemAdvise_v2)
LACKS(cuMemAllocManaged)
LACKS(cuMemPoolCreate)
LACKS(cuMemPoolDestroy)
LACKS(cuMemPrefetchAsync_v2)
LACKS(cuModuleGetGlobal_v2)
LACKS(cuModuleLoad)
LACKS(cuOccupancyMaxActiveClusters)
LACKS(cuOccupancyMaxPotentialClusterSize)
LACKS(cuStreamAttachMemAsync)
LACKS(cuStreamBeginCapture_v2)
LACKS(cuStreamEndCapture)

}  // extern "C"
