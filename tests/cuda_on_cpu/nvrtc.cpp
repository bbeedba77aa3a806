// A stand-in libnvrtc.so. The kernels are compiled into libcuda.so already: its "cubin" is a line of magic, the name of
// the program and a hash of the source and its headers. It does check that every header that is included was given.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>

enum Result { SUCCESS = 0, INVALID_INPUT = 3, INVALID_PROGRAM = 4, COMPILATION = 6 };

struct Program {
    std::string name, source, log, image;
    std::map<std::string, std::string> headers;
    bool for_real_gpu = false;
};

static const int ARCHITECTURES[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

static uint64_t hash(uint64_t seed, const std::string& text) {
    for (unsigned char c : text) seed = (seed ^ c) * 0x100000001b3;
    return seed;
}

// Headers that are included and were not given; follows those that were.
static std::string missing(const Program& program, const std::string& text, int depth = 0) {
    std::string found;
    if (depth > 8) return found;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        char name[256];
        if (sscanf(line.c_str(), " # include \"%255[^\"]", name) != 1) continue;
        const auto header = program.headers.find(name);
        if (header == program.headers.end()) {
            found += std::string("error: cannot open source file \"") + name + "\"\n";
        } else {
            found += missing(program, header->second, depth + 1);
        }
    }
    return found;
}

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int nvrtcVersion(int* major, int* minor) {
    *major = 13, *minor = 0;
    return SUCCESS;
}
EXPORTED int nvrtcGetNumSupportedArchs(int* count) {
    *count = sizeof ARCHITECTURES / sizeof *ARCHITECTURES;
    return SUCCESS;
}
EXPORTED int nvrtcGetSupportedArchs(int* architectures) {
    memcpy(architectures, ARCHITECTURES, sizeof ARCHITECTURES);
    return SUCCESS;
}
EXPORTED const char* nvrtcGetErrorString(int result) {
    switch (result) {
        case SUCCESS: return "NVRTC_SUCCESS";
        case INVALID_INPUT: return "NVRTC_ERROR_INVALID_INPUT";
        case INVALID_PROGRAM: return "NVRTC_ERROR_INVALID_PROGRAM";
        case COMPILATION: return "NVRTC_ERROR_COMPILATION";
        default: return "NVRTC_ERROR unknown";
    }
}
EXPORTED int nvrtcCreateProgram(Program** program, const char* source, const char* name, int count,
                                const char* const* headers, const char* const* names) {
    if (!source) return INVALID_INPUT;
    auto* made = new Program;
    made->name = name ? name : "default_program";
    made->source = source;
    for (int i = 0; i < count; i++) made->headers[names[i]] = headers[i];
    *program = made;
    return SUCCESS;
}
EXPORTED int nvrtcDestroyProgram(Program** program) {
    delete *program;
    *program = nullptr;
    return SUCCESS;
}
EXPORTED int nvrtcAddNameExpression(Program*, const char*) {
    return SUCCESS;
}
EXPORTED int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
    if (!program) return INVALID_PROGRAM;
    program->for_real_gpu = false;
    for (int i = 0; i < count; i++) program->for_real_gpu |= strstr(options[i], "sm_") != nullptr;
    const char* fail = getenv("CUDA_ON_CPU_NVRTC_FAIL");
    program->log = fail && *fail && *fail != '0' ? "error: it fails by CUDA_ON_CPU_NVRTC_FAIL\n" : missing(*program, program->source);
    if (!program->log.empty()) {
        program->log = program->name + ": " + program->log;
        return COMPILATION;
    }
    uint64_t sum = hash(0xcbf29ce484222325, program->source);
    for (const auto& [name, text] : program->headers) sum = hash(hash(sum, name), text);
    char text[32];
    snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum));
    program->image = "CUDA_ON_CPU image\n" + program->name + "\n" + text + "\n";
    return SUCCESS;
}
// As with the real one: sizes count the final zero of texts, and there is a cubin only for sm_NN, not for compute_NN.
EXPORTED int nvrtcGetCUBINSize(Program* program, size_t* size) {
    *size = program->for_real_gpu ? program->image.size() + 1 : 0;
    return SUCCESS;
}
EXPORTED int nvrtcGetCUBIN(Program* program, char* image) {
    if (!program->for_real_gpu) return INVALID_PROGRAM;
    memcpy(image, program->image.c_str(), program->image.size() + 1);
    return SUCCESS;
}
EXPORTED int nvrtcGetPTXSize(Program* program, size_t* size) {
    *size = program->image.size() + 1;
    return SUCCESS;
}
EXPORTED int nvrtcGetPTX(Program* program, char* image) {
    memcpy(image, program->image.c_str(), program->image.size() + 1);
    return SUCCESS;
}
EXPORTED int nvrtcGetProgramLogSize(Program* program, size_t* size) {
    *size = program->log.size() + 1;
    return SUCCESS;
}
EXPORTED int nvrtcGetProgramLog(Program* program, char* log) {
    memcpy(log, program->log.c_str(), program->log.size() + 1);
    return SUCCESS;
}
