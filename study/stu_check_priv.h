/* SPDX-License-Identifier: MIT */
#ifndef STU_CHECK_PRIV_H
#define STU_CHECK_PRIV_H

#include "topo_description.h"

/* Appends a line to @notes for requests of each flow that a root on their way
 * does not forward (key `p2p` of a cpu). The description has no errors. */
void stu_check_p2p(const TopoDescription *description, GString *notes);

#endif
