/* SPDX-License-Identifier: MIT */
#ifndef CMD_CLUSTER_VERB_H
#define CMD_CLUSTER_VERB_H

#include <stdbool.h>

/* The verbs of `farside cluster`, one file each: cmd_cluster_NAME.c. */
typedef struct CmdClusterVerb CmdClusterVerb;

struct CmdClusterVerb {
    const char *name;
    const char *summary;           /* description in `farside cluster --help` */
    const char *synopsis;          /* words of the usage line */
    unsigned min_words, max_words; /* number of words it takes */
    bool has_cluster;    /* the verb needs a running cluster and takes -c */
    const char *details; /* text of `farside cluster VERB --help` */
    /* Returns the exit status; argv[0] is "cluster NAME". */
    int (*run)(const CmdClusterVerb *verb, int argc, char **argv);
};

#define CMD_CLUSTER_EXIT_STATUS                                                \
    "\n\nExit status: 0 success, 1 failure, 2 wrong usage or bad input."

extern const CmdClusterVerb cmd_cluster_up;
extern const CmdClusterVerb cmd_cluster_advance;
extern const CmdClusterVerb cmd_cluster_replay;
extern const CmdClusterVerb cmd_cluster_checkpoint;
extern const CmdClusterVerb cmd_cluster_branch;
extern const CmdClusterVerb cmd_cluster_down;
extern const CmdClusterVerb cmd_cluster_status;
extern const CmdClusterVerb cmd_cluster_list;
extern const CmdClusterVerb cmd_cluster_exec;
extern const CmdClusterVerb cmd_cluster_explore;
extern const CmdClusterVerb cmd_cluster_console;
extern const CmdClusterVerb cmd_cluster_logs;
extern const CmdClusterVerb cmd_cluster_cp;
extern const CmdClusterVerb cmd_cluster_reload;
extern const CmdClusterVerb cmd_cluster_link;
extern const CmdClusterVerb cmd_cluster_trace;
extern const CmdClusterVerb cmd_cluster_kill;
extern const CmdClusterVerb cmd_cluster_restart;
extern const CmdClusterVerb cmd_cluster_wait;

#endif
