/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The addresses of this machine's bus that the peer's windows lead to, as the
 * peer has told them in WINDOWS (wire/farside_wire.h).
 */
#ifndef FARSIDE_REACH_H
#define FARSIDE_REACH_H

#include "farside_config.h"
#include "farside_link.h"

typedef struct FarsideReach FarsideReach;

/* Borrows @config. At first, no window leads here. */
FarsideReach *farside_reach_new(const FarsideConfig *config);
void farside_reach_free(FarsideReach *s); /* nullable */

/* Takes a WINDOWS. Returns false if the peer must not send it. */
bool farside_reach_on_windows(FarsideReach *s, const FarsideLinkMessage *m);
/* The peer has no windows any more. */
void farside_reach_clear(FarsideReach *s);
/* True if one window of the peer leads to all @size bytes at @address. */
bool farside_reach_holds(const FarsideReach *s, uint64_t address,
                         uint64_t size);

#endif /* FARSIDE_REACH_H */
