/* SPDX-License-Identifier: MIT */
#ifndef EXP_DOT_H
#define EXP_DOT_H

#include "exp_fabric.h"

/*
 * Appends a drawing of the cluster in the language of graphviz: a box for each
 * host with its elements, edges with the speed and the width of the links, and
 * dashed edges for cables. If @fabric (nullable) has been built of
 * @description, elements show what enumeration gave them: BDFs and BARs.
 * Without it they show what the description says: parts, root ports, ACS
 * redirect, IOMMU and lent devices.
 */
void exp_dot(const TopoDescription *description, const ExpFabric *fabric,
             GString *out);

#endif
