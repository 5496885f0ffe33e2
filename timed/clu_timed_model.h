/* SPDX-License-Identifier: MIT */
#ifndef CLU_TIMED_MODEL_H
#define CLU_TIMED_MODEL_H

#include "clu_plan_types.h"

/*
 * The model's process of a timed cluster: takes the crossings of all machines
 * from the board @fd, moves them through the fabric of the plan's description,
 * and gives them to their receivers. Makes branches of itself when it is asked
 * for them at @control (timed_control.h; -1: never). Returns only if it cannot
 * begin, with the reason in @error.
 */
void clu_timed_model_run(const CluPlan *plan, int fd, int control,
                         GError **error);

#endif
