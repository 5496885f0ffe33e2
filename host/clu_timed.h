/* SPDX-License-Identifier: MIT */
#ifndef CLU_TIMED_H
#define CLU_TIMED_H

#include "clu_faults.h"
#include "clu_pace.h"
#include "clu_plan_types.h"
#include "clu_timed_log.h"

/*
 * The part of a timed cluster that its machines share: the board on which they
 * keep one virtual time.
 */
typedef struct CluTimed CluTimed;

/* The pace of @timed; and the virtual time of a cluster with @pace, NULL if it
 * has none. */
CluPace *clu_timed_pace(CluTimed *timed);
CluTimed *clu_timed_of(const CluPace *pace);

/* The time from the moment a link is plugged in until messages pass, in ns. */
#define CLU_TIMED_TRAINING_NS 10000000

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

/* Before clu_timed_start_model(). @owner is borrowed. */
void clu_timed_set_model(CluTimed *timed, CluTimedModel *model, void *owner);

/*
 * Starts the process of the model, which ends with this process. If it ends
 * before, CluPaceUser.end is called. To be called before other threads exist.
 * False and @error if there can be no process.
 */
bool clu_timed_start_model(CluTimed *timed, const CluPlan *plan,
                           GError **error);

/* The value of QEMU's option -plugin for @host, to be freed. The host inherits
 * clu_timed_board() as CLU_FD_BOARD. */
char *clu_timed_plugin(const CluTimed *timed, const CluPlanHost *host);
int clu_timed_board(const CluTimed *timed);

/*
 * Virtual time goes on in steps of at most CLU_TIMED_STEP_NS while it is
 * wanted, and otherwise stands still. Only between two steps, when all machines
 * stand and all that they have written was read, something is given to them, in
 * one piece, before their main loops come round. So an input reaches a machine
 * at a time, and in pieces, that do not depend on the speed of this program.
 * @owner is borrowed. False and @error if the log
 * cannot be written.
 */
/* Machines can stand only at multiples of this time. */
#define CLU_TIMED_BARRIER_NS     1000000
#define CLU_TIMED_ADVANCE_MAX_NS (INT64_C(86400) * 1000000000)
bool clu_timed_start(CluTimed *timed, GMainContext *context,
                     const CluPaceUser *user, void *owner, GError **error);
/* The virtual time at which all machines stand, or up to which they run. */
int64_t clu_timed_limit(const CluTimed *timed);
/* True if all machines stand at @ns or later. */
bool clu_timed_stands_at(const CluTimed *timed, int64_t ns);
/* The real time that the machines took for it, in us: they did not stand. */
int64_t clu_timed_moving_us(const CluTimed *timed);

/* Before clu_timed_start(): all inputs are to be written to the file @path,
 * below the head of @head; borrowed. */
void clu_timed_set_log(CluTimed *timed, const char *path,
                       const CluTimedScript *head);
/* Before the machines start: each one writes what happens to it to the file
 * DIR/HOST.steps; @dir is absolute, and borrowed. */
void clu_timed_set_steps(CluTimed *timed, const char *dir);
/* Before the machines start: no run of a CPU is longer than @slice_ns (0:
 * QEMU's object decides), and a machine looks @spins times for others before it
 * sleeps (negative: QEMU's object decides). Neither changes what a machine
 * does. */
void clu_timed_set_pace(CluTimed *timed, int64_t slice_ns, int spins);
/* Before clu_timed_start(): the run is to repeat @script; borrowed. */
void clu_timed_set_script(CluTimed *timed, const CluTimedScript *script);
/* True if a log is replayed; and if all of it was. */
bool clu_timed_is_replay(const CluTimed *timed);
bool clu_timed_is_replayed(const CluTimed *timed);
/* Logs an input of now; @host and @data are nullable. */
void clu_timed_note(CluTimed *timed, CluInputKind kind, const char *host,
                    const void *data, size_t length);
/* Logs the end of the run. */
void clu_timed_end(CluTimed *timed);
/* Kills the model's process: the supervisor is about to end. */
void clu_timed_abandon(const CluTimed *timed);

/* The plan with the faults of this cluster: those of the branch if it is one.
 */
const CluPlan *clu_timed_plan(const CluTimed *timed);

/* From now on time stands still for ever: branches go on from here. */
void clu_timed_set_template(CluTimed *timed);
bool clu_timed_is_template(const CluTimed *timed);

/*
 * In a process that was forked from that of a template: the model makes a
 * branch, with the changes @sets of the description (ended by NULL). False and
 * @error if it cannot. Then clu_timed_branch_board() is the descriptor of the
 * board of the branch, which its machines get.
 */
bool clu_timed_branch_model(CluTimed *timed, char *const *sets, GError **error);
int clu_timed_branch_board(const CluTimed *timed);
/* The machines' main loops come round once. */
void clu_timed_wake(CluTimed *timed);
/* All machines have made a branch: this cluster is theirs, with the faults of
 * @plan, which is borrowed. It writes no log. */
bool clu_timed_branch(CluTimed *timed, const CluPlan *plan, GError **error);

/* The process of @host has ended: the others do not wait for it any more. */
void clu_timed_remove_machine(CluTimed *timed, const CluPlanHost *host);
/* A process for @host is about to be started, where time stands still. */
void clu_timed_add_machine(CluTimed *timed, const CluPlanHost *host);

/* True if @host stands in the middle of an access. It acts on no input now. */
bool clu_timed_is_busy(const CluTimed *timed, const CluPlanHost *host);

/* The virtual time of @host, in ns. */
int64_t clu_timed_now(const CluTimed *timed, const CluPlanHost *host);

#endif
