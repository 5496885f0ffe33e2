/* SPDX-License-Identifier: MIT */
#ifndef TRC_BYTES_H
#define TRC_BYTES_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/*
 * Makes pcapng files for tests, byte by byte, from the specification of the
 * format and without the code under test.
 */
typedef struct TrcBytes {
    GByteArray *bytes;
    bool is_big; /* byte order of the next fields: big-endian */
} TrcBytes;

TrcBytes trc_bytes_new(bool is_big);
void trc_bytes_clear(TrcBytes *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TrcBytes, trc_bytes_clear)

/* A section header in the byte order of @self. */
void trc_bytes_section(TrcBytes *self);
/* An interface description with @name; with if_tsresol @resolution unless that
 * is negative. */
void trc_bytes_interface(TrcBytes *self, unsigned link_type, const char *name,
                         int resolution);
/*
 * A packet with the bytes @hex: hexadecimal digits and blanks. @original is the
 * packet's original length; 0: the length of @hex. Returns the place of the
 * block.
 */
uint64_t trc_bytes_packet(TrcBytes *self, unsigned interface, uint64_t time,
                          const char *hex, unsigned original);
/* An interface statistics block with the number of dropped packets. */
void trc_bytes_statistics(TrcBytes *self, unsigned interface, uint64_t dropped);
/* A block of any type. Pads @body. */
void trc_bytes_block(TrcBytes *self, uint32_t type, const void *body,
                     unsigned size);

/*
 * The head of 32 bytes of a packet (docs/reference/trace.md), in hexadecimal.
 * It has a near address unless @near is 0. The caller frees it.
 */
char *trc_bytes_head(unsigned kind, unsigned partition, uint32_t sequence,
                     uint32_t transaction, uint64_t near);

/*
 * A trace of a link between "a:cable0" and "b:cable0", with a write, a read,
 * its completion 50 us later, and one packet of each kind without a TLP.
 */
void trc_bytes_example(TrcBytes *self);

#endif
