/* SPDX-License-Identifier: MIT */
#include "fab_atc_priv.h"

#include "fab_ats_priv.h"
#include "fab_endpoint_priv.h"
#include "fab_iommu_priv.h"
#include "fab_iotlb_priv.h"
#include "fab_root.h"
#include "fab_error_report_priv.h"

#define NO_SLOT UINT32_MAX

/* A Translation Request under way, by its number. Its tag comes after those of
 * the DMA engine. */
typedef struct Request {
    FabBusAddr page; /* 4 KiB */
    FabFifo waiting; /* for it; empty: the slot is free */
    SimTime deadline;
    uint32_t transaction;
    bool stale; /* an invalidation came meanwhile: its answer is of no use */
} Request;

/* A translated read of the DMA engine that is not over, by its tag. */
typedef struct Read {
    FabBusAddr iova; /* first and last device address */
    FabBusAddr last;
    bool used;
    bool flushed; /* the invalidation with the number below waits for it */
    uint8_t invalidation;
} Read;

/* An Invalidate Request that is not answered. */
typedef struct Invalidation {
    SimTime due;    /* the time of its processing is over */
    uint32_t reads; /* that it waits for */
    FabBdf sender;
    uint16_t itag;
} Invalidation;

struct FabAtc {
    FabEndpoint *endpoint;
    FabAtcLeavesFn leaves;
    FabIotlb tlb;
    FabAtcCounters counters;
    FabFifo looking; /* for params.hit, by due_at */
    SimEvent look_event;
    FabFifo unasked; /* lack a slot */
    Request *requests;
    uint32_t requests_used;
    SimEvent timeout_event;

    /* Order; as at a root port. */
    uint64_t posted_received, posted_sent;
    FabFifo posted; /* translated, behind one that is not; by posted_before */
    FabFifo others; /* translated, behind a posted request */
    uint32_t held[FAB_CLASSES];

    Read *reads;
    Invalidation invalidations[FAB_ATS_ITAGS]; /* ring */
    uint32_t invalidations_head, invalidations_tail;
    SimEvent invalidate_event;
};

static inline SimTime atc_now(const FabAtc *atc)
{
    return sim_engine_now(atc->endpoint->component.engine);
}

static inline FabPort *atc_port(const FabAtc *atc)
{
    return atc->endpoint->component.ports[0];
}

/* ---- Order ----------------------------------------------------------- */

static void tlp_leave(FabAtc *atc, FabTlp *tlp)
{
    atc->held[tlp->cls]--;
    if (tlp->type == FAB_TLP_MWR) {
        atc->leaves(atc->endpoint, tlp);
    }
    fab_port_send(atc_port(atc), ENDPOINT_SOURCE, tlp);
}

static void posted_leave(FabAtc *atc, FabTlp *tlp)
{
    atc->posted_sent++;
    tlp_leave(atc, tlp);
    for (;;) {
        FabTlp *posted = atc->posted.head, *other = atc->others.head;

        if (other && other->posted_before <= atc->posted_sent) {
            tlp_leave(atc, fab_fifo_pop(&atc->others));
        } else if (posted && posted->posted_before == atc->posted_sent) {
            atc->posted_sent++;
            tlp_leave(atc, fab_fifo_pop(&atc->posted));
        } else {
            return;
        }
    }
}

/* @tlp has its final address. */
static void tlp_ready(FabAtc *atc, FabTlp *tlp)
{
    if (tlp->cls != FAB_CLASS_P) {
        if (tlp->posted_before <= atc->posted_sent) {
            tlp_leave(atc, tlp);
        } else {
            fab_fifo_push(&atc->others, tlp);
        }
    } else if (tlp->posted_before == atc->posted_sent) {
        posted_leave(atc, tlp);
    } else {
        fab_fifo_insert_posted(&atc->posted, tlp);
    }
}

/* ---- Translation ----------------------------------------------------- */

