/* SPDX-License-Identifier: MIT */
#ifndef FAB_ACCOUNT_PRIV_H
#define FAB_ACCOUNT_PRIV_H

#include "fab_account.h"
#include "fab_fabric_priv.h"
#include "fab_meter.h"
#include "fab_port_priv.h"

/* Opens the account of the flow @number. @meter is borrowed. */
void fab_account_open(FabFabric *fabric, uint32_t number, FabMeter *meter);

static inline FabAccount *fab_account_of(const FabAccounts *accounts,
                                         const FabTlp *tlp)
{
    return &accounts->of[tlp->flow & accounts->mask];
}

/* True if the meter of the flow @flow counts the accesses of CPUs. */
bool fab_account_meters_cpu(const FabFabric *fabric, uint32_t flow);

/* The payload of @tlp, which its sender has just made. */
static inline void fab_account_made(FabAccounts *accounts, const FabTlp *tlp)
{
    FabAccount *account = fab_account_of(accounts, tlp);

    if (tlp->metered && G_LIKELY(account->meter)) {
        account->meter->sent += tlp->payload_bytes;
    } else {
        account->made += tlp->payload_bytes;
    }
}

/* The rare parts of fab_account_arrived() and fab_account_left(): a TLP at or
 * before the begin of the meter's span, or when no more is to be under way. */
void fab_account_arrived_rarely(FabMeter *meter, const FabTlp *tlp);
void fab_account_left_early(FabMeter *meter, const FabPort *port,
                            const FabTlp *tlp, SimTime now);

/* @tlp, whose payload arrives at its receiver at @now. */
static inline void fab_account_arrived(FabAccounts *accounts, const FabTlp *tlp,
                                       SimTime now)
{
    FabAccount *account = fab_account_of(accounts, tlp);
    FabMeter *meter = account->meter;

    if (!tlp->payload_bytes) {
        return;
    }
    if (!tlp->metered || G_UNLIKELY(!meter)) {
        account->arrived += tlp->payload_bytes;
        return;
    }
    meter->settled += tlp->payload_bytes;
    if (G_UNLIKELY(meter->ingress != tlp->ingress || accounts->settles)) {
        fab_account_arrived_rarely(meter, tlp);
        return;
    }
    meter->arrived_at = now;
}

/* @tlp, whose payload a root takes to send it on in pieces, and a piece. */
void fab_account_taken(FabFabric *fabric, const FabTlp *tlp);
void fab_account_given(FabFabric *fabric, const FabTlp *tlp);
/* @bytes that a root has taken and does not send on, because another part
 * of the read failed. */
void fab_account_drop(FabFabric *fabric, uint32_t flow, uint32_t bytes,
                      bool metered);

/* @tlp is metered. It leaves its source through @port, from @now to the end of
 * its time on the wire. */
static inline void fab_account_left(const FabAccounts *accounts,
                                    const FabPort *port, const FabTlp *tlp,
                                    SimTime now)
{
    FabMeter *meter;

    if (!tlp->payload_bytes) {
        return;
    }
    meter = fab_account_of(accounts, tlp)->meter;
    if (G_UNLIKELY(!meter || !meter->last_left || now < meter->from)) {
        fab_account_left_early(meter, port, tlp, now);
        return;
    }
    meter->left += meter->last_left;
    meter->last_left = tlp->payload_bytes;
    meter->last_left_from = now;
    meter->last_left_at = port->busy_until;
}

/* @tlp fails at @component, with its payload. It must still be whole. */
void fab_account_lose(const FabComponent *component, const FabTlp *tlp,
                      FabLossCause cause);
/* A request of the flow @flow to @addr fails at @component, and has no TLP
 * there. */
void fab_account_fail(const FabComponent *component, uint32_t flow,
                      bool is_read, FabBusAddr addr, FabLossCause cause);

/* True if no metered byte is under way. */
bool fab_accounts_are_settled(const FabAccounts *accounts);

#endif
