/* SPDX-License-Identifier: MIT */
/* Answers to requests: completions with data, and refusals. */
#include "fab_error_report_priv.h"
#include "fab_account_priv.h"
#include "fab_answer_priv.h"

SIM_HOT void fab_tlp_answer(FabTlp *request, unsigned source,
                            FabBdf completer_id, uint32_t most,
                            uint32_t rcb_bytes, bool ecrc)
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

void fab_tlp_drop_malformed(FabTlp *tlp)
{
    FabPort *ingress = tlp->ingress;
    FabComponent *owner = ingress->owner;

    owner->fabric->dropped++;
    ingress->counters.malformed_tlps++;
    fab_account_lose(owner, tlp, FAB_LOSS_MALFORMED);
    fab_error_report(ingress, FAB_SEVERITY_FATAL);
    fab_port_discard(tlp, sim_engine_now(owner->fabric->engine));
}
