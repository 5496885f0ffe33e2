/* SPDX-License-Identifier: MIT */
#ifndef CLU_PLAN_CHIPS_H
#define CLU_PLAN_CHIPS_H

#include "clu_plan_types.h"

/* The chip of a link, and the devices of the machines at its ends. */

/* The type of QEMU device that is this chip, to be freed. */
char *clu_plan_ntb_type(TopoChip chip);
/* True if it is the type of some chip. */
bool clu_plan_is_ntb_type(const char *type);

/* The size of the window BARs, as text, of a chip whose windows lead only to
 * multiples of it. NULL: the chip has no such rule. */
const char *clu_plan_aligned_bar(TopoChip chip);

/* Adds an entry to @errors for each option of the ends of @link that its chip
 * does not have, or with which it could not exist. */
void clu_plan_check_link(const TopoLink *link, TopoErrors *errors);
/* The same for all links of @description. */
void clu_plan_check_chips(const TopoDescription *description,
                          TopoErrors *errors);

#endif
