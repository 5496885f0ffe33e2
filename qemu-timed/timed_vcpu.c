/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU's thread. It replaces that of QEMU's tcg-accel-ops-rr.c, and differs
 * from it in what ends a run of the CPU (the next timer, the horizon, the next
 * message, a barrier) and in what happens while the CPU is idle (virtual time
 * jumps). All that happens to the machine happens in this thread, at a known
 * virtual time, or in another thread at a barrier.
 */
#include "timed.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/guest-random.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "hw/core/cpu.h"
#include "timed_qemu.h"

#define ACCEL_OPS "tcg-accel-ops"

static const TimedOptions *options;
static AccelOpsClass *accel_ops;
static void (*stock_ops_init)(TimedOpsInit *init);
static TCGContext *translator; /* of the CPU's thread */

/* The instructions that the CPU has left in this run */
static int64_t left_of(CPUState *cpu)
{
    return timed_qemu_decr(cpu)->u16.low + cpu->icount_extra;
}

static void set_left(CPUState *cpu, int64_t count)
{
    int64_t low = MIN(0xffff, count);

    timed_qemu_decr(cpu)->u16.low = low;
    cpu->icount_extra = count - low;
}

/* Exact: the run may end early, but never late. */
static void prepare_run(CPUState *cpu, int64_t ns)
{
    int64_t count = timed_clock_instructions(ns);

    g_assert(left_of(cpu) == 0);
    cpu->icount_budget = count;
    set_left(cpu, count);
}

/* The rest of a PAUSE takes its part of the run. False if that is all of it. */
static bool spend_pause(CPUState *cpu)
{
    int64_t left = left_of(cpu);

    left -= timed_pause_spend(left);
    set_left(cpu, left);
    return left > 0;
}

static void end_run(CPUState *cpu)
{
    icount_update(cpu);
    set_left(cpu, 0);
    cpu->icount_budget = 0;
}

/*
 * A loop that waits, such as for the time-stamp counter, has a PAUSE in each
 * turn, by which QEMU lets other CPUs run. There is none, and nothing has
 * happened to the machine: the run goes on.
 */
static bool has_paused(CPUState *cpu, int reason)
{
    return reason == EXCP_INTERRUPT && !timed_gate_has_access() &&
           left_of(cpu) > 0 && !cpu->halted && !cpu->stop &&
           !qatomic_read(&cpu->exit_request) && cpu_work_list_empty(cpu);
}

static void run_cpu(CPUState *cpu, int64_t ns)
{
    int r = EXCP_INTERRUPT;

    qemu_clock_enable(QEMU_CLOCK_VIRTUAL,
                      (cpu->singlestep_enabled & SSTEP_NOTIMER) == 0);
    bql_unlock();
    prepare_run(cpu, ns);
    cpu_exec_start(cpu);
    while (spend_pause(cpu)) {
        r = cpu_exec(cpu);
        if (!has_paused(cpu, r)) {
            break;
        }
    }
    cpu_exec_end(cpu);
    end_run(cpu);
    bql_lock();
    if (r == EXCP_DEBUG) {
        cpu_handle_guest_debug(cpu);
    } else if (r == EXCP_ATOMIC) {
        bql_unlock();
        cpu_exec_step_atomic(cpu);
        bql_lock();
    }
}

static bool is_idle(CPUState *cpu)
{
    return cpu->halted && !cpu_has_work(cpu);
}

/* One step of virtual time. */
static void step(CPUState *cpu)
{
    static int64_t barrier = -1; /* the last one that was passed */
    int64_t now, until, frozen, limit;

    timed_clock_run(false);
    now = timed_clock_now();
    limit = timed_link_barrier(now);
    if (limit == now && now != barrier) {
        if (timed_link_stand(now)) {
            return;
        }
        barrier = now;
        if (timed_gate_has_waiters()) {
            timed_gate_pass();
        }
        return;
    }
    /*
     * No promise goes beyond the next barrier: what others do there may make
     * this machine send.
     */
    if (limit == now) {
        limit = timed_link_barrier(now + 1);
    }
    until = MIN(timed_clock_next(), limit);
    frozen = timed_fault_frozen_until(now);
    if (frozen > now) {
        until = MIN(until, frozen);
    }
    if (timed_link_is_stalled(now) || frozen > now || is_idle(cpu)) {
        until = timed_link_idle(now, until);
        if (!timed_link_deliver(now) && until > now) {
            timed_clock_advance(until - now);
        }
        return;
    }
    if (!timed_link_sync(now) || timed_link_deliver(now)) {
        return;
    }
    until = MIN(until, timed_link_limit(now));
    until = MIN(until, now + options->slice_ns);
    run_cpu(cpu, until - now);
    /* Other ends depend on horizons, and on threads that kick the CPU. */
    if (timed_gate_take_access() || cpu->halted) {
        timed_steps_add_run();
    }
}

