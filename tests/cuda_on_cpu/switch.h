// A fiber: a stack, and how to change from one to another.
#pragma once
#include <cstddef>
#include <cstring>
#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace cpu {

#ifdef __x86_64__
// Saves what a call must preserve and changes stacks: a few nanoseconds, where swapcontext makes two system calls.
extern "C" void cuda_on_cpu_switch(void** from, void* to);
asm(R"(
.text
.hidden cuda_on_cpu_switch
.globl cuda_on_cpu_switch
.type cuda_on_cpu_switch, @function
cuda_on_cpu_switch:
    pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp
    ret
.size cuda_on_cpu_switch, . - cuda_on_cpu_switch
)");

struct Fiber {
    void* pointer;

    void begin(char* stack, size_t size, void (*entry)()) {
        void** top = reinterpret_cast<void**>(stack + size - 32);
        *top = reinterpret_cast<void*>(entry);
        memset(top - 6, 0, 6 * sizeof(void*));
        pointer = top - 6;
    }

    void change_to(Fiber& other) { cuda_on_cpu_switch(&pointer, other.pointer); }
};
#else
struct Fiber {
    ucontext_t context;

    void begin(char* stack, size_t size, void (*entry)()) {
        getcontext(&context);
        context.uc_stack.ss_sp = stack;
        context.uc_stack.ss_size = size;
        context.uc_link = nullptr;
        makecontext(&context, entry, 0);
    }

    void change_to(Fiber& other) { swapcontext(&context, &other.context); }
};
#endif

}  // namespace cpu
