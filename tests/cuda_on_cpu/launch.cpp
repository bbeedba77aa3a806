// The functions of libcuda.so for modules and launches. All kernels are in this library already: an image is the name of
// the .cu file they came from, as nvrtc.cpp writes it.
#include "device.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

using namespace device;

static const char MAGIC[] = "CUDA_ON_CPU image\n";

struct Function {
    const cpu::Kernel* kernel;
    size_t shared;
    size_t most_dynamic;
};
using Module = std::map<std::string, Function>;

static std::vector<cpu::Kernel>& kernels() {
    static std::vector<cpu::Kernel> all;
    return all;
}

static bool alone(const cpu::Kernel& kernel) {
    const auto same = [&](const cpu::Kernel& other) { return !strcmp(other.program, kernel.program); };
    return std::count_if(kernels().begin(), kernels().end(), same) == 1;
}

// Blocks of a kernel that a multiprocessor has room for.
static int blocks_of(const Function& function, int threads, size_t dynamic) {
    const bool possible = static_cast<unsigned>(threads) <= function.kernel->most_threads && dynamic <= function.most_dynamic;
    const size_t by_shared = (228 << 10) / (function.shared + dynamic + 1024);
    return possible ? std::min({2048 / threads, 32, static_cast<int>(by_shared)}) : 0;
}

void cpu::add(const Kernel& kernel) {
    kernels().push_back(kernel);
}

