/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Declarations from headers of QEMU that are not public, or are of its target
 * alone (softmmu/timers-state.h, exec/exec-all.h, exec/cpu-all.h, tcg/tcg.h).
 * They are those of the version that this object is built for, and loaded into.
 */
#ifndef TIMED_QEMU_H
#define TIMED_QEMU_H

#include "qemu/seqlock.h"
#include "qemu/thread.h"
#include "hw/core/cpu.h"

#define CF_USE_ICOUNT    0x00020000
#define CF_CLUSTER_SHIFT 24
#define EXCP_INTERRUPT   0x10000
#define EXCP_DEBUG       0x10002
#define EXCP_ATOMIC      0x10005

int cpu_exec(CPUState *cpu);
void cpu_exec_step_atomic(CPUState *cpu);
void tcg_register_thread(void);
typedef struct TCGContext TCGContext;
extern __thread TCGContext *tcg_ctx;

/* Its beginning */
typedef struct TimersState {
    int64_t cpu_ticks_prev;
    int64_t cpu_ticks_offset;
    QemuSeqLock vm_clock_seqlock;
    QemuSpin vm_clock_lock;
    int16_t cpu_ticks_enabled;
    int16_t icount_time_shift;
    int64_t last_delta;
    aligned_int64_t qemu_icount_bias;
} TimersState;

extern TimersState timers_state;

#endif /* TIMED_QEMU_H */
