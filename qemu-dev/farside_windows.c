/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "exec/cpu-common.h"
#include "hw/core/cpu.h"
#include "farside_access.h"
#include "farside_alias.h"
#include "farside_contain.h"
#include "farside_fetch.h"
#include "farside_flush.h"
#include "farside_mirror.h"
#include "farside_peer_ram.h"
#include "farside_qemu.h"
#include "farside_time.h"
#include "farside_turn.h"
#include "farside_windows.h"

#define TYPE_FARSIDE_NTB_WINDOW "farside-ntb-window"

/* Addresses for the forwarding regions, above all that a CPU can address */
#define FORWARD_BASE  (1ull << 54)
#define FORWARD_STEP  (1ull << 40)
#define FORWARD_SLOTS 512

#define PAGE_MASK_4K 0xfffull

typedef struct {
    FarsideWindows *windows;
    unsigned index;
    IOMMUMemoryRegion iommu; /* below all in the BAR */
    MemoryRegion forward;    /* in system memory */
} Window;

/* All that is behind the windows to one peer */
typedef struct {
    FarsideWindows *windows;
    FarsideRecorder *recorder;
    FarsidePeer *peer;
    FarsideRequester *requester;
    FarsideFetch *fetch;
    FarsidePeerRam *ram;
    FarsideMirror *mirror;
    bool translates;      /* the peer's RAM lies behind its IOMMU */
    bool behind;          /* a device's write may still be on its way */
    uint32_t trace_flush; /* number of the flush after the last change */
    bool write_through;   /* each forwarded write waits for the peer */
} Far;

struct FarsideWindows {
    const FarsideConfig *config;
    PCIDevice *pci;
    Far far[FARSIDE_NTB_PEERS_MAX];
    bool has_closed;     /* since farside_windows_take_closed() */
    FarsideWindow *list; /* of the chip */
    unsigned count;
    uint16_t *ids; /* NULL: all may enter */
    unsigned id_count;
    Window window[FARSIDE_NTB_WINDOWS];
    FarsideMap *map;  /* NULL: the chip has not given its list yet */
    uint64_t refused; /* atomic: requests with a wrong Requester ID */
    FarsideFlushes *flushes;
    FarsideAliases *aliases;
};

/* Translation: may run without the big lock, under RCU */

/*
 * Translates a page that lies behind the peer's IOMMU. Only a device's access
 * goes to the RAM directly. A CPU would keep the translation in its TLB, so
 * the peer would have to wait for all CPUs when its guest unmaps a page.
 *
 * A device may learn of a page from memory that it reads directly (an NVMe
 * controller reads commands and doorbells there) before the notice of the page
 * has arrived. If it forwarded its write, it could tell of the end of the
 * command before the write arrives. So before an access is forwarded, it waits
 * for the notices that are on their way. If the peer does not answer, because
 * its end of the link is down, it drops the write. Then, and after a write to
 * memory of another device, no access is direct before the peer answers (PCIe
 * 5.0 s2.4.1): the end of the command is dropped as well. An interrupt's write
 * has no translation, and is not waited for.
 */
static void translate_mirrored(Far *far, const FarsideMap *map,
                               const FarsideTarget *target,
                               IOMMUAccessFlags flag, IOMMUTLBEntry *entry)
{
    bool is_locked = bql_locked(), is_known = true;
    IOMMUAccessFlags perm;
    uint64_t page;

    if (flag == IOMMU_NONE) {
        return;
    }
    perm = farside_mirror_find(far->mirror, target->address, &page);
    if ((perm & flag) != flag && is_locked) {
        is_known = farside_requester_flush(far->requester, true);
        perm = farside_mirror_find(far->mirror, target->address, &page);
    }
    if ((perm & flag) != flag ||
        !farside_map_is_ram(map, target->peer, page, PAGE_MASK_4K + 1)) {
        far->behind |= !is_known || (perm & flag & IOMMU_WO);
        return;
    }
    if (far->behind && is_locked) {
        if (!farside_requester_flush(far->requester, true)) {
            return;
        }
        far->behind = false;
    }
    entry->target_as = farside_peer_ram_space(far->ram);
    entry->translated_addr = page;
    entry->perm = perm;
}

