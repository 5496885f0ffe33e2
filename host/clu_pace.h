/* SPDX-License-Identifier: MIT */
#ifndef CLU_PACE_H
#define CLU_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "clu_plan_types.h"
#include "clu_process.h"

/*
 * The pace of a cluster: how time passes for its machines. They are free, or
 * run in virtual time (timed/). All that a timed cluster does otherwise stands
 * behind this table.
 */
typedef struct CluPace CluPace;

struct CluCluster;
struct CluDir;
struct CluHost;

/* The parts of QEMU's command line that depend on the pace. */
typedef struct CluPaceMachine {
    const char *sandbox;       /* added to the value of -sandbox */
    const char *machine;       /* to that of -machine */
    const char *memory;        /* the kind of object of the RAM */
    const char *memory_shared; /* added to its properties */
    const char *serial;        /* to those of the agent's device */
    const char *kernel;        /* to the kernel's command line */
    /* The accelerator, CPU and clock, ended by NULL; NULL: KVM or TCG. */
    const char *const *accel;
    bool has_monitor; /* QEMU serves the supervisor's monitor by -mon */
} CluPaceMachine;

typedef struct CluPaceOps {
    const CluPaceMachine *machine;
    const char *unit; /* added to a time in messages */
    /* True if the machines go in steps: what is written to them is held until
     * it is given to them between two. */
    bool is_stepped;

    /* A cluster begins: makes other processes, before threads exist. False and
     * @error if that fails. */
    bool (*begin)(CluPace *pace, const CluPlan *plan, GError **error);
    /* Its hosts have processes. @cluster is borrowed. */
    bool (*run)(CluPace *pace, GMainContext *context,
                struct CluCluster *cluster, GError **error);
    /* Only if a request of the pace has called CluRequestOps.branch, in a
     * process that was forked from that of the cluster: it is a branch from now
     * on, in @dir, with machines of its own that inherit @alive. @sets (ended
     * by NULL) are changes of the description. False and @error if that fails;
     * the process must end then. */
    bool (*branch)(CluPace *pace, const struct CluDir *dir, int alive,
                   char *const *sets, GError **error);
    /* It ends: the supervisor's last words; and it kills what `begin` made. */
    void (*end)(CluPace *pace);
    void (*abandon)(const CluPace *pace);

    /* The process of @host: its first one; one in place of an earlier one that
     * was killed with the intent to restart. False and @error. */
    bool (*start)(CluPace *pace, struct CluHost *host, GError **error);
    bool (*start_again)(CluPace *pace, struct CluHost *host, GError **error);
    /* Kills it, with @cause in words. */
    void (*kill)(CluPace *pace, struct CluHost *host, const char *cause);
    /* Kills it, to start it again. True while that has not happened. */
    void (*restart)(CluPace *pace, struct CluHost *host, const char *cause);
    bool (*is_restarting)(const CluPace *pace, const struct CluHost *host);
    /* True if it starts by itself, perhaps later: its end is no failure. */
    bool (*returns)(const CluPace *pace, const struct CluHost *host);
    /* It has ended. */
    void (*left)(CluPace *pace, const CluPlanHost *host);

    /* A value for QEMU's option -plugin, to be freed; NULL: none. */
    char *(*plugin)(const CluPace *pace, const CluPlanHost *host);
    /* A descriptor that all processes of the cluster inherit; -1: none. */
    int (*board)(const CluPace *pace);
    /* Adds a line to the process to @fds: our end is in *ret_line, or -1 if the
     * pace needs none. False and @error. */
    bool (*add_control)(const CluPace *pace, CluFds *fds, int *ret_line,
                        GError **error);
    /* The longest silence of an agent, if @ms is asked for; 0: none. */
    unsigned (*silence_ms)(const CluPace *pace, unsigned ms);
    /* A timer for a question to a guest; NULL if a guest would notice that real
     * time has passed. Then it is asked when the machines stand. */
    GSource *(*question_timer)(const CluPace *pace, GMainContext *context,
                               unsigned ms, GSourceFunc fn, void *data);
    /* The virtual time at which all machines stand, or up to which they run, in
     * ns; -1 if there is none. */
    int64_t (*limit)(const CluPace *pace);
    /* True if what a client hears now comes at the same virtual time in each
     * run. */
    bool (*stands)(const CluPace *pace);
    /* The virtual time of @host, and the real time that the machines took;
     * false if there is none. */
    bool (*times)(const CluPace *pace, const CluPlanHost *host, int64_t *ret_ns,
                  int64_t *ret_moving_us);
    /* The reason for which the machines get no input; NULL if they do. */
    const char *(*refusal)(const CluPace *pace);
    /* Both ends have closed the trace file @path. False and @error. */
    bool (*close_trace)(const CluPace *pace, const char *path, GError **error);
} CluPaceOps;

struct CluPace {
    const CluPaceOps *ops;
};

/* Machines run as fast as they can. */
CluPace *clu_pace_free(void);

#endif
