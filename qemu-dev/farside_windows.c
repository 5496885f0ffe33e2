/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The window BARs. Each is an IOMMU memory region whose translation follows the
 * control block:
 *
 *  - what leads to the peer's RAM goes into an address space of our own, in
 *    which the peer's memory files lie at the peer's bus addresses: a CPU then
 *    accesses it like its own memory, and a remap costs a TLB flush;
 *  - all else goes to a forwarding region, whose accesses become requests to
 *    the peer. It lies in system memory, above all that the machine uses,
 *    because QEMU finds the sections of MMIO in the dispatch table of the CPU's
 *    own address space only. An offset in it is an offset in the BAR, so it
 *    opens no way that the BAR does not.
 *
 * translate() runs without the big lock: it reads a map that is replaced as a
 * whole and freed by RCU.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/memfd.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "exec/address-spaces.h"
#include "exec/cpu-common.h"
#include "hw/core/cpu.h"
#include "sysemu/tcg.h"
#include "farside_ntb.h"

#define TYPE_FARSIDE_NTB_WINDOW "farside-switchtec-window"
#define TYPE_FARSIDE_NTB_PEER_RAM "farside-switchtec-peer-ram"
OBJECT_DECLARE_SIMPLE_TYPE(FarsideNtbPeerRam, FARSIDE_NTB_PEER_RAM)

/* Where forwarding regions are looked for; no CPU addresses so much. */
#define FORWARD_BASE (1ull << 54)
#define FORWARD_STEP (1ull << 40)
#define FORWARD_SLOTS 512

#define PAGE_MASK_4K 0xfffull

/*
 * What a peer may make us map; and what all may at a time, for that stays until
 * RCU has let go of it. QEMU's bitmaps of it take 100 MiB a TiB.
 */
#define PEER_RAM_MAX (1 * TiB)
#define PEER_RAM_MAPPED_MAX (2 * PEER_RAM_MAX)

/* Below this, firmware switches RAM on and off while it boots. */
#define OWN_RAM_START (1 * MiB)

/*
 * A region of the peer's memory. An object of its own, since a view of the
 * address space may hold on to it for as long as RCU takes.
 */
struct FarsideNtbPeerRam {
    Object parent_obj;
    MemoryRegion mr;
    uint64_t address;
    uint64_t size;
};

/* Of all devices; atomic, for whoever lets go last may have no lock. */
static uint64_t peer_ram_mapped;

typedef struct {
    uint64_t address;
    uint64_t size;
    uint64_t offset;
    MemoryRegion *mr;
} OwnRam;

/* Translation */

static bool map_resolve(const FarsideNtbMap *map, unsigned window,
                        uint64_t offset, uint64_t *ret_target,
                        uint64_t *ret_size)
{
    uint64_t lut_size, entry, mask;

    if (!map->link_up) {
        return false;
    }
    lut_size = (uint64_t)map->window[window].lut_count
               << map->window[window].lut_shift;
    if (offset < lut_size) {
        mask = MAKE_64BIT_MASK(0, map->window[window].lut_shift);
        entry = map->lut[offset >> map->window[window].lut_shift];
        if (!(entry & SWITCHTEC_LUT_EN) ||
            SWITCHTEC_LUT_PART(entry) != map->peer) {
            return false;
        }
        *ret_target = (entry & SWITCHTEC_ADDR_MASK & ~mask) | (offset & mask);
        *ret_size = mask + 1 - (offset & mask);
        return true;
    }
    offset -= map->window[window].direct_offset;
    if (offset < map->window[window].direct_size) {
        *ret_target = map->window[window].direct_target + offset;
        *ret_size = map->window[window].direct_size - offset;
        return true;
    }
    return false;
}

/* The RAM region that holds [target, target + size), or NULL. */
static bool map_is_ram(const FarsideNtbMap *map, uint64_t target, uint64_t size)
{
    unsigned i;

    for (i = 0; i < map->ram_count; i++) {
        if (target >= map->ram[i].address &&
            target - map->ram[i].address < map->ram[i].size &&
            size <= map->ram[i].size - (target - map->ram[i].address)) {
            return true;
        }
    }
    return false;
}

