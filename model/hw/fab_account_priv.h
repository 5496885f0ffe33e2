/* SPDX-License-Identifier: MIT */
#ifndef FAB_ACCOUNT_PRIV_H
#define FAB_ACCOUNT_PRIV_H

#include "fab_account.h"
#include "fab_meter.h"

/* The payload of a flow, in bytes. */
typedef struct FabAccount {
    uint64_t made, arrived, lost;
    uint64_t taken, given; /* of TLPs that a root took to send them on in
                              pieces, and of these pieces */
    FabMeter *meter;       /* nullable */
} FabAccount;

typedef struct FabAccounts {
    FabAccount *of; /* owned; by number of the flow, the first is that of TLPs
                       without one */
    uint32_t count;
    GArray *losses;  /* owned; of FabLoss */
    unsigned latest; /* index of the latest loss */
    bool settles;    /* the engine stops when all metered bytes are settled */
} FabAccounts;

void fab_accounts_init(FabFabric *fabric);
void fab_accounts_clear(FabFabric *fabric);

/* Opens the account of the flow @number. @meter is borrowed. */
void fab_account_open(FabFabric *fabric, uint32_t number, FabMeter *meter);

static inline FabAccount *fab_account_of(const FabAccounts *accounts,
                                         const FabTlp *tlp)
{
    return &accounts->of[tlp->flow < accounts->count ? tlp->flow : 0];
}

/* True if the meter of the flow @flow counts the accesses of CPUs. */
bool fab_account_meters_cpu(const FabFabric *fabric, uint32_t flow);

/* The payload of @tlp, which its sender has just made. */
static inline void fab_account_made(FabAccounts *accounts, const FabTlp *tlp)
{
    FabAccount *account = fab_account_of(accounts, tlp);

    account->made += tlp->payload_bytes;
    if (tlp->metered && account->meter) {
        account->meter->sent += tlp->payload_bytes;
    }
}

/* @tlp, whose payload arrives at its receiver. */
void fab_account_arrived(FabFabric *fabric, const FabTlp *tlp);

/* @tlp, whose payload a root takes to send it on in pieces, and a piece. */
void fab_account_taken(FabFabric *fabric, const FabTlp *tlp);
void fab_account_given(FabFabric *fabric, const FabTlp *tlp);
/* @bytes that a root has taken and does not send on, because another part
 * of the read failed. */
void fab_account_drop(FabFabric *fabric, uint32_t flow, uint32_t bytes,
                      bool metered);

/* @tlp has left its source through @port, at the end of its time on the wire.
 */
void fab_account_left(const FabPort *port, const FabTlp *tlp);

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
