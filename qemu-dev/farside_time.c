/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "farside_time.h"

const FarsideTimeClass *farside_time(void)
{
    static const FarsideTimeClass *class;
    static bool known;

    if (!known) {
        class = (void *)object_class_by_name(TYPE_FARSIDE_TIME);
        known = true;
    }
    return class;
}

bool farside_time_may_wait(void)
{
    return !farside_time() || farside_time()->may_wait();
}

int64_t farside_time_now(void)
{
    return qemu_clock_get_ns(farside_time() ? QEMU_CLOCK_VIRTUAL
                                            : QEMU_CLOCK_REALTIME);
}
