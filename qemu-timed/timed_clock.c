/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "timed.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "block/aio.h"
#include "sysemu/cpu-timers.h"
#include "timed_qemu.h"

int64_t timed_clock_now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

void timed_clock_advance(int64_t ns)
{
    seqlock_write_lock(&timers_state.vm_clock_seqlock,
                       &timers_state.vm_clock_lock);
    qatomic_set_i64(&timers_state.qemu_icount_bias,
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
