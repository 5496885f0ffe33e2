/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tap on a link inside a host, above a port of a switch or below it. While
 * the link is traced, the ranges of the bridge lead to the tap. The tap records
 * the requests, and passes them on to the bus behind the bridge.
 */
#ifndef FARSIDE_SWITCH_TAP_H
#define FARSIDE_SWITCH_TAP_H

#include "hw/pci/pci.h"
#include "farside_qemu.h"
#include "farside_switch_link.h"

typedef struct FarsideSwitchTap FarsideSwitchTap;

/* Both are borrowed. */
FarsideSwitchTap *farside_switch_tap_new(PCIDevice *bridge,
                                         FarsideSwitchLink *link);
/* @s is nullable. */
void farside_switch_tap_free(FarsideSwitchTap *s);

void farside_switch_tap_register_type(void);

/* The trace, or a range of the bridge, may have changed. */
void farside_switch_tap_update(FarsideSwitchTap *s);

/* Memory ranges of a bridge: without prefetching and with it */
#define FARSIDE_SWITCH_RANGES 2

/*
 * The size of a range of @bridge, and its base; 0 if it does not forward any of
 * it.
 */
uint64_t farside_switch_tap_range(const PCIDevice *bridge, unsigned range,
                                  uint64_t *ret_base);

/* A region of these refuses each access: Unsupported Request. */
extern const MemoryRegionOps farside_switch_refused_ops;

/* Puts @region, of a range, there if @is_on and @size is not 0; or nowhere. */
void farside_switch_tap_place(MemoryRegion *region, bool is_on, uint64_t base,
                              uint64_t size);

/* True if the memory ranges of @bridge have @address. */
bool farside_switch_tap_claims(const PCIDevice *bridge, uint64_t address);

/*
 * Requests that this thread makes have @requester_id from now on, when they
 * come to a tap. Returns the one before; 0, the root complex, is that of CPUs.
 */
uint16_t farside_switch_tap_requester(uint16_t requester_id);

/*
 * If @found is a tap, makes it the region behind that, or an empty section.
 * Like memory_region_find(), it holds a reference to the region.
 */
void farside_switch_tap_pass(MemoryRegionSection *found);

#endif /* FARSIDE_SWITCH_TAP_H */
