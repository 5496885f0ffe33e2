/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/queue.h"
#include "farside_qemu.h"
#include "hw/hotplug.h"
#include "hw/pci/pcie_port.h"
#include "farside_origin.h"
#include "farside_space.h"
#include "farside_switch.h"
#include "farside_switch_link.h"
#include "farside_switch_tap.h"

#define TYPE_FARSIDE_SWITCH_UPSTREAM "farside-switch-upstream"
#define TYPE_FARSIDE_SWITCH_DOWNSTREAM "farside-switch-downstream"
#define TYPE_FARSIDE_SWITCH_FUNCTION "farside-switch-function"
#define TYPE_FARSIDE_SWITCH_ENTRY "farside-switch-entry"

/*
 * A tap hides all addresses: QEMU's intel-iommu ends if only those are left
 * that it does not have. A half has a size that fits into 64 bits.
 */
#define TAP_HALVES 2
#define TAP_SIZE ((uint64_t)1 << 63)

/* The most switches below each other that a trace knows */
#define DEPTH_MAX 32

/* Behind the AER capability of QEMU's port */
#define ACS_OFFSET 0x148
/*
 * The port's abilities. No function can have a Requester ID that is not its
 * own here, and completions follow their requests, so the bits of Source
 * Validation, P2P Completion Redirect and Upstream Forwarding change nothing.
 */
#define ACS_BITS (PCI_ACS_SV | PCI_ACS_RR | PCI_ACS_CR | PCI_ACS_UF)

OBJECT_DECLARE_SIMPLE_TYPE(Downstream, FARSIDE_SWITCH_DOWNSTREAM)

struct Downstream {
    PCIESlot parent_obj;
    bool acs;
    bool redirect;
    FarsideSwitchLink *link; /* to what is below it */
    FarsideSwitchTap *tap;
    char *trace;
};

OBJECT_DECLARE_SIMPLE_TYPE(Upstream, FARSIDE_SWITCH_UPSTREAM)

struct Upstream {
    PCIEPort parent_obj;
    /*
     * To the root port; NULL if the port is below another switch, whose
     * Downstream Port has the link
     */
    FarsideSwitchLink *link;
    FarsideSwitchTap *tap;
    char *trace;
};

/*
 * A function below a Downstream Port. It is a child of its bus, so it goes with
 * the bus. With a switch below another one it has one of these for each.
 */
OBJECT_DECLARE_SIMPLE_TYPE(Function, FARSIDE_SWITCH_FUNCTION)

struct Function {
    Object parent_obj;
    Downstream *port;
    PCIBus *bus;
    int devfn;
    MemoryRegion root;
    MemoryRegion up;    /* requests that go to the port above */
    MemoryRegion ports; /* ranges of the switch's Downstream Ports */
    MemoryRegion own[FARSIDE_SWITCH_RANGES]; /* those of `port` itself */
    AddressSpace as;
    QLIST_ENTRY(Function) next;
};

/*
 * The first region that a function's DMA comes to. While a link above the
 * function is traced, it records what goes up there.
 */
OBJECT_DECLARE_SIMPLE_TYPE(Entry, FARSIDE_SWITCH_ENTRY)

typedef struct {
    Entry *entry;
    MemoryRegion region;
} EntryTap;

struct Entry {
    Object parent_obj;
    Downstream *port;
    PCIBus *bus;
    int devfn;
    AddressSpace *next;
    MemoryRegion root;
    MemoryRegion through; /* to `next` */
    EntryTap taps[TAP_HALVES]; /* the same, recorded */
    AddressSpace as;
    QLIST_ENTRY(Entry) link;
};

static QLIST_HEAD(, Function) functions = QLIST_HEAD_INITIALIZER(functions);
static QLIST_HEAD(, Entry) entries = QLIST_HEAD_INITIALIZER(entries);

static bool redirects(const Downstream *port)
{
    const uint8_t *config = PCI_DEVICE(port)->config;

    return port->acs &&
           (pci_get_word(config + ACS_OFFSET + PCI_ACS_CTRL) & PCI_ACS_RR);
}

/*
 * A request that would leave through the port by which it came in is an
 * Unsupported Request (PCIe 5.0 s2.3.1).
 */