static IOMMUTLBEntry window_translate(IOMMUMemoryRegion *iommu, hwaddr addr,
                                      IOMMUAccessFlags flag, int iommu_idx)
{
    FarsideNtbWindow *w = container_of(iommu, FarsideNtbWindow, iommu);
    const FarsideNtbMap *map = qatomic_rcu_read(&w->ntb->map);
    hwaddr page = addr & ~PAGE_MASK_4K;
    uint64_t target, size, mask, wider;
    IOMMUTLBEntry entry = {
        .target_as = &address_space_memory,
        .iova = page,
        .translated_addr = w->forward.addr + page,
        .addr_mask = PAGE_MASK_4K,
        .perm = IOMMU_RW,
    };

    if (map->traced || !map_resolve(map, w->index, page, &target, &size) ||
        !map_is_ram(map, target, PAGE_MASK_4K + 1)) {
        return entry;
    }
    /*
     * As wide as window and RAM allow, for devices that map a long run at
     * once. Resolving the block's first byte tells whether it is one piece. A
     * CPU, which asks without saying what for, takes a page into its TLB, and
     * a copy through many pages would spend its time here.
     */
    for (mask = PAGE_MASK_4K;
         flag != IOMMU_NONE && mask < MAKE_64BIT_MASK(0, 30); mask = wider) {
        uint64_t start, start_target, start_size;

        wider = mask << 1 | 1;
        start = page & ~wider;
        if (((page ^ target) & wider) ||
            !map_resolve(map, w->index, start, &start_target, &start_size) ||
            start_target != (target & ~wider) || start_size <= wider ||
            !map_is_ram(map, start_target, wider + 1)) {
            break;
        }
    }
    entry.target_as = &w->ntb->peer_as;
    entry.iova = page & ~mask;
    entry.translated_addr = target & ~mask;
    entry.addr_mask = mask;
    return entry;
}

static int window_attrs_to_index(IOMMUMemoryRegion *iommu, MemTxAttrs attrs)
{
    return 0;
}

static int window_num_indexes(IOMMUMemoryRegion *iommu)
{
    return 1;
}

/* Forwarding */

static uint64_t forward_read(void *opaque, hwaddr offset, unsigned size)
{
    FarsideNtbWindow *w = opaque;
    FarsideNtbNear near = {.window = w->index, .offset = offset};
    uint64_t target, left;

    if (!map_resolve(w->ntb->map, w->index, offset, &target, &left) ||
        left < size) {
        return UINT64_MAX;
    }
    return farside_tlp_read(w->ntb, &near, target, size);
}

static void forward_write(void *opaque, hwaddr offset, uint64_t value,
                          unsigned size)
{
    FarsideNtbWindow *w = opaque;
    FarsideNtbNear near = {.window = w->index, .offset = offset};
    uint64_t target, left;

    if (map_resolve(w->ntb->map, w->index, offset, &target, &left) &&
        left >= size) {
        farside_tlp_write(w->ntb, &near, target, value, size);
        if (w->ntb->write_through) {
            farside_tlp_flush(w->ntb);
        }
    }
}

static const MemoryRegionOps forward_ops = {
    .read = forward_read,
    .write = forward_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
    .impl = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
};

static bool forward_place(FarsideNtbWindow *w, Error **errp)
{
    MemoryRegion *system = get_system_memory();
    MemoryRegionSection found;
    hwaddr base;
    unsigned i;

    for (i = 0; i < FORWARD_SLOTS; i++) {
        base = FORWARD_BASE + i * FORWARD_STEP;
        found = memory_region_find(system, base,
                                   memory_region_size(&w->forward));
        if (!found.mr) {
            memory_region_add_subregion(system, base, &w->forward);
            return true;
        }
        memory_region_unref(found.mr);
    }
    error_setg(errp, "no room for another window");
    return false;
}

/* The map */

