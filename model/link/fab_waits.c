/* SPDX-License-Identifier: MIT */
#include "fab_waits_priv.h"

static const void *buffer_key(const FabPort *ingress, FabClass cls)
{
    return (const char *)ingress + cls;
}

static void enter(GHashTable *table, const void *key, unsigned node)
{
    GArray *nodes = g_hash_table_lookup(table, key);

    if (!nodes) {
        nodes = g_array_new(FALSE, FALSE, sizeof(unsigned));
        g_hash_table_insert(table, (void *)key, nodes);
    }
    g_array_append_val(nodes, node);
}

static void node_add(FabWaits *waits, const FabTlp *tlp,
                     const FabWaitNode *node)
{
    unsigned index = waits->nodes->len;

    g_array_append_val(waits->nodes, *node);
    enter(waits->by_place, tlp, index);
    if (tlp->ingress) {
        enter(waits->by_place, buffer_key(tlp->ingress, tlp->cls), index);
    }
    if (tlp->transaction) {
        enter(waits->by_transaction, GUINT_TO_POINTER(tlp->transaction), index);
    }
}

void fab_waits_moves(FabWaits *waits, const FabTlp *tlp)
{
    node_add(waits, tlp, &(FabWaitNode){.is_step = true, .moves = true});
}

void fab_waits_moves_all(FabWaits *waits, const FabFifo *fifo)
{
    for (const FabTlp *tlp = fifo->head; tlp; tlp = tlp->next) {
        fab_waits_moves(waits, tlp);
    }
}

void fab_waits_add(FabWaits *waits, const FabTlp *tlp, FabWaitStep step)
{
    FabWaitNode node = {
        .step = step, .is_step = true, .first = waits->keys->len};

    node.step.cls = tlp->cls;
    node.step.flow = tlp->flow;
    node_add(waits, tlp, &node);
}

/* Adds a key to those of the last node. */
static void key_add(FabWaits *waits, FabWaitKey key)
{
    g_array_append_val(waits->keys, key);
    g_array_index(waits->nodes, FabWaitNode, waits->nodes->len - 1).count++;
}

void fab_waits_for_tlp(FabWaits *waits, const FabTlp *tlp)
{
    key_add(waits, (FabWaitKey){.place = tlp});
}

void fab_waits_for_buffer(FabWaits *waits, const FabPort *ingress, FabClass cls)
{
    key_add(waits, (FabWaitKey){.place = buffer_key(ingress, cls)});
}

void fab_waits_for_transaction(FabWaits *waits, uint32_t transaction)
{
    key_add(waits, (FabWaitKey){.transaction = transaction});
}

void fab_waits_split(FabWaits *waits, uint32_t transaction, uint32_t part)
{
    FabWaitNode node = {.first = waits->keys->len};

    enter(waits->by_transaction, GUINT_TO_POINTER(transaction),
          waits->nodes->len);
    g_array_append_val(waits->nodes, node);
    fab_waits_for_transaction(waits, part);
}
