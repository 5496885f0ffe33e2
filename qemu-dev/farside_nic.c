/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A network card with header split and flow steering, whose queues start and
 * stop one by one. docs/reference/nic.md is the specification.
 *
 * This file has the PCI device and the registers of its functions. See
 * farside_nic_priv.h for the others.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/module.h"
#include "qapi/error.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "migration/vmstate.h"
#include "farside_nic.h"
#include "farside_nic_priv.h"
#include "farside_qemu.h"
#include "farside_time.h"

#define TYPE_FARSIDE_NIC "farside-nic"
OBJECT_DECLARE_SIMPLE_TYPE(FarsideNic, FARSIDE_NIC)

#define MSIX_SIZE 0x1000
#define MSIX_PBA  0x800

/* Places of the extended capabilities */
#define CAP_ARI    0x100
#define CAP_AER    0x110
#define CAP_SERIAL 0x160
#define CAP_SRIOV  0x180

#define VF_OFFSET 1
#define VF_STRIDE 1

struct FarsideNic {
    PCIDevice parent_obj;

    NICConf conf;
    uint64_t serial;
    uint8_t vfs;

    MemoryRegion regs;
    MemoryRegion msix;
    FarsideNicCard *card; /* NULL: a virtual function */
    FarsideNicFunction *function;
};

/* Tables of registers */

static uint32_t read_stat(const FarsideNicFunction *f, unsigned offset)
{
    return f->stat[offset / 8] >> (offset & 4 ? 32 : 0);
}

static uint32_t *rule_register(FarsideNicFunction *f, unsigned offset)
{
    FarsideNicRule *rule = &f->rule[offset / NIC_RULE_STRIDE];

    switch (offset % NIC_RULE_STRIDE) {
    case NIC_RULE_SRC:
        return &rule->source;
    case NIC_RULE_DST:
        return &rule->destination;
    case NIC_RULE_PORTS:
        return &rule->ports;
    default:
        return &rule->action;
    }
}

static void write_rule(FarsideNicFunction *f, unsigned offset, uint32_t value)
{
    const uint32_t action =
        NIC_ACTION_QUEUE | NIC_ACTION_VALID | NIC_ACTION_MATCH_SRC |
        NIC_ACTION_MATCH_DST | NIC_ACTION_MATCH_SPORT | NIC_ACTION_MATCH_DPORT |
        NIC_ACTION_DROP | NIC_ACTION_TCP | NIC_ACTION_UDP;

    *rule_register(f, offset) =
        offset % NIC_RULE_STRIDE == NIC_RULE_ACTION ? value & action : value;
}

/* Half of an address: bytes 0 to 3, or 4 and 5 */
static uint32_t read_mac(const uint8_t *mac, unsigned offset)
{
    return offset & 4 ? lduw_le_p(mac + 4) : ldl_le_p(mac);
}

static void write_mac(FarsideNicFunction *f, unsigned number, unsigned offset,
                      uint32_t value)
{
    uint8_t mac[NIC_MAC_BYTES];

    if (!f->card || f->is_virtual) {
        return;
    }
    memcpy(mac, farside_nic_card_mac(f->card, number), sizeof(mac));
    if (offset & 4) {
        stw_le_p(mac + 4, value);
    } else {
        stl_le_p(mac, value);
    }
    farside_nic_card_set_mac(f->card, number, mac);
}

/* Bits of ERRORS */
static uint32_t read_errors(const FarsideNicFunction *f)
{
    uint32_t errors = 0;
    unsigned i;

    for (i = 0; i < f->queues; i++) {
        errors |= f->rx[i].error ? NIC_ERRORS_RX(i) : 0;
        errors |= f->tx[i].error ? NIC_ERRORS_TX(i) : 0;
    }
    return errors;
}

/* The queue of a register, or NULL. */
static FarsideNicRing *find_queue(FarsideNicFunction *f, unsigned offset)
{
    unsigned queue = offset % NIC_RX / NIC_QUEUE_STRIDE;

    if (offset < NIC_RX || offset >= NIC_TX + NIC_RX || queue >= f->queues) {
        return NULL;
    }
    return offset < NIC_TX ? &f->rx[queue] : &f->tx[queue];
}

