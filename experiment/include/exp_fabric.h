/* SPDX-License-Identifier: MIT */
#ifndef EXP_FABRIC_H
#define EXP_FABRIC_H

#include "fab_fabric.h"
#include "topo_description.h"

/*
 * A fabric built from a description and ready to run, with its own engine.
 */
typedef struct ExpFabric ExpFabric;

/* Builds all components and links of @description, which must outlive the
 * result, and realizes the fabric. It lends no devices; exp_build() does that.
 * Fails if bus numbers, addresses or windows do not suffice; the error names
 * the place in the description. */
ExpFabric *exp_fabric_new(const TopoDescription *description, GError **error);
void exp_fabric_free(ExpFabric *fabric);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExpFabric, exp_fabric_free)

FabFabric *exp_fabric(const ExpFabric *fabric);
SimEngine *exp_engine(const ExpFabric *fabric);

/* Returns the description that @fabric was built from. */
const TopoDescription *exp_fabric_description(const ExpFabric *fabric);

/* Return the component that was made for an element of the description. */
FabComponent *exp_host(const ExpFabric *fabric, const TopoHost *host);
FabComponent *exp_device(const ExpFabric *fabric, const TopoDevice *device);

/* Returns the address that enumeration gave @device; @fabric is an ExpFabric.
 * An InvAddressFn. */
TopoPciAddress exp_device_address(const TopoDevice *device, void *fabric);

/* Returns the description's word for a component: "root", "switch", "ntb",
 * "gpu" or "device". */
const char *exp_kind_name(const ExpFabric *fabric,
                          const FabComponent *component);

#endif
