/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/queue.h"
#include "hw/i386/intel_iommu.h"
#include "hw/i386/x86-iommu.h"
#include "farside_access.h"
#include "farside_config.h"
#include "farside_origin.h"
#include "farside_qemu.h"
#include "farside_space.h"
#include "farside_switch_tap.h"
#include "farside_windows.h"

#define TYPE_FARSIDE_ORIGIN "farside-origin"
#define TYPE_FARSIDE_ORIGIN_FUNCTION "farside-origin-function"

/* Addresses of interrupt messages */
#define INTERRUPTS ((uint64_t)0xfee00000)
#define INTERRUPTS_SIZE ((uint64_t)0x100000)
/* VT-d 5.1.2: the interrupt format; 0 is the compatibility format */
#define INTERRUPT_REMAPPABLE 0x10

/* The most translations on the way of an access, the NTB's not included */
#define STEPS_MAX 4

/* The functions below one root bus, and the translation that they had before */
typedef struct Root {
    PCIBus *bus;
    FarsideIommu below;
    QLIST_ENTRY(Root) next;
} Root;

/*
 * A function. It is a child of its bus, so it goes with the bus, when a bridge
 * is unplugged.
 */
OBJECT_DECLARE_SIMPLE_TYPE(Function, FARSIDE_ORIGIN_FUNCTION)

struct Function {
    Object parent_obj;
    PCIBus *bus;
    int devfn;
    AddressSpace *below; /* the function's address space without the check */
    IOMMUMemoryRegion iommu;
    AddressSpace as;
    MemoryRegion messages; /* the function's messages */
    MemoryRegion messages_root;
    AddressSpace messages_as;
    QLIST_ENTRY(Function) next;
};

static bool checks_interrupts;

static QLIST_HEAD(, Root) roots = QLIST_HEAD_INITIALIZER(roots);
static QLIST_HEAD(, Function) functions = QLIST_HEAD_INITIALIZER(functions);

static uint16_t id_of(const Function *f)
{
    return PCI_BUILD_BDF(pci_bus_num(f->bus), f->devfn);
}

/* Interrupt messages */

static bool compatibility_is_blocked(void)
{
    X86IOMMUState *iommu = x86_iommu_get_default();

    return iommu &&
           object_dynamic_cast(OBJECT(iommu), TYPE_INTEL_IOMMU_DEVICE) &&
           INTEL_IOMMU_DEVICE(iommu)->intr_enabled;
}

static MemTxResult message_read(void *opaque, hwaddr offset, uint64_t *value,
                                unsigned size, MemTxAttrs attrs)
{
    return MEMTX_ERROR;
}

/*
 * QEMU knows the Requester ID of a message that a function's MSI capability
 * makes, but not that of a DMA write. Its intel-iommu lets a message without an
 * ID pass, and one in compatibility format, which Linux forbids (VT-d 5.1.4,
 * Compatibility Format Interrupts).
 */
static MemTxResult message_write(void *opaque, hwaddr offset, uint64_t value,
                                 unsigned size, MemTxAttrs attrs)
{
    Function *f = opaque;

    if (attrs.unspecified) {
        attrs = (MemTxAttrs){.requester_id = id_of(f)};
    }
    if (size != 4 || (!(offset & INTERRUPT_REMAPPABLE) &&
                      compatibility_is_blocked())) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "%s: %02x:%02x.%x: an interrupt message that is not "
                      "remapped, to 0x%" PRIx64 ", is blocked\n",
                      TYPE_FARSIDE_ORIGIN, id_of(f) >> 8, PCI_SLOT(f->devfn),
                      PCI_FUNC(f->devfn), INTERRUPTS + offset);
        return MEMTX_ERROR;
    }
    return address_space_write(f->below, INTERRUPTS + offset, attrs, &value,
                               size);
}

static const MemoryRegionOps message_ops = {
    .read_with_attrs = message_read,
    .write_with_attrs = message_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
    .impl = {.min_access_size = 4, .max_access_size = 4, .unaligned = true},
};

static void messages_init(Function *f, const char *name)
{
    memory_region_init(&f->messages_root, OBJECT(f), name, UINT64_MAX);
    memory_region_init_io(&f->messages, OBJECT(f), &message_ops, f, name,
                          INTERRUPTS_SIZE);
    memory_region_add_subregion(&f->messages_root, INTERRUPTS, &f->messages);
    address_space_init(&f->messages_as, &f->messages_root, name);
}

