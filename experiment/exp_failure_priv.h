/* SPDX-License-Identifier: MIT */
#ifndef EXP_FAILURE_PRIV_H
#define EXP_FAILURE_PRIV_H

#include "fab_flow.h"

/* Says of each flow of @fabric with failed operations or lost data how many
 * there are, and where and why: one line, or NULL if there are none. The caller
 * frees it. *ret_whole tells whether a flow has wholly failed. */
char *exp_failure_note(const FabFabric *fabric, bool *ret_whole);

/* Says where and why TLPs of the flow @number failed, such as "; at a.sw 1 read
 * failed, ...". Empty if none did. The caller frees it. */
char *exp_failure_places(const FabFabric *fabric, uint32_t number);

#endif
