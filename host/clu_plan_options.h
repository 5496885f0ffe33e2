/* SPDX-License-Identifier: MIT */
#ifndef CLU_PLAN_OPTIONS_H
#define CLU_PLAN_OPTIONS_H

#include <stdbool.h>

#include "topo_description.h"

/* `options:` of a device in the description. @vm is nullable unless a function
 * says otherwise. */

bool clu_plan_has_option(const TopoVmDevice *vm, const char *name);

/* The value of the option @name, borrowed; NULL if there is none. */
const char *clu_plan_option_value(const TopoVmDevice *vm, const char *name);

/* The place of the option @name, which @vm must have. */
TopoPlace clu_plan_option_place(const TopoVmDevice *vm, const char *name);

/* Adds an entry to @errors for each option of @vm (not NULL) that only the
 * cluster may set, or whose name cannot be that of a property. */
void clu_plan_check_options(const TopoVmDevice *vm, TopoErrors *errors);

/* Appends ",name=value" for each option of @vm, except `addr` and the names in
 * @except, an array (nullable) that ends with NULL. */
void clu_plan_append_options(GString *out, const TopoVmDevice *vm,
                             const char *const *except);

#endif
