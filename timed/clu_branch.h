/* SPDX-License-Identifier: MIT */
#ifndef CLU_BRANCH_H
#define CLU_BRANCH_H

#include "clu_plan.h"
#include "timed_control.h"

/* Parts of branches of timed clusters that several files need. */

/*
 * The plan of a branch: that of @plan with the changes @sets (ended by NULL) of
 * its description. NULL and @errors if a change is malformed, the description
 * has been edited since @plan was made, or a fault does not come after @now_ns,
 * the time at which the branch begins.
 */
CluPlan *clu_branch_plan(const CluPlan *plan, char *const *sets, int64_t now_ns,
                         TopoErrors *errors);

/*
 * Receives the answer of @what, a process that was asked for a branch, at
 * @line. False and @error if it refuses; *ret_pid is the number of the new
 * process, or -1 if there is no answer after @timeout_ms.
 */
bool clu_branch_answer(int line, TimedControlPacket *packet, int timeout_ms,
                       const char *what, pid_t *ret_pid, GError **error);

/* Adds an entry to @errors for each part of @plan of which there can be no
 * branch. */
void clu_branch_check(const CluPlan *plan, TopoErrors *errors);

#endif
