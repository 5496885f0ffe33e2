/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits for a peer. Each holds QEMU's big lock, so this file decides how long
 * it may last, and what this machine may do for peers meanwhile.
 *
 * Its work meanwhile: a device that waits for its DMA is in the middle of its
 * own code. Another access to it could free what that code uses, also by a
 * detour such as configuration space or the slot of its root port. So while any
 * device waits, farside_wait_of_device() is true, and peers are served only
 * what calls no device. A CPU that waits for its own access is in no device's
 * code.
 *
 * Its length: a wait lasts completion-timeout at most, together with all waits
 * inside it. A peer that let it expire is silent, and no wait for it begins
 * until a message of it comes. A peer may also be slow, and a device may need
 * thousands of answers before it releases the lock. So answers that take long
 * are added up, and so are all waits between two turns of QEMU's main loop: see
 * farside_wait.c. In virtual time a wait takes no real time, so only silence
 * counts there.
 *
 * The caller holds the big lock in all functions.
 */
#ifndef FARSIDE_WAIT_H
#define FARSIDE_WAIT_H

#include "exec/memattrs.h"
#include "hw/pci/pci.h"
#include "qemu/notify.h"
#include "farside_config.h"

/* The patience of this machine with one peer */
typedef struct FarsideWait FarsideWait;

/* One wait; its caller reads none of it. */
typedef struct FarsideWaiting {
    int64_t begin;
    int64_t deadline;
    int64_t outer; /* the deadline of the wait around this one */
    bool is_device;
} FarsideWaiting;

/* Borrows @config. */
FarsideWait *farside_wait_new(const FarsideConfig *config);
void farside_wait_free(FarsideWait *s); /* nullable */

/*
 * Begins a wait for the peer of @s. @is_device: a device's code is under way.
 * Returns false if the caller must not wait: then there is no wait to end.
 */
bool farside_wait_begin(FarsideWait *s, FarsideWaiting *w, bool is_device);
/*
 * Serves the peers of all links, until something has come from one. Returns
 * false if the time of @w is over.
 */
bool farside_wait_serve(FarsideWaiting *w);
/* @is_answered is false if the peer let the time expire. */
void farside_wait_end(FarsideWait *s, FarsideWaiting *w, bool is_answered);
/* For a request that nobody waits for in its own code: */
bool farside_wait_is_silent(const FarsideWait *s);
/* It had no answer for the whole completion-timeout. */
void farside_wait_expired(FarsideWait *s);
/* A message of the peer has come. */
void farside_wait_heard(FarsideWait *s);
/* There is no peer any more. */
void farside_wait_forget(FarsideWait *s);

/* True while some device's code is under way in this thread. */
bool farside_wait_of_device(void);

/*
 * Set while a bottom half of the main loop's own context serves peers: below it
 * on the stack there is no device's code. QEMU runs none of these in a wait.
 */
void farside_wait_set_top(bool is_top);
/*
 * Called in waits when no device waits: peers may be served what was deferred.
 * The notifier gets a bool, and sets it if some of that is left to be served.
 */
void farside_wait_add_idle(Notifier *notifier);
/*
 * Before an access of a CPU: lets the main loop run if it has been kept from
 * that for long. Releases the big lock meanwhile.
 */
void farside_wait_yield(void);

/* Attributes of an access that the Completer makes for a peer. */
MemTxAttrs farside_wait_attrs(PCIDevice *pci);
/*
 * True if a device makes an access with these attributes, so that its code is
 * under way. False if a CPU makes it, or the Completer.
 */
bool farside_wait_is_device(MemTxAttrs attrs);

#endif /* FARSIDE_WAIT_H */
