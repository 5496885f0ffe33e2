/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads of devices that failed at the peer.
 *
 * QEMU reads a drive's data into a buffer of its own, and ignores errors of
 * that: a drive would store ones, and report success. Real hardware would end
 * the command with an error, and so would containment (PCIe 5.0 s6.2.10). Here
 * an NVMe controller loses bus mastering. It cannot report the end of any
 * command then: it sets CFS in CSTS and stops, and its driver resets it and
 * tries again.
 *
 * The caller holds the big lock in all functions.
 */
#ifndef FARSIDE_CONTAIN_H
#define FARSIDE_CONTAIN_H

#include "hw/pci/pci.h"

/*
 * A read of a device, at @offset of window BAR @bar, has no data. @id is the
 * function's Requester ID if @is_known; otherwise the controllers that may have
 * read are contained.
 */
void farside_contain(uint16_t id, bool is_known, unsigned bar, uint64_t offset);
/* The controller was reset: it has what its command register says. */
void farside_contain_end(PCIDevice *controller);

#endif /* FARSIDE_CONTAIN_H */
