/* SPDX-License-Identifier: MIT */
/*
 * The cable between two NTB devices, each in its own QEMU: a thread that
 * carries the messages of qemu-dev/wire/ and counts them. It can stop carrying
 * them, as a peer that does not read would.
 */
#ifndef DEVICE_CABLE_H
#define DEVICE_CABLE_H

#include <stdbool.h>

typedef struct DeviceCable DeviceCable;

/* Joins the device that connects to @path with the device that listens at
 * @listener. */
DeviceCable *cable_new(const char *path, const char *listener);
void cable_free(DeviceCable *cable);
/* The number of messages of this type (FARSIDE_WIRE_*) so far, in both
 * directions. */
unsigned cable_count(DeviceCable *cable, unsigned type);
/* The number of bytes in those messages, heads included. */
unsigned long cable_bytes(DeviceCable *cable, unsigned type);
/*
 * While the cable stalls, messages wait in its sockets: those of the end that
 * connected, of the end that listens, or of both.
 */
void cable_stall(DeviceCable *cable, bool from_connector, bool from_listener);

#endif /* DEVICE_CABLE_H */
