/* SPDX-License-Identifier: MIT */
#ifndef CMD_CLUSTER_TIMED_H
#define CMD_CLUSTER_TIMED_H

#include "clu_argv.h"
#include "clu_timed.h"

/* The logs of a timed cluster. */
typedef struct CmdClusterTimed {
    const char *log;   /* the file to write; NULL: none */
    const char *steps; /* the directory of the machines' records, absolute;
                          NULL: none */
    int64_t slice_ns;  /* see clu_timed_set_pace() */
    int spins;
    char *const *sets;            /* the changes that it names; nullable */
    const CluTimedScript *script; /* the log to replay; NULL: none */
    const char *script_file;      /* its name, for messages */
} CmdClusterTimed;

/* The file of QEMU's object for virtual time, to be freed. NULL and @error if
 * there is none. */
char *cmd_cluster_timed_plugin(GError **error);

/*
 * Prepares virtual time for the cluster of @plan in the directory @dir: finds
 * QEMU's object, computes the latency of each link in the model, and prepares
 * the logs that @logs asks for. @paths are those of the hosts. NULL, and
 * entries in @errors or @error, if that fails, or if the log to replay is of
 * another run. What @logs has is borrowed until the supervisor has started.
 */
CluTimed *cmd_cluster_timed(const CluPlan *plan, const char *dir,
                            const CluPaths *paths, const CmdClusterTimed *logs,
                            TopoErrors *errors, GError **error);

#endif
