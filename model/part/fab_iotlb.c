/* SPDX-License-Identifier: MIT */
#include "fab_iotlb_priv.h"

#define ENTRIES_MAX (1u << 24)
#define GOLDEN      0x9e3779b97f4a7c15ULL
#define NO_KEY      UINT64_MAX

/*
 * A node is an entry or the head of a set. Each set is a ring through its head,
 * from most to least recently used; empty entries come last. Heads have the
 * numbers below iotlb->sets, so number 0 is never an entry.
 */
struct FabIotlbNode {
    uint64_t key;   /* fab_page_key(), or NO_KEY */
    uint64_t delta; /* physical minus device address */
    uint32_t prev, next;
    uint32_t chain; /* next node with the same hash; 0: none */
};

typedef FabIotlbNode Node;

static inline uint32_t *node_bucket(const FabIotlb *iotlb, uint64_t key)
{
    return &iotlb->buckets[key * GOLDEN >> iotlb->bucket_shift];
}

static inline void node_unlink(FabIotlb *iotlb, Node *node)
{
    iotlb->nodes[node->prev].next = node->next;
    iotlb->nodes[node->next].prev = node->prev;
}

/* Links @node behind @before. */
static inline void node_link(FabIotlb *iotlb, Node *node, uint32_t before)
{
    uint32_t at = (uint32_t)(node - iotlb->nodes);

    node->prev = before;
    node->next = iotlb->nodes[before].next;
    iotlb->nodes[node->next].prev = at;
    iotlb->nodes[before].next = at;
}

static inline uint32_t key_set(const FabIotlb *iotlb, uint64_t key)
{
    return key >> fab_page_shifts[fab_page_key_size(key)] & (iotlb->sets - 1);
}

/* Makes @node the most recently used. */
static inline void node_touch(FabIotlb *iotlb, Node *node)
{
    uint32_t set = key_set(iotlb, node->key);

    if (node->prev != set) {
        node_unlink(iotlb, node);
        node_link(iotlb, node, set);
    }
    iotlb->last_base = fab_page_key_base(node->key);
    iotlb->last_mask = fab_page_mask(fab_page_key_size(node->key));
    iotlb->last_delta = node->delta;
}

static inline Node *node_find_key(const FabIotlb *iotlb, uint64_t key)
{
    uint32_t at = *node_bucket(iotlb, key);

    while (at && iotlb->nodes[at].key != key) {
        at = iotlb->nodes[at].chain;
    }
    return at ? &iotlb->nodes[at] : NULL;
}

bool fab_iotlb_find(FabIotlb *iotlb, FabBusAddr addr)
{
    for (uint32_t size = 0; size < FAB_PAGE_SIZES; size++) {
        if (iotlb->cached[size]) {
            Node *node = node_find_key(iotlb, fab_page_key(addr, size));

            if (node) {
                node_touch(iotlb, node);
                return true;
            }
        }
    }
    return false;
}

/* Removes the page of @node. The empty node keeps its position in its set. */
static void node_forget(FabIotlb *iotlb, Node *node)
{
    uint32_t at = (uint32_t)(node - iotlb->nodes);
    uint32_t *link = node_bucket(iotlb, node->key);

    while (*link != at) {
        link = &iotlb->nodes[*link].chain;
    }
    *link = node->chain;
    iotlb->cached[fab_page_key_size(node->key)]--;
    if (iotlb->last_base == fab_page_key_base(node->key)) {
        iotlb->last_base = FAB_IOTLB_NO_PAGE;
    }
    node->key = NO_KEY;
}

void fab_iotlb_fill(FabIotlb *iotlb, FabBusAddr addr, uint32_t size,
                    uint64_t delta)
{
    uint64_t key = fab_page_key(addr, size);
    Node *node = node_find_key(iotlb, key);

    if (!node) {
        uint32_t *bucket = node_bucket(iotlb, key);

        node = &iotlb->nodes[iotlb->nodes[key_set(iotlb, key)].prev];
        if (node->key != NO_KEY) {
            node_forget(iotlb, node);
        }
        node->key = key;
        node->chain = *bucket;
        *bucket = (uint32_t)(node - iotlb->nodes);
        iotlb->cached[size]++;
    }
    node->delta = delta;
    node_touch(iotlb, node);
}

/* Removes @node, which becomes the first of its set to be used again. */
static void node_drop(FabIotlb *iotlb, Node *node)
{
    uint32_t set = key_set(iotlb, node->key);

    node_forget(iotlb, node);
    node_unlink(iotlb, node);
    node_link(iotlb, node, iotlb->nodes[set].prev);
}

/* Drops the pages of @size that overlap [@iova, @end). */
static void drop_size(FabIotlb *iotlb, FabBusAddr iova, FabBusAddr end,
                      uint32_t size)
{
    uint64_t mask = fab_page_mask(size);
    FabBusAddr first = iova & ~mask, last = (end - 1) & ~mask;
    uint64_t pages = ((last - first) >> fab_page_shifts[size]) + 1;
    bool by_page = pages < iotlb->entries;
    uint64_t tries = by_page ? pages : iotlb->entries;

    for (uint64_t i = 0; i < tries && iotlb->cached[size]; i++) {
        Node *node;

        if (by_page) {
            node = node_find_key(iotlb,
                                 first + (i << fab_page_shifts[size]) + size);
        } else {
            node = &iotlb->nodes[iotlb->sets + i];
            if (node->key == NO_KEY || fab_page_key_size(node->key) != size ||
                fab_page_key_base(node->key) < first ||
                fab_page_key_base(node->key) > last) {
                node = NULL;
            }
        }
        if (node) {
            node_drop(iotlb, node);
        }
    }
}

void fab_iotlb_drop(FabIotlb *iotlb, FabBusAddr iova, FabBusAddr end)
{
    for (uint32_t size = 0; size < FAB_PAGE_SIZES; size++) {
        if (iotlb->cached[size]) {
            drop_size(iotlb, iova, end, size);
        }
    }
}

bool fab_iotlb_check(uint32_t entries, uint32_t ways, const char *what,
                     GError **error)
{
    if (!entries || entries > ENTRIES_MAX) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%s of %u entries: must be 1 to %u", what, entries,
                    ENTRIES_MAX);
        return false;
    }
    if (ways && (entries % ways || (entries / ways & (entries / ways - 1)))) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%s of %u entries in %u ways: entries / ways must be a "
                    "power of two",
                    what, entries, ways);
        return false;
    }
    return true;
}

void fab_iotlb_init(FabIotlb *iotlb, uint32_t entries, uint32_t ways)
{
    uint32_t bits = g_bit_storage(2 * entries - 1);

    iotlb->last_base = FAB_IOTLB_NO_PAGE;
    iotlb->last_mask = fab_page_mask(0);
    iotlb->entries = entries;
    iotlb->sets = ways ? entries / ways : 1;
    iotlb->buckets = g_new0(uint32_t, (gsize)1 << bits);
    iotlb->bucket_shift = 64 - bits;
    iotlb->nodes = g_new0(Node, (gsize)iotlb->sets + entries);
    for (uint32_t set = 0; set < iotlb->sets; set++) {
        iotlb->nodes[set].prev = set;
        iotlb->nodes[set].next = set;
    }
    for (uint32_t i = 0; i < entries; i++) {
        Node *node = &iotlb->nodes[iotlb->sets + i];

        node->key = NO_KEY;
        node_link(iotlb, node, i & (iotlb->sets - 1));
    }
}

void fab_iotlb_done(FabIotlb *iotlb)
{
    g_free(iotlb->nodes);
    g_free(iotlb->buckets);
}
