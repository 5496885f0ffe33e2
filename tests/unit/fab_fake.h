/* SPDX-License-Identifier: MIT */
#ifndef FAB_FAKE_H
#define FAB_FAKE_H

#include "fab_enumerate_priv.h"

/*
 * A fabric of the model with components that only have ports and BARs: enough
 * to enumerate and to print, and BARs may be whatever a test wants. Roots are
 * the model's own.
 */

/* A component named @name with @ports ports. If the name is taken, the n-th
 * component is named @name#n. The ports are named rp0.. at a root, usp and
 * dsp0.. at a switch, host and cable0.. at an NTB, and up at an endpoint. */
FabComponent *fake_component(FabFabric *fabric, FabKind kind, const char *name,
                             unsigned ports);

/* Links two ports at 8.0GT/s x8; if they have links, these go first. */
void fake_connect(FabComponent *a, unsigned port_a, FabComponent *b,
                  unsigned port_b);

/* Flags of a BAR; without any it is 32 bit and not prefetchable. */
#define FAKE_64BIT 0x1u
#define FAKE_PREF  0x2u

void fake_bar(FabComponent *component, unsigned bar, uint64_t size_bytes,
              unsigned flags);

/* The MMIO ranges that fab_enumerate() finds for @root. */
FabMmioParams *fake_mmio(FabComponent *root);

#endif
