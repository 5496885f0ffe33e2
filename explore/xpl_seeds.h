/* SPDX-License-Identifier: MIT */
#ifndef XPL_SEEDS_H
#define XPL_SEEDS_H

#include "xpl_report.h"

/* Many schedules, one for each seed, in several threads. */
typedef struct XplSeeds {
    XplExplore *explore;
    XplReport *report;
    const XplHead *head;
    const char *out;    /* the folder of the results */
    const GArray *only; /* of uint64_t: the seeds; NULL: @count, from @from */
    uint64_t from, count;
    unsigned jobs;
    unsigned shrink_runs; /* the most runs that make a failure smaller */
    bool keep;            /* the folders of schedules that have not failed */
} XplSeeds;

/* Calls @run in another thread. If a signal of xpl_hold_signals() comes
 * meanwhile, sets is_stopped and returns the signal at the end; 0 otherwise. */
int xpl_watched(XplExplore *explore, void (*run)(void *owner), void *owner);

/*
 * Runs the schedules of all seeds that the report does not have, prints their
 * results, adds them to the report, and makes those that fail smaller. Returns
 * the signal by which the user has ended it, or 0. Sets @error if the report
 * cannot be written.
 */
int xpl_seeds(XplSeeds *seeds, GError **error);

/*
 * Makes @schedule, which has failed with @result in the folder @dir, smaller in
 * at most @most runs of a cluster called @name. Leaves the smallest one in the
 * folder DIR-small, prints it and the command that runs it again.
 */
void xpl_shrink(XplExplore *explore, const GArray *schedule,
                const XplResult *result, const char *name, const char *dir,
                unsigned most);

/* Tells the result of a schedule; @what names it. */
void xpl_tell_result(const XplExplore *explore, const char *what,
                     const char *faults, const XplResult *result);

#endif
