/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of an NTB device. Each uses only those that are made before it, in
 * the order of this list; the chip is made before the Completer.
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

struct FarsideParts {
    FarsideRecorder *recorder;
    FarsidePeer *peer;
    FarsideWait *wait;
    FarsideMemory *memory;
    FarsideRequester *requester;
    FarsideWindows *windows;
    FarsideRegisters *registers;
    FarsideInterrupts *interrupts;
    FarsideReach *reach;
    FarsideChip *chip;
    struct FarsideCompleter *completer;
};

#endif /* FARSIDE_PARTS_H */
