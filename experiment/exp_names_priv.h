/* SPDX-License-Identifier: MIT */
#ifndef EXP_NAMES_PRIV_H
#define EXP_NAMES_PRIV_H

#include "fab_profile.h"

/* Names of what a profile is made of, for explanations. */

/* "wait for credits" and so on. */
const char *exp_place_name(FabPlaceKind kind);

/* "no PH credits" and so on; @kind is below FAB_CREDIT_KINDS. */
const char *exp_credit_name(unsigned kind);

/* "host.sw0 dsp0 -> host.gpu0"; to be freed. */
char *exp_port_name(const FabPort *port);

/* "link host.sw0 dsp0 -> host.gpu0", "memory of host" and so on; to be
 * freed. */
char *exp_resource_name(const FabResource *resource);

#endif
