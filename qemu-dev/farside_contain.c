/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "farside_config.h"
#include "farside_contain.h"
#include "farside_qemu.h"

typedef struct {
    uint16_t id;
    bool is_known;
    bool is_engaged; /* only functions whose code is under way count */
    bool found;      /* such a function, of any kind */
    unsigned bar;
    uint64_t offset;
} Search;

static bool has_bus_mastering(const PCIDevice *pci)
{
    return pci_get_word(pci->config + PCI_COMMAND) & PCI_COMMAND_MASTER;
}

/* The command register keeps its value: software writes it to go on. */
static void contain(PCIDevice *pci, const Search *s)
{
    if (!has_bus_mastering(pci) || !pci->bus_master_enable_region.enabled) {
        return;
    }
    memory_region_set_enabled(&pci->bus_master_enable_region, false);
    warn_report("%s: %02x:%02x.%x (nvme) has read BAR %u at 0x%" PRIx64
                ", and got no data from the peer: the controller has no bus "
                "mastering until it is reset",
                TYPE_FARSIDE_NTB, pci_bus_num(pci_get_bus(pci)),
                PCI_SLOT(pci->devfn), PCI_FUNC(pci->devfn), s->bar, s->offset);
}

static int look_at(Object *object, void *opaque)
{
    PCIDevice *pci = (PCIDevice *)object_dynamic_cast(object, TYPE_PCI_DEVICE);
    Search *s = opaque;

    if (!pci || !DEVICE(pci)->realized ||
        object_dynamic_cast(object, TYPE_FARSIDE_NTB) ||
        (s->is_known && pci_get_bdf(pci) != s->id) ||
        (s->is_engaged && !DEVICE(pci)->mem_reentrancy_guard.engaged_in_io)) {
        return 0;
    }
    s->found = true;
    if (object_dynamic_cast(object, "nvme")) {
        contain(pci, s);
    }
    return 0;
}

/*
 * Without its Requester ID, the function is one whose code QEMU knows to be
 * under way. If there is none, a request of a drive goes on in the block layer.
 */
void farside_contain(uint16_t id, bool is_known, unsigned bar, uint64_t offset)
{
    Search s = {.id = id,
                .is_known = is_known,
                .is_engaged = !is_known,
                .bar = bar,
                .offset = offset};

    object_child_foreach_recursive(object_get_root(), look_at, &s);
    if (!s.found && !is_known) {
        s.is_engaged = false;
        object_child_foreach_recursive(object_get_root(), look_at, &s);
    }
}

void farside_contain_end(PCIDevice *controller)
{
    memory_region_set_enabled(&controller->bus_master_enable_region,
                              has_bus_mastering(controller));
}
