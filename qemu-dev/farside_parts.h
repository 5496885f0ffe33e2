/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of an NTB device. Each uses only those that are made before it, in
 * the order of this list, those of a peer before those of the device. Only the
 * Completers and sessions are made last.
 */
#ifndef FARSIDE_PARTS_H
#define FARSIDE_PARTS_H

#include "farside_chip.h"
#include "farside_interrupts.h"
#include "farside_memory.h"
#include "farside_peer.h"
#include "farside_reach.h"
#include "farside_recorder.h"
#include "farside_registers.h"
#include "farside_requester.h"
#include "farside_wait.h"
#include "farside_windows.h"

/* The parts for one peer: a connection, and all behind it */
typedef struct FarsideFar {
    FarsideRecorder *recorder;
    FarsidePeer *peer;
    FarsideWait *wait;
    FarsideMemory *memory;
    FarsideRequester *requester;
    FarsideReach *reach;
    struct FarsideCompleter *completer;
    struct FarsideSession *session;
} FarsideFar;

struct FarsideParts {
    FarsideFar far[FARSIDE_NTB_PEERS_MAX]; /* by the index of the peer */
    FarsideWindows *windows;
    FarsideRegisters *registers;
    FarsideInterrupts *interrupts;
    FarsideChip *chip;
};

#endif /* FARSIDE_PARTS_H */
