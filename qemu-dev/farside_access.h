/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The function whose access this thread makes. QEMU 7.2 gives the DMA of
 * emulated devices no Requester ID, but the translation of an access and the
 * access itself follow each other in one thread. So the translation, which
 * knows the function, leaves its Requester ID here.
 */
#ifndef FARSIDE_ACCESS_H
#define FARSIDE_ACCESS_H

#include "hw/pci/pci.h"

/* The function @devfn of @bus has reached a window. */
void farside_access_begin(PCIBus *bus, int devfn);
/*
 * To be called once for each access that has reached a window: the Requester ID
 * of the function below the root that makes it, or @other if a CPU makes it, or
 * a function that is not watched.
 */
uint16_t farside_access_take(uint16_t other);
/*
 * The next access is not one of the function that has reached a window last:
 * a translation is not always followed by an access.
 */
void farside_access_forget(void);

#endif /* FARSIDE_ACCESS_H */
