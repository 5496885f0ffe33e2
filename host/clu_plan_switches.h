/* SPDX-License-Identifier: MIT */
#ifndef CLU_PLAN_SWITCHES_H
#define CLU_PLAN_SWITCHES_H

#include "clu_plan_types.h"

/* Downstream Ports of an emulated switch: device numbers of the bus inside. */
#define CLU_PLAN_PORTS_MAX     32
/* Functions of what is plugged into one of them. */
#define CLU_PLAN_FUNCTIONS_MAX 8

/* Puts each device of @host that the description plugs into a switch below
 * that switch, and adds the switches that this needs to @host, those nearer to
 * the root first. A device that cannot stand there is an entry in @errors. */
void clu_plan_add_switches(CluPlanHost *host, TopoErrors *errors);

/* Numbers the buses behind all root ports of @host as firmware does: in the
 * order of slots, depth first. */
void clu_plan_number_buses(CluPlanHost *host);

/* Adds the links inside @host to @plan. */
void clu_plan_add_insides(CluPlan *plan, const CluPlanHost *host);

/* Returns the link inside a host that @name names, or NULL. */
const CluPlanInside *clu_plan_find_inside(const CluPlan *plan,
                                          const char *name);

/* The address of the Upstream Port of @sw, such as "0000:01:00.0"; to be freed.
 */
char *clu_plan_switch_address(const CluPlanSwitch *sw);

/* Appends the address of each Downstream Port of @sw, with a ';' before each
 * but the first one of @text. */
void clu_plan_append_ports(GString *text, const CluPlanHost *host,
                           const CluPlanSwitch *sw);

/* The ID of the Downstream Port @port of @sw, to be freed. */
char *clu_plan_port_id(const CluPlanSwitch *sw, unsigned port);

/* Returns true if several devices are behind the port of @device, which is
 * below a switch: the cables of an adapter. */
bool clu_plan_has_sibling(const CluPlanHost *host, const CluPlanDevice *device);

/* Tells what of the switches of @plan the machines do not have, one line of
 * text, with its place, for each: `acs_direct`, and the ways between partitions
 * of one chip. */
void clu_plan_tell_gaps(const CluPlan *plan,
                        void (*tell)(void *owner, const char *text),
                        void *owner);

#endif
