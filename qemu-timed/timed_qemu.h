/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The differences between versions of QEMU that virtual time meets beyond those
 * of farside_qemu.h, and declarations of functions whose headers are for the
 * files of QEMU's target alone. No other file of this folder asks for a
 * version.
 */
#ifndef TIMED_QEMU_H
#define TIMED_QEMU_H

#include "qapi/error.h"
#include "qemu/seqlock.h"
#include "qemu/thread.h"
#include "block/block_int.h"
#include "block/thread-pool.h"
#include "chardev/char-fe.h"
#include "exec/cpu-common.h"
#include "hw/core/cpu.h"
#include "monitor/monitor.h"
#include "farside_qemu.h"
#include "plugin.h"

/* 10.0: sysemu/ is system/, and the header of timers is public */
#if FARSIDE_HAS("system/system.h")
#include "system/block-backend.h"
#include "system/cpu-timers.h"
#include "system/cpu-timers-internal.h"
#include "system/cpus.h"
#include "system/dma.h"
#include "system/runstate.h"
#else
#include "sysemu/accel-ops.h"
#include "sysemu/block-backend.h"
#include "sysemu/cpu-timers.h"
#include "sysemu/cpus.h"
#include "sysemu/dma.h"
#include "sysemu/runstate.h"
#include "timers-state.h" /* as qemu-dev/headers names it */
#endif
/* Moved in 10.0 and 10.1 */
#if FARSIDE_HAS("accel/accel-cpu-ops.h")
#include "accel/accel-cpu-ops.h"
#elif FARSIDE_HAS("system/accel-ops.h")
#include "system/accel-ops.h"
#endif
/* Moved in 10.0 */
#if FARSIDE_HAS("qobject/qdict.h")
#include "qobject/qdict.h"
#else
#include "qapi/qmp/qdict.h"
#endif
/* New in 10.0: a part of cpu-timers.h */
#if FARSIDE_HAS("exec/icount.h")
#include "exec/icount.h"
#endif

/* The CPU's loop */

/* CF_* and EXCP_*; qemu-dev/headers finds them in headers of the target. */
#include "target-constants.h"

int cpu_exec(CPUState *cpu);
void cpu_exec_step_atomic(CPUState *cpu);
void tcg_register_thread(void);
typedef struct TCGContext TCGContext;
extern __thread TCGContext *tcg_ctx;

/* 10.1: ops_init() gets the class of the accelerator, and not its own. */
#if FARSIDE_QEMU(10, 1)
typedef AccelClass TimedOpsInit;
#else
typedef AccelOpsClass TimedOpsInit;
#endif

/* 8.2: these have no pointers any more. */
#if FARSIDE_QEMU(8, 2)
static inline IcountDecr *timed_qemu_decr(CPUState *cpu)
{
    return &cpu->neg.icount_decr;
}

static inline void timed_qemu_allow_io(CPUState *cpu)
{
    cpu->neg.can_do_io = true;
}
#else
static inline IcountDecr *timed_qemu_decr(CPUState *cpu)
{
    return cpu->icount_decr_ptr;
}

static inline void timed_qemu_allow_io(CPUState *cpu)
{
    cpu->can_do_io = 1;
}

static inline CPUArchState *cpu_env(CPUState *cpu)
{
    return cpu->env_ptr;
}
#endif

/*
 * The work that others have queued for the CPU. 10.2: cpu_exec() does not take
 * back the request to leave it.
 */
static inline void timed_qemu_do_work(CPUState *cpu)
{
#if FARSIDE_QEMU(10, 2)
    qatomic_set(&cpu->exit_request, false);
    qemu_process_cpu_events_common(cpu);
#else
    qemu_wait_io_event_common(cpu);
#endif
}

/* The big lock. 9.0 gave it this name. */

#if !FARSIDE_QEMU(9, 0)
static inline void qemu_cond_wait_bql(QemuCond *cond)
{
    qemu_cond_wait_iothread(cond);
}

#define bql_mutex_lock_func qemu_bql_mutex_lock_func
#endif

/*
 * The place in which the device that uses @chr says how much it takes. NULL: no
 * device does. 10.2: the device is a front end.
 */
static inline IOCanReadHandler **timed_qemu_can_read(Chardev *chr)
{
#if FARSIDE_QEMU(10, 2)
    return chr->fe ? &chr->fe->chr_can_read : NULL;
#else
    return chr->be ? &chr->be->chr_can_read : NULL;
#endif
}

/* Monitors. 11.1: they are objects. */

static inline void timed_qemu_new_monitor(Chardev *chr)
{
#if FARSIDE_QEMU(11, 1)
    monitor_new_qmp(NULL, chr->label, false, &error_fatal);
#else
    monitor_init_qmp(chr, false, &error_fatal);
#endif
}

/* Drives */

/* 9.0: the caller's context is meant. */
#if !FARSIDE_QEMU(9, 0)
#define dma_blk_io(...) dma_blk_io(qemu_get_aio_context(), __VA_ARGS__)
#endif

/* 8.1: this is no lock of coroutines any more. */
static inline void coroutine_fn timed_qemu_lock_requests(BlockDriverState *bs)
{
#if FARSIDE_QEMU(8, 1)
    qemu_mutex_lock(&bs->reqs_lock);
#else
    qemu_co_mutex_lock(&bs->reqs_lock);
#endif
}

static inline void coroutine_fn timed_qemu_unlock_requests(BlockDriverState *bs)
{
#if FARSIDE_QEMU(8, 1)
    qemu_mutex_unlock(&bs->reqs_lock);
#else
    qemu_co_mutex_unlock(&bs->reqs_lock);
#endif
}

/* 8.0: the operations of a driver have these names; a lock of the graph */
#if !FARSIDE_QEMU(8, 0)
#define bdrv_drain_begin bdrv_co_drain_begin
#define bdrv_drain_end bdrv_co_drain_end
#define bdrv_co_getlength bdrv_getlength
#define GRAPH_RDLOCK_GUARD() do { } while (0)
#endif

/*
 * The threads that access images end; QEMU makes new ones when it needs them.
 * 10.0: thread_pool_free() is for pools of another kind.
 */
static inline void timed_qemu_end_threads(AioContext *context)
{
    if (context->thread_pool) {
#if FARSIDE_QEMU(10, 0)
        thread_pool_free_aio(context->thread_pool);
#else
        thread_pool_free(context->thread_pool);
#endif
        context->thread_pool = NULL;
    }
}

/* Plugins */

/* Interface 3 (9.1): the bytes of an instruction are copied. */
static inline void timed_qemu_copy_code(const struct qemu_plugin_insn *insn,
                                        uint8_t *code, size_t size)
{
#if QEMU_PLUGIN_VERSION >= 3
    qemu_plugin_insn_data(insn, code, size);
#else
    memcpy(code, qemu_plugin_insn_data(insn), size);
#endif
}

/* Interface 7 (11.1): the function gets data of its own. */
#if QEMU_PLUGIN_VERSION >= 7
#define TIMED_ON_TRANSLATED(name, tb) \
    static void name(struct qemu_plugin_tb *tb, void *data)
#define timed_qemu_on_translated(id, func) \
    qemu_plugin_register_vcpu_tb_trans_cb(id, func, NULL)
#else
#define TIMED_ON_TRANSLATED(name, tb) \
    static void name(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
#define timed_qemu_on_translated(id, func) \
    qemu_plugin_register_vcpu_tb_trans_cb(id, func)
#endif

#endif /* TIMED_QEMU_H */
