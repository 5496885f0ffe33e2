/* SPDX-License-Identifier: MIT */
#ifndef FAB_LAB_H
#define FAB_LAB_H

#include "fab_endpoint.h"
#include "fab_ntb.h"
#include "fab_root.h"
#include "fab_switch.h"

/*
 * Parts for fabrics under test, with times that are easy to add up. Everything
 * is 8.0GT/s x8 with an MPS of 256 and credits without end; DLLPs are free.
 */

#define LAB_PROPAGATION (5 * SIM_NS)
#define LAB_LATENCY     (100 * SIM_NS) /* of every port */

/* An empty fabric with an engine of its own. */
FabFabric *lab_fabric_new(uint64_t seed);
/* Frees the engine, too. */
void lab_fabric_free(FabFabric *fabric);

FabPortParams lab_port_params(void);
/* 1 GiB of memory below, the rest of 16 GiB above 4 GiB. Pages of 4 KiB. */
FabRootParams lab_root_params(bool iommu);
/* BAR 0 of 1 MiB, BAR 2 of 16 MiB. */
FabEndpointParams lab_device_params(void);
/* A window of 256 MiB with 64 entries of 4 MiB. */
FabNtbParams lab_ntb_params(void);

/* A root named @name with root ports "rp0" and so on. */
FabRoot *lab_root(FabFabric *fabric, const char *name, unsigned ports,
                  bool iommu);
FabComponent *lab_device(FabFabric *fabric, const char *name);
FabComponent *lab_switch(FabFabric *fabric, const char *name, unsigned ports);
FabComponent *lab_ntb(FabFabric *fabric, const char *name, unsigned cables);

/* These abort when they fail. */
void lab_connect(FabComponent *a, unsigned i, FabComponent *b, unsigned j);
void lab_realize(FabFabric *fabric);

/* Has @device write to or read from @addr, and runs the engine until nothing
 * is left to happen. Aborts if the operation is not over then. */
FabStatus lab_dma(FabComponent *device, FabTlpType type, FabBusAddr addr,
                  uint64_t size_bytes);

/* Fails the test unless @got is within @share of @expected. */
void lab_check_near(double got, double expected, double share);

#endif