void farside_window_update(FarsideNtb *s)
{
    const struct farside_wire_ctrl *block = &s->ctrl[s->partition].active;
    FarsideNtbMap *map = g_new0(FarsideNtbMap, 1);
    FarsideNtbMap *old = s->map;
    IOMMUTLBEvent event = {
        .type = IOMMU_NOTIFIER_UNMAP,
        .entry = {.target_as = &address_space_memory, .perm = IOMMU_NONE},
    };
    const struct farside_wire_bar *bar;
    CPUState *cpu;
    unsigned i;

    map->link_up = s->link_up;
    map->traced = s->trace;
    map->peer = farside_ntb_peer(s);
    memcpy(map->lut, block->lut, sizeof(map->lut));
    for (i = 0; i < s->peer_ram_count; i++) {
        map->ram[i].address = s->peer_ram[i]->address;
        map->ram[i].size = s->peer_ram[i]->size;
    }
    map->ram_count = s->peer_ram_count;
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        bar = &block->bar[FARSIDE_NTB_WINDOW_BAR(i)];
        if (bar->ctl & SWITCHTEC_BAR_LUT_EN) {
            map->window[i].lut_shift = SWITCHTEC_BAR_LUT_SHIFT(bar->ctl);
            map->window[i].lut_count = SWITCHTEC_BAR_LUT_COUNT(bar->ctl);
        }
        map->window[i].direct_offset = (uint64_t)map->window[i].lut_count
                                       << map->window[i].lut_shift;
        if ((bar->ctl & SWITCHTEC_BAR_DIR_EN) &&
            SWITCHTEC_XLATE_PART(bar->xlate) == map->peer) {
            map->window[i].direct_size =
                (uint64_t)bar->ext_win_size << 32 |
                (bar->win_size & SWITCHTEC_WIN_SIZE_MASK);
            map->window[i].direct_target = bar->xlate & SWITCHTEC_ADDR_MASK;
        }
    }
    qatomic_rcu_set(&s->map, map);
    if (old) {
        g_free_rcu(old, rcu);
    }

    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        event.entry.addr_mask = s->bar_size[i] - 1;
        memory_region_notify_iommu(&s->window[i].iommu, 0, event);
    }
    /*
     * QEMU's own notifier of a CPU may take itself for inactive after a race
     * between a translation and a notification, and not flush.
     */
    if (tcg_enabled()) {
        CPU_FOREACH(cpu) {
            tcg_flush_softmmu_tlb(cpu);
        }
    }
}

typedef struct {
    FarsideNtb *ntb;
    uint32_t number;
    unsigned cpus;
} Flush;

static void flush_finish(void *opaque)
{
    Flush *f = opaque;

    farside_ctrl_flushed(f->ntb, f->number);
    farside_trace_flushed(f->ntb, f->number);
    object_unref(OBJECT(f->ntb));
    g_free(f);
}

static void flush_done_on(CPUState *cpu, run_on_cpu_data data)
{
    Flush *f = data.host_ptr;

    if (qatomic_fetch_dec(&f->cpus) == 1) {
        aio_bh_schedule_oneshot(qemu_get_aio_context(), flush_finish, f);
    }
}

uint32_t farside_window_flush(FarsideNtb *s)
{
    Flush *f = g_new0(Flush, 1);
    uint32_t number;
    CPUState *cpu;

    s->flush_count++;
    if (s->flush_count == 0) {
        s->flush_count++;
    }
    number = s->flush_count;
    f->ntb = s;
    f->number = number;
    object_ref(OBJECT(s));
    /* One more than there are, so that none finishes while they are told. */
    f->cpus = 1;
    CPU_FOREACH(cpu) {
        qatomic_inc(&f->cpus);
        /* Work of a CPU is done in order: after the flush above. */
        async_run_on_cpu(cpu, flush_done_on, RUN_ON_CPU_HOST_PTR(f));
    }
    flush_done_on(NULL, RUN_ON_CPU_HOST_PTR(f));
    return number;
}

/* The peer's RAM */

void farside_window_forget_ram(FarsideNtb *s)
{
    unsigned i, count = s->peer_ram_count;

    s->peer_ram_count = 0;
    farside_window_update(s);
    for (i = 0; i < count; i++) {
        memory_region_del_subregion(&s->peer_memory, &s->peer_ram[i]->mr);
        object_unref(OBJECT(s->peer_ram[i]));
        s->peer_ram[i] = NULL;
    }
}

/* A file that its owner could shrink would take us down with it (SIGBUS). */
static bool file_is_safe(int fd, uint64_t offset, uint64_t size)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat st;

    return seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(fd, &st) == 0 &&
           st.st_size >= 0 && (uint64_t)st.st_size >= offset &&
           (uint64_t)st.st_size - offset >= size;
}

static bool ram_message_is_sane(const struct farside_wire_ram *m,
                                unsigned fd_count)
{
    uint64_t mask = qemu_real_host_page_size() - 1;
    uint64_t total = 0;
    unsigned i, j;

    if (m->count > FARSIDE_WIRE_FDS || m->count != fd_count) {
        return false;
    }
    for (i = 0; i < m->count; i++) {
        const struct farside_wire_ram_region *r = &m->region[i];

        if (((r->address | r->size | r->offset) & mask) || r->size == 0 ||
            r->size > PEER_RAM_MAX || r->address > (1ull << 52) ||
            r->offset > (1ull << 52)) {
            return false;
        }
        total += r->size;
        for (j = 0; j < i; j++) {
            if (r->address < m->region[j].address + m->region[j].size &&
                m->region[j].address < r->address + r->size) {
                return false;
            }
        }
    }
    return total <= PEER_RAM_MAX;
}