static IOMMUTLBEntry window_translate(IOMMUMemoryRegion *iommu, hwaddr addr,
                                      IOMMUAccessFlags flag, int iommu_idx)
{
    Window *w = container_of(iommu, Window, iommu);
    const FarsideMap *map = qatomic_rcu_read(&w->windows->map);
    hwaddr page = addr & ~PAGE_MASK_4K;
    FarsideTarget target, start;
    uint64_t mask, wider;
    IOMMUTLBEntry entry = {
        .target_as = &address_space_memory,
        .iova = page,
        .translated_addr = w->forward.addr + page,
        .addr_mask = PAGE_MASK_4K,
        .perm = IOMMU_RW,
    };

    /* A part of a page, here or there, is forwarded. */
    if (!farside_map_resolve(map, w->index, page, &target) ||
        target.is_registers || map->peer[target.peer].traced ||
        target.size <= PAGE_MASK_4K || (target.address & PAGE_MASK_4K)) {
        return entry;
    }
    if (map->peer[target.peer].translated) {
        translate_mirrored(&w->windows->far[target.peer], map, &target, flag,
                           &entry);
        return entry;
    }
    if (!farside_map_is_ram(map, target.peer, target.address,
                            PAGE_MASK_4K + 1)) {
        return entry;
    }
    /*
     * A device may map a long run at once, so its entry is as wide as window
     * and RAM allow. A block is one piece if its first byte leads to a piece of
     * at least the block's size. A CPU passes IOMMU_NONE, and takes only one
     * page into its TLB, so the search would only slow it down.
     */
    for (mask = PAGE_MASK_4K;
         flag != IOMMU_NONE && mask < MAKE_64BIT_MASK(0, 30); mask = wider) {
        wider = mask << 1 | 1;
        if (((page ^ target.address) & wider) ||
            !farside_map_resolve(map, w->index, page & ~wider, &start) ||
            start.peer != target.peer || start.is_registers ||
            start.address != (target.address & ~wider) || start.size <= wider ||
            !farside_map_is_ram(map, start.peer, start.address, wider + 1)) {
            break;
        }
    }
    entry.target_as = farside_peer_ram_space(w->windows->far[target.peer].ram);
    entry.iova = page & ~mask;
    entry.translated_addr = target.address & ~mask;
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

/* Requester IDs */

/* NULL if @mr is no part of a window. */
static FarsideWindows *windows_of(MemoryRegion *mr, unsigned *ret_window)
{
    const Window *w;

    if (!object_dynamic_cast(OBJECT(mr), TYPE_FARSIDE_NTB_WINDOW)) {
        return farside_alias_find(mr, ret_window);
    }
    w = container_of(IOMMU_MEMORY_REGION(mr), Window, iommu);
    *ret_window = w->index;
    return w->windows;
}

bool farside_windows_own(MemoryRegion *mr)
{
    unsigned window;

    return windows_of(mr, &window) != NULL;
}

bool farside_windows_admit(MemoryRegion *mr, uint16_t id)
{
    unsigned window;
    FarsideWindows *s = windows_of(mr, &window);
    const FarsideMap *map = qatomic_rcu_read(&s->map);

    if (farside_map_admits(map, id)) {
        return true;
    }
    qatomic_inc(&s->refused);
    qemu_log_mask(LOG_GUEST_ERROR,
                  "%s: a request of %02x:%02x.%x to BAR %u: the Requester ID "
                  "is not in the table\n",
                  object_get_typename(OBJECT(s->pci)), id >> 8, PCI_SLOT(id),
                  PCI_FUNC(id), FARSIDE_NTB_WINDOW_BAR(window));
    return false;
}

uint64_t farside_windows_refused(FarsideWindows *s)
{
    return qatomic_read(&s->refused);
}

/* Forwarding */

/*
 * True if blocks may be fetched for the access at @near. A CPU may wait for a
 * change, so it reads what it needs. Outside of virtual time a device has no
 * blocks if it reaches some of the peer's memory directly: it could learn there
 * of data that are newer than a block. While a trace is on, it reaches nothing
 * directly.
 */
static bool may_fetch(const FarsideMapPeer *peer, const FarsideNear *near)
{
    return !near->is_cpu &&
           (farside_time() || peer->traced || peer->ram_count == 0);
}

/*
 * To be called once for each access, also if it fails. A device's DMA has no
 * attributes in QEMU 7.2. It may come in a CPU's thread, which brings the work
 * of a device to its end before it resets the device.
 */
static FarsideNear near_of(const Window *w, hwaddr offset, MemTxAttrs attrs)
{
    uint16_t own = pci_requester_id(w->windows->pci);
    FarsideNear near = {
        .window = w->index,
        .offset = offset,
        .requester_id = farside_access_take(own),
        .is_device = farside_wait_is_device(attrs),
    };

    farside_turn_note();
    near.is_cpu = current_cpu && !near.is_device;

    if (farside_time()) {
        near.is_cpu = farside_time()->is_cpu(&near.device);
        if (!near.device) {
            near.requester_id = own;
        }
    }
    return near;
}

static bool window_read(Window *w, const FarsideNear *near, unsigned size,
                        uint64_t *ret_value)
{
    const FarsideMap *map = w->windows->map;
    FarsideTarget target;
    const Far *far;

    *ret_value = UINT64_MAX;
    if (!map || !farside_map_resolve(map, w->index, near->offset, &target) ||
        target.size < size) {
        return false;
    }
    far = &w->windows->far[target.peer];
    if (target.is_registers) {
        return farside_requester_read_register(far->requester, near,
                                               target.address, size, ret_value);
    }
    if (may_fetch(&map->peer[target.peer], near)) {
        return farside_fetch_read(far->fetch, near, target.address, size,
                                  target.size, ret_value);
    }
    return farside_requester_read(far->requester, near, target.address, size,
                                  ret_value);
}

/*
 * A read without a good completion is all ones for a CPU (PCIe 5.0 s2.3.2). A
 * device learns that it has failed: one that took ones for the entries of its
 * queue would act on them. One that does not look is contained.
 */
static MemTxResult forward_read(void *opaque, hwaddr offset, uint64_t *value,
                                unsigned size, MemTxAttrs attrs)
{
    Window *w = opaque;
    uint16_t own = pci_requester_id(w->windows->pci);
    FarsideNear near = near_of(w, offset, attrs);
    unsigned bar;

    if (near.is_cpu) {
        farside_wait_yield();
    }
    if (window_read(w, &near, size, value) || near.is_cpu) {
        return MEMTX_OK;
    }
    /* In virtual time the drive's data have a way of their own, with errors. */
    if (near.is_device && !farside_time() && !farside_requester_is_held()) {
        bar = farside_config_bar(w->windows->config, w->index, &offset);
        farside_contain(near.requester_id, near.requester_id != own, bar,
                        offset);
    }
    return MEMTX_DECODE_ERROR;
}

/* A posted request: nobody learns that it was dropped. */
static MemTxResult forward_write(void *opaque, hwaddr offset, uint64_t value,
                                 unsigned size, MemTxAttrs attrs)
{
    Window *w = opaque;
    FarsideNear near = near_of(w, offset, attrs);
    FarsideTarget target;
    const FarsideMap *map;
    const Far *far;

    if (near.is_cpu) {
        farside_wait_yield();
    }
    /* While the lock was released, the device may have been unplugged. */
    map = w->windows->map;
    if (map && farside_map_resolve(map, w->index, offset, &target) &&
        target.size >= size) {
        far = &w->windows->far[target.peer];
        farside_fetch_drop(far->fetch);
        (target.is_registers ? farside_requester_write_register
                             : farside_requester_write)(
            far->requester, &near, target.address, value, size);
        if (far->write_through) {
            farside_requester_flush(far->requester, near.is_device);
        }
    }
    return MEMTX_OK;
}

static const MemoryRegionOps forward_ops = {
    .read_with_attrs = forward_read,
    .write_with_attrs = forward_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
    .impl = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
};

/* DMA of drives in a timed cluster */

bool farside_windows_forward(const MemoryRegion *mr)
{
    return mr->ops == &forward_ops;
}

static FarsideFetching *dma_fetch(MemoryRegion *mr, hwaddr offset, void *data,
                                  unsigned size, FarsideFetchDone *done,
                                  void *opaque)
{
    Window *w = container_of(mr, Window, forward);
    FarsideNear near = near_of(w, offset, MEMTXATTRS_UNSPECIFIED);
    FarsideTarget target;

    if (!farside_map_resolve(w->windows->map, w->index, offset, &target) ||
        target.is_registers || target.size < size) {
        return NULL;
    }
    return farside_requester_fetch_then(w->windows->far[target.peer].requester,
                                        &near, target.address, data, size, done,
                                        opaque);
}

static const FarsideTimeWindows time_windows = {
    .owns = farside_windows_forward,
    .fetch = dma_fetch,
    .cancel = farside_requester_cancel,
};

static bool forward_place(Window *w, Error **errp)
{
    MemoryRegion *system = get_system_memory();
    MemoryRegionSection found;
    hwaddr base;
    unsigned i;

    for (i = 0; i < FORWARD_SLOTS; i++) {
        base = FORWARD_BASE + i * FORWARD_STEP;
        found =
            memory_region_find(system, base, memory_region_size(&w->forward));
        if (!found.mr) {
            memory_region_add_subregion(system, base, &w->forward);
            return true;
        }
        memory_region_unref(found.mr);
    }
    error_setg(errp, "no free place above system memory for a window");
    return false;
}

/* The map */

/* The RAM is reached without a translation, so none may be needed. */
static void update_aliases(FarsideWindows *s, const FarsideMap *map)
{
    bool may = s->config->window_ram == ON_OFF_AUTO_ON;
    const FarsideMapPeer *peer;
    const FarsideWindow *w;
    unsigned i, j;

    farside_alias_begin(s->aliases);
    for (i = 0; may && i < FARSIDE_NTB_WINDOWS; i++) {
        for (j = map->first[i]; j < map->first[i + 1]; j++) {
            w = &map->window[j];
            peer = &map->peer[w->peer];
            if (peer->link_up && !peer->traced && !peer->translated &&
                !w->is_registers) {
                farside_alias_add(s->aliases, i, w->offset, w->size, w->peer,
                                  w->target);
            }
        }
    }
    farside_alias_commit(s->aliases);
}

static void describe_peer(const Far *far, FarsideMapPeer *ret_peer)
{
    unsigned i;

    ret_peer->link_up = farside_peer_link_is_up(far->peer);
    ret_peer->traced = farside_recorder_is_on(far->recorder);
    ret_peer->translated = far->translates;
    ret_peer->ram_count = farside_peer_ram_count(far->ram);
    for (i = 0; i < ret_peer->ram_count; i++) {
        farside_peer_ram_range(far->ram, i, &ret_peer->ram[i].address,
                               &ret_peer->ram[i].size);
    }
}

void farside_windows_update(FarsideWindows *s)
{
    FarsideMap *map = farside_map_new(s->list, s->count, s->ids, s->id_count);
    FarsideMap *old = s->map;
    IOMMUTLBEvent event = {
        .type = IOMMU_NOTIFIER_UNMAP,
        .entry = {.target_as = &address_space_memory, .perm = IOMMU_NONE},
    };
    CPUState *cpu;
    unsigned i;

    for (i = 0; i < s->config->peer_count; i++) {
        describe_peer(&s->far[i], &map->peer[i]);
    }
    qatomic_rcu_set(&s->map, map);
    if (old) {
        g_free_rcu(old, rcu);
    }
    farside_fetch_expire();
    update_aliases(s, map);

    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        event.entry.addr_mask = s->config->bar_size[i] - 1;
        farside_qemu_notify(&s->window[i].iommu, event);
    }
    /*
     * QEMU's own notifier may fail to flush a CPU's TLB: a race between a
     * translation and a notification can leave it marked as inactive.
     */
    if (tcg_enabled()) {
        CPU_FOREACH(cpu)
        {
            farside_qemu_flush_tlb(cpu);
        }
    }
}

