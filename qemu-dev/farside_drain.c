/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "block/aio.h"
#include "block/block.h"
#include "hw/qdev-core.h"
#include "sysemu/reset.h"
#include "farside_drain.h"
#include "farside_requester.h"

/*
 * A bound for the rounds, in case some bottom half always schedules itself. A
 * request for the most data needs one round for each 4 KiB.
 */
#define ROUNDS_MAX 100000

/* NULL: QEMU has no such controller, or it is not covered yet. */
static DeviceReset reset_controller;

static void drain(void)
{
    AioContext *context = qemu_get_aio_context();
    unsigned i;

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
}

/*
 * Nothing crosses a link any more: forwarded reads return all ones, forwarded
 * writes are dropped, and so no request waits for the peer.
 */
static void drain_machine(void *opaque)
{
    farside_requester_hold_all(true);
    drain();
    farside_requester_hold_all(false);
}

/* Other devices of the machine go on, so requests still cross. */
static void drain_controller(DeviceState *device)
{
    drain();
    reset_controller(device);
}

void farside_drain_start(void)
{
    qemu_register_reset(drain_machine, NULL);
}

void farside_drain_controllers(void)
{
    ObjectClass *class = object_class_by_name("nvme");
    DeviceClass *controller = class ? DEVICE_CLASS(class) : NULL;

    if (controller && !reset_controller) {
        reset_controller = controller->reset;
        controller->reset = drain_controller;
    }
}