static void nothing(CPUState *cpu, run_on_cpu_data data)
{
}

/*
 * At a breakpoint the CPU stops by itself, and the machine counts as running
 * until the main loop has come round. QEMU takes it for idle meanwhile, and
 * would move the clock to the next timer (icount_start_warp_timer()). A CPU
 * that has work is not idle.
 */
static void wait_for_debugger(CPUState *cpu)
{
    async_run_on_cpu(cpu, nothing, RUN_ON_CPU_NULL);
    timed_gate_open();
    while (cpu->stopped && runstate_is_running()) {
        qemu_cond_wait_bql(cpu->halt_cond);
    }
}

/*
 * Work that others have queued for the CPU must be done before it runs again:
 * after a change of the memory map it flushes the TLB, whose entries are
 * numbers of sections in the map that is gone.
 */
static void do_work(CPUState *cpu)
{
    bool stopped = false;

    timed_qemu_do_work(cpu);
    while (!cpu_can_run(cpu)) {
        if (!stopped) {
            if (runstate_is_running()) {
                wait_for_debugger(cpu);
            }
            timed_gate_open();
            stopped = true;
        }
        if (cpu_work_list_empty(cpu) && !cpu->stop) {
            qemu_cond_wait_bql(cpu->halt_cond);
        }
        timed_qemu_do_work(cpu);
    }
    if (stopped) {
        timed_gate_pass();
        do_work(cpu);
    }
}

static void take_cpu(CPUState *cpu)
{
    qemu_thread_get_self(cpu->thread);
    cpu->thread_id = qemu_get_thread_id();
    current_cpu = cpu;
    qemu_guest_random_seed_thread_part2(cpu->random_seed);
    timed_gate_init();
}

static void run(CPUState *cpu)
{
    for (;;) {
        do_work(cpu);
        step(cpu);
    }
}

static void *vcpu_thread(void *opaque)
{
    CPUState *cpu = opaque;

    rcu_register_thread();
    tcg_register_thread();
    translator = tcg_ctx;
    bql_lock();
    take_cpu(cpu);
    timed_qemu_allow_io(cpu);
    cpu_thread_signal_created(cpu);
    run(cpu);
    return NULL;
}

/* It was in timed_link_stand(), called by step(). */
static void *branch_thread(void *opaque)
{
    CPUState *cpu = opaque;

    rcu_register_thread();
    tcg_ctx = translator;
    bql_lock();
    take_cpu(cpu);
    timed_link_stand(timed_clock_now());
    run(cpu);
    return NULL;
}

static void start_thread(CPUState *cpu, void *(*thread)(void *))
{
    qemu_cond_init(cpu->halt_cond);
    qemu_thread_create(cpu->thread, "CPU 0/timed", thread, cpu,
                       QEMU_THREAD_JOINABLE);
}

void timed_vcpu_renew(void)
{
    start_thread(qemu_get_cpu(0), branch_thread);
}

static void create_vcpu_thread(CPUState *cpu)
{
    static bool created;

    if (created) {
        error_report("a machine in virtual time has one CPU; use -smp 1");
        exit(1);
    }
    if (icount_enabled() != 1 || icount_to_ns(1) != 1) {
        error_report("a machine in virtual time needs "
                     "-icount shift=0,sleep=off");
        exit(1);
    }
    created = true;
    cpu->tcg_cflags = (cpu->cluster_index << CF_CLUSTER_SHIFT) | CF_USE_ICOUNT;
    cpu->thread = g_new0(QemuThread, 1);
    cpu->halt_cond = g_new0(QemuCond, 1);
    start_thread(cpu, vcpu_thread);
}

/* Without this, the main loop would move the clock while the CPU is idle. */
static bool cpu_is_never_idle(CPUState *cpu)
{
    return false;
}

static void ops_init(TimedOpsInit *init)
{
    AccelOpsClass *ops = accel_ops;

    stock_ops_init(init);
    /* QEMU has just set this one. */
    if (icount_enabled() && ops->get_virtual_clock != icount_get) {
        error_report("virtual time: the headers that it was compiled with are "
                     "not those of this QEMU: its accelerator's clock is in "
                     "another place");
        exit(1);
    }
    ops->create_vcpu_thread = create_vcpu_thread;
    ops->cpu_thread_is_idle = cpu_is_never_idle;
    ops->get_virtual_clock = timed_clock_read;
    ops->get_elapsed_ticks = timed_clock_read;
}

void timed_vcpu_init(const TimedOptions *from)
{
    ObjectClass *class = module_object_class_by_name(ACCEL_OPS);
    AccelOpsClass *ops;

    options = from;
    timed_clock_set_instruction(options->instruction_ps);
    if (!class) {
        error_report("virtual time needs -accel tcg, which is not here");
        exit(1);
    }
    ops = (AccelOpsClass *)class;
    accel_ops = ops;
    stock_ops_init = ops->ops_init;
    ops->ops_init = ops_init;
}
