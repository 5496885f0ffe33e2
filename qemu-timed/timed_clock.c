/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "timed.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "timed_qemu.h"

#define PS_PER_NS 1000

static int64_t instruction_ps = PS_PER_NS;

void timed_clock_set_instruction(int64_t ps)
{
    instruction_ps = ps;
}

/* The time of the CPU's instructions so far, without what was added to it. */
static int64_t executed_ns(void)
{
    return icount_get_raw() * instruction_ps / PS_PER_NS;
}

int64_t timed_clock_read(void)
{
    return executed_ns() + qatomic_read(&timers_state.qemu_icount_bias);
}

/*
 * No instruction takes more than 1 ns, so the clock shows each ns, and a run
 * ends when it begins.
 */
int64_t timed_clock_instructions(int64_t ns)
{
    int64_t end_ps = (executed_ns() + ns) * PS_PER_NS;

    return DIV_ROUND_UP(end_ps, instruction_ps) - icount_get_raw();
}

void timed_clock_advance(int64_t ns)
{
    seqlock_write_lock(&timers_state.vm_clock_seqlock,
                       &timers_state.vm_clock_lock);
    qatomic_set(&timers_state.qemu_icount_bias,
                    timers_state.qemu_icount_bias + ns);
    seqlock_write_unlock(&timers_state.vm_clock_seqlock,
                         &timers_state.vm_clock_lock);
}

int64_t timed_clock_next(void)
{
    int64_t deadline =
        qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, QEMU_TIMER_ATTR_ALL);

    return deadline < 0 ? TIMED_BOARD_NEVER : timed_clock_now() + deadline;
}

static unsigned wakes;

void timed_clock_wake(void)
{
    wakes++;
}

unsigned timed_clock_wakes(void)
{
    return wakes;
}

static bool running;

bool timed_clock_is_running(void)
{
    return running;
}

void timed_clock_run(bool nested)
{
    bool progress;

    if (running) {
        return;
    }
    running = true;
    do {
        progress = qemu_clock_run_timers(QEMU_CLOCK_VIRTUAL);
        if (progress && nested) {
            timed_steps_add("timers nested");
        } else if (progress) {
            timed_steps_add_cpu("timers");
        }
        progress |= aio_bh_poll(qemu_get_aio_context()) > 0;
        if (!nested) {
            progress |= aio_bh_poll(iohandler_get_aio_context()) > 0;
        }
    } while (progress);
    running = false;
}
