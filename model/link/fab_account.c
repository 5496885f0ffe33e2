/* SPDX-License-Identifier: MIT */
#include "fab_account_priv.h"

#include <string.h>

void fab_account_open(FabFabric *fabric, uint32_t number, FabMeter *meter)
{
    FabAccounts *accounts = &fabric->accounts;

    g_assert(number < 1u << 31);
    while (number > accounts->mask) {
        uint32_t count = accounts->mask + 1;

        accounts->of = g_renew(FabAccount, accounts->of, 2 * count);
        memset(&accounts->of[count], 0, sizeof(FabAccount) * count);
        accounts->mask = 2 * count - 1;
    }
    accounts->of[number].meter = meter;
    meter->flow = number;
}

/* ---- The meter -------------------------------------------------------- */

/* The part of @bytes that is in a span of time which begins (or ends) at @at,
 * if they take @time and the span has @within of it. */
static uint32_t part_of(uint32_t bytes, SimTime within, SimTime time)
{
    return within >= time ? bytes
           : within <= 0  ? 0
                          : (uint32_t)(bytes * (uint64_t)within / time);
}

/* The bytes of the TLP that is coming in at @now. */
static uint32_t coming_in(const FabMeter *meter, SimTime now)
{
    const FabTlp *tlp = meter->ingress->peer->flight.head;
    SimTime time;

    if (!tlp || !tlp->metered || tlp->flow != meter->flow) {
        return 0;
    }
    time = fab_port_tlp_time(meter->ingress->peer, tlp);
    return part_of(tlp->payload_bytes, now - (tlp->tail_at - time), time);
}

uint64_t fab_meter_bytes(const FabMeter *meter, SimTime now)
{
    uint64_t left = meter->left;
    uint64_t arrived = meter->settled - meter->lost - meter->early;

    left += part_of(meter->last_left, now - meter->last_left_from,
                    meter->last_left_at - meter->last_left_from);
    if (meter->ingress && now > meter->from) {
        arrived += coming_in(meter, now);
    }
    return meter->other + MIN(left, arrived);
}

void fab_account_left_early(FabMeter *meter, const FabPort *port,
                            const FabTlp *tlp, SimTime now)
{
    SimTime begin;

    if (!meter || port->busy_until <= meter->from) {
        return;
    }
    /* DLLPs may go before it. They belong to the time that it takes. */
    begin = MAX(now, meter->from);
    if (!meter->last_left) {
        meter->begun_at = begin;
    }
    meter->left += meter->last_left;
    meter->last_left = part_of(tlp->payload_bytes, port->busy_until - begin,
                               port->busy_until - now);
    meter->last_left_from = begin;
    meter->last_left_at = port->busy_until;
}

static void arrived_early(FabMeter *meter, const FabTlp *tlp, SimTime now)
{
    /* Only the first ones can have begun before. */
    uint32_t bytes =
        now < meter->from
            ? 0
            : part_of(tlp->payload_bytes, tlp->tail_at - meter->from,
                      fab_port_tlp_time(tlp->ingress->peer, tlp));

    meter->early += tlp->payload_bytes - bytes;
    if (bytes == tlp->payload_bytes) {
        meter->ingress = tlp->ingress;
    }
    if (now >= meter->from) {
        meter->arrived_at = now;
    }
}

bool fab_accounts_are_settled(const FabAccounts *accounts)
{
    for (uint32_t i = 0; i <= accounts->mask; i++) {
        const FabMeter *meter = accounts->of[i].meter;

        if (meter && meter->sent != meter->settled) {
            return false;
        }
    }
    return true;
}

static void settle(const FabFabric *fabric)
{
    if (fabric->accounts.settles &&
        fab_accounts_are_settled(&fabric->accounts)) {
        sim_engine_stop(fabric->engine);
    }
}

void fab_account_arrived_rarely(FabMeter *meter, const FabTlp *tlp)
{
    const FabFabric *fabric = tlp->ingress->owner->fabric;
    SimTime now = sim_engine_now(fabric->engine);

    if (meter->ingress) {
        meter->ingress = tlp->ingress;
        meter->arrived_at = now;
    } else {
        arrived_early(meter, tlp, now);
    }
    settle(fabric);
}

bool fab_account_meters_cpu(const FabFabric *fabric, uint32_t flow)
{
    const FabMeter *meter =
        fabric->accounts.of[flow & fabric->accounts.mask].meter;

    return meter && meter->of_cpu;
}

/* ---- Entries ---------------------------------------------------------- */

void fab_account_taken(FabFabric *fabric, const FabTlp *tlp)
{
    fab_account_of(&fabric->accounts, tlp)->taken += tlp->payload_bytes;
}

void fab_account_given(FabFabric *fabric, const FabTlp *tlp)
{
    fab_account_of(&fabric->accounts, tlp)->given += tlp->payload_bytes;
}

