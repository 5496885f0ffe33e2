/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each module has QEMU's structures as its headers describe them. The loader
 * compares versions, but headers of the same version may be those of another
 * build: with other patches or options. QEMU would accept the types of such a
 * module, and then read and write beside the fields that are meant. Only the
 * structures of QEMU's types can be compared. Most of the others that the code
 * uses are parts of them.
 *
 * QEMU keeps the sizes of a type in a structure that its headers do not have,
 * but each class points to it. A type whose sizes are known shows their places
 * there.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "chardev/char-fe.h"
#include "chardev/char-socket.h"
#include "hw/i386/intel_iommu.h"
#include "hw/i386/x86-iommu.h"
#include "farside_qemu.h"
#include "hw/pci/pcie_port.h"
#include "layout.h"

#define TYPE_PROBE "farside-layout-probe"
/* Sizes that no other word of a type has: they are no pointers and no flags. */
#define PROBE_OBJECT 0x12340
#define PROBE_CLASS 0x5678
/* Both sizes are among the first words of QEMU's structure of a type. */
#define WORDS 6

static const struct {
    const char *name;
    size_t object;
    size_t class;
} types[] = {
    {TYPE_OBJECT, sizeof(Object), sizeof(ObjectClass)},
    {TYPE_DEVICE, sizeof(DeviceState), sizeof(DeviceClass)},
    {TYPE_BUS, sizeof(BusState), sizeof(BusClass)},
    {TYPE_PCI_BUS, sizeof(PCIBus), sizeof(PCIBusClass)},
    {TYPE_PCI_DEVICE, sizeof(PCIDevice), sizeof(PCIDeviceClass)},
    {TYPE_PCIE_PORT, sizeof(PCIEPort), sizeof(PCIDeviceClass)},
    {TYPE_PCIE_SLOT, sizeof(PCIESlot), sizeof(PCIDeviceClass)},
    {TYPE_CPU, sizeof(CPUState), sizeof(CPUClass)},
    {TYPE_MEMORY_REGION, sizeof(MemoryRegion), sizeof(ObjectClass)},
    {TYPE_IOMMU_MEMORY_REGION, sizeof(IOMMUMemoryRegion),
     sizeof(IOMMUMemoryRegionClass)},
    {TYPE_X86_IOMMU_DEVICE, sizeof(X86IOMMUState), sizeof(X86IOMMUClass)},
    {TYPE_INTEL_IOMMU_DEVICE, sizeof(IntelIOMMUState), sizeof(X86IOMMUClass)},
    {TYPE_CHARDEV, sizeof(Chardev), sizeof(ChardevClass)},
    {TYPE_CHARDEV_SOCKET, sizeof(SocketChardev), sizeof(ChardevClass)},
};

/* The places of the sizes in a type, in words. 0: not found */
typedef struct {
    unsigned object;
    unsigned class;
} Places;

static const size_t *words_of(const ObjectClass *class)
{
    return (const size_t *)class->type;
}

static Places find_places(void)
{
    static const TypeInfo probe = {
        .name = TYPE_PROBE,
        .parent = TYPE_OBJECT,
        .instance_size = PROBE_OBJECT,
        .class_size = PROBE_CLASS,
        .abstract = true,
    };
    Places places = {0};
    const size_t *words;
    unsigned i;

    /* Another module may have asked before. */
    if (!object_class_by_name(TYPE_PROBE)) {
        type_register_static(&probe);
    }
    words = words_of(object_class_by_name(TYPE_PROBE));
    for (i = 1; i < WORDS; i++) {
        if (words[i] == PROBE_OBJECT) {
            places.object = i;
        } else if (words[i] == PROBE_CLASS) {
            places.class = i;
        }
    }
    return places;
}

static bool check_size(const char *what, const char *name, size_t found,
                       size_t compiled)
{
    if (found == compiled) {
        return true;
    }
    error_report("farside: the %s of type '%s' has %zu bytes in this QEMU, but "
                 "%zu bytes in the headers that the module was compiled with.",
                 what, name, found, compiled);
    error_printf("These headers are not those of this QEMU. Make them from the "
                 "source that it was built from, by qemu-dev/headers "
                 "build-qemu [--source TREE], and run 'make devices'.\n");
    return false;
}

bool farside_module_check(void)
{
    Places places = find_places();
    ObjectClass *class;
    unsigned i;

    if (!places.object || !places.class) {
        error_report("farside: this QEMU keeps the sizes of its types in a way "
                     "that is unknown here, so nobody can tell if the module "
                     "fits. Known are QEMU 7.2 to 11.1.");
        return false;
    }
    for (i = 0; i < ARRAY_SIZE(types); i++) {
        class = object_class_by_name(types[i].name);
        /* A QEMU without the type has no objects of it. */
        if (class &&
            (!check_size("object", types[i].name,
                         words_of(class)[places.object], types[i].object) ||
             !check_size("class", types[i].name,
                         words_of(class)[places.class], types[i].class))) {
            return false;
        }
    }
    return true;
}
