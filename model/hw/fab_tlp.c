/* SPDX-License-Identifier: MIT */
#include "fab_dpc.h"
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

void fab_tlp_answer(FabTlp *request, unsigned source, FabBdf completer_id,
                    uint32_t most, uint32_t rcb_bytes, bool ecrc)
{
    FabPort *port = request->ingress;
    FabFabric *fabric = port->owner->fabric;
    FabBusAddr addr = request->addr;
    uint32_t left = request->request_bytes;

    most = MIN(most, port->mps_bytes);
    while (left > 0) {
        FabTlp *cpl = fab_tlp_new(fabric, FAB_TLP_CPLD);
        FabBusAddr end = (addr + most) & ~(FabBusAddr)(rcb_bytes - 1);

        cpl->addr = addr;
        cpl->requester_id = request->requester_id;
        cpl->completer_id = completer_id;
        cpl->tag = request->tag;
        cpl->attr = request->attr;
        cpl->ecrc = ecrc;
        cpl->flow = request->flow;
        cpl->transaction = request->transaction;
        cpl->hops = request->hops;
        cpl->metered = request->metered;
        cpl->payload_bytes = MIN(left, end - addr);
        cpl->request_bytes = left;
        cpl->data = request->data;
        cpl->ready_at = request->ready_at;
        addr += cpl->payload_bytes;
        left -= cpl->payload_bytes;
        fab_account_made(&fabric->accounts, cpl);
        fab_port_send(port, source, cpl);
    }
    fab_port_consume(request, sim_engine_now(fabric->engine));
}

/* Errors with a completion, and Unexpected Completions, are Advisory Non-Fatal
 * (s6.2.3.2.4), so they are only counted. */
static void count_error(FabPort *port, const FabTlp *tlp, FabStatus status)
{
    if (tlp->poisoned) { /* counted when it came in */
        port->owner->fabric->dropped += tlp->cls == FAB_CLASS_P;
        fab_error_report(port, FAB_SEVERITY_NONFATAL);
        return;
    }
    if (tlp->cls == FAB_CLASS_P) {
        fab_error_report(port, FAB_SEVERITY_NONFATAL);
    }
    if (fab_tlp_is_completion(tlp)) {
        port->counters.unexpected_completions++;
    } else if (status == FAB_STATUS_CA) {
        port->counters.completer_aborts++;
    } else {
        port->counters.unsupported_requests++;
    }
}

static FabLossCause cause_of(const FabTlp *tlp, FabStatus status)
{
    if (tlp->poisoned) {
        return FAB_LOSS_POISONED;
    }
    if (fab_tlp_is_completion(tlp)) {
        return FAB_LOSS_UNEXPECTED;
    }
    return status == FAB_STATUS_CA ? FAB_LOSS_ABORTED : FAB_LOSS_UNSUPPORTED;
}

FabTlp *fab_tlp_refuse(const FabComponent *component, FabTlp *request,
                       FabStatus status, FabBdf completer_id)
{
    return fab_tlp_refuse_for(component, request, status, completer_id,
                              cause_of(request, status));
}

FabTlp *fab_tlp_refuse_for(const FabComponent *component, FabTlp *request,
                           FabStatus status, FabBdf completer_id,
                           FabLossCause cause)
{
    FabFabric *fabric = component->fabric;
    FabTlp *cpl = NULL;

    fabric->unsupported++;
    fab_account_lose(component, request, cause);
    if (fabric->trace_categories & FAB_TRACE_UR) {
        SimTime now = sim_engine_now(fabric->engine);
        FabTraceRecord record = {
            FAB_TRACE_UR, request->ingress, request, now, now, now};

        fabric->trace_fn(fabric->trace_data, &record);
    }
    if (request->cls == FAB_CLASS_NP) {
        cpl = fab_tlp_new(fabric, FAB_TLP_CPL);
        cpl->status = status;
        cpl->requester_id = request->requester_id;
        cpl->completer_id = completer_id;
        cpl->tag = request->tag;
        cpl->request_bytes = request->request_bytes;
        cpl->flow = request->flow;
        cpl->transaction = request->transaction;
        cpl->attr = request->attr;
        cpl->ecrc = request->ecrc;
    }
    if (request->ingress) {
        count_error(request->ingress, request, status);
        fab_port_discard(request, sim_engine_now(fabric->engine));
    } else {
        fab_tlp_free(fabric, request);
    }
    return cpl;
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
