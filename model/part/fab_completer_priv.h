/* SPDX-License-Identifier: MIT */
#ifndef FAB_COMPLETER_PRIV_H
#define FAB_COMPLETER_PRIV_H

#include "fab_cache_priv.h"
#include "fab_memory_priv.h"
#include "fab_observe_priv.h"
#include "fab_waits_priv.h"

/*
 * The part of a component that serves requests to its memory. It keeps a read
 * until the memory has the data, and then calls its owner to answer. It keeps a
 * write to a watched address until the write is visible. Reads are answered in
 * the order in which they begin.
 */

/* Called when the data of @read are ready. Takes ownership, and answers. */
typedef void (*FabCompleterFn)(FabComponent *owner, FabTlp *read);

typedef struct FabCompleter {
    FabMemory *memory; /* owned */
    FabCache *cache;   /* owned; NULL: none */
    SimTime hit_saves; /* time that a read from the cache takes less */
    FabFifo reading;   /* reads, by due_at */
    FabFifo visible;   /* writes to watched addresses, by due_at */
    SimEvent read_event, visible_event;
    FabCompleterFn answer;
    FabComponent *owner;
} FabCompleter;

/* Initialises the part of @component that serves requests to @memory. Takes
 * ownership of @memory. */
void fab_completer_init(FabCompleter *completer, FabComponent *component,
                        FabMemory *memory);

/* Makes it ready to run: its two events take @rank and the next. @answer is
 * called with the component as the owner. */
void fab_completer_realize(FabCompleter *completer, uint32_t rank,
                           FabCompleterFn answer);

/* Frees the memory and the TLPs. May be called without
 * fab_completer_realize(). */
void fab_completer_done(FabCompleter *completer);

/* Begins the read @tlp, whose ownership it takes until it is answered. */
void fab_completer_read(FabCompleter *completer, FabTlp *tlp);

/* Takes the write @tlp, which reaches the memory at @earliest (0: now). Returns
 * when it is visible; the place of the TLP in the receive buffer is free then.
 */
SimTime fab_completer_write(FabCompleter *completer, FabTlp *tlp,
                            SimTime earliest);

/* True while the memory's channel is taken. */
bool fab_completer_is_busy(const FabCompleter *completer);

/* Reports to @observer the TLPs in @completer, with @place. */
void fab_completer_waiters(const FabCompleter *completer,
                           const FabObserver *observer, FabPlaceKind place);
/* Tells @waits of the TLPs in @completer, which all go on. */
void fab_completer_waits(const FabCompleter *completer, FabWaits *waits);

#endif