static void peer_ram_add(FarsideNtb *s,
                         const struct farside_wire_ram_region *region, int fd)
{
    FarsideNtbPeerRam *ram;
    Error *err = NULL;

    if (!file_is_safe(fd, region->offset, region->size)) {
        warn_report_once("%s: memory of the peer is not in a sealed memfd, and "
                         "is reached the slow way",
                         TYPE_FARSIDE_NTB);
        close(fd);
        return;
    }
    if (region->size > PEER_RAM_MAPPED_MAX - qatomic_read(&peer_ram_mapped)) {
        warn_report_once("%s: more memory of peers than can be mapped, and is "
                         "reached the slow way",
                         TYPE_FARSIDE_NTB);
        close(fd);
        return;
    }
    ram = FARSIDE_NTB_PEER_RAM(object_new(TYPE_FARSIDE_NTB_PEER_RAM));
    ram->address = region->address;
    ram->size = region->size;
    qatomic_add(&peer_ram_mapped, ram->size);
    memory_region_init_ram_from_fd(&ram->mr, OBJECT(ram), "farside-peer-ram",
                                   region->size, RAM_SHARED, fd,
                                   region->offset, &err);
    if (err) {
        warn_report_err(err);
        object_unref(OBJECT(ram));
        close(fd);
        return;
    }
    memory_region_add_subregion(&s->peer_memory, ram->address, &ram->mr);
    s->peer_ram[s->peer_ram_count++] = ram;
}

static void peer_ram_finalize(Object *obj)
{
    qatomic_sub(&peer_ram_mapped, FARSIDE_NTB_PEER_RAM(obj)->size);
}

bool farside_window_on_ram(FarsideNtb *s, const struct farside_wire_ram *m,
                           int *fds, unsigned fd_count)
{
    unsigned i;

    if (!ram_message_is_sane(m, fd_count)) {
        for (i = 0; i < fd_count; i++) {
            close(fds[i]);
        }
        return false;
    }
    farside_window_forget_ram(s);
    for (i = 0; i < m->count; i++) {
        peer_ram_add(s, &m->region[i], fds[i]);
    }
    farside_window_update(s);
    return true;
}

/* The own RAM, announced to the peer */

