/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/queue.h"
#include "qemu/timer.h"
#include "exec/cpu-common.h"
#include "farside_alias.h"

#define TYPE_FARSIDE_NTB_ALIAS "farside-switchtec-alias"
OBJECT_DECLARE_SIMPLE_TYPE(FarsideNtbAlias, FARSIDE_NTB_ALIAS)

/*
 * Parts of one device's windows, and of those of all devices. KVM has a slot
 * for each part: 509 in all before Linux 5.11, of which the machine's own
 * memory needs some, and QEMU ends when there is none left.
 */
#define ALIASES_MAX 64
#define ALIASES_MAX_ALL 256

/* The time between two looks for transfers that have ended */
#define SWEEP_MS 5

/* A part of a window, and the place in the peer's RAM that it leads to */
typedef struct {
    unsigned window;
    unsigned peer;
    unsigned region; /* of the peer's FarsidePeerRam */
    uint64_t offset; /* in the BAR */
    uint64_t size;
    uint64_t place; /* in the region */
    bool is_live;   /* it is RAM already; of a wanted part */
} Part;

/*
 * A part that is in a BAR, or was. It is a separate object, because flat views
 * of address spaces, and transfers of devices, use it for longer.
 */
struct FarsideNtbAlias {
    Object parent_obj;
    Object *owner; /* the device; not before it, this is gone */
    void *opaque;
    Part part;
    MemoryRegion ram;   /* whole pages of the peer's file */
    MemoryRegion alias; /* the part of them that is in the BAR */
    bool is_wanted;
    QLIST_ENTRY(FarsideNtbAlias) next;
};

typedef QLIST_HEAD(, FarsideNtbAlias) Aliases;

struct FarsideAliases {
    Object *owner;
    void *opaque;
    MemoryRegion bar[FARSIDE_NTB_WINDOWS];
    FarsidePeerRam *ram[FARSIDE_NTB_PEERS_MAX];
    GArray *wanted; /* of Part */
    Aliases live;   /* in a BAR */
    Aliases closed; /* may be in use */
    unsigned closed_count;
    bool is_short; /* something wanted found no place */
    QEMUTimer *timer;
};

/* Live ones of all devices */
static unsigned live_all;

void *farside_alias_find(const MemoryRegion *mr, unsigned *ret_window)
{
    const FarsideNtbAlias *a;

    if (!mr->owner ||
        !object_dynamic_cast(mr->owner, TYPE_FARSIDE_NTB_ALIAS)) {
        return NULL;
    }
    a = FARSIDE_NTB_ALIAS(mr->owner);
    *ret_window = a->part.window;
    return a->opaque;
}

/* Choosing */

void farside_alias_begin(FarsideAliases *s)
{
    g_array_set_size(s->wanted, 0);
}

void farside_alias_add(FarsideAliases *s, unsigned window, uint64_t offset,
                       uint64_t size, unsigned peer, uint64_t target)
{
    FarsidePeerRam *ram = s->ram[peer];
    uint64_t mask = qemu_real_host_page_size() - 1;
    uint64_t address, length, begin, end;
    Part part = {.window = window, .peer = peer};

    for (; part.region < farside_peer_ram_count(ram); part.region++) {
        farside_peer_ram_range(ram, part.region, &address, &length);
        begin = MAX(target, address);
        end = MIN(target + size, address + length);
        if (begin >= end) {
            continue;
        }
        part.offset = offset + (begin - target);
        part.place = begin - address;
        part.size = end - begin;
        if (((part.offset | part.place | part.size) & mask) == 0) {
            g_array_append_val(s->wanted, part);
        }
    }
}

static bool part_equal(const Part *a, const Part *b)
{
    return a->window == b->window && a->peer == b->peer &&
           a->region == b->region &&
           a->offset == b->offset && a->size == b->size &&
           a->place == b->place;
}