static bool is_in(unsigned offset, unsigned begin, unsigned size)
{
    return offset >= begin && offset < begin + size;
}

/* Registers */

static uint32_t read_table(FarsideNicFunction *f, unsigned offset)
{
    if (is_in(offset, NIC_KEY, NIC_KEY_SIZE)) {
        return ldl_le_p(f->key + offset - NIC_KEY);
    }
    if (is_in(offset, NIC_VF_MAC, 8 * NIC_VFS_MAX)) {
        return f->card && !f->is_virtual
                   ? read_mac(farside_nic_card_mac(
                                  f->card, 1 + (offset - NIC_VF_MAC) / 8),
                              offset)
                   : 0;
    }
    if (is_in(offset, NIC_INDIR, 4 * NIC_INDIR_ENTRIES)) {
        return f->indir[(offset - NIC_INDIR) / 4];
    }
    if (is_in(offset, NIC_RULE, NIC_RULE_STRIDE * NIC_RULE_COUNT)) {
        return *rule_register(f, offset - NIC_RULE);
    }
    if (is_in(offset, NIC_STAT, 8 * NIC_STATS)) {
        return read_stat(f, offset - NIC_STAT);
    }
    return 0;
}

static uint64_t farside_nic_bar_read(void *opaque, hwaddr offset,
                                     unsigned size)
{
    FarsideNicFunction *f = FARSIDE_NIC(opaque)->function;
    const FarsideNicRing *q = find_queue(f, offset);

    if (q) {
        return farside_nic_ring_read(q, offset % NIC_QUEUE_STRIDE);
    }
    switch (offset) {
    case NIC_ID:
        return NIC_ID_VALUE;
    case NIC_VERSION:
        return NIC_VERSION_VALUE;
    case NIC_STATUS:
        return (f->card && farside_nic_card_is_up(f->card) ? NIC_STATUS_LINK
                                                           : 0) |
               (f->is_virtual ? NIC_STATUS_VIRTUAL : 0);
    case NIC_RX_QUEUES:
    case NIC_TX_QUEUES:
        return f->queues;
    case NIC_VECTORS:
        return f->vectors;
    case NIC_RULES:
        return NIC_RULE_COUNT;
    case NIC_FRAME:
        return f->frame;
    case NIC_ACCEPT:
        return f->accept;
    case NIC_EVENT:
        return f->event;
    case NIC_EVENT_VECTOR:
        return f->event_vector;
    case NIC_MAC:
    case NIC_MAC + 4:
        return read_mac(f->mac, offset);
    case NIC_ERRORS:
        return read_errors(f);
    case NIC_RSS:
        return f->rss;
    default:
        return read_table(f, offset);
    }
}

static void write_table(FarsideNicFunction *f, unsigned offset, uint32_t value)
{
    if (is_in(offset, NIC_KEY, NIC_KEY_SIZE)) {
        stl_le_p(f->key + offset - NIC_KEY, value);
    } else if (is_in(offset, NIC_VF_MAC, 8 * NIC_VFS_MAX)) {
        write_mac(f, 1 + (offset - NIC_VF_MAC) / 8, offset, value);
    } else if (is_in(offset, NIC_INDIR, 4 * NIC_INDIR_ENTRIES)) {
        f->indir[(offset - NIC_INDIR) / 4] = value & (f->queues - 1);
    } else if (is_in(offset, NIC_RULE, NIC_RULE_STRIDE * NIC_RULE_COUNT)) {
        write_rule(f, offset - NIC_RULE, value);
    }
}

