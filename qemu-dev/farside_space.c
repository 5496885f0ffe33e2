/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/rcu.h"
#include "farside_qemu.h"
#include "farside_space.h"

/* An object that lives until the end of an RCU grace period */
typedef struct {
    struct rcu_head rcu;
    Object *object;
} Last;

void farside_space_init(FarsideSpace *s, Object *owner, MemoryRegion *region,
                        const char *name)
{
    memory_region_init(&s->root, owner, name, UINT64_MAX);
    memory_region_init_alias(&s->way, owner, name, region, 0,
                             memory_region_size(region));
    memory_region_add_subregion(&s->root, 0, &s->way);
    memory_region_init(&s->anchor, owner, name, 0);
    memory_region_add_subregion_overlap(&s->root, 0, &s->anchor, 1);
    address_space_init(&s->as, &s->root, name);
}

static void last_free(Last *last)
{
    object_unref(last->object);
    g_free(last);
}

void farside_space_let_go(AddressSpace *as, Object *owner)
{
    Last *last = g_new0(Last, 1);
    MemoryRegion *root = as->root;

    last->object = object_ref(owner);
    address_space_destroy(as);
    /* A region in another one refers to the owner of both. */
    while (!QTAILQ_EMPTY(&root->subregions)) {
        memory_region_del_subregion(root, QTAILQ_FIRST(&root->subregions));
    }
    call_rcu(last, last_free, rcu);
}