static FarsideNtbAlias *find_live(FarsideAliases *s, const Part *part)
{
    FarsideNtbAlias *a;

    QLIST_FOREACH(a, &s->live, next) {
        if (part_equal(&a->part, part)) {
            return a;
        }
    }
    return NULL;
}

/* Large parts first; of equal ones, those that are there already. */
static gint part_compare(gconstpointer a, gconstpointer b)
{
    const Part *pa = a;
    const Part *pb = b;

    if (pa->size != pb->size) {
        return pa->size > pb->size ? -1 : 1;
    }
    if (pa->is_live != pb->is_live) {
        return pa->is_live ? -1 : 1;
    }
    if (pa->window != pb->window) {
        return pa->window < pb->window ? -1 : 1;
    }
    return pa->offset < pb->offset ? -1 : pa->offset > pb->offset;
}

/* Opening and closing */

/*
 * The peer's file may have pages that are larger than the machine's. Then the
 * mapping begins and ends before and behind the part.
 */
static bool map_part(FarsideAliases *s, FarsideNtbAlias *a, Error **errp)
{
    const Part *part = &a->part;
    FarsidePeerRamFile file;
    uint64_t begin, end;

    farside_peer_ram_file(s->ram[part->peer], part->region, &file);
    begin = QEMU_ALIGN_DOWN(file.offset + part->place, file.page);
    end = QEMU_ALIGN_UP(file.offset + part->place + part->size, file.page);
    if (!farside_peer_ram_map(&a->ram, OBJECT(a), end - begin,
                              fcntl(file.fd, F_DUPFD_CLOEXEC, 0), begin,
                              errp)) {
        return false;
    }
    memory_region_init_alias(&a->alias, OBJECT(a), "farside-window-ram",
                             &a->ram, file.offset + part->place - begin,
                             part->size);
    return true;
}

static void open_part(FarsideAliases *s, const Part *part)
{
    FarsideNtbAlias *a;
    Error *err = NULL;

    if (live_all == ALIASES_MAX_ALL || s->closed_count >= ALIASES_MAX) {
        s->is_short = true;
        return;
    }
    a = FARSIDE_NTB_ALIAS(object_new(TYPE_FARSIDE_NTB_ALIAS));
    a->owner = object_ref(s->owner);
    a->opaque = s->opaque;
    a->part = *part;
    a->is_wanted = true;
    if (!map_part(s, a, &err)) {
        warn_report_once("%s: a window is no RAM, so it is slower: %s",
                         TYPE_FARSIDE_NTB, error_get_pretty(err));
        error_free(err);
        object_unref(OBJECT(a));
        return;
    }
    memory_region_add_subregion_overlap(&s->bar[part->window], part->offset,
                                        &a->alias, 1);
    QLIST_INSERT_HEAD(&s->live, a, next);
    live_all++;
}

static void close_part(FarsideAliases *s, FarsideNtbAlias *a)
{
    memory_region_del_subregion(&s->bar[a->part.window], &a->alias);
    QLIST_REMOVE(a, next);
    live_all--;
    QLIST_INSERT_HEAD(&s->closed, a, next);
    s->closed_count++;
}

/* Frees what nothing uses any more. */
static void sweep(FarsideAliases *s)
{
    FarsideNtbAlias *a, *next;

    QLIST_FOREACH_SAFE(a, &s->closed, next, next) {
        if (qatomic_read(&OBJECT(a)->ref) == 1) {
            QLIST_REMOVE(a, next);
            s->closed_count--;
            object_unref(OBJECT(a));
        }
    }
    if (!QLIST_EMPTY(&s->closed)) {
        timer_mod(s->timer,
                  qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + SWEEP_MS);
    }
}

