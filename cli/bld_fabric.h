/* SPDX-License-Identifier: MIT */
#ifndef BLD_FABRIC_H
#define BLD_FABRIC_H

#include "fab_fabric.h"
#include "fab_flow.h"
#include "topo_description.h"

/*
 * A description turned into a fabric that is ready to run, with an engine of
 * its own.
 */
typedef struct BldFabric BldFabric;

/* Builds all components and links of @description, which must outlive the
 * result, realizes the fabric and makes the borrows of `lend:`. Fails, naming
 * the place in the description, if bus numbers, addresses or windows do not
 * suffice. */
BldFabric *bld_fabric_new(const TopoDescription *description, GError **error);
/* The same before anybody has borrowed anything. */
BldFabric *bld_fabric_new_unlent(const TopoDescription *description,
                                 GError **error);
void bld_fabric_free(BldFabric *bld);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BldFabric, bld_fabric_free)

FabFabric *bld_fabric(const BldFabric *bld);
SimEngine *bld_engine(const BldFabric *bld);

/* The component that an element of the description has become. */
FabComponent *bld_host(const BldFabric *bld, const TopoHost *host);
FabComponent *bld_device(const BldFabric *bld, const TopoDevice *device);

/* The description's word for a component: "root", "switch", "ntb", "gpu",
 * "device". */
const char *bld_kind_name(const BldFabric *bld, const FabComponent *component);

/* Makes the flow that @flow, of any kind but TOPO_FLOW_PATH, describes. Fails
 * at its place in the description. */
FabFlow *bld_flow_new(BldFabric *bld, const TopoFlow *flow,
                      const TopoWorkload *workload, GError **error);

#endif