static void function_update(Function *f)
{
    bool is_direct = !redirects(f->port);
    uint64_t base, size;
    unsigned i;

    memory_region_transaction_begin();
    memory_region_set_enabled(&f->ports, is_direct);
    for (i = 0; i < FARSIDE_SWITCH_RANGES; i++) {
        size = farside_switch_tap_range(PCI_DEVICE(f->port), i, &base);
        farside_switch_tap_place(&f->own[i], is_direct, base, size);
    }
    memory_region_transaction_commit();
}

/* ACS, or a range of @port, may have changed. */
static void ways_changed(Downstream *port)
{
    Function *f;

    QLIST_FOREACH(f, &functions, next) {
        if (f->port == port) {
            function_update(f);
        }
    }
}

/* The address space of a function below @port. @above gets what goes up. */
static AddressSpace *get_function(Downstream *port, PCIBus *bus, int devfn,
                                  AddressSpace *above)
{
    MemoryRegion *ports = pci_get_bus(PCI_DEVICE(port))->address_space_mem;
    g_autofree char *name = NULL;
    unsigned i;
    Function *f;

    QLIST_FOREACH(f, &functions, next) {
        if (f->port == port && f->bus == bus && f->devfn == devfn) {
            return &f->as;
        }
    }
    f = FARSIDE_SWITCH_FUNCTION(object_new(TYPE_FARSIDE_SWITCH_FUNCTION));
    object_property_add_child(OBJECT(bus), TYPE_FARSIDE_SWITCH_FUNCTION "[*]",
                              OBJECT(f));
    object_unref(OBJECT(f));
    f->port = port;
    f->bus = bus;
    f->devfn = devfn;
    name = g_strdup_printf("farside-switch-%02x.%x", PCI_SLOT(devfn),
                           PCI_FUNC(devfn));
    memory_region_init(&f->root, OBJECT(f), name, UINT64_MAX);
    memory_region_init_alias(&f->up, OBJECT(f), "up", above->root, 0,
                             memory_region_size(above->root));
    memory_region_add_subregion_overlap(&f->root, 0, &f->up, 0);
    memory_region_init_alias(&f->ports, OBJECT(f), "ports", ports, 0,
                             memory_region_size(ports));
    memory_region_add_subregion_overlap(&f->root, 0, &f->ports, 1);
    for (i = 0; i < FARSIDE_SWITCH_RANGES; i++) {
        memory_region_init_io(&f->own[i], OBJECT(f),
                              &farside_switch_refused_ops, f, "own", 1);
        memory_region_add_subregion_overlap(&f->root, 0, &f->own[i], 2);
    }
    function_update(f);
    address_space_init(&f->as, &f->root, name);
    QLIST_INSERT_HEAD(&functions, f, next);
    return &f->as;
}

/* The Downstream Port that has the bus of @port's switch below it, or NULL */
static Downstream *port_above(Downstream *port)
{
    PCIDevice *upstream = pci_get_bus(PCI_DEVICE(port))->parent_dev;
    PCIDevice *above = upstream ? pci_get_bus(upstream)->parent_dev : NULL;

    return above ? (Downstream *)object_dynamic_cast(
                       OBJECT(above), TYPE_FARSIDE_SWITCH_DOWNSTREAM)
                 : NULL;
}

static Upstream *upstream_of(Downstream *port)
{
    PCIDevice *pci = pci_get_bus(PCI_DEVICE(port))->parent_dev;

    return pci ? (Upstream *)object_dynamic_cast(OBJECT(pci),
                                                 TYPE_FARSIDE_SWITCH_UPSTREAM)
               : NULL;
}

/* The trace of what goes up */

/* True if a port of @port's switch has @address in its ranges. */
static bool port_claims(Downstream *port, uint64_t address)
{
    PCIBus *bus = pci_get_bus(PCI_DEVICE(port));
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(bus->devices); i++) {
        PCIDevice *pci = bus->devices[i];

        if (pci && object_dynamic_cast(OBJECT(pci), TYPE_PCI_BRIDGE) &&
            farside_switch_tap_claims(pci, address)) {
            return true;
        }
    }
    return false;
}

/*
 * Lists the links that a request of a function below @port goes up, at most
 * DEPTH_MAX. @ret_is_direct: it does not come to the root.
 */
static unsigned links_up(Downstream *port, uint64_t address,
                         FarsideSwitchLink **links, bool *ret_is_direct)
{
    Downstream *above;
    Upstream *top;
    unsigned count = 0;

    links[count++] = port->link;
    for (*ret_is_direct = false; count < DEPTH_MAX; port = above) {
        if (!redirects(port) && port_claims(port, address)) {
            *ret_is_direct = true;
            break;
        }
        above = port_above(port);
        if (!above) {
            top = upstream_of(port);
            if (top && top->link) {
                links[count++] = top->link;
            }
            break;
        }
        links[count++] = above->link;
    }
    return count;
}

