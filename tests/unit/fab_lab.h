/* SPDX-License-Identifier: MIT */
#ifndef FAB_LAB_H
#define FAB_LAB_H

#include "fab_endpoint.h"
#include "fab_ntb.h"
#include "fab_root.h"
#include "fab_switch.h"

/*
 * Components for fabrics under test, with times that are easy to add up. Every
 * link is 8.0GT/s x8 with a Max_Payload_Size of 256 bytes and infinite credits;
 * DLLPs take no time on the wire.
 */

#define LAB_PROPAGATION (5 * SIM_NS)
#define LAB_LATENCY     (100 * SIM_NS) /* of every port */

/* A new empty fabric with its own engine. */
FabFabric *lab_fabric_new(uint64_t seed);
/* Frees the fabric and its engine. */
void lab_fabric_free(FabFabric *fabric);

FabPortParams lab_port_params(void);
/* 16 GiB of memory: 1 GiB below 4 GiB, the rest above. Pages of 4 KiB. */
FabRootParams lab_root_params(bool iommu);
/* BAR 0 of 1 MiB, BAR 2 of 16 MiB. */
FabEndpointParams lab_device_params(void);
/* A window of 256 MiB with 64 entries of 4 MiB. */
FabNtbParams lab_ntb_params(void);

/* A root named @name. Its @ports root ports are named "rp0", "rp1" ... */
FabRoot *lab_root(FabFabric *fabric, const char *name, unsigned ports,
                  bool iommu);
FabComponent *lab_device(FabFabric *fabric, const char *name);
FabComponent *lab_switch(FabFabric *fabric, const char *name, unsigned ports);
FabComponent *lab_ntb(FabFabric *fabric, const char *name, unsigned cables);

/* These abort when they fail. */
void lab_connect(FabComponent *a, unsigned i, FabComponent *b, unsigned j);
void lab_realize(FabFabric *fabric);

/* Starts a DMA of @device to or from @addr, and runs the engine until no event
 * is left. Aborts if the DMA has not ended by then. Returns its status. */
FabStatus lab_dma(FabComponent *device, FabTlpType type, FabBusAddr addr,
                  uint64_t size_bytes);

/* Fails the test if @got differs from @expected by more than the fraction
 * @share of it. */
void lab_check_near(double got, double expected, double share);

#endif