/*
 * The largest of a few aligned blocks around @addr that one region fills, less
 * 1, and at least a page. A device maps a long run at once only if its block is
 * large.
 */
static hwaddr block_mask(MemoryRegion *root, hwaddr addr, hwaddr limit)
{
    static const uint8_t shifts[] = {30, 24, 21, 16, 12};
    MemoryRegionSection found;
    hwaddr mask, start;
    bool whole;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(shifts); i++) {
        mask = MAKE_64BIT_MASK(0, shifts[i]);
        if (mask > limit) {
            continue;
        }
        start = addr & ~mask;
        found = memory_region_find(root, start, mask + 1);
        if (!found.mr) {
            continue;
        }
        whole = found.offset_within_address_space == start &&
                int128_eq(found.size, int128_make64(mask + 1));
        memory_region_unref(found.mr);
        if (whole) {
            return mask;
        }
    }
    /* A page of several regions: the next translation tells them apart. */
    return MIN(limit, MAKE_64BIT_MASK(0, 12));
}

/*
 * Follows @addr through IOMMUs, up to the region that it leads to or to a
 * window. May run without the big lock, under RCU.
 */
static IOMMUTLBEntry origin_translate(IOMMUMemoryRegion *iommu, hwaddr addr,
                                      IOMMUAccessFlags flag, int iommu_idx)
{
    Function *f = container_of(iommu, Function, iommu);
    IOMMUTLBEntry entry = {
        .target_as = f->below,
        .translated_addr = addr,
        .addr_mask = MAKE_64BIT_MASK(0, 30),
        .perm = IOMMU_RW,
    };
    IOMMUMemoryRegionClass *imrc;
    IOMMUMemoryRegion *inner;
    MemoryRegionSection found;
    IOMMUTLBEntry step;
    bool is_window;
    unsigned i;

    if (checks_interrupts && addr >= INTERRUPTS &&
        addr < INTERRUPTS + INTERRUPTS_SIZE) {
        entry.target_as = &f->messages_as;
        entry.addr_mask = INTERRUPTS_SIZE - 1;
        entry.iova = INTERRUPTS;
        entry.translated_addr = INTERRUPTS;
        return entry;
    }
    /* A larger block might hide these addresses. */
    if (checks_interrupts && addr >> 30 == INTERRUPTS >> 30) {
        entry.addr_mask = INTERRUPTS_SIZE - 1;
    }
    for (i = 0; i < STEPS_MAX; i++) {
        MemoryRegion *root = entry.target_as->root;

        found = memory_region_find(root, entry.translated_addr, 1);
        farside_switch_tap_pass(&found);
        inner = found.mr ? memory_region_get_iommu(found.mr) : NULL;
        is_window = found.mr && farside_windows_own(found.mr);
        if (!inner || is_window) {
            if (is_window && !farside_windows_admit(found.mr, id_of(f))) {
                entry.perm = IOMMU_NONE;
            }
            if (is_window) {
                farside_access_begin(f->bus, f->devfn);
            }
            if (found.mr) {
                memory_region_unref(found.mr);
            }
            entry.addr_mask =
                block_mask(root, entry.translated_addr, entry.addr_mask);
            break;
        }
        imrc = memory_region_get_iommu_class_nocheck(inner);
        step = imrc->translate(inner, found.offset_within_region, flag, 0);
        memory_region_unref(found.mr);
        entry.target_as = step.target_as;
        entry.translated_addr =
            (step.translated_addr & ~step.addr_mask) |
            (found.offset_within_region & step.addr_mask);
        entry.addr_mask &= step.addr_mask;
        entry.perm &= step.perm;
        if (!(entry.perm & flag)) {
            break;
        }
    }
    entry.iova = addr & ~entry.addr_mask;
    entry.translated_addr &= ~entry.addr_mask;
    return entry;
}

/*
 * True if the function is an NTB. One that is plugged in now is not in the
 * bus's table of functions yet.
 */
static bool is_ntb(PCIBus *bus, int devfn)
{
    BusChild *kid;

    QTAILQ_FOREACH(kid, &BUS(bus)->children, sibling) {
        if (PCI_DEVICE(kid->child)->devfn == devfn &&
            object_dynamic_cast(OBJECT(kid->child), TYPE_FARSIDE_NTB)) {
            return true;
        }
    }
    return false;
}