static MemTxResult entry_access(Entry *e, hwaddr address, uint8_t *bytes,
                                unsigned size, bool is_write, MemTxAttrs attrs)
{
    const FarsideSwitchRequest request = {
        .is_write = is_write,
        .address = address,
        .size = size,
        .requester_id = PCI_BUILD_BDF(pci_bus_num(e->bus), e->devfn),
    };
    FarsideSwitchLink *links[DEPTH_MAX];
    uint32_t numbers[DEPTH_MAX];
    bool is_direct;
    unsigned count = links_up(e->port, address, links, &is_direct), i;
    uint16_t before;
    MemTxResult result;

    for (i = 0; i < count; i++) {
        if (farside_switch_link_is_on(links[i])) {
            numbers[i] = farside_switch_link_request(
                links[i], FARSIDE_SWITCH_LOWER, &request, bytes);
        } else {
            links[i] = NULL;
        }
    }
    /* The root makes a request of its own (PCIe 5.0 s1.3.1). */
    before = farside_switch_tap_requester(is_direct ? request.requester_id : 0);
    result = address_space_rw(e->next, address, attrs, bytes, size, is_write);
    farside_switch_tap_requester(before);
    for (i = count; i-- > 0;) {
        if (links[i] && !is_write && farside_switch_link_is_on(links[i])) {
            farside_switch_link_complete(links[i], FARSIDE_SWITCH_LOWER,
                                         &request, numbers[i],
                                         result == MEMTX_OK, bytes);
        }
    }
    return result;
}

static MemTxResult entry_read(void *opaque, hwaddr offset, uint64_t *value,
                              unsigned size, MemTxAttrs attrs)
{
    EntryTap *tap = opaque;
    uint8_t bytes[8] = {0};
    MemTxResult result = entry_access(tap->entry, tap->region.addr + offset,
                                      bytes, size, false, attrs);

    *value = ldn_le_p(bytes, size);
    return result;
}

static MemTxResult entry_write(void *opaque, hwaddr offset, uint64_t value,
                               unsigned size, MemTxAttrs attrs)
{
    EntryTap *tap = opaque;
    uint8_t bytes[8];

    stn_le_p(bytes, size, value);
    return entry_access(tap->entry, tap->region.addr + offset, bytes, size,
                        true, attrs);
}

static const MemoryRegionOps entry_ops = {
    .read_with_attrs = entry_read,
    .write_with_attrs = entry_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
    .impl = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
};

/* True if a link is traced on the way from @port to the root. */
static bool is_traced(Downstream *port)
{
    Upstream *top;

    for (;;) {
        if (farside_switch_link_is_on(port->link)) {
            return true;
        }
        if (!port_above(port)) {
            break;
        }
        port = port_above(port);
    }
    top = upstream_of(port);
    return top && top->link && farside_switch_link_is_on(top->link);
}

static void entry_update(Entry *e)
{
    bool traced = is_traced(e->port);
    unsigned i;

    memory_region_transaction_begin();
    for (i = 0; i < TAP_HALVES; i++) {
        memory_region_set_enabled(&e->taps[i].region, traced);
    }
    memory_region_transaction_commit();
}