/* Flushes */

static bool is_in_use(void *opaque)
{
    FarsideWindows *s = opaque;
    unsigned i;

    for (i = 0; i < s->config->peer_count; i++) {
        if (farside_peer_ram_is_in_use(s->far[i].ram)) {
            return true;
        }
    }
    return farside_alias_is_in_use(s->aliases);
}

uint32_t farside_windows_flush(FarsideWindows *s, FarsideFlushed *flushed,
                               void *opaque)
{
    return farside_flush_begin(s->flushes, flushed, opaque);
}

/* Traces */

static void trace_flushed(void *opaque, uint32_t number)
{
    Far *far = opaque;

    if (number == far->trace_flush && !farside_recorder_is_on(far->recorder)) {
        far->write_through = false;
    }
}

void farside_windows_end_trace(FarsideWindows *s, unsigned peer)
{
    s->far[peer].write_through = true;
    farside_requester_flush(s->far[peer].requester, false);
}

void farside_windows_trace_changed(FarsideWindows *s, unsigned peer)
{
    Far *far = &s->far[peer];

    if (farside_recorder_is_on(far->recorder)) {
        far->write_through = false;
    }
    farside_windows_update(s);
    far->trace_flush = farside_windows_flush(s, trace_flushed, far);
}

/* The peer's RAM */

