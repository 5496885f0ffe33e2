/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A message with its head and its files, while it waits. */
#ifndef FARSIDE_PACKET_H
#define FARSIDE_PACKET_H

#include "qemu/iov.h"
#include "wire/farside_wire.h"

typedef struct FarsidePacket {
    size_t size; /* of bytes */
    unsigned file_count;
    int files[FARSIDE_WIRE_FDS]; /* owned */
    uint8_t bytes[] QEMU_ALIGNED(8); /* the head, then the body */
} FarsidePacket;

/* A message of @type whose body is @count pieces, with no files. */
FarsidePacket *farside_packet_new(unsigned type, const struct iovec *pieces,
                                  unsigned count);
/* The packet in @bytes, with no files. */
FarsidePacket *farside_packet_copy(const void *bytes, size_t size);
/* Adds copies of the files. False if this process has too many open files. */
bool farside_packet_add_files(FarsidePacket *p, const int *files,
                              unsigned count);
/* Closes the files, too. */
void farside_packet_free(FarsidePacket *p);

#endif /* FARSIDE_PACKET_H */
