/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "farside_qemu.h"
#include "hw/pci/pci_bridge.h"
#include "farside_space.h"
#include "farside_switch_tap.h"

#define TYPE_FARSIDE_SWITCH_TAP "farside-switch-tap"

/* QEMU's own region of a range has the priority 1. */
#define PRIORITY_TAP 2
#define PRIORITY_BLANK 0

/* Kinds of the ranges */
static const uint8_t kinds[FARSIDE_SWITCH_RANGES] = {
    PCI_BASE_ADDRESS_SPACE_MEMORY,
    PCI_BASE_ADDRESS_MEM_PREFETCH,
};

typedef struct {
    FarsideSwitchTap *tap;
    MemoryRegion region;
} TapRange;

OBJECT_DECLARE_SIMPLE_TYPE(FarsideSwitchTap, FARSIDE_SWITCH_TAP)

/* A request may be on its way through it when the bridge goes. */
struct FarsideSwitchTap {
    Object parent_obj;
    PCIDevice *bridge;
    FarsideSwitchLink *link; /* NULL: the bridge is gone */
    TapRange ranges[FARSIDE_SWITCH_RANGES];
    MemoryRegion blanks[FARSIDE_SWITCH_RANGES];
    FarsideSpace below;
};

static __thread uint16_t requester;

uint16_t farside_switch_tap_requester(uint16_t requester_id)
{
    uint16_t before = requester;

    requester = requester_id;
    return before;
}

static bool is_recorded(const FarsideSwitchTap *s)
{
    return s->link && farside_switch_link_is_on(s->link);
}

static MemTxResult range_access(TapRange *range, hwaddr offset, uint8_t *bytes,
                                unsigned size, bool is_write, MemTxAttrs attrs)
{
    FarsideSwitchTap *s = range->tap;
    const FarsideSwitchRequest request = {
        .is_write = is_write,
        .address = range->region.addr + offset,
        .size = size,
        .requester_id = requester,
    };
    bool is_on = is_recorded(s);
    uint32_t number = 0;
    MemTxResult result;

    if (is_on) {
        number = farside_switch_link_request(s->link, FARSIDE_SWITCH_UPPER,
                                             &request, bytes);
    }
    result = address_space_rw(&s->below.as, request.address, attrs, bytes, size,
                              is_write);
    if (is_on && !is_write && is_recorded(s)) {
        farside_switch_link_complete(s->link, FARSIDE_SWITCH_UPPER, &request,
                                     number, result == MEMTX_OK, bytes);
    }
    return result;
}

static MemTxResult range_read(void *opaque, hwaddr offset, uint64_t *value,
                              unsigned size, MemTxAttrs attrs)
{
    uint8_t bytes[8] = {0};
    MemTxResult result =
        range_access(opaque, offset, bytes, size, false, attrs);

    *value = ldn_le_p(bytes, size);
    return result;
}

static MemTxResult range_write(void *opaque, hwaddr offset, uint64_t value,
                               unsigned size, MemTxAttrs attrs)
{
    uint8_t bytes[8];

    stn_le_p(bytes, size, value);
    return range_access(opaque, offset, bytes, size, true, attrs);
}

static const MemoryRegionOps range_ops = {
    .read_with_attrs = range_read,
    .write_with_attrs = range_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
    .impl = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
};

/*
 * A port takes all of its range: a request that nothing behind it answers does
 * not go up. And an IOMMU sees no hole that is smaller than a page, which
 * QEMU's intel-iommu does not survive.
 */
static MemTxResult refused_read(void *opaque, hwaddr offset, uint64_t *value,
                                unsigned size, MemTxAttrs attrs)
{
    *value = UINT64_MAX;
    return MEMTX_DECODE_ERROR;
}

static MemTxResult refused_write(void *opaque, hwaddr offset, uint64_t value,
                                 unsigned size, MemTxAttrs attrs)
{
    return MEMTX_DECODE_ERROR;
}

const MemoryRegionOps farside_switch_refused_ops = {
    .read_with_attrs = refused_read,
    .write_with_attrs = refused_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
};

void farside_switch_tap_pass(MemoryRegionSection *found)
{
    while (found->mr && found->mr->ops == &range_ops) {
        MemoryRegion *tap = found->mr;
        const TapRange *range = tap->opaque;

        *found = memory_region_find(&range->tap->below.root,
                                    tap->addr + found->offset_within_region, 1);
        memory_region_unref(tap);
    }
}

/* Ranges */