static void farside_nic_bar_write(void *opaque, hwaddr offset, uint64_t value,
                                  unsigned size)
{
    FarsideNicFunction *f = FARSIDE_NIC(opaque)->function;
    FarsideNicRing *q = find_queue(f, offset);

    if (q) {
        farside_nic_ring_write(f, q, offset % NIC_QUEUE_STRIDE, value);
        return;
    }
    switch (offset) {
    case NIC_CONTROL:
        if (value & NIC_CONTROL_RESET) {
            farside_nic_function_reset(f);
        }
        break;
    case NIC_FRAME:
        f->frame = value & NIC_FRAME_MASK;
        break;
    case NIC_ACCEPT:
        f->accept = value & (NIC_ACCEPT_MULTICAST |
                             (f->is_virtual ? 0 : NIC_ACCEPT_PROMISCUOUS));
        break;
    case NIC_EVENT:
        f->event &= ~value;
        break;
    case NIC_EVENT_VECTOR:
        f->event_vector = value & 0xffff;
        break;
    case NIC_MAC:
    case NIC_MAC + 4:
        write_mac(f, 0, offset, value);
        break;
    case NIC_RSS:
        f->rss = value & NIC_RSS_ALL;
        break;
    default:
        write_table(f, offset, value);
    }
}

/* QEMU cuts an access of 8 bytes into two, and refuses those below 4. */
static const MemoryRegionOps farside_nic_ops = {
    .read = farside_nic_bar_read,
    .write = farside_nic_bar_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 4, .max_access_size = 8},
    .impl = {.min_access_size = 4, .max_access_size = 4},
};

static void farside_nic_write_config(PCIDevice *pci, uint32_t address,
                                     uint32_t value, int length)
{
    pci_default_write_config(pci, address, value, length);
    pcie_cap_flr_write_config(pci, address, value, length);
    if (pci->exp.aer_cap) {
        pcie_aer_write_config(pci, address, value, length);
    }
}

/* Called at a Function Level Reset, too. */
static void farside_nic_reset(DeviceState *dev)
{
    FarsideNic *s = FARSIDE_NIC(dev);

    farside_nic_function_reset(s->function);
    if (pci_is_vf(PCI_DEVICE(s))) {
        return;
    }
    pcie_cap_deverr_reset(PCI_DEVICE(s));
    if (s->vfs) {
        farside_qemu_reset_vfs(PCI_DEVICE(s));
    }
}

/* Life */

static bool farside_nic_init_bars(FarsideNic *s, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);
    unsigned vectors = s->function->vectors, i;

    memory_region_init_io(&s->regs, OBJECT(s), &farside_nic_ops, s,
                          "farside-nic-regs", NIC_REGS_SIZE);
    memory_region_init(&s->msix, OBJECT(s), "farside-nic-msix", MSIX_SIZE);
    farside_qemu_register_bar(pci, NIC_BAR_REGS, PCI_BASE_ADDRESS_MEM_TYPE_64,
                              &s->regs);
    farside_qemu_register_bar(pci, NIC_BAR_MSIX, PCI_BASE_ADDRESS_MEM_TYPE_64,
                              &s->msix);
    if (msix_init(pci, vectors, &s->msix, NIC_BAR_MSIX, 0, &s->msix,
                  NIC_BAR_MSIX, MSIX_PBA, 0, errp) < 0) {
        return false;
    }
    for (i = 0; i < vectors; i++) {
        msix_vector_use(pci, i);
    }
    return true;
}

/* Extended capabilities of a physical function */
static bool farside_nic_init_extended(FarsideNic *s, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);

    farside_qemu_init_ari(pci, CAP_ARI);
    pcie_cap_deverr_init(pci); /* AER reports what Device Control enables */
    if (pcie_aer_init(pci, PCI_ERR_VER, CAP_AER, PCI_ERR_SIZEOF, errp) < 0) {
        return false;
    }
    pcie_dev_ser_num_init(pci, CAP_SERIAL, s->serial);
    if (s->vfs) {
        if (!farside_qemu_init_vfs(pci, CAP_SRIOV, TYPE_FARSIDE_NIC,
                                   NIC_DEVICE_ID, s->vfs, VF_OFFSET, VF_STRIDE,
                                   errp)) {
            pcie_aer_exit(pci);
            return false;
        }
        pcie_sriov_pf_init_vf_bar(pci, NIC_BAR_REGS,
                                  PCI_BASE_ADDRESS_MEM_TYPE_64, NIC_REGS_SIZE);
        pcie_sriov_pf_init_vf_bar(pci, NIC_BAR_MSIX,
                                  PCI_BASE_ADDRESS_MEM_TYPE_64, MSIX_SIZE);
    }
    return true;
}

