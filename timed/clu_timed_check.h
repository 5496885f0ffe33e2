/* SPDX-License-Identifier: MIT */
#ifndef CLU_TIMED_CHECK_H
#define CLU_TIMED_CHECK_H

#include "clu_plan_types.h"
#include "topo_error.h"

/* Adds an entry to @errors for everything in @plan that has no place in virtual
 * time. */
void clu_timed_check(const CluPlan *plan, TopoErrors *errors);

/* Tells where the machines of @plan have no time that the simulation has: one
 * line of text, with its place, for each host with a switch. */
void clu_timed_tell_gaps(const CluPlan *plan,
                         void (*tell)(void *owner, const char *text),
                         void *owner);

/* Parses the pace of virtual time as clu_timed_set_pace() takes it: @slice
 * (nullable), a whole number of ns with its unit, and @spins (-1: none are
 * given). False and G_OPTION_ERROR if they are wrong. */
bool clu_timed_pace_parse(const char *slice, int spins, int64_t *ret_slice_ns,
                          GError **error);

/* True if @device has an image. */
bool clu_timed_is_drive(const CluPlanDevice *device);

#endif
