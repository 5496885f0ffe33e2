/* SPDX-License-Identifier: MIT */
#ifndef EXP_SCHEDULE_H
#define EXP_SCHEDULE_H

#include "topo_description.h"

/*
 * Schedules of faults for a timed cluster: a list of faults, in the schema of
 * `faults:` of a description. A schedule is a GArray of TopoFault whose texts
 * and targets belong to the description, which must outlive it. The names of
 * its faults are f1, f2 and so on, by their places in the list.
 */

/* The most faults that a drawn schedule has. */
#define EXP_SCHEDULE_MOST 4

/* The longest time for which a drawn fault freezes a host, in ns. It is less
 * than the 5 s for which the agent of a guest may be silent. */
#define EXP_SCHEDULE_FREEZE_NS INT64_C(4000000000)

/*
 * Draws the schedule of @seed for the machines of @description: one to four
 * faults, no two with one action and one target, and no two that switch off or
 * on one host. Those with a time begin within @begin_ns to @end_ns of virtual
 * time, later by the start of a host that starts late; half of those that may
 * begin with an event do so. The same arguments give the same schedule. To be
 * freed by g_array_unref(); empty if the description has no target.
 */
GArray *exp_schedule_draw(const TopoDescription *description, int64_t begin_ns,
                          int64_t end_ns, uint64_t seed);

/* The faults of @description as a schedule; to be freed by g_array_unref(). */
GArray *exp_schedule_of(const TopoDescription *description);

/*
 * Returns @schedule as a description of its own, to be freed: its name, the
 * file @cluster with the hosts and links, and `faults:`. @comment (nullable)
 * stands at the top, without the signs of a comment; it may have several lines.
 */
char *exp_schedule_to_yaml(const GArray *schedule, const char *name,
                           const char *cluster, const char *comment);

/* Returns @schedule as a change of its description, "faults=[...]", for --set;
 * to be freed. */
char *exp_schedule_to_change(const GArray *schedule);

/* Returns one line for readers, such as "cable link-down at 2s for 30us; a
 * freeze at doorbell 3 for 5ms"; to be freed. */
char *exp_schedule_to_text(const GArray *schedule);

/* The virtual time in ns at which the last fault that has a time begins, or
 * ends if it does; 0 if there is none. */
int64_t exp_schedule_end_ns(const GArray *schedule);

/* The virtual time in ns at which the first fault that has a time begins; 0 if
 * a host starts late, and INT64_MAX if there is none. */
int64_t exp_schedule_begin_ns(const GArray *schedule);

/* True if a fault can come before the machines have booted: it begins with an
 * event, or a host starts late. */
bool exp_schedule_may_hit_boot(const GArray *schedule);

/* True if a fault of @schedule switches @host off or on. */
bool exp_schedule_has_power(const GArray *schedule, const TopoHost *host);

#endif
