/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ports of a transparent switch: QEMU's own (x3130-upstream,
 * xio3130-downstream), which bring configuration space, slots and errors, and
 * the way of requests in the switch (PCIe 5.0 s6.12).
 *
 * QEMU hands the DMA of each function straight to the IOMMU, or to memory. At a
 * Downstream Port of this switch a request from below goes to the Downstream
 * Port whose range has its address, past the root and its IOMMU. It is refused
 * if that is the port through which it came in. It goes up if no port has the
 * address, or if ACS P2P Request Redirect is on at the port through which it
 * came in.
 *
 * Properties of a Downstream Port: "acs": it has the ACS capability;
 * "redirect": after a reset ACS redirects, as if firmware had enabled it.
 */
#ifndef FARSIDE_SWITCH_H
#define FARSIDE_SWITCH_H

void farside_switch_register_types(void);

#endif /* FARSIDE_SWITCH_H */
