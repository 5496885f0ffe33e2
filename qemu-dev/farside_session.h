/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The conversation with the peer: HELLO, the messages of the peer, and the
 * link's going up and down. Tells the other parts of the device.
 */
#ifndef FARSIDE_SESSION_H
#define FARSIDE_SESSION_H

#include "farside_completer.h"
#include "farside_ctrl.h"
#include "farside_memory.h"
#include "farside_peer.h"
#include "farside_regs.h"
#include "farside_requester.h"
#include "farside_windows.h"

/* The parts of a device that take part in the conversation */
typedef struct FarsideParts {
    FarsidePeer *peer;
    FarsideMemory *memory;
    FarsideRequester *requester;
    FarsideWindows *windows;
    FarsideCtrl *ctrl;
    FarsideRegs *regs;
    FarsideCompleter *completer;
} FarsideParts;

typedef struct FarsideSession FarsideSession;

/*
 * Listens or connects. The parameters are borrowed. NULL, and @errp set, if it
 * cannot listen.
 */
FarsideSession *farside_session_new(const FarsideConfig *config, PCIDevice *pci,
                                    const FarsideParts *parts, Error **errp);
/* Ends the conversation, for good. */
void farside_session_stop(FarsideSession *s);
/* Frees a session that was stopped (nullable). */
void farside_session_free(FarsideSession *s);

/* This side of the link was enabled or disabled. */
void farside_session_enabled_changed(FarsideSession *s);

#endif /* FARSIDE_SESSION_H */
