/* SPDX-License-Identifier: MIT */
#ifndef EXP_NAMES_PRIV_H
#define EXP_NAMES_PRIV_H

#include "fab_profile.h"

/* Names for explanations: of places, credits, ports and resources. */

/* Returns for example "wait for credits". */
const char *exp_place_name(FabPlaceKind kind);

/* Returns for example "no PH credits". @kind is below FAB_CREDIT_KINDS. */
const char *exp_credit_name(unsigned kind);

/* Returns for example "host.sw0 dsp0 -> host.gpu0". The caller frees it. */
char *exp_port_name(const FabPort *port);

/* Returns for example "link host.sw0 dsp0 -> host.gpu0" or "memory of host".
 * The caller frees it. */
char *exp_resource_name(const FabResource *resource);

#endif
