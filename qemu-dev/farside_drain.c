/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "block/aio.h"
#include "block/block.h"
#include "sysemu/reset.h"
#include "farside_drain.h"
#include "farside_requester.h"

/*
 * A bound for the rounds, in case some bottom half always schedules itself. A
 * request for the most data needs one round for each 4 KiB.
 */
#define ROUNDS_MAX 100000

static void drain(void *opaque)
{
    AioContext *context = qemu_get_aio_context();
    unsigned i;

    farside_requester_hold_all(true);
    /*
     * The bottom half that runs between two drains wakes the requests that wait
     * for the bounce buffer.
     */
    for (i = 0; i < ROUNDS_MAX; i++) {
        bdrv_drain_all();
        if (!aio_poll(context, false)) {
            break;
        }
    }
    farside_requester_hold_all(false);
}

void farside_drain_start(void)
{
    qemu_register_reset(drain, NULL);
}