/* The device knows that no other addresses are translated. */
static inline bool is_device_addr(FabBusAddr addr)
{
    return addr - FAB_MSI_BASE >= FAB_MSI_BYTES &&
           !(addr >> FAB_DEVICE_ADDR_BITS);
}

/* The translation of @tlp is the one that was used last. */
static void tlp_translate(FabAtc *atc, FabTlp *tlp)
{
    if (tlp->cls == FAB_CLASS_NP) {
        atc->reads[tlp->tag] = (Read){
            .iova = tlp->addr,
            .last = tlp->addr + tlp->request_bytes - 1,
            .used = true,
        };
    }
    tlp->addr += atc->tlb.last_delta;
    tlp->at = FAB_AT_TRANSLATED;
    tlp_ready(atc, tlp);
}

/* Sends the Translation Request in @slot for the flow of its first TLP. */
static void request_send(FabAtc *atc, uint32_t slot)
{
    Request *request = &atc->requests[slot];
    FabComponent *component = &atc->endpoint->component;
    FabTlp *tlp = fab_tlp_new(component->fabric, FAB_TLP_MRD);

    tlp->at = FAB_AT_REQUEST;
    tlp->addr = request->page;
    tlp->request_bytes = FAB_ATS_ENTRY_BYTES;
    tlp->requester_id = component->bdf;
    tlp->tag = atc->endpoint->params.tags + slot;
    tlp->transaction = fab_transaction_new(component->fabric);
    tlp->ecrc = atc->endpoint->params.ecrc;
    tlp->flow = request->waiting.head->flow;
    request->transaction = tlp->transaction;
    request->stale = false;
    request->deadline =
        fab_timeout_begin(component->fabric, &atc->timeout_event);
    atc->counters.requests++;
    fab_port_send(atc_port(atc), ENDPOINT_SOURCE, tlp);
}

/* The slot with the request for @page, or else a free one; NO_SLOT: none. */
static uint32_t slot_find(const FabAtc *atc, FabBusAddr page)
{
    uint32_t count = atc->endpoint->params.ats.requests;
    uint32_t found = NO_SLOT, left = atc->requests_used;

    for (uint32_t i = 0; i < count && (left > 0 || found == NO_SLOT); i++) {
        const Request *request = &atc->requests[i];

        if (!request->waiting.head) {
            found = MIN(found, i);
        } else if (request->page == page) {
            return i;
        } else {
            left--;
        }
    }
    return found;
}

/* Lets @tlp wait for a Translation Request. Returns false if all slots are in
 * use. */
static bool tlp_ask(FabAtc *atc, FabTlp *tlp)
{
    FabBusAddr page = tlp->addr & ~fab_page_mask(0);
    uint32_t slot = slot_find(atc, page);
    Request *request;

    if (slot == NO_SLOT) {
        return false;
    }
    request = &atc->requests[slot];
    fab_fifo_push(&request->waiting, tlp);
    if (request->waiting.count == 1) {
        request->page = page;
        atc->requests_used++;
        request_send(atc, slot);
    }
    return true;
}

static void tlp_look_up(FabAtc *atc, FabTlp *tlp)
{
    if (!is_device_addr(tlp->addr)) {
        tlp_ready(atc, tlp);
    } else if (fab_iotlb_is_last(&atc->tlb, tlp->addr) ||
               fab_iotlb_find(&atc->tlb, tlp->addr)) {
        atc->counters.hits++;
        tlp_translate(atc, tlp);
    } else {
        atc->counters.misses++;
        /* Those that lack a slot get one in turn. */
        if (atc->unasked.head || !tlp_ask(atc, tlp)) {
            fab_fifo_push(&atc->unasked, tlp);
        }
    }
}

static void look_event(SimEvent *event)
{
    FabAtc *atc = SIM_CONTAINER_OF(event, FabAtc, look_event);
    FabTlp *tlp = fab_fifo_pop(&atc->looking);

    if (atc->looking.head) {
        sim_event_schedule(event, atc->looking.head->due_at);
    }
    tlp_look_up(atc, tlp);
}

