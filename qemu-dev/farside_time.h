/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock and the transport of links in a timed cluster. The object that a
 * timed cluster loads registers the type TYPE_FARSIDE_TIME. Without it the
 * devices run freely: links are sockets, and time-outs are in real time.
 *
 * The caller holds the big lock in all functions.
 */
#ifndef FARSIDE_TIME_H
#define FARSIDE_TIME_H

#include "qom/object.h"
#include "farside_qemu.h"

#define TYPE_FARSIDE_TIME "farside-time"

/* @size is 0 if the peer's machine has been switched off. */
typedef void FarsideTimeReceive(void *opaque, const void *packet, size_t size);
/* The address space in which the peer's requests are issued. */
typedef AddressSpace *FarsideTimeBus(void *opaque);

/* A block of the peer's memory that is read, and how that ended */
typedef struct FarsideFetching FarsideFetching;
typedef enum FarsideFetched {
    FARSIDE_FETCHED,
    FARSIDE_FETCH_REFUSED, /* some of it does not lie in the peer's RAM */
    FARSIDE_FETCH_FAILED,  /* no completion, or another error: for the moment */
} FarsideFetched;
/* @time is when it ended: a device that waits may have delayed the call. */
typedef void FarsideFetchDone(void *opaque, FarsideFetched result,
                              int64_t time);

/* Functions of all NTB devices' windows for the DMA of drives */
typedef struct FarsideTimeWindows {
    /* True if an access to @mr is one to a window. */
    bool (*owns)(const MemoryRegion *mr);
    /*
     * Reads @size bytes at @offset of @mr, up to a page, as the DMA that has
     * just reached the window. A bottom half calls @done when all have come, or
     * some do not come, in that order for all that are fetched, but not after
     * cancel(). NULL if no window leads there.
     */
    FarsideFetching *(*fetch)(MemoryRegion *mr, hwaddr offset, void *data,
                              unsigned size, FarsideFetchDone *done,
                              void *opaque);
    void (*cancel)(FarsideFetching *fetching);
} FarsideTimeWindows;

typedef struct FarsideTimeClass {
    ObjectClass parent_class;
    /*
     * The port of this machine on the link @path. @receive gets each packet of
     * the peer when it arrives. NULL and @errp if the machine has no such link.
     */
    void *(*join)(const char *path, FarsideTimeReceive *receive,
                  FarsideTimeBus *bus, void *opaque, Error **errp);
    /*
     * The device goes, or cannot be: nothing is received at @port any more, and
     * the link may have another device.
     */
    void (*leave)(void *port);
    /* The packet arrives when the link's latency has passed. */
    void (*send)(void *port, const void *packet, size_t size);
    /* The link is in use and has its own latency, or that of training. */
    void (*set_up)(void *port, bool up);
    /* Time passes until a packet was received, or until @deadline. */
    void (*wait)(int64_t deadline);
    /* True if this thread may wait: time does not pass in the main loop. */
    bool (*may_wait)(void);
    /* True inside a timer or bottom half: there devices do their DMA. */
    bool (*is_in_device)(void);
    /*
     * The DMA of @device has reached a window. NULL: what begins now is not the
     * DMA that has reached a window last. Called without the big lock.
     */
    void (*from)(const char *device);
    /*
     * True if the access through a window that begins now is the CPU's own.
     * Otherwise *@ret_device is the device whose DMA it is, or NULL if it is a
     * request that has come over another link. To be asked once for each.
     */
    bool (*is_cpu)(const char **ret_device);
    void (*set_windows)(const FarsideTimeWindows *windows);
    /* All that is sent from now on is the DMA of @device; NULL: of none. */
    void (*set_origin)(const char *device);
} FarsideTimeClass;

/* NULL if this machine runs freely. */
const FarsideTimeClass *farside_time(void);
/* False if this thread must not wait for the peer. */
bool farside_time_may_wait(void);
/* The clock of time-outs, in ns: real time if this machine runs freely. */
int64_t farside_time_now(void);

#endif /* FARSIDE_TIME_H */