/* The part of a section that a peer may map; false where there is none. */
static bool own_ram_of(MemoryRegionSection *section, OwnRam *ret_ram)
{
    OwnRam ram = {
        .address = section->offset_within_address_space,
        .size = int128_get64(section->size),
        .offset = section->offset_within_region,
        .mr = section->mr,
    };

    if (!memory_region_is_ram(ram.mr) || section->readonly ||
        memory_region_is_ram_device(ram.mr) ||
        memory_region_get_fd(ram.mr) < 0 ||
        !qemu_ram_is_shared(ram.mr->ram_block)) {
        return false;
    }
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

static void own_ram_add(MemoryListener *listener, MemoryRegionSection *section)
{
    FarsideNtb *s = container_of(listener, FarsideNtb, listener);
    OwnRam ram;

    if (own_ram_of(section, &ram)) {
        g_array_append_val(s->own_ram, ram);
        qemu_bh_schedule(s->own_ram_bh);
    }
}

static void own_ram_del(MemoryListener *listener, MemoryRegionSection *section)
{
    FarsideNtb *s = container_of(listener, FarsideNtb, listener);
    OwnRam ram, *found;
    unsigned i;

    if (!own_ram_of(section, &ram)) {
        return;
    }
    for (i = 0; i < s->own_ram->len; i++) {
        found = &g_array_index(s->own_ram, OwnRam, i);
        if (found->mr == ram.mr && found->address == ram.address) {
            g_array_remove_index(s->own_ram, i);
            qemu_bh_schedule(s->own_ram_bh);
            return;
        }
    }
}

/* The largest first: there is room for a few. */
static gint own_ram_compare(gconstpointer a, gconstpointer b)
{
    const OwnRam *ra = a;
    const OwnRam *rb = b;

    if (ra->size != rb->size) {
        return ra->size > rb->size ? -1 : 1;
    }
    return ra->address < rb->address ? -1 : ra->address > rb->address;
}

void farside_window_announce(FarsideNtb *s)
{
    struct farside_wire_ram m = {0};
    int fds[FARSIDE_WIRE_FDS];
    unsigned i;

    if (!s->peer_here) {
        return;
    }
    /* An IOMMU that came later than this device was not listened to. */
    if (pci_device_iommu_address_space(PCI_DEVICE(s)) == s->own_as) {
        g_array_sort(s->own_ram, own_ram_compare);
        for (i = 0; i < s->own_ram->len && m.count < FARSIDE_WIRE_FDS; i++) {
            OwnRam *ram = &g_array_index(s->own_ram, OwnRam, i);

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
        warn_report_once("%s: the machine's memory is not shared; give it "
                         "-object memory-backend-memfd,share=on or the peer "
                         "reaches it the slow way",
                         TYPE_FARSIDE_NTB);
    }
    farside_link_send(s, FARSIDE_WIRE_RAM, &m, sizeof(m), NULL, 0, fds,
                      m.count);
}

static void own_ram_changed(void *opaque)
{
    farside_window_announce(opaque);
}

/* Life */

bool farside_window_realize(FarsideNtb *s, Error **errp)
{
    static const char *const names[] = {"farside-bar2", "farside-bar4"};
    FarsideNtbWindow *w;
    unsigned i;

    memory_region_init(&s->peer_memory, OBJECT(s), "farside-peer-memory",
                       UINT64_MAX);
    address_space_init(&s->peer_as, &s->peer_memory, "farside-peer-memory");
    s->own_ram = g_array_new(false, false, sizeof(OwnRam));
    s->own_ram_bh = qemu_bh_new(own_ram_changed, s);
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        w = &s->window[i];
        w->ntb = s;
        w->index = i;
        memory_region_init_iommu(&w->iommu, sizeof(w->iommu),
                                 TYPE_FARSIDE_NTB_WINDOW, OBJECT(s), names[i],
                                 s->bar_size[i]);
        memory_region_init_io(&w->forward, OBJECT(s), &forward_ops, w,
                              "farside-forward", s->bar_size[i]);
        w->forward.disable_reentrancy_guard = true;
        if (!forward_place(w, errp)) {
            farside_window_exit(s);
            return false;
        }
    }
    s->listener = (MemoryListener){
        .name = "farside-switchtec",
        .region_add = own_ram_add,
        .region_del = own_ram_del,
    };
    /*
     * Memory as this device sees it: behind an IOMMU only while that passes
     * addresses through.
     */
    s->own_as = pci_device_iommu_address_space(PCI_DEVICE(s));
    memory_listener_register(&s->listener, s->own_as);
    farside_window_update(s);
    return true;
}

void farside_window_exit(FarsideNtb *s)
{
    unsigned i;

    if (s->listener.name) {
        memory_listener_unregister(&s->listener);
        s->listener.name = NULL;
    }
    if (s->map) {
        farside_window_forget_ram(s);
    }
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        if (memory_region_is_mapped(&s->window[i].forward)) {
            memory_region_del_subregion(get_system_memory(),
                                        &s->window[i].forward);
        }
    }
    if (s->map) {
        g_free_rcu(s->map, rcu);
        s->map = NULL;
    }
    qemu_bh_delete(s->own_ram_bh);
    g_array_free(s->own_ram, true);
    address_space_destroy(&s->peer_as);
}

static void window_class_init(ObjectClass *klass, void *data)
{
    IOMMUMemoryRegionClass *imrc = IOMMU_MEMORY_REGION_CLASS(klass);

    imrc->translate = window_translate;
    imrc->attrs_to_index = window_attrs_to_index;
    imrc->num_indexes = window_num_indexes;
}

static const TypeInfo window_info = {
    .name = TYPE_FARSIDE_NTB_WINDOW,
    .parent = TYPE_IOMMU_MEMORY_REGION,
    .instance_size = sizeof(IOMMUMemoryRegion),
    .class_init = window_class_init,
};

static const TypeInfo peer_ram_info = {
    .name = TYPE_FARSIDE_NTB_PEER_RAM,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(FarsideNtbPeerRam),
    .instance_finalize = peer_ram_finalize,
};

void farside_window_register_types(void)
{
    type_register_static(&window_info);
    type_register_static(&peer_ram_info);
}
