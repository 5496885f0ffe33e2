/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/queue.h"
#include "qemu/rcu.h"
#include "farside_qemu.h"
#include "hw/pci/pcie_port.h"
#include "farside_origin.h"
#include "farside_switch.h"

#define TYPE_FARSIDE_SWITCH_UPSTREAM "farside-switch-upstream"
#define TYPE_FARSIDE_SWITCH_DOWNSTREAM "farside-switch-downstream"
#define TYPE_FARSIDE_SWITCH_FUNCTION "farside-switch-function"

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
    AddressSpace as;
    QLIST_ENTRY(Function) next;
};

static QLIST_HEAD(, Function) functions = QLIST_HEAD_INITIALIZER(functions);

static bool redirects(const Downstream *port)
{
    const uint8_t *config = PCI_DEVICE(port)->config;

    return port->acs &&
           (pci_get_word(config + ACS_OFFSET + PCI_ACS_CTRL) & PCI_ACS_RR);
}

static void redirect_changed(Downstream *port)
{
    Function *f;

    QLIST_FOREACH(f, &functions, next) {
        if (f->port == port) {
            memory_region_set_enabled(&f->ports, !redirects(port));
        }
    }
}

/* The address space of a function below @port. @above gets what goes up. */
static AddressSpace *get_function(Downstream *port, PCIBus *bus, int devfn,
                                  AddressSpace *above)
{
    MemoryRegion *ports = pci_get_bus(PCI_DEVICE(port))->address_space_mem;
    g_autofree char *name = NULL;
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
    memory_region_set_enabled(&f->ports, !redirects(port));
    memory_region_add_subregion_overlap(&f->root, 0, &f->ports, 1);
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

static AddressSpace *port_address_space(PCIBus *bus, void *opaque, int devfn)
{
    Downstream *port = opaque;
    PCIBus *root = pci_device_root_bus(PCI_DEVICE(port));
    AddressSpace *as = farside_origin_above(root, bus, devfn);
    g_autoptr(GPtrArray) ports = g_ptr_array_new();
    unsigned i;

    for (; port; port = port_above(port)) {
        g_ptr_array_add(ports, port);
    }
    for (i = ports->len; i > 0; i--) {
        as = get_function(ports->pdata[i - 1], bus, devfn, as);
    }
    return farside_origin_before(root, bus, devfn, as);
}

/* A function that lives until the end of an RCU grace period */
typedef struct {
    struct rcu_head rcu;
    Function *function;
} Last;

static void last_free(Last *last)
{
    object_unref(OBJECT(last->function));
    g_free(last);
}

/* The bus is gone. The address space goes after an RCU grace period. */
static void function_unparent(Object *obj)
{
    Function *f = FARSIDE_SWITCH_FUNCTION(obj);
    Last *last = g_new0(Last, 1);

    QLIST_REMOVE(f, next);
    object_ref(obj);
    address_space_destroy(&f->as);
    last->function = f;
    call_rcu(last, last_free, rcu);
}

/* The Downstream Port as a device */

static PCIDeviceClass *parent_class_of(PCIDevice *pci)
{
    ObjectClass *own = object_class_by_name(TYPE_FARSIDE_SWITCH_DOWNSTREAM);

    return PCI_DEVICE_CLASS(object_class_get_parent(own));
}

static void downstream_reset(DeviceState *dev)
{
    Downstream *port = FARSIDE_SWITCH_DOWNSTREAM(dev);
    PCIDevice *pci = PCI_DEVICE(dev);

    farside_qemu_get_reset(DEVICE_CLASS(parent_class_of(pci)))(dev);
    if (port->acs) {
        pci_set_word(pci->config + ACS_OFFSET + PCI_ACS_CTRL,
                     port->redirect ? PCI_ACS_RR | PCI_ACS_CR : 0);
    }
    redirect_changed(port);
}

static void downstream_write_config(PCIDevice *pci, uint32_t address,
                                    uint32_t value, int size)
{
    parent_class_of(pci)->config_write(pci, address, value, size);
    redirect_changed(FARSIDE_SWITCH_DOWNSTREAM(pci));
}

static void downstream_realize(PCIDevice *pci, Error **errp)
{
    Downstream *port = FARSIDE_SWITCH_DOWNSTREAM(pci);
    uint8_t *acs = pci->config + ACS_OFFSET;
    ERRP_GUARD();

    if (port->redirect && !port->acs) {
        error_setg(errp, "redirect=on needs acs=on");
        return;
    }
    parent_class_of(pci)->realize(pci, errp);
    if (*errp) {
        return;
    }
    if (port->acs) {
        pcie_add_capability(pci, PCI_EXT_CAP_ID_ACS, 1, ACS_OFFSET,
                            PCI_ACS_SIZEOF);
        pci_set_word(acs + PCI_ACS_CAP, ACS_BITS);
        pci_set_word(pci->wmask + ACS_OFFSET + PCI_ACS_CTRL, ACS_BITS);
    }
    farside_qemu_set_iommu(pci_bridge_get_sec_bus(PCI_BRIDGE(pci)),
                           port_address_space, port);
}

static const Property downstream_properties[] = {
    DEFINE_PROP_BOOL("acs", Downstream, acs, true),
    DEFINE_PROP_BOOL("redirect", Downstream, redirect, false),
};

static void downstream_class_init(ObjectClass *klass, FarsideClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);

    pc->realize = downstream_realize;
    pc->config_write = downstream_write_config;
    dc->desc = "Downstream Port of a switch with ACS";
    device_class_set_legacy_reset(dc, downstream_reset);
    device_class_set_props(dc, downstream_properties);
}

static const TypeInfo downstream_info = {
    .name = TYPE_FARSIDE_SWITCH_DOWNSTREAM,
    .parent = "xio3130-downstream",
    .instance_size = sizeof(Downstream),
    .class_init = downstream_class_init,
};

static const TypeInfo upstream_info = {
    .name = TYPE_FARSIDE_SWITCH_UPSTREAM,
    .parent = "x3130-upstream",
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

void farside_switch_register_types(void)
{
    type_register_static(&function_info);
    type_register_static(&upstream_info);
    type_register_static(&downstream_info);
}

type_init(farside_switch_register_types)
