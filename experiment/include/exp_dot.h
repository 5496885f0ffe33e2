/* SPDX-License-Identifier: MIT */
#ifndef EXP_DOT_H
#define EXP_DOT_H

#include "exp_fabric.h"

/*
 * Appends a drawing of the cluster for graphviz: a box with the elements of
 * each host, edges with the speed and width of the links, and dashed edges
 * for cables. @fabric (nullable) is built from @description. With it,
 * elements show their BDFs and BARs as enumeration set them. Without it they
 * show the description: parts, root ports, ACS redirect, IOMMU and lent
 * devices.
 */
void exp_dot(const TopoDescription *description, const ExpFabric *fabric,
             GString *out);

#endif
