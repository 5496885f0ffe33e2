/* SPDX-License-Identifier: MIT */
#ifndef CLU_TIMED_H
#define CLU_TIMED_H

#include "clu_plan_types.h"

/*
 * The part of a timed cluster that its machines share: the board on which they
 * keep one virtual time.
 */
typedef struct CluTimed CluTimed;

/* The time from the moment a link is plugged in until messages pass, in ns. */
#define CLU_TIMED_TRAINING_NS 10000000

/*
 * Makes the board for @plan in the directory @dir. @plugin is the file that
 * QEMU loads. @latencies_ns has the least time of a message for each link of
 * the plan. Returns NULL and adds entries to @errors if a machine cannot run in
 * virtual time, or sets @error if the board cannot be made.
 */
CluTimed *clu_timed_new(const CluPlan *plan, const char *dir,
                        const char *plugin, const int64_t *latencies_ns,
                        TopoErrors *errors, GError **error);
void clu_timed_free(CluTimed *timed); /* (nullable) */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluTimed, clu_timed_free)

/* The value of QEMU's option -plugin for @host, to be freed. The host inherits
 * clu_timed_board() as CLU_FD_BOARD. */
char *clu_timed_plugin(const CluTimed *timed, const CluPlanHost *host);
int clu_timed_board(const CluTimed *timed);

typedef struct CluTimedOps {
    /* True if somebody waits for the machines. */
    bool (*wanted)(void *owner);
    /* A number that changes when a machine reads what was written to it. */
    size_t (*unread)(void *owner);
} CluTimedOps;

/*
 * Virtual time goes on in steps of CLU_TIMED_STEP_NS while it is wanted, and
 * otherwise stands still. Between two steps all machines stand, all that they
 * have written was read, and they have read what they can of the answers. So an
 * answer reaches a machine at a time that does not depend on the speed of this
 * program. @owner is borrowed.
 */
#define CLU_TIMED_STEP_NS 10000000
void clu_timed_start(CluTimed *timed, GMainContext *context,
                     const CluTimedOps *ops, void *owner);
/* The virtual time at which all machines stand, or up to which they run. */
int64_t clu_timed_limit(const CluTimed *timed);

/* The process of @host has ended: the others do not wait for it any more. */
void clu_timed_leave(CluTimed *timed, const CluPlanHost *host);
/* False if the process of @host has ended: it cannot return. */
bool clu_timed_is_here(const CluTimed *timed, const CluPlanHost *host);

/* The virtual time of @host, in ns. */
int64_t clu_timed_now(const CluTimed *timed, const CluPlanHost *host);

#endif
