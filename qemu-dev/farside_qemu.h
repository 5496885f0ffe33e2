/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The differences between the versions of QEMU that the devices are built for,
 * 7.2 to 11.1. No other file of this folder asks for a version. The code uses
 * the new names; what an old version lacks is here, and goes when that version
 * does. Headers that were moved are included here alone.
 */
#ifndef FARSIDE_QEMU_H
#define FARSIDE_QEMU_H

#define FARSIDE_HAS(header) __has_include(header)
#define FARSIDE_QEMU(major, minor)         \
    (QEMU_VERSION_MAJOR > (major) ||       \
     (QEMU_VERSION_MAJOR == (major) &&     \
      QEMU_VERSION_MINOR >= (minor)))

#include "qemu/main-loop.h"
#include "hw/core/cpu.h"
#include "hw/pci/pci.h"
#include "hw/pci/pci_bus.h"
#include "hw/pci/pcie.h"
#include "hw/pci/pcie_sriov.h"
/* New in 8.0 */
#if FARSIDE_HAS("hw/pci/pci_device.h")
#include "hw/pci/pci_device.h"
#endif
/* 8.0: a function reports its errors without the monitor. */
#if !FARSIDE_QEMU(8, 0)
#include "qapi/qmp/qdict.h"
#endif
/* 10.0: sysemu/ is system/ */
#if FARSIDE_HAS("system/system.h")
#include "system/kvm.h"
#include "system/reset.h"
#include "system/system.h"
#include "system/tcg.h"
#else
#include "sysemu/kvm.h"
#include "sysemu/reset.h"
#include "sysemu/sysemu.h"
#include "sysemu/tcg.h"
#endif
/* Moved in 10.1 */
#if FARSIDE_HAS("system/memory.h")
#include "system/address-spaces.h"
#include "system/memory.h"
#else
#include "exec/address-spaces.h"
#include "exec/memory.h"
#endif
/* New in 10.0, 10.2 and 11: parts of other headers */
#if FARSIDE_HAS("qom/compat-properties.h")
#include "qom/compat-properties.h"
#endif
#if FARSIDE_HAS("exec/cputlb.h")
#include "exec/cputlb.h"
#endif
#if FARSIDE_HAS("system/physmem.h")
#include "system/physmem.h"
#endif
#if FARSIDE_HAS("system/ramblock.h")
#include "system/ramblock.h"
#endif
/* Moved in 11.0 */
#if FARSIDE_HAS("qemu/aio.h")
#include "qemu/aio.h"
#else
#include "block/aio.h"
#endif
#if FARSIDE_HAS("hw/core/qdev-properties.h")
#include "hw/core/qdev-properties.h"
#else
#include "hw/qdev-properties.h"
#endif

/* Types */

/* 10.1: class_init's data and the interfaces of a type are const. */
#if FARSIDE_QEMU(10, 1)
typedef const void FarsideClassData;
typedef const InterfaceInfo FarsideInterface;
#else
typedef void FarsideClassData;
typedef InterfaceInfo FarsideInterface;
#endif

/* 10.0: an array of properties is const, and has no end. */
#if !FARSIDE_QEMU(10, 0)
static inline void farside_qemu_set_props(DeviceClass *dc,
                                          const Property *props, size_t count)
{
    /* With an end; it lives as long as the class. */
    Property *ended = g_new0(Property, count + 1);

    memcpy(ended, props, count * sizeof(*props));
    device_class_set_props(dc, ended);
}

#define device_class_set_props(dc, props) \
    farside_qemu_set_props(dc, props, ARRAY_SIZE(props))
#endif

/* 9.2: this kind of reset is called legacy, and set by a function. */
static inline DeviceReset farside_qemu_get_reset(const DeviceClass *dc)
{
#if FARSIDE_QEMU(9, 2)
    return dc->legacy_reset;
#else
    return dc->reset;
#endif
}