void fab_atc_send(FabAtc *atc, FabTlp *tlp)
{
    SimTime hit = atc->endpoint->params.ats.hit;

    tlp->posted_before =
        tlp->cls == FAB_CLASS_P ? atc->posted_received++ : atc->posted_received;
    atc->held[tlp->cls]++;
    if (hit == 0) {
        tlp_look_up(atc, tlp);
        return;
    }
    tlp->due_at = atc_now(atc) + hit;
    fab_fifo_push(&atc->looking, tlp);
    if (atc->looking.head == tlp) {
        sim_event_schedule(&atc->look_event, tlp->due_at);
    }
}

/* Slots are free, or translations have come. */
static void unasked_go_on(FabAtc *atc)
{
    while (atc->unasked.head) {
        FabTlp *tlp = atc->unasked.head;

        if (fab_iotlb_find(&atc->tlb, tlp->addr)) {
            tlp_translate(atc, fab_fifo_pop(&atc->unasked));
            continue;
        }
        if (slot_find(atc, tlp->addr & ~fab_page_mask(0)) == NO_SLOT) {
            return;
        }
        tlp_ask(atc, fab_fifo_pop(&atc->unasked));
    }
}

/* Ends the request in @slot. Without @found its TLPs leave untranslated. */
static void request_end(FabAtc *atc, uint32_t slot, bool found)
{
    FabFifo waiting = atc->requests[slot].waiting;

    atc->requests[slot].waiting = (FabFifo){0};
    atc->requests_used--;
    while (waiting.head) {
        FabTlp *tlp = fab_fifo_pop(&waiting);

        /* A TLP that leaves can bring others in, which use other pages. */
        if (found && fab_iotlb_find(&atc->tlb, tlp->addr)) {
            tlp_translate(atc, tlp);
        } else {
            tlp_ready(atc, tlp);
        }
    }
    unasked_go_on(atc);
}

bool fab_atc_completion(FabAtc *atc, FabTlp *tlp)
{
    const FabEndpoint *endpoint = atc->endpoint;
    uint32_t slot = tlp->tag - endpoint->params.tags;
    bool found = tlp->status == FAB_STATUS_SC && !tlp->poisoned;
    uint64_t entry = tlp->data;
    Request *request;

    if (tlp->tag < endpoint->params.tags ||
        slot >= endpoint->params.ats.requests ||
        tlp->requester_id != endpoint->component.bdf) {
        return false;
    }
    request = &atc->requests[slot];
    if (!request->waiting.head || tlp->transaction != request->transaction) {
        return false;
    }
    fab_port_consume(tlp, atc_now(atc));
    if (request->stale) {
        request_send(atc, slot);
        return true;
    }
    found = found && entry & FAB_ATS_READ && entry & FAB_ATS_WRITE;
    if (found) {
        unsigned bits = fab_ats_range_bits(entry & ~UINT64_C(0x7ff));
        FabBusAddr page = request->page & ~((UINT64_C(1) << bits) - 1);
        uint32_t size;
        bool is_page = fab_page_size_find(UINT64_C(1) << bits, &size);

        g_assert(is_page);
        fab_iotlb_fill(&atc->tlb, request->page, size,
                       fab_ats_range_base(entry) - page);
    }
    request_end(atc, slot, found);
    return true;
}

static void timeout_event(SimEvent *event)
{
    FabAtc *atc = SIM_CONTAINER_OF(event, FabAtc, timeout_event);
    SimTime now = event->time; /* a new request changes that of the event */
    SimTime next = SIM_TIME_NONE;

    for (uint32_t i = 0; i < atc->endpoint->params.ats.requests; i++) {
        Request *request = &atc->requests[i];

        if (request->waiting.head && request->deadline <= now) {
            fab_timeout_count(atc_port(atc));
            request_end(atc, i, false);
        }
    }
    for (uint32_t i = 0; i < atc->endpoint->params.ats.requests; i++) {
        if (atc->requests[i].waiting.head) {
            next = MIN(next, atc->requests[i].deadline);
        }
    }
    fab_timeout_next(event, next);
}

