/* SPDX-License-Identifier: MIT */
#ifndef CMD_EXPLORE_SEEDS_H
#define CMD_EXPLORE_SEEDS_H

#include "cmd_explore.h"

/* Many schedules, one for each seed, in several threads. */
typedef struct CmdExploreSeeds {
    CmdExplore *explore;
    CmdExploreReport *report;
    const CmdExploreHead *head;
    const char *out;    /* the folder of the results */
    const GArray *only; /* of uint64_t: the seeds; NULL: @count, from @from */
    uint64_t from, count;
    unsigned jobs;
    unsigned shrink_runs; /* the most runs that make a failure smaller */
    bool keep;            /* the folders of schedules that have not failed */
} CmdExploreSeeds;

/* Blocks SIGINT, SIGTERM and SIGHUP in this thread and those that it makes. */
void cmd_explore_hold_signals(void);

/* Calls @run in another thread. If one of these signals comes meanwhile, sets
 * is_stopped and returns the signal at the end; 0 otherwise. */
int cmd_explore_watched(CmdExplore *explore, void (*run)(void *owner),
                        void *owner);

/*
 * Runs the schedules of all seeds that the report does not have, prints their
 * results, adds them to the report, and makes those that fail smaller. Returns
 * the signal by which the user has ended it, or 0. Sets @error if the report
 * cannot be written.
 */
int cmd_explore_seeds(CmdExploreSeeds *seeds, GError **error);

/*
 * Makes @schedule, which has failed with @result in the folder @dir, smaller in
 * at most @most runs of a cluster called @name. Leaves the smallest one in the
 * folder DIR-small, prints it and the command that runs it again.
 */
void cmd_explore_shrink(CmdExplore *explore, const GArray *schedule,
                        const CmdExploreResult *result, const char *name,
                        const char *dir, unsigned most);

/* Prints the result of a schedule; @what names it. */
void cmd_explore_print_result(const char *what, const char *faults,
                              const CmdExploreResult *result);

/* Prints the command that runs the schedule in the folder @dir again. */
void cmd_explore_print_again(const CmdExplore *explore, const char *dir);

#endif
