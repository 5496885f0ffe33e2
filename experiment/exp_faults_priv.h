/* SPDX-License-Identifier: MIT */
#ifndef EXP_FAULTS_PRIV_H
#define EXP_FAULTS_PRIV_H

#include "exp_fabric.h"

/* Gives the links of @fabric, which is realized, the faults of @description,
 * and its requesters their completion time-out. Adds an error for each fault
 * that does not fit its link. */
void exp_faults_build(const ExpFabric *fabric,
                      const TopoDescription *description, TopoErrors *errors);

#endif
