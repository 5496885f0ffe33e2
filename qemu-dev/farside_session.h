/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The conversation with one peer: HELLO, the peer's messages, and the changes
 * of the link's state. The session passes them on to the other parts of the
 * device.
 */
#ifndef FARSIDE_SESSION_H
#define FARSIDE_SESSION_H

#include "farside_parts.h"

typedef struct FarsideSession FarsideSession;

/*
 * Listens or connects, for the peer of the index @peer. Borrows the parameters.
 * Returns NULL, and sets @errp, if it cannot listen or the path is too long.
 */
FarsideSession *farside_session_new(const FarsideConfig *config, unsigned peer,
                                    PCIDevice *pci, const FarsideParts *parts,
                                    Error **errp);
/* Ends the conversation. The session cannot be started again. */
void farside_session_stop(FarsideSession *s);
/* Frees a session that was stopped (nullable). */
void farside_session_free(FarsideSession *s);

/* A fault begins or ends, at both ends at the same time: the peer knows. */
void farside_session_cut_changed(FarsideSession *s);
/* This side of the link was enabled or disabled. */
void farside_session_enabled_changed(FarsideSession *s);

#endif /* FARSIDE_SESSION_H */