#if !FARSIDE_QEMU(9, 2)
static inline void device_class_set_legacy_reset(DeviceClass *dc,
                                                 DeviceReset reset)
{
    dc->reset = reset;
}
#endif

/* The big lock. 9.0 gave it this name. */

#if !FARSIDE_QEMU(9, 0)
static inline bool bql_locked(void)
{
    return qemu_mutex_iothread_locked();
}

static inline void bql_lock(void)
{
    qemu_mutex_lock_iothread();
}

static inline void bql_unlock(void)
{
    qemu_mutex_unlock_iothread();
}
#endif

/* Releases the big lock until @cond is signalled, or @ms have passed. */
static inline void farside_qemu_cond_timedwait(QemuCond *cond, int ms)
{
#if FARSIDE_QEMU(9, 0)
    qemu_cond_timedwait_bql(cond, ms);
#else
    qemu_cond_timedwait_iothread(cond, ms);
#endif
}

/* CPUs */

#if FARSIDE_QEMU(9, 1)
/* Before 10.0, its header was for the files of one target. */
#if !FARSIDE_HAS("exec/cputlb.h")
void tlb_flush(CPUState *cpu);
#endif

static inline void farside_qemu_flush_self(CPUState *cpu, run_on_cpu_data data)
{
    tlb_flush(cpu);
}
#endif

/*
 * Flushes the TLB of a CPU that TCG executes; soon, if another thread is that
 * CPU. Since 9.1 only the CPU itself may call tlb_flush().
 */
static inline void farside_qemu_flush_tlb(CPUState *cpu)
{
#if FARSIDE_QEMU(9, 1)
    if (cpu->created && !qemu_cpu_is_self(cpu)) {
        async_run_on_cpu(cpu, farside_qemu_flush_self, RUN_ON_CPU_NULL);
    } else {
        tlb_flush(cpu);
    }
#else
    tcg_flush_softmmu_tlb(cpu);
#endif
}

/*
 * Tells users of translations of @iommu about @event. Since 9.1 they are not
 * TCG's CPUs: their notifier would flush a CPU's TLB in this thread while the
 * CPU uses it. The caller has farside_qemu_flush_tlb() for them.
 */
static inline void farside_qemu_notify(IOMMUMemoryRegion *iommu,
                                       IOMMUTLBEvent event)
{
#if FARSIDE_QEMU(9, 1)
    IOMMUNotifier *n;

    IOMMU_NOTIFIER_FOREACH(n, iommu) {
        /* No other user asks for unmappings of all addresses there are. */
        bool is_tcg = tcg_enabled() && n->start == 0 && n->end == HWADDR_MAX &&
                      n->notifier_flags == IOMMU_NOTIFIER_UNMAP;

        if (n->iommu_idx == 0 && !is_tcg) {
            memory_region_notify_iommu_one(n, &event);
        }
    }
#else
    memory_region_notify_iommu(iommu, 0, event);
#endif
}

/*
 * True if memory may come and go while a CPU runs that TCG executes. Before
 * 8.2, QEMU changes the numbers of the regions while that CPU uses them.
 */
static inline bool farside_qemu_moves_memory(void)
{
#if FARSIDE_QEMU(8, 2)
    return true;
#else
    return false;
#endif
}

/* The IOMMU of a bus. 9.0 has a table of operations in place of a function. */

typedef AddressSpace *FarsideIommuFunc(PCIBus *bus, void *opaque, int devfn);

typedef struct {
#if FARSIDE_QEMU(9, 0)
    const PCIIOMMUOps *ops;
#else
    FarsideIommuFunc *get_address_space;
#endif
    void *opaque;
} FarsideIommu;

static inline FarsideIommu farside_qemu_get_iommu(const PCIBus *bus)
{
    return (FarsideIommu){
#if FARSIDE_QEMU(9, 0)
        .ops = bus->iommu_ops,
#else
        .get_address_space = bus->iommu_fn,
#endif
        .opaque = bus->iommu_opaque,
    };
}