void farside_windows_forget_ram(FarsideWindows *s, unsigned peer)
{
    Far *far = &s->far[peer];

    farside_peer_ram_hide(far->ram);
    far->translates = false;
    farside_windows_update(s);
    farside_alias_cut(s->aliases, peer);
    farside_mirror_clear(far->mirror);
    farside_fetch_forget(far->fetch);
    farside_peer_ram_remove(far->ram);
}

bool farside_windows_on_ram(FarsideWindows *s, unsigned peer,
                            const FarsideLinkMessage *m)
{
    const struct farside_wire_ram *ram = m->body;
    unsigned i;

    if (!farside_peer_ram_is_sane(ram, m->file_count)) {
        return false;
    }
    farside_windows_forget_ram(s, peer);
    farside_peer_ram_take(s->far[peer].ram, ram, m->files);
    for (i = 0; i < ram->count; i++) {
        m->files[i] = -1;
    }
    s->far[peer].translates = ram->translated;
    farside_windows_update(s);
    return true;
}

void farside_windows_peer_reset(FarsideWindows *s, unsigned peer)
{
    farside_peer_ram_hide(s->far[peer].ram);
    farside_windows_update(s);
    farside_alias_cut(s->aliases, peer);
    farside_peer_ram_renew(s->far[peer].ram);
    farside_windows_update(s);
}

