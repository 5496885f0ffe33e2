/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An accelerator: memory that peers can map, and queues of commands.
 * docs/reference/gpu.md is the specification.
 *
 * This file has the PCI device: capabilities, BARs, virtual functions. The
 * queues are in farside_gpu_queue.c.
 */
#include "qemu/osdep.h"
#include "qemu/memfd.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "migration/vmstate.h"
#include "farside_gpu.h"
#include "farside_gpu_queue.h"
#include "farside_qemu.h"

#define TYPE_FARSIDE_GPU "farside-gpu"
OBJECT_DECLARE_SIMPLE_TYPE(FarsideGpu, FARSIDE_GPU)

/* Processing accelerator, PCI Code and ID Assignment 1.11 s1.19 */
#define CLASS_ACCELERATOR 0x1200

#define BAR_MSIX 4
#define MSIX_SIZE 0x1000
#define MSIX_PBA 0x800

/* Places of the extended capabilities */
#define CAP_ARI 0x100
#define CAP_AER 0x110
#define CAP_SERIAL 0x160
#define CAP_SRIOV 0x180

#define VFS_MAX 2
#define VF_OFFSET 1
#define VF_STRIDE 1
#define VF_MEMORY (16 * MiB)

#define TYPE_MEMORY_64                                                         \
    (PCI_BASE_ADDRESS_SPACE_MEMORY | PCI_BASE_ADDRESS_MEM_TYPE_64)

struct FarsideGpu {
    PCIDevice parent_obj;

    uint64_t memory_size;
    uint64_t serial;
    uint8_t vfs;
    uint8_t address_bits;
    bool msi; /* in place of MSI-X */

    MemoryRegion regs;
    MemoryRegion memory;
    MemoryRegion msix;
    FarsideGpuQueues *queues;
};

/* Registers */

static uint64_t farside_gpu_read(void *opaque, hwaddr offset, unsigned size)
{
    FarsideGpu *s = opaque;

    if (offset >= GPU_QUEUE) {
        offset -= GPU_QUEUE;
        if (offset >= GPU_QUEUE_COUNT * GPU_QUEUE_STRIDE) {
            return 0;
        }
        return farside_gpu_queues_read(s->queues, offset / GPU_QUEUE_STRIDE,
                                       offset % GPU_QUEUE_STRIDE);
    }
    switch (offset) {
    case GPU_ID:
        return GPU_ID_VALUE;
    case GPU_VERSION:
        return GPU_VERSION_VALUE;
    case GPU_STATUS:
        return farside_gpu_queues_status(s->queues);
    case GPU_MEMORY:
        return (uint32_t)s->memory_size;
    case GPU_MEMORY + 4:
        return s->memory_size >> 32;
    case GPU_QUEUES:
        return GPU_QUEUE_COUNT;
    case GPU_COMMANDS:
        return 1u << GPU_COPY | 1u << GPU_FILL | 1u << GPU_SUM_OF |
               1u << GPU_FENCE_OP;
    case GPU_ADDRESS:
        return s->address_bits;
    default:
        return 0;
    }
}

static void farside_gpu_write(void *opaque, hwaddr offset, uint64_t value,
                              unsigned size)
{
    FarsideGpu *s = opaque;

    if (offset == GPU_CONTROL && (value & GPU_CONTROL_RESET)) {
        farside_gpu_queues_reset(s->queues);
    } else if (offset >= GPU_QUEUE &&
               offset < GPU_QUEUE + GPU_QUEUE_COUNT * GPU_QUEUE_STRIDE) {
        offset -= GPU_QUEUE;
        farside_gpu_queues_write(s->queues, offset / GPU_QUEUE_STRIDE,
                                 offset % GPU_QUEUE_STRIDE, value);
    }
}

/* QEMU cuts an access of 8 bytes into two, and refuses those below 4. */
static const MemoryRegionOps farside_gpu_ops = {
    .read = farside_gpu_read,
    .write = farside_gpu_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 4, .max_access_size = 8},
    .impl = {.min_access_size = 4, .max_access_size = 4},
};

static void farside_gpu_write_config(PCIDevice *pci, uint32_t address,
                                     uint32_t value, int length)
{
    pci_default_write_config(pci, address, value, length);
    pcie_cap_flr_write_config(pci, address, value, length);
    if (pci->exp.aer_cap) {
        pcie_aer_write_config(pci, address, value, length);
    }
}

