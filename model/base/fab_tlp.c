/* SPDX-License-Identifier: MIT */
#include "fab_fabric_priv.h"

/* Of this size, each TLP of a slab lies in two cache lines. */
G_STATIC_ASSERT(sizeof(FabTlp) == 96);

void fab_tlp_pool_grow(FabFabric *fabric)
{
    FabTlp *slab = FAB_ARENA_NEW(&fabric->arena, FabTlp, FAB_SLAB_TLPS);

    g_ptr_array_add(fabric->slabs, slab);
    for (unsigned i = 0; i < FAB_SLAB_TLPS; i++) {
        slab[i].next = fabric->pool;
        fabric->pool = &slab[i];
        fab_arena_hide(&slab[i], sizeof(slab[i]));
    }
}

void fab_fifo_clear(FabFabric *fabric, FabFifo *fifo)
{
    while (fifo->head) {
        fab_tlp_free(fabric, fab_fifo_pop(fifo));
    }
}

void fab_fifo_insert_posted(FabFifo *fifo, FabTlp *tlp)
{
    FabTlp *before = NULL, *after = fifo->head;

    if (!after || fifo->tail->posted_before < tlp->posted_before) {
        fab_fifo_push(fifo, tlp);
        return;
    }
    while (after->posted_before < tlp->posted_before) {
        before = after;
        after = after->next;
    }
    tlp->next = after;
    if (before) {
        before->next = tlp;
    } else {
        fifo->head = tlp;
    }
    fifo->count++;
}

/* Returns whether RO or IDO lets @later pass @posted. */
static bool is_relaxed_against(const FabTlp *later, const FabTlp *posted)
{
    return later->attr & FAB_ATTR_RO ||
           (later->attr & FAB_ATTR_IDO &&
            later->requester_id != posted->requester_id);
}

FabPass fab_tlp_may_pass(const FabTlp *later, const FabTlp *earlier)
{
    switch ((FabClass)later->cls) {
    case FAB_CLASS_P:
        switch ((FabClass)earlier->cls) {
        case FAB_CLASS_P: /* A2 */
            return is_relaxed_against(later, earlier) ? FAB_PASS_MAY
                                                      : FAB_PASS_NO;
        case FAB_CLASS_NP: /* A3, A4 */
            return FAB_PASS_MUST;
        default: /* A5 */
            return FAB_PASS_MAY;
        }
    case FAB_CLASS_NP:
        if (earlier->cls != FAB_CLASS_P) { /* B3 to B5, C3 to C5 */
            return FAB_PASS_MAY;
        }
        if (later->type == FAB_TLP_MRD) { /* B2: RO does not count */
            return later->attr & FAB_ATTR_IDO &&
                           later->requester_id != earlier->requester_id
                       ? FAB_PASS_MAY
                       : FAB_PASS_NO;
        }
        return is_relaxed_against(later, earlier) ? FAB_PASS_MAY /* C2 */
                                                  : FAB_PASS_NO;
    default:
        switch ((FabClass)earlier->cls) {
        case FAB_CLASS_P: /* D2: IDO compares the completion's Completer ID with
                             the posted request's Requester ID */
            if (later->attr & FAB_ATTR_RO) {
                return FAB_PASS_MAY;
            }
            return later->attr & FAB_ATTR_IDO &&
                           later->completer_id != earlier->requester_id
                       ? FAB_PASS_MAY
                       : FAB_PASS_NO;
        case FAB_CLASS_NP: /* D3, D4 */
            return FAB_PASS_MUST;
        default: /* D5a: completions of one Transaction ID keep their order */
            return later->requester_id == earlier->requester_id &&
                           later->tag == earlier->tag
                       ? FAB_PASS_NO
                       : FAB_PASS_MAY;
        }
    }
}
