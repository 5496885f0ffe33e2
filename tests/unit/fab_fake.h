/* SPDX-License-Identifier: MIT */
#ifndef FAB_FAKE_H
#define FAB_FAKE_H

#include "fab_enumerate_priv.h"

/*
 * Fake components for a fabric: they have ports and BARs and nothing else,
 * which is enough to enumerate and to print them. A test may set any BARs, even
 * invalid ones. Roots are real roots of the model.
 */

/* A component named @name with @ports ports. If the name is taken, the n-th
 * component is named @name#n. The ports are named rp0.. at a root, usp and
 * dsp0.. at a switch, host and cable0.. at an NTB, and up at an endpoint. */
FabComponent *fake_component(FabFabric *fabric, FabKind kind, const char *name,
                             unsigned ports);

/* Links two ports at 8.0GT/s x8. Existing links of either port are removed
 * first. */
void fake_connect(FabComponent *a, unsigned port_a, FabComponent *b,
                  unsigned port_b);

/* Flags of a BAR. Without flags it is 32-bit and non-prefetchable. */
#define FAKE_64BIT 0x1u
#define FAKE_PREF  0x2u

void fake_bar(FabComponent *component, unsigned bar, uint64_t size_bytes,
              unsigned flags);

/* The MMIO ranges in which fab_enumerate() places the BARs below @root. The
 * caller may change them. */
FabMmioParams *fake_mmio(FabComponent *root);

#endif