extern "C" {

int cuModuleLoadData(Module** module, const void* image) {
    return in_context([&](Device&, Held&) {
        const char* text = static_cast<const char*>(image);
        if (strncmp(text, MAGIC, strlen(MAGIC)) != 0) return INVALID_IMAGE;
        text += strlen(MAGIC);
        const std::string program(text, strcspn(text, "\n"));
        Module found;
        for (const cpu::Kernel& kernel : kernels()) {
            if (kernel.program != program) continue;
            // Of a file with several kernels nobody knows which has what static shared memory: none is counted.
            const size_t shared = alone(kernel) ? static_cast<size_t>(kernel.shared_end - kernel.shared) : 0;
            found[kernel.name] = {&kernel, shared, shared < cpu::PLAIN_SHARED ? cpu::PLAIN_SHARED - shared : 0};
        }
        if (found.empty()) {
            note("the library was built without kernels of %s", program.c_str());
            return INVALID_IMAGE;
        }
        *module = new Module(std::move(found));
        return SUCCESS;
    });
}
int cuModuleLoadDataEx(Module** module, const void* image, unsigned, void*, void*) {
    return cuModuleLoadData(module, image);
}
int cuModuleUnload(Module* module) {
    return in_context([&](Device& device, Held& held) {
        wait_for_all(device, held);
        delete module;
        return SUCCESS;
    });
}
int cuModuleGetFunction(Function** function, Module* module, const char* name) {
    return in_context([&](Device&, Held&) {
        const auto found = module->find(name);
        if (found == module->end()) return NOT_FOUND;
        *function = &found->second;
        return SUCCESS;
    });
}
int cuFuncGetAttribute(int* value, int attribute, Function* function) {
    return in_context([&](Device&, Held&) {
        switch (attribute) {
            case 0: *value = static_cast<int>(function->kernel->most_threads); break;
            case 1: *value = static_cast<int>(function->shared); break;
            case 2: case 3: *value = 0; break;
            case 4: *value = 32; break;
            case 5: case 6: *value = 90; break;
            case 8: *value = static_cast<int>(function->most_dynamic); break;
            default: return INVALID_VALUE;
        }
        return SUCCESS;
    });
}
int cuFuncSetAttribute(Function* function, int attribute, int value) {
    return in_context([&](Device&, Held&) {
        // 9 only says how caches should be shared out.
        if (attribute == 9) return SUCCESS;
        const auto size = static_cast<size_t>(value);
        if (attribute != 8 || value < 0 || size + function->shared > cpu::MOST_SHARED) return INVALID_VALUE;
        function->most_dynamic = size;
        return SUCCESS;
    });
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function* function, int threads, size_t dynamic) {
    return in_context([&](Device&, Held&) {
        if (threads < 1) return INVALID_VALUE;
        *blocks = blocks_of(*function, threads, dynamic);
        return SUCCESS;
    });
}
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, Function* f, int threads, size_t dynamic, unsigned) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, threads, dynamic);
}
int cuOccupancyMaxPotentialBlockSize(int* grid, int* threads, Function* function, size_t (*)(int), size_t dynamic, int limit) {
    const int bound = static_cast<int>(function->kernel->most_threads);
    *threads = limit > 0 && limit < bound ? limit : bound;
    int blocks = 0;
    const int result = cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, *threads, dynamic);
    *grid = blocks * MULTIPROCESSORS;
    return result;
}
int cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* threads, Function* function, size_t (*size)(int),
                                              size_t dynamic, int limit, unsigned) {
    return cuOccupancyMaxPotentialBlockSize(grid, threads, function, size, dynamic, limit);
}
int cuOccupancyAvailableDynamicSMemPerBlock(size_t* size, Function* function, int blocks, int) {
    return in_context([&](Device&, Held&) {
        if (blocks < 1) return INVALID_VALUE;
        const size_t each = (228 << 10) / static_cast<size_t>(blocks) - 1024;
        *size = std::min(each > function->shared ? each - function->shared : 0, function->most_dynamic);
        return SUCCESS;
    });
}
static int launch(Function* function, dim3 grid, dim3 block, unsigned shared, Stream* stream, void** arguments, bool together) {
    return on_stream(stream, [&](Stream& stream, Held&) {
        const cpu::Kernel& kernel = *function->kernel;
        const uint64_t threads = uint64_t(block.x) * block.y * block.z;
        const bool grid_fits = grid.x && grid.y && grid.z && grid.x <= INT32_MAX && grid.y <= 65535 && grid.z <= 65535;
        if (!grid_fits || !threads || threads > kernel.most_threads || block.z > 64 || shared > function->most_dynamic) {
            note("launch of %s refused: %u x %u x %u blocks of %u x %u x %u threads with %u bytes; at most %u threads, %zu bytes",
                 kernel.name, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, kernel.most_threads, function->most_dynamic);
            return INVALID_VALUE;
        }
        const uint64_t blocks = uint64_t(grid.x) * grid.y * grid.z;
        const auto most = static_cast<uint64_t>(MULTIPROCESSORS * blocks_of(*function, static_cast<int>(threads), shared));
        if (together && blocks > most) {
            note("launch of %s refused: %llu blocks do not run at the same time, %llu do", kernel.name, Address(blocks), Address(most));
            return COOPERATIVE_LAUNCH_TOO_LARGE;
        }
        static const uint64_t failing = number("CUDA_ON_CPU_FAIL_LAUNCH", 0);
        static uint64_t count = 0;
        const bool fails = ++count == failing;
        static const uint64_t local = number("CUDA_ON_CPU_LOCAL", 0), local_at = number("CUDA_ON_CPU_LOCAL_AT", 1);
        static bool has_local = !local;
        if (count >= local_at && !has_local) {
            has_local = take_memory(*stream.device, local);
            if (!has_local) return OUT_OF_MEMORY;
        }
        const auto launch = std::make_shared<cpu::Launch>(
            cpu::Launch{&kernel, grid, block, shared, together, kernel.bind(arguments)});
        enqueue(stream, {.run = [=] {
            if (fails) return fault("this launch fails by CUDA_ON_CPU_FAIL_LAUNCH");
            const int error = cpu::run(*launch);
            return error || ends_are_whole() ? error : ILLEGAL_ADDRESS;
        }});
        return SUCCESS;
    });
}
int cuLaunchKernel(Function* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, Stream* stream, void** arguments, void**) {
    return launch(function, {gx, gy, gz}, {bx, by, bz}, shared, stream, arguments, false);
}
int cuLaunchCooperativeKernel(Function* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                              unsigned shared, Stream* stream, void** arguments) {
    return launch(function, {gx, gy, gz}, {bx, by, bz}, shared, stream, arguments, true);
}

}  // extern "C"