uint64_t farside_switch_tap_range(const PCIDevice *bridge, unsigned range,
                                  uint64_t *ret_base)
{
    uint64_t base = pci_bridge_get_base(bridge, kinds[range]);
    uint64_t limit = pci_bridge_get_limit(bridge, kinds[range]);
    bool is_on =
        pci_get_word(bridge->config + PCI_COMMAND) & PCI_COMMAND_MEMORY;

    *ret_base = base;
    return is_on && base <= limit ? limit - base + 1 : 0;
}

bool farside_switch_tap_claims(const PCIDevice *bridge, uint64_t address)
{
    uint64_t base, size;
    unsigned i;

    for (i = 0; i < FARSIDE_SWITCH_RANGES; i++) {
        size = farside_switch_tap_range(bridge, i, &base);
        if (address >= base && address - base < size) {
            return true;
        }
    }
    return false;
}

void farside_switch_tap_place(MemoryRegion *region, bool is_on, uint64_t base,
                              uint64_t size)
{
    memory_region_set_enabled(region, is_on && size);
    if (is_on && size) {
        memory_region_set_size(region, size);
        memory_region_set_address(region, base);
    }
}

void farside_switch_tap_update(FarsideSwitchTap *s)
{
    bool is_on = farside_switch_link_is_on(s->link);
    uint64_t base, size;
    unsigned i;

    memory_region_transaction_begin();
    for (i = 0; i < FARSIDE_SWITCH_RANGES; i++) {
        MemoryRegion *region = &s->ranges[i].region;

        size = farside_switch_tap_range(s->bridge, i, &base);
        farside_switch_tap_place(region, is_on, base, size);
        farside_switch_tap_place(&s->blanks[i], true, base, size);
    }
    memory_region_transaction_commit();
}

FarsideSwitchTap *farside_switch_tap_new(PCIDevice *bridge,
                                         FarsideSwitchLink *link)
{
    Object *obj = object_new(TYPE_FARSIDE_SWITCH_TAP);
    FarsideSwitchTap *s = FARSIDE_SWITCH_TAP(obj);
    MemoryRegion *parent = pci_get_bus(bridge)->address_space_mem;
    unsigned i;

    object_property_add_child(OBJECT(bridge), TYPE_FARSIDE_SWITCH_TAP, obj);
    object_unref(obj);
    s->bridge = bridge;
    s->link = link;
    farside_space_init(
        &s->below, obj,
        pci_bridge_get_sec_bus(PCI_BRIDGE(bridge))->address_space_mem,
        TYPE_FARSIDE_SWITCH_TAP);
    for (i = 0; i < FARSIDE_SWITCH_RANGES; i++) {
        s->ranges[i].tap = s;
        memory_region_init_io(&s->ranges[i].region, obj, &range_ops,
                              &s->ranges[i], TYPE_FARSIDE_SWITCH_TAP, 1);
        memory_region_set_enabled(&s->ranges[i].region, false);
        memory_region_add_subregion_overlap(parent, 0, &s->ranges[i].region,
                                            PRIORITY_TAP);
        memory_region_init_io(&s->blanks[i], obj, &farside_switch_refused_ops,
                              s, "farside-switch-blank", 1);
        memory_region_set_enabled(&s->blanks[i], false);
        memory_region_add_subregion_overlap(parent, 0, &s->blanks[i],
                                            PRIORITY_BLANK);
    }
    return s;
}

static void tap_unparent(Object *obj)
{
    FarsideSwitchTap *s = FARSIDE_SWITCH_TAP(obj);
    MemoryRegion *parent = pci_get_bus(s->bridge)->address_space_mem;
    unsigned i;

    s->link = NULL;
    for (i = 0; i < FARSIDE_SWITCH_RANGES; i++) {
        memory_region_del_subregion(parent, &s->ranges[i].region);
        memory_region_del_subregion(parent, &s->blanks[i]);
    }
    farside_space_let_go(&s->below.as, obj);
}

void farside_switch_tap_free(FarsideSwitchTap *s)
{
    if (s) {
        object_unparent(OBJECT(s));
    }
}

static void tap_class_init(ObjectClass *klass, FarsideClassData *data)
{
    klass->unparent = tap_unparent;
}

static const TypeInfo tap_info = {
    .name = TYPE_FARSIDE_SWITCH_TAP,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(FarsideSwitchTap),
    .class_init = tap_class_init,
};

void farside_switch_tap_register_type(void)
{
    type_register_static(&tap_info);
}
