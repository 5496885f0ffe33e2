/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bitops.h"
#include "qemu/rcu.h"
#include "farside_mirror.h"

/*
 * A tree of three levels, of which each takes 12 bits of an address: root,
 * middle, leaf. An entry of a leaf has the address of a page, and the allowed
 * accesses in its lowest bits; 0 is no translation. Readers take no lock, so
 * a table stays in the tree until the whole tree is replaced.
 */
#define LEVEL_BITS 12
#define ENTRIES (1u << LEVEL_BITS)
#define PAGE_BITS 12
#define ADDRESS_BITS (PAGE_BITS + 3 * LEVEL_BITS)
#define PERM_MASK 3ull
#define TARGET_MAX (1ull << 52)

/* Leaves of one peer, 32 KiB each: a peer must not use up all memory. */
#define LEAVES_MAX 2048

/* @used: pages that have a translation; only the writer needs it. */
typedef struct {
    uint64_t entry[ENTRIES];
    unsigned used;
} Leaf;

typedef struct {
    Leaf *leaf[ENTRIES];
    uint64_t used;
} Middle;

typedef struct {
    struct rcu_head rcu;
    Middle *middle[ENTRIES];
} Root;

struct FarsideMirror {
    Root *root; /* read under RCU; NULL: no translations */
    unsigned leaves;
};

static void root_free(Root *root)
{
    unsigned i, j;

    for (i = 0; i < ENTRIES; i++) {
        for (j = 0; root->middle[i] && j < ENTRIES; j++) {
            g_free(root->middle[i]->leaf[j]);
        }
        g_free(root->middle[i]);
    }
    g_free(root);
}

void farside_mirror_clear(FarsideMirror *s)
{
    Root *root = s->root;

    qatomic_rcu_set(&s->root, NULL);
    s->leaves = 0;
    if (root) {
        call_rcu(root, root_free, rcu);
    }
}

FarsideMirror *farside_mirror_new(void)
{
    return g_new0(FarsideMirror, 1);
}

void farside_mirror_free(FarsideMirror *s)
{
    if (s) {
        farside_mirror_clear(s);
        g_free(s);
    }
}

static unsigned index_of(uint64_t page, unsigned level)
{
    return (page >> (level * LEVEL_BITS)) % ENTRIES;
}

/* The leaf of @page. With @make, a new one if there is none; it may be NULL. */
static Leaf *leaf_of(FarsideMirror *s, uint64_t page, bool make)
{
    unsigned i = index_of(page, 2), j = index_of(page, 1);
    Middle *middle;

    if (!s->root) {
        if (!make) {
            return NULL;
        }
        qatomic_rcu_set(&s->root, g_new0(Root, 1));
    }
    if (!s->root->middle[i]) {
        if (!make || s->leaves == LEAVES_MAX) {
            return NULL;
        }
        qatomic_rcu_set(&s->root->middle[i], g_new0(Middle, 1));
    }
    middle = s->root->middle[i];
    if (!middle->leaf[j] && make && s->leaves < LEAVES_MAX) {
        s->leaves++;
        qatomic_rcu_set(&middle->leaf[j], g_new0(Leaf, 1));
    }
    return middle->leaf[j];
}

/*
 * Sets @leaf's entry of @page, which is below @middle. In this way each page
 * that is unmapped was mapped before, so unmapping costs no more than mapping,
 * however large the notices are.
 */
static void set_entry(Middle *middle, Leaf *leaf, uint64_t page, uint64_t value)
{
    uint64_t *entry = &leaf->entry[index_of(page, 0)];
    int change = (value != 0) - (*entry != 0);

    leaf->used += change;
    middle->used += change;
    qatomic_set(entry, value);
}

/* The number of pages from @page to the end of those that one table has. */
static uint64_t pages_left(uint64_t page, unsigned level)
{
    uint64_t span = 1ull << (level * LEVEL_BITS);

    return span - page % span;
}

static void map(FarsideMirror *s, uint64_t page, uint64_t end, uint64_t entry)
{
    Leaf *leaf;

    while (page < end) {
        leaf = leaf_of(s, page, true);
        if (!leaf) {
            entry += pages_left(page, 1) << PAGE_BITS;
            page += pages_left(page, 1);
            continue;
        }
        do {
            set_entry(s->root->middle[index_of(page, 2)], leaf, page, entry);
            page++;
            entry += 1ull << PAGE_BITS;
        } while (page < end && index_of(page, 0));
    }
}

static void unmap(FarsideMirror *s, uint64_t page, uint64_t end)
{
    Middle *middle;
    Leaf *leaf;

    while (page < end && s->root) {
        middle = s->root->middle[index_of(page, 2)];
        if (!middle || !middle->used) {
            page += pages_left(page, 2);
            continue;
        }
        leaf = middle->leaf[index_of(page, 1)];
        if (!leaf || !leaf->used) {
            page += pages_left(page, 1);
            continue;
        }
        set_entry(middle, leaf, page, 0);
        page++;
    }
}

static bool apply(FarsideMirror *s, const struct farside_wire_notice *notice)
{
    uint64_t pages = notice->size >> PAGE_BITS;
    uint64_t page = notice->address >> PAGE_BITS;
    uint64_t end = page + pages;

    if ((notice->address | notice->size | notice->target) &
            MAKE_64BIT_MASK(0, PAGE_BITS) ||
        pages == 0 || notice->perm > PERM_MASK ||
        end > 1ull << (64 - PAGE_BITS) ||
        (notice->perm && notice->size > FARSIDE_WIRE_NOTICE_MAP_MAX)) {
        return false;
    }
    end = MIN(end, 1ull << (ADDRESS_BITS - PAGE_BITS));
    /* No RAM is above that. */
    if (notice->perm && notice->target <= TARGET_MAX - notice->size) {
        map(s, page, end, notice->target | notice->perm);
    } else {
        unmap(s, page, end);
    }
    return true;
}

bool farside_mirror_apply_all(FarsideMirror *s,
                              const struct farside_wire_notices *notices,
                              size_t size, bool *ret_unmaps)
{
    unsigned i;

    *ret_unmaps = false;
    if (size !=
        sizeof(*notices) + notices->count * sizeof(notices->notice[0])) {
        return false;
    }
    for (i = 0; i < notices->count; i++) {
        if (!apply(s, &notices->notice[i])) {
            return false;
        }
        *ret_unmaps |= notices->notice[i].perm == 0;
    }
    return true;
}

IOMMUAccessFlags farside_mirror_find(FarsideMirror *s, uint64_t address,
                                     uint64_t *ret_target)
{
    uint64_t page = address >> PAGE_BITS, entry;
    const Middle *middle;
    const Root *root;
    Leaf *leaf;

    if (address >> ADDRESS_BITS) {
        return IOMMU_NONE;
    }
    root = qatomic_rcu_read(&s->root);
    middle = root ? qatomic_rcu_read(&root->middle[index_of(page, 2)]) : NULL;
    leaf = middle ? qatomic_rcu_read(&middle->leaf[index_of(page, 1)]) : NULL;
    if (!leaf) {
        return IOMMU_NONE;
    }
    entry = qatomic_read(&leaf->entry[index_of(page, 0)]);
    *ret_target = entry & ~PERM_MASK;
    return entry & PERM_MASK;
}