/* The memory itself if there is no IOMMU. */
static inline AddressSpace *farside_qemu_ask_iommu(const FarsideIommu *iommu,
                                                   PCIBus *bus, int devfn)
{
#if FARSIDE_QEMU(9, 0)
    FarsideIommuFunc *ask = iommu->ops ? iommu->ops->get_address_space : NULL;
#else
    FarsideIommuFunc *ask = iommu->get_address_space;
#endif

    return ask ? ask(bus, iommu->opaque, devfn) : &address_space_memory;
}

/* For as long as the bus lives. */
static inline void farside_qemu_set_iommu(PCIBus *bus, FarsideIommuFunc *func,
                                          void *opaque)
{
#if FARSIDE_QEMU(9, 0)
    PCIIOMMUOps *ops = g_new0(PCIIOMMUOps, 1);

    ops->get_address_space = func;
    pci_setup_iommu(bus, ops, opaque);
#else
    pci_setup_iommu(bus, func, opaque);
#endif
}

/* PCI Express capabilities */

/* 8.1: the next function is in another place. */
static inline void farside_qemu_init_ari(PCIDevice *pci, uint16_t offset)
{
#if FARSIDE_QEMU(8, 1)
    pcie_ari_init(pci, offset);
#else
    pcie_ari_init(pci, offset, 0);
#endif
}

/* 10.0: virtual functions exist from the start, and may fail to. */
static inline bool farside_qemu_init_vfs(PCIDevice *pci, uint16_t offset,
                                         const char *type, uint16_t device_id,
                                         uint16_t count, uint16_t first,
                                         uint16_t stride, Error **errp)
{
#if FARSIDE_QEMU(10, 0)
    return pcie_sriov_pf_init(pci, offset, type, device_id, count, count,
                              first, stride, errp);
#else
    pcie_sriov_pf_init(pci, offset, type, device_id, count, count, first,
                       stride);
    return true;
#endif
}

/* 10.0: pci_register_bar() knows that a virtual function's BARs are fixed. */
static inline void farside_qemu_register_bar(PCIDevice *pci, int bar,
                                             uint8_t type, MemoryRegion *mr)
{
#if !FARSIDE_QEMU(10, 0)
    if (pci_is_vf(pci)) {
        pcie_sriov_vf_register_bar(pci, bar, mr);
        return;
    }
#endif
    pci_register_bar(pci, bar, type, mr);
}

/*
 * A function reports an uncorrectable error of its own: @status is a bit of the
 * Uncorrectable Error Status (PCIe 5.0 s7.8.4.2). Before 8.0 only the monitor's
 * command does that, for a device with an ID.
 */
static inline void farside_qemu_report_error(PCIDevice *pci, uint32_t status)
{
#if FARSIDE_QEMU(8, 0)
    PCIEAERErr error = {.status = status, .source_id = pci_requester_id(pci)};

    pcie_aer_inject_error(pci, &error);
#else
    DeviceState *device = DEVICE(pci);
    char *id = device->id, *number = g_strdup_printf("0x%x", status);
    QDict *arguments = qdict_new();

    device->id = (char *)"farside-reports-error";
    qdict_put_str(arguments, "id", device->id);
    qdict_put_str(arguments, "error_status", number);
    hmp_pcie_aer_inject_error(NULL, arguments);
    qobject_unref(arguments);
    device->id = id;
    g_free(number);
#endif
}

/* At a reset of the physical function. 9.0 resets the capability, too. */
static inline void farside_qemu_reset_vfs(PCIDevice *pci)
{
#if FARSIDE_QEMU(9, 0)
    pcie_sriov_pf_reset(pci);
#else
    pcie_sriov_pf_disable_vfs(pci);
#endif
}

#endif /* FARSIDE_QEMU_H */
