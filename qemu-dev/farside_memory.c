/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"
#include "qemu/log.h"
#include "qapi/error.h"
#include "exec/cpu-common.h"
#include "hw/core/cpu.h"
#include "farside_memory.h"
#include "farside_qemu.h"
#include "farside_time.h"
#include "farside_windows.h"

/* Below this address, firmware switches RAM on and off while it boots. */
#define OWN_RAM_START (1 * MiB)

/*
 * A guest may map all addresses at once, to any. The peer gets to know mappings
 * of up to this many bytes: they take 1024 notices.
 */
#define MAP_TOLD_MAX (1 * TiB)

/* A region of RAM that the peer may map */
typedef struct {
    uint64_t address;
    uint64_t size;
    uint64_t offset; /* in the file of mr */
    MemoryRegion *mr;
} Ram;

/* RAM that an address space has, and its changes */
typedef struct {
    FarsideMemory *memory;
    AddressSpace *as;
    MemoryListener listener;
    GArray *ram; /* of Ram */
} View;

/* A part of the bus that an IOMMU translates, and the notices of that IOMMU */
typedef struct Watch {
    IOMMUNotifier notifier;
    FarsideMemory *memory;
    IOMMUMemoryRegion *iommu;
    uint64_t address; /* on the bus, of the region's address 0 */
    bool works;       /* this kind of IOMMU gives notices */
    QLIST_ENTRY(Watch) next;
} Watch;

struct FarsideMemory {
    PCIDevice *pci;
    FarsidePeer *peer;
    FarsideWait *wait;
    View bus;      /* the memory that the peer's requests reach */
    View physical; /* the memory behind an IOMMU */
    QLIST_HEAD(, Watch) watches;
    bool mirrored; /* the peer gets notices */
    uint32_t noted; /* the last number that the peer has answered */
    CPUState *waiter; /* the CPU that waits before it goes on; NULL: none */
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