/* Keeps of what is wanted as much as there may be. */
static void choose(FarsideAliases *s)
{
    FarsideNtbAlias *a;
    Part *part;
    unsigned i;

    for (i = 0; i < s->wanted->len; i++) {
        part = &g_array_index(s->wanted, Part, i);
        part->is_live = find_live(s, part) != NULL;
    }
    g_array_sort(s->wanted, part_compare);
    if (s->wanted->len > ALIASES_MAX) {
        g_array_set_size(s->wanted, ALIASES_MAX);
    }
    QLIST_FOREACH(a, &s->live, next) {
        a->is_wanted = false;
    }
    for (i = 0; i < s->wanted->len; i++) {
        a = find_live(s, &g_array_index(s->wanted, Part, i));
        if (a) {
            a->is_wanted = true;
        }
    }
}

void farside_alias_commit(FarsideAliases *s)
{
    FarsideNtbAlias *a, *next;
    const Part *part;
    unsigned i;

    sweep(s);
    choose(s);
    s->is_short = false;
    memory_region_transaction_begin();
    QLIST_FOREACH_SAFE(a, &s->live, next, next) {
        if (!a->is_wanted) {
            close_part(s, a);
        }
    }
    for (i = 0; i < s->wanted->len; i++) {
        part = &g_array_index(s->wanted, Part, i);
        if (!part->is_live) {
            open_part(s, part);
        }
    }
    memory_region_transaction_commit();
    sweep(s);
}

static void sweep_again(void *opaque)
{
    FarsideAliases *s = opaque;

    sweep(s);
    if (s->is_short && s->closed_count < ALIASES_MAX) {
        farside_alias_commit(s);
    }
}

bool farside_alias_is_in_use(FarsideAliases *s)
{
    sweep(s);
    return !QLIST_EMPTY(&s->closed);
}

void farside_alias_cut(FarsideAliases *s, unsigned peer)
{
    FarsideNtbAlias *a, *next;
    unsigned i;

    for (i = s->wanted->len; i-- > 0;) {
        if (g_array_index(s->wanted, Part, i).peer == peer) {
            g_array_remove_index(s->wanted, i);
        }
    }
    farside_alias_commit(s);
    QLIST_FOREACH_SAFE(a, &s->closed, next, next) {
        if (a->part.peer == peer) {
            farside_peer_ram_cut(&a->ram);
            QLIST_REMOVE(a, next);
            s->closed_count--;
            object_unref(OBJECT(a));
        }
    }
    if (QLIST_EMPTY(&s->closed)) {
        timer_del(s->timer);
    }
}

/* Life */

void farside_alias_add_bar(FarsideAliases *s, unsigned window,
                           const char *name, MemoryRegion *below)
{
    memory_region_init(&s->bar[window], s->owner, name,
                       memory_region_size(below));
    memory_region_add_subregion(&s->bar[window], 0, below);
}

MemoryRegion *farside_alias_get_bar(FarsideAliases *s, unsigned window)
{
    return &s->bar[window];
}

void farside_alias_add_peer(FarsideAliases *s, unsigned peer,
                            FarsidePeerRam *ram)
{
    s->ram[peer] = ram;
}

FarsideAliases *farside_alias_new(Object *owner, void *opaque)
{
    FarsideAliases *s = g_new0(FarsideAliases, 1);

    s->owner = owner;
    s->opaque = opaque;
    s->wanted = g_array_new(false, false, sizeof(Part));
    s->timer = timer_new_ms(QEMU_CLOCK_REALTIME, sweep_again, s);
    QLIST_INIT(&s->live);
    QLIST_INIT(&s->closed);
    return s;
}

void farside_alias_free(FarsideAliases *s)
{
    if (s) {
        timer_free(s->timer);
        g_array_free(s->wanted, true);
        g_free(s);
    }
}

static void alias_finalize(Object *obj)
{
    FarsideNtbAlias *a = FARSIDE_NTB_ALIAS(obj);

    farside_peer_ram_unmapped(&a->ram);
    object_unref(a->owner);
}

static const TypeInfo alias_info = {
    .name = TYPE_FARSIDE_NTB_ALIAS,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(FarsideNtbAlias),
    .instance_finalize = alias_finalize,
};

void farside_alias_register_type(void)
{
    type_register_static(&alias_info);
}