/* Called at a Function Level Reset, too. */
static void farside_gpu_reset(DeviceState *dev)
{
    FarsideGpu *s = FARSIDE_GPU(dev);

    farside_gpu_queues_reset(s->queues);
    if (pci_is_vf(PCI_DEVICE(s))) {
        return;
    }
    pcie_cap_deverr_reset(PCI_DEVICE(s));
    if (s->vfs) {
        farside_qemu_reset_vfs(PCI_DEVICE(s));
    }
}

/* Life */

static bool farside_gpu_check(const FarsideGpu *s, Error **errp)
{
    if (!is_power_of_2(s->memory_size) || s->memory_size < 16 * MiB ||
        s->memory_size > 256 * MiB) {
        error_setg(errp, "property 'memory' must be a power of 2 between 16 "
                         "MiB and 256 MiB");
        return false;
    }
    if (s->vfs > VFS_MAX) {
        error_setg(errp, "property 'vfs' must be 0 to %d", VFS_MAX);
        return false;
    }
    if (s->msi && s->vfs) {
        error_setg(errp, "property 'msi' needs vfs=0: virtual functions have "
                         "MSI-X");
        return false;
    }
    if (s->address_bits < GPU_ADDRESS_MIN ||
        s->address_bits > GPU_ADDRESS_MAX) {
        error_setg(errp, "property 'address-bits' must be %u to %u",
                   GPU_ADDRESS_MIN, GPU_ADDRESS_MAX);
        return false;
    }
    return true;
}

/*
 * The memory is a file that cannot shrink or grow, because a peer that maps it
 * accepts no other.
 */
static bool farside_gpu_init_memory(FarsideGpu *s, Error **errp)
{
    ERRP_GUARD();
    int fd = qemu_memfd_create(TYPE_FARSIDE_GPU, s->memory_size, false, 0,
                               F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL, errp);

    if (fd < 0) {
        return false;
    }
    memory_region_init_ram_from_fd(&s->memory, OBJECT(s), "farside-gpu-memory",
                                   s->memory_size, RAM_SHARED, fd, 0, errp);
    if (*errp) {
        close(fd);
        return false;
    }
    return true;
}

static void farside_gpu_add_bars(FarsideGpu *s)
{
    PCIDevice *pci = PCI_DEVICE(s);

    memory_region_init_io(&s->regs, OBJECT(s), &farside_gpu_ops, s,
                          "farside-gpu-regs", GPU_REGS_SIZE);
    memory_region_init(&s->msix, OBJECT(s), "farside-gpu-msix", MSIX_SIZE);
    farside_qemu_register_bar(pci, GPU_BAR_REGS, TYPE_MEMORY_64, &s->regs);
    farside_qemu_register_bar(pci, GPU_BAR_MEMORY,
                              TYPE_MEMORY_64 | PCI_BASE_ADDRESS_MEM_PREFETCH,
                              &s->memory);
    farside_qemu_register_bar(pci, BAR_MSIX, TYPE_MEMORY_64, &s->msix);
}

static bool farside_gpu_init_interrupts(FarsideGpu *s, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);
    unsigned i;

    if (s->msi) {
        return msi_init(pci, 0, GPU_QUEUE_COUNT, true, false, errp) == 0;
    }
    if (msix_init(pci, GPU_QUEUE_COUNT, &s->msix, BAR_MSIX, 0, &s->msix,
                  BAR_MSIX, MSIX_PBA, 0, errp) < 0) {
        return false;
    }
    for (i = 0; i < GPU_QUEUE_COUNT; i++) {
        msix_vector_use(pci, i);
    }
    return true;
}

static void farside_gpu_exit_interrupts(FarsideGpu *s)
{
    PCIDevice *pci = PCI_DEVICE(s);

    if (s->msi) {
        msi_uninit(pci);
        return;
    }
    msix_unuse_all_vectors(pci);
    msix_uninit(pci, &s->msix, &s->msix);
}