bool farside_windows_on_notices(FarsideWindows *s, unsigned peer,
                                const FarsideLinkMessage *m)
{
    const struct farside_wire_notices *notices = m->body;
    struct farside_wire_noted noted = {.number = notices->number};
    bool unmaps;

    if (!farside_mirror_apply_all(s->far[peer].mirror, notices, m->size,
                                  &unmaps)) {
        return false;
    }
    /* A device looks up each access, so a later one finds the change. */
    if (unmaps) {
        farside_peer_send(s->far[peer].peer, FARSIDE_WIRE_NOTED, &noted,
                          sizeof(noted));
    }
    return true;
}

/* Life */

MemoryRegion *farside_windows_get_bar(FarsideWindows *s, unsigned window)
{
    return farside_alias_get_bar(s->aliases, window);
}

void farside_windows_set(FarsideWindows *s, const FarsideWindow *list,
                         unsigned count, const uint16_t *ids, unsigned id_count)
{
    s->has_closed |=
        farside_windows_have_closed(s->list, s->count, list, count);
    g_free(s->list);
    g_free(s->ids);
    s->list = g_memdup2(list, count * sizeof(*list));
    s->count = count;
    /* Never NULL if only some may enter, even if these are none */
    s->ids = ids ? g_new0(uint16_t, id_count + 1) : NULL;
    s->id_count = ids ? id_count : 0;
    if (ids) {
        memcpy(s->ids, ids, id_count * sizeof(*ids));
    }
    farside_windows_update(s);
}

bool farside_windows_take_closed(FarsideWindows *s)
{
    bool has_closed = s->has_closed;

    s->has_closed = false;
    return has_closed;
}

/* Fills @m with windows to @peer from *@at on, which it moves. */
static void take_part(const FarsideWindows *s, unsigned peer, unsigned *at,
                      struct farside_wire_windows *m)
{
    const FarsideWindow *w;

