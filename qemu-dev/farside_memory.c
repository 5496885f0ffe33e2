/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"
#include "exec/memory.h"
#include "exec/cpu-common.h"
#include "farside_memory.h"
#include "farside_time.h"

/* Below this address, firmware switches RAM on and off while it boots. */
#define OWN_RAM_START (1 * MiB)

/* A region of RAM that the peer may map */
typedef struct {
    uint64_t address;
    uint64_t size;
    uint64_t offset; /* in the file of mr */
    MemoryRegion *mr;
} Ram;

struct FarsideMemory {
    PCIDevice *pci;
    FarsidePeer *peer;
    AddressSpace *as; /* the memory that the peer's requests reach */
    MemoryListener listener;
    GArray *ram; /* of Ram */
    QEMUBH *bh;
    struct farside_wire_ram announced; /* last message to this peer */
};

/* Finds the part of a section that the peer may map. False if there is none. */
static bool ram_of(MemoryRegionSection *section, Ram *ret_ram)
{
    Ram ram = {
        .address = section->offset_within_address_space,
        .offset = section->offset_within_region,
        .mr = section->mr,
    };

    if (!memory_region_is_ram(ram.mr) || section->readonly ||
        memory_region_is_ram_device(ram.mr) ||
        memory_region_get_fd(ram.mr) < 0 ||
        !qemu_ram_is_shared(ram.mr->ram_block)) {
        return false;
    }
    /* Only now: an IOMMU's region may have 2^64 bytes, and RAM has less. */
    ram.size = int128_get64(section->size);
    if (ram.address < OWN_RAM_START) {
        if (ram.size <= OWN_RAM_START - ram.address) {
            return false;
        }
        ram.size -= OWN_RAM_START - ram.address;
        ram.offset += OWN_RAM_START - ram.address;
        ram.address = OWN_RAM_START;
    }
    if ((ram.address | ram.size | ram.offset) &
        (qemu_real_host_page_size() - 1)) {
        return false;
    }
    *ret_ram = ram;
    return true;
}

static void ram_add(MemoryListener *listener, MemoryRegionSection *section)
{
    FarsideMemory *s = container_of(listener, FarsideMemory, listener);
    Ram ram;

    if (ram_of(section, &ram)) {
        g_array_append_val(s->ram, ram);
        qemu_bh_schedule(s->bh);
    }
}

static void ram_del(MemoryListener *listener, MemoryRegionSection *section)
{
    FarsideMemory *s = container_of(listener, FarsideMemory, listener);
    Ram ram, *found;
    unsigned i;

    if (!ram_of(section, &ram)) {
        return;
    }
    for (i = 0; i < s->ram->len; i++) {
        found = &g_array_index(s->ram, Ram, i);
        if (found->mr == ram.mr && found->address == ram.address) {
            g_array_remove_index(s->ram, i);
            qemu_bh_schedule(s->bh);
            return;
        }
    }
}

/* Sorts large regions first, because the message has room for only a few. */
static gint ram_compare(gconstpointer a, gconstpointer b)
{
    const Ram *ra = a;
    const Ram *rb = b;

    if (ra->size != rb->size) {
        return ra->size > rb->size ? -1 : 1;
    }
    return ra->address < rb->address ? -1 : ra->address > rb->address;
}

static void announce(FarsideMemory *s)
{
    struct farside_wire_ram m = {0};
    int fds[FARSIDE_WIRE_FDS];
    unsigned i;

    /* In a timed cluster every access of the peer takes its time. */
    if (!farside_peer_is_here(s->peer) || farside_time()) {
        return;
    }
    /*
     * If an IOMMU was added after this device, the listener watches the wrong
     * address space. Then the peer may map nothing.
     */
    if (pci_device_iommu_address_space(s->pci) == s->as) {
        g_array_sort(s->ram, ram_compare);
        for (i = 0; i < s->ram->len && m.count < FARSIDE_WIRE_FDS; i++) {
            Ram *ram = &g_array_index(s->ram, Ram, i);

            m.region[m.count].address = ram->address;
            m.region[m.count].size = ram->size;
            m.region[m.count].offset = ram->offset;
            fds[m.count] = memory_region_get_fd(ram->mr);
            m.count++;
        }
    }
    if (memcmp(&m, &s->announced, sizeof(m)) == 0) {
        return;
    }
    s->announced = m;
    if (m.count == 0) {
        warn_report_once("%s: the peer can map none of this machine's memory, "
                         "so every access of the peer to it is a message, "
                         "which is slow; use -object "
                         "memory-backend-memfd,share=on",
                         TYPE_FARSIDE_NTB);
    }
    farside_peer_send_ram(s->peer, &m, fds);
}

static void ram_changed(void *opaque)
{
    announce(opaque);
}

void farside_memory_announce(FarsideMemory *s)
{
    /* No message is equal to this value, so announce() sends one. */
    memset(&s->announced, 0xff, sizeof(s->announced));
    announce(s);
}

FarsideMemory *farside_memory_new(PCIDevice *pci, FarsidePeer *peer)
{
    FarsideMemory *s = g_new0(FarsideMemory, 1);

    s->pci = pci;
    s->peer = peer;
    s->ram = g_array_new(false, false, sizeof(Ram));
    s->bh = qemu_bh_new(ram_changed, s);
    return s;
}

void farside_memory_start(FarsideMemory *s)
{
    s->listener = (MemoryListener) {
        .name = TYPE_FARSIDE_NTB,
        .region_add = ram_add,
        .region_del = ram_del,
    };
    /*
     * The memory that this device sees. Behind an IOMMU, the RAM is part of it
     * only while the IOMMU passes addresses through.
     */
    s->as = pci_device_iommu_address_space(s->pci);
    memory_listener_register(&s->listener, s->as);
}

void farside_memory_stop(FarsideMemory *s)
{
    memory_listener_unregister(&s->listener);
}

void farside_memory_free(FarsideMemory *s)
{
    if (s) {
        qemu_bh_delete(s->bh);
        g_array_free(s->ram, true);
        g_free(s);
    }
}