/* Returns the address space of a function whose DMA goes on to @next. */
static AddressSpace *get_entry(Downstream *port, PCIBus *bus, int devfn,
                               AddressSpace *next)
{
    g_autofree char *name = NULL;
    unsigned i;
    Entry *e;

    QLIST_FOREACH(e, &entries, link) {
        if (e->bus == bus && e->devfn == devfn) {
            /* Another device may be there now, and an NTB has no check. */
            if (e->next != next) {
                memory_region_transaction_begin();
                memory_region_del_subregion(&e->root, &e->through);
                object_unparent(OBJECT(&e->through));
                memory_region_init_alias(&e->through, OBJECT(e), "through",
                                         next->root, 0,
                                         memory_region_size(next->root));
                memory_region_add_subregion_overlap(&e->root, 0, &e->through,
                                                    0);
                memory_region_transaction_commit();
                e->next = next;
            }
            return &e->as;
        }
    }
    e = FARSIDE_SWITCH_ENTRY(object_new(TYPE_FARSIDE_SWITCH_ENTRY));
    object_property_add_child(OBJECT(bus), TYPE_FARSIDE_SWITCH_ENTRY "[*]",
                              OBJECT(e));
    object_unref(OBJECT(e));
    e->port = port;
    e->bus = bus;
    e->devfn = devfn;
    e->next = next;
    name = g_strdup_printf("farside-switch-entry-%02x.%x", PCI_SLOT(devfn),
                           PCI_FUNC(devfn));
    memory_region_init(&e->root, OBJECT(e), name, UINT64_MAX);
    memory_region_init_alias(&e->through, OBJECT(e), "through", next->root, 0,
                             memory_region_size(next->root));
    memory_region_add_subregion_overlap(&e->root, 0, &e->through, 0);
    for (i = 0; i < TAP_HALVES; i++) {
        e->taps[i].entry = e;
        memory_region_init_io(&e->taps[i].region, OBJECT(e), &entry_ops,
                              &e->taps[i], "tap", TAP_SIZE);
        memory_region_add_subregion_overlap(&e->root, i * TAP_SIZE,
                                            &e->taps[i].region, 1);
    }
    entry_update(e);
    address_space_init(&e->as, &e->root, name);
    QLIST_INSERT_HEAD(&entries, e, link);
    return &e->as;
}

static AddressSpace *port_address_space(PCIBus *bus, void *opaque, int devfn)
{
    Downstream *own = opaque, *port;
    PCIBus *root = pci_device_root_bus(PCI_DEVICE(own));
    AddressSpace *as = farside_origin_above(root, bus, devfn);
    g_autoptr(GPtrArray) ports = g_ptr_array_new();
    unsigned i;

    for (port = own; port; port = port_above(port)) {
        g_ptr_array_add(ports, port);
    }
    for (i = ports->len; i > 0; i--) {
        as = get_function(ports->pdata[i - 1], bus, devfn, as);
    }
    return get_entry(own, bus, devfn,
                     farside_origin_before(root, bus, devfn, as));
}

static void function_unparent(Object *obj)
{
    Function *f = FARSIDE_SWITCH_FUNCTION(obj);

    QLIST_REMOVE(f, next);
    farside_space_let_go(&f->as, obj);
}

static void entry_unparent(Object *obj)
{
    Entry *e = FARSIDE_SWITCH_ENTRY(obj);

    QLIST_REMOVE(e, link);
    farside_space_let_go(&e->as, obj);
}

/* The property "trace" of both ports */

#define OTHER_LINK                                                      \
    "the link of this switch belongs to the Downstream Port above it; " \
    "set that port's property 'trace'"

static void trace_set(Object *obj, FarsideSwitchLink *link,
                      FarsideSwitchTap *tap, char **trace, const char *value,
                      Error **errp)
{
    Entry *e;

    /* Before, the trace begins when the port is realized. */
    if (DEVICE(obj)->realized) {
        if (!link) {
            error_setg(errp, OTHER_LINK);
            return;
        }
        if (!farside_switch_link_trace(link, value, errp)) {
            return;
        }
        farside_switch_tap_update(tap);
        memory_region_transaction_begin();
        QLIST_FOREACH(e, &entries, link) {
            entry_update(e);
        }
        memory_region_transaction_commit();
    }
    g_free(*trace);
    *trace = g_strdup(value);
}

static char *downstream_get_trace(Object *obj, Error **errp)
{
    return g_strdup(FARSIDE_SWITCH_DOWNSTREAM(obj)->trace ?: "");
}

static void downstream_set_trace(Object *obj, const char *value, Error **errp)
{
    Downstream *port = FARSIDE_SWITCH_DOWNSTREAM(obj);

    trace_set(obj, port->link, port->tap, &port->trace, value, errp);
}

static char *upstream_get_trace(Object *obj, Error **errp)
{
    return g_strdup(FARSIDE_SWITCH_UPSTREAM(obj)->trace ?: "");
}

static void upstream_set_trace(Object *obj, const char *value, Error **errp)
{
    Upstream *port = FARSIDE_SWITCH_UPSTREAM(obj);

    trace_set(obj, port->link, port->tap, &port->trace, value, errp);
}

/* Both ports as devices */

/* The class of QEMU's port */
static PCIDeviceClass *parent_class_of(const char *type)
{
    ObjectClass *own = object_class_by_name(type);

    return PCI_DEVICE_CLASS(object_class_get_parent(own));
}

