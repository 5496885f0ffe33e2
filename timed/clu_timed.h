/* SPDX-License-Identifier: MIT */
#ifndef CLU_TIMED_H
#define CLU_TIMED_H

#include "clu_pace.h"
#include "clu_plan_types.h"
#include "clu_timed_log.h"
#include "topo_error.h"

/*
 * The part of a timed cluster that its machines share: the board on which they
 * keep one virtual time.
 */
typedef struct CluTimed CluTimed;

/* Its pace. */
CluPace *clu_timed_pace(CluTimed *timed);

/* The time from the moment a link is plugged in until messages pass, in ns. */
#define CLU_TIMED_TRAINING_NS 10000000

/* Machines can stand only at multiples of this time. */
#define CLU_TIMED_BARRIER_NS     1000000
/* The most that is advanced at once, in ns. */
#define CLU_TIMED_ADVANCE_MAX_NS (INT64_C(86400) * 1000000000)

/* The model of the fabric, in a process of its own. @board is the descriptor of
 * the board, and @control the line on which branches are asked for
 * (timed_control.h). Returns only if it fails. */
typedef void CluTimedModel(void *owner, const CluPlan *plan, int board,
                           int control);

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

/* The following are for a cluster that has not been started. */

/* @owner is borrowed. */
void clu_timed_set_model(CluTimed *timed, CluTimedModel *model, void *owner);
/* All inputs are to be written to the file @path,
 * below the head of @head; borrowed. */
void clu_timed_set_log(CluTimed *timed, const char *path,
                       const CluTimedScript *head);
/* Each machine writes what happens to it to the file
 * DIR/HOST.steps; @dir is absolute, and borrowed. */
void clu_timed_set_steps(CluTimed *timed, const char *dir);
/* No run of a CPU is longer than @slice_ns (0:
 * QEMU's object decides), and a machine looks @spins times for others before it
 * sleeps (negative: QEMU's object decides). Neither changes what a machine
 * does. */
void clu_timed_set_pace(CluTimed *timed, int64_t slice_ns, int spins);
/* The run is to repeat @script; borrowed. */
void clu_timed_set_script(CluTimed *timed, const CluTimedScript *script);

#endif
