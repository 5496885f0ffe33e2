/* SPDX-License-Identifier: MIT */
#ifndef STU_CHECK_H
#define STU_CHECK_H

#include "topo_description.h"

/*
 * Does with every point of the description @file with @changes (of TopoChange)
 * all that a run does before it simulates. Returns its name and how large it
 * is, to be freed. NULL, and all errors in @errors, if it has some; a part with
 * errors does not keep those of others from being found. Appends to @notes,
 * each on a line, what is no error but will surely fail.
 */
char *stu_check(const char *file, const GPtrArray *changes, GString *notes,
                TopoErrors *errors);

#endif
