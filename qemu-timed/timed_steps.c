/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A record of all that happens to this machine, for developers who look for
 * the first difference between two runs. A line begins with the virtual time.
 * It says nothing that may differ between runs that are the same: no rounds, no
 * bottom halves, and no run of the CPU that ended at its horizon or its cap.
 *
 *   run      a run of the CPU ended with an access, or the CPU halted
 *   loop     as many more runs ended at the same instruction; a hash of them
 *   timers   timers were due
 *   input    time stands still: the bytes of input that the guest does not take
 *   stand    time goes on
 *   message, send   channel, bytes, hash
 *   drive    a request: name, kind, offset, bytes, and the time that it ends
 *   due      it ends
 *
 * Behind `cpu` are the program counter, the hash of the registers, the
 * interrupts that are pending, and 1 if the CPU is halted.
 */
#include "timed.h"
#include "qemu/error-report.h"
#include "hw/core/cpu.h"
#include "timed_qemu.h"

/* Sixteen registers of 64 bits, with which QEMU's state of an x86 CPU begins */
#define REGISTER_BYTES 128
#define BUFFER_BYTES   (1 << 20)

static FILE *steps;

/*
 * Runs since the last line that ended at the same instruction, as when a kernel
 * polls a timer. They have one line together.
 */
static struct {
    uint64_t pc; /* 0: none */
    uint64_t count;
    uint64_t hash;
    int64_t last;
} loop;

uint64_t timed_steps_hash(const void *bytes, size_t size)
{
    const uint8_t *byte = bytes;
    uint64_t hash = 0xcbf29ce484222325ull;
    size_t i;

    /* FNV-1a */
    for (i = 0; i < size; i++) {
        hash = (hash ^ byte[i]) * 0x100000001b3ull;
    }
    return hash;
}

static void end_loop(void)
{
    if (loop.count) {
        fprintf(steps, "%" PRId64 " loop %" PRIu64 " %" PRIx64 "\n", loop.last,
                loop.count, loop.hash);
    }
    loop.pc = 0;
    loop.count = 0;
    loop.hash = 0;
}

void timed_steps_add(const char *format, ...)
{
    va_list arguments;

    if (!steps) {
        return;
    }
    end_loop();
    fprintf(steps, "%" PRId64 " ", timed_clock_now());
    va_start(arguments, format);
    vfprintf(steps, format, arguments);
    va_end(arguments);
    putc_unlocked('\n', steps);
}

void timed_steps_add_cpu(const char *what)
{
    CPUState *cpu = qemu_get_cpu(0);
    uint64_t pc, registers;

    if (!steps) {
        return;
    }
    pc = CPU_GET_CLASS(cpu)->get_pc(cpu);
    registers = timed_steps_hash(cpu_env(cpu), REGISTER_BYTES);
    timed_steps_add("%s cpu %" PRIx64 " %" PRIx64 " %x %d", what, pc, registers,
                    cpu->interrupt_request, cpu->halted);
}

void timed_steps_add_run(void)
{
    CPUState *cpu = qemu_get_cpu(0);
    uint64_t pc;

    if (!steps) {
        return;
    }
    pc = CPU_GET_CLASS(cpu)->get_pc(cpu);
    if (pc == loop.pc) {
        uint64_t state[] = {
            loop.hash,
            timed_clock_now(),
            timed_steps_hash(cpu_env(cpu), REGISTER_BYTES),
            cpu->interrupt_request,
            cpu->halted,
        };

        loop.hash = timed_steps_hash(state, sizeof(state));
        loop.last = state[1];
        loop.count++;
        return;
    }
    timed_steps_add_cpu("run");
    loop.pc = pc;
}

void timed_steps_flush(void)
{
    if (steps) {
        fflush(steps);
    }
}

bool timed_steps_option(const char *path)
{
    steps = fopen(path, "w");
    if (!steps) {
        error_report("virtual time: steps=%s: %s", path, strerror(errno));
        return false;
    }
    setvbuf(steps, NULL, _IOFBF, BUFFER_BYTES);
    return true;
}
