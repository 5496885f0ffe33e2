/* SPDX-License-Identifier: MIT */
#ifndef TRC_BYTES_H
#define TRC_BYTES_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/*
 * pcapng files for tests, put together byte by byte from the format's
 * specification; nothing of them comes from the code that is tested.
 */
typedef struct TrcBytes {
    GByteArray *bytes;
    bool is_big; /* byte order of what is put next */
} TrcBytes;

TrcBytes trc_bytes_new(bool is_big);
void trc_bytes_clear(TrcBytes *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TrcBytes, trc_bytes_clear)

/* A section header in the byte order of @self. */
void trc_bytes_section(TrcBytes *self);
/* With its name, and if_tsresol unless that is negative. */
void trc_bytes_interface(TrcBytes *self, unsigned link_type, const char *name,
                         int resolution);
/*
 * A packet of @hex: hexadecimal digits and blanks. @original is its length, or
 * 0 for that of @hex. Returns the place of the block.
 */
uint64_t trc_bytes_packet(TrcBytes *self, unsigned interface, uint64_t time,
                          const char *hex, unsigned original);
/* Statistics with a number of dropped packets. */
void trc_bytes_statistics(TrcBytes *self, unsigned interface, uint64_t dropped);
/* Any block with this body, which is padded. */
void trc_bytes_block(TrcBytes *self, uint32_t type, const void *body,
                     unsigned size);

/*
 * The 32 bytes in front of what a packet says, docs/reference/trace.md, in
 * hexadecimal; with a near address unless that is 0. To be freed.
 */
char *trc_bytes_head(unsigned kind, unsigned partition, uint32_t sequence,
                     uint32_t transaction, uint64_t near);

/*
 * A trace of a link between "a:cable0" and "b:cable0", with a write, a read
 * and its completion 50 us later, and one of everything that has no TLP.
 */
void trc_bytes_example(TrcBytes *self);

#endif
