/* SPDX-License-Identifier: MIT */
#ifndef FAB_COMPLETER_H
#define FAB_COMPLETER_H

#include "fab_memory.h"
#include "fab_observe_priv.h"

/*
 * The part of a component that serves requests to its memory: it waits until
 * the memory has the data of a read and has its owner answer, and keeps a write
 * that somebody watches until it is visible. Reads are answered in the order in
 * which they begin.
 */

/* Called when the data of @read are there: takes it, and answers. */
typedef void (*FabCompleterFn)(FabComponent *owner, FabTlp *read);

typedef struct FabCompleter {
    FabMemory *memory; /* owned */
    FabFifo reading;   /* reads, by due_at */
    FabFifo visible;   /* writes that somebody watches, by due_at */
    SimEvent read_event, visible_event;
    FabCompleterFn answer;
    FabComponent *owner;
} FabCompleter;

/* Makes the part of @component that serves requests to @memory, which it takes
 * over. */
void fab_completer_init(FabCompleter *completer, FabComponent *component,
                        FabMemory *memory);

/* Makes it ready to run: its two events take @rank and the next. @answer is
 * called with the component as the owner. */
void fab_completer_realize(FabCompleter *completer, uint32_t rank,
                           FabCompleterFn answer);

/* Frees what it holds; also after no more than fab_completer_init(). */
void fab_completer_done(FabCompleter *completer);

/* Begins the read @tlp, whose ownership it takes until it is answered. */
void fab_completer_read(FabCompleter *completer, FabTlp *tlp);

/* Takes the write @tlp. Returns when it is visible; the place of the TLP in the
 * receive buffer is free then. */
SimTime fab_completer_write(FabCompleter *completer, FabTlp *tlp);

/* True while the memory's channel is taken. */
bool fab_completer_is_busy(const FabCompleter *completer);

/* Tells @observer of the TLPs in it, which are at @place. */
void fab_completer_waiters(const FabCompleter *completer,
                           const FabObserver *observer, FabPlaceKind place);

#endif
