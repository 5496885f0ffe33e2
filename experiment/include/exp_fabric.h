/* SPDX-License-Identifier: MIT */
#ifndef EXP_FABRIC_H
#define EXP_FABRIC_H

#include "fab_fabric.h"
#include "topo_description.h"

/*
 * A description turned into a fabric that is ready to run, with an engine of
 * its own.
 */
typedef struct ExpFabric ExpFabric;

/* Builds all components and links of @description, which must outlive the
 * result, and realizes the fabric. Nothing is borrowed in it: exp_build() does
 * that, too. Fails, naming the place in the description, if bus numbers,
 * addresses or windows do not suffice. */
ExpFabric *exp_fabric_new(const TopoDescription *description, GError **error);
void exp_fabric_free(ExpFabric *fabric);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExpFabric, exp_fabric_free)

FabFabric *exp_fabric(const ExpFabric *fabric);
SimEngine *exp_engine(const ExpFabric *fabric);

/* The component that an element of the description has become. */
FabComponent *exp_host(const ExpFabric *fabric, const TopoHost *host);
FabComponent *exp_device(const ExpFabric *fabric, const TopoDevice *device);

/* The description's word for a component: "root", "switch", "ntb", "gpu",
 * "device". */
const char *exp_kind_name(const ExpFabric *fabric,
                          const FabComponent *component);

#endif
