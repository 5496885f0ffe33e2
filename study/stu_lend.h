/* SPDX-License-Identifier: MIT */
#ifndef STU_LEND_H
#define STU_LEND_H

#include "exp_lend_plan.h"

/*
 * Appends to @text, below a heading, the DMA windows that the machines of
 * @description give to its loans, and adds them to @table, an
 * exp_lend_plan_table_new(). Appends nothing if it cannot be emulated or no
 * machine lends. False if a loan does not fit.
 */
bool stu_lend_append(GString *text, const TopoDescription *description,
                     Table *table);

#endif