    m->count = 0;
    m->more = 0;
    for (; *at < s->count; (*at)++) {
        w = &s->list[*at];
        if (w->peer != peer || w->is_registers) {
            continue;
        }
        if (m->count == FARSIDE_WIRE_WINDOWS_PART) {
            m->more = 1;
            return;
        }
        m->window[m->count++] = (struct farside_wire_window) {
            .address = w->target,
            .size = w->size,
        };
    }
}

void farside_windows_tell(FarsideWindows *s)
{
    g_autofree struct farside_wire_windows *m =
        g_malloc0(sizeof(*m) + FARSIDE_WIRE_WINDOWS_PART * sizeof(*m->window));
    unsigned peer, at;

    for (peer = 0; peer < s->config->peer_count; peer++) {
        at = 0;
        do {
            take_part(s, peer, &at, m);
            farside_peer_send(s->far[peer].peer, FARSIDE_WIRE_WINDOWS, m,
                              sizeof(*m) + m->count * sizeof(*m->window));
        } while (m->more);
    }
}

void farside_windows_add_peer(FarsideWindows *s, unsigned peer,
                              FarsideRecorder *recorder,
                              FarsidePeer *connection,
                              FarsideRequester *requester)
{
    Far *far = &s->far[peer];

    far->windows = s;
    far->recorder = recorder;
    far->peer = connection;
    far->requester = requester;
    far->mirror = farside_mirror_new();
    far->fetch = farside_fetch_new(requester);
    far->ram = farside_peer_ram_new(OBJECT(s->pci));
    farside_alias_add_peer(s->aliases, peer, far->ram);
}

FarsideWindows *farside_windows_new(const FarsideConfig *config, PCIDevice *pci)
{
    static const char *const names[] = {"farside-bar2", "farside-bar4"};
    FarsideWindows *s = g_new0(FarsideWindows, 1);
    Window *w;
    unsigned i;

    s->config = config;
    s->pci = pci;
    farside_turn_add_user();
    s->aliases = farside_alias_new(OBJECT(pci), s);
    s->flushes =
        farside_flushes_new(OBJECT(pci), config->timeout_ms, is_in_use, s);
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        w = &s->window[i];
        w->windows = s;
        w->index = i;
        memory_region_init_iommu(&w->iommu, sizeof(w->iommu),
                                 TYPE_FARSIDE_NTB_WINDOW, OBJECT(pci),
                                 "farside-window", config->bar_size[i]);
        farside_alias_add_bar(s->aliases, i, names[i],
                              MEMORY_REGION(&w->iommu));
        memory_region_init_io(&w->forward, OBJECT(pci), &forward_ops, w,
                              "farside-forward", config->bar_size[i]);
        w->forward.disable_reentrancy_guard = true;
    }
    return s;
}

bool farside_windows_start(FarsideWindows *s, Error **errp)
{
    unsigned i;

    for (i = 0; i < s->config->peer_count; i++) {
        farside_peer_ram_start(s->far[i].ram);
    }
    if (farside_time()) {
        farside_time()->set_windows(&time_windows);
    }
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        if (!forward_place(&s->window[i], errp)) {
            farside_windows_stop(s);
            return false;
        }
    }
    return true;
}

void farside_windows_stop(FarsideWindows *s)
{
    unsigned i;

    for (i = 0; s->map && i < s->config->peer_count; i++) {
        farside_windows_forget_ram(s, i);
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
    for (i = 0; i < s->config->peer_count; i++) {
        farside_peer_ram_stop(s->far[i].ram);
    }
}

void farside_windows_free(FarsideWindows *s)
{
    unsigned i;

    if (s) {
        for (i = 0; i < s->config->peer_count; i++) {
            farside_mirror_free(s->far[i].mirror);
            farside_fetch_free(s->far[i].fetch);
            farside_peer_ram_free(s->far[i].ram);
        }
        farside_alias_free(s->aliases);
        farside_flushes_free(s->flushes);
        farside_turn_remove_user();
        g_free(s->list);
        g_free(s->ids);
    }
    g_free(s);
}

static void window_class_init(ObjectClass *klass, FarsideClassData *data)
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

void farside_windows_register_types(void)
{
    type_register_static(&window_info);
    farside_peer_ram_register_type();
    farside_alias_register_type();
}