/*
 * The port's link, of which @trace is the property; NULL and @errp if there is
 * no such trace. It comes before QEMU's own port, so that nothing fails after
 * that: QEMU 7.2 uses regions of a bridge that it has freed, if the bridge goes
 * at once.
 */
static FarsideSwitchLink *open_link(PCIDevice *pci, const char *trace,
                                    Error **errp)
{
    FarsideSwitchLink *link = farside_switch_link_new(pci);

    if (!farside_switch_link_trace(link, trace, errp)) {
        g_clear_pointer(&link, farside_switch_link_free);
    }
    return link;
}

static void downstream_reset(DeviceState *dev)
{
    Downstream *port = FARSIDE_SWITCH_DOWNSTREAM(dev);
    PCIDevice *pci = PCI_DEVICE(dev);

    farside_qemu_get_reset(
        DEVICE_CLASS(parent_class_of(TYPE_FARSIDE_SWITCH_DOWNSTREAM)))(dev);
    if (port->acs) {
        pci_set_word(pci->config + ACS_OFFSET + PCI_ACS_CTRL,
                     port->redirect ? PCI_ACS_RR | PCI_ACS_CR : 0);
    }
    ways_changed(port);
    farside_switch_tap_update(port->tap);
}

static void downstream_write_config(PCIDevice *pci, uint32_t address,
                                    uint32_t value, int size)
{
    Downstream *port = FARSIDE_SWITCH_DOWNSTREAM(pci);

    parent_class_of(TYPE_FARSIDE_SWITCH_DOWNSTREAM)
        ->config_write(pci, address, value, size);
    ways_changed(port);
    farside_switch_tap_update(port->tap);
}

static void downstream_realize(PCIDevice *pci, Error **errp)
{
    Downstream *port = FARSIDE_SWITCH_DOWNSTREAM(pci);
    ERRP_GUARD();

    if (port->redirect && !port->acs) {
        error_setg(errp, "redirect=on needs acs=on");
        return;
    }
    port->link = open_link(pci, port->trace, errp);
    if (!port->link) {
        return;
    }
    parent_class_of(TYPE_FARSIDE_SWITCH_DOWNSTREAM)->realize(pci, errp);
    if (*errp) {
        g_clear_pointer(&port->link, farside_switch_link_free);
        return;
    }
    if (port->acs) {
        pcie_add_capability(pci, PCI_EXT_CAP_ID_ACS, 1, ACS_OFFSET,
                            PCI_ACS_SIZEOF);
        pci_set_word(pci->config + ACS_OFFSET + PCI_ACS_CAP, ACS_BITS);
        pci_set_word(pci->wmask + ACS_OFFSET + PCI_ACS_CTRL, ACS_BITS);
    }
    farside_qemu_set_iommu(pci_bridge_get_sec_bus(PCI_BRIDGE(pci)),
                           port_address_space, port);
    port->tap = farside_switch_tap_new(pci, port->link);
}

static void downstream_exit(PCIDevice *pci)
{
    Downstream *port = FARSIDE_SWITCH_DOWNSTREAM(pci);

    farside_switch_tap_free(port->tap);
    farside_switch_link_free(port->link);
    parent_class_of(TYPE_FARSIDE_SWITCH_DOWNSTREAM)->exit(pci);
}

static void upstream_reset(DeviceState *dev)
{
    Upstream *port = FARSIDE_SWITCH_UPSTREAM(dev);

    farside_qemu_get_reset(
        DEVICE_CLASS(parent_class_of(TYPE_FARSIDE_SWITCH_UPSTREAM)))(dev);
    if (port->tap) {
        farside_switch_tap_update(port->tap);
    }
}

static void upstream_write_config(PCIDevice *pci, uint32_t address,
                                  uint32_t value, int size)
{
    Upstream *port = FARSIDE_SWITCH_UPSTREAM(pci);

    parent_class_of(TYPE_FARSIDE_SWITCH_UPSTREAM)
        ->config_write(pci, address, value, size);
    if (port->tap) {
        farside_switch_tap_update(port->tap);
    }
}