/* The address space of a function whose accesses go on to @below */
static AddressSpace *function_space(PCIBus *bus, int devfn, AddressSpace *below)
{
    g_autofree char *name = NULL;
    Function *f;

    if (is_ntb(bus, devfn)) {
        return below;
    }
    QLIST_FOREACH(f, &functions, next) {
        if (f->bus == bus && f->devfn == devfn) {
            f->below = below;
            return &f->as;
        }
    }
    f = FARSIDE_ORIGIN_FUNCTION(object_new(TYPE_FARSIDE_ORIGIN_FUNCTION));
    object_property_add_child(OBJECT(bus), TYPE_FARSIDE_ORIGIN_FUNCTION "[*]",
                              OBJECT(f));
    object_unref(OBJECT(f));
    f->bus = bus;
    f->devfn = devfn;
    f->below = below;
    name = g_strdup_printf("farside-origin-%02x.%x", PCI_SLOT(devfn),
                           PCI_FUNC(devfn));
    memory_region_init_iommu(&f->iommu, sizeof(f->iommu), TYPE_FARSIDE_ORIGIN,
                             OBJECT(f), name, UINT64_MAX);
    address_space_init(&f->as, MEMORY_REGION(&f->iommu), name);
    messages_init(f, name);
    QLIST_INSERT_HEAD(&functions, f, next);
    return &f->as;
}

static AddressSpace *origin_address_space(PCIBus *bus, void *opaque, int devfn)
{
    Root *root = opaque;

    return function_space(bus, devfn,
                          farside_qemu_ask_iommu(&root->below, bus, devfn));
}

static Root *find_root(PCIBus *bus)
{
    Root *root;

    QLIST_FOREACH(root, &roots, next) {
        if (root->bus == bus) {
            return root;
        }
    }
    return NULL;
}

AddressSpace *farside_origin_above(PCIBus *root_bus, PCIBus *bus, int devfn)
{
    Root *root = find_root(root_bus);
    FarsideIommu iommu = root ? root->below : farside_qemu_get_iommu(root_bus);

    return farside_qemu_ask_iommu(&iommu, bus, devfn);
}

AddressSpace *farside_origin_before(PCIBus *root_bus, PCIBus *bus, int devfn,
                                    AddressSpace *below)
{
    return find_root(root_bus) ? function_space(bus, devfn, below) : below;
}

static void function_unparent(Object *obj)
{
    Function *f = FARSIDE_ORIGIN_FUNCTION(obj);

    QLIST_REMOVE(f, next);
    farside_space_let_go(&f->as, obj);
    farside_space_let_go(&f->messages_as, obj);
}

void farside_origin_check_interrupts(void)
{
    checks_interrupts = true;
}

void farside_origin_watch(PCIDevice *pci)
{
    PCIBus *bus = pci_device_root_bus(pci);
    Root *root = find_root(bus);

    if (root) {
        return;
    }
    root = g_new0(Root, 1);
    root->bus = bus;
    root->below = farside_qemu_get_iommu(bus);
    QLIST_INSERT_HEAD(&roots, root, next);
    farside_qemu_set_iommu(bus, origin_address_space, root);
}

static int origin_attrs_to_index(IOMMUMemoryRegion *iommu, MemTxAttrs attrs)
{
    return 0;
}

static int origin_num_indexes(IOMMUMemoryRegion *iommu)
{
    return 1;
}

static void origin_class_init(ObjectClass *klass, FarsideClassData *data)
{
    IOMMUMemoryRegionClass *imrc = IOMMU_MEMORY_REGION_CLASS(klass);

    imrc->translate = origin_translate;
    imrc->attrs_to_index = origin_attrs_to_index;
    imrc->num_indexes = origin_num_indexes;
}

static const TypeInfo origin_info = {
    .name = TYPE_FARSIDE_ORIGIN,
    .parent = TYPE_IOMMU_MEMORY_REGION,
    .instance_size = sizeof(IOMMUMemoryRegion),
    .class_init = origin_class_init,
};

static void function_class_init(ObjectClass *klass, FarsideClassData *data)
{
    klass->unparent = function_unparent;
}

static const TypeInfo function_info = {
    .name = TYPE_FARSIDE_ORIGIN_FUNCTION,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(Function),
    .class_init = function_class_init,
};

void farside_origin_register_types(void)
{
    type_register_static(&function_info);
    type_register_static(&origin_info);
}