/* Extended capabilities of a physical function */
static bool farside_gpu_init_extended(FarsideGpu *s, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);

    farside_qemu_init_ari(pci, CAP_ARI);
    pcie_cap_deverr_init(pci); /* AER reports what Device Control enables */
    if (pcie_aer_init(pci, PCI_ERR_VER, CAP_AER, PCI_ERR_SIZEOF, errp) < 0) {
        return false;
    }
    pcie_dev_ser_num_init(pci, CAP_SERIAL, s->serial);
    if (s->vfs) {
        if (!farside_qemu_init_vfs(pci, CAP_SRIOV, TYPE_FARSIDE_GPU,
                                   GPU_DEVICE_ID, s->vfs, VF_OFFSET, VF_STRIDE,
                                   errp)) {
            pcie_aer_exit(pci);
            return false;
        }
        pcie_sriov_pf_init_vf_bar(pci, GPU_BAR_REGS, TYPE_MEMORY_64,
                                  GPU_REGS_SIZE);
        pcie_sriov_pf_init_vf_bar(
            pci, GPU_BAR_MEMORY, TYPE_MEMORY_64 | PCI_BASE_ADDRESS_MEM_PREFETCH,
            VF_MEMORY);
        pcie_sriov_pf_init_vf_bar(pci, BAR_MSIX, TYPE_MEMORY_64, MSIX_SIZE);
    }
    return true;
}

static void farside_gpu_realize(PCIDevice *pci, Error **errp)
{
    FarsideGpu *s = FARSIDE_GPU(pci);

    if (pci_is_vf(pci)) {
        s->memory_size = VF_MEMORY;
        s->vfs = 0;
        s->address_bits = FARSIDE_GPU(pcie_sriov_get_pf(pci))->address_bits;
    }
    if (!farside_gpu_check(s, errp)) {
        return;
    }
    if (pcie_endpoint_cap_init(pci, 0) < 0) {
        error_setg(errp, "configuration space has no place left for the PCI "
                         "Express capability");
        return;
    }
    pcie_cap_flr_init(pci);
    if (!farside_gpu_init_memory(s, errp)) {
        goto fail;
    }
    farside_gpu_add_bars(s);
    if (!farside_gpu_init_interrupts(s, errp)) {
        goto fail;
    }
    if (!pci_is_vf(pci) && !farside_gpu_init_extended(s, errp)) {
        goto fail_interrupts;
    }
    s->queues = farside_gpu_queues_new(pci, &s->memory, s->memory_size,
                                       s->address_bits);
    return;

fail_interrupts:
    farside_gpu_exit_interrupts(s);
fail:
    pcie_cap_exit(pci);
}

static void farside_gpu_exit(PCIDevice *pci)
{
    FarsideGpu *s = FARSIDE_GPU(pci);

    farside_gpu_queues_reset(s->queues);
    if (!pci_is_vf(pci)) {
        if (s->vfs) {
            pcie_sriov_pf_exit(pci);
        }
        pcie_aer_exit(pci);
    }
    farside_gpu_exit_interrupts(s);
    pcie_cap_exit(pci);
}

static void farside_gpu_finalize(Object *obj)
{
    farside_gpu_queues_free(FARSIDE_GPU(obj)->queues);
}

static const Property farside_gpu_properties[] = {
    DEFINE_PROP_SIZE("memory", FarsideGpu, memory_size, 16 * MiB),
    DEFINE_PROP_UINT64("serial", FarsideGpu, serial, 1),
    DEFINE_PROP_UINT8("vfs", FarsideGpu, vfs, VFS_MAX),
    DEFINE_PROP_BOOL("msi", FarsideGpu, msi, false),
    DEFINE_PROP_UINT8("address-bits", FarsideGpu, address_bits,
                      GPU_ADDRESS_MAX),
};

static const VMStateDescription farside_gpu_vmstate = {
    .name = TYPE_FARSIDE_GPU,
    .unmigratable = 1,
};

static void farside_gpu_class_init(ObjectClass *klass, FarsideClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);

    pc->realize = farside_gpu_realize;
    pc->exit = farside_gpu_exit;
    pc->config_write = farside_gpu_write_config;
    pc->vendor_id = GPU_VENDOR_ID;
    pc->device_id = GPU_DEVICE_ID;
    pc->revision = 1;
    pc->class_id = CLASS_ACCELERATOR;
    dc->desc = "Farside accelerator";
    device_class_set_legacy_reset(dc, farside_gpu_reset);
    dc->vmsd = &farside_gpu_vmstate;
    device_class_set_props(dc, farside_gpu_properties);
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
}

static const TypeInfo farside_gpu_info = {
    .name = TYPE_FARSIDE_GPU,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(FarsideGpu),
    .instance_finalize = farside_gpu_finalize,
    .class_init = farside_gpu_class_init,
    .interfaces =
        (FarsideInterface[]){
            {INTERFACE_PCIE_DEVICE},
            {},
        },
};

void farside_gpu_register_types(void)
{
    type_register_static(&farside_gpu_info);
}

type_init(farside_gpu_register_types)