static void upstream_realize(PCIDevice *pci, Error **errp)
{
    Upstream *port = FARSIDE_SWITCH_UPSTREAM(pci);
    PCIDevice *above = pci_get_bus(pci)->parent_dev;
    ERRP_GUARD();

    if (above &&
        object_dynamic_cast(OBJECT(above), TYPE_FARSIDE_SWITCH_DOWNSTREAM)) {
        if (port->trace) {
            error_setg(errp, OTHER_LINK);
            return;
        }
    } else {
        port->link = open_link(pci, port->trace, errp);
        if (!port->link) {
            return;
        }
    }
    parent_class_of(TYPE_FARSIDE_SWITCH_UPSTREAM)->realize(pci, errp);
    if (*errp) {
        g_clear_pointer(&port->link, farside_switch_link_free);
    } else if (port->link) {
        port->tap = farside_switch_tap_new(pci, port->link);
    }
}

static void upstream_exit(PCIDevice *pci)
{
    Upstream *port = FARSIDE_SWITCH_UPSTREAM(pci);

    farside_switch_tap_free(port->tap);
    farside_switch_link_free(port->link);
    parent_class_of(TYPE_FARSIDE_SWITCH_UPSTREAM)->exit(pci);
}

/*
 * Before 10.0 a virtual function is a new device when software enables it.
 * Nobody puts it into the slot, so it does not matter if the slot can have
 * devices plugged in. QEMU's own port would refuse it.
 */
static void downstream_pre_plug(HotplugHandler *handler, DeviceState *dev,
                                Error **errp)
{
    ObjectClass *parent =
        OBJECT_CLASS(parent_class_of(TYPE_FARSIDE_SWITCH_DOWNSTREAM));

    if (!pci_is_vf(PCI_DEVICE(dev))) {
        HOTPLUG_HANDLER_CLASS(parent)->pre_plug(handler, dev, errp);
    }
}

static const Property downstream_properties[] = {
    DEFINE_PROP_BOOL("acs", Downstream, acs, true),
    DEFINE_PROP_BOOL("redirect", Downstream, redirect, false),
};

static void downstream_class_init(ObjectClass *klass, FarsideClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);

    HOTPLUG_HANDLER_CLASS(klass)->pre_plug = downstream_pre_plug;
    pc->realize = downstream_realize;
    pc->exit = downstream_exit;
    pc->config_write = downstream_write_config;
    dc->desc = "Downstream Port of a switch with ACS";
    device_class_set_legacy_reset(dc, downstream_reset);
    device_class_set_props(dc, downstream_properties);
    object_class_property_add_str(klass, "trace", downstream_get_trace,
                                  downstream_set_trace);
}

static void downstream_finalize(Object *obj)
{
    g_free(FARSIDE_SWITCH_DOWNSTREAM(obj)->trace);
}

static const TypeInfo downstream_info = {
    .name = TYPE_FARSIDE_SWITCH_DOWNSTREAM,
    .parent = "xio3130-downstream",
    .instance_size = sizeof(Downstream),
    .instance_finalize = downstream_finalize,
    .class_init = downstream_class_init,
};

static void upstream_class_init(ObjectClass *klass, FarsideClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);

    pc->realize = upstream_realize;
    pc->exit = upstream_exit;
    pc->config_write = upstream_write_config;
    dc->desc = "Upstream Port of a switch";
    device_class_set_legacy_reset(dc, upstream_reset);
    object_class_property_add_str(klass, "trace", upstream_get_trace,
                                  upstream_set_trace);
}

static void upstream_finalize(Object *obj)
{
    g_free(FARSIDE_SWITCH_UPSTREAM(obj)->trace);
}

static const TypeInfo upstream_info = {
    .name = TYPE_FARSIDE_SWITCH_UPSTREAM,
    .parent = "x3130-upstream",
    .instance_size = sizeof(Upstream),
    .instance_finalize = upstream_finalize,
    .class_init = upstream_class_init,
};

static void function_class_init(ObjectClass *klass, FarsideClassData *data)
{
    klass->unparent = function_unparent;
}

static const TypeInfo function_info = {
    .name = TYPE_FARSIDE_SWITCH_FUNCTION,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(Function),
    .class_init = function_class_init,
};

static void entry_class_init(ObjectClass *klass, FarsideClassData *data)
{
    klass->unparent = entry_unparent;
}

static const TypeInfo entry_info = {
    .name = TYPE_FARSIDE_SWITCH_ENTRY,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(Entry),
    .class_init = entry_class_init,
};

void farside_switch_register_types(void)
{
    farside_switch_tap_register_type();
    type_register_static(&function_info);
    type_register_static(&entry_info);
    type_register_static(&upstream_info);
    type_register_static(&downstream_info);
}

type_init(farside_switch_register_types)
