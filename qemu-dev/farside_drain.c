/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "block/block.h"
#include "hw/pci/pci.h"
#include "farside_contain.h"
#include "farside_drain.h"
#include "farside_qemu.h"
#include "farside_requester.h"

/*
 * A bound for the rounds, in case some bottom half always schedules itself. A
 * request for the most data needs one round for each 4 KiB.
 */
#define ROUNDS_MAX 100000

/* NVM Express 1.4 s3.1: CC, in which EN is bit 0, and NSSR */
#define REG_CC   0x14
#define REG_NSSR 0x20

/* NULL: QEMU has no such controller, or it is not covered yet. */
static DeviceReset reset_controller;
static void (*realize_controller)(PCIDevice *pci, Error **errp);
static PCIUnregisterFunc *exit_controller;
/* The registers of all controllers, as they are now, and as QEMU made them */
static MemoryRegionOps registers;
static const MemoryRegionOps *registers_of_qemu;

static bool is_on;

bool farside_drain_is_on(void)
{
    return is_on;
}

static void drain(void)
{
    AioContext *context = qemu_get_aio_context();
    unsigned i;

    is_on = true;
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
    is_on = false;
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

static void drain_before_exit(PCIDevice *pci)
{
    drain();
    exit_controller(pci);
}

/* A controller that is switched off frees its queues, too. */
static void drain_before_write(void *opaque, hwaddr offset, uint64_t value,
                               unsigned size)
{
    if ((offset == REG_CC && !(value & 1)) || offset == REG_NSSR) {
        drain();
        farside_contain_end(opaque);
    }
    registers_of_qemu->write(opaque, offset, value, size);
}

static int watch_controller(Object *controller, void *opaque)
{
    Object *object;
    MemoryRegion *mr;

    if (!object_dynamic_cast(controller, "nvme")) {
        return 0;
    }
    object = object_resolve_path_component(controller, "nvme[0]");
    mr = object ? MEMORY_REGION(object) : NULL;
    if (!mr || mr->ops == &registers) {
        return 0;
    }
    /* The same for all controllers */
    registers_of_qemu = mr->ops;
    registers = *mr->ops;
    registers.write = drain_before_write;
    mr->ops = &registers;
    return 0;
}

static void realize_and_watch(PCIDevice *pci, Error **errp)
{
    realize_controller(pci, errp);
    watch_controller(OBJECT(pci), NULL);
}

void farside_drain_start(void)
{
    qemu_register_reset(drain_machine, NULL);
}

/* A handler is an object, which type_init() may not make; this comes next. */
migration_init(farside_drain_start)

void farside_drain_controllers(void)
{
    ObjectClass *class = object_class_by_name("nvme");
    DeviceClass *controller = class ? DEVICE_CLASS(class) : NULL;

    if (controller && !reset_controller) {
        reset_controller = farside_qemu_get_reset(controller);
        device_class_set_legacy_reset(controller, drain_controller);
        realize_controller = PCI_DEVICE_CLASS(class)->realize;
        PCI_DEVICE_CLASS(class)->realize = realize_and_watch;
        exit_controller = PCI_DEVICE_CLASS(class)->exit;
        PCI_DEVICE_CLASS(class)->exit = drain_before_exit;
        object_child_foreach_recursive(object_get_root(), watch_controller,
                                       NULL);
    }
}
