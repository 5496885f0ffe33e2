/* SPDX-License-Identifier: MIT */
#ifndef FAB_NTB_PRIV_H
#define FAB_NTB_PRIV_H

#include "fab_ntb.h"
#include "fab_port_priv.h"

/* For observers: tags there are, tags that stand for a request now, and the
 * requests that wait for one. */
uint32_t fab_ntb_tags(const FabNtb *ntb);
uint32_t fab_ntb_tags_used(const FabNtb *ntb);
const FabFifo *fab_ntb_tag_wait(const FabNtb *ntb);

#endif
