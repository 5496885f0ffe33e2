/* SPDX-License-Identifier: MIT */
#ifndef CLU_HOST_PRIV_H
#define CLU_HOST_PRIV_H

#include "clu_host.h"
#include "clu_process.h"
#include "clu_watch.h"

/* Shared by the files of a host. */

/* Our ends of the lines to a process; -1: none. */
typedef struct CluHostLines {
    int console, qmp, agent, control;
} CluHostLines;

struct CluHost {
    const CluHostShared *shared;
    const CluPlanHost *plan;
    const CluHostOps *ops;
    void *owner;
    CluHostState state; /* apart from a stop */
    char *cause;
    bool is_stopped; /* its CPUs do not run, but may go on */
    bool returns;    /* stepped: it starts again, perhaps later */
    bool is_due; /* stepped: it starts between two steps, when it has ended */
    char *fate;  /* stepped: it is killed with this cause between two steps */
    char *alarm; /* message of an oops or panic since the last boot; nullable */
    unsigned boots;   /* number of boots */
    unsigned watches; /* number of times that the agent has answered */
    int64_t begun_us; /* monotonic time of the last boot */
    char *boot_id;    /* boot ID of the guest's kernel; NULL: not known yet */
    char *release;    /* its release, as `uname -r` says it */
    int *disks;       /* descriptors of disks, indexed by device; -1: none */
    CluConsole *console;
    /* The following belong to the process, and are unset while there is none.
     */
    CluProcess *process;
    int control;  /* stepped: line on which it makes branches; -1: none */
    bool is_shut; /* the guest has switched its machine off */
    CluQmp *qmp;
    CluGuest *guest;
    CluWatch *watch;
    GSource *deadline;
    GSource *ended; /* the process has ended; its last output is being read */
    GSource *output_source;
    int output;    /* pipe from QEMU's standard output and error; -1: none */
    GString *said; /* what has been read from `output` */
    /* While a branch is made */
    CluHostLines lines;
    int branch_output;
};

#define CLU_HOST_NO_LINES                                                      \
    {                                                                          \
        .console = -1, .qmp = -1, .agent = -1, .control = -1                   \
    }

/* Makes the lines to a process of @host; its ends are added to @fds, the one of
 * the control first. False and @error if there are none; some may exist. */
bool clu_host_make_lines(const CluHost *host, CluFds *fds,
                         CluHostLines *ret_lines, GError **error);
void clu_host_close_lines(const CluHostLines *lines);

/* @cause is nullable. */
void clu_host_set_state(CluHost *host, CluHostState state, const char *cause);
/* The process of a CluHost has ended. */
void clu_host_ended(void *owner);

#endif
