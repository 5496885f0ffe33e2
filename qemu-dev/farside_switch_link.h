/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace (wire/farside_trace.h) of a link inside a host: between a port of a
 * switch and what is below it, or between a switch and its root port. One
 * device records both ends: the lower one is end 0, the upper one end 1.
 */
#ifndef FARSIDE_SWITCH_LINK_H
#define FARSIDE_SWITCH_LINK_H

#include "hw/pci/pci.h"

typedef struct FarsideSwitchLink FarsideSwitchLink;

typedef enum {
    FARSIDE_SWITCH_LOWER, /* transmits what goes up */
    FARSIDE_SWITCH_UPPER, /* transmits what goes down */
} FarsideSwitchEnd;

/* A request of a function that crosses links; one TLP on each */
typedef struct FarsideSwitchRequest {
    bool is_write;
    uint64_t address; /* on the bus of the link */
    unsigned size; /* 1 to 8 bytes */
    uint16_t requester_id;
} FarsideSwitchRequest;

/* @port is the device that the trace belongs to; borrowed. */
FarsideSwitchLink *farside_switch_link_new(PCIDevice *port);
/* Ends the trace. @s is nullable. */
void farside_switch_link_free(FarsideSwitchLink *s);

/*
 * Ends the trace, and begins a new one in the file at @path unless that is NULL
 * or empty. Returns false, and sets @errp, if the file cannot be opened or is
 * no trace; the old trace then goes on.
 */
bool farside_switch_link_trace(FarsideSwitchLink *s, const char *path,
                               Error **errp);
bool farside_switch_link_is_on(const FarsideSwitchLink *s);

/*
 * Records a request that @end transmits, with the data of a write. Returns a
 * number for its completion.
 */
uint32_t farside_switch_link_request(FarsideSwitchLink *s, FarsideSwitchEnd end,
                                     const FarsideSwitchRequest *request,
                                     const void *data);
/*
 * Records the completion of the read @request, which the other end transmits;
 * without data if the read has failed.
 */
void farside_switch_link_complete(FarsideSwitchLink *s, FarsideSwitchEnd end,
                                  const FarsideSwitchRequest *request,
                                  uint32_t transaction, bool is_ok,
                                  const void *data);

#endif /* FARSIDE_SWITCH_LINK_H */