static bool farside_nic_check(const FarsideNic *s, Error **errp)
{
    if (farside_time()) {
        error_setg(errp, "frames cross a network at real times, so a machine "
                         "with virtual time cannot have this device");
        return false;
    }
    if (s->vfs > NIC_VFS_MAX) {
        error_setg(errp, "property 'vfs' must be 0 to %u", NIC_VFS_MAX);
        return false;
    }
    return true;
}

static void farside_nic_init_function(FarsideNic *s)
{
    PCIDevice *pci = PCI_DEVICE(s);
    FarsideNicCard *card;
    unsigned number = 0;

    if (pci_is_vf(pci)) {
        s->vfs = 0;
        card = FARSIDE_NIC(pcie_sriov_get_pf(pci))->card;
        number = 1 + pcie_sriov_vf_number(pci);
    } else {
        card = farside_nic_card_new(DEVICE(s), &s->conf);
        s->card = card;
    }
    s->function = farside_nic_function_new(pci, card, number);
}

static void farside_nic_end_function(FarsideNic *s)
{
    farside_nic_function_stop(s->function);
    farside_nic_card_free(s->card);
    s->card = NULL;
}

static void farside_nic_realize(PCIDevice *pci, Error **errp)
{
    FarsideNic *s = FARSIDE_NIC(pci);

    if (!farside_nic_check(s, errp)) {
        return;
    }
    if (pcie_endpoint_cap_init(pci, 0) < 0) {
        error_setg(errp, "configuration space has no place left for the PCI "
                         "Express capability");
        return;
    }
    pcie_cap_flr_init(pci);
    farside_nic_init_function(s);
    if (!farside_nic_init_bars(s, errp)) {
        goto fail;
    }
    if (!pci_is_vf(pci) && !farside_nic_init_extended(s, errp)) {
        msix_uninit(pci, &s->msix, &s->msix);
        goto fail;
    }
    return;

fail:
    farside_nic_end_function(s);
    pcie_cap_exit(pci);
}

static void farside_nic_exit(PCIDevice *pci)
{
    FarsideNic *s = FARSIDE_NIC(pci);

    if (!pci_is_vf(pci)) {
        if (s->vfs) {
            pcie_sriov_pf_exit(pci);
        }
        pcie_aer_exit(pci);
    }
    farside_nic_end_function(s);
    msix_unuse_all_vectors(pci);
    msix_uninit(pci, &s->msix, &s->msix);
    pcie_cap_exit(pci);
}

static void farside_nic_finalize(Object *obj)
{
    farside_nic_function_free(FARSIDE_NIC(obj)->function);
}

static const Property farside_nic_properties[] = {
    DEFINE_NIC_PROPERTIES(FarsideNic, conf),
    DEFINE_PROP_UINT64("serial", FarsideNic, serial, 1),
    DEFINE_PROP_UINT8("vfs", FarsideNic, vfs, NIC_VFS_MAX),
};

static const VMStateDescription farside_nic_vmstate = {
    .name = TYPE_FARSIDE_NIC,
    .unmigratable = 1,
};

static void farside_nic_class_init(ObjectClass *klass, FarsideClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);

    pc->realize = farside_nic_realize;
    pc->exit = farside_nic_exit;
    pc->config_write = farside_nic_write_config;
    pc->vendor_id = NIC_VENDOR_ID;
    pc->device_id = NIC_DEVICE_ID;
    pc->revision = 1;
    pc->class_id = PCI_CLASS_NETWORK_ETHERNET;
    dc->desc = "Farside network card";
    device_class_set_legacy_reset(dc, farside_nic_reset);
    dc->vmsd = &farside_nic_vmstate;
    device_class_set_props(dc, farside_nic_properties);
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
}

static const TypeInfo farside_nic_info = {
    .name = TYPE_FARSIDE_NIC,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(FarsideNic),
    .instance_finalize = farside_nic_finalize,
    .class_init = farside_nic_class_init,
    .interfaces =
        (FarsideInterface[]){
            {INTERFACE_PCIE_DEVICE},
            {},
        },
};

void farside_nic_register_types(void)
{
    type_register_static(&farside_nic_info);
}

type_init(farside_nic_register_types)