    /* RAM in a window is another machine's, which may take it away. */
    if (!memory_region_is_ram(ram.mr) || section->readonly ||
        farside_windows_own(ram.mr) ||
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

/* Notices */

/* True if the peer has acknowledged the notices up to @number. */
static bool is_noted(const FarsideMemory *s, uint32_t number)
{
    return !farside_peer_is_here(s->peer) || (int32_t)(number - s->noted) <= 0;
}

/*
 * Sends what waits, and waits until the peer has acknowledged what was
 * unmapped. A CPU runs this before its guest's next
 * block of code, so the guest does not see that a page is unmapped before the
 * peer's devices have lost it. Many pages take one wait.
 */
static void wait_noted(CPUState *cpu, run_on_cpu_data data)
{
    FarsideMemory *s = data.host_ptr;
    FarsideWaiting w;
    bool in_time = true;
    uint32_t sent = farside_peer_flush_notices(s->peer);

    if (s->waiter == cpu) {
        s->waiter = NULL;
    }
    if (!is_noted(s, sent) && farside_wait_begin(s->wait, &w, false)) {
        while (!is_noted(s, sent) && in_time) {
            in_time = farside_wait_serve(&w);
        }
        farside_wait_end(s->wait, &w, is_noted(s, sent));
    }
    if (!is_noted(s, sent)) {
        qemu_log_mask(LOG_UNIMP,
                      "%s: the peer does not acknowledge that pages are "
                      "unmapped\n",
                      object_get_typename(OBJECT(s->pci)));
    }
    object_unref(OBJECT(s->pci));
}

/* Sends a notice in parts that the wire has room for; size 0: 2^64 bytes. */
static void send_notice(FarsideMemory *s, struct farside_wire_notice m)
{
    uint64_t most = m.perm ? FARSIDE_WIRE_NOTICE_MAP_MAX : 1ull << 63;
    struct farside_wire_notice part;

    do {
        part = m;
        part.size = m.size - 1 < most ? m.size : most;
        farside_peer_send_notice(s->peer, &part);
        m.address += part.size;
        m.target += m.perm ? part.size : 0;
        m.size -= part.size;
    } while (m.size);
}

static void iommu_changed(IOMMUNotifier *notifier, IOMMUTLBEntry *entry)
{
    Watch *w = container_of(notifier, Watch, notifier);
    FarsideMemory *s = w->memory;
    struct farside_wire_notice m = {
        .address = w->address + entry->iova,
        .size = entry->addr_mask + 1,
        .perm = entry->perm & IOMMU_RW,
    };

    if (!s->mirrored) {
        return;
    }
    /* Up to the end of all addresses; 0 is 2^64. */
    if (m.address + (m.size - 1) < m.address) {
        m.size = -m.address;
    }
    /* The peer forwards what it does not know, so not all must be told. */
    if (m.perm && entry->target_as == &address_space_memory &&
        entry->addr_mask < MAP_TOLD_MAX) {
        m.target = entry->translated_addr & ~entry->addr_mask;
    } else {
        m.perm = 0;
    }
    send_notice(s, m);
    if (current_cpu && s->waiter != current_cpu) {
        s->waiter = current_cpu;
        object_ref(OBJECT(s->pci));
        async_run_on_cpu(current_cpu, wait_noted, RUN_ON_CPU_HOST_PTR(s));
    }
}

void farside_memory_on_noted(FarsideMemory *s,
                             const struct farside_wire_noted *m)
{
    s->noted = m->number;
}

static void watch_add(FarsideMemory *s, MemoryRegionSection *section)
{
    Watch *w = g_new0(Watch, 1);
    hwaddr start = section->offset_within_region;
    Int128 last = int128_sub(int128_add(int128_make64(start), section->size),
                             int128_one());
    int index;

    w->memory = s;
    w->iommu = IOMMU_MEMORY_REGION(section->mr);
    w->address = section->offset_within_address_space - start;
    index =
        memory_region_iommu_attrs_to_index(w->iommu, MEMTXATTRS_UNSPECIFIED);
    iommu_notifier_init(&w->notifier, iommu_changed,
                        IOMMU_NOTIFIER_IOTLB_EVENTS, start, int128_getlo(last),
                        index);
    /* Other IOMMUs, or an intel-iommu without caching-mode, tell nothing. */
    w->works = memory_region_register_iommu_notifier(section->mr, &w->notifier,
                                                     NULL) == 0;
    QLIST_INSERT_HEAD(&s->watches, w, next);
    qemu_bh_schedule(s->bh);
}

static void watch_free(Watch *w)
{
    if (w->works) {
        memory_region_unregister_iommu_notifier(MEMORY_REGION(w->iommu),
                                                &w->notifier);
    }
    QLIST_REMOVE(w, next);
    g_free(w);
}

static void watch_del(FarsideMemory *s, MemoryRegionSection *section)
{
    Watch *w;

    QLIST_FOREACH(w, &s->watches, next) {
        if (MEMORY_REGION(w->iommu) == section->mr &&
            w->notifier.start == section->offset_within_region) {
            watch_free(w);
            qemu_bh_schedule(s->bh);
            return;
        }
    }
}

/* True if the peer can know all translations: each IOMMU gives notices. */
static bool can_mirror(const FarsideMemory *s)
{
    Watch *w;

    QLIST_FOREACH(w, &s->watches, next) {
        if (!w->works) {
            return false;
        }
    }
    return !QLIST_EMPTY(&s->watches);
}

/* RAM */

/* True if an IOMMU translates the section. Windows of NTBs are no IOMMUs. */
static bool is_translated(const View *v, MemoryRegionSection *section)
{
    return v == &v->memory->bus && memory_region_is_iommu(section->mr) &&
           !farside_windows_own(section->mr);
}

static void ram_add(MemoryListener *listener, MemoryRegionSection *section)
{
    View *v = container_of(listener, View, listener);
    Ram ram;

    if (ram_of(section, &ram)) {
        g_array_append_val(v->ram, ram);
        qemu_bh_schedule(v->memory->bh);
    } else if (is_translated(v, section)) {
        watch_add(v->memory, section);
    }
}

static void ram_del(MemoryListener *listener, MemoryRegionSection *section)
{
    View *v = container_of(listener, View, listener);
    Ram ram, *found;
    unsigned i;

    if (is_translated(v, section)) {
        watch_del(v->memory, section);
    }
    if (!ram_of(section, &ram)) {
        return;
    }
    for (i = 0; i < v->ram->len; i++) {
        found = &g_array_index(v->ram, Ram, i);
        if (found->mr == ram.mr && found->address == ram.address) {
            g_array_remove_index(v->ram, i);
            qemu_bh_schedule(v->memory->bh);
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

static void add_regions(struct farside_wire_ram *m, int *fds, GArray *ram)
{
    unsigned i;

    g_array_sort(ram, ram_compare);
    for (i = 0; i < ram->len && m->count < FARSIDE_WIRE_FDS; i++) {
        Ram *r = &g_array_index(ram, Ram, i);

        m->region[m->count].address = r->address;
        m->region[m->count].size = r->size;
        m->region[m->count].offset = r->offset;
        fds[m->count] = memory_region_get_fd(r->mr);
        m->count++;
    }
}

/* Sends all translations to a peer that knows none. */
static void replay(FarsideMemory *s)
{
    Watch *w;

    s->mirrored = true;
    QLIST_FOREACH(w, &s->watches, next) {
        memory_region_iommu_replay(w->iommu, &w->notifier);
    }
}

static void announce(FarsideMemory *s)
{
    struct farside_wire_ram m = {0};
    int fds[FARSIDE_WIRE_FDS];

    /* In a timed cluster every access of the peer takes its time. */
    if (!farside_peer_is_here(s->peer) || farside_time()) {
        return;
    }
    /*
     * If an IOMMU was added after this device, the listener watches the wrong
     * address space. Then the peer may map nothing.
     */
    if (pci_device_iommu_address_space(s->pci) == s->bus.as) {
        m.translated = can_mirror(s);
        add_regions(&m, fds, m.translated ? s->physical.ram : s->bus.ram);
    }
    if (memcmp(&m, &s->announced, sizeof(m)) == 0) {
        return;
    }
    s->announced = m;
    s->mirrored = false;
    if (m.count == 0) {
        warn_report_once("%s: the peer can map none of this machine's memory, "
                         "so every access of the peer to it is a message, "
                         "which is slow; use -object "
                         "memory-backend-memfd,share=on, and an intel-iommu "
                         "with caching-mode=on",
                         object_get_typename(OBJECT(s->pci)));
    }
    farside_peer_send_ram(s->peer, &m, fds);
    if (m.translated) {
        replay(s);
    }
}

static void ram_changed(void *opaque)
{
    announce(opaque);
}

void farside_memory_announce(FarsideMemory *s)
{
    /* No message is equal to this value, so announce() sends one. */
    memset(&s->announced, 0xff, sizeof(s->announced));
    s->mirrored = false;
    s->noted = 0;
    announce(s);
}

FarsideMemory *farside_memory_new(PCIDevice *pci, FarsidePeer *peer,
                                  FarsideWait *wait)
{
    FarsideMemory *s = g_new0(FarsideMemory, 1);

    s->pci = pci;
    s->peer = peer;
    s->wait = wait;
    s->bus.memory = s;
    s->bus.ram = g_array_new(false, false, sizeof(Ram));
    s->physical.memory = s;
    s->physical.ram = g_array_new(false, false, sizeof(Ram));
    QLIST_INIT(&s->watches);
    s->bh = qemu_bh_new(ram_changed, s);
    return s;
}

static void view_start(View *v, AddressSpace *as)
{
    v->as = as;
    v->listener = (MemoryListener) {
        .name = TYPE_FARSIDE_NTB,
        .region_add = ram_add,
        .region_del = ram_del,
    };
    memory_listener_register(&v->listener, as);
}

void farside_memory_start(FarsideMemory *s)
{
    view_start(&s->physical, &address_space_memory);
    /*
     * The memory that this device sees. Behind an IOMMU, the RAM is part of it
     * only while the IOMMU passes addresses through.
     */
    view_start(&s->bus, pci_device_iommu_address_space(s->pci));
}

void farside_memory_stop(FarsideMemory *s)
{
    Watch *w, *next;

    s->mirrored = false;
    memory_listener_unregister(&s->bus.listener);
    memory_listener_unregister(&s->physical.listener);
    QLIST_FOREACH_SAFE(w, &s->watches, next, next) {
        watch_free(w);
    }
}

void farside_memory_free(FarsideMemory *s)
{
    if (s) {
        qemu_bh_delete(s->bh);
        g_array_free(s->bus.ram, true);
        g_array_free(s->physical.ram, true);
        g_free(s);
    }
}