/* ---- Invalidation ---------------------------------------------------- */

static inline Invalidation *invalidation_at(FabAtc *atc, uint32_t place)
{
    return &atc->invalidations[place % FAB_ATS_ITAGS];
}

/* Answers the Invalidate Requests that are over, in their order. The answer
 * goes behind the posted requests that came before, so it pushes those that
 * used the old translation (s10.3.3). */
static void invalidations_answer(FabAtc *atc)
{
    const FabComponent *component = &atc->endpoint->component;

    while (atc->invalidations_head != atc->invalidations_tail) {
        const Invalidation *first =
            invalidation_at(atc, atc->invalidations_head);
        FabTlp *tlp;

        if (first->reads > 0) {
            return;
        }
        if (first->due > atc_now(atc)) {
            sim_event_reschedule(&atc->invalidate_event, first->due);
            return;
        }
        tlp = fab_tlp_new(component->fabric, FAB_TLP_MSG);
        tlp->addr = FAB_MESSAGE_ADDR;
        tlp->requester_id = component->bdf;
        tlp->completer_id = first->sender;
        tlp->tag = first->itag;
        tlp->posted_before = atc->posted_received++;
        tlp->ecrc = atc->endpoint->params.ecrc;
        atc->held[FAB_CLASS_P]++;
        atc->invalidations_head++;
        tlp_ready(atc, tlp);
    }
}

static void invalidate_event(SimEvent *event)
{
    invalidations_answer(SIM_CONTAINER_OF(event, FabAtc, invalidate_event));
}

void fab_atc_read_over(FabAtc *atc, uint16_t tag)
{
    Read *read = &atc->reads[tag];

    read->used = false;
    if (read->flushed) {
        read->flushed = false;
        atc->invalidations[read->invalidation].reads--;
        invalidations_answer(atc);
    }
}

void fab_atc_drop(void *owner, FabBusAddr iova, uint64_t size_bytes)
{
    FabAtc *atc = owner;
    FabBusAddr last = iova + size_bytes - 1;

    fab_iotlb_drop(&atc->tlb, iova, last + 1);
    for (uint32_t i = 0; i < atc->endpoint->params.ats.requests; i++) {
        Request *request = &atc->requests[i];

        /* The page may be a part of a larger one, which ends no earlier. */
        request->stale |= request->waiting.head &&
                          request->page + fab_page_mask(0) >= iova &&
                          request->page <= last;
    }
}

void fab_atc_message(FabAtc *atc, FabTlp *tlp)
{
    unsigned bits = fab_ats_range_bits(tlp->data);
    FabBusAddr iova = fab_ats_range_base(tlp->data);
    FabBusAddr last = iova + ((UINT64_C(1) << bits) - 1);
    uint32_t place = atc->invalidations_tail;
    Invalidation *self = invalidation_at(atc, place);

    if (place - atc->invalidations_head == FAB_ATS_ITAGS) {
        /* The root has given up one of those that this device has. */
        fab_port_consume(tlp, atc_now(atc));
        return;
    }
    atc->invalidations_tail++;
    *self = (Invalidation){
        .due = atc_now(atc) + atc->endpoint->params.ats.invalidate,
        .sender = tlp->requester_id,
        .itag = tlp->tag,
    };
    fab_port_consume(tlp, atc_now(atc));
    atc->counters.invalidations++;
    fab_atc_drop(atc, iova, last - iova + 1);
    /* A read that an earlier invalidation waits for need not be noted, because
     * answers go in order. */
    for (uint32_t i = 0; i < atc->endpoint->params.tags; i++) {
        Read *read = &atc->reads[i];

        if (read->used && !read->flushed && read->last >= iova &&
            read->iova <= last) {
            read->flushed = true;
            read->invalidation = place % FAB_ATS_ITAGS;
            self->reads++;
        }
    }
    invalidations_answer(atc);
}