void fab_account_drop(FabFabric *fabric, uint32_t flow, uint32_t bytes,
                      bool metered)
{
    FabAccounts *accounts = &fabric->accounts;
    FabAccount *account = &accounts->of[flow & accounts->mask];

    account->given += bytes;
    if (metered && account->meter) {
        account->meter->settled += bytes;
        account->meter->lost += bytes;
    } else {
        account->lost += bytes;
    }
}

/* The entry of losses like @loss; the latest is mostly it. */
static FabLoss *loss_find(FabAccounts *accounts, const FabLoss *like)
{
    if (!accounts->losses) {
        accounts->losses = g_array_new(FALSE, FALSE, sizeof(FabLoss));
    }
    for (unsigned i = 0; i < accounts->losses->len; i++) {
        unsigned at = (accounts->latest + i) % accounts->losses->len;
        FabLoss *loss = &g_array_index(accounts->losses, FabLoss, at);

        if (loss->component == like->component && loss->flow == like->flow &&
            loss->cause == like->cause && loss->is_read == like->is_read) {
            accounts->latest = at;
            return loss;
        }
    }
    g_array_append_val(accounts->losses, *like);
    accounts->latest = accounts->losses->len - 1;
    return &g_array_index(accounts->losses, FabLoss, accounts->latest);
}

static void loss_add(const FabComponent *component, const FabLoss *like,
                     uint64_t bytes)
{
    FabLoss *loss = loss_find(&component->fabric->accounts, like);

    loss->tlps++;
    loss->bytes += bytes;
}

void fab_account_fail(const FabComponent *component, uint32_t flow,
                      bool is_read, FabBusAddr addr, FabLossCause cause)
{
    FabLoss loss = {
        .flow = flow,
        .component = component,
        .cause = cause,
        .is_read = is_read,
        .addr = addr,
        .since = sim_engine_now(component->engine),
    };

    loss_add(component, &loss, 0);
}

void fab_account_lose(const FabComponent *component, const FabTlp *tlp,
                      FabLossCause cause)
{
    FabFabric *fabric = component->fabric;
    FabAccount *account = fab_account_of(&fabric->accounts, tlp);
    FabMeter *meter = account->meter;
    FabLoss loss = {
        .flow = tlp->flow,
        .component = component,
        .cause = cause,
        .is_read = tlp->cls != FAB_CLASS_P,
        .addr = tlp->addr,
        .since = sim_engine_now(fabric->engine),
    };

    loss_add(component, &loss, tlp->payload_bytes);
    if (!tlp->metered || !meter) {
        account->lost += tlp->payload_bytes;
        return;
    }
    meter->settled += tlp->payload_bytes;
    meter->lost += tlp->payload_bytes;
    if (tlp->cls == FAB_CLASS_P && tlp->transaction &&
        loss.since >= meter->from &&
        (!meter->lost_writes || meter->last_lost != tlp->transaction)) {
        meter->last_lost = tlp->transaction;
        meter->lost_writes++;
    }
    settle(fabric);
}

/* ---- Reading them ----------------------------------------------------- */

const FabLoss *fab_account_losses(const FabFabric *fabric, unsigned *ret_count)
{
    const GArray *losses = fabric->accounts.losses;

    *ret_count = losses ? losses->len : 0;
    return losses ? (const FabLoss *)losses->data : NULL;
}

/* Adds the payload of the TLPs that exist to @held, by flow. */
static void hold(FabFabric *fabric, uint64_t *held)
{
    for (FabTlp *tlp = fabric->pool; tlp; tlp = tlp->next) {
        fab_arena_show(tlp, sizeof(*tlp));
        tlp->payload_bytes = 0;
    }
    for (unsigned i = 0; i < fabric->slabs->len; i++) {
        const FabTlp *slab = fabric->slabs->pdata[i];

        for (unsigned j = 0; j < FAB_SLAB_TLPS; j++) {
            held[slab[j].flow & fabric->accounts.mask] += slab[j].payload_bytes;
        }
    }
    for (FabTlp *tlp = fabric->pool, *next; tlp; tlp = next) {
        next = tlp->next;
        fab_arena_hide(tlp, sizeof(*tlp));
    }
}

char *fab_account_check(FabFabric *fabric)
{
    const FabAccounts *accounts = &fabric->accounts;
    g_autofree uint64_t *held = g_new0(uint64_t, accounts->mask + 1);

    hold(fabric, held);
    for (uint32_t i = 0; i <= accounts->mask; i++) {
        const FabAccount *account = &accounts->of[i];
        const FabMeter none = {0};
        const FabMeter *meter = account->meter ? account->meter : &none;
        uint64_t made = account->made + meter->sent;
        uint64_t lost = account->lost + meter->lost;
        uint64_t arrived = account->arrived + meter->settled - meter->lost;
        uint64_t way = held[i] + account->taken - account->given;

        if (made != arrived + lost + way) {
            return g_strdup_printf(
                "flow number %u: %" G_GUINT64_FORMAT " bytes of payload left, "
                "%" G_GUINT64_FORMAT " arrived, %" G_GUINT64_FORMAT
                " were lost and %" G_GINT64_FORMAT " are on their way",
                i, made, arrived, lost, (gint64)way);
        }
    }
    return NULL;
}