/* ---- For observers --------------------------------------------------- */

uint64_t fab_atc_posted_received(const FabAtc *atc)
{
    return atc->posted_received;
}

uint32_t fab_atc_held(const FabAtc *atc, FabClass cls)
{
    return atc->held[cls];
}

const FabAtcCounters *fab_atc_counters(const FabAtc *atc)
{
    return &atc->counters;
}

uint32_t fab_atc_requests(const FabAtc *atc)
{
    return atc->requests_used;
}

bool fab_atc_is_wanted(const FabAtc *atc)
{
    return atc->unasked.head;
}

static void fifo_foreach(const FabFifo *fifo, FabAtcFn fn, void *data)
{
    for (const FabTlp *tlp = fifo->head; tlp; tlp = tlp->next) {
        fn(data, tlp);
    }
}

void fab_atc_foreach(const FabAtc *atc, FabAtcFn fn, void *data)
{
    fifo_foreach(&atc->looking, fn, data);
    fifo_foreach(&atc->unasked, fn, data);
    for (uint32_t i = 0; i < atc->endpoint->params.ats.requests; i++) {
        fifo_foreach(&atc->requests[i].waiting, fn, data);
    }
    fifo_foreach(&atc->posted, fn, data);
    fifo_foreach(&atc->others, fn, data);
}

/* ---- Life ------------------------------------------------------------ */

FabAtc *fab_atc_new(FabEndpoint *endpoint, FabAtcLeavesFn leaves,
                    GError **error)
{
    const FabAtsParams *params = &endpoint->params.ats;
    FabComponent *component = &endpoint->component;
    FabAtc *atc;

    if (!fab_iotlb_check(params->entries, params->ways, "an ATC", error)) {
        g_prefix_error(error, "%s: ", component->name);
        return NULL;
    }
    g_assert(params->requests > 0 && params->writes > 0);
    atc = g_new0(FabAtc, 1);
    atc->endpoint = endpoint;
    atc->leaves = leaves;
    fab_iotlb_init(&atc->tlb, params->entries, params->ways);
    atc->requests = g_new0(Request, params->requests);
    atc->reads = g_new0(Read, endpoint->params.tags);
    sim_event_init(&atc->look_event, component->engine, look_event,
                   SIM_PRIORITY_NORMAL, component->rank);
    sim_event_init(&atc->timeout_event, component->engine, timeout_event,
                   SIM_PRIORITY_NORMAL, component->rank + 1);
    sim_event_init(&atc->invalidate_event, component->engine, invalidate_event,
                   SIM_PRIORITY_NORMAL, component->rank + 1);
    return atc;
}

void fab_atc_free(FabAtc *atc)
{
    FabFabric *fabric;

    if (!atc) {
        return;
    }
    fabric = atc->endpoint->component.fabric;
    sim_event_cancel(&atc->look_event);
    sim_event_cancel(&atc->timeout_event);
    sim_event_cancel(&atc->invalidate_event);
    fab_fifo_clear(fabric, &atc->looking);
    fab_fifo_clear(fabric, &atc->unasked);
    fab_fifo_clear(fabric, &atc->posted);
    fab_fifo_clear(fabric, &atc->others);
    for (uint32_t i = 0; i < atc->endpoint->params.ats.requests; i++) {
        fab_fifo_clear(fabric, &atc->requests[i].waiting);
    }
    fab_iotlb_done(&atc->tlb);
    g_free(atc->requests);
    g_free(atc->reads);
    g_free(atc);
}

void fab_atc_caching(const FabAtc *atc, FabCaching *sum)
{
    sum->held += fab_iotlb_held(&atc->tlb);
    sum->missed += (SimTime)atc->counters.requests * FAB_ATC_MISS_TIME;
}
